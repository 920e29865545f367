// A KIR kernel as a plugin sees it. parse() makes sure of all that code which walks the records
// relies on (operand positions, operand classes, operand types), so a lowering of a parsed kernel
// needs no further checks to be safe. The host has verified kernels that it sends, bounds included;
// parse() is for bytes of any origin.
#ifndef OSTINATO_KIR_VIEW_HPP_
#define OSTINATO_KIR_VIEW_HPP_

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../kir.h"

namespace ostinato::kir {

using Id = uint32_t;  // position of a record
inline constexpr Id kNone = OST_KIR_NO_INDEX;

// --- element types
constexpr bool is_dtype(uint32_t t) { return t >= OST_DTYPE_BOOL && t <= OST_DTYPE_F64; }
constexpr bool is_half(uint32_t t) { return t == OST_DTYPE_F16 || t == OST_DTYPE_BF16; }
constexpr bool is_float(uint32_t t) { return t == OST_DTYPE_F32 || t == OST_DTYPE_F64; }
constexpr bool is_signed(uint32_t t) { return t >= OST_DTYPE_I8 && t <= OST_DTYPE_I64; }
constexpr bool is_int(uint32_t t) { return t >= OST_DTYPE_I8 && t <= OST_DTYPE_U64; }
constexpr unsigned size_of(uint32_t t) {
  constexpr unsigned char kSizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return is_dtype(t) ? kSizes[t] : 0;
}
constexpr unsigned bits_of(uint32_t t) { return 8 * size_of(t); }
constexpr std::string_view dtype_name(uint32_t t) {
  constexpr std::string_view kNames[] = {"?",   "bool", "i8",  "i16", "i32",  "i64", "u8",
                                         "u16", "u32",  "u64", "f16", "bf16", "f32", "f64"};
  return is_dtype(t) ? kNames[t] : kNames[0];
}

// --- operations
struct OpInfo {
  uint16_t op;
  std::string_view name;
  uint8_t min_src, max_src;
};
inline constexpr OpInfo kOps[] = {
    {OST_KIR_OP_CONST, "const", 0, 0},
    {OST_KIR_OP_PARAM, "param", 1, 1},
    {OST_KIR_OP_VAR, "var", 2, 2},
    {OST_KIR_OP_AXIS, "axis", 1, 1},
    {OST_KIR_OP_LOAD, "load", 2, 3},
    {OST_KIR_OP_STORE, "store", 3, 4},
    {OST_KIR_OP_NEG, "neg", 1, 1},
    {OST_KIR_OP_ABS, "abs", 1, 1},
    {OST_KIR_OP_SQRT, "sqrt", 1, 1},
    {OST_KIR_OP_FLOOR, "floor", 1, 1},
    {OST_KIR_OP_CEIL, "ceil", 1, 1},
    {OST_KIR_OP_TRUNC, "trunc", 1, 1},
    {OST_KIR_OP_RINT, "rint", 1, 1},
    {OST_KIR_OP_NOT, "not", 1, 1},
    {OST_KIR_OP_ADD, "add", 2, 2},
    {OST_KIR_OP_SUB, "sub", 2, 2},
    {OST_KIR_OP_MUL, "mul", 2, 2},
    {OST_KIR_OP_DIV, "div", 2, 2},
    {OST_KIR_OP_REM, "rem", 2, 2},
    {OST_KIR_OP_MIN, "min", 2, 2},
    {OST_KIR_OP_MAX, "max", 2, 2},
    {OST_KIR_OP_AND, "and", 2, 2},
    {OST_KIR_OP_OR, "or", 2, 2},
    {OST_KIR_OP_XOR, "xor", 2, 2},
    {OST_KIR_OP_SHL, "shl", 2, 2},
    {OST_KIR_OP_SHR, "shr", 2, 2},
    {OST_KIR_OP_EQ, "eq", 2, 2},
    {OST_KIR_OP_NE, "ne", 2, 2},
    {OST_KIR_OP_LT, "lt", 2, 2},
    {OST_KIR_OP_LE, "le", 2, 2},
    {OST_KIR_OP_WHERE, "where", 3, 3},
    {OST_KIR_OP_FMA, "fma", 3, 3},
    {OST_KIR_OP_LDEXP, "ldexp", 2, 2},
    {OST_KIR_OP_CAST, "cast", 1, 1},
    {OST_KIR_OP_BITCAST, "bitcast", 1, 1},
    {OST_KIR_OP_REDUCE, "reduce", 2, 2},
    {OST_KIR_OP_CONTRACT, "contract", 3, 3},
    {OST_KIR_OP_ARGREDUCE, "argreduce", 2, 2},
    {OST_KIR_OP_ATTN, "attn", 4, 4},
    {OST_KIR_OP_GRID, "grid", 1, 1},
    {OST_KIR_OP_GROUP, "group", 0, 0},
    {OST_KIR_OP_LANE, "lane", 0, 0},
    {OST_KIR_OP_LOCAL, "local", 0, 0},
    {OST_KIR_OP_PRIVATE, "private", 0, 0},
    {OST_KIR_OP_LOOP, "loop", 3, 3},
    {OST_KIR_OP_IF, "if", 1, 1},
    {OST_KIR_OP_END, "end", 1, 1},
    {OST_KIR_OP_BARRIER, "barrier", 0, 0},
};
constexpr const OpInfo* find_op(uint16_t op) {
  for (const OpInfo& info : kOps)
    if (info.op == op) return &info;
  return nullptr;
}
constexpr std::string_view op_name(uint16_t op) {
  const OpInfo* info = find_op(op);
  return info ? info->name : "?";
}
constexpr bool is_compare(uint16_t op) { return op >= OST_KIR_OP_EQ && op <= OST_KIR_OP_LE; }
// What a load or store may name.
constexpr bool is_memory(uint16_t op) {
  return op == OST_KIR_OP_PARAM || op == OST_KIR_OP_LOCAL || op == OST_KIR_OP_PRIVATE;
}
// The level that has the operation: 0 both, 1 or 2.
constexpr uint32_t level_of(uint16_t op) {
  return op == OST_KIR_OP_AXIS || (op >= OST_KIR_OP_REDUCE && op <= OST_KIR_OP_ATTN) ? 1
         : op >= OST_KIR_OP_GRID                                                    ? 2
                                                                                    : 0;
}
constexpr bool is_reduction(uint16_t op) {
  return op >= OST_KIR_OP_REDUCE && op <= OST_KIR_OP_ATTN;
}

// --- a kernel
struct Kernel {
  ost_kir_header_t header{};
  std::vector<ost_kir_inst_t> insts;

