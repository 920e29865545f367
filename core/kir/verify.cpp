// The verifier: encoding and types of each record, then what needs the whole kernel (docs/kir.md
// lists the rules).
#include <algorithm>

#include "core/kir/declarations.hpp"
#include "core/kir/level2.hpp"
#include "core/kir/ops.hpp"
#include "core/kir/scope.hpp"
#include "core/kir/typing.hpp"

namespace ost::kir {
namespace {

constexpr size_t kMaxRecords = size_t{1} << 20;

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  Result<> run() {
    if (kernel_.insts.size() > kMaxRecords)
      return fail(OST_INVALID_ARGUMENT, "kir: {} records are above the limit of {}",
                  kernel_.insts.size(), kMaxRecords);
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      OST_TRY(check_encoding(kernel_.insts[v], v));
      if (!(info(kernel_.op(v)).levels & 1))
        return wrong(v, "{} exists in level 2 only", info(kernel_.op(v)).name);
      if (Result<> types = check_types(kernel_, kernel_.insts[v]); !types)
        return std::unexpected(types.error().in(fmt::format("kir record {}", v)));
    }
    OST_TRY(declarations());
    scope_.extend(kernel_);
    for (Value v = 0; v < kernel_.insts.size(); ++v) OST_TRY(scoping(v));
    return in_place();
  }

 private:
  template <typename... Args>
  static std::unexpected<Error> wrong(Value v, fmt::format_string<Args...> format, Args&&... args) {
    return fail(OST_INVALID_ARGUMENT, "kir record {}: {}", v,
                fmt::format(format, std::forward<Args>(args)...));
  }

  // Axes are numbered in order.
  Result<> declarations() const {
    uint64_t axes = 0;
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      const Inst& inst = kernel_.insts[v];
      if (kernel_.op(v) == Op::axis) {
        if (inst.imm != axes)
          return wrong(v, "axis: the id is {}, wanted {}: ids count the axes in order", inst.imm,
                       axes);
        if (++axes > kMaxAxes) return wrong(v, "axis: the kernel has more than {} axes", kMaxAxes);
      }
    }
    return check_declarations(kernel_);
  }

  uint64_t axes_of_role(Role role) const {
    uint64_t set = 0;
    for (size_t i = 0; i < scope_.axes.size(); ++i) {
      if (kernel_.insts[scope_.axes[i]].aux == static_cast<uint32_t>(role)) set |= uint64_t{1} << i;
    }
    return set;
  }

  Value first_axis(uint64_t set) const {
    return scope_.axes[static_cast<size_t>(__builtin_ctzll(set))];
  }

  Result<> scoping(Value v) const {
    const Inst& inst = kernel_.insts[v];
    const Op op = kernel_.op(v);
    if (op == Op::axis || op == Op::param) {
      const char* what = op == Op::axis ? "extent" : "count";
      const Value amount = inst.src[0];
      if (scope_.depends[amount] != 0)
        return wrong(v, "{}: the {} depends on axis %{}", info(op).name, what,
                     first_axis(scope_.depends[amount]));
      if (!scope_.uniform[amount])
        return wrong(v, "{}: the {} depends on memory or on floats", info(op).name, what);
    }
    if (op == Op::store) {
      const uint64_t reduced = scope_.depends[v] & axes_of_role(Role::reduce);
      if (reduced != 0)
        return wrong(v, "store: depends on the reduce axis %{} outside of a reduction over it",
                     first_axis(reduced));
    }
    return {};
  }

  // A param that is both loaded from and stored to. Statements have no order without carry axes, so
  // no statement may read what another one writes: either both are under carry axes, or the load
  // reads exactly the element that its own statement writes.
  Result<> in_place() const {
    std::vector<char> loaded(kernel_.insts.size(), 0);
    std::vector<Value> stores;
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      if (kernel_.op(v) == Op::load) loaded[kernel_.insts[v].src[0]] = 1;
      if (kernel_.op(v) == Op::store) stores.push_back(v);
    }
    for (Value param = 0; param < kernel_.insts.size(); ++param) {
      if (kernel_.op(param) != Op::param || !loaded[param]) continue;
      std::vector<Value> writes;
      std::copy_if(stores.begin(), stores.end(), std::back_inserter(writes),
                   [&](Value s) { return kernel_.insts[s].src[0] == param; });
      if (!writes.empty()) OST_TRY(readers_of(param, writes));
    }
    return {};
  }

  // Follows each load of the param to the stores that use it.
  Result<> readers_of(Value param, const std::vector<Value>& writes) const {
    const Value index = kernel_.insts[writes[0]].src[1];
    std::vector<Value> at_index(kernel_.insts.size(),
                                kNone);  // by record: a load at the index of the first store
    std::vector<Value> elsewhere(kernel_.insts.size(), kNone);  // a load at another index
    for (Value v = param + 1; v < kernel_.insts.size(); ++v) {
      if (kernel_.op(v) == Op::load && kernel_.insts[v].src[0] == param) {
        (kernel_.insts[v].src[1] == index ? at_index : elsewhere)[v] = v;
      }
      for (Value source : kernel_.operands(v)) {
        if (at_index[v] == kNone) at_index[v] = at_index[source];
        if (elsewhere[v] == kNone) elsewhere[v] = elsewhere[source];
      }
      if (kernel_.op(v) != Op::store || (at_index[v] == kNone && elsewhere[v] == kNone)) continue;
      for (Value write : writes) OST_TRY(fits(v, write, at_index[v], elsewhere[v]));
    }
    return {};
  }

  Result<> fits(Value user, Value write, Value at_index, Value elsewhere) const {
    const uint64_t carry = axes_of_role(Role::carry);
    const bool user_carries = (scope_.depends[user] & carry) != 0;
    const bool write_carries = (scope_.depends[write] & carry) != 0;
    if (user_carries && write_carries) return {};
    const Value load = elsewhere != kNone ? elsewhere : at_index;
    const uint64_t slot = kernel_.insts[kernel_.insts[load].src[0]].imm;
    if (user_carries != write_carries)
      return wrong(load,
                   "load: of slot {}, which store %{} writes, is used by store %{}: wanted both or "
                   "none under a carry axis",
                   slot, write, user);
    if (elsewhere != kNone || kernel_.insts[write].src[1] != kernel_.insts[load].src[1])
      return wrong(load,
                   "load: reads slot {} at %{}, but store %{} writes it at %{}: wanted the same "
                   "index or carry axes",
                   slot, kernel_.insts[load].src[1], write, kernel_.insts[write].src[1]);
    if (scope_.depends[user] != scope_.depends[write])
      return wrong(
          load,
          "load: of slot {}, which store %{} writes in place, is used by store %{} over other axes",
          slot, write, user);
    return {};
  }

  const Kernel& kernel_;
  Scope scope_;
};

}  // namespace

Result<> verify(const Kernel& kernel) {
  return kernel.level == 2 ? verify_level2(kernel) : Verifier(kernel).run();
}

}  // namespace ost::kir
