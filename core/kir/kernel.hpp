// A KIR kernel in memory: the records of <ostinato/kir.h> in one vector, and the builder that makes
// them.
//
// Records are topological by construction: operands have smaller positions. A Kernel is a value;
// equal kernels have equal bytes, so its hash is its identity ("renamed values equal": there are no
// names in it).
#pragma once

#include <ostinato/kir.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/result.hpp"
#include "core/base/sym.hpp"

namespace ost::kir {

using Value = uint32_t;  // position of a record
inline constexpr Value kNone = OST_KIR_NO_INDEX;

enum class Op : uint16_t {
  constant = OST_KIR_OP_CONST,
  param = OST_KIR_OP_PARAM,
  var = OST_KIR_OP_VAR,
  axis = OST_KIR_OP_AXIS,
  load = OST_KIR_OP_LOAD,
  store = OST_KIR_OP_STORE,
  neg = OST_KIR_OP_NEG,
  abs = OST_KIR_OP_ABS,
  sqrt = OST_KIR_OP_SQRT,
  floor = OST_KIR_OP_FLOOR,
  ceil = OST_KIR_OP_CEIL,
  trunc = OST_KIR_OP_TRUNC,
  rint = OST_KIR_OP_RINT,
  bit_not = OST_KIR_OP_NOT,
  add = OST_KIR_OP_ADD,
  sub = OST_KIR_OP_SUB,
  mul = OST_KIR_OP_MUL,
  div = OST_KIR_OP_DIV,
  rem = OST_KIR_OP_REM,
  min = OST_KIR_OP_MIN,
  max = OST_KIR_OP_MAX,
  bit_and = OST_KIR_OP_AND,
  bit_or = OST_KIR_OP_OR,
  bit_xor = OST_KIR_OP_XOR,
  shl = OST_KIR_OP_SHL,
  shr = OST_KIR_OP_SHR,
  eq = OST_KIR_OP_EQ,
  ne = OST_KIR_OP_NE,
  lt = OST_KIR_OP_LT,
  le = OST_KIR_OP_LE,
  where = OST_KIR_OP_WHERE,
  fma = OST_KIR_OP_FMA,
  ldexp = OST_KIR_OP_LDEXP,
  cast = OST_KIR_OP_CAST,
  bitcast = OST_KIR_OP_BITCAST,
  reduce = OST_KIR_OP_REDUCE,
  contract = OST_KIR_OP_CONTRACT,
  argreduce = OST_KIR_OP_ARGREDUCE,
  attn = OST_KIR_OP_ATTN,
  // level 2
  grid = OST_KIR_OP_GRID,
  group = OST_KIR_OP_GROUP,
  lane = OST_KIR_OP_LANE,
  local_array = OST_KIR_OP_LOCAL,
  private_array = OST_KIR_OP_PRIVATE,
  loop = OST_KIR_OP_LOOP,
  if_true = OST_KIR_OP_IF,
  end = OST_KIR_OP_END,
  barrier = OST_KIR_OP_BARRIER,
};

enum class Role : uint32_t {
  parallel = OST_KIR_AXIS_PARALLEL,
  reduce = OST_KIR_AXIS_REDUCE,
  carry = OST_KIR_AXIS_CARRY
};
enum class Combine : uint32_t {
  sum = OST_KIR_COMBINE_SUM,
  prod = OST_KIR_COMBINE_PROD,
  max = OST_KIR_COMBINE_MAX,
  min = OST_KIR_COMBINE_MIN,
  bit_and = OST_KIR_COMBINE_AND,
  bit_or = OST_KIR_COMBINE_OR,
  bit_xor = OST_KIR_COMBINE_XOR
};
enum class Order : uint32_t {
  any = OST_KIR_ORDER_ANY,
  tree = OST_KIR_ORDER_TREE,
  blk256 = OST_KIR_ORDER_BLK256,
  attn = OST_KIR_ORDER_ATTN
};
enum class Numerics : uint32_t { strict = OST_KIR_STRICT, fast = OST_KIR_FAST };

using Inst = ost_kir_inst_t;

struct Kernel {
  Numerics numerics = Numerics::strict;
  uint32_t level = 1;
  uint32_t lanes = 0;  // level 2: work-items of a work-group
  std::vector<Inst> insts;

