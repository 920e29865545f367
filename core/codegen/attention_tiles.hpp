// Attention in the order `attn`, a tile of rows by channels a group.
#pragma once

#include <functional>
#include <optional>

#include "core/codegen/attention_plan.hpp"
#include "core/codegen/tile_product.hpp"

namespace ost::codegen {

class AttentionTiles {
 public:
  AttentionTiles(Evaluator& e, const AttentionPlan& plan);

  Value groups() const { return groups_; }
  // A group's tile. `stores` emits the statement at the bound axes.
  void run(Value group, const std::function<void()>& stores);

 private:
  // Of a row, in each of its lanes: the maximum and the sum of weights; of a lane's outputs: the
  // weighted sums.
  struct State {
    Value m, l, u;
  };

  State state();
  void reset(const State& s);
  void declare();
  void chunk(Value begin, Value end);
  void block(Value first);
  Value any_visible(Value first);
  void scores(Value first);
  void weigh(Value first);
  Value fold_weights();
  void accumulate(Value first);
  void add_values(Value first_weight);
  void merge(const State& total);

  Value visible(Value first, Value t);
  void at_key(Value first, Value t);
  Value weight_place(Value t);
  void put_row(int which, Value x);
  Value get_row(int which, Value row);
  template <class F>
  void each_key(F&& f);

  Value f32(uint32_t bits) { return b_.constant(DType::f32, bits); }
  Value get(Value variable) { return b_.load(variable, b_.i64(0)); }
  void put(Value variable, Value x) { b_.store(variable, b_.i64(0), x); }
  Value op(Op o, std::initializer_list<Value> operands) { return b_.pure(o, DType::f32, operands); }
  Value finite(Value m);

  Evaluator& e_;
  GroupBuilder& b_;
  const AttentionPlan& plan_;
  const AttentionShape& s_;
  bool masked_, whole_keys_;
  Value tiles_m_ = kNone, tiles_n_ = kNone, groups_ = kNone;
  TileSide rows_, columns_;
  Value keys_ = kNone;                                        // how many
  Value shared_ = kNone, weights_ = kNone;                    // local arrays
  Value of_rows_ = kNone, of_lanes_ = kNone, flags_ = kNone;  // local arrays
  Value lane_m_ = kNone, lane_n_ = kNone;                     // of the tile
  Value row_ = kNone, part_ = kNone;                          // row of a lane, and its share
  std::vector<Value> row_digits_;
  State now_{};
  std::optional<Staging> values_;
};

}  // namespace ost::codegen
