// Each step by itself: what it launches or copies, with which buffers, after which steps.
#include <algorithm>
#include <map>

#include "core/schedule/kernel_sizes.hpp"
#include "core/schedule/verify_parts.hpp"

namespace ost::verify_parts {
namespace {

bool is_writable(const Program& p, const BufferDesc& b) {
  switch (b.kind) {
    case BufferKind::output:
    case BufferKind::state:
    case BufferKind::temp:
      return true;
    case BufferKind::input:
      return p.inputs[b.slot].written;
    case BufferKind::constant:
      return false;
  }
  return false;
}

class Steps {
 public:
  Steps(const Program& program, std::vector<Access>& accesses) : p_(program), accesses_(accesses) {}

  Result<> check(uint32_t index) {
    const Step& s = p_.steps[index];
    pointer_ = fmt::format("/steps/{}", index);
    if (s.device >= p_.device_count)
      return bad(pointer_ + "/device", "device {}, there are {}", s.device, p_.device_count);
    for (std::size_t a = 0; a < s.args.size(); ++a)
      if (s.args[a] >= p_.buffers.size())
        return bad(arg(a), "buffer {}, there are {}", s.args[a], p_.buffers.size());
    OST_TRY(edges(s, index));
    const std::size_t first = accesses_.size();
    if (s.kind == StepKind::launch)
      OST_TRY(launch(s, index));
    else if (s.kind == StepKind::copy)
      OST_TRY(copy(s, index));
    else
      return bad(pointer_ + "/op", "kind {} does not exist", static_cast<int>(s.kind));
    return rights(first);
  }

 private:
  std::string arg(std::size_t a) const { return fmt::format("{}/args/{}", pointer_, a); }

  Result<> edges(const Step& s, uint32_t index) const {
    uint32_t level = 0;
    for (std::size_t i = 0; i < s.after.size(); ++i) {
      const std::string at = fmt::format("{}/after/{}", pointer_, i);
      if (s.after[i] >= index)
        return bad(at, "step {} is not earlier: edges point backwards", s.after[i]);
      if (i > 0 && s.after[i - 1] >= s.after[i])
        return bad(at, "step {} does not come after {}: edges are sorted and unique", s.after[i],
                   s.after[i - 1]);
      level = std::max(level, p_.steps[s.after[i]].level + 1);
    }
    if (s.level != level)
      return bad(pointer_ + "/level", "level {}, its edges give {}", s.level, level);
    return {};
  }

  Result<> launch(const Step& s, uint32_t index) {
    if (s.kernel >= p_.kernels.size())
      return bad(pointer_ + "/kernel", "kernel {}, there are {}", s.kernel, p_.kernels.size());
    const KernelDesc& kernel = p_.kernels[s.kernel];
    if (s.vars.size() != kernel.kir.var_count())
      return bad(pointer_ + "/vars", "{} variables, kernel '{}' has {}", s.vars.size(), kernel.name,
                 kernel.kir.var_count());
    for (std::size_t v = 0; v < s.vars.size(); ++v)
      if (s.vars[v] >= p_.vars.size())
        return bad(fmt::format("{}/vars/{}", pointer_, v), "variable {}, there are {}", s.vars[v],
                   p_.vars.size());
    OST_TRY_ASSIGN(const auto* params, params_of(s));
    if (s.args.size() != params->size())
      return bad(pointer_ + "/args", "{} buffers, kernel '{}' has {} parameters", s.args.size(),
                 kernel.name, params->size());
    for (uint32_t a = 0; a < s.args.size(); ++a) {
      const BufferDesc& b = p_.buffers[s.args[a]];
      const KernelParam& param = (*params)[a];
      if (b.dtype != param.dtype)
        return bad(arg(a), "buffer {} is {}, parameter {} of '{}' is {}", s.args[a],
                   ost::name_of(b.dtype), a, kernel.name, ost::name_of(param.dtype));
      if (b.device != s.device)
        return bad(arg(a), "buffer {} is on device {}, the step on {}", s.args[a], b.device,
                   s.device);
      if (!provably_le(param.count, b.elements))
        return bad(arg(a),
                   "buffer {} has {} elements, parameter {} of '{}' needs {}: not enough for all "
                   "variable values",
                   s.args[a], b.elements.str(), a, kernel.name, param.count.str());
      accesses_.push_back({index, s.args[a], a, (param.access & OST_KIR_READ) != 0,
                           (param.access & OST_KIR_WRITE) != 0});
    }
    return {};
  }

