// The driver: one device, this machine's processors; compilation goes to the compiler library.
#include <unistd.h>

#include <charconv>
#include <ostinato/plugin.hpp>

#include "compiler_library.hpp"
#include "device.hpp"
#include "isa.hpp"

namespace ost_cpu {

using ost::plugin::cat;
using ost::plugin::copy_text;
using ost::plugin::fail;
using ost::plugin::put;
using ost::plugin::view;

namespace {

constexpr unsigned kMostThreads = 1024;

// Option "threads", or as many as there are CPUs to use.
unsigned thread_count(std::string_view option, unsigned usable) {
  if (option.empty()) return std::min(usable, kMostThreads);
  unsigned count = 0;
  const auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), count);
  if (error != std::errc() || end != option.data() + option.size() || count < 1 ||
      count > kMostThreads) {
    fail(OST_INVALID_ARGUMENT, "option threads is '", option, "', wanted a number from 1 to ",
         kMostThreads);
  }
  return count;
}

uint64_t memory_of_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

class CpuDriver final : public ost::plugin::SyncDriver {
 public:
  explicit CpuDriver(const ost::plugin::Host& host)
      : host_(host), features_(restrict_features(host_features(), host.option("isa"))) {
    unsigned usable = 0;
    cpus_ = usable_cpus(&usable);
    threads_ = thread_count(host.option("threads"), usable);
  }

  void device_info(uint32_t, ost_device_info_t& info) override {
    info.kind = OST_DEVICE_KIND_CPU;
    info.flags = OST_DEVICE_UNIFIED;
    for (uint32_t dtype = OST_DTYPE_BOOL; dtype <= OST_DTYPE_F64; ++dtype)
      info.dtypes |= 1u << dtype;
    copy_text(info.name, processor_name());
    copy_text(info.target, to_key(features_));
    info.form_count = 1;
    info.forms[0] = OST_FORM_KIR_L1;
    info.max_group = 1;
    info.subgroup = 1;
    info.memory_bytes = memory_of_machine();
    info.max_alloc = info.memory_bytes;
    info.min_align = kAlign;
    info.threads = threads_;
  }

  std::unique_ptr<ost::plugin::SyncDevice> open(uint32_t) override {
    return std::make_unique<CpuDevice>(features_, threads_, cpus_, memory_of_machine());
  }

  std::string compiler_key(std::string_view) override { return compiler_.key(); }

  void compile(const ost_compile_t& job) override {
    if (job.form != OST_FORM_KIR_L1) {
      fail(OST_INVALID_ARGUMENT, "kernel has form ", job.form, ", the cpu takes ", OST_FORM_KIR_L1,
           " (kir-l1)");
    }
    if (!from_key(view(job.target))) {
      fail(OST_INCOMPATIBLE, "target '", view(job.target), "' is none of the cpu plugin; one is '",
           to_key(features_), "'");
    }
    const ost_host_table_t* host = host_.table();
    // Option "dump": a folder for the IR and the assembly of what is compiled (not of what a cache
    // has).
    std::string options(view(job.options));
    if (const auto folder = host_.option("dump"); !folder.empty()) options += cat(";dump=", folder);
    const ost_cpu_compile_t work{job.code,  job.entry, job.target,    ost::plugin::str(options),
                                 job.image, job.log,   host->context, host->should_abort};
    ost_error_t error{};
    error.size = sizeof error;
    if (compiler_.get().compile(&work, &error) != OST_OK) throw ost::plugin::Failure(error);
  }

  ost_fit_t image_check(const ost_device_info_t& info, std::span<const std::byte> image,
                        const ost_sink_t& reason) override {
    const std::string_view key(info.target, strnlen(info.target, sizeof info.target));
    const auto device = from_key(key);
    if (!device)
      return unusable(reason, cat("device target '", key, "' is not one of the cpu plugin"));
    try {
      const Image parsed = parse_image(image);
      if (parsed.target == *device) return OST_FIT_OPTIMAL;
      const std::string why = misfit(parsed.target, *device);
      if (!why.empty()) return unusable(reason, why);
      put(reason, cat("the image does not use ", feature_list(*device & ~parsed.target)));
      return OST_FIT_USABLE;
    } catch (const ost::plugin::Failure& failure) {
      return unusable(reason, failure.what());
    }
  }

 private:
  static ost_fit_t unusable(const ost_sink_t& reason, std::string_view why) {
    put(reason, why);
    return OST_FIT_UNUSABLE;
  }

  ost::plugin::Host host_;
  FeatureSet features_;
  std::vector<int> cpus_;
  unsigned threads_ = 1;
  CompilerLibrary compiler_;
};

}  // namespace
}  // namespace ost_cpu

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return ost::plugin::negotiate(in, out, {"cpu", OST_CPU_VERSION, "Ostinato"},
                                ost::plugin::sync_table<ost_cpu::CpuDriver>());
}
