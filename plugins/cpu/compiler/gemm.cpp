// Phase 1 of a matrix product: the tiles.
#include "plugins/cpu/compiler/gemm.hpp"

#include <memory>

#include "plugins/cpu/compiler/gemm_emit.hpp"
#include "plugins/cpu/compiler/ops.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kChain = 256;  // of order blk256
constexpr int64_t kAlign = 64;   // of everything in shared memory

}  // namespace

Value* GemmEmitter::points(const std::vector<Id>& axes) {
  Value* n = e_.i64(1);
  for (const Id axis : axes) n = e_.mul(n, ev_.extent(axis));
  return n;
}

Value* GemmEmitter::matrix_bytes(const GemmContract& c, bool is_b) {
  Value* n = e_.mul(ev_.extent(c.k), is_b ? e_.mul(panels(), e_.i64(p_.nr)) : rows());
  return e_.b.CreateAnd(e_.add(e_.mul(n, e_.i64(size_)), e_.i64(kAlign - 1)), e_.i64(-kAlign));
}

Value* GemmEmitter::shared_bytes() {
  Value* total = e_.i64(0);
  for_packed([&](const GemmContract& c, const GemmOperand& o, bool is_b) {
    total = e_.add(total, e_.mul(points(o.outer), matrix_bytes(c, is_b)));
  });
  return total;
}

Value* GemmEmitter::all_pack_tasks() {
  Value* total = e_.i64(0);
  for_packed([&](const GemmContract&, const GemmOperand& o, bool is_b) {
    total = e_.add(total, pack_tasks(o, is_b));
  });
  return total;
}

bool GemmEmitter::tile_is_enough() const {
  if (p_.contracts.size() > 1) return false;
  const auto n = ev_.f.a.const_extent(p_.contracts[0].k);
  return ev_.f.a.max_extent(p_.contracts[0].k) <= p_.kc || (n && *n <= p_.kc);
}

void GemmEmitter::emit(Value* scratch, Value* lo, Value* hi) {
  locate();
  totals_ =
      tile_is_enough() ? e_.stack(element_, static_cast<uint64_t>(totals_per_contract())) : scratch;
  std::vector<Id> extents;
  for (const Id axis : p_.outer) extents.push_back(k_.src(axis, 0));
  ev_.prepare(extents);
  ev_.prepare(operands_of(k_, p_.stores));
  e_.loop(lo, hi, 1, [&](Value* task) { run_task(task); });
}

bool GemmEmitter::whole_panels() const {
  const auto n = ev_.f.a.const_extent(p_.n);
  return n && *n % p_.nr == 0;
}

void GemmEmitter::run_task(Value* task) {
  Eval::Scope scope(ev_);
  Value* panel = e_.b.CreateURem(task, panels());
  Value* rest = e_.b.CreateUDiv(task, panels());
  Value* block = e_.b.CreateURem(rest, row_blocks());
  bind_outer(p_.outer, e_.b.CreateUDiv(rest, row_blocks()));
  std::vector<Id> roots = operands_of(k_, p_.stores);
  ev_.prepare(roots);
  Value* i0 = e_.mul(block, e_.i64(p_.mc));
  Value* i1 = e_.min(e_.add(i0, e_.i64(p_.mc)), rows());
  Value* j = e_.mul(panel, e_.i64(p_.nr));
  if (tile_is_enough()) {
    e_.loop(i0, i1, p_.mr, [&](Value* i) {
      tile(p_.contracts[0], panel, i, j, e_.i64(0), ev_.extent(p_.contracts[0].k), totals_);
      finish(i, i1, j, totals_, 0);
    });
    return;
  }
  for (size_t q = 0; q < p_.contracts.size(); ++q) {
    const GemmContract& c = p_.contracts[q];
    Value* n = ev_.extent(c.k);
    // At least one chunk, so that the totals are set if k is empty.
    e_.loop(e_.i64(0), e_.max(n, e_.i64(1)), p_.kc, [&](Value* at) {
      e_.loop(i0, i1, p_.mr, [&](Value* i) {
        tile(c, panel, i, j, at, e_.min(e_.add(at, e_.i64(p_.kc)), n), totals_of(q, i, i0));
      });
    });
  }
  e_.loop(i0, i1, p_.mr,
          [&](Value* i) { finish(i, i1, j, totals_of(0, i, i0), totals_per_contract()); });
}

Value* GemmEmitter::totals_of(size_t contract, Value* i, Value* i0) {
  Value* at = e_.mul(e_.b.CreateSub(i, i0), e_.i64(p_.nr));
  return e_.at(element_, totals_,
               e_.add(at, e_.i64(static_cast<int64_t>(contract) * totals_per_contract())));
}

