// The C entry of the compiler library: checks a job, runs the steps, and turns everything thrown
// into a status.
#include "plugins/cpu/abi/compiler.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "plugins/cpu/abi/image.hpp"
#include "plugins/cpu/abi/kernel.h"
#include "plugins/cpu/abi/target.hpp"
#include "plugins/cpu/compiler/codegen.hpp"
#include "plugins/cpu/compiler/emit.hpp"
#include "plugins/cpu/compiler/kernel.hpp"
#include "plugins/cpu/compiler/link.hpp"
#include "plugins/cpu/compiler/merge_axes.hpp"

namespace ost_cpu {

namespace {

#define OST_CPU_LOWERING_VERSION "4"  // grows with every change that changes code

// In a section of its own, where the executor finds it without loading this library.
[[gnu::section(OST_CPU_COMPILER_KEY_SECTION), gnu::used]] constexpr char kCompilerKey[] =
    "llvm-" LLVM_VERSION_STRING "/" OST_CPU_LOWERING_VERSION;

std::string_view view(ost_str_t s) {
  return s.data ? std::string_view(s.data, s.size) : std::string_view();
}

[[noreturn]] void wrong(const std::string& what) {
  throw CompileError{OST_INVALID_ARGUMENT, "cpu: " + what};
}

struct Options {
  std::string dump;  // folder
};

Options parse_options(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    const std::string_view key = item.substr(0, item.find('='));
    if (key != "dump" || key.size() == item.size())
      wrong("unknown compile option \"" + std::string(item) + "\", wanted dump=DIR");
    options.dump = item.substr(key.size() + 1);
  }
  return options;
}

void check_entry(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool good = !name.empty() && letter(name[0]) &&
                    std::all_of(name.begin(), name.end(),
                                [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  if (!good || name.starts_with("fma_f"))
    wrong("\"" + std::string(name) + "\" is no name for a kernel");
}

kir::Kernel read_kernel(ost_bytes_t bytes) {
  kir::Kernel kernel;
  const std::string what = kir::parse(bytes, &kernel);
  if (!what.empty()) wrong("the kernel is damaged: " + what);
  if (!kir::Analysis(kernel).analysed())
    throw CompileError{OST_UNIMPLEMENTED, "cpu: a kernel with more than 64 axes"};
  return kernel;
}

void write_file(const std::string& path, const std::string& text) {
  std::FILE* f = std::fopen(path.c_str(), "wb");
  const bool ok = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
  if ((f && std::fclose(f) != 0) || !ok)
    throw CompileError{OST_IO_ERROR, "cpu: cannot write the dump file " + path};
}

std::string print(llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

// A mistake in the lowering must end as an error of this compile, not in LLVM's code generator.
void check(llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(module, &out))
    throw CompileError{OST_INTERNAL, "cpu: the lowering made invalid code: " + text};
}

void compile(const ost_cpu_compile_t& job) {
  const auto cancelled = [&] {
    if (job.should_abort && job.should_abort(job.abort_context))
      throw CompileError{OST_CANCELLED, "cpu: cancelled"};
  };
  const std::string entry(view(job.entry));
  check_entry(entry);
  const Options options = parse_options(view(job.options));
  const auto isa = from_key(view(job.target));
  if (!isa)
    throw CompileError{OST_INCOMPATIBLE, "cpu: unknown target \"" + std::string(view(job.target)) +
                                             "\", wanted x86_64 or x86_64:FEATURE,..."};
  const kir::Kernel kernel = merge_axes(read_kernel(job.kernel));

  llvm::LLVMContext context;
  llvm::Module module(entry, context);
  Codegen codegen(*isa);
  codegen.prepare(module);
  const std::string remarks =
      "cpu: " + entry + ": " + emit_kernel(module, kernel, entry, *isa) + "\n";
  if (job.log.write) job.log.write(job.log.context, remarks.data(), remarks.size());
  if (!options.dump.empty()) write_file(options.dump + "/" + entry + ".ll", print(module));
  check(module);
  cancelled();
  if (!options.dump.empty()) {
    const auto copy = llvm::CloneModule(module);
    write_file(options.dump + "/" + entry + ".s", codegen.assembly(*copy));
  }
  const std::string object = codegen.object(module);
  cancelled();
  const std::string note = "image=" + std::to_string(kImageVersion) +
                           "\nkernel_abi=" + std::to_string(OST_CPU_KERNEL_ABI) +
                           "\ntarget=" + to_key(*isa) + "\ncompiler=" + kCompilerKey + "\n";
  const std::string image = link_image(object, note);
  job.image.write(job.image.context, image.data(), image.size());
}

ost_status_t report(ost_error_t* error, ost_status_t status, std::string_view message) {
  if (error) {
    error->status = status;
    error->native_code = 0;
    error->flags = 0;
    error->rule = 0;
    const size_t n = std::min(message.size(), sizeof error->message - 1);
    std::memcpy(error->message, message.data(), n);
    error->message[n] = '\0';
  }
  return status;
}

ost_status_t compile_entry(const ost_cpu_compile_t* job, ost_error_t* error) {
  try {
    if (!job || !job->image.write) wrong("a compile job without a sink for the image");
    compile(*job);
    return OST_OK;
  } catch (const CompileError& e) {
    return report(error, e.status, e.message);
  } catch (const std::bad_alloc&) {
    return report(error, OST_OUT_OF_MEMORY, "cpu: out of memory while compiling");
  } catch (const std::exception& e) {
    return report(error, OST_INTERNAL, std::string("cpu: ") + e.what());
  }
}

}  // namespace

}  // namespace ost_cpu

extern "C" const ost_cpu_compiler_t* ost_cpu_compiler(void) {
  static const ost_cpu_compiler_t table{OST_CPU_COMPILER_ABI, OST_CPU_KERNEL_ABI,
                                        ost_cpu::kCompilerKey, ost_cpu::compile_entry};
  return &table;
}
