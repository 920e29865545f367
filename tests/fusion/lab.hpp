// Programs of the expression language, compiled and run on `ref` and on every other device here.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/dsl/dsl.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/conformance/devices.hpp"

namespace ost::test {

struct TypedName {
  std::string name, type;
};

inline Result<ir::Graph> graph_of(std::string_view text, const std::vector<TypedName>& types) {
  std::vector<dsl::Binding> inputs;
  std::vector<Var> vars;
  for (const auto& [name, type] : types) {
    OST_TRY_ASSIGN(const auto decl, dsl::parse_type(type, vars));
    vars.insert(vars.end(), decl.vars.begin(), decl.vars.end());
    inputs.push_back({name, decl.dtype, decl.shape, ir::InputKind::argument, nullptr});
  }
  return dsl::build(text, inputs, vars);
}

inline Result<Program> program_of(std::string_view text, const std::vector<TypedName>& types,
                                  const ScheduleOptions& options = {}) {
  OST_TRY_ASSIGN(const ir::Graph graph, graph_of(text, types));
  OST_TRY_ASSIGN(Program program, schedule(graph, options));
  OST_TRY(verify(program));
  return program;
}

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes out(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <typename T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Deterministic floats in [-1, 1).
inline std::vector<float> noise(size_t count, uint64_t seed) {
  std::vector<float> out(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& x : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  return out;
}

// Every input with noise of its shape at these values.
inline std::vector<Bytes> noise_for(const Program& program, const Bindings& values = {}) {
  std::vector<Bytes> out;
  for (const InputDesc& in : program.inputs) {
    const auto count = numel(in.shape).eval(values);
    EXPECT_TRUE(count.has_value() && in.dtype == DType::f32);
    out.push_back(bytes_of(noise(static_cast<size_t>(count.value_or(0)), out.size() + 7)));
  }
  return out;
}

// Bits of f32, all NaNs alike.
inline std::vector<uint32_t> float_bits(const Bytes& bytes) {
  std::vector<uint32_t> bits = values_of<uint32_t>(bytes);
  for (uint32_t& b : bits)
    if ((b & 0x7fffffff) > 0x7f800000) b = 0x7fc00000;
  return bits;
}

}  // namespace ost::test
