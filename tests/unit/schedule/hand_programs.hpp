// Small programs made by hand, for tests of what stands below or beside the scheduler.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "core/kir/kernel.hpp"
#include "core/schedule/program.hpp"

namespace ost::test {

inline LiteralPtr floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  auto literal = std::make_shared<Literal>();
  literal->dtype = DType::f32;
  literal->shape = std::move(shape);
  literal->bytes.resize(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(literal->bytes.data(), values.data(), literal->bytes.size());
  return literal;
}

inline kir::Kernel finish(kir::Builder& b) {
  auto kernel = b.build();
  EXPECT_TRUE(kernel.has_value()) << (kernel ? "" : kernel.error().message);
  return kernel ? std::move(*kernel) : kir::Kernel{};
}

// slot 2 [n, 4] = slot 0 [n, 4] * slot 1 [4]
inline kir::Kernel scale_kernel() {
  using namespace kir;
  Builder b;
  const Value n = b.var(0, 1, 64), count = b.mul(n, b.i64(4));
  const Value x = b.param(0, DType::f32, count, OST_KIR_READ);
  const Value c = b.param(1, DType::f32, b.i64(4), OST_KIR_READ);
  const Value y = b.param(2, DType::f32, count, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel), j = b.axis(b.i64(4), Role::parallel);
  const Value at = b.add(b.mul(i, b.i64(4)), j);
  b.store(y, at, b.mul(b.load(x, at), b.load(c, j)));
  return finish(b);
}

// slot 1 [4n] = max(slot 0 [4n], 0), or -slot 0
inline kir::Kernel pointwise_kernel(kir::Op op) {
  using namespace kir;
  Builder b;
  const Value n = b.var(0, 1, 64), count = b.mul(n, b.i64(4));
  const Value x = b.param(0, DType::f32, count, OST_KIR_READ);
  const Value y = b.param(1, DType::f32, count, OST_KIR_WRITE);
  const Value i = b.axis(count, Role::parallel);
  const Value v = b.load(x, i);
  b.store(y, i, op == Op::max ? b.where(b.lt(v, b.f32(0)), b.f32(0), v) : b.unary(op, v));
  return finish(b);
}

// y = relu(x * c): x f32 [n, 4], n in 1 .. 64; two kernels, one temp.
inline Program scaled_relu(kir::Op second = kir::Op::max) {
  const Var n{"n", 1, 64};
  const Shape shape = {Sym::var(n), Sym(4)};
  const Sym elements = numel(shape);
  Program p;
  p.vars = {n};
  p.inputs = {{.name = "x", .dtype = DType::f32, .shape = shape, .device = 0, .written = false}};
  p.outputs = {{.name = "y", .dtype = DType::f32, .shape = shape, .device = 0, .buffer = 3}};
  p.constants = {
      {.name = "c", .data = floats({4}, {1.0f, -0.0f, 0.5f, 3.0f}), .file = {}, .tensor = {}}};
  p.arenas = {{.device = 0, .bytes = 1024}};
  const auto buffer = [&](BufferKind kind, Sym count, uint32_t arena) {
    p.buffers.push_back({.kind = kind,
                         .slot = 0,
                         .device = 0,
                         .dtype = DType::f32,
                         .elements = std::move(count),
                         .arena = arena,
                         .offset = 0});
  };
  buffer(BufferKind::input, elements, kNoIndex);
  buffer(BufferKind::constant, Sym(4), kNoIndex);
  buffer(BufferKind::temp, elements, 0);
  buffer(BufferKind::output, elements, kNoIndex);
  p.kernels.push_back({"scale", scale_kernel(), {}});
  p.kernels.push_back(
      {second == kir::Op::max ? "relu" : "pointwise", pointwise_kernel(second), {}});
  p.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 0,
                     .args = {0, 1, 2},
                     .vars = {0},
                     .after = {},
                     .level = 0});
  p.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 1,
                     .args = {2, 3},
                     .vars = {0},
                     .after = {0},
                     .level = 1});
  p.groups = {{{"mul"}, 0, 0, "pointwise", "the test says so", Sym(0)},
              {{"relu"}, 1, 1, "pointwise", "output", elements * Sym(4)}};
  p.guards = {{Sym(1), Sym::var(n), "at least one row"}};
  return p;
}

// Two devices, a state that is written, an input that is written, a pass-through output, an integer
// constant, no variables: acc += x on device 0, its copy to device 1 is an output.
inline Program accumulate() {
  const Shape shape = {Sym(8)};
  Program p;
  p.device_count = 2;
  p.inputs = {{.name = "x", .dtype = DType::f32, .shape = shape, .device = 0, .written = false},
              {.name = "log", .dtype = DType::f32, .shape = shape, .device = 0, .written = true}};
  p.states = {{.name = "acc",
               .dtype = DType::f32,
               .shape = shape,
               .device = 0,
               .initial = floats({8}, std::vector<float>(8, 1.5f))}};
  p.outputs = {{.name = "sum", .dtype = DType::f32, .shape = shape, .device = 1, .buffer = 3},
               {.name = "same", .dtype = DType::f32, .shape = shape, .device = 0, .buffer = 0}};
  const auto buffer = [&](BufferKind kind, uint32_t slot, uint32_t device) {
    p.buffers.push_back({.kind = kind,
                         .slot = slot,
                         .device = device,
                         .dtype = DType::f32,
                         .elements = Sym(8),
                         .arena = kNoIndex,
                         .offset = 0});
  };
  buffer(BufferKind::input, 0, 0);
  buffer(BufferKind::input, 1, 0);
  buffer(BufferKind::state, 0, 0);
  buffer(BufferKind::output, 0, 1);
  kir::Builder b;
  const auto eight = b.i64(8);
  const auto x = b.param(0, DType::f32, eight, OST_KIR_READ);
  const auto log = b.param(1, DType::f32, eight, OST_KIR_WRITE);
  const auto acc = b.param(2, DType::f32, eight, OST_KIR_READ | OST_KIR_WRITE);
  const auto i = b.axis(eight, kir::Role::parallel);
  const auto sum = b.add(b.load(acc, i), b.load(x, i));
  b.store(acc, i, sum);
  b.store(log, i, b.load(x, i));
  p.kernels.push_back({"accumulate", finish(b), {}});
  p.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 0,
                     .args = {0, 1, 2},
                     .vars = {},
                     .after = {},
                     .level = 0});
  p.steps.push_back({.kind = StepKind::copy,
                     .device = 1,
                     .kernel = kNoIndex,
                     .args = {3, 2},
                     .vars = {},
                     .after = {0},
                     .level = 1});
  return p;
}

}  // namespace ost::test
