// A kernel of level 2 as a plugin reads it: parse() of view.hpp, and the rules of docs/kir.md §10
// that a lowering relies on. The host has verified what it sends; this is for bytes of any origin.
#ifndef OSTINATO_KIR_LEVEL2_HPP_
#define OSTINATO_KIR_LEVEL2_HPP_

#include <algorithm>

#include "view.hpp"

namespace ostinato::kir {

inline constexpr uint32_t kMaxRecords = 1u << 20, kMaxLanes = 1u << 16, kMaxSlots = 1024;
inline constexpr size_t kMaxRegions = 64;  // one in the other

namespace detail {

class Level2Checker {
 public:
  explicit Level2Checker(const Kernel& kernel)
      : k_(kernel),
        region_of_(kernel.size(), 0),
        uniform_(kernel.size(), 1),
        by_host_(kernel.size(), 0) {}

  // What is wrong with the kernel, "" if nothing.
  std::string run() {
    const ost_kir_header_t& h = k_.header;
    if (k_.size() > kMaxRecords)
      return std::to_string(k_.size()) + " records, wanted at most 1048576";
    if (h.lanes == 0 || h.lanes > kMaxLanes)
      return std::to_string(h.lanes) + " lanes, wanted 1 to 65536";
    if (h.numerics > OST_KIR_FAST)
      return "numerics " + std::to_string(h.numerics) + ", wanted 0 or 1";
    if (h.param_count > kMaxSlots || h.var_count > kMaxSlots)
      return "more than 1024 parameters or variables";
    params_.assign(h.param_count, 0);
    vars_.assign(h.var_count, 0);
    open_.push_back({kNone, 0, true});
    for (Id i = 0; i < k_.size(); ++i) {
      const std::string wrong = record(i);
      if (!wrong.empty())
        return "record " + std::to_string(i) + " (" + std::string(op_name(k_.op(i))) +
               "): " + wrong;
    }
    if (open_.size() > 1) return "a region that is never closed";
    if (std::ranges::find(params_, 0) != params_.end() ||
        std::ranges::find(vars_, 0) != vars_.end())
      return "a parameter or variable of the header that no record declares";
    return "";
  }

 private:
  struct Region {
    Id opener;
    uint32_t id;
    bool uniform;  // all lanes of the group are in it, or none
  };

  std::string record(Id i) {
    const ost_kir_inst_t& inst = k_[i];
    uniform_[i] =
        k_.header.lanes == 1 || (inst.op != OST_KIR_OP_LANE && inst.op != OST_KIR_OP_PRIVATE);
    for (const Id source : k_.operands(i)) {
      if (inst.op != OST_KIR_OP_END && !visible(source))
        return "operand %" + std::to_string(source) + " is inside of a region that has ended";
      if (!uniform_[source]) uniform_[i] = 0;
    }
    by_host_[i] = known_to_host(i);
    region_of_[i] = open_.back().id;
    const std::string wrong = fields(i);
    return wrong.empty() ? place(i) : wrong;
  }

  static uint32_t rounding(uint32_t to, uint32_t from) {
    const auto real = [](uint32_t t) { return is_float(t) || is_half(t); };
    if (to == from || to == OST_DTYPE_BOOL || from == OST_DTYPE_BOOL) return OST_KIR_CAST_WRAP;
    return real(to) ? OST_KIR_CAST_RNE : real(from) ? OST_KIR_CAST_SAT : OST_KIR_CAST_WRAP;
  }

  // Before the launch: from constants and variables alone.
  bool known_to_host(Id i) const {
    const ost_kir_inst_t& inst = k_[i];
    if (inst.op == OST_KIR_OP_CONST || inst.op == OST_KIR_OP_VAR) return true;
    return inst.op >= OST_KIR_OP_NEG && inst.op <= OST_KIR_OP_CAST && inst.op != OST_KIR_OP_LDEXP &&
           (is_int(inst.dtype) || inst.dtype == OST_DTYPE_BOOL) &&
           std::ranges::all_of(k_.operands(i), [&](Id source) { return by_host_[source] != 0; });
  }

