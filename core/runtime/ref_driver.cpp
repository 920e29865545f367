#include "core/runtime/ref_driver.hpp"

#include <ostinato/plugin.hpp>

#include "core/kir/kernel.hpp"

namespace ost::runtime {
namespace {

// Image: magic, length of the entry's name, the name, the KIR binary.
constexpr std::string_view kMagic = "OSTREF1\n";
constexpr std::string_view kTarget = "kir";
constexpr const char* kVersion = "1";

[[noreturn]] void raise(const Error& e) {
  throw plugin::Failure(e.status, e.message, e.rule, e.native_code);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

struct RefImage {
  std::string entry;
  kir::Kernel kernel;
};

kir::Kernel checked_kernel(std::span<const uint8_t> binary) {
  kir::Kernel kernel = value_of(kir::from_binary(binary));
  if (const auto ok = kir::verify(kernel); !ok) raise(ok.error());
  return kernel;
}

RefImage parse_image(std::span<const std::byte> image) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(image.data()), image.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) plugin::fail(OST_INCOMPATIBLE, "not an image of the ref driver");
  if (text.size() < kMagic.size() + 1) plugin::fail(OST_DATA_LOSS, "the image is cut off");
  const size_t length = bytes[kMagic.size()];
  const size_t start = kMagic.size() + 1;
  if (text.size() < start + length) plugin::fail(OST_DATA_LOSS, "the image is cut off");
  return {std::string(text.substr(start, length)), checked_kernel(bytes.subspan(start + length))};
}

class RefExecutable : public plugin::SyncExecutable {
 public:
  explicit RefExecutable(RefImage image) : image_(std::move(image)) {}
  uint32_t entry(std::string_view name) override {
    if (name == image_.entry) return 0;
    plugin::fail(OST_NOT_FOUND, "the image has no kernel ", name, ", it has ", image_.entry);
  }
  const kir::Kernel& kernel() const { return image_.kernel; }

 private:
  RefImage image_;
};

class RefDevice : public plugin::SyncDevice {
 public:
  std::unique_ptr<plugin::SyncExecutable> load(std::span<const std::byte> image,
                                               std::string_view) override {
    return std::make_unique<RefExecutable>(parse_image(image));
  }

  void dispatch(const plugin::Dispatch& d) override {
    const kir::Kernel& kernel = static_cast<RefExecutable*>(d.executable)->kernel();
    if (d.entry != 0) plugin::fail(OST_NOT_FOUND, "entry ", d.entry, " of an image with 1");
    if (d.buffers.size() != kernel.param_count() || d.vars.size() != kernel.var_count()) {
      plugin::fail(OST_INVALID_ARGUMENT, "dispatch with ", d.buffers.size(), " buffers and ",
                   d.vars.size(), " variables, the kernel has ", kernel.param_count(), " and ",
                   kernel.var_count());
    }
    std::vector<kir::ParamData> params;
    params.reserve(d.buffers.size());
    for (const plugin::Range& r : d.buffers) params.push_back({r.data, r.size});
    if (const auto ok = kir::interpret(kernel, params, d.vars); !ok) raise(ok.error());
  }
};

class RefDriver : public plugin::SyncDriver {
 public:
  explicit RefDriver(const plugin::Host&) {}

  void device_info(uint32_t, ost_device_info_t& info) override {
    info.kind = OST_DEVICE_KIND_REFERENCE;
    info.flags = OST_DEVICE_UNIFIED;
    for (const DType t : kAllDTypes) info.dtypes |= 1u << static_cast<uint32_t>(t);
    plugin::copy_text(info.name, "reference interpreter");
    plugin::copy_text(info.target, kTarget);
    info.form_count = 1;
    info.forms[0] = OST_FORM_KIR_L1;
    info.max_group = 1;
    info.subgroup = 1;
    info.max_alloc = UINT64_MAX / 4;
    info.min_align = 64;
    info.threads = 1;
  }

  std::unique_ptr<plugin::SyncDevice> open(uint32_t) override {
    return std::make_unique<RefDevice>();
  }

  std::string compiler_key(std::string_view target) override {
    check_target(target);
    return plugin::cat("kir-", OST_KIR_VERSION_MAJOR, ".", OST_KIR_VERSION_MINOR, "/", kVersion);
  }

  void compile(const ost_compile_t& job) override {
    if (job.form != OST_FORM_KIR_L1)
      plugin::fail(OST_UNIMPLEMENTED, "form ", job.form, ", this driver compiles kir-l1");
    check_target(plugin::view(job.target));
    if (job.options.size != 0)
      plugin::fail(OST_INVALID_ARGUMENT, "unknown options \"", plugin::view(job.options), "\"");
    const std::string_view entry = plugin::view(job.entry);
    if (entry.empty() || entry.size() > 255)
      plugin::fail(OST_INVALID_ARGUMENT, "the entry has ", entry.size(), " letters");
    checked_kernel({static_cast<const uint8_t*>(job.code.data), job.code.size});
    const char length = static_cast<char>(static_cast<unsigned char>(entry.size()));
    plugin::put(job.image, plugin::cat(kMagic, std::string_view(&length, 1), entry));
    plugin::put(job.image, {static_cast<const char*>(job.code.data), job.code.size});
  }

  ost_fit_t image_check(const ost_device_info_t&, std::span<const std::byte> image,
                        const ost_sink_t& reason) override {
    try {
      parse_image(image);
      return OST_FIT_OPTIMAL;
    } catch (const plugin::Failure& failure) {
      plugin::put(reason, failure.what());
      return OST_FIT_UNUSABLE;
    }
  }

 private:
  static void check_target(std::string_view target) {
    if (target != kTarget)
      plugin::fail(OST_INCOMPATIBLE, "unknown target \"", target, "\", wanted \"", kTarget, "\"");
  }
};

}  // namespace

ost_status_t ref_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return plugin::negotiate(in, out, {"ref", kVersion, "Ostinato"}, plugin::sync_table<RefDriver>());
}

}  // namespace ost::runtime
