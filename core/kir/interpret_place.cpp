#include "core/kir/interpret_place.hpp"

#include <algorithm>
#include <cstring>

#include "core/kir/ops.hpp"

namespace ost::kir::interp {
namespace {

constexpr int kMaxGuardDepth = 8;

Slot add_slot(Region& r, Value v, uint32_t size) {
  const auto slot = static_cast<Slot>(r.sizes.size());
  r.sizes.push_back(size);
  r.slot_of.emplace(v, slot);
  return slot;
}

bool is_root(const Region& r) { return r.axis == kNone; }

}  // namespace

Region* new_root(Plan& plan, Region* parent) {
  Region& r = plan.regions.emplace_back();
  r.parent = parent;
  r.capacity = 1;
  return &r;
}

void allocate(const Plan& plan, Region& region) {
  size_t words = 0;
  std::vector<size_t> offsets;
  for (uint32_t size : region.sizes) {
    offsets.push_back(words);
    words += (region.capacity * size + 63) / 64 * 8;
  }
  region.storage = std::make_unique<uint64_t[]>(words);
  for (size_t offset : offsets)
    region.at.push_back(reinterpret_cast<std::byte*>(region.storage.get() + offset));
  for (const auto& [v, slot] : region.slot_of) {
    if (plan.kernel.op(v) != Op::constant) continue;
    const uint32_t size = region.sizes[slot];
    for (size_t i = 0; i < region.capacity; ++i)
      std::memcpy(region.at[slot] + i * size, &plan.kernel.insts[v].imm, size);
  }
}

void Placer::need(Value v, Region& in, int guard) {
  for (Need& n : needs_[v]) {
    if (n.region != &in) continue;
    n.guard = merge(n.guard, guard);
    return;
  }
  needs_[v].push_back({&in, guard});
}

// The innermost guard that contains both.
int Placer::merge(int a, int b) const {
  const auto depth = [this](int g) {
    return g == kAlways ? 0 : guards_[static_cast<size_t>(g)].depth;
  };
  while (a != b) {
    int& deeper = depth(a) >= depth(b) ? a : b;
    deeper = guards_[static_cast<size_t>(deeper)].parent;
  }
  return a;
}

// Outward to the first region whose axis the value depends on; carry axes lie outside of the root
// and are never a home of anything but their own index, because loads must see what earlier
// iterations stored.
Region* Placer::home_of(Value v, Region& from) const {
  const uint64_t axes = plan_.scope.depends[v];
  Region* r = &from;
  while (!is_root(*r) && !(axes >> plan_.kernel.insts[r->axis].imm & 1))
    r = const_cast<Region*>(r->parent);
  if (is_root(*r) && plan_.kernel.op(v) == Op::axis)
    while (r->axis != v) r = const_cast<Region*>(r->parent);
  return r;
}

// First what is wanted, from the last record to the first, so that a record knows all its users
// when its turn comes; then the steps, from the first record to the last.
Result<> Placer::place() {
  for (auto v = static_cast<Value>(needs_.size()); v-- > 0;)
    if (!needs_[v].empty()) resolve(v);
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].guard != kAlways)
      guards_[static_cast<size_t>(nodes_[i].guard)].members.push_back(i);
  for (size_t i = nodes_.size(); i-- > 0;)
    if (nodes_[i].guard == kAlways) OST_TRY(emit(i));
  return {};
}

void Placer::resolve(Value v) {
  const uint32_t size = size_of(plan_.kernel.dtype(v));
  std::vector<Need> homes;
  for (const Need& n : needs_[v]) {
    if (plan_.kernel.op(v) == Op::constant) {
      add_slot(*n.region, v, size);
      continue;
    }
    Region* home = home_of(v, *n.region);
    const int guard = home == n.region ? n.guard : kAlways;
    const auto known =
        std::find_if(homes.begin(), homes.end(), [&](const Need& h) { return h.region == home; });
    if (known == homes.end())
      homes.push_back({home, guard});
    else
      known->guard = merge(known->guard, guard);
  }
  for (const Need& h : homes)
    if (!h.region->slot_of.contains(v))
      make_node(v, *h.region, h.guard);  // a carry index is shared by statements
  if (plan_.kernel.op(v) == Op::constant) return;
  for (const Need& n : needs_[v]) {
    const Region* home = home_of(v, *n.region);
    if (home == n.region) continue;
    const Slot target = add_slot(*n.region, v, size);
    n.region->imports.push_back({home, home->slot_of.at(v), target, size, broadcast_fn(size)});
  }
}

void Placer::make_node(Value v, Region& home, int guard) {
  const Slot slot = add_slot(home, v, size_of(plan_.kernel.dtype(v)));
  const Inst& inst = plan_.kernel.insts[v];
  if (plan_.kernel.op(v) == Op::axis) {
    home.axis_slot = slot;
    return;
  }
  if (plan_.kernel.op(v) == Op::var)
    return home.vars.push_back({static_cast<uint32_t>(inst.imm), slot});
  Node node{v, &home, guard, kAlways, {}};
  node.step.out = slot;
  node.step.record = v;
  need_operands(node);
  nodes_.push_back(node);
}

Region* Placer::inner_region(Region& outer, Value axis) {
  Region& r = plan_.regions.emplace_back();
  r.parent = &outer;
  r.axis = axis;
  return &r;
}

void Placer::need_operands(Node& node) {
  const Inst& inst = plan_.kernel.insts[node.record];
  Region& home = *node.home;
  switch (plan_.kernel.op(node.record)) {
    case Op::load:
      for (uint32_t k = 1; k < inst.nsrc; ++k) need(inst.src[k], home, node.guard);
      return;
    case Op::reduce:
    case Op::argreduce:
    case Op::contract: {
      const uint32_t values = inst.nsrc - 1u;
      node.step.inner = inner_region(home, inst.src[values]);
      for (uint32_t k = 0; k < values; ++k) need(inst.src[k], *node.step.inner, kAlways);
      return;
    }
    case Op::attn: {
      // The scores hang on the region of the query alone, so that they serve all channels.
      const uint64_t axes = plan_.scope.depends[inst.src[0]] | plan_.scope.depends[inst.src[1]];
      Region* owner = &home;
      while (!is_root(*owner) && !(axes >> plan_.kernel.insts[owner->axis].imm & 1))
        owner = const_cast<Region*>(owner->parent);
      node.step.inner = inner_region(*owner, inst.src[3]);
      node.step.values = inner_region(home, inst.src[3]);
      need(inst.src[0], *node.step.inner, kAlways);
      need(inst.src[1], *node.step.inner, kAlways);
      need(inst.src[2], *node.step.values, kAlways);
      return;
    }
    case Op::where: {
      const int depth = node.guard == kAlways ? 0 : guards_[static_cast<size_t>(node.guard)].depth;
      if ((inst.aux & OST_KIR_WHERE_RARE) && depth < kMaxGuardDepth) {
        node.own_guard = static_cast<int>(guards_.size());
        guards_.push_back({node.guard, depth + 1, {}});
      }
      need(inst.src[0], home, node.guard);
      need(inst.src[1], home, node.own_guard == kAlways ? node.guard : node.own_guard);
      need(inst.src[2], home, node.guard);
      return;
    }
    default:
      for (uint32_t k = 0; k < inst.nsrc; ++k) need(inst.src[k], home, node.guard);
  }
}

}  // namespace ost::kir::interp
