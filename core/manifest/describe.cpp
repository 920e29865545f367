#include "core/manifest/describe.hpp"

#include <algorithm>
#include <map>

#include "core/base/sha256.hpp"
#include "core/kir/ops.hpp"
#include "core/schedule/kernel_sizes.hpp"
#include "core/schedule/verify_parts.hpp"

namespace ost::manifest {
namespace {

// The variables as the first launch of the kernel binds them: a kernel itself only knows slots.
std::vector<Var> vars_of(const Program& p, uint32_t kernel) {
  std::vector<Var> out;
  const auto step = std::ranges::find_if(
      p.steps, [&](const Step& s) { return s.kind == StepKind::launch && s.kernel == kernel; });
  if (step != p.steps.end())
    for (const uint32_t v : step->vars) out.push_back(p.vars[v]);
  return out;
}

std::string axes_text(const kir::Kernel& kernel, const std::vector<Var>& vars) {
  const auto axes = kernel_axes(kernel, vars);
  if (!axes) return "axes ?";
  std::vector<std::string> parts;
  for (const KernelAxis& a : *axes) {
    const std::string_view role = a.role == kir::Role::reduce  ? " reduce"
                                  : a.role == kir::Role::carry ? " carry"
                                                               : "";
    parts.push_back(fmt::format("{}{}", a.extent.str(), role));
  }
  return fmt::format("axes [{}]", fmt::join(parts, ", "));
}

// Most frequent first; what only declares is left out.
std::string ops_text(const kir::Kernel& kernel) {
  std::map<kir::Op, int> counts;
  for (kir::Value v = 0; v < kernel.insts.size(); ++v)
    if (kernel.op(v) >= kir::Op::load) ++counts[kernel.op(v)];
  std::vector<std::pair<kir::Op, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [op, n] : sorted) parts.push_back(fmt::format("{} {}", n, kir::info(op).name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string short_hash(std::string_view hex) { return std::string(hex.substr(0, 12)); }

std::string describe(DType dtype, const Shape& shape, uint32_t device) {
  return fmt::format("{} {} on device {}", name_of(dtype), to_string(shape), device);
}

std::string describe(const Literal& literal) {
  return fmt::format("{} [{}], {} bytes, sha256 {}", name_of(literal.dtype),
                     fmt::join(literal.shape, ", "), literal.bytes.size(),
                     short_hash(sha256_hex(literal.bytes)));
}

std::string buffer_label(const Program& p, uint32_t buffer) {
  const BufferDesc& b = p.buffers[buffer];
  switch (b.kind) {
    case BufferKind::input:
      return p.inputs[b.slot].name;
    case BufferKind::output:
      return p.outputs[b.slot].name;
    case BufferKind::constant:
      return p.constants[b.slot].name;
    case BufferKind::state:
      return p.states[b.slot].name;
    case BufferKind::temp:
      break;
  }
  return fmt::format("temp {}", buffer);
}

std::string step_label(const Program& p, uint32_t step, std::span<const std::string> kernel_names) {
  const Step& s = p.steps[step];
  std::vector<std::string> args, vars;
  for (const uint32_t a : s.args) args.push_back(buffer_label(p, a));
  for (const uint32_t v : s.vars) vars.push_back(p.vars[v].name);
  return fmt::format("{}({}{}{})", s.kind == StepKind::copy ? "copy" : kernel_names[s.kernel],
                     fmt::join(args, ", "), vars.empty() ? "" : "; ", fmt::join(vars, ", "));
}

std::string step_label(const Program& p, uint32_t step) {
  std::vector<std::string> names;
  for (const KernelDesc& k : p.kernels) names.push_back(k.name);
  return step_label(p, step, names);
}

std::string kernel_label(const Program& p, uint32_t kernel) {
  const kir::Kernel& k = p.kernels[kernel].kir;
  return fmt::format("{}; {} parameters; {}", axes_text(k, vars_of(p, kernel)), k.param_count(),
                     ops_text(k));
}

}  // namespace ost::manifest
