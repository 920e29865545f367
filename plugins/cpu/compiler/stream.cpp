#include "plugins/cpu/compiler/stream.hpp"

#include <algorithm>

#include "plugins/cpu/compiler/accumulate.hpp"

namespace ost_cpu {

namespace {

constexpr int64_t kBlock = 256;          // of order blk256
constexpr int64_t kRows = 8;             // read together
constexpr double kWorthBytes = 1 << 18;  // smaller matrices stay in the cache whatever the order

class StreamEmitter {
 public:
  StreamEmitter(Eval& eval, const Stream& stream, const StreamLoop& loop)
      : ev_(eval),
        e_(eval.e),
        f_(eval.f),
        acc_(eval, stream.axis, stream.group),
        axis_(stream.axis),
        l_(loop) {
    const Values one = acc_.initial(1);
    int64_t at = 0;
    for (Value* v : one) {
      types_.push_back(v->getType());
      offsets_.push_back(at);
      at += Stream::kColumns * 8;
    }
    totals_ = at;
    in_blocks_ =
        f_.order(stream.group[0]) == OST_KIR_ORDER_BLK256 && f_.a.max_extent(axis_) > kBlock;
  }

  void emit(const std::function<void()>& finish) {
    ev_.prepare(acc_.operands());
    Value* n = ev_.extent(axis_);
    if (in_blocks_) {
      // At least one block, so that the totals are set if there are no rows.
      e_.loop(e_.i64(0), e_.max(n, e_.i64(1)), kBlock, [&](Value* at) {
        rows(at, e_.min(e_.add(at, e_.i64(kBlock)), n));
        columns([&](Value* j, unsigned width, Value* mask) {
          add_block(j, width, mask, e_.b.CreateICmpEQ(at, e_.i64(0)));
        });
      });
    } else {
      rows(e_.i64(0), n);
    }
    columns([&](Value* j, unsigned width, Value* mask) {
      Eval::Scope scope(ev_);
      bind(j, width, mask);
      const Values v = load(j, width, in_blocks_ ? totals_ : 0);
      size_t at = 0;
      for (const Id r : acc_.group()) {
        ev_.set(r, {v[at + (acc_.is_arg(r) ? 1 : 0)]});
        at += acc_.count(r);
      }
      finish();
    });
  }

 private:
  // body(first column, how many, mask) over all columns.
  template <class F>
  void columns(F&& body) {
    Value* rest = e_.b.CreateAnd(e_.b.CreateSub(l_.hi, l_.lo), e_.i64(l_.width - 1));
    Value* main_end = e_.b.CreateSub(l_.hi, rest);
    e_.loop(l_.lo, main_end, l_.width, [&](Value* j) { body(j, l_.width, nullptr); });
    if (l_.masked_tail) {
      e_.when(e_.b.CreateICmpSGT(rest, e_.i64(0)),
              [&] { body(main_end, l_.width, e_.prefix_mask(rest, l_.width)); });
    } else {
      e_.loop(main_end, l_.hi, 1, [&](Value* j) { body(j, 1, nullptr); });
    }
  }

  void bind(Value* j, unsigned width, Value* mask) {
    if (width > 1)
      ev_.bind_lanes(l_.vector, j, width, mask);
    else
      ev_.bind(l_.vector, j);
  }

  Value* slot(size_t i, Value* j, int64_t offset) {
    Value* base = e_.at(e_.b.getInt8Ty(), l_.scratch, e_.i64(offsets_[i] + offset));
    return e_.at(types_[i], base, e_.b.CreateSub(j, l_.lo));
  }
  llvm::Align align(size_t i) const { return llvm::Align(types_[i]->getPrimitiveSizeInBits() / 8); }
  Values load(Value* j, unsigned width, int64_t offset) {
    Values v;
    for (size_t i = 0; i < types_.size(); ++i)
      v.push_back(
          e_.b.CreateAlignedLoad(Emit::widen(types_[i], width), slot(i, j, offset), align(i)));
    return v;
  }
  // Masked lanes are stored too: the arrays have room for them.
  void store(const Values& v, Value* j, int64_t offset) {
    for (size_t i = 0; i < v.size(); ++i)
      e_.b.CreateAlignedStore(v[i], slot(i, j, offset), align(i));
  }

