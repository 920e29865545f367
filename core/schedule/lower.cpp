#include "core/schedule/lower.hpp"

#include <map>
#include <set>

#include "core/passes/lower_elementwise.hpp"
#include "core/schedule/reshape_map.hpp"
#include "core/schedule/sym_to_kir.hpp"

namespace ost {

namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kir::kNone;
using kir::Value;
using Index = std::vector<Value>;

class Lowerer {
 public:
  Lowerer(const LowerContext& c, const KernelPlan& plan, bool guarded)
      : c_(c), g_(c.graph), plan_(plan), guarded_(guarded), b_(c.numerics), syms_(b_) {
    inlined_.insert(plan.inlined.begin(), plan.inlined.end());
    inlined_.insert(plan.outputs.begin(), plan.outputs.end());
  }

  Result<LoweredKernel> main_kernel() {
    const Node& root = g_.node(plan_.root);
    declare_params(writes());
    if (root.op == Op::assign)
      store_assign(root);
    else if (root.op == Op::scatter || root.op == Op::scatter_add)
      store_at(plan_.root, root.shape, root.inputs[0]);
    else
      for (NodeId n : plan_.outputs) store_at(n, root.shape, n);
    return finish();
  }

  Result<LoweredKernel> scatter_kernel() {
    const Node& node = g_.node(plan_.root);
    declare_params({c_.buffer_of(plan_.root)}, node.op == Op::scatter_add);
    store_scatter(node);
    return finish();
  }

 private:
  // --- parameters ---

  std::vector<BufferId> writes() const {
    std::vector<BufferId> out;
    for (NodeId n : plan_.outputs) out.push_back(c_.buffer_of(n));
    return out;
  }

  // Written parameters come first; whether one is read as well shows only at the end, so reads of
  // written buffers are found beforehand.
  void declare_params(const std::vector<BufferId>& written, bool read_back = false) {
    std::set<BufferId> read;
    find_reads(plan_.root, read, true);
    for (BufferId id : written) {
      if (params_.contains(id)) continue;
      const bool both = read_back || read.contains(id);
      declare(id, both ? OST_KIR_READ | OST_KIR_WRITE : OST_KIR_WRITE);
    }
  }

  void find_reads(NodeId root, std::set<BufferId>& read, bool is_root) {
    const Node& node = g_.node(root);
    if (!is_root && !inlined_.contains(root)) {
      if (node.op == Op::input || c_.plan.is_stored(root)) read.insert(c_.buffer_of(root));
      return;
    }
    if (!visited_.insert(root).second) return;
    const size_t first = node.op == Op::assign ? 1 : 0;
    for (size_t i = first; i < node.inputs.size(); ++i) find_reads(node.inputs[i], read, false);
  }

  Value declare(BufferId id, uint32_t access) {
    const auto slot = static_cast<uint32_t>(order_.size());
    const Value count = syms_(c_.elements_of(id));
    const Value p = b_.param(slot, dtype_of(id), count, access);
    order_.push_back(id);
    params_.emplace(id, p);
    counts_.emplace(p, count);
    return p;
  }

  // A guarded kernel masks every access by the size of its buffer. That changes no value, since an
  // access that happens is inside, but it makes the proof trivial where the index arithmetic is too
  // hard for the prover.
  Value guard(Value p, Value index, Value mask) {
    if (!guarded_) return mask;
    return both(mask, b_.bit_and(b_.le(b_.i64(0), index), b_.lt(index, counts_.at(p))));
  }
  bool never(Value mask) const {
    return mask != kNone && b_.op(mask) == kir::Op::constant && b_.inst(mask).imm == 0;
  }
  Value load(Value p, Value index, Value mask) {
    const Value m = guard(p, index, mask);
    return never(m) ? b_.constant(b_.dtype(p), 0) : b_.load(p, index, m);
  }
  void store(Value p, Value index, Value value, Value mask = kNone) {
    const Value m = guard(p, index, mask);
    if (!never(m)) b_.store(p, index, value, m);
  }

  DType dtype_of(BufferId id) const { return types_.at(id); }

  Value param(NodeId n) {
    const BufferId id = c_.buffer_of(n);
    types_.emplace(id, g_.node(n).dtype);
    auto it = params_.find(id);
    return it != params_.end() ? it->second : declare(id, OST_KIR_READ);
  }

  // --- index arithmetic ---

  Value sym(const Sym& s) { return syms_(s); }

