#include "oracle.hpp"

#include <fmt/ranges.h>

namespace ost::conform {
namespace {

std::vector<DType> param_types(const kir::Kernel& kernel) {
  std::vector<DType> out(kernel.param_count(), DType::f32);
  for (kir::Value v = 0; v < kernel.insts.size(); ++v) {
    if (kernel.op(v) == kir::Op::param) out[kernel.insts[v].imm] = kernel.dtype(v);
  }
  return out;
}

Check missing_types(Lab& lab, const kir::Kernel& kernel) {
  const uint32_t missing = dtypes_of(kernel) & ~lab.info().dtypes;
  if (missing == 0) return {};
  std::string names;
  for (const DType t : kAllDTypes) {
    if ((missing >> static_cast<uint32_t>(t)) & 1)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(t));
  }
  return unsupported("the device does not declare {}", names);
}

Check launch(Lab& lab, const Prepared& prepared, const kir::Kernel& kernel, const Launch& l) {
  OST_TRY_ASSIGN(const std::vector<Bytes> want, expected(kernel, l));
  std::vector<Guarded> memory;
  std::vector<ost_ref_t> refs;
  for (const Bytes& content : l.params) {
    OST_TRY_ASSIGN(Guarded g, lab.guarded(content));
    refs.push_back(g.ref());
    memory.push_back(std::move(g));
  }
  OST_TRY_ASSIGN(const ost_command_t command, lab.dispatch(prepared, refs, l.vars));
  OST_TRY(lab.run({&command, 1}));
  std::vector<Bytes> got;
  for (size_t slot = 0; slot < memory.size(); ++slot) {
    auto content = lab.read(memory[slot]);
    if (!content) return failed("parameter {}: {}", slot, content.error().message);
    got.push_back(std::move(*content));
  }
  if (const std::string text = difference(kernel, want, got); !text.empty())
    return failed("{}", text);
  return {};
}

}  // namespace

uint32_t dtypes_of(const kir::Kernel& kernel) {
  uint32_t out = 0;
  for (kir::Value v = 0; v < kernel.insts.size(); ++v) {
    const DType t = kernel.dtype(v);
    const bool memory = kernel.op(v) == kir::Op::param;
    if (memory || (t != DType::i64 && t != DType::boolean)) out |= 1u << static_cast<uint32_t>(t);
  }
  return out;
}

Result<std::vector<Bytes>> expected(const kir::Kernel& kernel, const Launch& launch) {
  std::vector<Bytes> content = launch.params;
  std::vector<kir::ParamData> params;
  for (Bytes& b : content) params.push_back({b.data(), b.size()});
  OST_TRY(kir::interpret(kernel, params, launch.vars));
  return content;
}

std::string difference(const kir::Kernel& kernel, std::span<const Bytes> want,
                       std::span<const Bytes> got) {
  const std::vector<DType> types = param_types(kernel);
  for (size_t slot = 0; slot < want.size(); ++slot) {
    const size_t count = want[slot].size() / size_of(types[slot]);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t found = element(types[slot], got[slot], i);
      const uint64_t wanted = element(types[slot], want[slot], i);
      if (found == wanted) continue;
      return fmt::format("parameter {} ({}), element {} of {} is {:#x}, wanted {:#x}", slot,
                         name_of(types[slot]), i, count, found, wanted);
    }
  }
  return {};
}

Check check(Lab& lab, const Trial& trial) {
  const auto with_kernel = [&](Check verdict) {
    if (!verdict) verdict.error().detail = kir::to_text(trial.kernel);
    return verdict;
  };
  if (auto ok = missing_types(lab, trial.kernel); !ok) return ok;
  OST_TRY(kir::prove_bounds(trial.kernel));  // a kernel that no host would send
  const auto prepared = lab.prepare(trial.kernel);
  if (!prepared) return with_kernel(std::unexpected(prepared.error()));
  for (const Launch& l : trial.launches) {
    auto ok = launch(lab, *prepared, trial.kernel, l);
    if (ok) continue;
    if (!l.vars.empty())
      ok.error().reason += fmt::format(" (variables: {})", fmt::join(l.vars, ", "));
    return with_kernel(std::move(ok));
  }
  return {};
}

}  // namespace ost::conform
