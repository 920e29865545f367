// Random kernels by the interpreter and by a second evaluator, which computes one value at one
// point by recursion, with no loops shared, nothing hoisted and nothing kept. They must agree in
// every bit.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/kir/semantics.hpp"
#include "tests/unit/kir/oracle.hpp"

namespace ost::kir::testing {
namespace {

using Point = std::map<Value, int64_t>;  // axis -> index

// Values of f32, i64 and bool as 64 bits.
class Naive {
 public:
  Naive(const Kernel& kernel, std::vector<ParamData> params)
      : k_(kernel), params_(std::move(params)) {}

  void run() {
    for (Value v = 0; v < k_.insts.size(); ++v)
      if (k_.op(v) == Op::store) over_axes(v, axes_of(v), {});
  }

 private:
  std::vector<Value> axes_of(
      Value v) const {  // by brute force: which axes occur, less the reduced ones
    const Op op = k_.op(v);
    if (op == Op::axis) return {v};
    std::vector<Value> all;
    const uint32_t operands = is_reduction(op) ? k_.insts[v].nsrc - 1u : k_.insts[v].nsrc;
    for (uint32_t i = 0; i < operands; ++i)
      for (Value a : axes_of(k_.insts[v].src[i])) all.push_back(a);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (is_reduction(op)) std::erase(all, k_.insts[v].src[operands]);
    return all;
  }
  static bool is_reduction(Op op) {
    return op == Op::reduce || op == Op::contract || op == Op::argreduce;
  }
  int64_t extent(Value axis) { return static_cast<int64_t>(value(k_.insts[axis].src[0], {})); }

  void over_axes(Value store, std::vector<Value> axes, const Point& at) {
    if (axes.empty()) return store_at(store, at);
    const Value axis = axes.front();
    axes.erase(axes.begin());
    for (int64_t i = 0; i < extent(axis); ++i) {
      Point next = at;
      next[axis] = i;
      over_axes(store, axes, next);
    }
  }
  void store_at(Value v, const Point& at) {
    const Inst& s = k_.insts[v];
    if (s.nsrc > 3 && !value(s.src[3], at)) return;
    const uint64_t bits = value(s.src[2], at);
    const uint32_t size = size_of(k_.dtype(v));
    std::memcpy(
        static_cast<char*>(params_[k_.insts[s.src[0]].imm].data) + value(s.src[1], at) * size,
        &bits, size);
  }

