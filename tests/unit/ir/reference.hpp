// A second opinion on what a graph means: every node evaluated on its own, naively, in double or in
// 64-bit integers, and rounded to its type. It shares no code with KIR or its interpreter; sums run
// in plain order, so floats are to be compared with a tolerance.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>

#include "core/ir/graph.hpp"
#include "core/ir/values.hpp"

namespace ost::ir::reference {

// Elements as the bits of their type, row-major.
struct Array {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<uint64_t> bits;

  bool is_real() const { return is_float(dtype); }
  double real(size_t i) const {
    return is_real()                ? decode_float(dtype, bits[i])
           : is_unsigned_int(dtype) ? static_cast<double>(bits[i])
                                    : static_cast<double>(whole(i));
  }
  int64_t whole(size_t i) const { return decode_int(dtype, bits[i]); }
  void set(size_t i, double v) { bits[i] = encode_float(dtype, v); }
  void set(size_t i, int64_t v) { bits[i] = encode_int(dtype, v); }
};

inline size_t count(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (const int64_t size : shape) n *= static_cast<size_t>(size);
  return n;
}

inline Array make(DType dtype, std::vector<int64_t> shape) {
  Array array{dtype, std::move(shape), {}};
  array.bits.resize(count(array.shape));
  return array;
}

inline Array from_literal(const Literal& data) {
  Array array = make(data.dtype, data.shape);
  const size_t width = size_of(data.dtype);
  for (size_t i = 0; i < array.bits.size(); ++i)
    std::memcpy(&array.bits[i], data.bytes.data() + i * width, width);
  return array;
}

using Index = std::vector<int64_t>;

inline size_t offset(const std::vector<int64_t>& shape, const Index& index) {
  size_t at = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    at = at * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
  return at;
}

// Calls f(index, position) for every element in row-major order.
inline void for_each(const std::vector<int64_t>& shape,
                     const std::function<void(const Index&, size_t)>& f) {
  Index index(shape.size());
  const size_t n = count(shape);
  for (size_t at = 0; at < n; ++at) {
    size_t rest = at;
    for (size_t axis = shape.size(); axis-- > 0;) {
      index[axis] = static_cast<int64_t>(rest % static_cast<size_t>(shape[axis]));
      rest /= static_cast<size_t>(shape[axis]);
    }
    f(index, at);
  }
}

class Evaluator {
 public:
  // `arguments` by input index; constants and states with data may be left out (empty dtype is
  // never read).
  Evaluator(const Graph& graph, std::vector<Array> arguments, Bindings vars)
      : graph_(graph), arguments_(std::move(arguments)), vars_(std::move(vars)) {
    for (NodeId id = 0; id < graph.nodes().size(); ++id) values_.push_back(eval(graph.node(id)));
  }

  const Array& value(NodeId id) const { return values_[id]; }
  const Array& output(size_t i = 0) const { return values_[graph_.outputs()[i].node]; }

 private:
  int64_t size(const Sym& sym) const { return sym.eval(vars_).value(); }
  const Array& in(const Node& node, size_t i) const { return values_[node.inputs[i]]; }

  Array result(const Node& node) const {
    std::vector<int64_t> shape;
    for (const Sym& s : node.shape) shape.push_back(size(s));
    return make(node.dtype, std::move(shape));
  }

  Array eval(const Node& node) const {
    if (node.op <= Op::size) return source(node);
    if (is_movement(node.op)) return movement(node);
    if (is_elementwise(node.op)) return elementwise(node);
    if (is_reduction(node.op)) return reduction(node);
    switch (node.op) {
      case Op::contract:
        return contract(node);
      case Op::attention:
        return attention(node);
      case Op::gather:
        return gather(node);
      case Op::scatter:
      case Op::scatter_add:
        return scatter(node);
      case Op::assign:
        return assign(node);
      default:
        return in(node, 0);  // copy
    }
  }

  Array source(const Node& node) const {
    Array out = result(node);
    if (node.op == Op::input) {
      const Input& input = graph_.inputs()[node.bits];
      return input.data ? from_literal(*input.data) : arguments_.at(node.bits);
    }
    for_each(out.shape, [&](const Index& index, size_t at) {
      if (node.op == Op::full) out.bits[at] = node.bits;
      if (node.op == Op::iota) out.set(at, index[static_cast<size_t>(node.ints[0])]);
      if (node.op == Op::size) out.set(at, size(node.syms[0]));
    });
    return out;
  }

