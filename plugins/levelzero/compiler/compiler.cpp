#include "compiler.hpp"

#include <algorithm>

#include "ocloc.hpp"
#include "spirv_library.hpp"

namespace levelzero {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;
using ost::plugin::view;

Target known(std::string_view key) {
  if (const auto target = find_target(key)) return *target;
  std::string list;
  for (const Target& t : all_targets()) list += cat(list.empty() ? "" : ", ", t.key);
  fail(OST_NOT_FOUND, "unknown target '", key, "', wanted one of ", list);
}

bool is_soft(std::string_view division) {
  if (division.empty() || division == "hardware") return false;
  if (division == "software") return true;
  fail(OST_INVALID_ARGUMENT, "the option division is '", division,
       "', wanted hardware or software");
}

void append(void* context, const void* data, uint64_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
}

}  // namespace

struct Compiler::State {
  explicit State(const ost::plugin::Host& host)
      : ocloc(host.option("ocloc")), soft_divide(is_soft(host.option("division"))) {}

  Target usable(std::string_view key) {
    const Target target = known(key);
    if (target.native && !ocloc.is_there())
      fail(OST_UNAVAILABLE, "target ", key, " needs Intel's ocloc: ", ocloc.missing());
    return target;
  }

  SpirvLibrary spirv;
  Ocloc ocloc;
  bool soft_divide;
};

Compiler::Compiler(const ost::plugin::Host& host) : state_(std::make_unique<State>(host)) {}
Compiler::~Compiler() = default;

std::vector<Target> Compiler::targets() const {
  std::vector<Target> out;
  std::ranges::copy_if(all_targets(), std::back_inserter(out),
                       [&](const Target& t) { return !t.native || state_->ocloc.is_there(); });
  return out;
}

std::string Compiler::key(std::string_view target) {
  const bool native = state_->usable(target).native;
  return cat(state_->spirv.key(), state_->soft_divide ? " division=software" : "",
             native ? " ocloc-" : "", native ? state_->ocloc.key() : "");
}

std::string Compiler::build(const ost_compile_t& job) {
  if (job.form != OST_FORM_KIR_L2)
    fail(OST_UNIMPLEMENTED, "form ", job.form, ", this driver compiles kir-l2");
  const Target target = state_->usable(view(job.target));
  std::string spirv;
  ost_levelzero_spirv_job_t request{};
  request.kernel = job.code;
  request.entry = job.entry;
  std::string options(view(job.options));
  if (state_->soft_divide) options += ";division=software";
  request.options = ost::plugin::str(options);
  request.fp64 = target.fp64;
  request.code = {&spirv, append};
  ost_error_t error{};
  error.size = sizeof error;
  if (state_->spirv.get().compile(&request, &error) != OST_OK) throw ost::plugin::Failure(error);
  ImageHead head;
  head.kind = target.native ? ImageKind::native : ImageKind::spirv;
  head.target = target.key;
  head.entry = view(job.entry);
  head.params = request.params;
  head.vars = request.vars;
  head.lanes = request.lanes;
  head.local_bytes = request.local_bytes;
  if (!target.native) return print_image(head, spirv);
  return print_image(head, state_->ocloc.build(target.key, head.entry, spirv, job.log));
}

ost_fit_t check_image(const ost_device_info_t& info, std::span<const std::byte> image,
                      ost_sink_t reason) {
  try {
    const Image parsed = parse_image(image);
    if (parsed.target != info.target) fail(OST_INCOMPATIBLE, "the image is for ", parsed.target);
    if (parsed.lanes > info.max_group)
      fail(OST_INCOMPATIBLE, "the kernel has groups of ", parsed.lanes, ", the device ",
           info.max_group);
    if (parsed.local_bytes > info.local_bytes)
      fail(OST_INCOMPATIBLE, "the kernel has ", parsed.local_bytes,
           " bytes of local memory, the device ", info.local_bytes);
    return OST_FIT_OPTIMAL;
  } catch (const ost::plugin::Failure& why) {
    ost::plugin::put(reason, why.what());
    return OST_FIT_UNUSABLE;
  }
}

}  // namespace levelzero
