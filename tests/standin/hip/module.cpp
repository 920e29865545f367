// Modules: the shared libraries that rtc.cpp makes. A launch runs group after group on the thread of
// its stream.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "standin.hpp"

namespace standin {
namespace {

struct Module {
  void* library = nullptr;
  ModuleState* state = nullptr;
  bool waits = false;  // a kernel of it has barriers
  std::mutex mutex;    // one launch at a time: coordinates and __shared__ are statics
  std::map<std::string, struct Function> functions;
  int file = -1;  // open as long as the library: dlopen knows libraries by their path
  ~Module() {
    if (library != nullptr) dlclose(library);
    if (file >= 0) close(file);
  }
};
struct Function {
  Module* module;
  const KernelInfo* info;
  std::string name;
};

// The size of an object file, from its own headers; 0 if it is none of this machine's.
size_t size_of_object(const char* image) {
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN) return 0;
#if defined(__x86_64__)
  if (head.e_machine != EM_X86_64) return 0;
#endif
  return head.e_shoff + size_t{head.e_shnum} * head.e_shentsize;
}

bool load(Module& module, const char* image) {
  const size_t size = size_of_object(image);
  if (size == 0) return false;
  module.file = memfd_create("standin-module", MFD_CLOEXEC);
  if (module.file < 0) return false;
  if (write(module.file, image, size) == static_cast<ssize_t>(size)) {
    const std::string path = "/proc/self/fd/" + std::to_string(module.file);
    module.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (module.library == nullptr) return false;
  module.state = static_cast<ModuleState*>(dlsym(module.library, "standin_module"));
  module.waits = dlsym(module.library, "standin_wait") != nullptr;
  if (module.state == nullptr) return false;
  module.state->barrier = wait;
  return true;
}

// --- launches

struct Launch {
  Function function;
  Dim grid, block;
  std::vector<char> values;      // 16 bytes for each argument
  std::vector<void*> arguments;  // into values
  std::vector<void*> pointers;   // those that are pointers
};

void run_group(const Launch& launch, Dim group) {
  ModuleState& state = *launch.function.module->state;
  std::memset(state.shared_begin, 0xff, state.shared_end - state.shared_begin);
  state.block = group;
  const Dim b = launch.block;
  const unsigned lanes = b.x * b.y * b.z;
  const auto before = [&](unsigned i) { state.thread = {i % b.x, i / b.x % b.y, i / b.x / b.y}; };
  const auto lane = [&] { launch.function.info->call(launch.arguments.data()); };
  const bool reverse = settings().reverse;
  if (launch.function.module->waits) {
    const std::string wrong = run_lanes(lanes, reverse, before, lane);
    if (!wrong.empty()) fault(kLaunchFailure, launch.function.name + ": " + wrong);
    return;
  }
  for (unsigned n = 0; n < lanes; ++n) {
    before(reverse ? lanes - 1 - n : n);
    lane();
  }
}

void run(const Launch& launch) {
  const std::scoped_lock lock(launch.function.module->mutex);
  ModuleState& state = *launch.function.module->state;
  state.grid_dim = launch.grid;
  state.block_dim = launch.block;
  const uint64_t groups = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (uint64_t n = 0; n < groups && sticky() == kSuccess; ++n) {
    const uint64_t i = settings().reverse ? groups - 1 - n : n;
    run_group(launch, {static_cast<unsigned>(i % launch.grid.x),
                       static_cast<unsigned>(i / launch.grid.x % launch.grid.y),
                       static_cast<unsigned>(i / launch.grid.x / launch.grid.y)});
  }
  for (void* pointer : launch.pointers)
    if (!zones_intact(pointer))
      fault(kIllegalAddress,
            launch.function.name + ": a write outside of the memory of an argument");
}

Error check(const Function& function, Dim grid, Dim block, unsigned dynamic_shared) {
  const uint64_t lanes = uint64_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || lanes == 0) return kInvalidValue;
  if (grid.x > 0x7fffffff || grid.y > 0xffff || grid.z > 0xffff) return kInvalidValue;
  if (uint64_t{grid.x} * block.x > 0xffffffff) return kInvalidValue;
  if (lanes > kMaxLanes) return kInvalidValue;
  if (function.info->max_lanes != 0 && lanes > function.info->max_lanes) return kLaunchFailure;
  const ModuleState& state = *function.module->state;
  if (dynamic_shared != 0 || state.shared_end - state.shared_begin > ptrdiff_t{kMaxShared})
    return kLaunchOutOfResources;
  return kSuccess;
}

}  // namespace
}  // namespace standin

using namespace standin;

STANDIN_API int hipModuleLoadData(void** out, const void* image) {
  if (const Error e = entered("hipModuleLoadData")) return e;
  auto module = std::make_unique<Module>();
  if (!load(*module, static_cast<const char*>(image))) return kInvalidImage;
  *out = module.release();
  return kSuccess;
}
STANDIN_API int hipModuleUnload(void* module) {
  drain_all();
  delete static_cast<Module*>(module);
  return kSuccess;
}
STANDIN_API int hipModuleGetFunction(void** out, void* handle, const char* name) {
  if (const Error e = entered("hipModuleGetFunction")) return e;
  auto* module = static_cast<Module*>(handle);
  const std::string symbol = std::string("standin_kernel_") + name;
  const auto* info = static_cast<const KernelInfo*>(dlsym(module->library, symbol.c_str()));
  if (info == nullptr) return kNotFound;
  *out = &module->functions.insert_or_assign(name, Function{module, info, name}).first->second;
  return kSuccess;
}

namespace standin {

Error make_launch(Node& out, void* handle, Dim grid, Dim block, void** params) {
  const Function& function = *static_cast<Function*>(handle);
  Launch launch{function, grid, block, {}, {}, {}};
  if (const Error e = check(function, launch.grid, launch.block, 0)) return e;
  const KernelInfo& info = *function.info;
  if (info.arguments > 0 && params == nullptr) return kInvalidValue;
  const auto shared = std::make_shared<Launch>(std::move(launch));
  shared->values.resize(16 * info.arguments);
  for (unsigned i = 0; i < info.arguments; ++i) {
    void* value = &shared->values[16 * i];
    std::memcpy(value, params[i], info.kinds[i] == 'p' ? sizeof(void*) : info.kinds[i]);
    shared->arguments.push_back(value);
    if (info.kinds[i] != 'p') continue;
    void* pointer;
    std::memcpy(&pointer, value, sizeof pointer);
    if (!reaches(out.device, pointer)) return kInvalidValue;
    shared->pointers.push_back(pointer);
  }
  out.type = Node::kKernel;
  out.function = handle;
  out.block = block;
  out.task = [shared] { run(*shared); };
  return kSuccess;
}

}  // namespace standin

STANDIN_API int hipModuleLaunchKernel(void* handle, unsigned gx, unsigned gy, unsigned gz,
                                      unsigned bx, unsigned by, unsigned bz,
                                      unsigned dynamic_shared, void* stream, void** params,
                                      void** extra) {
  if (const Error e = entered("hipModuleLaunchKernel")) return e;
  if (dynamic_shared != 0) return kLaunchOutOfResources;
  if (extra != nullptr) return kInvalidValue;
  Node node{.type = Node::kKernel};
  node.device = device_of(stream);
  if (const Error e = make_launch(node, handle, {gx, gy, gz}, {bx, by, bz}, params)) return e;
  return give(stream, std::move(node));
}