  // A chain over the rows [lo, hi), from the identity.
  void rows(Value* lo, Value* hi) {
    columns([&](Value* j, unsigned width, Value*) { store(acc_.initial(width), j, 0); });
    e_.loop(lo, hi, kRows, [&](Value* first) {
      Value* end = e_.min(e_.add(first, e_.i64(kRows)), hi);
      columns([&](Value* j, unsigned width, Value* mask) {
        Eval::Scope scope(ev_);
        bind(j, width, mask);
        ev_.prepare(acc_.operands());
        const Values r =
            e_.loop(first, end, 1, load(j, width, 0), [&](Value* at, const Values& current) {
              Eval::Scope row(ev_);
              ev_.bind(axis_, at);
              return acc_.step(current, width, nullptr);
            });
        store(r, j, 0);
      });
    });
  }

  void add_block(Value* j, unsigned width, Value*, Value* first) {
    const Values s = load(j, width, 0), total = load(j, width, totals_);
    Values next;
    for (size_t i = 0; i < s.size(); ++i)
      next.push_back(e_.b.CreateSelect(first, s[i], acc_.merge(acc_.group()[i], total[i], s[i])));
    store(next, j, totals_);
  }

  Eval& ev_;
  Emit& e_;
  const Facts& f_;
  Accumulators acc_;
  Id axis_;
  StreamLoop l_;
  std::vector<llvm::Type*> types_;
  std::vector<int64_t> offsets_;
  int64_t totals_ = 0;
  bool in_blocks_ = false;
};

}  // namespace

std::optional<Stream> find_stream(const Facts& f, Id vector, const std::vector<Id>& needed) {
  const kir::Kernel& k = f.k;
  Stream s;
  for (const Id v : needed) {
    if (!kir::is_reduction(k.op(v))) continue;
    const bool plain = k.op(v) != OST_KIR_OP_ATTN && k.dtype(k.src(v, 0)) != OST_DTYPE_BOOL &&
                       f.owner[v] == kNone && f.depends(v, vector) &&
                       f.order(v) != OST_KIR_ORDER_TREE;
    if (!plain ||
        (s.axis != kNone && (k.reduced_axis(v) != s.axis || f.order(v) != f.order(s.group[0]))))
      return std::nullopt;
    s.axis = k.reduced_axis(v);
    s.group.push_back(v);
  }
  if (s.group.empty() || s.group.size() > 4) return std::nullopt;
  for (const Id x : s.group)
    for (const Id y : s.group)
      if (x != y && f.needs(x, y)) return std::nullopt;
  // All that is read for each element lies in rows, and there is a lot of it.
  double bytes = 0;
  for (const Id v : f.closure(s.group)) {
    if (k.op(v) != OST_KIR_OP_LOAD || !f.depends(v, s.axis) || !f.depends(v, vector)) continue;
    if (!f.a.stride(k.src(v, 1), vector).is(1)) return std::nullopt;
    bytes += static_cast<double>(f.a.max_extent(s.axis)) *
             static_cast<double>(f.a.max_extent(vector)) * kir::size_of(k.dtype(v));
  }
  return bytes >= kWorthBytes && f.a.max_extent(s.axis) >= 2 * kRows ? std::optional(s)
                                                                     : std::nullopt;
}

int64_t stream_scratch(const Facts& f, const Stream& stream) {
  int64_t accumulators = 0;
  for (const Id r : stream.group) accumulators += f.k.op(r) == OST_KIR_OP_ARGREDUCE ? 2 : 1;
  return 2 * accumulators * Stream::kColumns * 8 + 64 * 8;
}

void emit_stream(Eval& eval, const Stream& stream, const StreamLoop& loop,
                 const std::function<void()>& finish) {
  StreamEmitter(eval, stream, loop).emit(finish);
}

}  // namespace ost_cpu
