// Constants, index ramps, state and devices.
#include "core/ir/build.hpp"
#include "core/ir/values.hpp"

namespace ost::ir {

using namespace detail;

Node1 full(Graph& g, DType dtype, Shape shape, double value) {
  const auto bits = encode(dtype, value);
  if (!bits) return bad("full", "the value {} is not a number of type {}", value, name_of(dtype));
  Node node;
  node.op = Op::full;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.bits = *bits;
  return g.add(std::move(node));
}

Node1 full_int(Graph& g, DType dtype, Shape shape, int64_t value) {
  if (is_float(dtype)) return full(g, dtype, std::move(shape), static_cast<double>(value));
  if (!int_fits(dtype, value))
    return bad("full", "the integer {} is out of range for {}", value, name_of(dtype));
  Node node;
  node.op = Op::full;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.bits = encode_int(dtype, value);
  return g.add(std::move(node));
}

Node1 constant(Graph& g, LiteralPtr data, std::string name) {
  if (!data) return bad("constant", "no data");
  Input input;
  input.name = std::move(name);
  input.kind = InputKind::constant;
  input.dtype = data->dtype;
  input.shape.assign(data->shape.begin(), data->shape.end());
  input.data = std::move(data);
  return g.add_input(std::move(input));
}

Node1 arange(Graph& g, Sym count) {
  Node node;
  node.op = Op::iota;
  node.shape = {std::move(count)};
  node.ints = {0};
  return g.add(std::move(node));
}

Node1 scalar_like(Graph& g, NodeId like, double value, bool is_int) {
  const DType type = dtype_of(g, like);
  if (is_float(type)) return full(g, type, {}, value);
  if (!is_int) return full(g, DType::f64, {}, value);
  if (type == DType::boolean) return full(g, DType::i64, {}, value);
  if (!encode(type, value))
    return bad("scalar", "the integer {} is out of range for {}; cast the tensor to a wider type",
               value, name_of(type));
  return full(g, type, {}, value);
}

Node1 assign(Graph& g, NodeId target, NodeId value, std::vector<Sym> starts) {
  if (starts.size() > rank_of(g, target))
    return bad("assign", "{} start positions for {}", starts.size(), type_string(g, target));
  const bool whole = starts.empty();
  starts.resize(rank_of(g, target), Sym(0));
  if (dtype_of(g, value) != dtype_of(g, target))
    return bad("assign", "target is {}, value is {}; cast the value", type_string(g, target),
               type_string(g, value));
  if (whole) {
    auto fitted = broadcast_to(g, value, shape_of(g, target));
    if (!fitted) return std::unexpected(fitted.error().in("assign"));
    value = *fitted;
  }
  Node node;
  node.op = Op::assign;
  node.inputs = {target, value};
  node.syms = std::move(starts);
  return g.add(std::move(node));
}

Node1 copy_to(Graph& g, NodeId x, uint32_t device) {
  Node node;
  node.op = Op::copy;
  node.inputs = {x};
  node.bits = device;
  return g.add(std::move(node));
}

}  // namespace ost::ir
