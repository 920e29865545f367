// Random kernels: any expression over any types, nested in loops, reductions and masks, with
// extents that are awkward. The seed of a failing one is in the message; OST_CPU_SEED and
// OST_CPU_COUNT run others.
#include <cstdlib>

#include "jit.hpp"

namespace ost::cpu_test {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : c_(seed), r_(c_.random), b_(c_.b) {}

  Case& make() {
    symbolic_ = r_.one_in(4);
    if (symbolic_) var_ = b_.var(0, 0, kMaxVar);
    const size_t count = 1 + r_.below(3);
    for (size_t i = 0; i < count; ++i) {
      extents_.push_back(r_.pick(std::vector<int64_t>{1, 2, 3, 7, 16, 17, 33, 64, 65, 0}));
      if (i == 1 && r_.one_in(2)) extents_[i] = extents_[0];
      axes_.push_back(symbolic_ && i == 0 ? b_.axis(var_, Role::parallel) : c_.axis(extents_[i]));
    }
    if (symbolic_) extents_[0] = kMaxVar;
    const size_t stores = 1 + r_.below(3);
    for (size_t i = 0; i < stores; ++i) add_store();
    return c_;
  }
  std::vector<int64_t> vars() const {
    return symbolic_ ? std::vector<int64_t>{value_} : std::vector<int64_t>{};
  }
  void choose_var() { value_ = r_.pick(std::vector<int64_t>{0, 1, 5, 16, 31, kMaxVar}); }

 private:
  static constexpr int64_t kMaxVar = 40;

  // Indices stay in [0, hi] by construction: the prover is another test's.
  struct Index {
    Value v;
    int64_t hi;
  };

  Index axis_index(const std::vector<std::pair<Value, int64_t>>& scope) {
    const auto& [axis, extent] = r_.pick(scope);
    return {axis, std::max<int64_t>(extent - 1, 0)};
  }

  Index index(const std::vector<std::pair<Value, int64_t>>& scope, int depth) {
    Index x = scope.empty() ? Index{b_.i64(0), 0} : axis_index(scope);
    if (depth == 0) return x;
    switch (r_.below(7)) {
      case 0: {
        const Index y = index(scope, depth - 1);
        if ((x.hi + 1) * (y.hi + 1) > 6000) return x;
        return {b_.add(b_.mul(x.v, b_.i64(y.hi + 1)), y.v), (x.hi + 1) * (y.hi + 1) - 1};
      }
      case 1: {
        const Index y = index(scope, depth - 1);
        return {b_.add(x.v, y.v), x.hi + y.hi};
      }
      case 2:
        return {b_.binary(Op::sub, b_.i64(x.hi), x.v), x.hi};
      case 3: {
        const auto d = static_cast<int64_t>(1 + r_.below(9));
        const Index y = index(scope, depth - 1);
        return r_.one_in(2) ? Index{b_.div(y.v, b_.i64(d)), y.hi / d}
                            : Index{b_.rem(y.v, b_.i64(d)), std::min(y.hi, d - 1)};
      }
      case 4: {
        const auto s = static_cast<int64_t>(r_.below(4));
        return {b_.mul(x.v, b_.i64(s)), x.hi * s};
      }
      default:
        return x;
    }
  }

  Value load(DType t, const std::vector<std::pair<Value, int64_t>>& scope) {
    const Index at = index(scope, 2);
    const Value p = c_.input(t, at.hi + 1);
    if (!r_.one_in(5)) return b_.load(p, at.v);
    const Value mask =
        b_.lt(at.v, b_.i64(static_cast<int64_t>(r_.below(static_cast<uint64_t>(at.hi) + 2))));
    return b_.load(p, at.v, mask);
  }

  static bool computes(DType t) { return !is_half(t); }

  Value value(DType t, const std::vector<std::pair<Value, int64_t>>& scope, int depth) {
    if (depth <= 0) {
      if (r_.one_in(5)) return b_.constant(t, constant_bits(t));
      return load(t, scope);
    }
    if (!computes(t))
      return r_.one_in(2) ? load(t, scope) : b_.cast(t, value(DType::f32, scope, depth - 1));
    switch (r_.below(12)) {
      case 0:
        return b_.cast(t, value(r_.pick(all_), scope, depth - 1));
      case 1:
        return b_.where(value(DType::boolean, scope, depth - 1), value(t, scope, depth - 1),
                        value(t, scope, depth - 1), r_.one_in(2));
      case 2:
        return reduction(t, scope, depth);
      case 3:
        return load(t, scope);
      default:
        return operation(t, scope, depth);
    }
  }

  Value operation(DType t, const std::vector<std::pair<Value, int64_t>>& scope, int depth) {
    const auto sub = [&] { return value(t, scope, depth - 1); };
    if (t == DType::boolean) {
      if (r_.one_in(2)) {
        const DType of = r_.pick(computing_);
        return b_.compare(r_.pick(compares_), value(of, scope, depth - 1),
                          value(of, scope, depth - 1));
      }
      return r_.one_in(4) ? b_.unary(Op::bit_not, sub()) : b_.binary(r_.pick(bits_), sub(), sub());
    }
    if (is_float(t)) {
      switch (r_.below(6)) {
        case 0:
          return b_.fma(sub(), sub(), sub());
        case 1:
          return b_.ldexp(sub(), value(DType::i32, scope, depth - 1));
        case 2:
          return b_.unary(r_.pick(float_unary_), sub());
        default:
          return b_.binary(r_.pick(float_binary_), sub(), sub());
      }
    }
    return r_.one_in(5) ? b_.unary(r_.pick(int_unary_), sub())
                        : b_.binary(r_.pick(int_binary_), sub(), sub());
  }

