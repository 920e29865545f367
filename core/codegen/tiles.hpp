// A nest whose contractions a group computes in tiles, and the expression over them that is stored.
#pragma once

#include <functional>

#include "core/codegen/tile_product.hpp"

namespace ost::codegen {

class Tiles {
 public:
  Tiles(Evaluator& e, const TilePlan& plan);

  Value groups() const { return groups_; }
  // A group's tile. `stores` emits the statement at the bound axes.
  void run(Value group, const std::function<void()>& stores);

 private:
  Evaluator& e_;
  GroupBuilder& b_;
  const TilePlan& plan_;
  Value batch_ = kNone, tiles_m_ = kNone, tiles_n_ = kNone, groups_ = kNone;
  TileSide rows_, columns_;
  Value memory_ = kNone;
};

}  // namespace ost::codegen
