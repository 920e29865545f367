// Elementwise operations with broadcasting and promotion.
#include "core/ir/build.hpp"
#include "core/ir/values.hpp"

namespace ost::ir {

using namespace detail;

namespace {

// Rounding an integer is the integer.
bool rounds(Op op) {
  return op == Op::floor || op == Op::ceil || op == Op::trunc || op == Op::round;
}

bool takes_integers(Op op) {
  return op == Op::neg || op == Op::abs || op == Op::sign || op == Op::relu;
}

Node1 scalar_int(Graph& g, NodeId like, int64_t value) {
  OST_NODE(id, full_int(g, dtype_of(g, like), {}, value));
  return broadcast_to(g, id, shape_of(g, like));
}

std::optional<int64_t> constant_int(const Graph& g, NodeId x) {
  const Node& node = g.node(x);
  if (node.op != Op::full) return std::nullopt;
  if (!is_float(node.dtype)) return decode_int(node.dtype, node.bits);
  const double value = decode_float(node.dtype, node.bits);
  if (value != std::floor(value) || std::abs(value) > 0x1p31) return std::nullopt;
  return static_cast<int64_t>(value);
}

// x ** n of integers by squaring; it wraps as repeated multiplication does.
Node1 int_power(Graph& g, NodeId x, int64_t exponent) {
  OST_TRY_ASSIGN(NodeId result, scalar_int(g, x, 1));
  NodeId square = x;
  for (int64_t rest = exponent; rest > 0; rest >>= 1) {
    if (rest & 1) {
      OST_TRY_ASSIGN(result, rest == exponent && exponent == 1
                                 ? Node1(x)
                                 : make(g, Op::mul, {result, square}));
    }
    if (rest > 1) {
      OST_TRY_ASSIGN(square, make(g, Op::mul, {square, square}));
    }
  }
  return result;
}

// Integers take a constant exponent of at least 0. x ** 2 of floats is x * x, which is the exact
// definition rounded once.
Node1 power(Graph& g, NodeId a, NodeId b) {
  const auto exponent = constant_int(g, b);
  OST_TRY_ASSIGN(Pair pair, match(g, "pow", a, b));
  const DType type = dtype_of(g, pair.a);
  if (is_float(type)) {
    if (exponent == 2) return make(g, Op::mul, {pair.a, pair.a});
    return make(g, Op::pow, {pair.a, pair.b});
  }
  if (!exponent || *exponent < 0)
    return bad("pow",
               "{} to the power of {}: integers take only a constant exponent of at least 0; cast "
               "one operand to a float",
               type_string(g, a), exponent ? fmt::format("{}", *exponent) : type_string(g, b));
  if (type == DType::boolean)
    return bad("pow", "operand is {}, wanted an integer or float type", type_string(g, a));
  return int_power(g, pair.a, *exponent);
}

// Bool operands: + is or, * is and, as in NumPy; what has no meaning for bool says so.
Result<Op> bool_op(const Graph& g, Op op, NodeId a) {
  if (op == Op::add) return Op::bit_or;
  if (op == Op::mul) return Op::bit_and;
  if (op == Op::sub)
    return bad("sub", "operands are {}; wanted numbers, or bit_xor for bool", type_string(g, a));
  return op;
}

Result<Pair> match_numbers(Graph& g, std::string_view what, NodeId a, NodeId b) {
  OST_TRY_ASSIGN(Pair pair, match(g, what, a, b));
  if (dtype_of(g, pair.a) != DType::boolean) return pair;
  OST_TRY_ASSIGN(pair.a, cast(g, pair.a, DType::i8));
  OST_TRY_ASSIGN(pair.b, cast(g, pair.b, DType::i8));
  return pair;
}

}  // namespace

Node1 unary(Graph& g, Op op, NodeId x) {
  if (!is_unary(op) || op == Op::cast || op == Op::bitcast)
    return bad(name_of(op), "not an operation of one operand");
  const DType type = dtype_of(g, x);
  if (op == Op::bit_not) return make(g, op, {x});
  if (rounds(op) && !is_float(type)) return x;
  if (takes_integers(op)) {
    if (type == DType::boolean)
      return bad(name_of(op), "operand is {}, wanted numbers; cast it first", type_string(g, x));
    return make(g, op, {x});
  }
  OST_NODE(real, cast(g, x, float_type(type)));
  return make(g, op, {real});
}

Node1 binary(Graph& g, Op op, NodeId a, NodeId b) {
  if (!is_binary(op)) return bad(name_of(op), "not an operation of two operands");
  if (op == Op::pow) return power(g, a, b);
  if (op == Op::div && !is_float(promote(dtype_of(g, a), dtype_of(g, b)))) {
    OST_TRY_ASSIGN(const Pair pair, match_numbers(g, "div", a, b));
    return make(g, op, {pair.a, pair.b});
  }
  OST_TRY_ASSIGN(const Pair pair, match(g, name_of(op), a, b));
  if (dtype_of(g, pair.a) == DType::boolean) {
    OST_TRY_ASSIGN(op, bool_op(g, op, pair.a));
  }
  return make(g, op, {pair.a, pair.b});
}

Node1 true_divide(Graph& g, NodeId a, NodeId b) {
  const DType type = promote(dtype_of(g, a), dtype_of(g, b));
  if (is_float(type)) return binary(g, Op::div, a, b);
  OST_NODE(x, cast(g, a, DType::f64));  // as NumPy: integers divide as f64
  OST_NODE(y, cast(g, b, DType::f64));
  return binary(g, Op::div, x, y);
}

namespace {

struct Division {
  NodeId quotient, remainder;
};

// Where the sign of a non-zero remainder is not the divisor's, quotient and remainder are one step
// off.
Result<Division> toward_minus_infinity(Graph& g, NodeId b, Division d) {
  OST_NODE(zero, scalar_int(g, b, 0));
  OST_NODE(one, scalar_int(g, b, 1));
  OST_NODE(nonzero, make(g, Op::ne, {d.remainder, zero}));
  OST_NODE(negative, make(g, Op::lt, {d.remainder, zero}));
  OST_NODE(divisor_negative, make(g, Op::lt, {b, zero}));
  OST_NODE(opposite, make(g, Op::ne, {negative, divisor_negative}));
  OST_NODE(off, make(g, Op::bit_and, {nonzero, opposite}));
  OST_NODE(lower, make(g, Op::sub, {d.quotient, one}));
  OST_NODE(higher, make(g, Op::add, {d.remainder, b}));
  OST_NODE(quotient, make(g, Op::where, {off, lower, d.quotient}));
  OST_NODE(remainder, make(g, Op::where, {off, higher, d.remainder}));
  return Division{quotient, remainder};
}

// q = floor(a / b), r = fma(-q, b, a): exact as long as q is, then corrected by the sign rule,
// which repairs a quotient that the division rounded up to an integer. An infinite divisor leaves a
// finite dividend as it is.
Result<Division> divide_floats(Graph& g, NodeId a, NodeId b) {
  OST_NODE(ratio, make(g, Op::div, {a, b}));
  OST_NODE(quotient, make(g, Op::floor, {ratio}));
  OST_NODE(minus, make(g, Op::neg, {quotient}));
  OST_NODE(plain, make(g, Op::fma, {minus, b, a}));
  OST_NODE(infinity, full(g, dtype_of(g, b), shape_of(g, b), HUGE_VAL));
  OST_NODE(size_b, make(g, Op::abs, {b}));
  OST_NODE(size_a, make(g, Op::abs, {a}));
  OST_NODE(b_infinite, make(g, Op::eq, {size_b, infinity}));
  OST_NODE(a_finite, make(g, Op::lt, {size_a, infinity}));
  OST_NODE(keeps, make(g, Op::bit_and, {b_infinite, a_finite}));
  OST_NODE(remainder, make(g, Op::where, {keeps, a, plain}));
  // floor(-0.0 or a tiny negative ratio) of an infinite divisor must start at a zero for the sign
  // rule to work.
  OST_NODE(zero, scalar_int(g, b, 0));
  OST_NODE(start, make(g, Op::where, {keeps, zero, quotient}));
  return toward_minus_infinity(g, b, {start, remainder});
}

Result<Division> divide(Graph& g, std::string_view what, NodeId a, NodeId b, NodeId& divisor) {
  OST_TRY_ASSIGN(const Pair pair, match_numbers(g, what, a, b));
  divisor = pair.b;
  const DType type = dtype_of(g, pair.a);
  if (is_float(type)) return divide_floats(g, pair.a, pair.b);
  OST_NODE(quotient, make(g, Op::div, {pair.a, pair.b}));
  OST_NODE(remainder, make(g, Op::rem, {pair.a, pair.b}));
  if (is_unsigned_int(type)) return Division{quotient, remainder};
  return toward_minus_infinity(g, pair.b, {quotient, remainder});
}

}  // namespace

Node1 floor_divide(Graph& g, NodeId a, NodeId b) {
  NodeId divisor = 0;
  OST_TRY_ASSIGN(const Division d, divide(g, "floor_divide", a, b, divisor));
  return d.quotient;
}

Node1 floor_mod(Graph& g, NodeId a, NodeId b) {
  NodeId divisor = 0;
  OST_TRY_ASSIGN(const Division d, divide(g, "floor_mod", a, b, divisor));
  if (!is_float(dtype_of(g, divisor))) return d.remainder;
  // A zero remainder has the divisor's sign: +0 or -0.
  OST_NODE(zero, scalar_int(g, divisor, 0));
  OST_NODE(minus_zero, make(g, Op::neg, {zero}));
  OST_NODE(negative, make(g, Op::lt, {divisor, zero}));
  OST_NODE(signed_zero, make(g, Op::where, {negative, minus_zero, zero}));
  OST_NODE(is_zero, make(g, Op::eq, {d.remainder, zero}));
  return make(g, Op::where, {is_zero, signed_zero, d.remainder});
}

Node1 where(Graph& g, NodeId cond, NodeId a, NodeId b) {
  OST_NODE(flag, cast(g, cond, DType::boolean));
  OST_TRY_ASSIGN(Pair pair, match(g, "where", a, b));
  auto shape = broadcast_shapes(shape_of(g, flag), shape_of(g, pair.a));
  if (!shape) return std::unexpected(shape.error().in("where"));
  OST_NODE(wide_flag, broadcast_to(g, flag, *shape));
  OST_NODE(wide_a, broadcast_to(g, pair.a, *shape));
  OST_NODE(wide_b, broadcast_to(g, pair.b, *shape));
  return make(g, Op::where, {wide_flag, wide_a, wide_b});
}

}  // namespace ost::ir