  Result<> copy(const Step& s, uint32_t index) {
    if (s.kernel != kNoIndex || !s.vars.empty())
      return bad(pointer_, "a copy has neither kernel nor variables");
    if (s.args.size() != 2)
      return bad(pointer_ + "/args", "{} buffers, a copy has destination and source",
                 s.args.size());
    const BufferDesc& to = p_.buffers[s.args[0]];
    const BufferDesc& from = p_.buffers[s.args[1]];
    if (to.dtype != from.dtype)
      return bad(arg(1), "buffer {} is {}, the destination {}", s.args[1], ost::name_of(from.dtype),
                 ost::name_of(to.dtype));
    if (!equal_for_all(to.elements, from.elements))
      return bad(arg(1), "buffer {} has {} elements, the destination {}", s.args[1],
                 from.elements.str(), to.elements.str());
    if (to.device != s.device)
      return bad(pointer_ + "/device", "device {}, the destination is on {}", s.device, to.device);
    accesses_.push_back({index, s.args[0], 0, false, true});
    accesses_.push_back({index, s.args[1], 1, true, false});
    return {};
  }

  // Writes go to what may be written; bytes that one argument writes belong to no other argument of
  // the step, because kernels are compiled on that assumption.
  Result<> rights(std::size_t first) const {
    for (std::size_t i = first; i < accesses_.size(); ++i) {
      const Access& x = accesses_[i];
      const BufferDesc& b = p_.buffers[x.buffer];
      if (!x.writes) continue;
      if (!is_writable(p_, b))
        return bad(arg(x.arg), "buffer {} is written, but it is {}", x.buffer,
                   b.kind == BufferKind::constant ? "a constant"
                                                  : "an input that is not marked as written");
      for (std::size_t j = first; j < accesses_.size(); ++j)
        if (j != i && share_bytes(x.buffer, accesses_[j].buffer))
          return bad(arg(x.arg),
                     "buffer {} is written and shares bytes with argument {}, buffer {}", x.buffer,
                     accesses_[j].arg, accesses_[j].buffer);
    }
    return {};
  }

  bool share_bytes(uint32_t a, uint32_t b) const {
    if (a == b) return true;
    const BufferDesc& x = p_.buffers[a];
    const BufferDesc& y = p_.buffers[b];
    if (x.kind != BufferKind::temp || y.kind != BufferKind::temp || x.arena != y.arena)
      return false;
    return x.offset < y.offset + max_bytes(y) && y.offset < x.offset + max_bytes(x);
  }

  // The same for all launches of one kernel with the same variables.
  Result<const std::vector<KernelParam>*> params_of(const Step& s) {
    const auto key = std::pair(s.kernel, s.vars);
    if (const auto it = params_.find(key); it != params_.end()) return &it->second;
    std::vector<Var> bound;
    for (const uint32_t v : s.vars) bound.push_back(p_.vars[v]);
    auto params = kernel_params(p_.kernels[s.kernel].kir, bound);
    if (!params)
      return std::unexpected(
          params.error().in(fmt::format("{}/kernel: '{}'", pointer_, p_.kernels[s.kernel].name)));
    return &params_.emplace(key, std::move(*params)).first->second;
  }

  const Program& p_;
  std::vector<Access>& accesses_;
  std::string pointer_;
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, std::vector<KernelParam>> params_;
};

}  // namespace

Result<> check_steps(const Program& program, std::vector<Access>& accesses) {
  Steps steps(program, accesses);
  for (uint32_t i = 0; i < program.steps.size(); ++i) OST_TRY(steps.check(i));
  return {};
}

}  // namespace ost::verify_parts