  uint32_t size() const { return static_cast<uint32_t>(insts.size()); }
  const ost_kir_inst_t& operator[](Id i) const { return insts[i]; }
  uint16_t op(Id i) const { return insts[i].op; }
  uint32_t dtype(Id i) const { return insts[i].dtype; }
  Id src(Id i, unsigned k) const { return insts[i].src[k]; }
  std::span<const Id> operands(Id i) const { return {insts[i].src, insts[i].nsrc}; }
  // The mask of a load or store, kNone if it has none.
  Id mask(Id i) const {
    const unsigned k = op(i) == OST_KIR_OP_LOAD ? 2 : 3;
    return insts[i].nsrc > k ? insts[i].src[k] : kNone;
  }
  // The axis that a reduction removes: its last operand.
  Id reduced_axis(Id i) const { return insts[i].src[insts[i].nsrc - 1]; }
  uint32_t combine(Id i) const { return insts[i].aux & 0xff; }
  uint32_t order(Id i) const { return insts[i].aux >> 8; }
  // The value of an integer constant, sign-extended.
  int64_t const_int(Id i) const {
    const unsigned shift = 64 - bits_of(dtype(i));
    return is_signed(dtype(i)) ? static_cast<int64_t>(insts[i].imm << shift) >> shift
                               : static_cast<int64_t>(insts[i].imm);
  }
};

namespace detail {

class Checker {
 public:
  Checker(const Kernel& kernel, Id at) : k_(kernel), at_(at), inst_(kernel[at]) {}

  // What is wrong with the record, "" if nothing.
  std::string run() const {
    const OpInfo* info = find_op(inst_.op);
    if (!info) return "unknown opcode " + std::to_string(inst_.op);
    if (inst_.nsrc < info->min_src || inst_.nsrc > info->max_src) return "wrong number of operands";
    if (!is_dtype(inst_.dtype)) return "unknown type " + std::to_string(inst_.dtype);
    for (unsigned i = 0; i < inst_.nsrc; ++i) {
      if (inst_.src[i] >= at_) return "an operand that is not an earlier record";
      const uint16_t op = k_.op(inst_.src[i]);
      const bool memory = inst_.op == OST_KIR_OP_LOAD || inst_.op == OST_KIR_OP_STORE;
      const bool region = op == OST_KIR_OP_LOOP || op == OST_KIR_OP_IF;
      if (inst_.op == OST_KIR_OP_END ? !region : no_result(op) || is_memory(op) != (memory && i == 0))
        return "an operand of the wrong class";
    }
    if (level_of(inst_.op) != 0 && level_of(inst_.op) != k_.header.level)
      return "an operation of another level";
    return typed() ? "" : "operand or result types that do not fit";
  }

