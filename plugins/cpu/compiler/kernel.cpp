#include "plugins/cpu/compiler/kernel.hpp"

#include "plugins/cpu/abi/kernel.h"
#include "plugins/cpu/compiler/attention_tiles.hpp"
#include "plugins/cpu/compiler/gemm.hpp"
#include "plugins/cpu/compiler/nest.hpp"
#include "plugins/cpu/compiler/phase.hpp"

namespace ost_cpu {

namespace {

// One phase from several nests: their tasks one after the other.
Phase nests_phase(std::shared_ptr<std::vector<Nest>> nests) {
  Phase phase;
  for (const Nest& n : *nests) {
    for (const Statement& s : n.parts)
      phase.roots.insert(phase.roots.end(), s.stores.begin(), s.stores.end());
  }
  phase.remark = "loop nest";
  phase.tasks = [nests](Eval& ev) {
    Value* total = ev.e.i64(0);
    for (const Nest& n : *nests) total = ev.e.add(total, nest_tasks(ev, n));
    return total;
  };
  phase.emit = [nests](Eval& ev, Value* scratch, Value* lo, Value* hi) {
    Emit& e = ev.e;
    Value* first = e.i64(0);
    for (const Nest& n : *nests) {
      if (nests->size() == 1) return emit_nest(ev, n, scratch, lo, hi);
      Value* count = nest_tasks(ev, n);
      Value* from = e.max(e.b.CreateSub(lo, first), e.i64(0));
      emit_nest(ev, n, scratch, from, e.min(e.b.CreateSub(hi, first), count));
      first = e.add(first, count);
    }
  };
  return phase;
}

Phase carry_phase(std::shared_ptr<std::vector<Statement>> statements, FeatureSet isa) {
  Phase phase;
  for (const Statement& s : *statements)
    phase.roots.insert(phase.roots.end(), s.stores.begin(), s.stores.end());
  phase.remark = "sequential";
  phase.tasks = [](Eval& ev) { return ev.e.i64(1); };
  phase.emit = [statements, isa](Eval& ev, Value*, Value* lo, Value* hi) {
    ev.e.loop(lo, hi, 1, [&](Value*) {
      Eval::Scope scope(ev);
      emit_carry(ev, isa, *statements);
    });
  };
  return phase;
}

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const kir::Kernel& kernel, FeatureSet isa)
      : e_(module, isa), facts_(kernel), lowering_(choose_lowering(facts_, isa)) {}

  void emit(const std::string& name) {
    llvm::Type *ptr = e_.b.getPtrTy(), *i64 = e_.b.getInt64Ty();
    auto* f = e_.begin(name, {ptr, ptr, e_.b.getInt32Ty(), i64, i64}, e_.b.getVoidTy(), true);
    Value* phase = f->getArg(2);
    Eval ev(e_, facts_, f->getArg(0));
    e_.branch(
        e_.b.CreateICmpEQ(phase, e_.b.getInt32(OST_CPU_PHASE_PLAN)),
        [&] { return plan(ev, f->getArg(1)), Values{}; },
        [&] { return ev.load_params(), run(ev, f, 0), Values{}; });
    e_.b.CreateRetVoid();
  }

  std::string remarks() const {
    std::string text;
    for (const Phase& phase : lowering_.phases)
      text += (text.empty() ? "" : "; then ") + phase.remark;
    return text;
  }

 private:
  void run(Eval& ev, llvm::Function* f, uint32_t phase) {
    const auto one = [&] {
      Eval::Scope scope(ev);
      lowering_.phases[phase].emit(ev, f->getArg(1), f->getArg(3), f->getArg(4));
      return Values{};
    };
    if (phase + 1 == lowering_.phases.size()) return static_cast<void>(one());
    e_.branch(e_.b.CreateICmpEQ(f->getArg(2), e_.b.getInt32(phase)), one,
              [&] { return run(ev, f, phase + 1), Values{}; });
  }

  void put(Value* plan, size_t offset, Value* v) {
    e_.b.CreateAlignedStore(v, e_.b.CreateConstGEP1_64(e_.b.getInt8Ty(), plan, offset),
                            llvm::Align(4));
  }

  void plan(Eval& ev, Value* out) {
    Eval::Scope scope(ev);
    const auto bytes = [&](const std::function<Value*(Eval&)>& f) { return f ? f(ev) : e_.i64(0); };
    put(out, offsetof(ost_cpu_plan_t, phase_count),
        e_.b.getInt32(static_cast<uint32_t>(lowering_.phases.size())));
    put(out, offsetof(ost_cpu_plan_t, reserved), e_.b.getInt32(0));
    put(out, offsetof(ost_cpu_plan_t, scratch_bytes), bytes(lowering_.scratch_bytes));
    put(out, offsetof(ost_cpu_plan_t, shared_bytes), bytes(lowering_.shared_bytes));
    for (size_t i = 0; i < lowering_.phases.size(); ++i) {
      const size_t at = offsetof(ost_cpu_plan_t, phases) + i * sizeof(ost_cpu_phase_t);
      const Cost cost = emit_cost(ev, lowering_.phases[i].roots);
      put(out, at + offsetof(ost_cpu_phase_t, tasks), lowering_.phases[i].tasks(ev));
      put(out, at + offsetof(ost_cpu_phase_t, flops), cost.flops);
      put(out, at + offsetof(ost_cpu_phase_t, bytes), cost.bytes);
    }
  }

  Emit e_;
  Facts facts_;
  Lowering lowering_;
};

}  // namespace

// The first matrix product or attention has phases of its own; all other statements are nests of
// one phase.
Lowering choose_lowering(const Facts& facts, FeatureSet isa) {
  std::vector<Statement> statements = statements_of(facts), others;
  Lowering lowering;
  if (facts.a.axes_of_role(OST_KIR_AXIS_CARRY)) {
    lowering.phases.push_back(
        carry_phase(std::make_shared<std::vector<Statement>>(std::move(statements)), isa));
    return lowering;
  }
  for (Statement& s : statements) {
    if (lowering.phases.empty()) {
      if (const auto product = plan_gemm(facts, isa, s)) {
        add_gemm(lowering, *product);
        continue;
      }
      if (const auto attention = plan_attention(facts, isa, s)) {
        add_attention(lowering, *attention);
        continue;
      }
    }
    others.push_back(std::move(s));
  }
  if (others.empty() && !lowering.phases.empty()) return lowering;
  const auto nests = std::make_shared<std::vector<Nest>>(plan_nests(facts, isa, std::move(others)));
  lowering.phases.push_back(nests_phase(nests));
  const auto before = lowering.scratch_bytes;
  lowering.scratch_bytes = [nests, before](Eval& ev) {
    Value* most = before ? before(ev) : ev.e.i64(0);
    for (const Nest& n : *nests) most = ev.e.max(most, nest_scratch(ev, n));
    return most;
  };
  return lowering;
}

std::string emit_kernel(llvm::Module& module, const kir::Kernel& kernel, const std::string& name,
                        FeatureSet isa) {
  KernelEmitter emitter(module, kernel, isa);
  emitter.emit(name);
  return emitter.remarks();
}

}  // namespace ost_cpu
