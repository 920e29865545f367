// The functions by the C library in a wider type: good to a few units of that type.
#pragma once

#include <cmath>

#include "core/kir/math.hpp"

namespace ost::numerics {

// double for f32, long double (64-bit mantissa on x86) for f64.
template <class Wide>
Wide wide_reference(kir::Fn fn, Wide x, Wide y) {
  using kir::Fn;
  switch (fn) {
    case Fn::exp:
      return std::exp(x);
    case Fn::exp2:
      return std::exp2(x);
    case Fn::expm1:
      return std::expm1(x);
    case Fn::log:
      return std::log(x);
    case Fn::log2:
      return std::log2(x);
    case Fn::log1p:
      return std::log1p(x);
    case Fn::sin:
      return std::sin(x);
    case Fn::cos:
      return std::cos(x);
    case Fn::tanh:
      return std::tanh(x);
    case Fn::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Fn::silu:
      return x / (1 + std::exp(-x));
    case Fn::erf:
      return std::erf(x);
    case Fn::gelu:
      return x * Wide{0.5} *
             std::erfc(-x * static_cast<Wide>(0.707106781186547524400844362104849039L));
    case Fn::rsqrt:
      return 1 / std::sqrt(x);
    case Fn::pow:
      break;
  }
  return std::pow(x, y);
}

}  // namespace ost::numerics
