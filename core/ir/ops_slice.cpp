// Slices with symbolic bounds, and concatenation. NumPy clamps bounds to the axis; here a bound is
// clamped by min/max expressions only where it is not provably inside, so that plain slices keep
// plain sizes.
#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;

namespace {

struct Range {
  Sym start, count;
  int64_t step = 1;
};

// A bound counted from the start: negative ones count from the end. Its sign must be known.
Result<Sym> from_start(const Sym& bound, const Sym& size, size_t axis) {
  if (bound.lower() >= 0) return bound;
  if (bound.upper() < 0) return bound + size;
  return bad("slice",
             "the sign of bound {} of axis {} is not known (it lies in {}..{}); wanted one that "
             "never changes sign",
             bound.str(), axis, bound.lower(), bound.upper());
}

Sym clamp(const Sym& x, const Sym& low, const Sym& high) { return smaller(larger(x, low), high); }

// The first min or max that `s` adds, with what else `s` is made of.
struct Extreme {
  bool is_min;
  Sym a, b;  // s = min(a, b) or max(a, b)
};
std::optional<Extreme> extreme_in(const Sym& s) {
  for (const Sym::Term& term : s.terms()) {
    if (term.coefficient != 1 || term.factors.size() != 1) continue;
    const Sym::Atom& atom = *term.factors[0];
    const bool is_min = atom.kind == Sym::AtomKind::min;
    if (!is_min && atom.kind != Sym::AtomKind::max) continue;
    const Sym rest = s - (is_min ? min(atom.a, atom.b) : max(atom.a, atom.b));
    return Extreme{is_min, atom.a + rest, atom.b + rest};
  }
  return std::nullopt;
}

// a - b with min and max on the outside: n - max(0, n - 2) becomes min(n, 2), whose bounds can be
// read off.
Sym difference(const Sym& a, const Sym& b, int depth = 4) {
  if (depth > 0) {
    if (const auto e = extreme_in(b)) {
      const Sym x = difference(a, e->a, depth - 1), y = difference(a, e->b, depth - 1);
      return e->is_min ? larger(x, y) : smaller(x, y);
    }
    if (const auto e = extreme_in(a)) {
      const Sym x = difference(e->a, b, depth - 1), y = difference(e->b, b, depth - 1);
      return e->is_min ? smaller(x, y) : larger(x, y);
    }
  }
  return a - b;
}

Sym length_of(const Sym& start, const Sym& stop) {
  const Sym plain = stop - start;
  if (plain.lower() >= 0) return plain;
  const Sym outside = difference(stop, start);
  return outside.lower() > plain.lower() ? larger(outside, 0) : larger(plain, 0);
}

// Which elements of an axis a slice takes, in ascending terms; a negative step takes them from the
// flipped axis.
Result<Range> resolve(const Slice& slice, const Sym& size, size_t axis) {
  if (slice.step == 0) return bad("slice", "step 0 of axis {}", axis);
  if (slice.step == INT64_MIN)
    return bad("slice", "step {} of axis {} is too large", slice.step, axis);
  const bool reversed = slice.step < 0;
  const Sym low = reversed ? -1 : 0;
  const Sym high = reversed ? size - 1 : size;
  Sym start = reversed ? high : low;
  Sym stop = reversed ? low : high;
  if (slice.start) {
    OST_TRY_ASSIGN(start, from_start(*slice.start, size, axis));
    start = clamp(start, low, high);
  }
  if (slice.stop) {
    OST_TRY_ASSIGN(stop, from_start(*slice.stop, size, axis));
    stop = clamp(stop, low, high);
  }
  if (reversed) {
    start = size - 1 - start;
    stop = size - 1 - stop;
  }
  const int64_t step = reversed ? -slice.step : slice.step;
  const Sym length = length_of(start, stop);
  // The second max stays only where the quotient hides what was known about the length.
  const Sym count = step == 1 ? length : larger(ceildiv(length, Sym(step)), 0);
  return Range{start, count, step};
}

}  // namespace

