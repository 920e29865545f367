// What the tests of the capture contract share: one context, a session on the device under test,
// short names for operations. Everything goes through ostinato.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostinato/ostinato.hpp>

namespace capture_test {

using namespace ostinato;
using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

inline Context& context() {
  static Context shared = [] {
    ContextOptions options;
    options.cache_folder = "off";
    return Context(options);
  }();
  return shared;
}

inline uint64_t seed() {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261130;
}

// The error that a call raises; "" if it raises none.
struct Raised {
  ost_status_t status = OST_OK;
  std::string message;
};
template <typename Body>
Raised raised(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return {e.status(), e.what()};
  }
  return {};
}

#define EXPECT_JIT_ERROR(body, text)                                                        \
  do {                                                                                      \
    const capture_test::Raised raised_ = capture_test::raised([&] { body; });               \
    EXPECT_EQ(raised_.status, static_cast<ost_status_t>(OST_JIT_ERROR)) << raised_.message; \
    EXPECT_NE(raised_.message.find(text), std::string::npos)                                \
        << "found: " << raised_.message << "\nwanted: " << (text);                          \
  } while (0)

class Lab : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      context().open(GetParam());
    } catch (const Error& e) {
      GTEST_SKIP() << "needs " << GetParam() << ": " << e.what();
    }
  }
  const std::string& device() const { return GetParam(); }
  bool is_slow() const { return device() == "ref:0"; }

  Tensor floats(const Floats& values) {
    return floats({static_cast<int64_t>(values.size())}, values);
  }
  Tensor floats(std::vector<int64_t> shape, const Floats& values, const Dims& dims = {}) {
    return session.tensor(Array::of<float>(std::move(shape), values), device(), dims);
  }
  template <typename T>
  Tensor of(std::vector<int64_t> shape, const std::vector<T>& values) {
    return session.tensor(Array::of<T>(std::move(shape), values), device());
  }
  Tensor scalar_tensor(double value) {
    Attrs attrs{{"dtype", static_cast<int>(OST_DTYPE_F32)}, dims("shape", {}), {"value", value}};
    return session.op("full", {}, attrs, device());
  }
  Tensor full(const Dims& shape, double value) {
    Attrs attrs{{"dtype", static_cast<int>(OST_DTYPE_F32)}, dims("shape", shape), {"value", value}};
    return session.op("full", {}, attrs, device());
  }
  Tensor op(const std::string& name, const Tensors& in, const Attrs& attrs = {}) {
    return session.op(name, in, attrs);
  }
  Tensor add(const Tensor& a, const Tensor& b) { return op("add", {a, b}); }
  Tensor mul(const Tensor& a, const Tensor& b) { return op("mul", {a, b}); }
  Tensor plus(const Tensor& a, double v) { return add(a, scalar_tensor(v)); }
  Tensor times(const Tensor& a, double v) { return mul(a, scalar_tensor(v)); }
  Tensor sum(const Tensor& a) { return op("sum", {a}); }
  Tensor matmul(const Tensor& a, const Tensor& b) { return op("matmul", {a, b}); }
  Tensor slice(const Tensor& a, const Dims& starts, const Dims& stops) {
    return op("slice", {a}, {dims("starts", starts), dims("stops", stops)});
  }

  static Floats values(const Tensor& t) { return t.read().values<float>(); }
  static float value(const Tensor& t) { return values(t).at(0); }
  uint64_t live_bytes() const { return context().open(device()).live_bytes; }
  uint64_t allocations() const { return context().open(device()).allocations; }
  uint64_t submits() const { return context().open(device()).submits; }

  Session session{context()};
};

#define INSTANTIATE_ON_DEVICES(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::Values("ref:0", "cpu:0"), \
                           [](const auto& d) { return d.param.substr(0, 3); })

}  // namespace capture_test
