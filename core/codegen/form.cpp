#include "core/codegen/form.hpp"

#include "core/codegen/lower.hpp"
#include "core/codegen/print.hpp"

namespace ost::codegen {
namespace {

// What the lanes of a group need to share a reduction; a device with less gets one lane a group.
constexpr uint32_t kLocalBytes = 8192;

std::optional<Dialect> dialect_of(uint32_t form) {
  switch (form) {
    case OST_FORM_OPENCL_C:
      return Dialect::opencl_c;
    case OST_FORM_HIP_CPP:
      return Dialect::hip_cpp;
    case OST_FORM_CUDA_CPP:
      return Dialect::cuda_cpp;
    case OST_FORM_C99:
      return Dialect::c99;
    default:
      return std::nullopt;
  }
}

Result<Formed> lowered_form(const kir::Kernel& kernel, const ost_device_info_t& info,
                            std::string_view entry, uint32_t form) {
  const auto dialect = dialect_of(form);
  const bool has_lanes =
      dialect != Dialect::c99 && info.max_group > 1 && info.local_bytes >= kLocalBytes;
  Target target;
  target.max_lanes = has_lanes ? info.max_group : 1;
  target.local_bytes = info.local_bytes;
  OST_TRY_ASSIGN(const kir::Kernel lowered, lower(kernel, target));
  Formed out;
  out.form = form;
  out.launch = Launch{lowered.lanes, kir::LaunchGrid(lowered)};
  if (dialect) {
    OST_TRY_ASSIGN(const std::string text, print(lowered, *dialect, entry));
    out.code.assign(text.begin(), text.end());
  } else {
    out.code = kir::to_binary(lowered);
  }
  return out;
}

}  // namespace

Result<Formed> form_for(const kir::Kernel& kernel, const ost_device_info_t& info,
                        std::string_view entry) {
  std::string accepted;
  for (uint32_t i = 0; i < info.form_count && i < OST_MAX_FORMS; ++i) {
    const uint32_t form = info.forms[i];
    if (form == OST_FORM_KIR_L1) return Formed{form, kir::to_binary(kernel), std::nullopt};
    if (form == OST_FORM_KIR_L2 || dialect_of(form)) return lowered_form(kernel, info, entry, form);
    accepted += fmt::format("{}{} ({})", accepted.empty() ? "" : ", ", form_name(form), form);
  }
  return fail(OST_UNIMPLEMENTED,
              "the device accepts {}; this host makes kir-l1, kir-l2, opencl-c, hip-cpp, cuda-cpp "
              "and c99",
              accepted.empty() ? "no form of kernels" : accepted);
}

std::string_view form_name(uint32_t form) {
  switch (form) {
    case OST_FORM_KIR_L1:
      return "kir-l1";
    case OST_FORM_KIR_L2:
      return "kir-l2";
    case OST_FORM_OPENCL_C:
      return "opencl-c";
    case OST_FORM_HIP_CPP:
      return "hip-cpp";
    case OST_FORM_CUDA_CPP:
      return "cuda-cpp";
    case OST_FORM_C99:
      return "c99";
    default:
      return "unknown form";
  }
}

}  // namespace ost::codegen
