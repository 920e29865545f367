#include <algorithm>

#include "core/kir/declarations.hpp"
#include "core/kir/level2.hpp"
#include "core/kir/ops.hpp"
#include "core/kir/typing.hpp"

namespace ost::kir {
namespace {

constexpr size_t kMaxRecords = size_t{1} << 20;
constexpr size_t kMaxDepth = 64;

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), region_of_(kernel.insts.size(), 0), uniform_(uniform_in_group(kernel)) {}

  Result<> run() {
    if (kernel_.insts.size() > kMaxRecords)
      return fail(OST_INVALID_ARGUMENT, "kir: {} records are above the limit of {}",
                  kernel_.insts.size(), kMaxRecords);
    if (kernel_.lanes == 0) return fail(OST_INVALID_ARGUMENT, "kir: a group of 0 lanes");
    open_.push_back({kNone, true});
    for (Value v = 0; v < kernel_.insts.size(); ++v) OST_TRY(record(v));
    if (open_.size() > 1)
      return wrong(open_.back().opener, "{}: the region is never closed",
                   info(kernel_.op(open_.back().opener)).name);
    return check_declarations(kernel_);
  }

 private:
  struct Region {
    Value opener;
    bool uniform;  // all lanes of the group are in it, or none
  };

  template <typename... Args>
  static std::unexpected<Error> wrong(Value v, fmt::format_string<Args...> format, Args&&... args) {
    return fail(OST_INVALID_ARGUMENT, "kir record {}: {}", v,
                fmt::format(format, std::forward<Args>(args)...));
  }

  Result<> record(Value v) {
    const Inst& inst = kernel_.insts[v];
    OST_TRY(check_encoding(inst, v));
    const Op op = kernel_.op(v);
    if (!(info(op).levels & 2)) return wrong(v, "{} exists in level 1 only", info(op).name);
    if (Result<> types = check_types(kernel_, inst); !types)
      return std::unexpected(types.error().in(fmt::format("kir record {}", v)));
    for (const Value source : kernel_.operands(v)) {
      if (op != Op::end && !visible(source))
        return wrong(v, "{}: operand %{} is inside of a region that has ended", info(op).name,
                     source);
    }
    region_of_[v] = static_cast<uint32_t>(ids_.back());
    return place(v, op);
  }

  Result<> place(Value v, Op op) {
    const Inst& inst = kernel_.insts[v];
    switch (op) {
      case Op::loop:
        return open(v, open_.back().uniform && uniform_[inst.src[0]] && uniform_[inst.src[1]]);
      case Op::if_true:
        return open(v, open_.back().uniform && uniform_[inst.src[0]]);
      case Op::end:
        if (open_.back().opener != inst.src[0])
          return wrong(v, "end: closes %{}, but the innermost region is %{}", inst.src[0],
                       open_.back().opener);
        open_.pop_back();
        ids_.pop_back();
        return {};
      case Op::barrier:
        if (open_.back().uniform) return {};
        return wrong(v, "barrier: in a region that some lanes of a group may not enter");
      case Op::grid:
      case Op::param:
      case Op::var:
      case Op::local_array:
        if (open_.size() > 1) return wrong(v, "{}: inside of a region", info(op).name);
        return declaration(v, op);
      default:
        return {};
    }
  }

  Result<> open(Value v, bool uniform) {
    if (open_.size() > kMaxDepth)
      return wrong(v, "regions are nested more than {} deep", kMaxDepth);
    open_.push_back({v, uniform});
    ids_.push_back(++regions_);
    return {};
  }

  Result<> declaration(Value v, Op op) {
    const Inst& inst = kernel_.insts[v];
    if ((op == Op::grid || op == Op::param) && !by_host(inst.src[0]))
      return wrong(v, "{}: the count is not made of constants and variables alone", info(op).name);
    if (op == Op::grid) {
      if (grids_ & (1u << inst.imm)) return wrong(v, "grid: dimension {} is said twice", inst.imm);
      grids_ |= 1u << inst.imm;
    }
    return {};
  }

  // What a host can evaluate before the launch.
  bool by_host(Value v) const {
    std::vector<Value> stack{v};
    while (!stack.empty()) {
      const Value at = stack.back();
      stack.pop_back();
      const Op op = kernel_.op(at);
      const bool known = op == Op::constant || op == Op::var ||
                         ((is_int(kernel_.dtype(at)) || kernel_.dtype(at) == DType::boolean) &&
                          op >= Op::neg && op <= Op::cast && op != Op::ldexp);
      if (!known) return false;
      for (const Value source : kernel_.operands(at)) stack.push_back(source);
      if (stack.size() > 4096) return false;
    }
    return true;
  }

  bool visible(Value v) const {
    return std::find(ids_.begin(), ids_.end(), region_of_[v]) != ids_.end();
  }

  const Kernel& kernel_;
  std::vector<uint32_t> region_of_;  // by record: the id of its region
  std::vector<char> uniform_;
  std::vector<Region> open_;
  std::vector<uint32_t> ids_{0};
  uint32_t regions_ = 0, grids_ = 0;
};

}  // namespace

Result<> verify_level2(const Kernel& kernel) { return Verifier(kernel).run(); }

std::vector<char> uniform_in_group(const Kernel& kernel) {
  std::vector<char> uniform(kernel.insts.size(), 1);
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    const Op op = kernel.op(v);
    if (op == Op::lane) uniform[v] = kernel.lanes == 1;
    if (op == Op::private_array) uniform[v] = kernel.lanes == 1;
    for (const Value source : kernel.operands(v))
      if (source < v && !uniform[source]) uniform[v] = 0;
  }
  return uniform;
}

}  // namespace ost::kir
