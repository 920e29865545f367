// What slides over two axes: convolution as an implicit contraction, and pooling. Images are
// [N, C, H, W], filters [O, C / groups, KH, KW].
#include <cmath>

#include "core/ir/build.hpp"

namespace ost::ir {

using namespace detail;

namespace {

constexpr size_t kRank = 4;

Result<> check_sliding(std::string_view what, const Graph& g, NodeId x, const Sliding& s) {
  if (rank_of(g, x) != kRank) return bad(what, "x is {}, wanted [N, C, H, W]", type_string(g, x));
  for (size_t d = 0; d < 2; ++d) {
    if (s.stride[d] < 1 || s.dilation[d] < 1)
      return bad(what, "stride {} and dilation {} of axis {}; wanted 1 or more", s.stride[d],
                 s.dilation[d], d + 2);
    if (s.before[d] < 0 || s.after[d] < 0)
      return bad(what, "padding {} and {} of axis {}; wanted 0 or more", s.before[d], s.after[d],
                 d + 2);
  }
  return {};
}

Node1 padded(Graph& g, NodeId x, const Sliding& s, double value) {
  std::vector<std::pair<Sym, Sym>> widths(kRank);
  for (size_t d = 0; d < 2; ++d) widths[d + 2] = {Sym(s.before[d]), Sym(s.after[d])};
  return pad(g, x, widths, value);
}

// x[N, C, H, W] as [N, C, OH, KH, OW, KW]: every tap of every position.
Node1 taps_of(Graph& g, std::string_view what, NodeId x, std::array<int64_t, 2> size,
              const Sliding& s) {
  for (size_t d = 0; d < 2; ++d) {
    const Sym& extent = shape_of(g, x)[d + 2];
    const int64_t span = (size[d] - 1) * s.dilation[d] + 1;
    if (!provably_le(Sym(span), extent))
      return bad(what, "axis {} has size {} with its padding, but the window spans {}", d + 2,
                 extent.str(), span);
  }
  OST_NODE(rows, window(g, x, 3, size[1], s.stride[1], s.dilation[1]));
  return window(g, rows, 2, size[0], s.stride[0], s.dilation[0]);
}

struct Filters {
  Sym groups, outputs, inputs;  // outputs and inputs of one group
  std::array<int64_t, 2> size;
};

Result<Filters> filters_of(const Graph& g, NodeId x, NodeId w, int64_t groups) {
  const auto refuse = [&](std::string_view why) {
    return bad("conv2d", "x is {}, the filters are {}, groups = {}; {}", type_string(g, x),
               type_string(g, w), groups, why);
  };
  if (rank_of(g, w) != kRank) return refuse("wanted filters [O, C / groups, KH, KW]");
  const Shape& f = shape_of(g, w);
  const auto outputs = f[0].constant(), kh = f[2].constant(), kw = f[3].constant();
  if (!outputs || !kh || !kw || *kh < 1 || *kw < 1)
    return refuse("wanted constant sizes of the filters, 1 or more");
  if (groups < 1 || *outputs % groups != 0)
    return refuse("wanted groups that divide the number of filters");
  if (!(f[1] * Sym(groups) == shape_of(g, x)[1]))
    return refuse(fmt::format("wanted {} channels", (f[1] * Sym(groups)).str()));
  return Filters{Sym(groups), Sym(*outputs / groups), f[1], {*kh, *kw}};
}

}  // namespace

Node1 window(Graph& g, NodeId x, int64_t axis, int64_t taps, int64_t stride, int64_t dilation) {
  OST_TRY_ASSIGN(const size_t at, axis_of("window", g, x, axis));
  return make(g, Op::window, {x}, {static_cast<int64_t>(at), taps, stride, dilation});
}

// Contracts (kh, kw, c) in row-major order: filters [G, O/G, K] with taps [N, G, OH*OW, K].
Node1 conv2d(Graph& g, NodeId x, NodeId w, std::optional<NodeId> bias, const Sliding& s,
             int64_t groups) {
  OST_TRY(check_sliding("conv2d", g, x, s));
  OST_TRY_ASSIGN(const Filters f, filters_of(g, x, w, groups));
  const DType type = promote(dtype_of(g, x), dtype_of(g, w));
  if (type == DType::boolean) return bad("conv2d", "x and the filters are bool, wanted numbers");
  const DType compute = is_half(type) ? DType::f32 : type;
  OST_NODE(image, cast(g, x, compute));
  OST_NODE(wide, padded(g, image, s, 0));
  OST_NODE(taps, taps_of(g, "conv2d", wide, f.size, s));
  const Shape t = shape_of(g, taps);  // [N, C, OH, KH, OW, KW]
  const Sym n = t[0], oh = t[2], ow = t[4], k = Sym(f.size[0] * f.size[1]) * f.inputs;
  OST_NODE(grouped, reshape(g, taps, {n, f.groups, f.inputs, oh, t[3], ow, t[5]}));
  OST_NODE(turned, permute(g, grouped, {0, 1, 3, 5, 4, 6, 2}));
  OST_NODE(right, reshape(g, turned, {n, f.groups, oh * ow, k}));
  OST_NODE(filters, cast(g, w, compute));
  OST_NODE(last, permute(g, filters, {0, 2, 3, 1}));
  OST_NODE(rows, reshape(g, last, {Sym(1), f.groups, f.outputs, k}));
  OST_NODE(left, broadcast_to(g, rows, {n, f.groups, f.outputs, k}));
  OST_NODE(product, make(g, Op::contract, {left, right}));
  OST_NODE(shaped, reshape(g, product, {n, f.groups * f.outputs, oh, ow}));
  OST_NODE(result, cast(g, shaped, type));
  if (!bias) return result;
  if (rank_of(g, *bias) != 1)
    return bad("conv2d", "the bias is {}, wanted [O]", type_string(g, *bias));
  OST_NODE(column, reshape(g, *bias, {shape_of(g, *bias)[0], Sym(1), Sym(1)}));
  auto sum = binary(g, Op::add, result, column);
  if (!sum) return std::unexpected(sum.error().in("conv2d: bias"));
  return sum;
}

namespace {

// The taps of each position as the last two axes: [N, C, OH, OW, KH, KW].
Node1 positions(Graph& g, std::string_view what, NodeId x, std::array<int64_t, 2> size,
                const Sliding& s) {
  if (size[0] < 1 || size[1] < 1)
    return bad(what, "a window of {} by {}; wanted 1 or more", size[0], size[1]);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t span = (size[d] - 1) * s.dilation[d] + 1;
    if (s.before[d] >= span || s.after[d] >= span)
      return bad(what, "padding {} and {} of axis {}; wanted less than the window, which spans {}",
                 s.before[d], s.after[d], d + 2, span);
  }
  OST_NODE(taps, taps_of(g, what, x, size, s));
  return permute(g, taps, {0, 1, 2, 4, 3, 5});
}

}  // namespace

