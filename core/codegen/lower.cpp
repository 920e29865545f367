#include "core/codegen/lower.hpp"

#include <algorithm>

#include "core/codegen/attention_tiles.hpp"
#include "core/codegen/evaluator.hpp"
#include "core/codegen/plan.hpp"
#include "core/codegen/skinny.hpp"
#include "core/codegen/tiles.hpp"

namespace ost::codegen {
namespace {

constexpr int64_t kTreeLanes = 64;
constexpr int64_t kSerialChunk = 4096;  // points of a group of one lane

class Lowerer {
 public:
  Lowerer(const kir::Kernel& kernel, const Target& target)
      : k_(kernel),
        scope_(scope_of(kernel)),
        plan_(make_plan(kernel, scope_, target)),
        b_(kernel.numerics, plan_.lanes),
        e_(k_, scope_, b_) {}

  Result<kir::Kernel> run() {
    e_.declare();
    if (!plan_.statements.empty())
      carry_kernel();
    else
      nests();
    return b_.build();
  }

 private:
  static kir::Scope scope_of(const kir::Kernel& kernel) {
    kir::Scope scope;
    scope.extend(kernel);
    return scope;
  }

  std::vector<Value> axes_of(AxisSet set) const {
    std::vector<Value> out;
    for (size_t i = 0; i < scope_.axes.size(); ++i)
      if (set & (AxisSet{1} << i)) out.push_back(scope_.axes[i]);
    return out;
  }

  // Binds axes to the digits of a row-major index.
  void split(Value index, const std::vector<Value>& axes) { e_.bind(axes, e_.digits(index, axes)); }

  // --- kernels without carry axes
  struct Shape {
    std::vector<Value> outer;  // axes over groups
    Value groups = kNone;
    Value points = kNone;  // of the domain; mode rows: of the first level
    Value inner = kNone;   // one lane: an axis in chunks
    std::optional<Tiles> tiles;
    std::optional<Skinny> skinny;
    std::optional<AttentionTiles> attention;
  };

  void nests() {
    std::vector<Shape> shapes;
    Value total = b_.i64(0);
    for (const Nest& nest : plan_.nests) {
      shapes.push_back(shape_of(nest));
      total = b_.add(total, shapes.back().groups);
    }
    b_.grid(0, total);
    Value first = b_.i64(0);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Value group = b_.sub(b_.group(0), first);
      if (shapes.size() == 1) {
        e_.afresh([&] { nest(plan_.nests[i], shapes[i], group); });
      } else {
        const Value mine = b_.both(b_.compare(Op::le, b_.i64(0), group),
                                   b_.compare(Op::lt, group, shapes[i].groups));
        e_.when(mine, [&] { nest(plan_.nests[i], shapes[i], group); });
      }
      first = b_.add(first, shapes[i].groups);
    }
  }

  Shape shape_of(const Nest& nest) {
    Shape s;
    if (nest.attention) {
      s.attention.emplace(e_, *nest.attention);
      s.groups = s.attention->groups();
      return s;
    }
    if (nest.tile && nest.tile->skinny) {
      s.skinny.emplace(e_, *nest.tile);
      s.groups = s.skinny->groups();
      return s;
    }
    if (nest.tile) {
      s.tiles.emplace(e_, *nest.tile);
      s.groups = s.tiles->groups();
      return s;
    }
    if (nest.mode == Nest::Mode::rows) {
      s.outer = axes_of(nest.levels.front());
      s.points = e_.points(s.outer);
      s.groups = quotient_up(s.points, b_.lanes() / nest.row_lanes);
      return s;
    }
    s.outer = axes_of(nest.domain);
    if (b_.lanes() > 1) {
      s.points = e_.points(s.outer);
      s.groups = quotient_up(s.points, b_.lanes());
      return s;
    }
    if (s.outer.empty()) {
      s.groups = b_.i64(1);
      return s;
    }
    s.inner = s.outer.back();
    s.outer.pop_back();
    s.groups = b_.mul(e_.points(s.outer), quotient_up(e_.count(s.inner), kSerialChunk));
    return s;
  }

