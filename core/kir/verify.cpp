// The verifier: encoding and types of each record, then what needs the whole kernel (docs/kir.md lists the rules).
#include <algorithm>

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
      return fail(OST_INVALID_ARGUMENT, "kir: {} records are above the limit of {}", kernel_.insts.size(), kMaxRecords);
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      OST_TRY(check_encoding(kernel_.insts[v], v));
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
    return fail(OST_INVALID_ARGUMENT, "kir record {}: {}", v, fmt::format(format, std::forward<Args>(args)...));
  }

  // Slots are dense and declared once; axes are numbered in order; variables have sensible bounds.
  Result<> declarations() const {
    uint64_t axes = 0;
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      const Inst& inst = kernel_.insts[v];
      if (kernel_.op(v) == Op::var) {
        const auto min = static_cast<int64_t>(kernel_.insts[inst.src[0]].imm);
        const auto max = static_cast<int64_t>(kernel_.insts[inst.src[1]].imm);
        if (min < 0) return wrong(v, "var: the minimum is {}, wanted at least 0", min);
        if (max < min) return wrong(v, "var: the maximum {} is below the minimum {}", max, min);
      }
      if (kernel_.op(v) == Op::axis) {
        if (inst.imm != axes) return wrong(v, "axis: the id is {}, wanted {}: ids count the axes in order", inst.imm, axes);
        if (++axes > kMaxAxes) return wrong(v, "axis: the kernel has more than {} axes", kMaxAxes);
      }
    }
    OST_TRY(slots(Op::param));
    return slots(Op::var);
  }

  Result<> slots(Op op) const {
    std::vector<char> seen(op == Op::param ? kernel_.param_count() : kernel_.var_count(), 0);
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      if (kernel_.op(v) != op) continue;
      const uint64_t slot = kernel_.insts[v].imm;
      if (slot >= seen.size()) return wrong(v, "{}: slot {} of {}: slots must be dense", info(op).name, slot, seen.size());
      if (seen[slot]) return wrong(v, "{}: slot {} is declared twice", info(op).name, slot);
      seen[slot] = 1;
    }
    return {};
  }

  uint64_t axes_of_role(Role role) const {
    uint64_t set = 0;
    for (size_t i = 0; i < scope_.axes.size(); ++i) {
      if (kernel_.insts[scope_.axes[i]].aux == static_cast<uint32_t>(role)) set |= uint64_t{1} << i;
    }
    return set;
  }

  Value first_axis(uint64_t set) const { return scope_.axes[static_cast<size_t>(__builtin_ctzll(set))]; }

  Result<> scoping(Value v) const {
    const Inst& inst = kernel_.insts[v];
    const Op op = kernel_.op(v);
    if (op == Op::axis || op == Op::param) {
      const char* what = op == Op::axis ? "extent" : "count";
      const Value amount = inst.src[0];
      if (scope_.depends[amount] != 0) return wrong(v, "{}: the {} depends on axis %{}", info(op).name, what, first_axis(scope_.depends[amount]));
      if (!scope_.uniform[amount]) return wrong(v, "{}: the {} depends on memory or on floats", info(op).name, what);
    }
    if (op == Op::store) {
      const uint64_t reduced = scope_.depends[v] & axes_of_role(Role::reduce);
      if (reduced != 0) return wrong(v, "store: depends on the reduce axis %{} outside of a reduction over it", first_axis(reduced));
    }
    return {};
  }

  // A param that is both read and written: a load is sound if it runs in the order of a carry axis, or reads exactly the
  // element that a store of the same point writes, and is not used at other points.
  Result<> in_place() const {
    const uint64_t carry = axes_of_role(Role::carry);
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      if (kernel_.op(v) != Op::load) continue;
      const Value param = kernel_.insts[v].src[0];
      if (!(kernel_.insts[param].aux & OST_KIR_WRITE) || (scope_.depends[v] & carry) != 0) continue;
      OST_TRY(in_place_load(v, param, carry));
    }
    return {};
  }

  Result<> in_place_load(Value load, Value param, uint64_t carry) const {
    const Value index = kernel_.insts[load].src[1];
    Value partner = kNone;
    bool written = false;
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      if (kernel_.op(v) != Op::store || kernel_.insts[v].src[0] != param) continue;
      written = true;
      if (kernel_.insts[v].src[1] == index || (scope_.depends[v] & carry) != 0) partner = v;
      if (kernel_.insts[v].src[1] != index && (scope_.depends[v] & carry) == 0)
        return wrong(load, "load: reads slot {} at %{}, but store %{} writes it at %{}: wanted the same index or a carry axis",
                     kernel_.insts[param].imm, index, v, kernel_.insts[v].src[1]);
    }
    if (!written || (scope_.depends[partner] & carry) != 0) return {};
    return same_points(load, partner);
  }

  // Every store that uses the load runs over the same axes as the store to its param.
  Result<> same_points(Value load, Value partner) const {
    std::vector<char> uses(kernel_.insts.size(), 0);
    uses[load] = 1;
    for (Value v = load + 1; v < kernel_.insts.size(); ++v) {
      for (Value source : kernel_.operands(v)) uses[v] |= uses[source];
      if (uses[v] && kernel_.op(v) == Op::store && scope_.depends[v] != scope_.depends[partner]) {
        return wrong(load, "load: of a param that store %{} writes in place is used by store %{} over other axes", partner, v);
      }
    }
    return {};
  }

  const Kernel& kernel_;
  Scope scope_;
};

}  // namespace

Result<> verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace ost::kir