  Op op(Value v) const { return static_cast<Op>(insts[v].op); }
  DType dtype(Value v) const { return static_cast<DType>(insts[v].dtype); }
  std::span<const uint32_t> operands(Value v) const { return {insts[v].src, insts[v].nsrc}; }
  uint32_t param_count() const;
  uint32_t var_count() const;
  friend bool operator==(const Kernel& a, const Kernel& b);
};

// --- forms ---
std::vector<uint8_t> to_binary(const Kernel& kernel);
Result<Kernel> from_binary(
    std::span<const uint8_t> bytes);        // structure only; verify() judges the meaning
std::string to_text(const Kernel& kernel);  // one record a line, see docs/kir.md
std::vector<std::string> to_lines(const Kernel& kernel);  // the same, for the manifest
Result<Kernel> from_text(std::string_view text);          // errors name the line
std::string hash_of(const Kernel& kernel);  // sha256 of the binary form, 64 hex digits

// --- checks ---
// Types, operand classes, axis scoping, slots, roles, access rules; of a kernel of level 2 what
// level2.hpp says. Errors name the record.
Result<> verify(const Kernel& kernel);
// Proves that every load and store that happens is inside its parameter for all variable values
// (docs/kir.md says how: symbolic interval arithmetic over axis ranges and variable bounds, refined
// by masks). Errors name the record.
Result<> prove_bounds(const Kernel& kernel);

// --- the oracle ---
struct ParamData {
  void* data = nullptr;
  uint64_t bytes = 0;
};
// Executes a verified kernel by its definition, one scalar at a time. Every access is checked; an
// access out of bounds is an error (it means that the prover is wrong). `params` by slot, `vars` by
// slot.
Result<> interpret(const Kernel& kernel, std::span<const ParamData> params,
                   std::span<const int64_t> vars);

// --- building ---
// Appends records with hash-consing (an equal record is not made twice) and folds integer and
// boolean arithmetic on constants and identities (x+0, x*1, x/1, 0*x, (a*c + b)/c with 0 <= b < c,
// where/mask on constants, min/max by known ranges). Floats are never folded, except const casts
// that are exact. Misuse (wrong types) is a bug of the caller: it is reported by build(), with the
// first offence.
class Builder {
 public:
  explicit Builder(Numerics numerics = Numerics::strict);

  Value constant(DType type, uint64_t bits);
  Value i64(int64_t v);
  Value f32(float v);
  Value f64(double v);
  Value boolean(bool v);
  Value float_const(DType type, double v);  // f32 or f64, v rounded to it

  Value param(uint32_t slot, DType type, Value count, uint32_t access);
  Value var(uint32_t slot, int64_t min, int64_t max);
  Value axis(Value extent, Role role);  // a new axis each time

  Value load(Value param, Value index, Value mask = kNone);
  void store(Value param, Value index, Value value, Value mask = kNone);

  Value unary(Op op, Value a);
  Value binary(Op op, Value a, Value b);
  Value compare(Op op, Value a, Value b);
  Value where(Value cond, Value a, Value b, bool rare = false);
  Value fma(Value a, Value b, Value c);
  Value ldexp(Value x, Value n);
  Value cast(DType to, Value x);  // picks the rounding that the pair of types demands; same type: x
  Value bitcast(DType to, Value x);
  Value reduce(Combine combine, Order order, Value value, Value axis);
  Value contract(Order order, Value a, Value b, Value axis);
  Value argreduce(Combine combine, Value value, Value axis);
  Value attn(Value score, Value mask, Value v, Value axis);

  Value add(Value a, Value b) { return binary(Op::add, a, b); }
  Value sub(Value a, Value b) { return binary(Op::sub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::mul, a, b); }
  Value div(Value a, Value b) { return binary(Op::div, a, b); }
  Value rem(Value a, Value b) { return binary(Op::rem, a, b); }
  Value lt(Value a, Value b) { return compare(Op::lt, a, b); }
  Value le(Value a, Value b) { return compare(Op::le, a, b); }
  Value bit_and(Value a, Value b) { return binary(Op::bit_and, a, b); }
  Value bit_or(Value a, Value b) { return binary(Op::bit_or, a, b); }
  Value bit_xor(Value a, Value b) { return binary(Op::bit_xor, a, b); }

  DType dtype(Value v) const { return kernel_.dtype(v); }
  Op op(Value v) const { return kernel_.op(v); }
  const Inst& inst(Value v) const { return kernel_.insts[v]; }
  // Known range of an i64 value over all axes and variables (conservative).
  struct Range {
    int64_t lo, hi;
  };
  Range range(Value v) const;

  // The finished kernel: dead records removed, verified. The builder is empty afterwards.
  Result<Kernel> build();

 private:
  struct State;
  std::shared_ptr<State> state_;
  Kernel& kernel_;  // in the state: a copy of a builder is the same builder
};

}  // namespace ost::kir
