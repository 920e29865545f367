#include "core/capture/jit.hpp"

#include <algorithm>

namespace ost::capture {

Jit::Jit(Session& session, JitBody body, JitOptions options)
    : session_(session), body_(std::move(body)), options_(std::move(options)) {}

Jit::Jit(Session& session, JitFunction function, JitOptions options)
    : Jit(session,
          JitBody([function = std::move(function)](std::span<const TensorPtr> inputs,
                                                   std::span<const JitScalar>) {
            return function(inputs);
          }),
          std::move(options)) {}

Jit::~Jit() = default;

void Jit::reset() {
  calls_ = 0;
  programs_.clear();
}

uint64_t Jit::free_intermediates() {
  uint64_t freed = 0;
  for (const auto& p : programs_) freed += p->free_intermediates();
  return freed;
}

JitResult Jit::call(const JitCall& given) {
  OST_TRY_ASSIGN(const Arguments call, normalise(given, options_.parameters));
  // With one program the signature is known, and is checked before anything happens.
  if (options_.programs <= 1 && captured())
    OST_TRY(programs_.front()->signature().check(call, session_));
  OST_TRY(bind_vars(call.vars));
  if (session_.capturing() || session_.inside_jit_ > 0) {
    for (const TensorPtr& t : call.inputs) OST_TRY(t->check_fresh());
    return body_(call.inputs, call.scalars);
  }
  OST_TRY(prepare(call));
  if (calls_ == 0 || !options_.enabled) {
    OST_TRY_ASSIGN(auto outputs, run_eagerly(call));
    ++calls_;
    return outputs;
  }
  OST_TRY_ASSIGN(Captured * program, program_for(call));
  OST_TRY_ASSIGN(auto outputs, program->replay(call));
  ++calls_;
  return outputs;
}

Result<Captured*> Jit::program_for(const Arguments& call) {
  for (size_t i = 0; i < programs_.size(); ++i) {
    if (options_.programs > 1 && !programs_[i]->signature().check(call, session_)) continue;
    OST_TRY(programs_[i]->check(call));
    std::rotate(programs_.begin(), programs_.begin() + static_cast<ptrdiff_t>(i),
                programs_.begin() + static_cast<ptrdiff_t>(i) + 1);
    return programs_.front().get();
  }
  OST_TRY_ASSIGN(auto made, capture(call));
  OST_TRY(made->check(call));
  programs_.insert(programs_.begin(), std::move(made));
  if (programs_.size() > std::max(options_.programs, 1u)) programs_.pop_back();
  return programs_.front().get();
}

Result<> Jit::bind_vars(std::span<const JitVar> vars) {
  for (size_t i = 0; i < vars.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (vars[k].var.name == vars[i].var.name) {
        return fail(OST_JIT_ERROR, "variable '{}' is given twice, with values {} and {}",
                    vars[i].var.name, vars[k].value, vars[i].value);
      }
    }
  }
  for (const JitVar& v : vars) OST_TRY(session_.bind(v.var, v.value));
  return {};
}

// Lazy inputs are realized first; each then has storage of its own or shares what the caller
// shared.
Result<> Jit::prepare(const Arguments& call) {
  for (const TensorPtr& t : call.inputs) OST_TRY(t->check_fresh());
  OST_TRY(session_.realize(call.inputs));
  // Lazy tensors may read what is given away.
  if (options_.outputs == OutputMode::donate) OST_TRY(session_.realize(session_.live_lazy()));
  return check_donated(call);
}

Result<> Jit::check_donated(const Arguments& call) const {
  for (const uint32_t i : options_.donated) {
    if (i >= call.inputs.size())
      return fail(OST_JIT_ERROR, "input {} is to be donated, but {} inputs were given", i,
                  call.inputs.size());
  }
  for (size_t i = 0; options_.outputs == OutputMode::donate && i < call.inputs.size(); ++i) {
    const bool donated = options_.donated.empty() ||
                         std::ranges::find(options_.donated, i) != options_.donated.end();
    if (donated && call.inputs[i]->is_frozen())
      return fail(OST_JIT_ERROR, "input {} is frozen and cannot be donated", i);
  }
  return {};
}

// Eager calls have no use for donated memory; what the caller may do with the tensors is the same.
Result<> Jit::give_away(const Arguments& call) const {
  if (options_.outputs != OutputMode::donate) return {};
  OST_TRY(session_.realize(session_.live_lazy()));
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!options_.donated.empty() &&
        std::ranges::find(options_.donated, i) == options_.donated.end())
      continue;
    call.inputs[i]->storage_ = {};
    call.inputs[i]->dead_because_ =
        "was donated to a captured function, which has taken its memory";
  }
  return {};
}

JitResult Jit::run_eagerly(const Arguments& call) {
  ++session_.inside_jit_;
  session_.guarded_ = call.inputs;
  auto outputs = body_(call.inputs, call.scalars);
  session_.guarded_ = {};
  --session_.inside_jit_;
  if (!outputs) return outputs;
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (!(*outputs)[i]) return fail(OST_JIT_ERROR, "output {} of the function is null", i);
    // An output that is a donated input outlives it.
    TensorPtr& t = (*outputs)[i];
    if (options_.outputs != OutputMode::donate ||
        std::ranges::find(call.inputs, t) == call.inputs.end())
      continue;
    TensorPtr same = session_.make(t->dtype(), t->shape(), t->device());
    OST_TRY(session_.store(same, t->storage()));
    t = std::move(same);
  }
  OST_TRY(session_.realize(*outputs));
  OST_TRY(give_away(call));
  return outputs;
}

}  // namespace ost::capture
