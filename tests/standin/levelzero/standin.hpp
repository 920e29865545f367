// A Level Zero driver without a GPU: it is loaded by the real loader and runs SPIR-V on the OpenCL
// implementation of a CPU. It exists to execute the levelzero plugin, and is stricter than real
// drivers: README.md has its modes and its limits.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>

namespace standin {

// --- settings, from the environment, read at the first use
struct Settings {
  int devices;             // OST_ZE_DEVICES, 1
  bool guard;              // OST_ZE_GUARD: the host cannot touch device memory outside of commands
  bool reverse;            // OST_ZE_REVERSE: what nothing orders runs from last to first
  bool leaks;              // OST_ZE_LEAKS: exit code 86 if something is left at the end
  bool fp64;               // OST_ZE_NO_FP64=1 takes it away
  bool import;             // OST_ZE_IMPORT: host memory can be imported
  uint32_t group;          // OST_ZE_GROUP, 512
  uint64_t memory;         // OST_ZE_MEMORY, bytes, 2 GiB
  uint64_t max_alloc;      // OST_ZE_MAX_ALLOC, bytes, a quarter of the memory
  std::string translator;  // OST_ZE_TRANSLATOR, where OpenCL takes no SPIR-V itself
  std::string cache;       // OST_ZE_CACHE, the folder of its results, "" for none
  std::string fail;        // OST_ZE_FAIL, "zeMemAllocDevice:3:0x70000003": the third call fails
};
const Settings& settings();

// --- refusals

// Thrown inside of a call; it becomes the call's result, and stderr has the reason.
class Refusal : public std::exception {
 public:
  Refusal(ze_result_t code, std::string why) : code_(code), why_(std::move(why)) {}
  ze_result_t code() const { return code_; }
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  ze_result_t code_;
  std::string why_;
};
[[noreturn]] inline void refuse(ze_result_t code, std::string why) {
  throw Refusal(code, std::move(why));
}
void say(const char* call, const std::string& text);

// The result that OST_ZE_FAIL asks of this call, or success.
ze_result_t injected(const char* call);
// What a command or a call found that no program may do: from then on the device is lost.
void lose_device(const char* call, const std::string& why);
bool device_lost();

// Every function of a table is one of these: the name of the call and what it does.
template <class Body>
ze_result_t entry(const char* call, Body&& body) noexcept {
  try {
    if (const ze_result_t asked = injected(call); asked != ZE_RESULT_SUCCESS) return asked;
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return ZE_RESULT_SUCCESS;
    } else {
      return body();
    }
  } catch (const Refusal& refusal) {
    say(call, refusal.what());
    return refusal.code();
  } catch (const std::exception& e) {
    say(call, e.what());
    return ZE_RESULT_ERROR_UNKNOWN;
  }
}
// As entry, for calls that need a device that works.
template <class Body>
ze_result_t device_entry(const char* call, Body&& body) noexcept {
  return entry(call, [&] {
    if (device_lost()) return ZE_RESULT_ERROR_DEVICE_LOST;
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return ZE_RESULT_SUCCESS;
    } else {
      return body();
    }
  });
}

inline void need(const void* pointer, const char* what) {
  if (pointer == nullptr)
    refuse(ZE_RESULT_ERROR_INVALID_NULL_POINTER, std::string(what) + " is null");
}
// The loader's validation layer does not look at stype, real drivers go wrong on it.
template <class Desc>
void need_desc(const Desc* desc, ze_structure_type_t type) {
  need(desc, "the descriptor");
  if (desc->stype != type)
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           "stype is " + std::to_string(desc->stype) + ", wanted " + std::to_string(type));
}

// Arrays as this API returns them: with *count 0 only the number, else at most *count elements.
template <class T, class Each>
void put_array(uint32_t* count, uint32_t have, T* out, Each&& each) {
  need(count, "the count");
  if (*count == 0) {
    *count = have;
    return;
  }
  if (*count > have) *count = have;
  if (out == nullptr) return;
  for (uint32_t i = 0; i < *count; ++i) each(i, out[i]);
}

uint64_t now_ns();

}  // namespace standin
