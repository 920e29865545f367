// Making nodes: inference, checks, and one node for equal nodes.
#include "core/ir/graph.hpp"

#include "core/ir/infer.hpp"

namespace ost::ir {
namespace {

void mix(size_t& hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
}

void mix(size_t& hash, const Sym& sym) {
  if (const auto value = sym.constant()) return mix(hash, static_cast<uint64_t>(*value));
  for (const Sym::Term& term : sym.terms()) {
    mix(hash, static_cast<uint64_t>(term.coefficient));
    for (const auto& atom : term.factors) {
      mix(hash, static_cast<uint64_t>(atom->kind));
      if (atom->kind == Sym::AtomKind::var) {
        mix(hash, std::hash<std::string>{}(atom->variable.name));
      } else {
        mix(hash, atom->a);
        mix(hash, atom->b);
      }
    }
  }
}

size_t hash_of(const Node& node) {
  size_t hash = static_cast<size_t>(node.op);
  mix(hash, static_cast<uint64_t>(node.dtype));
  mix(hash, node.bits);
  mix(hash, static_cast<uint64_t>(node.order));
  for (const NodeId id : node.inputs) mix(hash, id);
  for (const int64_t value : node.ints) mix(hash, static_cast<uint64_t>(value));
  for (const Sym& sym : node.syms) mix(hash, sym);
  for (const Sym& size : node.shape) mix(hash, size);
  return hash;
}

Result<> check_literal(const Input& input) {
  if (!input.data) {
    if (input.kind == InputKind::constant)
      return fail(OST_INVALID_ARGUMENT, "input '{}': a constant without data", input.name);
    return {};
  }
  const Literal& data = *input.data;
  const Shape shape(data.shape.begin(), data.shape.end());
  if (data.dtype != input.dtype || shape != input.shape)
    return fail(OST_INVALID_ARGUMENT, "input '{}': the data is {}, wanted {}", input.name,
                type_string(data.dtype, shape), type_string(input.dtype, input.shape));
  const auto count = numel(shape).constant();
  if (!count || *count < 0 ||
      static_cast<uint64_t>(*count) != data.bytes.size() / size_of(data.dtype) ||
      data.bytes.size() % size_of(data.dtype) != 0)
    return fail(OST_INVALID_ARGUMENT, "input '{}': the data has {} bytes, which does not fit {}",
                input.name, data.bytes.size(), type_string(data.dtype, shape));
  return {};
}

}  // namespace

Result<NodeId> Graph::add_input(Input input) {
  if (!is_valid(input.dtype))
    return fail(OST_INVALID_ARGUMENT, "input '{}': dtype number {} is unknown", input.name,
                static_cast<int>(input.dtype));
  if (input.kind == InputKind::argument && input.data)
    return fail(OST_INVALID_ARGUMENT, "input '{}': an argument has no data of its own", input.name);
  OST_TRY(check_literal(input));
  inputs_.push_back(std::move(input));
  Node node;
  node.op = Op::input;
  node.bits = inputs_.size() - 1;
  auto id = add(std::move(node));
  if (!id) {
    auto error = id.error().in(fmt::format("input '{}'", inputs_.back().name));
    inputs_.pop_back();
    return std::unexpected(std::move(error));
  }
  return id;
}

Result<NodeId> Graph::add(Node node) {
  OST_TRY(infer(*this, node));
  const size_t hash = hash_of(node);
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (nodes_[it->second] == node) return it->second;
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(node));
  index_.emplace(hash, id);
  return id;
}

void Graph::add_output(std::string name, NodeId node) {
  outputs_.push_back({std::move(name), node});
}

Result<std::vector<Var>> Graph::vars() const {
  std::map<std::string, Var, std::less<>> all;
  auto merge = [&all](const Sym& sym) -> Result<> {
    if (sym.is_const()) return {};
    std::map<std::string, Var, std::less<>> found;
    sym.collect_vars(found);
    for (const auto& [name, var] : found) {
      const auto [it, is_new] = all.emplace(name, var);
      if (!is_new && it->second != var)
        return fail(OST_INVALID_ARGUMENT,
                    "variable '{}' has two bounds, {}..{} and {}..{}; wanted one", name,
                    it->second.min, it->second.max, var.min, var.max);
    }
    return {};
  };
  for (const Node& node : nodes_) {
    for (const Sym& size : node.shape) OST_TRY(merge(size));
    for (const Sym& sym : node.syms) OST_TRY(merge(sym));
  }
  std::vector<Var> result;
  for (const auto& entry : all) result.push_back(entry.second);
  return result;
}

}  // namespace ost::ir
