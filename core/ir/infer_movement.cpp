// Index maps. A movement never reads outside of its operand; what cannot be decided from the bounds
// of the variables is accepted here only if it is not certainly wrong (the lowering masks or guards
// it).
#include "core/ir/infer.hpp"

namespace ost::ir::detail {
namespace {

Result<> infer_reshape(const Check& c) {
  const Sym from = numel(c.in(0).shape);
  const Sym to = numel(c.node.shape);
  if (!(from == to))
    return c.error(
        "{} has {} elements, the new shape {} has {}; wanted them equal for all values of the "
        "variables",
        c.type(0), from.str(), to_string(c.node.shape), to.str());
  return {};
}

Result<> infer_permute(const Check& c) {
  const Shape& shape = c.in(0).shape;
  OST_TRY(c.want_ints(shape.size()));
  std::vector<bool> seen(shape.size());
  Shape result;
  for (const int64_t axis : c.node.ints) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || seen[axis])
      return c.error("({}) is not an order of the {} axes of {}", fmt::join(c.node.ints, ", "),
                     shape.size(), c.type(0));
    seen[axis] = true;
    result.push_back(shape[axis]);
  }
  return c.set_shape(std::move(result));
}

Result<> infer_expand(const Check& c) {
  const Shape& from = c.in(0).shape;
  const Shape& to = c.node.shape;
  if (from.size() != to.size())
    return c.error("rank {} of {} does not equal rank {} of the new shape {}", from.size(),
                   c.type(0), to.size(), to_string(to));
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (!(from[axis] == to[axis]) && !(from[axis] == Sym(1)))
      return c.error("axis {} of {} has size {}, which is neither 1 nor the wanted {}", axis,
                     c.type(0), from[axis].str(), to[axis].str());
  return {};
}

Result<> infer_shrink(const Check& c) {
  const Shape& from = c.in(0).shape;
  const Shape& to = c.node.shape;
  OST_TRY(c.want_ints(from.size()));
  OST_TRY(c.want_syms(from.size()));
  if (to.size() != from.size())
    return c.error("the shape given is {}, wanted {} sizes", to_string(to), from.size());
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (c.node.ints[axis] < 1)
      return c.error("step {} of axis {} is less than 1", c.node.ints[axis], axis);
    const Sym& start = c.node.syms[axis];
    const Sym end = start + (to[axis] - Sym(1)) * Sym(c.node.ints[axis]) +
                    Sym(1);  // one past the last element read
    const bool some = provably_le(Sym(1), to[axis]);
    if (some && (!provably_le(0, start) || provably_lt(from[axis], end)))
      return c.error("elements {} to {} of axis {} are outside of {}", start.str(), end.str(), axis,
                     c.type(0));
  }
  return {};
}

Result<> infer_pad(const Check& c) {
  const Shape& from = c.in(0).shape;
  OST_TRY(c.want_syms(2 * from.size()));
  Shape result;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const Sym& before = c.node.syms[axis];
    const Sym& after = c.node.syms[from.size() + axis];
    if (!provably_le(0, before) || !provably_le(0, after))
      return c.error("widths {} and {} of axis {} may be negative; wanted at least 0", before.str(),
                     after.str(), axis);
    result.push_back(before + from[axis] + after);
  }
  const uint64_t limit =
      c.in(0).dtype == DType::boolean ? 1 : ~uint64_t{0} >> (64 - bits_of(c.in(0).dtype));
  if (c.node.bits > limit)
    return c.error("the value {:#x} does not fit into {}", c.node.bits, name_of(c.in(0).dtype));
  return c.set_shape(std::move(result));
}

Result<> infer_flip(const Check& c) {
  const auto rank = static_cast<int64_t>(c.in(0).shape.size());
  for (size_t i = 0; i < c.node.ints.size(); ++i) {
    const int64_t axis = c.node.ints[i];
    if (axis < 0 || axis >= rank || (i > 0 && axis <= c.node.ints[i - 1]))
      return c.error("axes ({}) must be ascending axes of {}", fmt::join(c.node.ints, ", "),
                     c.type(0));
  }
  return c.set_shape(c.in(0).shape);
}

Result<> infer_window(const Check& c) {
  OST_TRY(c.want_ints(4));
  const Shape& from = c.in(0).shape;
  const auto rank = static_cast<int64_t>(from.size());
  const int64_t axis = c.node.ints[0], taps = c.node.ints[1], stride = c.node.ints[2],
                dilation = c.node.ints[3];
  if (axis < 0 || axis >= rank)
    return c.error("axis {} is out of range for {}, wanted 0 to {}", axis, c.type(0), rank - 1);
  constexpr int64_t kMost = int64_t{1} << 31;
  if (taps < 1 || stride < 1 || dilation < 1 || taps > kMost || stride > kMost || dilation > kMost)
    return c.error("taps {}, stride {}, dilation {}; wanted 1 to 2^31 of each", taps, stride,
                   dilation);
  const Sym& size = from[static_cast<size_t>(axis)];
  const Sym span((taps - 1) * dilation + 1);
  if (!provably_le(span, size))
    return c.error("axis {} of {} may be shorter than the window, which spans {} elements", axis,
                   c.type(0), span.str());
  Shape result = from;
  result[static_cast<size_t>(axis)] = floordiv(size - span, Sym(stride)) + Sym(1);
  result.insert(result.begin() + axis + 1, Sym(taps));
  return c.set_shape(std::move(result));
}

}  // namespace

Result<> infer_movement(const Check& c) {
  c.node.dtype = c.in(0).dtype;
  switch (c.node.op) {
    case Op::reshape:
      return infer_reshape(c);
    case Op::permute:
      return infer_permute(c);
    case Op::expand:
      return infer_expand(c);
    case Op::shrink:
      return infer_shrink(c);
    case Op::pad:
      return infer_pad(c);
    case Op::window:
      return infer_window(c);
    default:
      return infer_flip(c);
  }
}

}  // namespace ost::ir::detail
