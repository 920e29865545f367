/* Ostinato KIR: the kernel language that crosses to a plugin as data. docs/kir.md is the normative
 * text.
 *
 * A kernel is a header followed by 32-byte records. It is a DAG in SSA form: record i may only name
 * records j < i. Level 1 is schedule-free. Loops are implied: an `axis` is an index value with an
 * extent; a value is computed for each point of the axes that it depends on; a `reduce` removes its
 * axis from that set; a `store` happens once for each point of the parallel and carry axes that its
 * operands depend on. Everything is total: no operation traps, reads out of bounds (the verifier
 * proves it) or fails to end.
 *
 * f16 and bf16 are storage types: only const, load, store, cast, bitcast and where may have them.
 * All integer index arithmetic is i64.
 *
 * Level 2 is a kernel as one work-group of `lanes` work-items runs it: records happen in their
 * order, loops and conditions are regions, memory may be shared by the group. Core makes it from
 * level 1 for devices that want it; it has the same scalar operations and no axes or reductions. */
#ifndef OSTINATO_KIR_H_
#define OSTINATO_KIR_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OST_KIR_VERSION_MAJOR 1u
#define OST_KIR_VERSION_MINOR 0u
#define OST_KIR_MAGIC 0x52494b4fu /* "OKIR", little endian */
#define OST_KIR_NO_INDEX 0xffffffffu

typedef struct ost_kir_header_t {
  uint32_t magic;         /* OST_KIR_MAGIC */
  uint16_t version_major; /* a reader refuses another major version */
  /* a reader refuses a newer minor version: opcodes it has no meaning for */
  uint16_t version_minor;
  uint32_t level;    /* 1 or 2 */
  uint32_t numerics; /* OST_KIR_STRICT or OST_KIR_FAST */
  uint32_t inst_count;
  uint32_t param_count; /* buffer parameters: slots 0 .. param_count-1, each declared once */
  uint32_t var_count;   /* integer arguments: slots 0 .. var_count-1, each declared once */
  uint32_t lanes;       /* level 2: work-items of a work-group; level 1: 0 */
} ost_kir_header_t;

enum { OST_KIR_STRICT = 0, OST_KIR_FAST = 1 };

typedef struct ost_kir_inst_t {
  uint16_t op;     /* OST_KIR_OP_* */
  uint8_t dtype;   /* OST_DTYPE_* of the result; of the element for param and store */
  uint8_t nsrc;    /* number of operands, 0..4; unused src entries are OST_KIR_NO_INDEX */
  uint32_t aux;    /* per operation, see below; 0 where unused */
  uint32_t src[4]; /* positions of the operands, each smaller than this record's own */
  uint64_t imm;    /* per operation; 0 where unused */
} ost_kir_inst_t;

/* Operations. Notation: op dtype (operands) [aux] {imm}. "T" is the result dtype. */
enum {
  /* --- declarations --- */
  OST_KIR_OP_CONST = 1, /* T () {bits, zero-extended} */
  /* element type (count:i64) [access OST_KIR_READ|WRITE] {slot}; a buffer of count elements */
  OST_KIR_OP_PARAM = 2,
  /* i64 (min:const i64, max:const i64) {slot}; an argument in [min, max], 0 <= min */
  OST_KIR_OP_VAR = 3,
  /* i64 (extent:i64) [role] {id, unique}; ranges over [0, extent); extent depends on no axis */
  OST_KIR_OP_AXIS = 4,

  /* --- memory --- */
  /* T (param, index:i64, mask:bool optional); 0 where the mask is false, without an access */
  OST_KIR_OP_LOAD = 8,
  OST_KIR_OP_STORE = 9, /* T (param, index:i64, value:T, mask:bool optional); no result */

  /* --- one operand, same type --- */
  OST_KIR_OP_NEG = 16,   /* float: sign bit flipped; int: wraps */
  OST_KIR_OP_ABS = 17,   /* float: sign bit cleared; int: wraps */
  OST_KIR_OP_SQRT = 18,  /* float, IEEE */
  OST_KIR_OP_FLOOR = 19, /* float */
  OST_KIR_OP_CEIL = 20,  /* float */
  OST_KIR_OP_TRUNC = 21, /* float */
  OST_KIR_OP_RINT = 22,  /* float, to nearest even */
  OST_KIR_OP_NOT = 23,   /* bool: logical; int: bitwise */

  /* --- two operands, same type T --- */
  OST_KIR_OP_ADD = 32, /* float IEEE; int wraps */
  OST_KIR_OP_SUB = 33,
  OST_KIR_OP_MUL = 34,
  OST_KIR_OP_DIV = 35, /* float IEEE; int truncates, x/0 = 0, MIN/-1 = MIN */
  OST_KIR_OP_REM = 36, /* int: a - (a/b)*b, a rem 0 = 0; not for floats */
  OST_KIR_OP_MIN = 37, /* NaN wins, -0 < +0; bool: and */
  OST_KIR_OP_MAX = 38, /* NaN wins, -0 < +0; bool: or */
  OST_KIR_OP_AND = 39, /* bool, int */
  OST_KIR_OP_OR = 40,
  OST_KIR_OP_XOR = 41,
  OST_KIR_OP_SHL = 42, /* int; amount is the unsigned value of b; >= width gives 0 */
  /* int; arithmetic for signed, logical for unsigned; >= width gives 0 (signed too) */
  OST_KIR_OP_SHR = 43,

