// Elementwise operations: all operands have one shape and, but for where's condition, one type.
// Broadcasting and promotion are the builders' business (core/ir/ops.hpp).
#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

enum class Types : uint8_t { any, numeric, integer, bitwise, floating };

Types types_of(Op op) {
  switch (op) {
    case Op::neg:
    case Op::abs:
    case Op::sign:
    case Op::relu:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      return Types::numeric;
    case Op::bit_not:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return Types::bitwise;
    case Op::rem:
    case Op::shl:
    case Op::shr:
      return Types::integer;
    case Op::minimum:
    case Op::maximum:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::where:
    case Op::cast:
    case Op::bitcast:
      return Types::any;
    default:
      return Types::floating;
  }
}

bool accepts(Types types, DType t) {
  switch (types) {
    case Types::any:
      return true;
    case Types::numeric:
      return t != DType::boolean;
    case Types::integer:
      return is_int(t);
    case Types::bitwise:
      return is_int(t) || t == DType::boolean;
    case Types::floating:
      return is_float(t);
  }
  return false;
}

const char* wanted(Types types) {
  switch (types) {
    case Types::any:
      return "any type";
    case Types::numeric:
      return "an integer or float type";
    case Types::integer:
      return "an integer type";
    case Types::bitwise:
      return "bool or an integer type";
    case Types::floating:
      return "a float type";
  }
  return "";
}

// Operands from `first` on have one type and all have one shape.
Result<> check_alike(const Check& c, size_t first) {
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    if (i >= first && c.in(i).dtype != c.in(first).dtype)
      return c.error("operands differ in type: {} and {}; cast one of them", c.type(first),
                     c.type(i));
    if (c.in(i).shape != c.in(0).shape)
      return c.error("operands differ in shape: {} and {}; broadcast them first", c.type(0),
                     c.type(i));
  }
  return {};
}

Result<> infer_cast(const Check& c) {
  if (c.node.op == Op::bitcast) {
    const DType from = c.in(0).dtype;
    if (from == DType::boolean || c.node.dtype == DType::boolean ||
        size_of(from) != size_of(c.node.dtype))
      return c.error("from {} to {}; wanted types of one width, not bool", name_of(from),
                     name_of(c.node.dtype));
  }
  return c.set_shape(c.in(0).shape);
}

}  // namespace

Result<> infer_elementwise(const Check& c) {
  if (c.node.op == Op::cast || c.node.op == Op::bitcast) return infer_cast(c);
  const size_t first = c.node.op == Op::where ? 1 : 0;
  if (c.node.op == Op::where && c.in(0).dtype != DType::boolean)
    return c.error("the condition is {}, wanted bool", c.type(0));
  OST_TRY(check_alike(c, first));
  const DType type = c.in(first).dtype;
  const Types types = types_of(c.node.op);
  if (!accepts(types, type))
    return c.error("operand is {}, wanted {}", c.type(first), wanted(types));
  const bool compares = c.node.op >= Op::eq && c.node.op <= Op::le;
  c.node.dtype = compares ? DType::boolean : type;
  return c.set_shape(c.in(0).shape);
}

}  // namespace ost::ir::detail
