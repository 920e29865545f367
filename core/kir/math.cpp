// The elementary functions by name.
#include "core/kir/math.hpp"

#include "core/kir/math_expr.hpp"

namespace ost::kir {

Value expand(Builder& b, Fn fn, Value x, Value y) {
  const expr::Expr e{&b, x};
  switch (fn) {
    case Fn::exp:
      return expr::exp(e).v;
    case Fn::exp2:
      return expr::exp2(e).v;
    case Fn::expm1:
      return expr::expm1(e).v;
    case Fn::log:
      return expr::log(e).v;
    case Fn::log2:
      return expr::log2(e).v;
    case Fn::log1p:
      return expr::log1p(e).v;
    case Fn::sin:
      return expr::sin(e).v;
    case Fn::cos:
      return expr::cos(e).v;
    case Fn::tanh:
      return expr::tanh(e).v;
    case Fn::sigmoid:
      return expr::sigmoid(e).v;
    case Fn::silu:
      return expr::silu(e).v;
    case Fn::erf:
      return expr::erf(e).v;
    case Fn::gelu:
      return expr::gelu(e).v;
    case Fn::rsqrt:
      return expr::rsqrt(e).v;
    case Fn::pow:
      break;
  }
  return expr::pow(e, {&b, y}).v;
}

const char* name_of(Fn fn) {
  switch (fn) {
    case Fn::exp:
      return "exp";
    case Fn::exp2:
      return "exp2";
    case Fn::expm1:
      return "expm1";
    case Fn::log:
      return "log";
    case Fn::log2:
      return "log2";
    case Fn::log1p:
      return "log1p";
    case Fn::sin:
      return "sin";
    case Fn::cos:
      return "cos";
    case Fn::tanh:
      return "tanh";
    case Fn::sigmoid:
      return "sigmoid";
    case Fn::silu:
      return "silu";
    case Fn::erf:
      return "erf";
    case Fn::gelu:
      return "gelu";
    case Fn::rsqrt:
      return "rsqrt";
    case Fn::pow:
      break;
  }
  return "pow";
}

}  // namespace ost::kir
