#include "core/passes/attention.hpp"

#include <bit>
#include <cmath>
#include <map>

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

// Of one head. Beyond these two products and a softmax are faster, and their scores small beside
// the operands.
constexpr int64_t kWidestHead = 512;
constexpr int64_t kFewestChannels = 8;
constexpr uint64_t kMinusInf = 0xff800000;

// What the parts say: ids of the old graph.
struct Match {
  NodeId q, k, v;  // v as the contraction has it: [..., C, T]
  std::optional<float> scale;
  std::optional<NodeId> mask, bias;
};

class Matcher {
 public:
  explicit Matcher(const ir::Graph& graph) : g_(graph) {}

  // `n`: contract(weights, v).
  std::optional<Match> run(NodeId n) {
    const Node& product = g_.node(n);
    if (!is_product(product)) return std::nullopt;
    const auto scores = softmax_of(product.inputs[0]);
    if (!scores || !read_scores(*scores)) return std::nullopt;
    match_.v = product.inputs[1];
    if (!is_head(g_.node(match_.q).shape.back(), 1) ||
        !is_head(product.shape.back(), kFewestChannels))
      return std::nullopt;
    return match_;
  }

 private:
  const Node& in(const Node& n, size_t i) const { return g_.node(n.inputs[i]); }

  static bool is_head(const Sym& size, int64_t fewest) {
    const auto n = size.constant();
    return n && *n >= fewest && *n <= kWidestHead;
  }

  static bool is_product(const Node& n) {
    return n.op == Op::contract && n.dtype == DType::f32 && n.order == kir::Order::blk256;
  }

  // The operand of an expand along the last axis only.
  std::optional<NodeId> along_row(NodeId n) const {
    const Node& node = g_.node(n);
    if (node.op != Op::expand) return std::nullopt;
    const Shape& from = in(node, 0).shape;
    for (size_t d = 0; d < from.size(); ++d)
      if (!(from[d] == node.shape[d]) != (d + 1 == from.size())) return std::nullopt;
    return node.inputs[0];
  }

  // A reduction of `x` over its last axis.
  bool reduces(NodeId n, Op op, NodeId x) const {
    const Node& node = g_.node(n);
    return node.op == op && node.inputs[0] == x && node.ints.size() == 1 &&
           node.ints[0] + 1 == static_cast<int64_t>(g_.node(x).shape.size());
  }

  bool is_full(NodeId n, uint64_t bits) const {
    return g_.node(n).op == Op::full && g_.node(n).dtype == DType::f32 && g_.node(n).bits == bits;
  }