  Value linear(std::span<const Sym> shape, std::span<const Value> index) {
    Value out = b_.i64(0);
    for (size_t d = 0; d < shape.size(); ++d) out = b_.add(b_.mul(out, sym(shape[d])), index[d]);
    return out;
  }

  // Splits a row-major position over `shape` into `out`.
  void split(Value position, std::span<const Sym> shape, Index& out, size_t at) {
    for (size_t d = shape.size(); d-- > 0;) {
      if (d == 0) {
        out[at] = position;
      } else {
        const Value extent = sym(shape[d]);
        out[at + d] = b_.rem(position, extent);
        position = b_.div(position, extent);
      }
    }
  }

  // The parallel axes of a result. With a tile size a longer one is two, tiles and places in a tile,
  // and `inside_` says which places of the last tile exist: it masks every access.
  Index axes_of(std::span<const Sym> shape) {
    Index index;
    for (const Sym& s : shape) {
      if (s == Sym(1)) {
        index.push_back(b_.i64(0));
      } else if (c_.tile_size > 0 && s.upper() > c_.tile_size) {
        index.push_back(tiled_axis(s));
      } else {
        index.push_back(b_.axis(sym(s), kir::Role::parallel));
      }
    }
    return index;
  }

  Value tiled_axis(const Sym& extent) {
    const Sym tiles = ceildiv(extent, Sym(c_.tile_size));
    const Value tile = b_.axis(sym(tiles), kir::Role::parallel);
    const Value place = b_.axis(b_.i64(c_.tile_size), kir::Role::parallel);
    const Value at = b_.add(b_.mul(tile, b_.i64(c_.tile_size)), place);
    if (!(tiles * Sym(c_.tile_size) == extent)) inside_ = both(inside_, b_.lt(at, sym(extent)));
    tiles_.push_back(fmt::format("{} as {} x {}", extent.str(), tiles.str(), c_.tile_size));
    return at;
  }

  Index through_reshape(const Node& node, const Node& operand, const Index& index) {
    Index out(operand.shape.size(), b_.i64(0));
    for (const ReshapeRun& r : reshape_runs(operand.shape, node.shape)) {
      const size_t from = r.from_end - r.from_begin, to = r.to_end - r.to_begin;
      if (from == 0) continue;
      const Value position =
          linear({node.shape.data() + r.to_begin, to}, {index.data() + r.to_begin, to});
      split(position, {operand.shape.data() + r.from_begin, from}, out, r.from_begin);
    }
    return out;
  }

  Value both(Value a, Value m) { return a == kNone ? m : m == kNone ? a : b_.bit_and(a, m); }

  // --- evaluation: the value of a node at an index, as KIR. Where `mask` is false the value is not
  // used and nothing is loaded for it. ---

  Value eval(NodeId n, const Index& index, Value mask) {
    if (numel(g_.node(n).shape) == Sym(0))
      return b_.constant(g_.node(n).dtype, 0);  // no element of it is ever used
    auto key = std::make_tuple(n, index, mask);
    if (auto it = memo_.find(key); it != memo_.end()) return it->second;
    const Value v = compute(n, index, mask);
    memo_.emplace(std::move(key), v);
    return v;
  }

  // Operands of movement nodes and constants are looked through; stored nodes are loaded.
  Value compute(NodeId n, const Index& index, Value mask) {
    const Node& node = g_.node(n);
    const bool here = inlined_.contains(n);
    if (node.op == Op::input || (c_.plan.is_stored(n) && !here)) {
      if (numel(node.shape) == Sym(0))
        return b_.constant(node.dtype, 0);  // read behind a mask that is never true
      return load(param(n), linear(node.shape, index), mask);
    }
    if (ir::is_elementwise(node.op)) {
      Value args[3];
      for (size_t i = 0; i < node.inputs.size(); ++i) args[i] = eval(node.inputs[i], index, mask);
      return lower_elementwise(b_, node, {args, node.inputs.size()});
    }
    if (ir::is_movement(node.op)) return movement(node, index, mask);
    if (ir::is_reduction(node.op)) return reduction(node, index, mask);
    switch (node.op) {
      case Op::full:
        return b_.constant(node.dtype, node.bits);
      case Op::iota:
        return index[static_cast<size_t>(node.ints[0])];
      case Op::size:
        return sym(node.syms[0]);
      case Op::contract:
        return contraction(node, index, mask);
      case Op::attention:
        return attention(node, index, mask);
      case Op::gather:
        return gather(node, index, mask);
      default:
        return kNone;
    }
  }

