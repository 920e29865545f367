// The reference interpreter: runs a plan. It is the oracle for every backend, so it sets no
// floating-point state, uses no fast math and checks each access.
#include "core/kir/interpret.hpp"

#include <algorithm>
#include <cstring>

#include "core/kir/interpret_memory.hpp"
#include "core/kir/interpret_plan.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {

using namespace interp;

struct Interpreter::State {
  explicit State(std::unique_ptr<Plan> p)
      : plan(std::move(p)), extents(plan->kernel.insts.size()) {}

  Result<> run(std::span<const ParamData> given, std::span<const int64_t> values);

 private:
  Result<> bind(std::span<const ParamData> given, std::span<const int64_t> values);
  Result<> check_vars(std::span<const int64_t> values) const;
  Result<> bind_param(Value v, std::span<const ParamData> given);
  bool run_items(std::span<const Item> items);
  bool run_carry(const Item& item);
  bool run_statement(const Statement& s);
  bool run_nest(Region& r, const Statement& s);
  bool store(const Statement& s, size_t n);
  bool run_steps(Region& r, std::span<const Step> steps, size_t n);
  bool run_load(const Region& r, const Step& step, size_t n);
  bool run_reduce(Region& r, const Step& step, size_t n);
  bool run_attn(Region& r, const Step& step, size_t n);
  bool out_of_bounds(Value record, int64_t index, uint64_t count);
  // Runs the region over its whole axis; f(n) after each block, while `lane` may be set.
  template <class F>
  bool for_blocks(Region& r, F&& f);

  void enter(Region& r, size_t lane) { r.lane = lane, r.stamp = ++clock; }
  int64_t extent(const Region& r) const { return extents[r.axis]; }

  std::unique_ptr<Plan> plan;
  std::vector<int64_t> extents;  // by axis record
  std::vector<Memory> memory;    // by param record's slot
  std::vector<int64_t> vars;
  uint64_t clock = 0;
  Error error;
};

namespace {

bool any_of(size_t n, const bool* b) { return std::find(b, b + n, true) != b + n; }

template <class T>
T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

}  // namespace

bool Interpreter::State::out_of_bounds(Value record, int64_t index, uint64_t count) {
  const Inst& inst = plan->kernel.insts[record];
  error = {OST_INTERNAL,
           fmt::format("kir record {}: {} at index {} of param {}, which has {} elements; the "
                       "bounds proof of the kernel is "
                       "missing or wrong",
                       record, info(plan->kernel.op(record)).name, index,
                       plan->kernel.insts[inst.src[0]].imm, count),
           0, 0, 0};
  return false;
}

template <class F>
bool Interpreter::State::for_blocks(Region& r, F&& f) {
  const int64_t total = extent(r);
  if (total <= 0) return true;
  const auto block = std::min(static_cast<uint64_t>(total), uint64_t{kBlock});
  for (Import& in : r.imports) {
    if (in.stamp == in.from->stamp) continue;
    in.stamp = in.from->stamp;
    in.spread(block, r.at[in.target], in.from->at[in.source] + in.from->lane * in.size, nullptr,
              nullptr);
  }
  const bool whole = static_cast<uint64_t>(total) <= kBlock;
  for (int64_t first = 0; first < total; first += kBlock) {
    const auto n = static_cast<size_t>(std::min<int64_t>(total - first, kBlock));
    if (!whole || !r.fixed_done) {
      if (r.axis_slot != UINT32_MAX)
        for (size_t i = 0; i < n; ++i)
          as<int64_t>(r.at[r.axis_slot])[i] = first + static_cast<int64_t>(i);
      if (!run_steps(r, r.fixed, n)) return false;
      r.fixed_done = whole;
    }
    enter(r, 0);
    if (!run_steps(r, r.steps, n) || !f(n)) return false;
  }
  return true;
}

bool Interpreter::State::run_load(const Region& r, const Step& step, size_t n) {
  const Inst& inst = plan->kernel.insts[step.record];
  const Memory& m = memory[plan->kernel.insts[inst.src[0]].imm];
  const auto* index = as<const int64_t>(r.at[step.in[0]]);
  const bool* mask = step.masked ? as<const bool>(r.at[step.in[1]]) : nullptr;
  const size_t done = m.gather(m, n, r.at[step.out], index, mask);
  return done == n || out_of_bounds(step.record, index[done], m.count);
}