  Array movement(const Node& node) const {
    const Array& x = in(node, 0);
    Array out = result(node);
    if (node.op == Op::reshape) {
      out.bits = x.bits;
      return out;
    }
    const size_t rank = x.shape.size();
    if (node.op == Op::window) {
      for_each(out.shape, [&](const Index& index, size_t at) {
        const auto axis = static_cast<size_t>(node.ints[0]);
        Index from(index);
        from[axis] = index[axis] * node.ints[2] + index[axis + 1] * node.ints[3];
        from.erase(from.begin() + node.ints[0] + 1);
        out.bits[at] = x.bits.at(offset(x.shape, from));
      });
      return out;
    }
    for_each(out.shape, [&](const Index& index, size_t at) {
      Index from(rank);
      bool inside = true;
      for (size_t axis = 0; axis < rank; ++axis) {
        const int64_t i = index[axis];
        switch (node.op) {
          case Op::permute:
            from[static_cast<size_t>(node.ints[axis])] = i;
            break;
          case Op::expand:
            from[axis] = x.shape[axis] == 1 ? 0 : i;
            break;
          case Op::shrink:
            from[axis] = size(node.syms[axis]) + i * node.ints[axis];
            break;
          case Op::pad:
            from[axis] = i - size(node.syms[axis]);
            break;
          default:
            from[axis] = i;
        }
        if (node.op == Op::flip)
          for (const int64_t flipped : node.ints)
            if (flipped == static_cast<int64_t>(axis)) from[axis] = x.shape[axis] - 1 - i;
        if (node.op == Op::pad) inside = inside && from[axis] >= 0 && from[axis] < x.shape[axis];
      }
      out.bits[at] = inside ? x.bits.at(offset(x.shape, from)) : node.bits;
    });
    return out;
  }

  static double sigmoid(double x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  }

  static double real1(Op op, double x) {
    switch (op) {
      case Op::neg:
        return -x;
      case Op::abs:
        return std::fabs(x);
      case Op::sign:
        return x != x ? x : x > 0 ? 1 : x < 0 ? -1 : x;
      case Op::sqrt:
        return std::sqrt(x);
      case Op::floor:
        return std::floor(x);
      case Op::ceil:
        return std::ceil(x);
      case Op::trunc:
        return std::trunc(x);
      case Op::round:
        return std::nearbyint(x);
      case Op::exp:
        return std::exp(x);
      case Op::exp2:
        return std::exp2(x);
      case Op::expm1:
        return std::expm1(x);
      case Op::log:
        return std::log(x);
      case Op::log2:
        return std::log2(x);
      case Op::log1p:
        return std::log1p(x);
      case Op::sin:
        return std::sin(x);
      case Op::cos:
        return std::cos(x);
      case Op::tanh:
        return std::tanh(x);
      case Op::sigmoid:
        return sigmoid(x);
      case Op::silu:
        return x == -HUGE_VAL ? -0.0 : x * sigmoid(x);
      case Op::erf:
        return std::erf(x);
      case Op::gelu:
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case Op::rsqrt:
        return 1 / std::sqrt(x);
      case Op::relu:
        return x < 0 ? 0 : x;
      default:
        return NAN;
    }
  }

  static double extreme(double a, double b, bool max) {
    if (a != a || b != b) return NAN;
    if (a == b) return std::signbit(a) == max ? b : a;  // -0 < +0
    return (a > b) == max ? a : b;
  }

  static double real2(Op op, double a, double b) {
    switch (op) {
      case Op::add:
        return a + b;
      case Op::sub:
        return a - b;
      case Op::mul:
        return a * b;
      case Op::div:
        return a / b;
      case Op::pow:
        return std::pow(a, b);
      case Op::minimum:
        return extreme(a, b, false);
      case Op::maximum:
        return extreme(a, b, true);
      default:
        return NAN;
    }
  }

