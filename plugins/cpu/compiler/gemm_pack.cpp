// Phase 0 of a matrix product: operands become contiguous copies in shared memory.
#include "plugins/cpu/compiler/gemm_emit.hpp"

namespace ost_cpu {

namespace {

constexpr unsigned kBlock = 16;  // rows and columns of a transposed block

}  // namespace

void GemmEmitter::emit_pack(Value* lo, Value* hi) {
  Value* first = e_.i64(0);
  locate();
  for_packed([&](const GemmContract& c, const GemmOperand& o, bool is_b) {
    Value* count = pack_tasks(o, is_b);
    Value* from = e_.max(e_.b.CreateSub(lo, first), e_.i64(0));
    e_.loop(from, e_.min(e_.b.CreateSub(hi, first), count), 1,
            [&](Value* task) { pack_task(c, o, is_b, task); });
    first = e_.add(first, count);
  });
}

void GemmEmitter::locate() {
  Value* shared = nullptr;
  Value* offset = e_.i64(0);
  for_packed([&](const GemmContract& c, const GemmOperand& o, bool is_b) {
    if (!shared) shared = ev_.shared();
    packed_[&o] = e_.at(e_.b.getInt8Ty(), shared, offset);
    offset = e_.add(offset, e_.mul(points(o.outer), matrix_bytes(c, is_b)));
  });
}

void GemmEmitter::bind_outer(const std::vector<Id>& axes, Value* task) {
  for (size_t i = axes.size(); i-- > 0;) {
    Value* n = ev_.extent(axes[i]);
    ev_.bind(axes[i], i == 0 ? task : e_.b.CreateURem(task, n));
    if (i) task = e_.b.CreateUDiv(task, n);
  }
}

Value* GemmEmitter::matrix(const GemmContract& c, const GemmOperand& o, bool is_b) {
  Value* at = e_.i64(0);
  for (const Id axis : o.outer) at = e_.add(e_.mul(at, ev_.extent(axis)), ev_.scalar(axis));
  return e_.at(e_.b.getInt8Ty(), packed_[&o], e_.mul(at, matrix_bytes(c, is_b)));
}

void GemmEmitter::pack_task(const GemmContract& c, const GemmOperand& o, bool is_b, Value* task) {
  Eval::Scope scope(ev_);
  Value* count = is_b ? panels() : rows();
  Value* part = e_.b.CreateURem(task, count);
  bind_outer(o.outer, e_.b.CreateUDiv(task, count));
  if (is_b)
    pack_panel(c, o, part);
  else
    pack_row(c, o, part);
}

void GemmEmitter::pack_row(const GemmContract& c, const GemmOperand& o, Value* m) {
  Eval::Scope scope(ev_);
  if (p_.m != kNone) ev_.bind(p_.m, m);
  ev_.prepare({o.value});
  Value* n = ev_.extent(c.k);
  Value* row = e_.at(element_, matrix(c, o, false), e_.mul(m, n));
  const int64_t width = o.along_k ? 32 : kBlock;
  Value* main_end = e_.b.CreateAnd(n, e_.i64(-width));
  e_.loop(e_.i64(0), main_end, width, [&](Value* at) {
    Eval::Scope inner(ev_);
    ev_.bind_lanes(c.k, at, static_cast<unsigned>(width), nullptr);
    put(value_of(o.value), row, at);
  });
  e_.loop(main_end, n, 1, [&](Value* at) {
    Eval::Scope inner(ev_);
    ev_.bind(c.k, at);
    put(value_of(o.value), row, at);
  });
}

Value* GemmEmitter::value_of(Id v) {
  ev_.ensure({v});
  return ev_.lanes().axis != kNone ? ev_.vector(v) : ev_.scalar(v);
}

void GemmEmitter::pack_panel(const GemmContract& c, const GemmOperand& o, Value* panel) {
  ev_.prepare({o.value});
  Value* n = ev_.extent(c.k);
  Value* base = e_.at(element_, matrix(c, o, true), e_.mul(e_.mul(panel, n), e_.i64(p_.nr)));
  Value* j = e_.mul(panel, e_.i64(p_.nr));
  if (o.along_k) return pack_transposed(c, o, base, j, n);
  Value* live = e_.min(e_.b.CreateSub(columns(), j), e_.i64(p_.nr));
  const auto whole = [&] {
    pack_columns(c, o, base, j, n, nullptr);
    return Values{};
  };
  if (whole_panels()) return static_cast<void>(whole());
  e_.branch(e_.b.CreateICmpEQ(live, e_.i64(p_.nr)), whole, [&] {
    if (p_.masked_tail)
      pack_columns(c, o, base, j, n, e_.prefix_mask(live, p_.nr));
    else
      pack_scalars(c, o, base, j, e_.i64(0), n, live);
    return Values{};
  });
}

void GemmEmitter::pack_columns(const GemmContract& c, const GemmOperand& o, Value* base, Value* j,
                               Value* n, Value* mask) {
  Eval::Scope scope(ev_);
  ev_.bind_lanes(p_.n, j, p_.nr, mask);
  ev_.prepare({o.value});
  e_.loop(e_.i64(0), n, 1, [&](Value* at) {
    Eval::Scope inner(ev_);
    ev_.bind(c.k, at);
    put(value_of(o.value), base, e_.mul(at, e_.i64(p_.nr)));
  });
}

void GemmEmitter::pack_scalars(const GemmContract& c, const GemmOperand& o, Value* base, Value* j,
                               Value* lo, Value* hi, Value* live) {
  e_.loop(lo, hi, 1, [&](Value* at) {
    e_.loop(e_.i64(0), live, 1, [&](Value* column) {
      Eval::Scope inner(ev_);
      ev_.bind(c.k, at);
      ev_.bind(p_.n, e_.add(j, column));
      put(value_of(o.value), base, e_.add(e_.mul(at, e_.i64(p_.nr)), column));
    });
  });
}

void GemmEmitter::pack_transposed(const GemmContract& c, const GemmOperand& o, Value* base,
                                  Value* j, Value* n) {
  const unsigned block = std::min(kBlock, p_.nr);
  Value* live = e_.min(e_.b.CreateSub(columns(), j), e_.i64(p_.nr));
  Value* last = e_.b.CreateSub(columns(), e_.i64(1));
  Value* main_end = e_.b.CreateAnd(n, e_.i64(-static_cast<int64_t>(block)));
  e_.loop(e_.i64(0), live, block, [&](Value* column) {
    std::vector<Eval::Frame> frames(block);
    for (unsigned u = 0; u < block; ++u) {
      Eval::Scope scope(ev_, frames[u]);
      ev_.bind(p_.n, e_.min(e_.add(e_.add(j, column), e_.i64(u)), last));
      ev_.prepare({o.value});
    }
    e_.loop(e_.i64(0), main_end, block, [&](Value* at) {
      Values v;
      for (unsigned u = 0; u < block; ++u) {
        Eval::Scope scope(ev_, frames[u]);
        Eval::Scope inner(ev_);
        ev_.bind_lanes(c.k, at, block, nullptr);
        v.push_back(value_of(o.value));
      }
      v = e_.transpose(v);
      for (unsigned u = 0; u < block; ++u)
        put(v[u], base, e_.add(e_.mul(e_.add(at, e_.i64(u)), e_.i64(p_.nr)), column));
    });
  });
  pack_scalars(c, o, base, j, main_end, n, live);
}

}  // namespace ost_cpu
