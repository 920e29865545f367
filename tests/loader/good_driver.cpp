#include "good_driver.hpp"

#include <ostinato/plugin.hpp>

namespace ost::test {
namespace {

using namespace ost::plugin;

class Executable : public SyncExecutable {
 public:
  uint32_t entry(std::string_view) override { return 0; }
};

class Device : public SyncDevice {
 public:
  std::unique_ptr<SyncExecutable> load(std::span<const std::byte>, std::string_view) override {
    return std::make_unique<Executable>();
  }
  void dispatch(const Dispatch&) override {
    fail(OST_UNIMPLEMENTED, "this device only has memory");
  }
};

class Driver : public SyncDriver {
 public:
  explicit Driver(const Host&) {}
  void device_info(uint32_t, ost_device_info_t& info) override {
    info.kind = OST_DEVICE_KIND_ACCELERATOR;
    copy_text(info.name, "memory only");
    copy_text(info.target, "none");
    info.form_count = 1;
    info.forms[0] = OST_FORM_KIR_L1;
    info.min_align = 64;
  }
  std::unique_ptr<SyncDevice> open(uint32_t) override { return std::make_unique<Device>(); }
  std::string compiler_key(std::string_view) override { return "none"; }
  void compile(const ost_compile_t&) override {
    fail(OST_COMPILE_FAILED, "this device only has memory");
  }
  ost_fit_t image_check(const ost_device_info_t&, std::span<const std::byte>,
                        const ost_sink_t&) override {
    return OST_FIT_UNUSABLE;
  }
};

}  // namespace

const ost_driver_table_t& good_table() { return *sync_table<Driver>(); }

ost_status_t good_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out,
                            const char* name, uint32_t abi_min, uint32_t abi_max,
                            const ost_driver_table_t* table) {
  return negotiate(in, out, {name, "1.2.3", "Test", abi_min, abi_max}, table);
}

}  // namespace ost::test