  Value quotient_up(Value n, int64_t by) { return b_.div(b_.add(n, b_.i64(by - 1)), b_.i64(by)); }

  void nest(const Nest& nest, Shape& shape, Value group) {
    const auto stores = [&] { statement(nest.parts.front()); };
    if (shape.attention) {
      shape.attention->run(group, stores);
    } else if (shape.skinny) {
      prepare(nest);
      shape.skinny->run(group, stores);
    } else if (shape.tiles) {
      prepare(nest);
      shape.tiles->run(group, stores);
    } else if (nest.mode == Nest::Mode::rows) {
      rows(nest, shape, group);
    } else if (b_.lanes() > 1) {
      const Value p = b_.add(b_.mul(group, b_.i64(b_.lanes())), b_.lane());
      e_.when(b_.compare(Op::lt, p, shape.points), [&] {
        split(p, shape.outer);
        for (const Statement& s : nest.parts) statement(s);
      });
    } else {
      serial_points(nest, shape, group);
    }
  }

  // Rows beyond the last one are computed as the last one, since all lanes reach the barriers.
  void rows(const Nest& nest, const Shape& shape, Value group) {
    const int64_t lanes = nest.row_lanes, in_group = b_.lanes() / lanes;
    const Value which = b_.div(b_.lane(), b_.i64(lanes));
    e_.row.count = lanes;
    e_.row.slices = std::max<int64_t>(lanes / kTreeLanes, 1);
    e_.row.lane = b_.rem(b_.lane(), b_.i64(lanes));
    e_.row.first_lane = b_.mul(which, b_.i64(lanes));
    Value row = b_.add(b_.mul(group, b_.i64(in_group)), which);
    row_exists_ = in_group == 1 ? kNone : b_.compare(Op::lt, row, shape.points);
    if (in_group > 1) row = b_.min(row, b_.sub(shape.points, b_.i64(1)));
    split(row, shape.outer);
    e_.together = true;
    levels(nest, 0);
    e_.together = false;
    row_exists_ = kNone;
  }

  void serial_points(const Nest& nest, const Shape& shape, Value group) {
    const auto stores = [&] {
      for (const Statement& s : nest.parts) statement(s);
    };
    if (shape.inner == kNone) return stores();
    const Value chunks = quotient_up(e_.count(shape.inner), kSerialChunk);
    split(b_.div(group, chunks), shape.outer);
    const Value begin = b_.mul(b_.rem(group, chunks), b_.i64(kSerialChunk));
    const Value end = b_.min(e_.extent(shape.inner), b_.add(begin, b_.i64(kSerialChunk)));
    prepare(nest);
    e_.loop(begin, end, 1, [&](Value i) {
      e_.bind(shape.inner, i);
      stores();
    });
  }

  void prepare(const Nest& nest) {
    for (const Statement& s : nest.parts) e_.prepare(s.stores);
  }

  // The axes of a level are bound: what depends on them alone, then the next level.
  void levels(const Nest& nest, size_t level) {
    prepare(nest);
    const AxisSet here = nest.levels[level];
    for (const Statement& s : nest.parts) {
      if (s.parallel != here) continue;
      if (b_.lanes() == 1)
        statement(s);
      else
        e_.when(b_.both(row_exists_, b_.compare(Op::eq, e_.row.lane, b_.i64(0))),
                [&] { alone([&] { statement(s); }); });
    }
    if (level + 1 < nest.levels.size())
      return loops(axes_of(nest.levels[level + 1] & ~here), 0, [&] { levels(nest, level + 1); });
    if (nest.domain == here) return;
    const auto rest = [&] {
      for (const Statement& s : nest.parts)
        if (s.parallel == nest.domain) statement(s);
    };
    const auto all = [&] { over_lanes(axes_of(nest.domain & ~here), rest, &nest); };
    alone([&] {
      if (row_exists_ == kNone)
        all();
      else
        e_.when(row_exists_, all);
    });
  }

