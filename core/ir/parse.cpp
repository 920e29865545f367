// Reads the text form of a graph (core/ir/print.cpp) through Graph::add(), so that what is read is
// checked.
#include <charconv>

#include "core/base/sha256.hpp"
#include "core/ir/infer.hpp"
#include "core/ir/text_cursor.hpp"
#include "core/kir/ops.hpp"

namespace ost::ir {
namespace {

using detail::bad;
using detail::Cursor;

class Reader {
 public:
  explicit Reader(const LiteralResolver& resolve) : resolve_(resolve) {}

  Result<> line(std::string_view text) {
    Cursor in(text);
    if (in.done() || in.accept("#")) return {};
    if (in.accept("var ")) return var_line(in);
    if (in.accept("output ")) return output_line(in);
    return node_line(in);
  }

  Graph graph;

 private:
  Result<> var_line(Cursor& in) {
    Var var;
    var.name = in.name();
    OST_TRY(in.expect("="));
    OST_TRY_ASSIGN(var.min, in.number<int64_t>());
    OST_TRY(in.expect(".."));
    OST_TRY_ASSIGN(var.max, in.number<int64_t>());
    if (var.name.empty() || var.min > var.max)
      return bad("wanted 'var NAME = MIN..MAX' with MIN <= MAX");
    vars_.push_back(std::move(var));
    return end(in);
  }

  Result<> output_line(Cursor& in) {
    OST_TRY_ASSIGN(std::string name, in.string());
    OST_TRY(in.expect("="));
    OST_TRY_ASSIGN(const NodeId id, node_id(in));
    graph.add_output(std::move(name), id);
    return end(in);
  }

  Result<> node_line(Cursor& in) {
    OST_TRY(in.expect("%"));
    OST_TRY_ASSIGN(const auto number, in.number<NodeId>());
    OST_TRY(in.expect("="));
    const std::string_view name = in.word();
    const auto op = op_from_name(name);
    if (!op) return bad(fmt::format("unknown operation '{}'", name));
    OST_TRY_ASSIGN(const NodeId id, *op == Op::input ? input_body(in) : node_body(in, *op));
    if (id != number)
      return bad(fmt::format(
          "%{} is node %{} of the graph: out of order, or equal to an earlier one", number, id));
    return {};
  }

  Result<NodeId> input_body(Cursor& in) {
    Input input;
    OST_TRY_ASSIGN(input.name, in.string());
    const std::string_view kind = in.word();
    bool known = false;
    for (const InputKind k : {InputKind::argument, InputKind::state, InputKind::constant})
      if (name_of(k) == kind) {
        input.kind = k;
        known = true;
      }
    if (!known)
      return bad(
          fmt::format("unknown kind of input '{}', wanted argument, state or constant", kind));
    if (in.accept("device=")) {
      OST_TRY_ASSIGN(input.device, in.number<uint32_t>());
    }
    std::string_view data;
    const bool has_data = in.accept("data=");
    if (has_data && !in.accept(": ")) {
      data = in.word();
      OST_TRY(in.expect(":"));
    } else if (!has_data) {
      OST_TRY(in.expect(":"));
    }
    OST_TRY(type(in, input.dtype, input.shape));
    if (has_data) {
      OST_TRY_ASSIGN(input.data, literal(data, input));
    }
    return graph.add_input(std::move(input));
  }

  Result<LiteralPtr> literal(std::string_view text, const Input& input) {
    Literal data;
    data.dtype = input.dtype;
    for (const Sym& size : input.shape) {
      if (!size.constant())
        return bad(fmt::format("data with the symbolic shape {}", to_string(input.shape)));
      data.shape.push_back(*size.constant());
    }
    if (text.starts_with("sha256:")) {
      if (!resolve_)
        return bad(
            fmt::format("the data of '{}' is outside of the text, and nothing here can look it up",
                        input.name));
      OST_TRY_ASSIGN(data.bytes, resolve_(text.substr(7)));
      if (sha256_hex(data.bytes) != text.substr(7))
        return bad(fmt::format("the data of '{}' has another sha256 than {}", input.name, text));
    } else {
      OST_TRY_ASSIGN(data.bytes, hex(text));
    }
    return std::make_shared<const Literal>(std::move(data));
  }

