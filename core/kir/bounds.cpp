// Proves that every access that happens is inside its parameter. For each load and store two
// polynomials have to be nonnegative, index and count - 1 - index, given that the axes of the
// access have points and that its mask is true.
#include "core/kir/index.hpp"
#include "core/kir/kernel.hpp"
#include "core/kir/prove.hpp"

namespace ost::kir {
namespace {

constexpr size_t kMaxTerms = 64;
constexpr int kBudgetPerAccess = 2000;
constexpr int kBudgetPerKernel = 200'000;  // bounds the time that a stranger's kernel can take

class BoundsProver {
 public:
  explicit BoundsProver(const Kernel& kernel) : kernel_(kernel), index_(kernel, kMaxTerms) {
    index_.extend();
  }

  Result<> run() {
    for (Value v = 0; v < kernel_.insts.size(); ++v) {
      const Op op = kernel_.op(v);
      if (op == Op::load || op == Op::store) OST_TRY(access(v));
    }
    return {};
  }

 private:
  Result<> access(Value v) {
    const Inst& inst = kernel_.insts[v];
    const uint32_t mask_operand = kernel_.op(v) == Op::load ? 2 : 3;
    const Value mask = inst.nsrc > mask_operand ? inst.src[mask_operand] : kNone;
    if (mask != kNone && kernel_.op(mask) == Op::constant && kernel_.insts[mask].imm == 0)
      return {};  // never happens
    const Value at = inst.src[1], size = kernel_.insts[inst.src[0]].src[0];
    const Poly index = index_.poly(at);
    const Poly count = index_.poly(size);
    if (!states_nonnegative(mask, at) && !holds(v, mask, index))
      return unproved(v, "the index may be negative", at);
    if (!states_below(mask, at, size) && !holds(v, mask, count - Poly::constant(1) - index)) {
      return unproved(v, "the index may reach the count", at);
    }
    return {};
  }

  // What a mask says of the very value that is the index needs no arithmetic: it holds however the
  // index was computed, even if that wrapped.
  bool states_nonnegative(Value mask, Value index) const {
    return any_conjunct(mask, [&](const Inst& c) {
      if (c.nsrc != 2 || c.src[1] != index) return false;
      const auto low = constant(c.src[0]);
      return low && ((c.op == OST_KIR_OP_LE && *low >= 0) || (c.op == OST_KIR_OP_LT && *low >= -1));
    });
  }
  bool states_below(Value mask, Value index, Value count) const {
    return any_conjunct(mask, [&](const Inst& c) {
      return c.op == OST_KIR_OP_LT && c.src[0] == index && c.src[1] == count;
    });
  }
  // Looks at a bounded number of them: a stranger's mask may share its parts without end.
  template <typename Test>
  bool any_conjunct(Value mask, const Test& test) const {
    std::vector<Value> stack;
    if (mask != kNone) stack.push_back(mask);
    for (int looked_at = 0; !stack.empty() && looked_at < 256; ++looked_at) {
      const Inst& inst = kernel_.insts[stack.back()];
      stack.pop_back();
      if (inst.op != OST_KIR_OP_AND) {
        if (test(inst)) return true;
        continue;
      }
      stack.push_back(inst.src[0]);
      stack.push_back(inst.src[1]);
    }
    return false;
  }
  std::optional<int64_t> constant(Value v) const {
    if (kernel_.op(v) != Op::constant || kernel_.dtype(v) != DType::i64) return std::nullopt;
    return static_cast<int64_t>(kernel_.insts[v].imm);
  }

  bool holds(Value access, Value mask, const Poly& nonnegative) {
    if (const auto r = index_.range(nonnegative); r && r->lo >= 0) return true;
    if (budget_ <= 0) return false;
    const int budget = std::min(kBudgetPerAccess, budget_);
    Prover prover(index_, budget);
    prover.assume_points(index_.depends(access));
    if (mask != kNone) prover.assume_truth(mask, true);
    prover.allow_cases();
    const bool proved = prover.nonnegative(nonnegative);
    budget_ -= budget - std::max(prover.budget(), 0);
    return proved;
  }

  std::unexpected<Error> unproved(Value v, const char* what, Value index) const {
    const Range r = index_.range(index);
    const Value param = kernel_.insts[v].src[0];
    return fail(
        OST_INVALID_ARGUMENT,
        "kir record {}: {} of slot {} is not proved to be in bounds: {} (index %{} is in {}..{}, "
        "the count is %{}); "
        "wanted an index below the count for all variable values, or a mask that makes it so",
        v, kernel_.op(v) == Op::load ? "load" : "store", kernel_.insts[param].imm, what, index,
        r.lo, r.hi, kernel_.insts[param].src[0]);
  }

  const Kernel& kernel_;
  IndexAnalysis index_;
  int budget_ = kBudgetPerKernel;
};

}  // namespace

Result<> prove_bounds(const Kernel& kernel) {
  if (kernel.level != 1)
    return fail(OST_INVALID_ARGUMENT, "kir: bounds are proved of level 1, found level {}",
                kernel.level);
  return BoundsProver(kernel).run();
}

}  // namespace ost::kir
