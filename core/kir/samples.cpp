#include "core/kir/samples.hpp"

#include <algorithm>

#include "core/kir/fold.hpp"

namespace ost::kir {
namespace {

// A fixed stream of numbers: the same kernel is always simplified in the same way.
uint64_t scrambled(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
  x ^= x >> 31;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

// From [lo, hi]: the ends at the first points, then whatever, rather near to the lower end.
int64_t choose_within(int64_t lo, int64_t hi, uint64_t salt, uint32_t point) {
  if (point == 0 || lo == hi) return hi;
  if (point == 1) return lo;
  if (point == 2) return lo + 1;
  const auto width = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
  const uint64_t below = point % 2 ? std::min<uint64_t>(width, 7) : width;
  return static_cast<int64_t>(static_cast<uint64_t>(lo) +
                              scrambled(salt, point) % (below == UINT64_MAX ? below : below + 1));
}

}  // namespace

uint64_t Samples::choose(Op op, const Inst& inst, uint32_t point, uint32_t& known) const {
  const auto at = [&](Value v) { return static_cast<int64_t>(points_[v].bits[point]); };
  const uint32_t bit = 1u << point;
  if (op == Op::var)
    return static_cast<uint64_t>(choose_within(at(inst.src[0]), at(inst.src[1]), inst.imm, point));
  const int64_t extent = at(inst.src[0]);  // an axis
  if (extent < 1) known &= ~bit;
  return extent < 1 ? 0
                    : static_cast<uint64_t>(
                          choose_within(0, extent - 1, 1000 + inst.imm,
                                        (point * 5 + static_cast<uint32_t>(inst.imm)) % kPoints));
}

Samples::Row Samples::evaluate(const Kernel& kernel, Value v) const {
  const Inst& inst = kernel.insts[v];
  const Op op = kernel.op(v);
  const DType type = kernel.dtype(v);
  Row row;
  if (is_float(type) || op == Op::param || op == Op::store) return row;
  row.known = (1u << kPoints) - 1;
  for (uint32_t k = op == Op::load ? 1 : 0; k < inst.nsrc; ++k)
    row.known &= points_[inst.src[k]].known;
  for (uint32_t p = 0; p < kPoints; ++p) {
    const auto src = [&](uint32_t k) { return points_[inst.src[k]].bits[p]; };
    std::optional<uint64_t> bits;
    if (op == Op::constant) {
      bits = inst.imm;
    } else if (op == Op::var || op == Op::axis) {
      bits = choose(op, inst, p, row.known);
    } else if (op == Op::load) {  // memory may hold anything
      const bool off = inst.nsrc == 3 && src(2) == 0;
      bits = off                      ? 0
             : type == DType::boolean ? scrambled(v, p) & 1
                                      : truncate_bits(type, scrambled(v, p) >> (p % 2 ? 0 : 56));
    } else if (op == Op::where) {
      bits = src(0) ? src(1) : src(2);
    } else if (op == Op::cast) {
      bits = fold_cast(type, kernel.dtype(inst.src[0]), src(0));
    } else if (inst.nsrc == 1) {
      bits = fold_unary(op, type, src(0));
    } else if (inst.nsrc == 2 && kernel.dtype(inst.src[0]) == kernel.dtype(inst.src[1])) {
      const auto truth = fold_compare(op, kernel.dtype(inst.src[0]), src(0), src(1));
      bits = truth ? std::optional<uint64_t>(*truth)
                   : fold_binary(op, kernel.dtype(inst.src[0]), src(0), src(1));
    }
    if (!bits) row.known &= ~(1u << p);  // reductions, floats
    row.bits[p] = bits.value_or(0);
  }
  return row;
}

void Samples::extend(const Kernel& kernel) {
  for (auto v = static_cast<Value>(points_.size()); v < kernel.insts.size(); ++v)
    points_.push_back(evaluate(kernel, v));
}

bool Samples::refutes_nonnegative(const Poly& p) const {
  if (!p.is_valid()) return false;
  for (uint32_t point = 0; point < kPoints; ++point) {
    int64_t sum = 0;
    bool known = true;
    for (const PolyTerm& term : p.terms()) {
      int64_t product = term.coefficient;
      for (Value atom : term.monomial.factors()) {
        known = known && (points_[atom].known >> point & 1) &&
                !__builtin_mul_overflow(product, static_cast<int64_t>(points_[atom].bits[point]),
                                        &product);
      }
      known = known && !__builtin_add_overflow(sum, product, &sum);
      if (!known) break;
    }
    if (known && sum < 0) return true;
  }
  return false;
}

}  // namespace ost::kir