  // A slice with clamped bounds is inside of its operand by an argument about min and max that the
  // prover of bounds does not follow: a mask that is always true says it in its terms.
  Value said_again(Value mask, Value position, const Sym& start, const Sym& count,
                   const Sym& extent) {
    if (is_polynomial(start) && is_polynomial(count)) return mask;
    if (start.lower() < 0) mask = both(b_.le(b_.i64(0), position), mask);
    return both(b_.lt(position, sym(extent)), mask);
  }

  static bool is_polynomial(const Sym& s) {
    for (const Sym::Term& term : s.terms())
      for (const auto& atom : term.factors)
        if (atom->kind != Sym::AtomKind::var) return false;
    return true;
  }

  Value movement(const Node& node, const Index& index, Value mask) {
    const Node& operand = g_.node(node.inputs[0]);
    Index out(operand.shape.size(), kNone);
    switch (node.op) {
      case Op::reshape:
        out = through_reshape(node, operand, index);
        break;
      case Op::permute:
        for (size_t d = 0; d < index.size(); ++d) out[static_cast<size_t>(node.ints[d])] = index[d];
        break;
      case Op::expand:
        for (size_t d = 0; d < index.size(); ++d)
          out[d] = operand.shape[d] == Sym(1) ? b_.i64(0) : index[d];
        break;
      case Op::shrink:
        for (size_t d = 0; d < index.size(); ++d) {
          const Value step = b_.i64(node.ints.empty() ? 1 : node.ints[d]);
          out[d] = b_.add(b_.mul(index[d], step), sym(node.syms[d]));
          mask = said_again(mask, out[d], node.syms[d], node.shape[d], operand.shape[d]);
        }
        break;
      case Op::flip:
        out = index;
        for (int64_t axis : node.ints) {
          const auto d = static_cast<size_t>(axis);
          out[d] = b_.sub(b_.sub(sym(operand.shape[d]), b_.i64(1)), index[d]);
        }
        break;
      case Op::window:
        return windowed(node, index, mask);
      case Op::pad:
        return padded(node, operand, index, mask);
      default:
        break;
    }
    return eval(node.inputs[0], out, mask);
  }

  Value windowed(const Node& node, const Index& index, Value mask) {
    const auto axis = static_cast<size_t>(node.ints[0]);
    Index out(index);
    out[axis] = b_.add(b_.mul(index[axis], b_.i64(node.ints[2])),
                       b_.mul(index[axis + 1], b_.i64(node.ints[3])));
    out.erase(out.begin() + node.ints[0] + 1);
    return eval(node.inputs[0], out, mask);
  }

  Value padded(const Node& node, const Node& operand, const Index& index, Value mask) {
    Index out(index);
    Value inside = kNone;
    const size_t rank = index.size();
    for (size_t d = 0; d < rank; ++d) {
      if (node.syms[d] == Sym(0) && node.syms[rank + d] == Sym(0)) continue;
      if (!(node.syms[d] == Sym(0))) {
        out[d] = b_.sub(index[d], sym(node.syms[d]));
        inside = both(inside, b_.le(b_.i64(0), out[d]));
      }
      if (!(node.syms[rank + d] == Sym(0)))
        inside = both(inside, b_.lt(out[d], sym(operand.shape[d])));
    }
    const Value value = eval(node.inputs[0], out, both(mask, inside));
    if (inside == kNone) return value;
    return b_.where(inside, value, b_.constant(node.dtype, node.bits));
  }

  static kir::Combine combine_of(Op op) {
    switch (op) {
      case Op::sum:
        return kir::Combine::sum;
      case Op::prod:
        return kir::Combine::prod;
      case Op::max:
      case Op::argmax:
        return kir::Combine::max;
      case Op::min:
      case Op::argmin:
        return kir::Combine::min;
      case Op::bit_and_reduce:
        return kir::Combine::bit_and;
      case Op::bit_or_reduce:
        return kir::Combine::bit_or;
      default:
        return kir::Combine::bit_xor;
    }
  }

  Value widen(Value v) { return is_half(b_.dtype(v)) ? b_.cast(DType::f32, v) : v; }
  Value narrow(DType t, Value v) { return b_.dtype(v) == t ? v : b_.cast(t, v); }