  template <class F>
  void alone(F&& body) {
    const bool before = e_.together;
    e_.together = false;
    body();
    e_.together = before;
  }

  template <class F>
  void loops(const std::vector<Value>& axes, size_t i, F&& body) {
    if (i == axes.size()) return body();
    e_.loop(b_.i64(0), e_.extent(axes[i]), 1, [&](Value index) {
      e_.bind(axes[i], index);
      loops(axes, i + 1, body);
    });
  }

  // The points of some axes, spread over the lanes of a row.
  template <class F>
  void over_lanes(const std::vector<Value>& axes, F&& body, const Nest* nest = nullptr) {
    if (b_.lanes() == 1) {
      return loops(axes, 0, [&] {
        if (nest) prepare(*nest);
        body();
      });
    }
    e_.loop(e_.row.lane, e_.points(axes), e_.row.count, [&](Value p) {
      split(p, axes);
      body();
    });
  }

  // All operands, then all stores.
  void statement(const Statement& s) {
    e_.prepare(s.stores);
    struct Ready {
      Value memory, index, value, mask;
    };
    std::vector<Ready> ready;
    for (const Value v : s.stores) {
      const kir::Inst& inst = k_.insts[v];
      const Value mask = inst.nsrc > 3 ? e_.value(inst.src[3]) : kNone;
      const Value index = e_.value(inst.src[1]), value = e_.value(inst.src[2]);
      ready.push_back({e_.value(inst.src[0]), index, value, mask});
    }
    for (const Ready& r : ready) b_.store(r.memory, r.index, r.value, r.mask);
  }

  // --- carry axes: one group, in whose loops the statements follow each other
  void carry_kernel() {
    b_.grid(0, b_.i64(1));
    e_.row = {b_.lanes(), 1, b_.lane(), b_.i64(0)};
    find_tainted();
    carry_loops(0, plan_.statements.size(), 0);
  }

  // What depends on memory that the kernel changes.
  void find_tainted() {
    std::vector<char> written(k_.insts.size(), 0);
    for (Value v = 0; v < k_.insts.size(); ++v)
      if (k_.op(v) == Op::store) written[k_.insts[v].src[0]] = 1;
    tainted_.assign(k_.insts.size(), 0);
    for (Value v = 0; v < k_.insts.size(); ++v) {
      if (k_.op(v) == Op::load && written[k_.insts[v].src[0]]) tainted_[v] = 1;
      for (const Value s : k_.operands(v)) tainted_[v] |= tainted_[s];
    }
  }

  void carry_loops(size_t first, size_t end, AxisSet bound) {
    while (first < end) {
      const AxisSet left = plan_.statements[first].carry & ~bound;
      if (left == 0) {
        carry_statement(plan_.statements[first++]);
        continue;
      }
      const AxisSet next = left & -left;  // the outermost axis that is not bound
      size_t last = first + 1;
      while (last < end && (plan_.statements[last].carry & next) != 0) ++last;
      const Value axis = axes_of(next).front();
      e_.loop(b_.i64(0), e_.extent(axis), 1, [&](Value i) {
        e_.bind(axis, i);
        carry_loops(first, last, bound | next);
      });
      first = last;
    }
  }

  void carry_statement(const Statement& s) {
    e_.prepare(s.stores, &tainted_);
    e_.afresh([&] { over_lanes(axes_of(s.parallel), [&] { statement(s); }); });
    b_.barrier();
  }

  kir::Kernel k_;
  kir::Scope scope_;
  Plan plan_;
  GroupBuilder b_;
  Evaluator e_;
  Value row_exists_ = kNone;  // kNone: all rows of the group do
  std::vector<char> tainted_;
};

}  // namespace

Result<kir::Kernel> lower(const kir::Kernel& kernel, const Target& target) {
  if (kernel.level != 1)
    return fail(OST_INVALID_ARGUMENT, "codegen: a kernel of level {}, wanted level 1",
                kernel.level);
  return Lowerer(kernel, target).run();
}

}  // namespace ost::codegen