  // e * (1 / sum(e)) with e = exp(x - max(x)): x.
  std::optional<NodeId> softmax_of(NodeId n) const {
    const Node& product = g_.node(n);
    if (product.op != Op::mul || product.dtype != DType::f32) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const NodeId e = product.inputs[i];
      const auto r = along_row(product.inputs[1 - i]);
      if (!r || g_.node(*r).op != Op::div || !is_full(g_.node(*r).inputs[0], 0x3f800000)) continue;
      if (!reduces(g_.node(*r).inputs[1], Op::sum, e) || g_.node(e).op != Op::exp) continue;
      const Node& shifted = in(g_.node(e), 0);
      if (shifted.op != Op::sub) continue;
      const NodeId x = shifted.inputs[0];
      const auto top = along_row(shifted.inputs[1]);
      if (top && reduces(*top, Op::max, x)) return x;
    }
    return std::nullopt;
  }

  // From the outside in: where(mask, s, -inf), s + bias, s * c, s / c, and then q k^T.
  bool read_scores(NodeId n) {
    for (;;) {
      const Node& node = g_.node(n);
      if (is_product(node)) return take_product(node);
      switch (node.op) {
        case Op::where:
          if (match_.mask || match_.scale || !is_full(node.inputs[2], kMinusInf)) return false;
          match_.mask = node.inputs[0];
          n = node.inputs[1];
          break;
        case Op::add: {
          if (match_.bias || match_.scale) return false;
          const size_t scores = leads_to_product(node.inputs[0]) ? 0 : 1;
          match_.bias = node.inputs[1 - scores];
          n = node.inputs[scores];
          break;
        }
        case Op::mul:
        case Op::div: {
          const size_t factor = node.op == Op::mul && in(node, 0).op == Op::full ? 0 : 1;
          if (match_.scale || in(node, factor).op != Op::full) return false;
          const float c = std::bit_cast<float>(static_cast<uint32_t>(in(node, factor).bits));
          match_.scale = node.op == Op::mul ? c : 1 / c;
          n = node.inputs[1 - factor];
          break;
        }
        default:
          return false;
      }
    }
  }

  bool leads_to_product(NodeId n) const {
    for (;;) {
      const Node& node = g_.node(n);
      if (node.op == Op::where)
        n = node.inputs[1];
      else if (node.op == Op::mul || node.op == Op::div)
        n = node.inputs[node.op == Op::mul && in(node, 0).op == Op::full ? 1 : 0];
      else
        return is_product(node);
    }
  }

  bool take_product(const Node& product) {
    match_.q = product.inputs[0];
    match_.k = product.inputs[1];
    const Node& q = g_.node(match_.q);
    for (size_t i = 0; i < 2 && !match_.scale; ++i) {
      if (q.op != Op::mul || in(q, i).op != Op::full) continue;
      match_.scale = std::bit_cast<float>(static_cast<uint32_t>(in(q, i).bits));
      match_.q = q.inputs[1 - i];
    }
    const float scale = match_.scale.value_or(1);
    return std::isfinite(scale);
  }

  const ir::Graph& g_;
  Match match_;
};

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& graph) : old_(graph) {}

  Result<std::optional<ir::Graph>> run() {
    std::map<NodeId, Match> found;
    for (NodeId n = 0; n < old_.nodes().size(); ++n)
      if (const auto match = Matcher(old_).run(n)) found.emplace(n, *match);
    if (found.empty()) return std::nullopt;
    for (NodeId n = 0; n < old_.nodes().size(); ++n) {
      Node node = old_.node(n);
      if (node.op == Op::input) {
        OST_TRY_ASSIGN(map_.emplace_back(), new_.add_input(old_.input(n)));
      } else if (const auto match = found.find(n); match != found.end()) {
        OST_TRY_ASSIGN(map_.emplace_back(), attention(match->second));
      } else {
        for (NodeId& operand : node.inputs) operand = map_[operand];
        OST_TRY_ASSIGN(map_.emplace_back(), new_.add(std::move(node)));
      }
    }
    for (const auto& o : old_.outputs()) new_.add_output(o.name, map_[o.node]);
    return std::optional(std::move(new_));
  }

 private:
  Result<NodeId> attention(const Match& m) {
    Node node;
    node.op = Op::attention;
    Node turn;  // [..., C, T] to [..., T, C]
    turn.op = Op::permute;
    turn.inputs = {map_[m.v]};
    const size_t rank = old_.node(m.v).shape.size();
    for (size_t d = 0; d < rank; ++d) turn.ints.push_back(static_cast<int64_t>(d));
    std::swap(turn.ints[rank - 1], turn.ints[rank - 2]);
    OST_TRY_ASSIGN(const NodeId v, unturned(std::move(turn)));
    node.inputs = {map_[m.q], map_[m.k], v};
    if (m.mask) {
      node.inputs.push_back(map_[*m.mask]);
    } else {
      Node all;
      all.op = Op::full;
      all.dtype = DType::boolean;
      all.shape = old_.node(m.q).shape;
      all.shape.back() = old_.node(m.k).shape[rank - 2];
      all.bits = 1;
      OST_TRY_ASSIGN(node.inputs.emplace_back(), new_.add(std::move(all)));
    }
    if (m.bias) node.inputs.push_back(map_[*m.bias]);
    node.bits = std::bit_cast<uint32_t>(m.scale.value_or(1));
    return new_.add(std::move(node));
  }

  // The operand of the same turn, if there is one: two of them are none.
  Result<NodeId> unturned(Node turn) {
    const Node& x = new_.node(turn.inputs[0]);
    if (x.op == Op::permute && x.ints == turn.ints) return x.inputs[0];
    return new_.add(std::move(turn));
  }

  const ir::Graph& old_;
  ir::Graph new_;
  std::vector<NodeId> map_;
};

}  // namespace

Result<std::optional<ir::Graph>> recognise_attention(const ir::Graph& graph) {
  return Rewriter(graph).run();
}

}  // namespace ost
