// A second, independent evaluation of integer records at one point, for tests that compare a
// builder's simplified value or a prover's claim with what the records mean. Recursive and slow on
// purpose.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "core/kir/kernel.hpp"

namespace ost::kir::testing {

using Point = std::map<Value, int64_t>;  // values of axes, variables and loads by record

inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Operations on i64 and bool as docs/kir.md defines them.
inline int64_t apply(Op op, int64_t a, int64_t b = 0, int64_t c = 0) {
  const bool min_by_minus_one = a == INT64_MIN && b == -1;
  switch (op) {
    case Op::add:
      return wrap_add(a, b);
    case Op::sub:
      return wrap_sub(a, b);
    case Op::mul:
      return wrap_mul(a, b);
    case Op::neg:
      return wrap_sub(0, a);
    case Op::div:
      return b == 0 ? 0 : min_by_minus_one ? a : a / b;
    case Op::rem:
      return b == 0 || min_by_minus_one ? 0 : a % b;
    case Op::min:
      return a < b ? a : b;
    case Op::max:
      return a < b ? b : a;
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_not:
      return a ^ 1;  // of a bool
    case Op::where:
      return a ? b : c;
    case Op::cast:
      return a;  // of small integers
    default:
      ADD_FAILURE() << "operation not expected here";
      return 0;
  }
}

template <typename InstOf>
int64_t eval_with(const InstOf& inst_of, Value v, const Point& point) {
  const auto known = point.find(v);
  if (known != point.end()) return known->second;
  const Inst& inst = inst_of(v);
  if (static_cast<Op>(inst.op) == Op::constant) return static_cast<int64_t>(inst.imm);
  int64_t s[3] = {0, 0, 0};
  for (uint32_t i = 0; i < inst.nsrc && i < 3; ++i) s[i] = eval_with(inst_of, inst.src[i], point);
  return apply(static_cast<Op>(inst.op), s[0], s[1], s[2]);
}

inline int64_t eval(const Builder& b, Value v, const Point& point) {
  return eval_with([&](Value u) -> const Inst& { return b.inst(u); }, v, point);
}
inline int64_t eval(const Kernel& k, Value v, const Point& point) {
  return eval_with([&](Value u) -> const Inst& { return k.insts[u]; }, v, point);
}

}  // namespace ost::kir::testing
