// Runs KIR kernels through the compiler library and compares them with the interpreter, bit for
// bit.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kir/kernel.hpp"
#include "plugins/cpu/abi/compiler.h"
#include "plugins/cpu/abi/kernel.h"
#include "plugins/cpu/abi/target.hpp"

namespace ost::cpu_test {

using kir::Builder;
using kir::Combine;
using kir::Kernel;
using kir::Op;
using kir::Order;
using kir::Role;
using kir::Value;

struct Target {
  const char* name;
  ost_cpu::FeatureSet features;
};
// The instruction sets that this CPU can run: plain x86-64, AVX2, AVX-512.
const std::vector<Target>& targets();

const ost_cpu_compiler_t& compiler();
Result<std::string> compile_image(const Kernel& kernel, const std::string& target,
                                  const std::string& options = "");

// Code in memory, ready to be called.
class Code {
 public:
  static Result<std::unique_ptr<Code>> make(const Kernel& kernel, ost_cpu::FeatureSet features);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  ost_cpu_plan_t plan(const std::vector<int64_t>& vars) const;
  // All phases. Tasks are cut into pieces that run in an order that `seed` decides; 0: one piece.
  void run(const std::vector<void*>& params, const std::vector<int64_t>& vars,
           uint64_t seed = 0) const;

 private:
  Code() = default;
  void* text_ = nullptr;
  size_t size_ = 0;
  ost_cpu_kernel_fn fn_ = nullptr;
};

// Contents of a parameter, with a margin around it that must not change.
class Buffer {
 public:
  explicit Buffer(std::vector<uint8_t> contents);
  void* data() { return bytes_.data() + kMargin; }
  std::vector<uint8_t> contents() const {
    return {bytes_.begin() + kMargin, bytes_.end() - kMargin};
  }
  bool margins_intact() const;

 private:
  static constexpr size_t kMargin = 256;
  std::vector<uint8_t> bytes_;
};

// A small fast generator; the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  uint64_t below(uint64_t n) { return (next() >> 11) % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    return v[below(v.size())];
  }

 private:
  uint64_t state_;
};

// `count` elements of the type: ordinary values, and every special one now and then.
std::vector<uint8_t> random_data(Random& random, DType type, size_t count);

// Equal bytes; for floats all NaNs are one value. The message says where they differ.
::testing::AssertionResult same_contents(DType type, const std::vector<uint8_t>& got,
                                         const std::vector<uint8_t>& want);

// Runs the kernel by the interpreter and on each target and compares all params. `data` by slot.
void expect_equal(const Kernel& kernel, const std::vector<std::vector<uint8_t>>& data,
                  const std::vector<int64_t>& vars = {}, uint64_t seed = 0);

// A kernel under construction together with the contents of its params.
struct Case {
  explicit Case(uint64_t seed = 1) : random(seed) {}
  Value input(DType type, int64_t n, uint32_t access = OST_KIR_READ) {
    data.push_back(random_data(random, type, static_cast<size_t>(n)));
    return b.param(static_cast<uint32_t>(data.size() - 1), type, b.i64(n), access);
  }
  // Contents that keep sums and products small: for long reductions.
  Value smooth_input(DType type, int64_t n);
  Value output(DType type, int64_t n) {
    data.emplace_back(static_cast<size_t>(n) * size_of(type), uint8_t{0xee});
    return b.param(static_cast<uint32_t>(data.size() - 1), type, b.i64(n), OST_KIR_WRITE);
  }
  Value axis(int64_t n, Role role = Role::parallel) { return b.axis(b.i64(n), role); }
  Value at(Value i, int64_t stride, Value j) { return b.add(b.mul(i, b.i64(stride)), j); }
  // Builds, verifies and compares.
  void check(const std::vector<int64_t>& vars = {});

  Builder b;
  Random random;
  std::vector<std::vector<uint8_t>> data;
};

}  // namespace ost::cpu_test