  // Integers of `type`, as sign- or zero-extended 64-bit values; what is returned wraps into the
  // type.
  static int64_t whole2(Op op, DType type, int64_t a, int64_t b) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    const bool is_signed = is_signed_int(type);
    const bool wide = y >= bits_of(type) || (is_signed && b < 0);
    const bool less = is_signed ? a < b : x < y;
    switch (op) {
      case Op::add:
        return static_cast<int64_t>(x + y);
      case Op::sub:
        return static_cast<int64_t>(x - y);
      case Op::mul:
        return static_cast<int64_t>(x * y);
      case Op::div:
        return b == 0       ? 0
               : !is_signed ? static_cast<int64_t>(x / y)
               : b == -1    ? static_cast<int64_t>(0 - x)
                            : a / b;
      case Op::rem:
        return b == 0 || (is_signed && b == -1) ? 0
               : !is_signed                     ? static_cast<int64_t>(x % y)
                                                : a % b;
      case Op::minimum:
        return less ? a : b;
      case Op::maximum:
        return less ? b : a;
      case Op::bit_and:
        return a & b;
      case Op::bit_or:
        return a | b;
      case Op::bit_xor:
        return a ^ b;
      case Op::shl:
        return wide ? 0 : static_cast<int64_t>(x << y);
      case Op::shr:
        return wide ? 0 : is_signed ? a >> y : static_cast<int64_t>(x >> y);
      default:
        return 0;
    }
  }

  static int64_t whole1(Op op, DType type, int64_t a) {
    const bool negative = is_signed_int(type) && a < 0;
    switch (op) {
      case Op::neg:
        return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
      case Op::abs:
        return negative ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a;
      case Op::sign:
        return negative ? -1 : a != 0;
      case Op::relu:
        return negative ? 0 : a;
      case Op::bit_not:
        return type == DType::boolean ? !a : ~a;
      default:
        return 0;
    }
  }

  static bool compare(Op op, const Array& a, const Array& b, size_t i) {
    const bool real = a.is_real();
    const bool is_signed = is_signed_int(a.dtype);
    const bool equal = real ? a.real(i) == b.real(i) : a.bits[i] == b.bits[i];
    const bool less = real        ? a.real(i) < b.real(i)
                      : is_signed ? a.whole(i) < b.whole(i)
                                  : a.bits[i] < b.bits[i];
    switch (op) {
      case Op::eq:
        return equal;
      case Op::ne:
        return !equal;
      case Op::lt:
        return less;
      default:
        return less || equal;
    }
  }

  static void cast(const Array& x, Array& out, size_t i) {
    if (out.dtype == DType::boolean)
      return out.set(i, static_cast<int64_t>(x.is_real() ? x.real(i) != 0 : x.bits[i] != 0));
    if (out.is_real()) return out.set(i, x.real(i));
    if (!x.is_real()) return out.set(i, x.whole(i));
    const double v = std::trunc(x.real(i));
    const double span = std::ldexp(1.0, static_cast<int>(bits_of(out.dtype)));
    const double low = is_signed_int(out.dtype) ? -span / 2 : 0,
                 high = is_signed_int(out.dtype) ? span / 2 : span;
    if (v != v) return out.set(i, int64_t{0});
    if (v < low) return out.set(i, static_cast<int64_t>(low));
    if (v >= high) {
      out.bits[i] = is_signed_int(out.dtype) ? mask_of(out.dtype) >> 1 : mask_of(out.dtype);
      return;
    }
    out.bits[i] =
        (v < 0 ? static_cast<uint64_t>(static_cast<int64_t>(v)) : static_cast<uint64_t>(v)) &
        mask_of(out.dtype);
  }

  Array elementwise(const Node& node) const {
    Array out = result(node);
    const Array& a = in(node, 0);
    for (size_t i = 0; i < out.bits.size(); ++i) {
      if (node.op == Op::cast) {
        cast(a, out, i);
      } else if (node.op == Op::bitcast) {
        out.bits[i] = a.bits[i];
      } else if (is_unary(node.op)) {
        a.is_real() ? out.set(i, real1(node.op, a.real(i)))
                    : out.set(i, whole1(node.op, a.dtype, a.whole(i)));
      } else if (node.op == Op::where) {
        out.bits[i] = a.bits[i] ? in(node, 1).bits[i] : in(node, 2).bits[i];
      } else if (node.op == Op::fma) {
        out.set(i, std::fma(a.real(i), in(node, 1).real(i), in(node, 2).real(i)));
      } else if (node.op >= Op::eq) {
        out.set(i, static_cast<int64_t>(compare(node.op, a, in(node, 1), i)));
      } else {
        const Array& b = in(node, 1);
        a.is_real() ? out.set(i, real2(node.op, a.real(i), b.real(i)))
                    : out.set(i, whole2(node.op, a.dtype, a.whole(i), b.whole(i)));
      }
    }
    return out;
  }

