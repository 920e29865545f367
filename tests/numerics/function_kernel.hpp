// One elementary function as a kernel: slot 0 is x, (pow) slot 1 is y, the last slot is the result.
#pragma once

#include <span>

#include "core/kir/interpret.hpp"
#include "core/kir/math.hpp"

namespace ost::numerics {

inline constexpr kir::Fn kFunctions[] = {
    kir::Fn::exp,   kir::Fn::exp2, kir::Fn::expm1, kir::Fn::log,   kir::Fn::log2,
    kir::Fn::log1p, kir::Fn::sin,  kir::Fn::cos,   kir::Fn::tanh,  kir::Fn::sigmoid,
    kir::Fn::silu,  kir::Fn::erf,  kir::Fn::gelu,  kir::Fn::rsqrt, kir::Fn::pow};

inline Result<kir::Kernel> function_kernel(kir::Fn fn, DType type, int64_t n) {
  kir::Builder b;
  const bool two = fn == kir::Fn::pow;
  const kir::Value count = b.i64(n);
  const kir::Value x = b.param(0, type, count, OST_KIR_READ);
  const kir::Value y = two ? b.param(1, type, count, OST_KIR_READ) : kir::kNone;
  const kir::Value out = b.param(two ? 2 : 1, type, count, OST_KIR_WRITE);
  const kir::Value i = b.axis(count, kir::Role::parallel);
  b.store(out, i, kir::expand(b, fn, b.load(x, i), two ? b.load(y, i) : kir::kNone));
  return b.build();
}

// The function by the interpreter, `n` elements at a time.
template <class Float>
class Evaluator {
 public:
  static constexpr DType kType = sizeof(Float) == 4 ? DType::f32 : DType::f64;

  static Result<Evaluator> create(kir::Fn fn, size_t n) {
    OST_TRY_ASSIGN(const kir::Kernel kernel, function_kernel(fn, kType, static_cast<int64_t>(n)));
    OST_TRY_ASSIGN(kir::Interpreter interpreter, kir::Interpreter::create(kernel));
    return Evaluator(std::move(interpreter), n, fn == kir::Fn::pow);
  }
  // y: second arguments, used by pow only.
  Result<> run(const Float* x, const Float* y, Float* out) {
    const uint64_t bytes = n_ * sizeof(Float);
    const auto in = [&](const Float* p) { return kir::ParamData{const_cast<Float*>(p), bytes}; };
    const kir::ParamData one[] = {in(x), {out, bytes}};
    const kir::ParamData two[] = {in(x), in(y), {out, bytes}};
    return two_ ? interpreter_.run(two, {}) : interpreter_.run(one, {});
  }

 private:
  Evaluator(kir::Interpreter interpreter, size_t n, bool two)
      : interpreter_(std::move(interpreter)), n_(n), two_(two) {}
  kir::Interpreter interpreter_;
  size_t n_;
  bool two_;
};

}  // namespace ost::numerics
