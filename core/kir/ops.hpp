// The table of KIR operations: spelling, operand count and what aux and imm hold. The text form,
// the binary reader, the verifier and docs/kir.md all follow it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/kir/kernel.hpp"

namespace ost::kir {

// What the aux and imm fields of a record mean.
enum class Attr : uint8_t {
  none,       // both 0
  bits,       // imm: the value, zero-extended
  access,     // aux: READ|WRITE, imm: slot
  slot,       // imm: slot
  role,       // aux: role, imm: id
  rare,       // aux: 0 or WHERE_RARE
  rounding,   // aux: CAST_*
  reduction,  // aux: combine | order << 8
  extreme,    // aux: COMBINE_MAX or COMBINE_MIN
  dimension,  // imm: 0..2
  count,      // imm: elements, at least 1
  unroll,     // aux: 0 or UNROLL
};

struct OpInfo {
  Op op;
  std::string_view name;
  uint8_t min_src;
  uint8_t max_src;
  Attr attr;
  uint8_t levels = 3;  // bit l-1: the operation exists in level l
};

std::span<const OpInfo> all_ops();
const OpInfo* find_op(uint16_t op);            // nullptr: unknown
const OpInfo* find_op(std::string_view name);  // nullptr: unknown
const OpInfo& info(Op op);                     // op must be known

std::string_view name_of(Role role);        // "parallel", "reduce", "carry"
std::string_view name_of(Combine combine);  // "sum", "prod", "max", "min", "and", "or", "xor"
std::string_view name_of(Order order);      // "any", "tree", "blk256", "attn"
std::string_view rounding_name(uint32_t rounding);  // "wrap", "rne", "sat"
std::optional<Role> role_from_name(std::string_view name);
std::optional<Combine> combine_from_name(std::string_view name);
std::optional<Order> order_from_name(std::string_view name);
std::optional<uint32_t> rounding_from_name(std::string_view name);

// The rounding that a cast between two types must state, or nothing where there is no such cast.
std::optional<uint32_t> cast_rounding(DType to, DType from);

// Checks that a record is encoded as one: known opcode, type and attributes, earlier operands,
// unused fields clear.
Result<> check_encoding(const Inst& record, uint32_t position);

}  // namespace ost::kir
