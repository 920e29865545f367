// Every device that can run here, and a program on one of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/runtime/instance.hpp"
#include "core/runtime/registry.hpp"

namespace ost::test {

using Bytes = std::vector<uint8_t>;

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

}  // namespace ost::test