 private:
  static bool no_result(uint16_t op) {
    return op == OST_KIR_OP_STORE || op == OST_KIR_OP_GRID || op == OST_KIR_OP_IF ||
           op == OST_KIR_OP_END || op == OST_KIR_OP_BARRIER;
  }
  uint32_t type(unsigned i) const { return k_.dtype(inst_.src[i]); }
  bool same(unsigned from, unsigned to) const {
    for (unsigned i = from; i < to; ++i)
      if (type(i) != inst_.dtype) return false;
    return true;
  }
  bool arithmetic() const { return is_int(inst_.dtype) || is_float(inst_.dtype); }
  bool mask_at(unsigned i) const { return inst_.nsrc <= i || type(i) == OST_DTYPE_BOOL; }
  bool axis_at(unsigned i) const {
    const ost_kir_inst_t& axis = k_[inst_.src[i]];
    return axis.op == OST_KIR_OP_AXIS && axis.aux == OST_KIR_AXIS_REDUCE;
  }
  bool reduction() const {
    const uint32_t combine = inst_.aux & 0xff, order = inst_.aux >> 8;
    if (combine < OST_KIR_COMBINE_SUM || combine > OST_KIR_COMBINE_XOR ||
        order > OST_KIR_ORDER_BLK256)
      return false;
    if (is_float(inst_.dtype)) return combine <= OST_KIR_COMBINE_MIN;
    return !is_half(inst_.dtype) &&
           (inst_.dtype != OST_DTYPE_BOOL || combine >= OST_KIR_COMBINE_MAX);
  }

  bool typed() const {
    const uint32_t t = inst_.dtype;
    const unsigned n = inst_.nsrc;
    switch (inst_.op) {
      case OST_KIR_OP_CONST:
        return true;
      case OST_KIR_OP_PARAM:
        return type(0) == OST_DTYPE_I64 && inst_.imm < k_.header.param_count && inst_.aux >= 1 &&
               inst_.aux <= 3;
      case OST_KIR_OP_VAR:
        return t == OST_DTYPE_I64 && same(0, 2) && k_.op(inst_.src[0]) == OST_KIR_OP_CONST &&
               k_.op(inst_.src[1]) == OST_KIR_OP_CONST && inst_.imm < k_.header.var_count;
      case OST_KIR_OP_AXIS:
        return t == OST_DTYPE_I64 && same(0, 1) && inst_.aux <= OST_KIR_AXIS_CARRY;
      case OST_KIR_OP_LOAD:
        return type(0) == t && type(1) == OST_DTYPE_I64 && mask_at(2);
      case OST_KIR_OP_STORE:
        return type(0) == t && type(1) == OST_DTYPE_I64 && type(2) == t && mask_at(3);
      case OST_KIR_OP_SQRT:
      case OST_KIR_OP_FLOOR:
      case OST_KIR_OP_CEIL:
      case OST_KIR_OP_TRUNC:
      case OST_KIR_OP_RINT:
      case OST_KIR_OP_FMA:
        return is_float(t) && same(0, n);
      case OST_KIR_OP_NEG:
      case OST_KIR_OP_ABS:
      case OST_KIR_OP_ADD:
      case OST_KIR_OP_SUB:
      case OST_KIR_OP_MUL:
      case OST_KIR_OP_DIV:
        return arithmetic() && same(0, n);
      case OST_KIR_OP_REM:
      case OST_KIR_OP_SHL:
      case OST_KIR_OP_SHR:
        return is_int(t) && same(0, n);
      case OST_KIR_OP_NOT:
      case OST_KIR_OP_AND:
      case OST_KIR_OP_OR:
      case OST_KIR_OP_XOR:
        return (is_int(t) || t == OST_DTYPE_BOOL) && same(0, n);
      case OST_KIR_OP_MIN:
      case OST_KIR_OP_MAX:
        return !is_half(t) && same(0, n);
      case OST_KIR_OP_EQ:
      case OST_KIR_OP_NE:
      case OST_KIR_OP_LT:
      case OST_KIR_OP_LE:
        return t == OST_DTYPE_BOOL && type(0) == type(1) && !is_half(type(0));
      case OST_KIR_OP_WHERE:
        return type(0) == OST_DTYPE_BOOL && same(1, n);
      case OST_KIR_OP_LDEXP:
        return is_float(t) && same(0, 1) && type(1) == OST_DTYPE_I32;
      case OST_KIR_OP_CAST:
        return true;
      case OST_KIR_OP_BITCAST:
        return bits_of(t) == bits_of(type(0)) && t != OST_DTYPE_BOOL && type(0) != OST_DTYPE_BOOL;
      case OST_KIR_OP_REDUCE:
        return same(0, 1) && axis_at(1) && reduction();
      case OST_KIR_OP_CONTRACT:
        return arithmetic() && same(0, 2) && axis_at(2) && reduction() &&
               k_.combine(at_) == OST_KIR_COMBINE_SUM;
      case OST_KIR_OP_ARGREDUCE:
        return t == OST_DTYPE_I64 && !is_half(type(0)) && axis_at(1) &&
               (inst_.aux == OST_KIR_COMBINE_MAX || inst_.aux == OST_KIR_COMBINE_MIN);
      case OST_KIR_OP_ATTN:
        return t == OST_DTYPE_F32 && same(0, 1) && type(1) == OST_DTYPE_BOOL && same(2, 3) &&
               axis_at(3);
      case OST_KIR_OP_GRID:
        return t == OST_DTYPE_I64 && same(0, 1) && inst_.imm <= 2;
      case OST_KIR_OP_GROUP:
        return t == OST_DTYPE_I64 && inst_.imm <= 2;
      case OST_KIR_OP_LANE:
        return t == OST_DTYPE_I64;
      case OST_KIR_OP_LOCAL:
      case OST_KIR_OP_PRIVATE:
        return inst_.imm >= 1 && inst_.imm <= 1u << 20;
      case OST_KIR_OP_LOOP:
        return t == OST_DTYPE_I64 && same(0, 3) && k_.op(inst_.src[2]) == OST_KIR_OP_CONST &&
               static_cast<int64_t>(k_[inst_.src[2]].imm) > 0;
      case OST_KIR_OP_IF:
        return type(0) == OST_DTYPE_BOOL;
      case OST_KIR_OP_END:
      case OST_KIR_OP_BARRIER:
        return true;
      default:
        return false;
    }
  }