bool Interpreter::State::run_reduce(Region& r, const Step& step, size_t n) {
  Reducer& reducer = *plan->reducers[step.reducer];
  const bool two = plan->kernel.op(step.record) == Op::contract;
  Region& inner = *step.inner;
  for (size_t lane = 0; lane < n; ++lane) {
    enter(r, lane);
    reducer.begin();
    const bool ok = for_blocks(inner, [&](size_t k) {
      reducer.feed(k, inner.at[step.inner_in[0]], two ? inner.at[step.inner_in[1]] : nullptr);
      return true;
    });
    if (!ok) return false;
    reducer.finish(r.at[step.out] + lane * r.sizes[step.out]);
  }
  enter(r, 0);
  return true;
}

bool Interpreter::State::run_attn(Region& r, const Step& step, size_t n) {
  AttnState& attn = plan->rows[step.reducer];
  for (size_t lane = 0; lane < n; ++lane) {
    enter(r, lane);
    if (attn.stamp != attn.owner->stamp) {
      attn.stamp = attn.owner->stamp;
      attn.row.begin();
      const bool ok = for_blocks(*step.inner, [&](size_t k) {
        attn.row.feed_scores(k, as<const float>(step.inner->at[step.inner_in[0]]),
                             as<const bool>(step.inner->at[step.inner_in[1]]));
        return true;
      });
      if (!ok) return false;
      attn.row.weigh();
    }
    attn.v.clear();
    const bool ok = for_blocks(*step.values, [&](size_t k) {
      const auto* v = as<const float>(step.values->at[step.values_in]);
      attn.v.insert(attn.v.end(), v, v + k);
      return true;
    });
    if (!ok) return false;
    as<float>(r.at[step.out])[lane] = attn.row.mix(attn.v.data());
  }
  enter(r, 0);
  return true;
}

bool Interpreter::State::run_steps(Region& r, std::span<const Step> steps, size_t n) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    switch (s.kind) {
      case Step::Kind::map:
        s.fn(n, r.at[s.out], r.at[s.in[0]], r.at[s.in[1]], r.at[s.in[2]]);
        break;
      case Step::Kind::skip:
        if (!any_of(n, as<const bool>(r.at[s.in[0]]))) i += s.skipped;
        break;
      case Step::Kind::load:
        if (!run_load(r, s, n)) return false;
        break;
      case Step::Kind::reduce:
        if (!run_reduce(r, s, n)) return false;
        break;
      case Step::Kind::attn:
        if (!run_attn(r, s, n)) return false;
        break;
    }
  }
  return true;
}

bool Interpreter::State::store(const Statement& s, size_t n) {
  Region& r = *s.innermost;
  for (const StoreStep& st : s.stores) {
    const Inst& inst = plan->kernel.insts[st.record];
    const Memory& m = memory[plan->kernel.insts[inst.src[0]].imm];
    const auto* index = as<const int64_t>(r.at[st.index]);
    const size_t done =
        m.scatter(m, n, r.at[st.value], index, st.masked ? as<const bool>(r.at[st.mask]) : nullptr);
    if (done != n) return out_of_bounds(st.record, index[done], m.count);
  }
  return true;
}

bool Interpreter::State::run_nest(Region& r, const Statement& s) {
  return for_blocks(r, [&](size_t n) {
    if (!r.child) return store(s, n);
    for (size_t lane = 0; lane < n; ++lane) {
      enter(r, lane);
      if (!run_nest(*r.child, s)) return false;
    }
    return true;
  });
}

bool Interpreter::State::run_statement(const Statement& s) {
  for (const Region* r = s.root->child; r; r = r->child)
    if (extent(*r) == 0) return true;
  Region& root = *s.root;
  for (const auto& [slot, target] : root.vars) *as<int64_t>(root.at[target]) = vars[slot];
  for (const Import& in : root.imports)
    std::memcpy(root.at[in.target], in.from->at[in.source], in.size);
  enter(root, 0);
  if (!run_steps(root, root.steps, 1)) return false;
  return root.child ? run_nest(*root.child, s) : store(s, 1);
}

bool Interpreter::State::run_carry(const Item& item) {
  Region& r = *item.carry;
  for (int64_t i = 0; i < extent(r); ++i) {
    if (r.axis_slot != UINT32_MAX) *as<int64_t>(r.at[r.axis_slot]) = i;
    enter(r, 0);
    if (!run_items(item.body)) return false;
  }
  return true;
}

