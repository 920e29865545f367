// Small helpers for tests that run kernels by the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::kir::testing {

// A kernel under construction whose buffers are vectors of this object.
class Oracle {
 public:
  template <class T>
  Value input(DType type, const std::vector<T>& values, uint32_t access = OST_KIR_READ) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    data_.push_back(std::move(bytes));
    return b.param(static_cast<uint32_t>(data_.size() - 1), type,
                   b.i64(static_cast<int64_t>(values.size())), access);
  }
  Value output(DType type, int64_t n) {
    data_.emplace_back(static_cast<size_t>(n) * size_of(type), uint8_t{0xee});
    return b.param(static_cast<uint32_t>(data_.size() - 1), type, b.i64(n), OST_KIR_WRITE);
  }
  Value axis(int64_t n, Role role = Role::parallel) { return b.axis(b.i64(n), role); }

  using Data = std::vector<std::vector<uint8_t>>;  // by slot
  Data& data() { return data_; }
  static std::vector<ParamData> params_of(Data& data) {
    std::vector<ParamData> params;
    for (auto& bytes : data) params.push_back({bytes.data(), bytes.size()});
    return params;
  }

  Result<> build() {
    OST_TRY_ASSIGN(kernel, b.build());
    return {};
  }
  Result<> run(const std::vector<int64_t>& vars = {}) {
    OST_TRY(build());
    return interpret(kernel, params_of(data_), vars);
  }

  template <class T>
  static std::vector<T> as(const std::vector<uint8_t>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  template <class T>
  std::vector<T> contents(size_t slot) const {
    return as<T>(data_[slot]);
  }
  // Runs, and returns what the last slot holds.
  template <class T>
  std::vector<T> result(const std::vector<int64_t>& vars = {}) {
    const Result<> ran = run(vars);
    EXPECT_TRUE(ran) << ran.error().message;
    return contents<T>(data_.size() - 1);
  }

  Builder b;
  Kernel kernel;

 private:
  Data data_;
};

// out[i] = f(inputs[0][i], inputs[1][i], ...), all inputs of one type.
template <class R, class T, class F>
std::vector<R> map(DType result, DType type, const std::vector<std::vector<T>>& inputs, F&& f) {
  Oracle o;
  std::vector<Value> params;
  for (const auto& in : inputs) params.push_back(o.input(type, in));
  const auto n = static_cast<int64_t>(inputs.front().size());
  const Value out = o.output(result, n);
  const Value i = o.axis(n);
  std::vector<Value> x;
  for (Value p : params) x.push_back(o.b.load(p, i));
  o.b.store(out, i, f(o.b, x));
  return o.result<R>();
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" has no \"" << part << "\"";
}

inline uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }

// Equal bits, all NaNs being one value.
template <class Float>
::testing::AssertionResult same_bits(Float a, Float e) {
  if (bits(a) == bits(e) || (a != a && e != e)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << a << " (0x" << std::hex << bits(a) << "), wanted " << e << " (0x" << bits(e) << ")";
}
template <class Float>
::testing::AssertionResult same_bits(const std::vector<Float>& a, const std::vector<Float>& e) {
  if (a.size() != e.size())
    return ::testing::AssertionFailure() << a.size() << " elements, wanted " << e.size();
  for (size_t i = 0; i < a.size(); ++i)
    if (auto same = same_bits(a[i], e[i]); !same) return same << " at element " << i;
  return ::testing::AssertionSuccess();
}

// A fixed pseudo-random sequence of moderate floats with mixed exponents: order shows in their
// sums.
template <class Float = float>
std::vector<Float> numbers(size_t n, uint64_t seed = 1) {
  std::vector<Float> v(n);
  for (auto& x : v) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto r = static_cast<double>(static_cast<int64_t>(seed)) * 0x1p-63;
    x = static_cast<Float>(std::ldexp(r, static_cast<int>(seed >> 8 & 7) - 4));
  }
  return v;
}

}  // namespace ost::kir::testing