  // The reduced axes are one KIR axis over their row-major index: that is the index which the order
  // tag speaks of.
  Value reduction(const Node& node, const Index& index, Value mask) {
    const Node& operand = g_.node(node.inputs[0]);
    Shape extents;
    for (int64_t d : node.ints) extents.push_back(operand.shape[static_cast<size_t>(d)]);
    const Value axis = b_.axis(sym(numel(extents)), kir::Role::reduce);
    Index parts(extents.size(), kNone), at(index);
    split(axis, extents, parts, 0);
    for (size_t i = 0; i < node.ints.size(); ++i) at[static_cast<size_t>(node.ints[i])] = parts[i];
    // A reduction that is known to be empty computes no operand: its index would not even depend on
    // the axis.
    const bool empty = numel(extents) == Sym(0);
    const Value value = empty ? b_.constant(operand.dtype, 0) : eval(node.inputs[0], at, mask);
    if (node.op == Op::argmax || node.op == Op::argmin)
      return b_.argreduce(combine_of(node.op), widen(value), axis);
    return narrow(node.dtype, b_.reduce(combine_of(node.op), node.order, widen(value), axis));
  }

  Value contraction(const Node& node, const Index& index, Value mask) {
    const Shape& a = g_.node(node.inputs[0]).shape;
    const Value axis = b_.axis(sym(a.back()), kir::Role::reduce);
    Index left(index), right(index);
    left.back() = axis;
    right[right.size() - 2] = index.back();
    right.back() = axis;
    const bool empty = a.back() == Sym(0);
    const auto operand = [&](size_t i, const Index& at) {
      return widen(empty ? b_.constant(g_.node(node.inputs[i]).dtype, 0)
                         : eval(node.inputs[i], at, mask));
    };
    const Value x = operand(0, left), y = operand(1, right);
    return narrow(node.dtype, b_.contract(node.order, x, y, axis));
  }

  Value attention(const Node& node, const Index& index, Value mask) {
    const size_t r = index.size();
    const Value keys = b_.axis(sym(g_.node(node.inputs[1]).shape[r - 2]), kir::Role::reduce);
    const Value depth = b_.axis(sym(g_.node(node.inputs[0]).shape.back()), kir::Role::reduce);
    Index q(index), k(index), v(index), m(index);
    q[r - 1] = depth;
    k[r - 2] = keys, k[r - 1] = depth;
    v[r - 2] = keys;
    m[r - 1] = keys;
    const Value dot = b_.contract(kir::Order::blk256, eval(node.inputs[0], q, mask),
                                  eval(node.inputs[1], k, mask), depth);
    Value score = b_.mul(b_.constant(DType::f32, node.bits), dot);
    if (node.inputs.size() == 5) score = b_.add(score, eval(node.inputs[4], m, mask));
    return b_.attn(score, eval(node.inputs[3], m, mask), eval(node.inputs[2], v, mask), keys);
  }

  // A row number from data: negative counts from the end.
  Value row_index(NodeId index_node, const Index& at, Value mask, const Sym& extent) {
    const Value raw = b_.cast(DType::i64, eval(index_node, at, mask));
    return b_.where(b_.lt(raw, b_.i64(0)), b_.add(raw, sym(extent)), raw);
  }

  Value in_range(Value row, const Sym& extent) {
    return b_.bit_and(b_.le(b_.i64(0), row), b_.lt(row, sym(extent)));
  }

  Value gather(const Node& node, const Index& index, Value mask) {
    const Node& data = g_.node(node.inputs[0]);
    const auto axis = static_cast<size_t>(node.ints[0]);
    const size_t index_rank = g_.node(node.inputs[1]).shape.size();
    const auto begin = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const Index at(begin, begin + static_cast<std::ptrdiff_t>(index_rank));
    const Value row = row_index(node.inputs[1], at, mask, data.shape[axis]);
    const Value inside = in_range(row, data.shape[axis]);
    Index out(index.begin(), begin);
    out.push_back(row);
    out.insert(out.end(), begin + static_cast<std::ptrdiff_t>(index_rank), index.end());
    const Value value = eval(node.inputs[0], out, both(mask, inside));
    return b_.where(inside, value, b_.constant(node.dtype, 0));
  }

  // --- stores ---

  void store_at(NodeId target, const Shape& shape, NodeId value) {
    if (root_axes_.empty()) root_axes_ = axes_of(shape);
    const Value p = params_.at(c_.buffer_of(target));
    store(p, linear(shape, root_axes_), eval(value, root_axes_, inside_), inside_);
  }

