// A synchronous driver as a stranger would write it with plugin.hpp. Its kernels record what they
// were given, and misbehave on request.
#pragma once

#include <ostinato/plugin.hpp>

#include <stdexcept>

namespace ost_test {

namespace sdk = ost::plugin;

enum Entry : uint32_t {
  kAdd = 0,
  kGrid = 1,
  kThrowInt = 2,
  kThrowStd = 3,
  kLose = 4,
  kNoMemory = 5
};

class FakeExecutable final : public sdk::SyncExecutable {
 public:
  uint32_t entry(std::string_view name) override {
    if (name == "add") return kAdd;
    sdk::fail(OST_NOT_FOUND, "no kernel ", name);
  }
};

class FakeDevice final : public sdk::SyncDevice {
 public:
  std::unique_ptr<sdk::SyncExecutable> load(std::span<const std::byte>, std::string_view) override {
    return std::make_unique<FakeExecutable>();
  }
  void dispatch(const sdk::Dispatch& d) override {
    auto* out = d.buffers.empty() ? nullptr : reinterpret_cast<int64_t*>(d.buffers[0].data);
    switch (d.entry) {
      case kAdd:
        *out = *out * 10 + d.vars[0];
        return;
      case kGrid:
        for (int i = 0; i < 3; ++i) out[i] = static_cast<int64_t>(d.grid[i]);
        return;
      case kThrowInt:
        throw 7;
      case kThrowStd:
        throw std::runtime_error("told so");
      case kLose:
        throw sdk::Failure(OST_DEVICE_LOST, "fell off the bus", 0, -5);
      case kNoMemory:
        throw std::bad_alloc();
      default:
        sdk::fail(OST_INVALID_ARGUMENT, "entry ", d.entry);
    }
  }
};

class FakeDriver final : public sdk::SyncDriver {
 public:
  explicit FakeDriver(const sdk::Host& host) {
    if (host.option("broken") == "yes") throw std::runtime_error("the option says so");
  }
  void device_info(uint32_t, ost_device_info_t& info) override {
    sdk::copy_text(info.name, "fake");
  }
  std::unique_ptr<sdk::SyncDevice> open(uint32_t) override {
    return std::make_unique<FakeDevice>();
  }
  std::string compiler_key(std::string_view target) override { return sdk::cat("fake/", target); }
  void compile(const ost_compile_t& job) override { sdk::put(job.image, "image"); }
  ost_fit_t image_check(const ost_device_info_t&, std::span<const std::byte> image,
                        const ost_sink_t& reason) override {
    if (image.size() == 5) return OST_FIT_OPTIMAL;
    sdk::put(reason, "not 5 bytes");
    return OST_FIT_UNUSABLE;
  }
};

}  // namespace ost_test
