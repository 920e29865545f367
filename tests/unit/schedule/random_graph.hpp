// Random graphs at the strict level of core/ir/graph.hpp, with data: all operations, all types,
// sizes that hurt.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/base/half.hpp"
#include "core/ir/graph.hpp"

namespace ost::test {

struct RandomGraphOptions {
  size_t operations = 12;
  size_t inputs = 3;
  int64_t max_elements = 4096;
  bool symbolic = false;  // some dimension is a variable "n"
  bool contractions = true;
  bool states = false;  // assigns to states
};

struct RandomGraph {
  ir::Graph graph;
  std::vector<std::vector<uint8_t>> inputs;  // arguments
  Bindings vars;
};

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, RandomGraphOptions options) : rng_(seed), options_(options) {}

  RandomGraph make() {
    n_ = Sym::var({"n", 0, 70});
    if (options_.symbolic) out_.vars["n"] = pick<int64_t>({0, 1, 2, 7, 17, 63, 64, 65, 70});
    base_ = {dim(), dim(), dim()};
    for (size_t i = 0; i < options_.inputs; ++i) add_input();
    for (size_t tries = 0; made_ < options_.operations && tries < options_.operations * 40; ++tries)
      add_random();
    add_outputs();
    return std::move(out_);
  }

 private:
  using NodeId = ir::NodeId;
  using Op = ir::Op;

  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(rng_); }
  bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
  }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  Sym dim() {
    if (options_.symbolic && chance(40)) return n_;
    return Sym(pick<int64_t>({0, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 63, 64, 65}));
  }

  int64_t size(const Shape& s) const { return numel(s).eval(out_.vars).value_or(INT64_MAX); }
  bool fits(const Shape& s) const {
    return s.size() <= 5 && numel(s).upper() <= options_.max_elements * 16 &&
           size(s) <= options_.max_elements;
  }

  DType type() {
    if (chance(55)) return DType::f32;
    return kAllDTypes[below(std::size(kAllDTypes))];
  }

  void add_input() {
    Shape shape;
    do {
      shape.clear();
      const size_t rank = below(4);
      for (size_t d = 0; d < rank; ++d)
        shape.push_back(chance(75) ? base_[below(base_.size())] : chance(50) ? Sym(1) : dim());
    } while (!fits(shape));
    const DType t = type();
    ir::Input in{
        fmt::format("x{}", out_.inputs.size()), ir::InputKind::argument, t, shape, 0, nullptr};
    nodes_.push_back(*out_.graph.add_input(std::move(in)));
    out_.inputs.push_back(data(t, static_cast<size_t>(size(shape))));
  }

  std::vector<uint8_t> data(DType t, size_t count) {
    std::vector<uint8_t> bytes(count * size_of(t));
    const int specials = pick<int>({0, 0, 5, 30});
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bits = value_bits(t, specials);
      std::memcpy(bytes.data() + i * size_of(t), &bits, size_of(t));
    }
    return bytes;
  }

  uint64_t value_bits(DType t, int specials) {
    if (t == DType::boolean) return below(2);
    if (!is_float(t))
      return chance(70) ? static_cast<uint64_t>(static_cast<int64_t>(below(21)) - 10) : rng_();
    double v = std::normal_distribution<double>(0, pick<double>({0.1, 1, 4}))(rng_);
    if (chance(specials))
      v = pick<double>({0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1e-42, -1e-310, 1e30, 65520, 1, -1});
    if (t == DType::f64) return std::bit_cast<uint64_t>(v);
    const auto f = static_cast<float>(v);
    if (t == DType::f32) return std::bit_cast<uint32_t>(f);
    return t == DType::f16 ? f32_to_f16(f) : f32_to_bf16(f);
  }

  // --- operations ---

  void push(const Result<NodeId>& n) {
    if (!n || !fits(out_.graph.node(*n).shape)) return;
    if (std::find(nodes_.begin(), nodes_.end(), *n) == nodes_.end()) nodes_.push_back(*n);
    ++made_;
  }
  Result<NodeId> add(ir::Node node) { return out_.graph.add(std::move(node)); }
  const Shape& shape(NodeId n) const { return out_.graph.node(n).shape; }
  DType dtype(NodeId n) const { return out_.graph.node(n).dtype; }
  NodeId any() {
    return chance(60) && nodes_.size() > 3 ? nodes_[nodes_.size() - 1 - below(3)] : pick(nodes_);
  }

  Result<NodeId> cast(NodeId x, DType t) {
    if (dtype(x) == t) return x;
    ir::Node node;
    node.op = Op::cast;
    node.dtype = t;
    node.inputs = {x};
    return add(std::move(node));
  }

  // Some node of this shape and type: an existing one (cast, expanded) or a constant.
  NodeId matching(const Shape& s, DType t) {
    std::vector<NodeId> same;
    for (NodeId n : nodes_) {
      if (shape(n) == s)
        same.push_back(n);
      else if (shape(n).size() == s.size() && chance(50) && expandable(shape(n), s))
        same.push_back(n);
    }
    if (!same.empty() && chance(85)) {
      NodeId n = pick(same);
      if (!(shape(n) == s)) {
        ir::Node e;
        e.op = Op::expand;
        e.inputs = {n};
        e.shape = s;
        n = *add(std::move(e));
      }
      return *cast(n, t);
    }
    ir::Node f;
    f.op = Op::full;
    f.dtype = t;
    f.shape = s;
    f.bits = value_bits(t, 5) & (~uint64_t{0} >> (64 - bits_of(t)));
    return *add(std::move(f));
  }

  static bool expandable(const Shape& from, const Shape& to) {
    for (size_t d = 0; d < to.size(); ++d) {
      if (!(from[d] == to[d]) && !(from[d] == Sym(1))) return false;
    }
    return true;
  }

  void add_random() {
    switch (below(options_.contractions ? 8 : 7)) {
      case 0:
      case 1:
        return add_unary();
      case 2:
      case 3:
        return add_binary();
      case 4:
      case 5:
        return add_movement();
      case 6:
        return chance(60) ? add_reduction() : chance(50) ? add_where() : add_indexed();
      default:
        return add_contraction();
    }
  }

  void add_unary() {
    const NodeId x = any();
    ir::Node node;
    node.inputs = {x};
    if (chance(15)) return push(cast(x, type()));
    node.op = static_cast<Op>(static_cast<int>(Op::neg) +
                              static_cast<int>(below(static_cast<uint64_t>(Op::relu) -
                                                     static_cast<uint64_t>(Op::neg) + 1)));
    if (auto r = add(node)) return push(r);
    if (auto as_float = cast(x, DType::f32)) {
      node.inputs = {*as_float};
      push(add(node));
    }
  }

  void add_binary() {
    const NodeId x = any();
    ir::Node node;
    node.op = static_cast<Op>(static_cast<int>(Op::add) +
                              static_cast<int>(below(static_cast<uint64_t>(Op::le) -
                                                     static_cast<uint64_t>(Op::add) + 1)));
    node.inputs = {x, matching(shape(x), dtype(x))};
    if (chance(30)) std::swap(node.inputs[0], node.inputs[1]);
    push(add(std::move(node)));
  }

  void add_where() {
    const NodeId x = any();
    ir::Node node;
    node.op = Op::where;
    node.inputs = {matching(shape(x), DType::boolean), x, matching(shape(x), dtype(x))};
    push(add(std::move(node)));
  }

  void add_movement() {
    const NodeId x = any();
    const Shape s = shape(x);
    ir::Node node;
    node.inputs = {x};
    switch (below(7)) {
      case 6: {
        if (s.empty()) return;
        const size_t axis = below(s.size());
        const int64_t most = s[axis].constant().value_or(0);
        const int64_t dilation = pick<int64_t>({1, 1, 2, 3}), stride = pick<int64_t>({1, 1, 2, 3});
        const int64_t taps = pick<int64_t>({1, 2, 3});
        if ((taps - 1) * dilation + 1 > most) return;
        node.op = Op::window;
        node.ints = {static_cast<int64_t>(axis), taps, stride, dilation};
        break;
      }
      case 0:
        node.op = Op::reshape, node.shape = reshaped(s);
        break;
      case 1:
        node.op = Op::permute;
        for (size_t d = 0; d < s.size(); ++d) node.ints.push_back(static_cast<int64_t>(d));
        std::shuffle(node.ints.begin(), node.ints.end(), rng_);
        break;
      case 2:
        node.op = Op::expand;
        node.shape = s;
        for (Sym& d : node.shape) {
          if (d == Sym(1)) d = base_[below(base_.size())];
        }
        break;
      case 3:
        node.op = Op::shrink;
        for (const Sym& d : s) {
          const int64_t most = d.constant().value_or(0);
          const int64_t start =
              most > 0 ? static_cast<int64_t>(below(static_cast<uint64_t>(most) + 1)) : 0;
          const int64_t step = most > 0 && chance(30) ? 2 : 1;
          const int64_t rest = (most - start + step - 1) / step;
          node.syms.push_back(Sym(d.is_const() ? start : 0));
          node.ints.push_back(d.is_const() ? step : 1);
          node.shape.push_back(d.is_const() ? Sym(rest) : d);
        }
        break;
      case 4: {
        node.op = Op::pad;
        std::vector<Sym> after;
        for (const Sym& d : s) {
          const int64_t before = static_cast<int64_t>(below(3)),
                        behind = static_cast<int64_t>(below(3));
          node.syms.push_back(Sym(before));
          after.push_back(Sym(behind));
          node.shape.push_back(d + Sym(before + behind));
        }
        node.syms.insert(node.syms.end(), after.begin(), after.end());
        node.bits = value_bits(dtype(x), 5) & (~uint64_t{0} >> (64 - bits_of(dtype(x))));
        break;
      }
      default:
        node.op = Op::flip;
        for (size_t d = 0; d < s.size(); ++d) {
          if (chance(50)) node.ints.push_back(static_cast<int64_t>(d));
        }
    }
    push(add(std::move(node)));
  }

  // Merges two neighbours, splits one axis, adds or drops an axis of size 1.
  Shape reshaped(const Shape& s) {
    Shape out = s;
    for (int i = 0; i < 2; ++i) {
      const size_t at = out.empty() ? 0 : below(out.size());
      if (!out.empty() && out.size() > 1 && at + 1 < out.size() && chance(40)) {
        out[at] = out[at] * out[at + 1];
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else if (!out.empty() && out[at].constant().value_or(0) > 1 && chance(60)) {
        const int64_t v = *out[at].constant();
        for (int64_t f : {2, 3, 5, 7}) {
          if (v % f != 0) continue;
          out[at] = Sym(v / f);
          out.insert(out.begin() + static_cast<std::ptrdiff_t>(at) + 1, Sym(f));
          break;
        }
      } else {
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), Sym(1));
      }
    }
    return out;
  }

  void add_reduction() {
    const NodeId x = any();
    const Shape s = shape(x);
    if (s.empty()) return;
    ir::Node node;
    node.op = static_cast<Op>(static_cast<int>(Op::sum) +
                              static_cast<int>(below(static_cast<uint64_t>(Op::argmin) -
                                                     static_cast<uint64_t>(Op::sum) + 1)));
    node.inputs = {x};
    const bool arg = node.op == Op::argmax || node.op == Op::argmin;
    for (size_t d = 0; d < s.size(); ++d) {
      if (chance(45) && !(arg && !node.ints.empty())) node.ints.push_back(static_cast<int64_t>(d));
    }
    if (node.ints.empty()) node.ints = {static_cast<int64_t>(s.size()) - 1};
    const bool sums = is_float(dtype(x)) && (node.op == Op::sum || node.op == Op::prod);
    const bool last = node.ints.back() == static_cast<int64_t>(s.size()) - 1;
    node.order = !sums ? kir::Order::any : last ? kir::Order::tree : kir::Order::blk256;
    push(add(std::move(node)));
  }

  void add_attention(NodeId q) {
    const Shape s = shape(q);
    Shape keys = s, values = s, scores = s;
    keys[s.size() - 2] = values[s.size() - 2] = scores.back() = pick(base_);
    values.back() = pick(base_);
    if (!fits(keys) || !fits(values) || !fits(scores)) return;
    ir::Node node;
    node.op = Op::attention;
    node.inputs = {q, matching(keys, DType::f32), matching(values, DType::f32),
                   matching(scores, DType::boolean)};
    if (chance(40)) node.inputs.push_back(matching(scores, DType::f32));
    node.bits = std::bit_cast<uint32_t>(pick<float>({1.0f, 0.125f, -0.5f}));
    push(add(std::move(node)));
  }

  void add_contraction() {
    const NodeId a = any();
    const Shape s = shape(a);
    if (s.size() < 2 || dtype(a) == DType::boolean) return;
    if (dtype(a) == DType::f32 && chance(20)) return add_attention(a);
    Shape other = s;
    other[s.size() - 2] = pick(base_);
    if (!fits(other)) return;
    ir::Node node;
    node.op = Op::contract;
    node.inputs = {a, matching(other, dtype(a))};
    node.order =
        is_float(dtype(a)) ? (chance(70) ? kir::Order::blk256 : kir::Order::tree) : kir::Order::any;
    push(add(std::move(node)));
  }

  void add_indexed() {
    const NodeId x = any();
    const Shape s = shape(x);
    if (s.empty()) return;
    const auto axis = static_cast<int64_t>(below(s.size()));
    const NodeId index = matching({chance(50) ? pick(base_) : Sym(3)},
                                  pick<DType>({DType::i64, DType::i32, DType::i8}));
    ir::Node node;
    node.ints = {axis};
    if (chance(60)) {
      node.op = Op::gather;
      node.inputs = {x, index};
    } else {
      Shape updates = s;
      updates[static_cast<size_t>(axis)] = shape(index)[0];
      if (!fits(updates)) return;
      node.op = chance(50) && dtype(x) != DType::boolean ? Op::scatter_add : Op::scatter;
      node.inputs = {x, index, matching(updates, dtype(x))};
    }
    push(add(std::move(node)));
  }

  void add_outputs() {
    std::vector<NodeId> chosen{nodes_.back()};
    for (int i = 0; i < 2; ++i) chosen.push_back(pick(nodes_));
    int k = 0;
    for (NodeId n : chosen) out_.graph.add_output(fmt::format("y{}", k++), n);
  }

  std::mt19937_64 rng_;
  const RandomGraphOptions options_;
  RandomGraph out_;
  Sym n_;
  std::vector<Sym> base_;
  std::vector<NodeId> nodes_;
  size_t made_ = 0;
};

inline RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {}) {
  return GraphMaker(seed, options).make();
}

// Equal bits, with all NaNs as one.
inline bool same_bits(DType t, std::span<const uint8_t> a, std::span<const uint8_t> b) {
  if (a.size() != b.size()) return false;
  const auto is_nan = [&](const uint8_t* p) {
    if (t == DType::f64) {
      double v;
      std::memcpy(&v, p, 8);
      return v != v;
    }
    if (t == DType::f32) {
      float v;
      std::memcpy(&v, p, 4);
      return v != v;
    }
    uint16_t h;
    std::memcpy(&h, p, 2);
    if (t == DType::f16) return (h & 0x7fff) > 0x7c00;
    return (h & 0x7fff) > 0x7f80;
  };
  const size_t step = size_of(t);
  for (size_t i = 0; i + step <= a.size(); i += step) {
    if (std::memcmp(a.data() + i, b.data() + i, step) == 0) continue;
    if (!is_float(t) || !is_nan(a.data() + i) || !is_nan(b.data() + i)) return false;
  }
  return true;
}

}  // namespace ost::test
