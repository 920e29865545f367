#include "ocloc.hpp"

#include <fstream>
#include <ostinato/plugin/process.hpp>

#include "native_binary.hpp"

namespace levelzero {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;

using ost::plugin::ProgramResult;
using ost::plugin::read_file;
using ost::plugin::run_program;
using ost::plugin::TemporaryFolder;

// Of divisions and square roots; what else strict numerics need is in the module.
constexpr const char* kOptions = "-cl-fp32-correctly-rounded-divide-sqrt";

}  // namespace

Ocloc::Ocloc(std::string_view setting) {
  if (setting == "off") {
    missing_ = "the option ocloc is off";
  } else if (setting.empty()) {
    path_ = ost::plugin::program_in_path("ocloc");
    if (path_.empty()) missing_ = "there is no ocloc in PATH";
  } else {
    path_ = setting;
    if (access(path_.c_str(), X_OK) == 0) return;
    missing_ = cat(path_, " cannot be run");
    path_.clear();
  }
}

std::string Ocloc::key() {
  const std::scoped_lock lock(mutex_);
  if (!key_.empty()) return key_;
  const TemporaryFolder folder("ocloc");
  const ProgramResult asked = run_program(path_, {"query", "OCL_DRIVER_VERSION"}, folder);
  std::string text = read_file(folder.file("OCL_DRIVER_VERSION"));
  while (!text.empty() && (text.back() <= ' ')) text.pop_back();
  if (text.empty()) fail(OST_UNAVAILABLE, path_, " does not say its version: ", asked.said);
  return key_ = cat(text, " ", kOptions);
}

std::string Ocloc::build(std::string_view device, std::string_view entry, std::string_view spirv,
                         ost_sink_t log) {
  const TemporaryFolder folder("ocloc");
  std::ofstream(folder.file("k.spv"), std::ios::binary) << spirv;
  const ProgramResult made =
      run_program(path_,
                  {"compile", "-file", "k.spv", "-spirv_input", "-device", std::string(device),
                   "-output", "k", "-output_no_suffix", "-options", kOptions},
                  folder);
  ost::plugin::put(log, made.said);
  if (!made.ok) fail(OST_COMPILE_FAILED, "ocloc for ", device, ": ", made.said);
  std::string binary;
  for (const char* name : {"k", "k.bin"})
    if (binary.empty()) binary = read_file(folder.file(name));
  const uint64_t code = instructions_of(binary, entry);
  if (code == 0)
    fail(OST_COMPILE_FAILED, "ocloc for ", device, " says that it succeeded, but its ",
         binary.size(), " bytes have no instructions of ", entry, ": ", made.said);
  return binary;
}

}  // namespace levelzero