void GemmEmitter::tile(const GemmContract& c, Value* panel, Value* i, Value* j, Value* lo,
                       Value* hi, Value* totals) {
  std::vector<Eval::Frame> frames(p_.mr);
  std::vector<Value*> packed_rows(p_.mr);
  Value* last = e_.b.CreateSub(rows(), e_.i64(1));
  for (unsigned r = 0; r < p_.mr; ++r) {
    // Rows behind the last one repeat it; finish() drops them.
    Value* row = p_.mr == 1 ? i : e_.min(e_.add(i, e_.i64(r)), last);
    if (divides_rows()) row = e_.add(i, e_.i64(r));
    Eval::Scope scope(ev_, frames[r]);
    if (p_.m != kNone) ev_.bind(p_.m, row);
    if (c.a.packed)
      packed_rows[r] = e_.at(element_, matrix(c, c.a, false), e_.mul(row, ev_.extent(c.k)));
    else
      ev_.prepare({c.a.value});
  }
  Eval::Frame lanes;
  Value* packed_panel = nullptr;
  {
    Eval::Scope scope(ev_, lanes);
    ev_.bind_lanes(p_.n, j, p_.nr, c.b.packed ? nullptr : tail_mask(j));
    if (c.b.packed)
      packed_panel = e_.at(element_, matrix(c, c.b, true),
                           e_.mul(e_.mul(panel, ev_.extent(c.k)), e_.i64(p_.nr)));
    else
      ev_.prepare({c.b.value});
  }
  const auto chain = [&](Value* from, Value* to) {
    const Values start(p_.mr, Emit::zero(wide()));
    return e_.loop(from, to, 1, start, [&](Value* at, const Values& acc) {
      return step(c, at, acc, frames, packed_rows, lanes, packed_panel);
    });
  };
  const bool one_chain = !kir::is_float(k_.dtype(c.id)) || ev_.f.a.max_extent(c.k) <= kChain;
  if (one_chain) {
    add_to(totals, chain(lo, hi), e_.b.CreateICmpEQ(lo, e_.i64(0)));
    return;
  }
  // At least one chain: an empty k gives zeros.
  e_.loop(lo, e_.max(hi, e_.add(lo, e_.i64(1))), kChain, [&](Value* from) {
    add_to(totals, chain(from, e_.min(e_.add(from, e_.i64(kChain)), hi)),
           e_.b.CreateICmpEQ(from, e_.i64(0)));
  });
}

bool GemmEmitter::divides_rows() const {
  if (p_.m == kNone) return true;
  const auto m = ev_.f.a.const_extent(p_.m);
  return m && *m % p_.mr == 0;
}

Value* GemmEmitter::tail_mask(Value* j) {
  if (whole_panels()) return nullptr;
  return e_.prefix_mask(e_.min(e_.b.CreateSub(columns(), j), e_.i64(p_.nr)), p_.nr);
}

Values GemmEmitter::step(const GemmContract& c, Value* at, const Values& acc,
                         std::vector<Eval::Frame>& frames, const std::vector<Value*>& packed_rows,
                         Eval::Frame& lanes, Value* packed_panel) {
  const uint32_t t = k_.dtype(c.id);
  Value* b;
  if (packed_panel) {
    b = e_.b.CreateAlignedLoad(wide(), e_.at(element_, packed_panel, e_.mul(at, e_.i64(p_.nr))),
                               llvm::Align(size_));
  } else {
    Eval::Scope scope(ev_, lanes);
    Eval::Scope inner(ev_);
    ev_.bind(c.k, at);
    ev_.ensure({c.b.value});
    b = ev_.vector(c.b.value);
  }
  Values next;
  for (unsigned r = 0; r < p_.mr; ++r) {
    Value* a;
    if (c.a.packed) {
      a = e_.b.CreateAlignedLoad(element_, e_.at(element_, packed_rows[r], at), llvm::Align(size_));
    } else {
      Eval::Scope scope(ev_, frames[r]);
      Eval::Scope inner(ev_);
      ev_.bind(c.k, at);
      ev_.ensure({c.a.value});
      a = ev_.scalar(c.a.value);
    }
    a = e_.splat(a, p_.nr);
    next.push_back(kir::is_float(t) ? emit_fma(e_, a, b, acc[r])
                                    : e_.b.CreateAdd(acc[r], e_.b.CreateMul(a, b)));
  }
  return next;
}