Node1 slice(Graph& g, NodeId x, std::span<const Slice> slices) {
  const Shape shape = shape_of(g, x);
  if (slices.size() > shape.size())
    return bad("slice", "{} slices for {}, which has {} axes", slices.size(), type_string(g, x),
               shape.size());
  Node node;
  node.op = Op::shrink;
  std::vector<int64_t> flipped;
  bool whole = true;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Slice wanted = axis < slices.size() ? slices[axis] : Slice{};
    OST_TRY_ASSIGN(const Range range, resolve(wanted, shape[axis], axis));
    if (wanted.step < 0) flipped.push_back(static_cast<int64_t>(axis));
    whole = whole && range.start == Sym(0) && range.step == 1 && range.count == shape[axis];
    node.syms.push_back(range.start);
    node.ints.push_back(range.step);
    node.shape.push_back(range.count);
  }
  if (!flipped.empty()) {
    OST_TRY_ASSIGN(x, flip(g, x, std::move(flipped)));
  }
  if (whole) return x;
  node.inputs = {x};
  return g.add(std::move(node));
}

namespace {

// All parts have one type and agree in every axis but one; gives the shape of the whole.
Result<Shape> concat_shape(const Graph& g, std::span<const NodeId> parts, size_t axis) {
  Shape total = shape_of(g, parts[0]);
  for (const NodeId part : parts.subspan(1)) {
    const Shape& shape = shape_of(g, part);
    bool fits = shape.size() == total.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == axis || shape[i] == total[i];
    if (!fits)
      return bad("concat", "{} does not fit {} along axis {}; wanted all other sizes equal",
                 type_string(g, part), type_string(g, parts[0]), axis);
    total[axis] = total[axis] + shape[axis];
  }
  return total;
}

// Elements of `x` at [start, start + its size) of a longer axis; zeros elsewhere.
Node1 place(Graph& g, NodeId x, size_t axis, const Sym& start, const Sym& total) {
  std::vector<std::pair<Sym, Sym>> widths(rank_of(g, x));
  widths[axis] = {start, total - start - shape_of(g, x)[axis]};
  return pad(g, x, widths);
}

}  // namespace

// The parts are padded to the whole's size and selected by position (no arithmetic on them: every
// bit stays).
Node1 concat(Graph& g, std::span<const NodeId> parts, int64_t axis) {
  if (parts.empty()) return bad("concat", "no operands");
  OST_TRY_ASSIGN(const size_t at, axis_of("concat", g, parts[0], axis));
  DType type = dtype_of(g, parts[0]);
  for (const NodeId part : parts) type = promote(type, dtype_of(g, part));
  OST_TRY_ASSIGN(const Shape shape, concat_shape(g, parts, at));

  std::vector<NodeId> kept;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool only = kept.empty() && i + 1 == parts.size();
    if (shape_of(g, parts[i])[at] == Sym(0) && !only) continue;
    OST_NODE(typed, cast(g, parts[i], type));
    kept.push_back(typed);
  }
  Sym start = shape[at] - shape_of(g, kept.back())[at];
  OST_NODE(last, place(g, kept.back(), at, start, shape[at]));
  NodeId result = last;
  if (kept.size() == 1) return result;
  Node iota;
  iota.op = Op::iota;
  iota.shape = shape;
  iota.ints = {static_cast<int64_t>(at)};
  OST_NODE(position, g.add(std::move(iota)));
  for (size_t i = kept.size() - 1;
       i-- > 0;) {  // from the back: position < start ? earlier part : the rest
    OST_NODE(limit_value, size_value(g, start, DType::i64));
    OST_NODE(limit, broadcast_to(g, limit_value, shape));
    OST_NODE(earlier, make(g, Op::lt, {position, limit}));
    start = start - shape_of(g, kept[i])[at];
    OST_NODE(part, place(g, kept[i], at, start, shape[at]));
    OST_TRY_ASSIGN(result, make(g, Op::where, {earlier, part, result}));
  }
  return result;
}

}  // namespace ost::ir