  Value reduction(DType t, std::vector<std::pair<Value, int64_t>> scope, int depth) {
    if (reductions_++ > 3) return load(t, scope);
    const int64_t n = r_.pick(std::vector<int64_t>{0, 1, 5, 16, 40, 64, 70, 130, 300});
    const Value axis = c_.axis(n, Role::reduce);
    const auto outside = scope;
    if (scope.size() > 2)
      scope.erase(scope.begin() + static_cast<std::ptrdiff_t>(r_.below(scope.size())));
    scope.push_back({axis, n});
    scope.push_back({axis, n});
    const Order order = is_float(t) ? (r_.one_in(2) ? Order::tree : Order::blk256) : Order::any;
    if (t == DType::i64 && r_.one_in(3))
      return b_.argreduce(r_.one_in(2) ? Combine::max : Combine::min,
                          value(r_.pick(computing_), scope, depth - 2), axis);
    if (t != DType::boolean && r_.one_in(3))
      return b_.contract(order, value(t, scope, depth - 2), value(t, scope, depth - 2), axis);
    const Value x = value(t, scope, depth - 2);
    if (is_float(t)) {
      if (r_.one_in(2))
        return b_.reduce(r_.one_in(2) ? Combine::max : Combine::min, Order::any, x, axis);
      return b_.reduce(r_.one_in(4) ? Combine::prod : Combine::sum, order, x, axis);
    }
    if (t == DType::boolean)
      return b_.reduce(r_.one_in(2) ? Combine::bit_and : Combine::bit_xor, Order::any, x, axis);
    return b_.reduce(r_.pick(int_combines_), Order::any, x, axis);
  }

  uint64_t constant_bits(DType t) {
    uint64_t bits = 0;
    const auto bytes = random_data(r_, t, 1);
    for (size_t i = 0; i < bytes.size(); ++i) bits |= uint64_t{bytes[i]} << (8 * i);
    return bits;
  }

  // A store over some of the axes, in any order of them: no two points share an element.
  void add_store() {
    const DType t = r_.pick(all_);
    std::vector<std::pair<Value, int64_t>> scope;
    for (size_t i = 0; i < axes_.size(); ++i)
      if (!r_.one_in(4)) scope.push_back({axes_[i], extents_[i]});
    if (scope.size() > 1 && r_.one_in(3)) std::swap(scope.front(), scope.back());
    Value at = b_.i64(0);
    int64_t count = 1;
    for (const auto& [axis, extent] : scope) {
      at = b_.add(b_.mul(at, b_.i64(extent)), axis);
      count *= extent;
    }
    reductions_ = 0;
    const Value v = value(t, scope, static_cast<int>(1 + r_.below(4)));
    const Value mask = r_.one_in(5) ? value(DType::boolean, scope, 1) : kir::kNone;
    // What `v` depends on may be fewer axes than the index has: that is the store's business, not
    // ours.
    b_.store(c_.output(t, count), at, v, mask);
  }

  Case c_;
  Random& r_;
  Builder& b_;
  bool symbolic_ = false;
  Value var_ = kir::kNone;
  int64_t value_ = 0;
  int reductions_ = 0;
  std::vector<Value> axes_;
  std::vector<int64_t> extents_;
  const std::vector<DType> all_ = {std::begin(kAllDTypes), std::end(kAllDTypes)};
  const std::vector<DType> computing_ = {DType::boolean, DType::i8,  DType::i16, DType::i32,
                                         DType::i64,     DType::u8,  DType::u16, DType::u32,
                                         DType::u64,     DType::f32, DType::f64};
  const std::vector<Op> compares_ = {Op::eq, Op::ne, Op::lt, Op::le};
  const std::vector<Op> bits_ = {Op::bit_and, Op::bit_or, Op::bit_xor, Op::min, Op::max};
  const std::vector<Op> float_unary_ = {Op::neg,  Op::abs,   Op::sqrt, Op::floor,
                                        Op::ceil, Op::trunc, Op::rint};
  const std::vector<Op> float_binary_ = {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max};
  const std::vector<Op> int_unary_ = {Op::neg, Op::abs, Op::bit_not};
  const std::vector<Op> int_binary_ = {Op::add,    Op::sub,     Op::mul, Op::div,
                                       Op::rem,    Op::min,     Op::max, Op::bit_and,
                                       Op::bit_or, Op::bit_xor, Op::shl, Op::shr};
  const std::vector<Combine> int_combines_ = {Combine::sum,    Combine::prod,    Combine::max,
                                              Combine::min,    Combine::bit_and, Combine::bit_or,
                                              Combine::bit_xor};
};

uint64_t setting(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST(CpuRandom, KernelsHaveTheInterpretersBits) {
  const uint64_t first = setting("OST_CPU_SEED", 1), count = setting("OST_CPU_COUNT", 300);
  RecordProperty("first_seed", std::to_string(first));
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    Case& c = generator.make();
    generator.choose_var();
    const auto kernel = c.b.build();
    ASSERT_TRUE(kernel) << kernel.error().message;
    expect_equal(*kernel, c.data, generator.vars(), seed % 3);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ost::cpu_test
