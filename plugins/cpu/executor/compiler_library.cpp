#include "compiler_library.hpp"

#include <dlfcn.h>

#include <ostinato/plugin/error.hpp>

#include "../abi/kernel.h"
#include "elf_section.hpp"

namespace ost_cpu {

using ost::plugin::fail;

namespace {

// The compiler's path: in the folder that this library was loaded from.
std::string library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_path), &info) == 0 ||
      info.dli_fname == nullptr) {
    fail(OST_UNAVAILABLE, "cannot find out where the cpu plugin was loaded from");
  }
  const std::string_view self = info.dli_fname;
  const size_t slash = self.rfind('/');
  const std::string_view folder =
      slash == self.npos ? std::string_view(".") : self.substr(0, slash);
  return ost::plugin::cat(folder, "/", OST_CPU_COMPILER_FILE);
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown error of the dynamic linker";
}

}  // namespace

const ost_cpu_compiler_t& CompilerLibrary::open() {
  const std::string path = library_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    fail(OST_UNAVAILABLE, "the cpu plugin can replay but not compile here: ", last_dl_error());
  }
  const auto entry = reinterpret_cast<ost_cpu_compiler_fn>(dlsym(library, OST_CPU_COMPILER_SYMBOL));
  if (entry == nullptr)
    fail(OST_INCOMPATIBLE, path, " is not a compiler of the cpu plugin: ", last_dl_error());
  const ost_cpu_compiler_t* compiler = entry();
  if (compiler == nullptr || compiler->abi != OST_CPU_COMPILER_ABI ||
      compiler->kernel_abi != OST_CPU_KERNEL_ABI) {
    fail(OST_INCOMPATIBLE, path, " belongs to another version of the cpu plugin");
  }
  return *compiler;
}

const ost_cpu_compiler_t& CompilerLibrary::get() {
  const std::scoped_lock lock(mutex_);
  if (compiler_ == nullptr) compiler_ = &open();
  return *compiler_;
}

std::string CompilerLibrary::key() {
  {
    const std::scoped_lock lock(mutex_);
    if (key_.empty() && compiler_ == nullptr)
      key_ = read_elf_section(library_path(), OST_CPU_COMPILER_KEY_SECTION);
    if (!key_.empty()) return key_;
  }
  return get().key;
}

}  // namespace ost_cpu
