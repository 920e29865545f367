#include "core/capture/signature.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace ost::capture {
namespace {

Result<size_t> parameter_of(const std::string& name, std::span<const std::string> parameters) {
  const auto it = std::ranges::find(parameters, name);
  if (it != parameters.end()) return static_cast<size_t>(it - parameters.begin());
  return fail(OST_JIT_ERROR, "the function has no parameter '{}'; it has: {}", name,
              fmt::join(parameters, ", "));
}

Result<> place_by_parameter(const JitCall& call, std::span<const std::string> parameters,
                            Arguments& out) {
  out.inputs.resize(parameters.size());
  out.names.resize(parameters.size());
  size_t next = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const bool named = i < call.names.size() && !call.names[i].empty();
    size_t at = next;
    if (named) {
      OST_TRY_ASSIGN(at, parameter_of(call.names[i], parameters));
    } else {
      ++next;
    }
    if (at >= parameters.size())
      return fail(OST_JIT_ERROR, "{} inputs were given, the function has {} parameters: {}",
                  call.inputs.size(), parameters.size(), fmt::join(parameters, ", "));
    if (out.inputs[at]) return fail(OST_JIT_ERROR, "parameter '{}' is given twice", parameters[at]);
    out.inputs[at] = call.inputs[i];
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!out.inputs[i]) return fail(OST_JIT_ERROR, "parameter '{}' is missing", parameters[i]);
  }
  return {};
}

Result<> place_by_name(const JitCall& call, Arguments& out) {
  std::vector<std::pair<std::string, TensorPtr>> named;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (i < call.names.size() && !call.names[i].empty()) {
      named.emplace_back(call.names[i], call.inputs[i]);
    } else {
      out.inputs.push_back(call.inputs[i]);
    }
  }
  out.names.resize(out.inputs.size());
  std::ranges::stable_sort(named, {}, [](const auto& n) -> const std::string& { return n.first; });
  for (size_t i = 0; i < named.size(); ++i) {
    if (i > 0 && named[i - 1].first == named[i].first)
      return fail(OST_JIT_ERROR, "input '{}' is given twice", named[i].first);
    out.names.push_back(named[i].first);
    out.inputs.push_back(named[i].second);
  }
  return {};
}

std::string text_of(const std::string& name, size_t position) {
  return name.empty() ? fmt::format("input {}", position) : fmt::format("input '{}'", name);
}

Result<> check_scalars(std::span<const JitScalar> want, std::span<const JitScalar> got) {
  if (got.size() != want.size()) {
    return fail(OST_JIT_ERROR, "{} scalars were given, the capture has {}", got.size(),
                want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;
    if (got[i].name != want[i].name)
      return fail(OST_JIT_ERROR, "scalar '{}' was given, the capture has '{}'", got[i].name,
                  want[i].name);
    return fail(OST_JIT_ERROR,
                "scalar '{}' is {} {:#x}, the capture has {} {:#x}, which is frozen in it; make it "
                "a variable or an input, or call reset() to capture again",
                got[i].name, name_of(got[i].dtype), got[i].bits, name_of(want[i].dtype),
                want[i].bits);
  }
  return {};
}

Result<> check_vars(std::span<const Var> want, std::span<const JitVar> got) {
  if (got.size() != want.size()) {
    return fail(OST_JIT_ERROR, "{} variables were given, the capture has {}", got.size(),
                want.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].var == want[i]) continue;
    return fail(OST_JIT_ERROR, "variable {} is '{}' in [{}, {}], the capture has '{}' in [{}, {}]",
                i, got[i].var.name, got[i].var.min, got[i].var.max, want[i].name, want[i].min,
                want[i].max);
  }
  return {};
}

}  // namespace

Result<Arguments> normalise(const JitCall& call, std::span<const std::string> parameters) {
  Arguments out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i]) return fail(OST_JIT_ERROR, "input {} is null", i);
  }
  if (parameters.empty()) {
    OST_TRY(place_by_name(call, out));
  } else {
    OST_TRY(place_by_parameter(call, parameters, out));
  }
  out.scalars.assign(call.scalars.begin(), call.scalars.end());
  std::ranges::stable_sort(out.scalars, {}, &JitScalar::name);
  for (size_t i = 1; i < out.scalars.size(); ++i) {
    if (out.scalars[i].name == out.scalars[i - 1].name)
      return fail(OST_JIT_ERROR, "scalar '{}' is given twice", out.scalars[i].name);
  }
  out.vars.assign(call.vars.begin(), call.vars.end());
  return out;
}

Signature Signature::of(const Arguments& call) {
  Signature out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& t = *call.inputs[i];
    out.inputs.push_back({call.names[i], t.dtype(), t.shape(), t.device()});
  }
  out.scalars = call.scalars;
  for (const JitVar& v : call.vars) out.vars.push_back(v.var);
  return out;
}

Result<> Signature::check(const Arguments& call, const Session& session) const {
  if (call.inputs.size() != inputs.size()) {
    return fail(OST_JIT_ERROR,
                "{} inputs were given, the capture has {}; call reset() to capture again",
                call.inputs.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& want = inputs[i];
    const Tensor& got = *call.inputs[i];
    if (call.names[i] != want.name) {
      return fail(OST_JIT_ERROR,
                  "{} was given, the capture has {} there; call reset() to capture "
                  "again",
                  text_of(call.names[i], i), text_of(want.name, i));
    }
    if (got.dtype() == want.dtype && got.shape() == want.shape && got.device() == want.device)
      continue;
    return fail(OST_JIT_ERROR,
                "{} is {}{} on {}, the capture has {}{} on {}; call reset() to capture again",
                text_of(want.name, i), name_of(got.dtype()), to_string(got.shape()),
                session.device_at(got.device())->id(), name_of(want.dtype), to_string(want.shape),
                session.device_at(want.device)->id());
  }
  OST_TRY(check_scalars(scalars, call.scalars));
  return check_vars(vars, call.vars);
}

}  // namespace ost::capture
