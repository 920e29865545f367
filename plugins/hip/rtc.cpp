#include "rtc.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "target.hpp"

namespace hip {
namespace {

using ost::plugin::cat;

// Of everything that runs AMD's compiler.
std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

void check_rtc(RtcError code, const char* call) {
  if (code != 0) throw ost::plugin::Failure(OST_INTERNAL, cat(call, " gives ", code), 0, code);
}

struct Program {
  Program(const Api& from, const std::string& source) : api(from) {
    check_rtc(api.hiprtcCreateProgram(&handle, source.c_str(), "kernel.hip", 0, nullptr, nullptr),
              "hiprtcCreateProgram");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { api.hiprtcDestroyProgram(&handle); }

  std::string log() const {
    size_t size = 0;
    check_rtc(api.hiprtcGetProgramLogSize(handle, &size), "hiprtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) check_rtc(api.hiprtcGetProgramLog(handle, text.data()), "hiprtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }
  std::string code() const {
    size_t size = 0;
    check_rtc(api.hiprtcGetCodeSize(handle, &size), "hiprtcGetCodeSize");
    std::string bytes(size, '\0');
    check_rtc(api.hiprtcGetCode(handle, bytes.data()), "hiprtcGetCode");
    return bytes;
  }

  const Api& api;
  RtcProgram handle = nullptr;
};

// "amdgcn-amd-amdhsa--gfx90a" is "gfx90a".
std::vector<std::string> names_of(const ComgrApi& comgr) {
  std::vector<std::string> out;
  size_t count = 0;
  if (comgr.amd_comgr_get_isa_count(&count) != 0) return out;
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    if (comgr.amd_comgr_get_isa_name(i, &name) != 0 || name == nullptr) continue;
    const std::string_view isa = name;
    out.emplace_back(isa.substr(std::min(isa.rfind("--"), isa.size() - 2) + 2));
  }
  return out;
}

// The library that hipRTC compiles with, by the names that it opens it by.
const std::vector<std::string>& opened_list(int version) {
  static std::vector<std::string> list;
  if (!list.empty()) return list;
  const std::vector<const char*> names =
      version < 60 ? std::vector{"libamd_comgr.so.2"}
                   : std::vector{"libamd_comgr.so.3", "libamd_comgr.so.2"};
  for (const char* name : names) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    ComgrApi comgr;
    if (comgr.find_in(library)) list = names_of(comgr);
    break;
  }
  return list;
}

}  // namespace

std::optional<std::vector<std::string>> Rtc::listed() const {
  if (!is_there() || !api_.comgr.is_there()) return std::nullopt;
  return names_of(api_.comgr);
}

bool Rtc::knows(std::string_view architecture) const {
  if (!is_there()) return false;
  auto list = listed();
  if (!list) {
    // By what is known of its version, before a library is opened for what cannot be.
    const Architecture* a = find_architecture(architecture);
    if (a == nullptr || a->hip == 0 || api_.version() < a->hip) return false;
    const std::scoped_lock lock(one_at_a_time());
    list = opened_list(api_.version());
    if (list->empty()) return true;
  }
  return std::ranges::find(*list, architecture) != list->end();
}

std::string Rtc::key() const {
  int major = 0, minor = 0, runtime = 0;
  check_rtc(api_.hiprtcVersion(&major, &minor), "hiprtcVersion");
  if (api_.hipRuntimeGetVersion != nullptr) api_.hipRuntimeGetVersion(&runtime);
  return cat("hiprtc-", major, ".", minor, "/", runtime);
}

std::string Rtc::build(const std::string& source, const std::string& target,
                       std::span<const std::string> flags, ost_sink_t log) const {
  const std::scoped_lock lock(one_at_a_time());
  const Program program(api_, source);
  const std::string arch = "--gpu-architecture=" + target;
  std::vector<const char*> options{arch.c_str()};
  for (const std::string& flag : flags) options.push_back(flag.c_str());
  const RtcError code =
      api_.hiprtcCompileProgram(program.handle, static_cast<int>(options.size()), options.data());
  const std::string said = program.log();
  ost::plugin::put(log, said);
  if (code != 0)
    throw ost::plugin::Failure(OST_COMPILE_FAILED,
                               cat("hipRTC gives ", code, " for ", target, ": ", said), 0, code);
  return program.code();
}

}  // namespace hip
