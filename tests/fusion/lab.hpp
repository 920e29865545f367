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
#include "core/runtime/instance.hpp"
#include "core/runtime/registry.hpp"
#include "core/schedule/schedule.hpp"

namespace ost::test {

using Bytes = std::vector<uint8_t>;

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

struct Devices {
  std::shared_ptr<runtime::DeviceRegistry> registry;
  std::shared_ptr<runtime::Compiler> compiler;
  runtime::DevicePtr ref;
  std::vector<runtime::DevicePtr> all;  // ref first

  static Devices& get() {
    static Devices devices;
    return devices;
  }

 private:
  Devices() {
    runtime::RegistryOptions options;
    if (const char* build = std::getenv("OSTINATO_BUILD_DIR"))
      options.loader.folders = {std::string(build) + "/lib/ostinato-plugins"};
    registry = runtime::DeviceRegistry::create(options);
    compiler = std::make_shared<runtime::Compiler>(std::make_shared<runtime::CompileCache>(""));
    for (const auto& entry : registry->devices()) {
      if (!entry.available) continue;
      auto device = registry->get(entry.id);
      if (!device) {
        ADD_FAILURE() << entry.id << ": " << device.error().message;
        continue;
      }
      if (entry.driver == "ref") {
        ref = *device;
        all.insert(all.begin(), *device);
      } else {
        all.push_back(*device);
      }
    }
  }
};

// The bytes of each output; `inputs` by position.
inline Result<std::vector<Bytes>> run_on(const runtime::DevicePtr& device, const Program& program,
                                         const std::vector<Bytes>& inputs,
                                         const Bindings& values = {}) {
  const auto shared = std::make_shared<const Program>(program);
  std::vector<runtime::DevicePtr> devices(program.device_count, device);
  OST_TRY_ASSIGN(auto instance,
                 runtime::Instance::create(shared, devices, *Devices::get().compiler));
  std::vector<runtime::BufferRef> in, out(program.outputs.size());
  for (const Bytes& bytes : inputs) {
    OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(device, bytes.size()));
    if (!bytes.empty()) OST_TRY(buffer->write(0, bytes));
    in.push_back({std::move(buffer), 0, bytes.size()});
  }
  std::vector<int64_t> vars;
  for (const Var& v : program.vars) vars.push_back(values.at(v.name));
  for (uint32_t o = 0; o < out.size(); ++o) {
    if (!instance->output_is_written(o)) continue;
    const uint32_t first = program.buffers[program.outputs[o].buffer].slot;
    if (first < o) {
      out[o] = out[first];
      continue;
    }
    OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, vars));
    OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(device, bytes));
    out[o] = {std::move(buffer), 0, bytes};
  }
  OST_TRY(instance->run(in, out, vars));
  std::vector<Bytes> results;
  for (uint32_t o = 0; o < out.size(); ++o) {
    const runtime::BufferRef ref =
        instance->output_is_written(o) ? out[o] : instance->output_alias(o, in);
    results.emplace_back(ref.bytes);
    if (ref.bytes > 0) OST_TRY(ref.buffer->read(ref.offset, results.back()));
  }
  return results;
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