void GemmEmitter::add_to(Value* totals, const Values& acc, Value* first) {
  const auto slot = [&](unsigned r) {
    return e_.at(element_, totals, e_.i64(static_cast<int64_t>(r) * p_.nr));
  };
  const llvm::Align align(size_);
  const bool real = element_->isFloatingPointTy();
  e_.branch(
      first,
      [&] {
        for (unsigned r = 0; r < p_.mr; ++r) e_.b.CreateAlignedStore(acc[r], slot(r), align);
        return Values{};
      },
      [&] {
        for (unsigned r = 0; r < p_.mr; ++r) {
          Value* before = e_.b.CreateAlignedLoad(wide(), slot(r), align);
          e_.b.CreateAlignedStore(
              real ? e_.b.CreateFAdd(before, acc[r]) : e_.b.CreateAdd(before, acc[r]), slot(r),
              align);
        }
        return Values{};
      });
}

void GemmEmitter::finish(Value* i, Value* end, Value* j, Value* totals, int64_t contract_stride) {
  Value* live = e_.min(e_.b.CreateSub(columns(), j), e_.i64(p_.nr));
  e_.loop(i, e_.min(e_.add(i, e_.i64(p_.mr)), end), 1, [&](Value* row) {
    Eval::Scope scope(ev_);
    if (p_.m != kNone) ev_.bind(p_.m, row);
    Value* line = e_.at(element_, totals, e_.mul(e_.b.CreateSub(row, i), e_.i64(p_.nr)));
    if (whole_panels() || p_.masked_tail)
      return finish_vector(line, j, tail_mask(j), contract_stride);
    e_.branch(
        e_.b.CreateICmpEQ(live, e_.i64(p_.nr)),
        [&] { return finish_vector(line, j, nullptr, contract_stride), Values{}; },
        [&] { return finish_scalars(line, j, live, contract_stride), Values{}; });
  });
}

void GemmEmitter::finish_vector(Value* line, Value* j, Value* mask, int64_t contract_stride) {
  Eval::Scope scope(ev_);
  ev_.bind_lanes(p_.n, j, p_.nr, mask);
  store_with(line, wide(), contract_stride);
}

void GemmEmitter::finish_scalars(Value* line, Value* j, Value* live, int64_t contract_stride) {
  e_.loop(e_.i64(0), live, 1, [&](Value* column) {
    Eval::Scope scope(ev_);
    ev_.bind(p_.n, e_.add(j, column));
    store_with(e_.at(element_, line, column), element_, contract_stride);
  });
}

void GemmEmitter::store_with(Value* at, llvm::Type* type, int64_t contract_stride) {
  for (size_t q = 0; q < p_.contracts.size(); ++q) {
    Value* p = e_.at(element_, at, e_.i64(static_cast<int64_t>(q) * contract_stride));
    ev_.set(p_.contracts[q].id, {e_.b.CreateAlignedLoad(type, p, llvm::Align(size_))});
  }
  ev_.ensure(operands_of(k_, p_.stores));
  for (const Id s : p_.stores) ev_.store(s);
}

namespace {

bool has_packed(const GemmPlan& plan) {
  return std::any_of(plan.contracts.begin(), plan.contracts.end(),
                     [](const GemmContract& c) { return c.a.packed || c.b.packed; });
}

std::string describe(const GemmPlan& plan) {
  std::string text =
      "matrix product, tiles of " + std::to_string(plan.mr) + "x" + std::to_string(plan.nr);
  for (const GemmContract& c : plan.contracts) {
    if (c.a.packed) text += ", A packed";
    if (c.b.packed) text += c.b.along_k ? ", B packed by transposing" : ", B packed";
  }
  return text;
}

}  // namespace

void add_gemm(Lowering& lowering, const GemmPlan& given) {
  const auto plan = std::make_shared<GemmPlan>(given);
  if (has_packed(*plan)) {
    Phase pack;
    pack.remark = "packing";
    for (const GemmContract& c : plan->contracts) {
      if (c.a.packed) pack.roots.push_back(c.a.value);
      if (c.b.packed) pack.roots.push_back(c.b.value);
    }
    pack.tasks = [plan](Eval& ev) { return GemmEmitter(ev, *plan).all_pack_tasks(); };
    pack.emit = [plan](Eval& ev, Value*, Value* lo, Value* hi) {
      GemmEmitter(ev, *plan).emit_pack(lo, hi);
    };
    lowering.phases.push_back(std::move(pack));
    lowering.shared_bytes = [plan](Eval& ev) { return GemmEmitter(ev, *plan).shared_bytes(); };
  }
  Phase product;
  product.remark = describe(*plan);
  product.roots = plan->stores;
  product.tasks = [plan](Eval& ev) { return GemmEmitter(ev, *plan).tasks(); };
  product.emit = [plan](Eval& ev, Value* scratch, Value* lo, Value* hi) {
    GemmEmitter(ev, *plan).emit(scratch, lo, hi);
  };
  lowering.phases.push_back(std::move(product));
  lowering.scratch_bytes = [plan](Eval& ev) {
    return ev.e.i64(GemmEmitter(ev, *plan).scratch_bytes());
  };
}

}  // namespace ost_cpu