  static Op scalar_of(Op op) {
    switch (op) {
      case Op::sum:
        return Op::add;
      case Op::prod:
        return Op::mul;
      case Op::max:
        return Op::maximum;
      case Op::min:
        return Op::minimum;
      case Op::bit_and_reduce:
        return Op::bit_and;
      case Op::bit_or_reduce:
        return Op::bit_or;
      default:
        return Op::bit_xor;
    }
  }

  static int64_t whole_identity(Op op, DType type) {
    const auto top = static_cast<int64_t>(is_signed_int(type) ? mask_of(type) >> 1 : mask_of(type));
    switch (op) {
      case Op::prod:
        return 1;
      case Op::bit_and_reduce:
        return -1;
      case Op::max:
        return is_signed_int(type) ? -top - 1 : 0;
      case Op::min:
        return top;
      default:
        return 0;
    }
  }

  Array reduction(const Node& node) const {
    const Array& x = in(node, 0);
    Array out = result(node);
    const bool arg = node.op == Op::argmax || node.op == Op::argmin;
    std::vector<double> real(out.bits.size(), node.op == Op::prod  ? 1
                                              : node.op == Op::max ? -HUGE_VAL
                                              : node.op == Op::min ? HUGE_VAL
                                                                   : 0);
    std::vector<int64_t> whole(out.bits.size(), whole_identity(node.op, x.dtype));
    std::vector<bool> seen(out.bits.size());
    std::vector<size_t> best(out.bits.size());
    for_each(x.shape, [&](const Index& index, size_t at) {
      Index to = index;
      for (const int64_t axis : node.ints) to[static_cast<size_t>(axis)] = 0;
      const size_t o = offset(out.shape, to);
      if (arg) {
        if (!seen[o] || better(node.op, x, at, best[o])) {
          best[o] = at;
          whole[o] = index[static_cast<size_t>(node.ints[0])];
        }
      } else if (x.is_real()) {
        real[o] = real2(scalar_of(node.op), real[o], x.real(at));
      } else if ((node.op == Op::max || node.op == Op::min) && !seen[o]) {
        whole[o] = x.whole(at);
      } else {
        whole[o] = whole2(scalar_of(node.op), x.dtype, whole[o], x.whole(at));
      }
      seen[o] = true;
    });
    for (size_t i = 0; i < out.bits.size(); ++i)
      x.is_real() && !arg ? out.set(i, real[i]) : out.set(i, whole[i]);
    return out;
  }

  // Strictly before the best so far; the first NaN wins over all.
  static bool better(Op op, const Array& x, size_t a, size_t best) {
    if (!x.is_real()) {
      const bool less =
          is_signed_int(x.dtype) ? x.whole(a) < x.whole(best) : x.bits[a] < x.bits[best];
      return op == Op::argmax ? !less && x.bits[a] != x.bits[best] : less;
    }
    const double v = x.real(a), w = x.real(best);
    if (w != w) return false;
    if (v != v) return true;
    return op == Op::argmax ? v > w : v < w;
  }

  Array contract(const Node& node) const {
    const Array &a = in(node, 0), &b = in(node, 1);
    Array out = result(node);
    const size_t rank = out.shape.size();
    for_each(out.shape, [&](const Index& index, size_t at) {
      Index i = index, j = index;
      j[rank - 2] = index[rank - 1];
      double real = 0;
      uint64_t whole = 0;
      for (int64_t k = 0; k < a.shape.back(); ++k) {
        i[rank - 1] = j[rank - 1] = k;
        const size_t p = offset(a.shape, i), q = offset(b.shape, j);
        real += a.real(p) * b.real(q);
        whole += static_cast<uint64_t>(a.whole(p)) * static_cast<uint64_t>(b.whole(q));
      }
      out.is_real() ? out.set(at, real) : out.set(at, static_cast<int64_t>(whole));
    });
    return out;
  }