  /* --- comparisons: result bool, both operands of one type; false with a NaN, except NE --- */
  OST_KIR_OP_EQ = 48,
  OST_KIR_OP_NE = 49,
  OST_KIR_OP_LT = 50,
  OST_KIR_OP_LE = 51,

  /* --- the rest of the scalar operations --- */
  /* T (cond:bool, a:T, b:T) [OST_KIR_WHERE_RARE: a hint that cond is almost always false] */
  OST_KIR_OP_WHERE = 56,
  OST_KIR_OP_FMA = 57,     /* float (a, b, c): a*b+c with one rounding */
  OST_KIR_OP_LDEXP = 58,   /* float T (x:T, n:i32): x * 2^n with one rounding */
  OST_KIR_OP_CAST = 59,    /* T (x) [rounding]: see OST_KIR_CAST_* */
  OST_KIR_OP_BITCAST = 60, /* T (x) same width, not bool */

  /* --- over an axis of role reduce: the value may depend on it, the result does not --- */
  /* T (value:T, axis) [combine | order << 8]; identity for an empty axis */
  OST_KIR_OP_REDUCE = 72,
  /* T (a:T, b:T, axis) [OST_KIR_COMBINE_SUM | order << 8]; acc = fma(a, b, acc); ints wrap */
  OST_KIR_OP_CONTRACT = 73,
  OST_KIR_OP_ARGREDUCE =
      74, /* i64 (value, axis) [OST_KIR_COMBINE_MAX or MIN]; first index of the extreme, the first
                                NaN wins; 0 for an empty axis */
  /* f32 (score:f32, mask:bool, v:f32, axis) [ORDER_ATTN << 8]; online softmax over keys */
  OST_KIR_OP_ATTN = 75,

  /* --- level 2 only --- */
  OST_KIR_OP_GRID = 96,     /* i64 (count:i64) {dimension 0..2}; how many work-groups there are */
  OST_KIR_OP_GROUP = 97,    /* i64 () {dimension}; which one this is, in [0, count) */
  OST_KIR_OP_LANE = 98,     /* i64 (); which work-item of the group, in [0, lanes) */
  OST_KIR_OP_LOCAL = 99,    /* element type () {count}; an array that the group shares */
  OST_KIR_OP_PRIVATE = 100, /* element type () {count}; an array of each work-item */
  /* i64 (begin, end, step: const i64 > 0) [OST_KIR_UNROLL]; opens a region that runs for each
   * value begin, begin + step, ... below end */
  OST_KIR_OP_LOOP = 104,
  OST_KIR_OP_IF = 105,     /* bool (cond); opens a region that runs where cond is true */
  OST_KIR_OP_END = 106,    /* bool (the LOOP or IF); closes the innermost region */
  OST_KIR_OP_BARRIER = 107 /* bool (); all lanes of the group arrive, then see each other's stores */
};

enum { OST_KIR_READ = 1, OST_KIR_WRITE = 2 };

/* Axis roles. `carry` axes run in ascending order, outermost first, and each iteration sees the
 * stores of the earlier ones; the other roles have no order. */
enum { OST_KIR_AXIS_PARALLEL = 0, OST_KIR_AXIS_REDUCE = 1, OST_KIR_AXIS_CARRY = 2 };

enum { OST_KIR_WHERE_RARE = 1 };

enum { OST_KIR_UNROLL = 1 }; /* a hint that the loop is short */

/* How a cast rounds; the verifier demands the one that fits the pair of types.
 *   WRAP  int -> int modulo 2^width; anything -> same type; bool -> int or float (0 or 1, exact); x
 *   -> bool is x != 0
 *   RNE   float -> float and int -> float, to nearest even (f32 -> bf16: NaN becomes 0x7fc0)
 *   SAT   float -> int: toward zero, saturated, NaN gives 0 */
enum { OST_KIR_CAST_WRAP = 0, OST_KIR_CAST_RNE = 1, OST_KIR_CAST_SAT = 2 };

enum {
  OST_KIR_COMBINE_SUM = 1,
  OST_KIR_COMBINE_PROD = 2,
  OST_KIR_COMBINE_MAX = 3,
  OST_KIR_COMBINE_MIN = 4,
  OST_KIR_COMBINE_AND = 5, /* bool, int */
  OST_KIR_COMBINE_OR = 6,
  OST_KIR_COMBINE_XOR = 7
};

/* Order tags: part of the meaning (docs/numerics.md). Float sums and products have tree or blk256;
 * max, min, bit operations and integers have any. The reduced index is the axis value. */
enum {
  OST_KIR_ORDER_ANY = 0,
  OST_KIR_ORDER_TREE = 1,   /* 64 lanes from the identity, chunks of 4,096, fixed tree */
  OST_KIR_ORDER_BLK256 = 2, /* chains of 256 from the identity, block results combined in order */
  OST_KIR_ORDER_ATTN = 3    /* blocks of 64 keys, chunks of 1,024 */
};

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_KIR_H_ */
