// The C entry of the library: a job to SPIR-V, and everything thrown or returned to a status.
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <ostinato/llvm/spirv.hpp>
#include <ostinato/plugin/error.hpp>

#include "../abi/spirv.h"

namespace levelzero {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;
using ost::plugin::view;

#define OST_LEVELZERO_LOWERING_VERSION "2"  // grows with every change that changes code

// In a section of its own, where the plugin finds it without loading this library.
[[gnu::section(OST_LEVELZERO_SPIRV_KEY_SECTION), gnu::used]] constexpr char kKey[] =
    "llvm-" LLVM_VERSION_STRING "/" OST_LEVELZERO_LOWERING_VERSION;

struct Options {
  std::string dump;  // folder
  bool soft_divide = false;
};

Options parse_options(std::string_view text) {
  Options options;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (item.empty()) continue;
    if (item.starts_with("dump="))
      options.dump = item.substr(5);
    else if (item == "division=software")
      options.soft_divide = true;
    else
      fail(OST_INVALID_ARGUMENT, "unknown compile option \"", item,
           "\", wanted dump=DIR or division=software");
  }
  return options;
}

[[noreturn]] void fail_with(llvm::Error error) {
  ost_status_t status = OST_INTERNAL;
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& e) {
    text += e.message();
    const std::error_code code = e.convertToErrorCode();
    if (code == std::errc::invalid_argument) status = OST_INVALID_ARGUMENT;
    if (code == std::errc::not_supported) status = OST_COMPILE_FAILED;
  });
  fail(status, text);
}
template <class T>
T value_of(llvm::Expected<T> expected) {
  if (!expected) fail_with(expected.takeError());
  return std::move(*expected);
}

void dump(const llvm::Module& module, const std::string& folder, std::string_view entry) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  const std::string path = cat(folder, "/", entry, ".ll");
  if (!(std::ofstream(path) << text)) fail(OST_IO_ERROR, "cannot write the dump file ", path);
}

void compile(ost_levelzero_spirv_job_t& job) {
  const Options options = parse_options(view(job.options));
  ostinato::kir::LlvmOptions lowering;
  lowering.fp64 = job.fp64 != 0;
  lowering.soft_divide = options.soft_divide;
  llvm::LLVMContext context;
  const ostinato::kir::SpirvTarget target;
  const std::string_view entry = view(job.entry);
  auto kernel = value_of(
      ostinato::kir::lower_to_llvm(job.kernel, llvm::StringRef(entry), target, lowering, context));
  if (!options.dump.empty()) dump(*kernel.module, options.dump, entry);
  const std::string code = value_of(target.emit(*kernel.module));
  const std::string bad = ostinato::kir::check_spirv(code, lowering.fp64);
  if (!bad.empty()) fail(OST_INTERNAL, "the code generator made SPIR-V with ", bad);
  job.params = kernel.params;
  job.vars = kernel.vars;
  job.lanes = kernel.lanes;
  job.local_bytes = kernel.local_bytes;
  ost::plugin::put(job.code, code);
}

ost_status_t compile_entry(ost_levelzero_spirv_job_t* job, ost_error_t* error) {
  return ost::plugin::fence(error, [&] { compile(*job); });
}

}  // namespace
}  // namespace levelzero

extern "C" const ost_levelzero_spirv_t* ost_levelzero_spirv(void) {
  static const ost_levelzero_spirv_t table{OST_LEVELZERO_SPIRV_ABI, 0, levelzero::kKey,
                                           levelzero::compile_entry};
  return &table;
}