  static Result<std::vector<uint8_t>> hex(std::string_view text) {
    std::vector<uint8_t> bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const char* at = text.data() + 2 * i;
      if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2)
        return bad("data is not hex digits");
    }
    if (text.size() % 2 != 0) return bad("data has an odd number of hex digits");
    return bytes;
  }

  Result<NodeId> node_body(Cursor& in, Op op) {
    Node node;
    node.op = op;
    while (in.accept("%")) {
      OST_TRY_ASSIGN(const auto id, in.number<NodeId>());
      node.inputs.push_back(id);
    }
    OST_TRY(attributes(in, node));
    OST_TRY(in.expect(":"));
    DType dtype{};
    Shape shape;
    OST_TRY(type(in, dtype, shape));
    node.dtype = dtype;
    node.shape = shape;
    OST_TRY_ASSIGN(const NodeId id, graph.add(std::move(node)));
    const Node& made = graph.node(id);
    if (made.dtype != dtype || made.shape != shape)
      return bad(fmt::format("the type given is {}, but the operands make it {}",
                             type_string(dtype, shape), type_string(graph, id)));
    return id;
  }

  Result<> attributes(Cursor& in, Node& node) {
    if (in.accept("ints=")) {
      OST_TRY_ASSIGN(const auto parts, in.list());
      for (const std::string_view part : parts) {
        Cursor item(part);
        OST_TRY_ASSIGN(const auto value, item.number<int64_t>());
        OST_TRY(end(item));
        node.ints.push_back(value);
      }
    }
    if (in.accept("syms=")) {
      OST_TRY_ASSIGN(node.syms, sizes(in));
    }
    if (in.accept("bits=")) {
      OST_TRY(in.expect("0x"));
      OST_TRY_ASSIGN(node.bits, in.number<uint64_t>(16));
    }
    if (in.accept("order=")) {
      const std::string_view name = in.word();
      const auto order = kir::order_from_name(name);
      if (!order)
        return bad(fmt::format("unknown order '{}', wanted any, tree, blk256 or attn", name));
      node.order = *order;
    }
    return {};
  }

  Result<> type(Cursor& in, DType& dtype, Shape& shape) {
    const std::string_view name = in.name();
    const auto found = dtype_from_name(name);
    if (!found) return bad(fmt::format("unknown dtype '{}'", name));
    dtype = *found;
    OST_TRY_ASSIGN(shape, sizes(in));
    return end(in);
  }

  Result<std::vector<Sym>> sizes(Cursor& in) {
    std::vector<Sym> result;
    OST_TRY_ASSIGN(const auto parts, in.list());
    for (const std::string_view part : parts) {
      OST_TRY_ASSIGN(Sym size, Sym::parse(part, vars_));
      result.push_back(std::move(size));
    }
    return result;
  }

  Result<NodeId> node_id(Cursor& in) {
    OST_TRY(in.expect("%"));
    OST_TRY_ASSIGN(const auto id, in.number<NodeId>());
    if (id >= graph.nodes().size()) return bad(fmt::format("%{} is not an earlier node", id));
    return id;
  }

  static Result<> end(const Cursor& in) {
    if (!in.done()) return bad("something follows the end of the line");
    return {};
  }

  const LiteralResolver& resolve_;
  std::vector<Var> vars_;
};

}  // namespace

Result<Graph> parse(std::string_view text, const LiteralResolver& resolve) {
  Reader reader(resolve);
  size_t number = 1;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto ok = reader.line(text.substr(0, end)); !ok)
      return std::unexpected(ok.error().in(fmt::format("graph text: line {}", number)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
  }
  return std::move(reader.graph);
}

}  // namespace ost::ir
