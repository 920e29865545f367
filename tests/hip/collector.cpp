// A driver that keeps the source of every kernel that it is to compile, as NAME.hip in the folder
// of the option `folder`, and runs nothing: the kernels of the conformance kit and of programs, for
// real compilers.
#include <fstream>
#include <ostinato/plugin.hpp>

namespace {

using namespace ost::plugin;

struct Executable : SyncExecutable {
  uint32_t entry(std::string_view) override { return 0; }
};
struct Device : SyncDevice {
  std::unique_ptr<SyncExecutable> load(std::span<const std::byte>, std::string_view) override {
    return std::make_unique<Executable>();
  }
  void dispatch(const Dispatch&) override {}
  uint32_t min_align() override { return 256; }
};

struct Driver : SyncDriver {
  explicit Driver(const Host& host) : folder(host.option("folder")) {}
  void device_info(uint32_t, ost_device_info_t& info) override {
    info.kind = OST_DEVICE_KIND_GPU;
    copy_text(info.name, "collector of kernels");
    copy_text(info.target, "collected");
    for (uint32_t t = OST_DTYPE_BOOL; t <= OST_DTYPE_F64; ++t) info.dtypes |= 1u << t;
    info.form_count = 1;
    info.forms[0] = OST_FORM_HIP_CPP;
    info.max_group = 1024;  // as every GPU of AMD's has it
    info.local_bytes = 65536;
    info.subgroup = 64;
    info.min_align = 256;
    info.max_alloc = uint64_t{1} << 34;
  }
  std::unique_ptr<SyncDevice> open(uint32_t) override { return std::make_unique<Device>(); }
  std::string compiler_key(std::string_view) override { return "collector/1"; }
  void compile(const ost_compile_t& job) override {
    const std::string path = cat(folder, "/", view(job.entry), ".hip");
    const std::string_view code(static_cast<const char*>(job.code.data), job.code.size);
    if (!(std::ofstream(path, std::ios::binary) << code)) fail(OST_IO_ERROR, path, ": not written");
    put(job.image, view(job.entry));
  }
  ost_fit_t image_check(const ost_device_info_t&, std::span<const std::byte>,
                        const ost_sink_t&) override {
    return OST_FIT_OPTIMAL;
  }
  std::string folder;
};

}  // namespace

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return negotiate(in, out, {"collector", "1.0", "Test"}, sync_table<Driver>());
}