  void store_assign(const Node& node) {
    const Node& value = g_.node(node.inputs[1]);
    const Index axes = axes_of(value.shape);
    Index at(axes);
    for (size_t d = 0; d < at.size() && d < node.syms.size(); ++d)
      at[d] = b_.add(at[d], sym(node.syms[d]));
    store(params_.at(c_.buffer_of(plan_.root)), linear(node.shape, at),
          eval(node.inputs[1], axes, inside_), inside_);
  }

  // Updates in ascending order of their index: a carry axis; elements of one row are independent.
  void store_scatter(const Node& node) {
    const Node& index = g_.node(node.inputs[1]);
    const Node& updates = g_.node(node.inputs[2]);
    const auto axis = static_cast<size_t>(node.ints[0]);
    const size_t index_rank = index.shape.size();
    const Value position = b_.axis(sym(numel(index.shape)), kir::Role::carry);
    Index at(index_rank, kNone);
    split(position, index.shape, at, 0);
    Index update(updates.shape.size(), kNone), target(node.shape.size(), kNone);
    for (size_t d = 0; d < node.shape.size(); ++d) {
      if (d == axis) continue;
      const Value v =
          node.shape[d] == Sym(1) ? b_.i64(0) : b_.axis(sym(node.shape[d]), kir::Role::parallel);
      target[d] = v;
      update[d < axis ? d : d - 1 + index_rank] = v;
    }
    for (size_t d = 0; d < index_rank; ++d) update[axis + d] = at[d];
    target[axis] = row_index(node.inputs[1], at, kNone, node.shape[axis]);
    const Value inside = in_range(target[axis], node.shape[axis]);
    const Value p = params_.at(c_.buffer_of(plan_.root)), to = linear(node.shape, target);
    Value value = eval(node.inputs[2], update, kNone);
    if (node.op == Op::scatter_add) {
      const Value args[2] = {load(p, to, inside), value};
      Node add = node;
      add.op = Op::add;
      value = lower_elementwise(b_, add, args);
    }
    store(p, to, value, inside);
  }

  Result<LoweredKernel> finish() {
    LoweredKernel out;
    auto kernel = b_.build();
    if (!kernel)
      return std::unexpected(kernel.error().in(
          fmt::format("lowering node {} ({})", plan_.root, ir::name_of(g_.node(plan_.root).op))));
    out.kir = std::move(*kernel);
    out.params = order_;
    out.vars = syms_.vars();
    out.tiles = tiles_;
    return out;
  }

  const LowerContext& c_;
  const ir::Graph& g_;
  const KernelPlan& plan_;
  const bool guarded_;
  kir::Builder b_;
  SymToKir syms_;
  std::set<NodeId> inlined_, visited_;
  std::map<BufferId, Value> params_;
  std::map<Value, Value> counts_;  // by parameter
  std::map<BufferId, DType> types_;
  std::vector<BufferId> order_;
  Index root_axes_;
  Value inside_ = kNone;
  std::vector<std::string> tiles_;
  std::map<std::tuple<NodeId, Index, Value>, Value> memo_;

 public:
  void set_type(BufferId id, DType t) { types_.emplace(id, t); }
};

}  // namespace

Result<std::vector<LoweredKernel>> lower(const LowerContext& context, const KernelPlan& kernel) {
  const auto attempt = [&](auto part, bool guarded) -> Result<LoweredKernel> {
    Lowerer l(context, kernel, guarded);
    for (NodeId n : kernel.outputs) l.set_type(context.buffer_of(n), context.graph.node(n).dtype);
    return part(l);
  };
  const auto lowered = [&](auto part) -> Result<LoweredKernel> {
    OST_TRY_ASSIGN(auto plain, attempt(part, false));
    if (kir::prove_bounds(plain.kir)) return plain;
    OST_TRY_ASSIGN(auto guarded, attempt(part, true));
    if (const auto proved = kir::prove_bounds(guarded.kir); !proved) {
      return std::unexpected(proved.error().in(fmt::format("lowering node {}", kernel.root)));
    }
    return guarded;
  };
  std::vector<LoweredKernel> out;
  OST_TRY_ASSIGN(out.emplace_back(), lowered([](Lowerer& l) { return l.main_kernel(); }));
  const Op root = context.graph.node(kernel.root).op;
  if (root == Op::scatter || root == Op::scatter_add) {
    OST_TRY_ASSIGN(out.emplace_back(), lowered([](Lowerer& l) { return l.scatter_kernel(); }));
  }
  return out;
}

}  // namespace ost
