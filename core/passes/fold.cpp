#include "core/passes/fold.hpp"

#include <algorithm>
#include <cstring>

#include "core/ir/infer.hpp"
#include "core/passes/lower_elementwise.hpp"

namespace ost {

Result<std::optional<ir::Node>> fold(const ir::Graph& graph, const ir::Node& node) {
  const auto is_constant = [&](ir::NodeId n) { return graph.node(n).op == ir::Op::full; };
  if (!ir::is_elementwise(node.op) || !std::ranges::all_of(node.inputs, is_constant))
    return std::nullopt;
  ir::Node result;
  result.op = ir::Op::full;
  result.shape = graph.node(node.inputs[0]).shape;
  ir::Node typed = node;
  OST_TRY(ir::infer(graph, typed));
  result.dtype = typed.dtype;
  kir::Builder b;
  std::vector<kir::Value> args;
  for (const ir::NodeId in : node.inputs)
    args.push_back(b.constant(graph.node(in).dtype, graph.node(in).bits));
  const kir::Value out = b.param(0, result.dtype, b.i64(1), OST_KIR_WRITE);
  b.store(out, b.i64(0), lower_elementwise(b, typed, args));
  OST_TRY_ASSIGN(const kir::Kernel kernel, b.build());
  uint8_t bytes[8] = {};
  const kir::ParamData data{bytes, size_of(result.dtype)};
  OST_TRY(kir::interpret(kernel, {&data, 1}, {}));
  std::memcpy(&result.bits, bytes, size_of(result.dtype));
  return std::optional(std::move(result));
}

}  // namespace ost
