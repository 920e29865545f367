#include "core/passes/lower_elementwise.hpp"

#include <optional>

#include "core/kir/math.hpp"

namespace ost {

namespace {

using ir::Op;
using kir::Builder;
using kir::Value;

std::optional<kir::Fn> function_of(Op op) {
  switch (op) {
    case Op::exp:
      return kir::Fn::exp;
    case Op::exp2:
      return kir::Fn::exp2;
    case Op::expm1:
      return kir::Fn::expm1;
    case Op::log:
      return kir::Fn::log;
    case Op::log2:
      return kir::Fn::log2;
    case Op::log1p:
      return kir::Fn::log1p;
    case Op::sin:
      return kir::Fn::sin;
    case Op::cos:
      return kir::Fn::cos;
    case Op::tanh:
      return kir::Fn::tanh;
    case Op::sigmoid:
      return kir::Fn::sigmoid;
    case Op::silu:
      return kir::Fn::silu;
    case Op::erf:
      return kir::Fn::erf;
    case Op::gelu:
      return kir::Fn::gelu;
    case Op::rsqrt:
      return kir::Fn::rsqrt;
    case Op::pow:
      return kir::Fn::pow;
    default:
      return {};
  }
}

std::optional<kir::Op> direct(Op op) {
  switch (op) {
    case Op::neg:
      return kir::Op::neg;
    case Op::abs:
      return kir::Op::abs;
    case Op::sqrt:
      return kir::Op::sqrt;
    case Op::floor:
      return kir::Op::floor;
    case Op::ceil:
      return kir::Op::ceil;
    case Op::trunc:
      return kir::Op::trunc;
    case Op::round:
      return kir::Op::rint;
    case Op::bit_not:
      return kir::Op::bit_not;
    case Op::add:
      return kir::Op::add;
    case Op::sub:
      return kir::Op::sub;
    case Op::mul:
      return kir::Op::mul;
    case Op::div:
      return kir::Op::div;
    case Op::rem:
      return kir::Op::rem;
    case Op::minimum:
      return kir::Op::min;
    case Op::maximum:
      return kir::Op::max;
    case Op::bit_and:
      return kir::Op::bit_and;
    case Op::bit_or:
      return kir::Op::bit_or;
    case Op::bit_xor:
      return kir::Op::bit_xor;
    case Op::shl:
      return kir::Op::shl;
    case Op::shr:
      return kir::Op::shr;
    case Op::eq:
      return kir::Op::eq;
    case Op::ne:
      return kir::Op::ne;
    case Op::lt:
      return kir::Op::lt;
    case Op::le:
      return kir::Op::le;
    default:
      return {};
  }
}

Value number(Builder& b, DType t, int v) {
  if (is_float(t)) return b.float_const(t, v);
  return b.constant(
      t, static_cast<uint64_t>(static_cast<int64_t>(v)) & (~uint64_t{0} >> (64 - bits_of(t))));
}

// x with its sign: NaN and zeros pass.
Value sign(Builder& b, Value x) {
  const DType t = b.dtype(x);
  const Value zero = number(b, t, 0), one = number(b, t, 1);
  if (is_unsigned_int(t)) return b.where(b.lt(zero, x), one, zero);
  return b.where(b.lt(zero, x), one, b.where(b.lt(x, zero), number(b, t, -1), x));
}

// The sign of a remainder is that of the dividend; exact, since x - trunc(x/y)*y is not: fmod by
// definition needs the exact quotient, so floats are refused by the graph and never arrive here.
Value compute(Builder& b, const ir::Node& node, std::span<const Value> a) {
  if (auto fn = function_of(node.op))
    return kir::expand(b, *fn, a[0], a.size() > 1 ? a[1] : kir::kNone);
  if (auto op = direct(node.op)) {
    if (a.size() == 1) return b.unary(*op, a[0]);
    if (ir::is_binary(node.op) && node.op >= Op::eq) return b.compare(*op, a[0], a[1]);
    return b.binary(*op, a[0], a[1]);
  }
  switch (node.op) {
    case Op::sign:
      return sign(b, a[0]);
    case Op::relu:
      return b.where(b.lt(a[0], number(b, b.dtype(a[0]), 0)), number(b, b.dtype(a[0]), 0), a[0]);
    case Op::where:
      return b.where(a[0], a[1], a[2]);
    case Op::fma:
      return b.fma(a[0], a[1], a[2]);
    default:
      return kir::kNone;
  }
}

}  // namespace

Value lower_elementwise(Builder& b, const ir::Node& node, std::span<const Value> args) {
  if (node.op == Op::cast) return b.cast(node.dtype, args[0]);
  if (node.op == Op::bitcast) return b.bitcast(node.dtype, args[0]);
  Value wide[3];
  for (size_t i = 0; i < args.size(); ++i) {
    // `where` only selects: its halves need no arithmetic, but KIR allows them there.
    const bool keep = node.op == Op::where || !is_half(b.dtype(args[i]));
    wide[i] = keep ? args[i] : b.cast(DType::f32, args[i]);
  }
  const Value result = compute(b, node, {wide, args.size()});
  return b.dtype(result) == node.dtype ? result : b.cast(node.dtype, result);
}

}  // namespace ost