  static float f(uint64_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b)); }
  static uint64_t u(float x) { return std::bit_cast<uint32_t>(x); }
  static int64_t i(uint64_t b) { return static_cast<int64_t>(b); }
  static uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }

  uint64_t value(Value v, const Point& at) {
    const Inst& s = k_.insts[v];
    const auto arg = [&](uint32_t n) { return value(s.src[n], at); };
    const bool is_f32 = s.nsrc > 0 && k_.dtype(s.src[s.nsrc - 1]) == DType::f32;
    switch (k_.op(v)) {
      case Op::constant:
        return s.imm;
      case Op::axis:
        return u(at.at(v));
      case Op::load: {
        uint64_t bits = 0;
        if (s.nsrc > 2 && !arg(2)) return 0;
        std::memcpy(&bits,
                    static_cast<const char*>(params_[k_.insts[s.src[0]].imm].data) +
                        arg(1) * size_of(k_.dtype(v)),
                    size_of(k_.dtype(v)));
        return bits;
      }
      case Op::add:
        return is_f32 ? u(f(arg(0)) + f(arg(1))) : arg(0) + arg(1);
      case Op::sub:
        return is_f32 ? u(f(arg(0)) - f(arg(1))) : arg(0) - arg(1);
      case Op::mul:
        return is_f32 ? u(f(arg(0)) * f(arg(1))) : arg(0) * arg(1);
      case Op::div:
        return is_f32 ? u(f(arg(0)) / f(arg(1))) : u(scalar::div(i(arg(0)), i(arg(1))));
      case Op::rem:
        return u(scalar::rem(i(arg(0)), i(arg(1))));
      case Op::min:
        return is_f32 ? u(scalar::min(f(arg(0)), f(arg(1)))) : u(std::min(i(arg(0)), i(arg(1))));
      case Op::max:
        return is_f32 ? u(scalar::max(f(arg(0)), f(arg(1)))) : u(std::max(i(arg(0)), i(arg(1))));
      case Op::lt:
        return is_f32 ? f(arg(0)) < f(arg(1)) : i(arg(0)) < i(arg(1));
      case Op::le:
        return is_f32 ? f(arg(0)) <= f(arg(1)) : i(arg(0)) <= i(arg(1));
      case Op::where:
        return arg(0) ? arg(1) : arg(2);
      case Op::fma:
        return u(std::fma(f(arg(0)), f(arg(1)), f(arg(2))));
      case Op::cast:
        return u(static_cast<float>(i(arg(0))));
      case Op::reduce:
      case Op::contract:
      case Op::argreduce:
        return reduce(v, at);
      default:
        ADD_FAILURE() << "the generator made an operation that this test does not know";
        return 0;
    }
  }

  uint64_t reduce(Value v, Point at) {
    const Inst& s = k_.insts[v];
    const Value axis = s.src[s.nsrc - 1];
    const bool fused = k_.op(v) == Op::contract;
    std::vector<float> x, y;
    for (int64_t n = 0; n < extent(axis); ++n) {
      at[axis] = n;
      x.push_back(f(value(s.src[0], at)));
      y.push_back(fused ? f(value(s.src[1], at)) : 1);
    }
    if (k_.op(v) == Op::argreduce) {
      size_t best = 0;
      for (size_t n = 1; n < x.size(); ++n)
        if (x[best] == x[best] && (x[n] != x[n] || x[best] < x[n])) best = n;
      return best;
    }
    if ((s.aux & 0xff) == OST_KIR_COMBINE_MAX) {
      float m = -__builtin_inff();
      for (float e : x) m = scalar::max(m, e);
      return u(m);
    }
    return u(s.aux >> 8 == OST_KIR_ORDER_TREE ? tree(x, y, fused) : blk256(x, y, fused));
  }
  static float step(float a, float x, float y, bool fused) {
    return fused ? std::fma(x, y, a) : a + x;
  }
  static float tree(const std::vector<float>& x, const std::vector<float>& y,
                    bool fused) {  // up to one chunk
    float a[64] = {};
    for (size_t n = 0; n < x.size(); ++n) a[n % 64] = step(a[n % 64], x[n], y[n], fused);
    for (int w = 32; w; w /= 2)
      for (int l = 0; l < w; ++l) a[l] += a[l + w];
    return a[0];
  }
  static float blk256(const std::vector<float>& x, const std::vector<float>& y, bool fused) {
    float total = 0, s = 0;
    for (size_t n = 0; n < x.size(); ++n) {
      if (n % 256 == 0 && n > 0) total = n == 256 ? s : total + s, s = 0;
      s = step(s, x[n], y[n], fused);
    }
    return x.size() <= 256 ? s : total + s;
  }

  const Kernel& k_;
  std::vector<ParamData> params_;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  // Every value is made of axes of one statement and of reductions; all loads are in bounds by rem
  // and max.
  void fill(Oracle& o, const std::vector<Value>& inputs) {
    o_ = &o;
    inputs_ = inputs;
    const int statements = pick(1, 3);
    for (int s = 0; s < statements; ++s) statement();
  }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  Builder& b() { return o_->b; }
  int64_t small_extent() {
    constexpr int64_t kExtents[] = {0, 1, 2, 3, 5, 7};
    return kExtents[pick(pick(0, 4) ? 1 : 0, 5)];
  }

  void statement() {
    std::vector<Value> axes;
    int64_t size = 1;
    Value at = b().i64(0);
    const int rank = pick(0, 3);
    for (int d = 0; d < rank; ++d) {
      const int64_t n = d == rank - 1 && pick(0, 5) == 0 ? 700 : small_extent();
      axes.push_back(o_->axis(n));
      at = b().add(b().mul(at, b().i64(n)), axes.back());
      size *= n;
    }
    const Value out = o_->output(DType::f32, size);
    const Value v = number(axes, pick(2, 5));
    if (pick(0, 3))
      b().store(out, at, v);
    else
      b().store(out, at, v, condition(axes, 2));
  }

  Value index(const std::vector<Value>& axes, int depth) {  // any i64
    if (depth == 0 || axes.empty())
      return axes.empty() || pick(0, 2) == 0
                 ? b().i64(pick(-3, 9))
                 : axes[static_cast<size_t>(pick(0, static_cast<int>(axes.size()) - 1))];
    constexpr Op kOps[] = {Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::min, Op::max};
    return b().binary(kOps[pick(0, 6)], index(axes, depth - 1), index(axes, depth - 1));
  }
  Value condition(const std::vector<Value>& axes, int depth) {
    if (pick(0, 1)) return b().lt(index(axes, depth), index(axes, depth - 1));
    return b().le(number(axes, depth - 1), number(axes, depth - 1));
  }
  Value load(const std::vector<Value>& axes) {
    const Value count = b().i64(kCount);
    const Value at = b().binary(Op::max, b().rem(index(axes, 2), count), b().i64(0));
    const Value p = inputs_[static_cast<size_t>(pick(0, static_cast<int>(inputs_.size()) - 1))];
    return pick(0, 3) ? b().load(p, at) : b().load(p, at, condition(axes, 1));
  }
  Value reduction(std::vector<Value> axes, int depth) {
    const Value r = o_->axis(pick(0, 9) == 0 ? 600 : small_extent(), Role::reduce);
    axes.push_back(r);
    // The longest axes only over cheap values: the second evaluator keeps nothing.
    const Value x = number(axes, std::min(depth - 1, 1));
    switch (pick(0, 4)) {
      case 0:
        return b().reduce(Combine::max, Order::any, x, r);
      case 1:
        return b().contract(Order::blk256, x, load(axes), r);
      case 2:
        return b().contract(Order::tree, x, load(axes), r);
      case 3:
        return b().cast(DType::f32, b().argreduce(Combine::max, x, r));
      default:
        return b().reduce(Combine::sum, pick(0, 1) ? Order::tree : Order::blk256, x, r);
    }
  }
  Value number(const std::vector<Value>& axes, int depth) {
    if (depth <= 0) return pick(0, 4) ? load(axes) : b().cast(DType::f32, index(axes, 1));
    const auto next = [&] { return number(axes, depth - 1); };
    switch (pick(0, 8)) {
      case 0:
        return b().mul(next(), next());
      case 1:
        return b().sub(next(), next());
      case 2:
        return b().fma(next(), next(), next());
      case 3:
      case 4:
        return reduction(axes, depth);
      case 5:
      case 6:
        return b().where(condition(axes, 1), next(), next(), pick(0, 1));
      case 7:
        return b().binary(Op::max, next(), next());
      default:
        return b().add(next(), next());
    }
  }

 public:
  static constexpr int64_t kCount = 40;

 private:
  std::mt19937 random_;
  Oracle* o_ = nullptr;
  std::vector<Value> inputs_;
};