  // What parse() leaves open of one record.
  std::string fields(Id i) const {
    const ost_kir_inst_t& inst = k_[i];
    switch (inst.op) {
      case OST_KIR_OP_CONST: {
        const unsigned width = inst.dtype == OST_DTYPE_BOOL ? 1 : bits_of(inst.dtype);
        return width < 64 && inst.imm >> width != 0 ? "bits above the width of its type" : "";
      }
      case OST_KIR_OP_VAR: {
        const int64_t min = k_.const_int(inst.src[0]), max = k_.const_int(inst.src[1]);
        return min < 0 || max < min ? "its bounds are below 0 or the wrong way round" : "";
      }
      case OST_KIR_OP_CAST:
        return inst.aux == rounding(inst.dtype, k_.dtype(inst.src[0]))
                   ? ""
                   : "not the rounding that fits the types";
      case OST_KIR_OP_IF:
      case OST_KIR_OP_END:
      case OST_KIR_OP_BARRIER:
        return inst.dtype == OST_DTYPE_BOOL ? "" : "its type is not bool";
      case OST_KIR_OP_LOAD:
      case OST_KIR_OP_STORE: {
        const ost_kir_inst_t& memory = k_[inst.src[0]];
        const uint32_t need = inst.op == OST_KIR_OP_LOAD ? OST_KIR_READ : OST_KIR_WRITE;
        return memory.op != OST_KIR_OP_PARAM || (memory.aux & need) != 0
                   ? ""
                   : "a parameter that is not declared for it";
      }
      default:
        return "";
    }
  }

  std::string place(Id i) {
    const ost_kir_inst_t& inst = k_[i];
    switch (inst.op) {
      case OST_KIR_OP_LOOP:
        return open(i, uniform_[inst.src[0]] && uniform_[inst.src[1]]);
      case OST_KIR_OP_IF:
        return open(i, uniform_[inst.src[0]]);
      case OST_KIR_OP_END:
        if (open_.back().opener != inst.src[0]) return "closes what is not the innermost region";
        open_.pop_back();
        return "";
      case OST_KIR_OP_BARRIER:
        return open_.back().uniform ? "" : "in a region that some lanes of a group may not enter";
      case OST_KIR_OP_PARAM:
        return by_host_[inst.src[0]] ? declare(params_[inst.imm])
                                     : "a count that is not made of constants and variables";
      case OST_KIR_OP_VAR:
        return declare(vars_[inst.imm]);
      case OST_KIR_OP_GRID:
        return by_host_[inst.src[0]] ? declare(grids_[inst.imm])
                                     : "a count that is not made of constants and variables";
      case OST_KIR_OP_LOCAL:
        return open_.size() > 1 ? "inside of a region" : "";
      default:
        return "";
    }
  }

  std::string open(Id i, bool uniform) {
    if (open_.size() > kMaxRegions) return "more than 64 regions, one in the other";
    open_.push_back({i, ++regions_, uniform && open_.back().uniform});
    return "";
  }
  std::string declare(char& seen) {
    if (open_.size() > 1) return "inside of a region";
    if (seen) return "declared twice";
    seen = 1;
    return "";
  }
  bool visible(Id source) const {
    return std::ranges::any_of(open_, [&](const Region& r) { return r.id == region_of_[source]; });
  }

  const Kernel& k_;
  std::vector<uint32_t> region_of_;  // by record: the id of its region
  std::vector<char> uniform_, by_host_, params_, vars_;
  char grids_[3] = {};
  std::vector<Region> open_;
  uint32_t regions_ = 0;
};

}  // namespace detail

// Like parse(), for level 2.
inline std::string parse_level2(ost_bytes_t bytes, Kernel* out) {
  std::string wrong = parse(bytes, out, 2);
  return wrong.empty() ? detail::Level2Checker(*out).run() : wrong;
}

}  // namespace ostinato::kir

#endif  // OSTINATO_KIR_LEVEL2_HPP_
