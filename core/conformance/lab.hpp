// The device under test, opened through the host's own loader, and what the checks share: buffers
// between guards, kernels compiled in the form that the runtime would choose, submits with a limit.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "core/kir/kernel.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/call.hpp"
#include "core/runtime/recipe.hpp"
#include "core/runtime/registry.hpp"

namespace ost::conform {

struct Subject {
  std::string what;    // a plugin's library or discovery file, or a device id
  uint32_t index = 0;  // of the device, for a file
  uint64_t seed = 0;
  uint64_t limit_ns = 30'000'000'000;
  runtime::DriverOptions options;
  bool with_others = false;  // load the other plugins of this machine too (level 5)
};

using runtime::BufferPtr;
using Bytes = std::vector<uint8_t>;

// A kernel that is ready to be dispatched.
struct Prepared {
  runtime::Recipe recipe;
  runtime::ExecutablePtr executable;
};

// Device memory with poison before and behind it.
struct Guarded {
  BufferPtr buffer;
  uint64_t pad = 0;
  uint64_t bytes = 0;
  ost_ref_t ref() const { return {buffer->handle(), pad, bytes, 0, 0}; }
};

// A dispatch as a command list wants it. The list's variables may be more than the caller's: a
// launch grid that depends on them is computed by the host and given as further ones.
struct Recorded {
  std::vector<ost_ref_t> refs;
  std::vector<uint32_t> var_map;
  ost_command_t command{};
  std::optional<codegen::Launch> launch;
  // The variables of the CMDLIST command for these values of the caller's.
  std::vector<int64_t> vars_of(std::vector<int64_t> values) const;
};

class Lab {
 public:
  // Fails if there is nothing to test: no such file or device, or a plugin that does not load. A
  // device that does not open is a finding of level 0: device_ptr() is null, why_no_device() says
  // why.
  static Result<std::unique_ptr<Lab>> open(const Subject& subject);

  runtime::DeviceRegistry& registry() { return *registry_; }
  const runtime::DriverPtr& driver() const { return driver_; }
  const runtime::DevicePtr& device_ptr() const { return device_; }
  runtime::Device& device() const { return *device_; }
  const ost_driver_table_t& table() const { return driver_->table(); }
  const ost_device_info_t& info() const { return driver_->devices()[index_]; }
  uint32_t index() const { return index_; }
  std::string device_id() const;
  const std::string& why_no_device() const { return why_no_device_; }
  uint64_t seed() const { return seed_; }
  // Numbers for one check, the same whatever ran before it.
  std::mt19937_64 random(std::string_view check) const;

  // Calls an entry of the driver's table: entry(error) returns its status.
  template <typename Entry>
  Result<> call(const char* name, Entry&& entry) const {
    return runtime::call(driver_->name(), name, std::forward<Entry>(entry));
  }

  Result<BufferPtr> buffer(std::span<const uint8_t> content) const;
  Result<Bytes> read(const BufferPtr& buffer) const;
  Result<Guarded> guarded(std::span<const uint8_t> content) const;
  // The content; an error if a guard was touched.
  Result<Bytes> read(const Guarded& memory) const;

  // y = x + x, five elements: for what is said about compiling and not about a kernel.
  static Result<kir::Kernel> small_kernel();
  // How long to wait for work that should end.
  uint64_t limit_ns() const { return limit_ns_; }

  // The only way of the kit from a kernel to an executable and to a dispatch: what the runtime
  // itself does for this device. `unsupported` where the driver says OST_UNIMPLEMENTED.
  std::expected<Prepared, Outcome> prepare(const kir::Kernel& kernel) const;
  Result<ost_command_t> dispatch(const Prepared& kernel, std::span<const ost_ref_t> refs,
                                 std::span<const int64_t> vars) const;
  // The same for a command list: refs may name slots, var_map says which variable of the list each
  // of the kernel's is, of `var_count`.
  Result<Recorded> record(const Prepared& kernel, std::span<const ost_ref_t> refs,
                          std::span<const uint32_t> var_map, uint32_t var_count) const;
  // Submits to a queue of its own and waits.
  Result<> run(std::span<const ost_command_t> commands) const;

 private:
  Lab() = default;
  Result<> find(const Subject& subject);

  std::shared_ptr<runtime::DeviceRegistry> registry_;
  runtime::DriverPtr driver_;
  runtime::DevicePtr device_;
  std::string why_no_device_;
  uint32_t index_ = 0;
  uint64_t seed_ = 0;
  uint64_t limit_ns_ = 0;
};

inline constexpr uint8_t kPoison = 0xa5;

}  // namespace ost::conform