#ifdef NDEBUG
constexpr uint32_t kKernelsPerSeed = 15;
#else
constexpr uint32_t kKernelsPerSeed = 5;  // the second evaluator is slow, and slower with sanitizers
#endif

class InterpretRandom : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, InterpretRandom, ::testing::Range(0u, 10u));

TEST_P(InterpretRandom, KernelsAgreeWithTheRecursiveEvaluator) {
  for (uint32_t n = 0; n < kKernelsPerSeed; ++n) {
    const uint32_t seed = GetParam() * 1000 + n;
    Oracle o;
    std::vector<Value> inputs;
    for (uint64_t p = 0; p < 3; ++p)
      inputs.push_back(o.input(DType::f32, numbers<float>(Generator::kCount, seed + p)));
    Generator(seed).fill(o, inputs);
    ASSERT_TRUE(o.build()) << "seed " << seed;
    auto expected = o.data();
    Naive(o.kernel, o.params_of(expected)).run();
    const Result<> ran = interpret(o.kernel, o.params_of(o.data()), {});
    ASSERT_TRUE(ran) << "seed " << seed << ": " << ran.error().message;
    for (size_t slot = 3; slot < expected.size(); ++slot)
      ASSERT_TRUE(same_bits(o.contents<float>(slot), Oracle::as<float>(expected[slot])))
          << "seed " << seed << ", slot " << slot;
  }
}

}  // namespace
}  // namespace ost::kir::testing
