// The text form of a graph:
//   var n = 1..1797
//   %0 = input "x" argument : f32[n, 64]
//   %1 = sum %0 ints=[1] order=tree : f32[n, 1]
//   output "y" = %1
#include "core/base/sha256.hpp"
#include "core/ir/infer.hpp"
#include "core/kir/ops.hpp"

namespace ost::ir {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string literal_text(const Literal& data, const TextOptions& options) {
  if (data.bytes.size() > options.inline_bytes) return "sha256:" + sha256_hex(data.bytes);
  return to_hex(data.bytes);
}

std::string input_text(const Input& input, const TextOptions& options) {
  std::string out = fmt::format("input {} {}", quoted(input.name), name_of(input.kind));
  if (input.device != 0) out += fmt::format(" device={}", input.device);
  if (input.data) out += " data=" + literal_text(*input.data, options);
  return out;
}

std::string node_text(const Node& node) {
  std::string out{name_of(node.op)};
  for (const NodeId id : node.inputs) out += fmt::format(" %{}", id);
  if (!node.ints.empty()) out += fmt::format(" ints=[{}]", fmt::join(node.ints, ", "));
  if (!node.syms.empty()) out += fmt::format(" syms={}", to_string(node.syms));
  if (node.bits != 0) out += fmt::format(" bits={:#x}", node.bits);
  if (node.order != kir::Order::any) out += fmt::format(" order={}", kir::name_of(node.order));
  return out;
}

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  std::string out;
  if (const auto vars = graph.vars())
    for (const Var& var : *vars)
      out += fmt::format("var {} = {}..{}\n", var.name, var.min, var.max);
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    const std::string body =
        node.op == Op::input ? input_text(graph.input(id), options) : node_text(node);
    out += fmt::format("%{} = {} : {}\n", id, body, type_string(node.dtype, node.shape));
  }
  for (const Graph::Output& output : graph.outputs())
    out += fmt::format("output {} = %{}\n", quoted(output.name), output.node);
  return out;
}

}  // namespace ost::ir