bool Interpreter::State::run_items(std::span<const Item> items) {
  for (const Item& item : items)
    if (!(item.carry ? run_carry(item) : run_statement(item.statement))) return false;
  return true;
}

Result<> Interpreter::State::check_vars(std::span<const int64_t> values) const {
  const Kernel& k = plan->kernel;
  if (values.size() != k.var_count())
    return fail(OST_INVALID_ARGUMENT, "the kernel has {} variables, {} values were given",
                k.var_count(), values.size());
  for (const Inst& inst : k.insts) {
    if (static_cast<Op>(inst.op) != Op::var) continue;
    const auto lo = static_cast<int64_t>(k.insts[inst.src[0]].imm),
               hi = static_cast<int64_t>(k.insts[inst.src[1]].imm);
    const int64_t v = values[inst.imm];
    if (v < lo || v > hi)
      return fail(OST_INVALID_ARGUMENT, "variable {} is {}, wanted {} to {}", inst.imm, v, lo, hi);
  }
  return {};
}

Result<> Interpreter::State::bind_param(Value v, std::span<const ParamData> given) {
  const Inst& inst = plan->kernel.insts[v];
  const Region& pre = *plan->preamble;
  const int64_t count = *as<int64_t>(pre.at[pre.slot_of.at(inst.src[0])]);
  const ParamData& data = given[inst.imm];
  const uint32_t size = size_of(plan->kernel.dtype(v));
  if (count < 0 || static_cast<uint64_t>(count) > data.bytes / size)
    return fail(OST_INVALID_ARGUMENT, "param {} has {} bytes, wanted {} elements of {} bytes",
                inst.imm, data.bytes, count, size);
  memory[inst.imm] = make_memory(plan->kernel.dtype(v), data.data, static_cast<uint64_t>(count));
  return {};
}

Result<> Interpreter::State::bind(std::span<const ParamData> given,
                                  std::span<const int64_t> values) {
  const Kernel& k = plan->kernel;
  OST_TRY(check_vars(values));
  if (given.size() != k.param_count())
    return fail(OST_INVALID_ARGUMENT, "the kernel has {} params, {} were given", k.param_count(),
                given.size());
  vars.assign(values.begin(), values.end());
  memory.assign(given.size(), Memory{});
  for (Region& r : plan->regions) {
    r.fixed_done = false;
    for (Import& in : r.imports) in.stamp = 0;
  }
  for (AttnState& row : plan->rows) row.stamp = 0;
  Region& pre = *plan->preamble;
  for (const auto& [slot, target] : pre.vars) *as<int64_t>(pre.at[target]) = vars[slot];
  run_steps(pre, pre.steps, 1);  // integer arithmetic only: cannot fail
  for (Value v = 0; v < k.insts.size(); ++v) {
    if (k.op(v) == Op::axis) extents[v] = *as<int64_t>(pre.at[pre.slot_of.at(k.insts[v].src[0])]);
    if (k.op(v) == Op::axis && extents[v] < 0)
      return fail(OST_INVALID_ARGUMENT, "axis {} has extent {}, wanted at least 0", k.insts[v].imm,
                  extents[v]);
    if (k.op(v) == Op::param) OST_TRY(bind_param(v, given));
  }
  return {};
}

Result<> Interpreter::State::run(std::span<const ParamData> given,
                                 std::span<const int64_t> values) {
  OST_TRY(bind(given, values));
  if (!run_items(plan->items)) return std::unexpected(error);
  return {};
}

Interpreter::Interpreter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

Result<Interpreter> Interpreter::create(const Kernel& kernel) {
  if (kernel.level != 1)
    return fail(OST_INVALID_ARGUMENT, "kir: a kernel of level {}, wanted level 1", kernel.level);
  OST_TRY_ASSIGN(auto plan, make_plan(kernel));
  return Interpreter(std::make_unique<State>(std::move(plan)));
}

Result<> Interpreter::run(std::span<const ParamData> params, std::span<const int64_t> vars) {
  return state_->run(params, vars);
}

Result<> interpret(const Kernel& kernel, std::span<const ParamData> params,
                   std::span<const int64_t> vars) {
  OST_TRY_ASSIGN(Interpreter interpreter, Interpreter::create(kernel));
  return interpreter.run(params, vars);
}

}  // namespace ost::kir
