#include "clang.hpp"

#include <algorithm>
#include <cctype>
#include <ostinato/plugin/process.hpp>

namespace hip {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;

// What hipRTC declares by itself, of which printed kernels use the attributes, the coordinates and
// the barrier.
constexpr std::string_view kPrelude = R"(#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(lanes) __attribute__((amdgpu_flat_work_group_size(1, lanes)))
#define __forceinline__ inline __attribute__((always_inline))
namespace ost_hip {
#define OST_AXIS(name, a) struct name { \
  __attribute__((device, always_inline)) operator unsigned() const { return a; } };
#define OST_COORDINATES(name, ax, ay, az) struct name { \
  OST_AXIS(X, ax) OST_AXIS(Y, ay) OST_AXIS(Z, az) \
  X x; Y y; Z z; };
OST_COORDINATES(Thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                __builtin_amdgcn_workitem_id_z())
OST_COORDINATES(Block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                __builtin_amdgcn_workgroup_id_z())
OST_COORDINATES(BlockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                __builtin_amdgcn_workgroup_size_z())
OST_COORDINATES(GridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
}
static constexpr ost_hip::Thread threadIdx{};
static constexpr ost_hip::Block blockIdx{};
static constexpr ost_hip::BlockDim blockDim{};
static constexpr ost_hip::GridDim gridDim{};
static inline __attribute__((device, always_inline, convergent)) void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
)";

// Code objects of version 5 load on HIP 5 to 7; generic targets exist from version 6 on.
std::string_view object_version(std::string_view target) {
  return target.find("generic") == std::string_view::npos ? "5" : "6";
}

std::string newest_in_path(int oldest) {
  constexpr int kNewest = 40;
  for (int major = kNewest; major >= oldest; --major) {
    std::string found = ost::plugin::program_in_path(cat("clang-", major));
    if (!found.empty()) return found;
  }
  std::string plain = ost::plugin::program_in_path("clang");
  return plain;
}

// clang finds the linker beside itself or in PATH.
bool has_linker(const std::string& clang) {
  std::error_code ignored;
  const auto real = std::filesystem::canonical(clang, ignored);
  return access((real.parent_path() / "ld.lld").c_str(), X_OK) == 0 ||
         !ost::plugin::program_in_path("ld.lld").empty();
}

}  // namespace

Clang::Clang(std::string_view setting) {
  if (setting == "off") {
    missing_ = "the option clang is off";
    return;
  }
  path_ = setting.empty() ? newest_in_path(kOldest) : std::string(setting);
  const bool in_name = setting.empty() && path_.find("clang-") != std::string::npos;
  if (path_.empty()) {
    missing_ = cat("there is no clang-", kOldest, " or newer in PATH");
  } else if (access(path_.c_str(), X_OK) != 0) {
    missing_ = cat(path_, " cannot be run");
  } else if (!has_linker(path_)) {
    missing_ = cat(path_, " has no ld.lld (package lld)");
  } else if (in_name) {
    major_ = std::atoi(path_.c_str() + path_.rfind('-') + 1);
  } else {
    try {
      ask();
    } catch (const ost::plugin::Failure& why) {
      missing_ = why.what();
    }
    if (missing_.empty() && major_ < kOldest)
      missing_ = cat(path_, " is version ", version_, ", wanted ", kOldest, " or newer");
  }
  if (!missing_.empty()) path_.clear();
}

// "Debian clang version 22.1.8 (1~deb12u1)"
void Clang::ask() {
  const ost::plugin::TemporaryFolder folder("clang");
  const auto asked = ost::plugin::run_program(path_, {"--version"}, folder);
  constexpr std::string_view kBefore = "clang version ";
  const size_t at = asked.said.find(kBefore);
  if (at == std::string::npos)
    fail(OST_UNAVAILABLE, path_, " does not say its version: ", asked.said.substr(0, 200));
  const std::string rest = asked.said.substr(at + kBefore.size());
  version_ = rest.substr(0, rest.find_first_of(" \n"));
  major_ = std::atoi(version_.c_str());
}

std::string Clang::version() {
  const std::scoped_lock lock(mutex_);
  if (version_.empty()) ask();
  return version_;
}

std::string Clang::build(const std::string& source, const std::string& target,
                         std::span<const std::string> flags, ost_sink_t log) {
  const ost::plugin::TemporaryFolder folder("clang");
  std::ofstream(folder.file("prelude.h"), std::ios::binary) << kPrelude;
  std::ofstream(folder.file("kernel.hip"), std::ios::binary) << source;
  std::vector<std::string> arguments = {"-x",
                                        "hip",
                                        cat("--offload-arch=", target),
                                        "--offload-device-only",
                                        "--no-gpu-bundle-output",
                                        "-nogpulib",
                                        "-nogpuinc",
                                        "-fuse-cuid=none",
                                        cat("-mcode-object-version=", object_version(target)),
                                        "-include",
                                        "prelude.h"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"kernel.hip", "-o", "kernel.co"});
  const auto made = ost::plugin::run_program(path_, std::move(arguments), folder);
  ost::plugin::put(log, made.said);
  std::string code = ost::plugin::read_file(folder.file("kernel.co"));
  if (!made.ok || code.empty()) fail(OST_COMPILE_FAILED, path_, " for ", target, ": ", made.said);
  return code;
}

}  // namespace hip