  Array attention(const Node& node) const {
    const Array &q = in(node, 0), &k = in(node, 1), &v = in(node, 2);
    Array out = result(node);
    const size_t rank = out.shape.size();
    const double scale = decode_float(DType::f32, node.bits);
    for_each(out.shape, [&](const Index& index, size_t at) {
      std::vector<double> scores(static_cast<size_t>(k.shape[rank - 2]), -HUGE_VAL);
      double top = -HUGE_VAL;
      for (size_t t = 0; t < scores.size(); ++t) {
        Index m = index, key = index;
        key[rank - 2] = static_cast<int64_t>(t);
        Index bit = index;
        bit[rank - 1] = static_cast<int64_t>(t);
        if (!in(node, 3).bits[offset(in(node, 3).shape, bit)]) continue;
        double s = 0;
        for (int64_t d = 0; d < q.shape.back(); ++d) {
          m[rank - 1] = key[rank - 1] = d;
          s += q.real(offset(q.shape, m)) * k.real(offset(k.shape, key));
        }
        scores[t] = scale * s;
        if (node.inputs.size() == 5) scores[t] += in(node, 4).real(offset(in(node, 4).shape, bit));
        top = extreme(top, scores[t], true);
      }
      double sum = 0, value = 0;
      for (size_t t = 0; t < scores.size(); ++t) {
        Index row = index;
        row[rank - 2] = static_cast<int64_t>(t);
        const double p = scores[t] == -HUGE_VAL ? 0 : std::exp(scores[t] - top);
        sum += p;
        value += p * v.real(offset(v.shape, row));
      }
      out.set(at, sum == 0 ? 0.0 : value / sum);
    });
    return out;
  }

  // The row that an index names, or nothing.
  static std::optional<int64_t> row(const Array& index, size_t at, int64_t size) {
    const int64_t i = index.whole(at) < 0 ? index.whole(at) + size : index.whole(at);
    if (i < 0 || i >= size) return std::nullopt;
    return i;
  }

  Array gather(const Node& node) const {
    const Array &data = in(node, 0), &index = in(node, 1);
    Array out = result(node);
    const auto axis = static_cast<size_t>(node.ints[0]);
    const size_t width = index.shape.size();
    for_each(out.shape, [&](const Index& to, size_t at) {
      const Index where(to.begin() + static_cast<ptrdiff_t>(axis),
                        to.begin() + static_cast<ptrdiff_t>(axis + width));
      const auto i = row(index, offset(index.shape, where), data.shape[axis]);
      Index from(to.begin(), to.begin() + static_cast<ptrdiff_t>(axis));
      from.push_back(i.value_or(0));
      from.insert(from.end(), to.begin() + static_cast<ptrdiff_t>(axis + width), to.end());
      out.bits[at] = i ? data.bits[offset(data.shape, from)] : 0;
    });
    return out;
  }

  Array scatter(const Node& node) const {
    const Array &index = in(node, 1), &updates = in(node, 2);
    Array out = in(node, 0);
    const auto axis = static_cast<size_t>(node.ints[0]);
    for (size_t i = 0; i < index.bits.size(); ++i) {
      const auto to = row(index, i, out.shape[axis]);
      if (!to) continue;
      for_each(updates.shape, [&](const Index& from, size_t at) {
        if (from[axis] != static_cast<int64_t>(i)) return;
        Index where = from;
        where[axis] = *to;
        const size_t o = offset(out.shape, where);
        if (node.op == Op::scatter) {
          out.bits[o] = updates.bits[at];
        } else if (out.is_real()) {
          out.set(o, out.real(o) + updates.real(at));
        } else {
          out.set(o, whole2(Op::add, out.dtype, out.whole(o), updates.whole(at)));
        }
      });
    }
    return out;
  }

  Array assign(const Node& node) const {
    Array out = in(node, 0);
    const Array& value = in(node, 1);
    for_each(value.shape, [&](const Index& index, size_t at) {
      Index to = index;
      for (size_t axis = 0; axis < to.size(); ++axis) to[axis] += size(node.syms[axis]);
      out.bits.at(offset(out.shape, to)) = value.bits[at];
    });
    return out;
  }

  const Graph& graph_;
  std::vector<Array> arguments_;
  Bindings vars_;
  std::vector<Array> values_;
};

}  // namespace ost::ir::reference
