// Makes kernels of level 2. Records are appended in the order in which they happen; an equal
// operation that is visible already is not made twice, and integer arithmetic on constants is
// folded. Misuse is a bug of the caller, which the verifier finds.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::codegen {

using kir::Combine;
using kir::kNone;
using kir::Op;
using kir::Value;

class GroupBuilder {
 public:
  GroupBuilder(kir::Numerics numerics, uint32_t lanes);

  uint32_t lanes() const { return kernel_.lanes; }
  DType dtype(Value v) const { return kernel_.dtype(v); }
  bool is_constant(Value v) const { return kernel_.op(v) == Op::constant; }

  // Declarations may be made in any region; they are moved to the start of the kernel.
  Value constant(DType type, uint64_t bits);
  Value i64(int64_t v) { return constant(DType::i64, static_cast<uint64_t>(v)); }
  Value declare(
      const kir::Inst& inst);  // a param or var, whose operands are records of this kernel
  Value lane();
  Value group(uint32_t dimension);
  Value local_array(DType type, uint64_t count);
  Value private_array(DType type, uint64_t count);
  // Stays in its region, so that no barrier is in its life.
  Value private_array_here(DType type, uint64_t count);
  void grid(uint32_t dimension, Value count);

  // A scalar operation of both levels.
  Value pure(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux = 0);
  Value pure(const kir::Inst& inst);
  Value load(Value memory, Value index, Value mask = kNone);
  void store(Value memory, Value index, Value value, Value mask = kNone);

  Value open_loop(Value begin, Value end, int64_t step, bool unroll = false);  // the index
  void open_if(Value condition);
  void close();
  void barrier();  // nothing where the group is one lane

  Value add(Value a, Value b) { return binary(Op::add, a, b); }
  Value sub(Value a, Value b) { return binary(Op::sub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::mul, a, b); }
  Value div(Value a, Value b) { return binary(Op::div, a, b); }
  Value rem(Value a, Value b) { return binary(Op::rem, a, b); }
  Value min(Value a, Value b) { return binary(Op::min, a, b); }
  Value binary(Op op, Value a, Value b) { return pure(op, dtype(a), {a, b}); }
  Value compare(Op op, Value a, Value b) { return pure(op, DType::boolean, {a, b}); }
  Value where(Value c, Value a, Value b) { return pure(Op::where, dtype(a), {c, a, b}); }
  Value both(Value a, Value b) {
    return a == kNone ? b : b == kNone ? a : binary(Op::bit_and, a, b);
  }

  // The finished kernel, verified.
  Result<kir::Kernel> build();

 private:
  using Key = std::vector<uint64_t>;
  Value append(Op op, DType type, std::initializer_list<Value> operands, uint32_t aux = 0,
               uint64_t imm = 0);
  Value place(const kir::Inst& inst, bool at_start);
  Value fold(const kir::Inst& inst);
  Value simplify(const kir::Inst& inst) const;
  std::optional<int64_t> number(Value v) const;

  kir::Kernel kernel_;
  std::vector<bool> at_start_;                 // by record: to be moved to the start
  std::vector<std::map<Key, Value>> visible_;  // by open region
  std::vector<Value> open_;
};

}  // namespace ost::codegen
