// The orders `any`, `tree` and `blk256`, and the arg-reductions.
#include "core/kir/interpret_reduce.hpp"

#include <algorithm>
#include <concepts>
#include <limits>

#include "core/kir/interpret_types.hpp"

namespace ost::kir::interp {
namespace {

using scalar::Float;
using scalar::Half;
using scalar::Int;

template <class T>
struct Sum {
  static constexpr T identity() { return T{0}; }
  static T combine(T a, T b) { return scalar::add(a, b); }
};
template <class T>
struct Prod {
  static constexpr T identity() { return T{1}; }
  static T combine(T a, T b) { return scalar::mul(a, b); }
};
template <class T>
struct Max {
  static constexpr T identity() {
    if constexpr (Float<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return scalar::max(a, b); }
};
template <class T>
struct Min {
  static constexpr T identity() {
    if constexpr (Float<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return scalar::min(a, b); }
};
template <class T>
struct And {
  static constexpr T identity() {
    if constexpr (std::same_as<T, bool>)
      return true;
    else
      return static_cast<T>(~T{0});
  }
  static T combine(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static constexpr T identity() { return T{0}; }
  static T combine(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static constexpr T identity() { return T{0}; }
  static T combine(T a, T b) { return static_cast<T>(a ^ b); }
};

// How one element enters the accumulator: combine(acc, x) of a reduction, fma(x, y, acc) of a
// contraction.
template <class T, class M>
struct Elements {
  using Monoid = M;
  static T chain(size_t n, const T* x, const T*, T acc) {
    for (size_t i = 0; i < n; ++i) acc = M::combine(acc, x[i]);
    return acc;
  }
  static void lanes(size_t n, const T* x, const T*, T* acc) {
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
      for (size_t l = 0; l < 64; ++l) acc[l] = M::combine(acc[l], x[i + l]);
    for (; i < n; ++i) acc[i % 64] = M::combine(acc[i % 64], x[i]);
  }
};
template <class T>
struct Products {
  using Monoid = Sum<T>;
  static T chain(size_t n, const T* x, const T* y, T acc) {
    if constexpr (std::same_as<T, float>) {
      return fma_loops().chain_f32(n, x, y, acc);
    } else if constexpr (std::same_as<T, double>) {
      return fma_loops().chain_f64(n, x, y, acc);
    } else {
      for (size_t i = 0; i < n; ++i) acc = scalar::add(acc, scalar::mul(x[i], y[i]));
      return acc;
    }
  }
  static void lanes(size_t n, const T* x, const T* y, T* acc) {
    if constexpr (std::same_as<T, float>)
      fma_loops().lanes_f32(n, x, y, acc);
    else
      fma_loops().lanes_f64(n, x, y, acc);
  }
};

// any: ascending from the identity. Every order gives the same bits for the operations that have
// this tag.
template <class T, class E>
class AnyOrder final : public Reducer {
 public:
  void begin() override { acc_ = E::Monoid::identity(); }
  void feed(size_t n, const void* x, const void* y) override {
    acc_ = E::chain(n, static_cast<const T*>(x), static_cast<const T*>(y), acc_);
  }
  void finish(void* out) override { *static_cast<T*>(out) = acc_; }

 private:
  T acc_{};
};

// blk256: one chain from the identity for each 256 elements, the chains' results combined in
// ascending order.
template <class T, class E>
class Blk256 final : public Reducer {
  static constexpr size_t kChain = 256;
  using M = typename E::Monoid;

 public:
  void begin() override {
    acc_ = M::identity();
    filled_ = 0;
    first_ = true;
  }
  void feed(size_t n, const void* x, const void* y) override {
    const auto* xs = static_cast<const T*>(x);
    const auto* ys = static_cast<const T*>(y);
    while (n > 0) {
      if (filled_ == kChain) flush();
      const size_t k = std::min(n, kChain - filled_);
      acc_ = E::chain(k, xs, ys, acc_);
      filled_ += k, n -= k, xs += k;
      if (ys) ys += k;
    }
  }
  void finish(void* out) override {
    flush();
    *static_cast<T*>(out) = total_;
  }

 private:
  void flush() {
    total_ = first_ ? acc_ : M::combine(total_, acc_);
    first_ = false;
    acc_ = M::identity();
    filled_ = 0;
  }
  T acc_{}, total_{};
  size_t filled_ = 0;
  bool first_ = true;
};

// tree: element i of a chunk of 4,096 goes to lane i mod 64, the lanes are folded in halves, and
// the chunks' results are reduced by the same rule.
template <class T, class E>
class Tree final : public Reducer {
  static constexpr size_t kChunk = 4096;
  using M = typename E::Monoid;

 public:
  void begin() override {
    partials_.clear();
    open();
  }
  void feed(size_t n, const void* x, const void* y) override {
    if (filled_ == kChunk) close(), open();
    E::lanes(n, static_cast<const T*>(x), static_cast<const T*>(y), lanes_);
    filled_ += n;
  }
  void finish(void* out) override {
    close();
    while (partials_.size() > 1) {
      const std::vector<T> level = std::move(partials_);
      partials_.clear();
      for (size_t j = 0; j < level.size(); j += kChunk) {
        open();
        Elements<T, M>::lanes(std::min(kChunk, level.size() - j), level.data() + j, nullptr,
                              lanes_);
        close();
      }
    }
    *static_cast<T*>(out) = partials_.front();
  }

 private:
  void open() {
    std::fill_n(lanes_, 64, M::identity());
    filled_ = 0;
  }
  void close() {
    for (size_t w = 32; w > 0; w /= 2)
      for (size_t l = 0; l < w; ++l) lanes_[l] = M::combine(lanes_[l], lanes_[l + w]);
    partials_.push_back(lanes_[0]);
  }
  T lanes_[64];
  size_t filled_ = 0;
  std::vector<T> partials_;
};

// The first index of the extreme: a later element wins only if it is strictly beyond (so -0 and +0
// are equal), or if it is the first NaN.
template <class T, bool kMax>
class ArgReduce final : public Reducer {
 public:
  void begin() override { index_ = 0, next_ = 0; }
  void feed(size_t n, const void* x, const void*) override {
    const auto* xs = static_cast<const T*>(x);
    for (size_t i = 0; i < n; ++i, ++next_) {
      if (next_ == 0 || beats(xs[i])) best_ = xs[i], index_ = next_;
    }
  }
  void finish(void* out) override { *static_cast<int64_t*>(out) = index_; }

 private:
  bool beats(T x) const {
    if constexpr (Float<T>) {
      if (best_ != best_) return false;
      if (x != x) return true;
    }
    return kMax ? best_ < x : x < best_;
  }
  T best_{};
  int64_t index_ = 0, next_ = 0;
};

template <class T, class E>
std::unique_ptr<Reducer> with_order(Order order) {
  if constexpr (!Float<T>) {  // the same bits in any order
    return std::make_unique<AnyOrder<T, E>>();
  } else {
    switch (order) {
      case Order::any:
        return std::make_unique<AnyOrder<T, E>>();
      case Order::tree:
        return std::make_unique<Tree<T, E>>();
      case Order::blk256:
        return std::make_unique<Blk256<T, E>>();
      case Order::attn:
        return nullptr;
    }
    return nullptr;
  }
}

template <class T>
std::unique_ptr<Reducer> reduction(Combine combine, Order order) {
  if constexpr (!std::same_as<T, bool>) {
    if (combine == Combine::sum) return with_order<T, Elements<T, Sum<T>>>(order);
    if (combine == Combine::prod) return with_order<T, Elements<T, Prod<T>>>(order);
  }
  if (combine == Combine::max) return with_order<T, Elements<T, Max<T>>>(order);
  if (combine == Combine::min) return with_order<T, Elements<T, Min<T>>>(order);
  if constexpr (!Float<T>) {
    if (combine == Combine::bit_and) return with_order<T, Elements<T, And<T>>>(order);
    if (combine == Combine::bit_or) return with_order<T, Elements<T, Or<T>>>(order);
    if (combine == Combine::bit_xor) return with_order<T, Elements<T, Xor<T>>>(order);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Reducer> make_reducer(const Inst& inst, DType type) {
  const auto op = static_cast<Op>(inst.op);
  const auto combine = static_cast<Combine>(inst.aux & 0xff);
  const auto order = static_cast<Order>(inst.aux >> 8);
  return with_type(type, [&](auto tag) -> std::unique_ptr<Reducer> {
    using T = typename decltype(tag)::type;
    if constexpr (!Half<T>) {
      if (op == Op::reduce) return reduction<T>(combine, order);
      if (op == Op::argreduce && combine == Combine::max)
        return std::make_unique<ArgReduce<T, true>>();
      if (op == Op::argreduce && combine == Combine::min)
        return std::make_unique<ArgReduce<T, false>>();
      if constexpr (!std::same_as<T, bool>) {
        if (op == Op::contract) return with_order<T, Products<T>>(order);
      }
    }
    return nullptr;
  });
}

}  // namespace ost::kir::interp
