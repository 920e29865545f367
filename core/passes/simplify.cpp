#include "core/passes/simplify.hpp"

#include <algorithm>
#include <bit>

#include "core/passes/fold.hpp"

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

class Simplifier {
 public:
  explicit Simplifier(const ir::Graph& graph) : old_(graph) {}

  Result<ir::Graph> run() {
    const size_t count = old_.nodes().size();
    std::vector<bool> needed(count, false);
    for (const auto& o : old_.outputs()) needed[o.node] = true;
    for (size_t n = count; n-- > 0;) {
      if (!needed[n]) continue;
      for (NodeId in : old_.nodes()[n].inputs) needed[in] = true;
    }
    map_.assign(count, 0);
    for (NodeId n = 0; n < count; ++n) {
      if (old_.node(n).op == Op::input) {  // all inputs stay: they are the signature
        OST_TRY_ASSIGN(map_[n], new_.add_input(old_.input(n)));
      } else if (needed[n]) {
        Node node = old_.node(n);
        for (NodeId& in : node.inputs) in = map_[in];
        OST_TRY_ASSIGN(map_[n], rewrite(std::move(node)));
      }
    }
    for (const auto& o : old_.outputs()) new_.add_output(o.name, map_[o.node]);
    return std::move(new_);
  }

 private:
  const Node& operand(const Node& n, size_t i = 0) const { return new_.node(n.inputs[i]); }

  Result<NodeId> rewrite(Node n) {
    if (moves_nothing(n)) return n.inputs[0];
    OST_TRY_ASSIGN(auto constant, fold(new_, n));
    if (constant) return new_.add(std::move(*constant));
    switch (n.op) {
      case Op::reshape:
      case Op::expand:
      case Op::permute:
        return rewrite_movement(std::move(n));
      case Op::where:
        return rewrite_where(std::move(n));
      case Op::mul:
        return rewrite_mul(std::move(n));
      case Op::neg:
      case Op::bit_not:
        if (operand(n).op == n.op) return operand(n).inputs[0];
        break;
      default:
        break;
    }
    return new_.add(std::move(n));
  }

  static bool all_zero(const std::vector<Sym>& syms) {
    return std::all_of(syms.begin(), syms.end(), [](const Sym& s) { return s == Sym(0); });
  }

  bool moves_nothing(const Node& n) const {
    switch (n.op) {
      case Op::reshape:
      case Op::expand:
        return n.shape == operand(n).shape;
      case Op::permute:
        return std::is_sorted(n.ints.begin(), n.ints.end());
      case Op::flip:
        return n.ints.empty();
      case Op::shrink:
        return n.shape == operand(n).shape && all_zero(n.syms) &&
               std::all_of(n.ints.begin(), n.ints.end(), [](int64_t s) { return s == 1; });
      case Op::pad:
        return all_zero(n.syms);
      case Op::cast:
      case Op::bitcast:
        return n.dtype == operand(n).dtype;
      default:
        return false;
    }
  }

  // The same movement twice is once; a constant looks the same from everywhere.
  Result<NodeId> rewrite_movement(Node n) {
    const Node& x = operand(n);
    if (x.op == Op::full) {
      Node f = x;
      f.shape = n.shape;
      return new_.add(std::move(f));
    }
    if (x.op == n.op) {
      if (n.op == Op::permute) {
        std::vector<int64_t> order;
        for (int64_t d : n.ints) order.push_back(x.ints[static_cast<size_t>(d)]);
        n.ints = std::move(order);
      }
      n.inputs = {x.inputs[0]};
      if (moves_nothing(n)) return n.inputs[0];
    }
    return new_.add(std::move(n));
  }

  Result<NodeId> rewrite_where(Node n) {
    if (operand(n).op == Op::full) return n.inputs[operand(n).bits != 0 ? 1 : 2];
    if (n.inputs[1] == n.inputs[2]) return n.inputs[1];
    return new_.add(std::move(n));
  }

  static bool is_one(const Node& n) {
    if (n.op != Op::full) return false;
    switch (n.dtype) {
      case DType::f64:
        return n.bits == std::bit_cast<uint64_t>(1.0);
      case DType::f32:
        return n.bits == std::bit_cast<uint32_t>(1.0f);
      case DType::f16:
        return n.bits == 0x3c00;
      case DType::bf16:
        return n.bits == 0x3f80;
      default:
        return n.bits == 1;
    }
  }

  Result<NodeId> rewrite_mul(Node n) {
    if (is_one(operand(n, 1))) return n.inputs[0];
    if (is_one(operand(n, 0))) return n.inputs[1];
    return new_.add(std::move(n));
  }

  const ir::Graph& old_;
  ir::Graph new_;
  std::vector<NodeId> map_;
};

}  // namespace

Result<ir::Graph> simplify(const ir::Graph& graph) { return Simplifier(graph).run(); }

}  // namespace ost