Node1 max_pool2d(Graph& g, NodeId x, std::array<int64_t, 2> size, const Sliding& s) {
  OST_TRY(check_sliding("max_pool2d", g, x, s));
  const DType t = dtype_of(g, x);
  if (t == DType::boolean) return bad("max_pool2d", "x is bool, wanted numbers");
  const double least = is_float(t)        ? -HUGE_VAL
                       : is_signed_int(t) ? -std::ldexp(1.0, static_cast<int>(bits_of(t)) - 1)
                                          : 0;
  OST_NODE(wide, padded(g, x, s, least));
  OST_NODE(taps, positions(g, "max_pool2d", wide, size, s));
  return reduce(g, Op::max, taps, {4, 5}, false);
}

Node1 avg_pool2d(Graph& g, NodeId x, std::array<int64_t, 2> size, const Sliding& s,
                 bool count_padding) {
  OST_TRY(check_sliding("avg_pool2d", g, x, s));
  OST_NODE(image, cast(g, x, compute_type(dtype_of(g, x))));
  const auto total = [&](NodeId of) -> Node1 {
    OST_NODE(wide, padded(g, of, s, 0));
    OST_NODE(taps, positions(g, "avg_pool2d", wide, size, s));
    return reduce(g, Op::sum, taps, {4, 5}, false);
  };
  OST_NODE(sum, total(image));
  OST_TRY_ASSIGN(NodeId count, full(g, dtype_of(g, sum), shape_of(g, sum),
                                    static_cast<double>(size[0] * size[1])));
  if (!count_padding) {
    OST_NODE(ones, full(g, dtype_of(g, image), shape_of(g, image), 1));
    OST_TRY_ASSIGN(count, total(ones));
  }
  OST_NODE(mean, binary(g, Op::div, sum, count));
  return cast(g, mean, float_type(dtype_of(g, x)));
}

}  // namespace ost::ir