  const Kernel& k_;
  Id at_;
  const ost_kir_inst_t& inst_;
};

}  // namespace detail

// Reads the binary form of a kernel of that level into `out`. Returns what is wrong with it, lower
// case and with the position; "" if nothing.
inline std::string parse(ost_bytes_t bytes, Kernel* out, uint32_t level = 1) {
  ost_kir_header_t header;
  if (bytes.size < sizeof header)
    return "a kernel of " + std::to_string(bytes.size) + " bytes, wanted a header of 32";
  std::memcpy(&header, bytes.data, sizeof header);
  if (header.magic != OST_KIR_MAGIC) return "not a kernel: the magic number is wrong";
  if (header.version_major != OST_KIR_VERSION_MAJOR || header.version_minor > OST_KIR_VERSION_MINOR)
    return "kernel version " + std::to_string(header.version_major) + "." +
           std::to_string(header.version_minor) + ", wanted " +
           std::to_string(OST_KIR_VERSION_MAJOR) + "." + std::to_string(OST_KIR_VERSION_MINOR);
  if ((bytes.size - sizeof header) / sizeof(ost_kir_inst_t) != header.inst_count ||
      (bytes.size - sizeof header) % sizeof(ost_kir_inst_t) != 0)
    return "a kernel whose size does not fit its " + std::to_string(header.inst_count) + " records";
  if (header.level != level)
    return "a kernel of level " + std::to_string(header.level) + ", wanted level " +
           std::to_string(level);
  out->header = header;
  out->insts.resize(header.inst_count);
  if (header.inst_count)
    std::memcpy(out->insts.data(), static_cast<const char*>(bytes.data) + sizeof header,
                header.inst_count * sizeof(ost_kir_inst_t));
  for (Id i = 0; i < out->size(); ++i) {
    const std::string wrong = detail::Checker(*out, i).run();
    if (!wrong.empty())
      return "record " + std::to_string(i) + " (" + std::string(op_name(out->op(i))) +
             "): " + wrong;
  }
  return "";
}

}  // namespace ostinato::kir

#endif  // OSTINATO_KIR_VIEW_HPP_
