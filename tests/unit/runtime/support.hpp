// What the tests of the runtime share: a registry that sees no plugins of the machine, and programs
// run on it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/runtime/compiler.hpp"
#include "core/runtime/registry.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::test {

// Only `ref`, whatever is installed or set.
inline std::shared_ptr<runtime::DeviceRegistry> ref_only(const std::string& cache_folder = "") {
  runtime::RegistryOptions options;
  options.loader.search = false;
  options.loader.environment = false;
  options.cache = std::make_shared<runtime::CompileCache>(cache_folder);
  return runtime::DeviceRegistry::create(options);
}

inline runtime::DevicePtr ref_device() {
  auto device = ref_only()->get("ref:0");
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return device ? *device : nullptr;
}

inline std::vector<uint8_t> bytes_of_floats(const std::vector<float>& values) {
  std::vector<uint8_t> out(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

inline std::vector<float> floats_of_bytes(const std::vector<uint8_t>& bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

inline runtime::BufferRef on_device(const runtime::DevicePtr& device,
                                    const std::vector<uint8_t>& data) {
  auto buffer = runtime::Buffer::allocate(device, data.size());
  EXPECT_TRUE(buffer.has_value()) << (buffer ? "" : buffer.error().message);
  if (!buffer) return {};
  EXPECT_TRUE((*buffer)->write(0, data).has_value());
  return {*buffer, 0, data.size()};
}

inline std::vector<uint8_t> from_device(const runtime::BufferRef& ref) {
  std::vector<uint8_t> out(ref.bytes);
  EXPECT_TRUE(ref.buffer->read(ref.offset, out).has_value());
  return out;
}

// Sets a variable of the environment for one scope.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value) : name_(name) {
    const char* old = ::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedEnv() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

}  // namespace ost::test
