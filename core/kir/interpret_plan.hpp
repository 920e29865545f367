// What the interpreter makes of a kernel before it runs: a nest of regions.
//
// A region is one loop over one axis (or over nothing: the root). Its values are computed for a
// block of axis points at a time. A record lives in the outermost region that has all axes it
// depends on, so nothing is computed more often than its axes demand; inner regions import it as a
// scalar, spread over their block. A reduction owns a region over its axis.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/kir/interpret_ops.hpp"
#include "core/kir/interpret_reduce.hpp"
#include "core/kir/scope.hpp"

namespace ost::kir::interp {

using Slot = uint32_t;  // a block buffer of one region
struct Region;

struct Step {
  enum class Kind : uint8_t { map, load, reduce, attn, skip };
  Kind kind = Kind::map;
  Value record = kNone;
  BlockFn fn = nullptr;  // map
  Slot out = 0;
  Slot in[3] = {0, 0, 0};  // map: operands; load: index, mask; skip: the condition
  bool masked = false;     // load
  uint32_t skipped =
      0;  // skip: how many steps follow that are needed only where the condition is true
  uint32_t reducer = 0;       // reduce: position in Plan::reducers; attn: in Plan::rows
  Region* inner = nullptr;    // reduce: the operands; attn: score and mask
  Region* values = nullptr;   // attn: v
  Slot inner_in[2] = {0, 0};  // slots of `inner`
  Slot values_in = 0;
};

struct Import {
  const Region* from;
  Slot source, target;
  uint32_t size;  // of one element
  BlockFn spread;
  uint64_t stamp = 0;  // Region::stamp of `from` when it was last read
};

struct Region {
  const Region* parent = nullptr;
  Region* child = nullptr;   // the next axis of the same statement
  Value axis = kNone;        // kNone: a root
  size_t capacity = kBlock;  // points per block; 1 for roots and carry axes
  std::vector<Import> imports;
  std::vector<Step>
      fixed;  // made of the axis alone: computed once while one block holds the whole axis
  std::vector<Step> steps;
  Slot axis_slot = UINT32_MAX;
  std::vector<std::pair<uint32_t, Slot>>
      vars;  // roots: variable slot number and where its value goes

  std::vector<uint32_t> sizes;  // by slot: bytes of one element
  std::vector<std::byte*> at;   // by slot
  std::unique_ptr<uint64_t[]> storage;
  std::unordered_map<Value, Slot> slot_of;

  // While running: the point that inner regions see, and a number that changes when any value at
  // that point may have.
  size_t lane = 0;
  uint64_t stamp = 0;
  bool fixed_done = false;
};

struct StoreStep {
  Value record;
  Slot index, value, mask;
  bool masked;
};

// Stores over the same axes: at each point all operands are computed, then the stores happen in
// record order.
struct Statement {
  Region* root = nullptr;
  Region* innermost = nullptr;
  std::vector<StoreStep> stores;
};

// One thing after the other; a loop over a carry axis contains more of them.
struct Item {
  Region* carry = nullptr;  // nullptr: `statement` is meant
  std::vector<Item> body;
  Statement statement;
};

struct AttnState {
  AttnRow row;
  const Region* owner = nullptr;  // whose point the scores depend on
  uint64_t stamp = 0;             // owner's, when `row` was computed
  std::vector<float> v;
};

struct Plan {
  Kernel kernel;
  Scope scope;
  std::deque<Region> regions;  // addresses stay
  Region* preamble = nullptr;  // computes the extents and counts
  std::vector<Item> items;
  std::vector<std::unique_ptr<Reducer>> reducers;
  std::deque<AttnState> rows;
};

// The kernel is verified.
Result<std::unique_ptr<Plan>> make_plan(const Kernel& kernel);

}  // namespace ost::kir::interp
