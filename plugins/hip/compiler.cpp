#include "compiler.hpp"

#include <algorithm>

#include "device.hpp"

namespace hip {
namespace {

using ost::plugin::cat;
using ost::plugin::view;

// strict: no contraction, and nothing that would flush denormals or approximate a division.
constexpr const char* kFlags[] = {"-O3", "-std=c++17", "-ffp-contract=off"};

std::string_view architecture_of(std::string_view target) {
  return target.substr(0, target.find(':'));
}

ost_device_info_t info_of(std::string_view name, uint32_t wave, uint32_t local_kib,
                          std::string_view compiler) {
  ost_device_info_t info = kernel_info();
  info.flags = OST_DEVICE_COMPILE_ONLY;
  ost::plugin::copy_text(info.name, cat("AMD ", name));
  ost::plugin::copy_text(info.target, name);
  ost::plugin::copy_text(
      info.reason, cat("it stands for an architecture, not for a GPU (compiler ", compiler, ")"));
  info.subgroup = wave;
  info.max_group = 1024;
  info.local_bytes = local_kib * 1024;
  return info;
}

}  // namespace

Compiler::Compiler(const Api& api, std::string_view clang, std::string_view sqrt)
    : rtc_(api), clang_(clang), flags_(std::begin(kFlags), std::end(kFlags)) {
  if (sqrt == "software" || sqrt == "hardware")
    flags_.push_back(cat("-DOST_SOFT_SQRT=", sqrt == "software" ? 1 : 0));
  else if (!sqrt.empty())
    fail(OST_INVALID_ARGUMENT, "option sqrt is '", sqrt, "', wanted software or hardware");
}

std::string Compiler::missing() const {
  if (rtc_.is_there() || clang_.is_there()) return "";
  return cat(rtc_.missing(), "; ", clang_.missing());
}

// By what the versions are known to have; the compiler itself is asked when it is used.
std::string Compiler::made_by(const Architecture& a) const {
  if (rtc_.is_there() && a.hip != 0 && rtc_.version() >= a.hip) return rtc_.key();
  if (clang_.is_there() && a.clang != 0 && clang_.major() >= a.clang)
    return cat("clang-", clang_.major());
  return "";
}

std::vector<ost_device_info_t> Compiler::targets() const {
  std::vector<ost_device_info_t> out;
  const auto listed = rtc_.listed().value_or(std::vector<std::string>());
  for (const std::string& name : listed) {
    const Architecture* a = find_architecture(name);
    out.push_back(
        info_of(name, a == nullptr ? 64 : a->wave, a == nullptr ? 64 : a->local_kib, rtc_.key()));
  }
  for (const Architecture& a : architectures()) {
    const std::string by = made_by(a);
    if (!by.empty() && std::ranges::find(listed, a.name) == listed.end())
      out.push_back(info_of(a.name, a.wave, a.local_kib, by));
  }
  return out;
}

Compiler::Maker Compiler::maker_for(std::string_view target) const {
  parse_target(target);
  const std::string_view name = architecture_of(target);
  if (rtc_.knows(name)) return Maker::rtc;
  const Architecture* a = find_architecture(name);
  if (clang_.is_there() && a != nullptr && a->clang != 0 && clang_.major() >= a->clang)
    return Maker::clang;
  fail(OST_UNAVAILABLE, "nothing here compiles for ", name, ": ",
       rtc_.is_there() ? cat(rtc_.key(), " does not have it") : rtc_.missing(), "; ",
       !clang_.is_there() ? clang_.missing()
       : a == nullptr     ? "nor does this driver know it for clang"
                          : cat("clang is ", clang_.major(), ", wanted ", a->clang));
}

std::string Compiler::key(std::string_view target) {
  std::string key = maker_for(target) == Maker::rtc ? rtc_.key() : cat("clang-", clang_.version());
  key += "/3";  // of what this driver adds: prelude and options
  for (const std::string& flag : flags_) key += " " + flag;
  return key;
}

std::string Compiler::build(const ost_compile_t& job) {
  if (job.form != OST_FORM_HIP_CPP)
    fail(OST_UNIMPLEMENTED, "form ", job.form, ", this driver compiles hip-cpp");
  if (job.options.size != 0)
    fail(OST_INVALID_ARGUMENT, "unknown options \"", view(job.options), "\"");
  if (job.entry.size == 0) fail(OST_INVALID_ARGUMENT, "the kernel has no name");
  const std::string source(static_cast<const char*>(job.code.data), job.code.size);
  Image image;
  image.target = view(job.target);
  image.entry = view(job.entry);
  read_signature(source, image);
  image.code = maker_for(image.target) == Maker::rtc
                   ? rtc_.build(source, image.target, flags_, job.log)
                   : clang_.build(source, image.target, flags_, job.log);
  return image_bytes(image);
}

}  // namespace hip
