// Random index expressions: a tree that is evaluated directly, and built through the Builder at the
// same time.
#pragma once

#include <random>
#include <vector>

#include "tests/unit/kir/scalar_eval.hpp"

namespace ost::kir::testing {

// Variables and axes of a small random space; extents are constants, variables or sums and products
// of them.
struct Space {
  struct Axis {
    Value value;
    Value extent;
  };
  std::vector<Value> vars;
  std::vector<int64_t> var_max;
  std::vector<Axis> axes;

  static Space random(Builder& b, std::mt19937& rng) {
    Space s;
    const auto pick = [&](int lo, int hi) {
      return std::uniform_int_distribution<int>(lo, hi)(rng);
    };
    for (int i = pick(0, 2); i > 0; --i) {
      s.var_max.push_back(pick(1, 4));
      s.vars.push_back(b.var(static_cast<uint32_t>(s.vars.size()), 0, s.var_max.back()));
    }
    const auto extent = [&]() -> Value {
      if (s.vars.empty() || pick(0, 2) == 0) return b.i64(pick(1, 6));
      const Value v = s.vars[static_cast<size_t>(pick(0, static_cast<int>(s.vars.size()) - 1))];
      const int kind = pick(0, 3);
      if (kind == 0) return b.mul(v, b.i64(pick(2, 4)));
      if (kind == 1) return b.add(v, b.i64(pick(1, 2)));
      return kind == 2 ? b.mul(v, s.vars[0]) : v;
    };
    for (int i = pick(1, 3); i > 0; --i) {
      const Value e = extent();
      s.axes.push_back({b.axis(e, Role::parallel), e});
    }
    return s;
  }

  // Calls f for every value of the variables and every point of all axes.
  template <typename Kernels, typename F>  // Builder or Kernel
  void for_each_point(const Kernels& b, const F& f) const {
    Point point;
    each_var(b, 0, point, f);
  }

 private:
  template <typename Kernels, typename F>  // Builder or Kernel
  void each_var(const Kernels& b, size_t i, Point& point, const F& f) const {
    if (i == vars.size()) return each_axis(b, 0, point, f);
    for (int64_t v = 0; v <= var_max[i]; ++v) {
      point[vars[i]] = v;
      each_var(b, i + 1, point, f);
    }
  }
  template <typename Kernels, typename F>  // Builder or Kernel
  void each_axis(const Kernels& b, size_t i, Point& point, const F& f) const {
    if (i == axes.size()) return f(point);
    const int64_t extent = eval(b, axes[i].extent, point);
    for (int64_t v = 0; v < extent; ++v) {
      point[axes[i].value] = v;
      each_axis(b, i + 1, point, f);
    }
    point.erase(axes[i].value);
  }
};

// An expression as the caller wrote it, before any simplification.
struct Tree {
  Op op = Op::constant;
  int64_t constant = 0;
  Value leaf = kNone;                // an axis, a variable or an extent
  const Builder* builder = nullptr;  // evaluates extents
  std::vector<Tree> operands;

  int64_t eval(const Point& point) const {
    if (op == Op::constant) return constant;
    if (leaf != kNone) return testing::eval(*builder, leaf, point);
    int64_t s[3] = {0, 0, 0};
    for (size_t i = 0; i < operands.size(); ++i) s[i] = operands[i].eval(point);
    return apply(op, s[0], s[1], s[2]);
  }

  Value build(Builder& b) const {
    if (op == Op::constant) return b.i64(constant);
    if (leaf != kNone) return leaf;
    std::vector<Value> v;
    for (const Tree& operand : operands) v.push_back(operand.build(b));
    switch (op) {
      case Op::neg:
      case Op::bit_not:
        return b.unary(op, v[0]);
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
        return b.compare(op, v[0], v[1]);
      case Op::where:
        return b.where(v[0], v[1], v[2]);
      default:
        return b.binary(op, v[0], v[1]);
    }
  }
};

class TreeMaker {
 public:
  TreeMaker(const Builder& b, const Space& space, std::mt19937& rng)
      : builder_(b), space_(space), rng_(rng) {}

  // Biased to what index arithmetic looks like: linear combinations, splits by constants and
  // extents.
  Tree index(int depth) {
    if (depth == 0 || pick(0, 7) == 0) return leaf();
    switch (pick(0, 11)) {
      case 0:
      case 1:
      case 2:
        return node(Op::add, index(depth - 1), index(depth - 1));
      case 3:
        return node(Op::sub, index(depth - 1), index(depth - 1));
      case 4:
      case 5:
        return node(Op::mul, index(depth - 1), amount());
      case 6:
      case 7:
        return node(Op::div, index(depth - 1), amount());
      case 8:
      case 9:
        return node(Op::rem, index(depth - 1), amount());
      case 10:
        return node(pick(0, 1) ? Op::min : Op::max, index(depth - 1), index(depth - 1));
      default:
        return pick(0, 1) ? node(Op::neg, index(depth - 1)) : where(depth);
    }
  }

  Tree condition(int depth) {
    if (depth > 0 && pick(0, 2) == 0) {
      const int kind = pick(0, 2);
      if (kind == 2) return node(Op::bit_not, condition(depth - 1));
      return node(kind ? Op::bit_and : Op::bit_or, condition(depth - 1), condition(depth - 1));
    }
    static constexpr Op kCompares[] = {Op::lt, Op::le, Op::eq, Op::ne, Op::lt, Op::le};
    return node(kCompares[pick(0, 5)], index(2), index(2));
  }

  Tree leaf() {
    const int kind = pick(0, 3);
    if (kind == 0) return constant(pick(-3, 8));
    if (kind == 1) return amount();
    return value(
        space_.axes[static_cast<size_t>(pick(0, static_cast<int>(space_.axes.size()) - 1))].value);
  }

  // A divisor or factor: a small constant or a variable, rarely with an offset.
  Tree amount() {
    if (space_.vars.empty() || pick(0, 2))
      return constant(pick(0, 8) == 0 ? pick(-2, 1) : pick(2, 6));
    Tree v =
        value(space_.vars[static_cast<size_t>(pick(0, static_cast<int>(space_.vars.size()) - 1))]);
    if (pick(0, 3) == 0) return node(Op::mul, v, constant(pick(2, 3)));
    return pick(0, 3) ? v : node(Op::add, v, constant(1));
  }

  // Row-major position over the axes in a random order, split again by other extents: what reshapes
  // make.
  Tree reshaped() {
    Tree position = constant(0);
    for (const Space::Axis& axis : space_.axes)
      position = node(Op::add, node(Op::mul, position, value(axis.extent)), value(axis.value));
    for (int i = pick(0, 2); i > 0; --i) {
      const Tree by = amount();
      const Tree quotient = node(Op::div, position, by);
      const Tree rest = node(Op::rem, position, by);
      position = pick(0, 1)   ? node(Op::add, node(Op::mul, quotient, by), rest)
                 : pick(0, 1) ? quotient
                              : rest;
    }
    return position;
  }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng_); }
  Tree where(int depth) {
    return node(Op::where, condition(0), index(depth - 1), index(depth - 1));
  }

  static Tree constant(int64_t c) { return {Op::constant, c, kNone, nullptr, {}}; }
  Tree value(Value v) const { return {Op::axis, 0, v, &builder_, {}}; }
  template <typename... T>
  static Tree node(Op op, T... operands) {
    return {op, 0, kNone, nullptr, {std::move(operands)...}};
  }

  const Builder& builder_;
  const Space& space_;
  std::mt19937& rng_;
};

}  // namespace ost::kir::testing
