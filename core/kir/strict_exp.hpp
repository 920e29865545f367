// The strict f32 exp as a scalar function (docs/numerics.md), for what the interpreter computes
// outside of KIR records: the attn order. The expansion in math_exp.cpp has the same bits; a test
// holds them together.
#pragma once

#include <cmath>

#include "core/kir/math_coef.hpp"
#include "core/kir/semantics.hpp"

namespace ost::kir::scalar {

inline float strict_exp(float x) {
  float c = x < -104.0f ? -104.0f : x;
  c = 89.0f < c ? 89.0f : c;
  const float t = std::fma(c, coef::f32(coef::kLog2E), 0x1.8p23f);
  const float n = t - 0x1.8p23f;
  float f = std::fma(n, -coef::f32(coef::kLn2Hi), c);
  f = std::fma(n, -coef::f32(coef::kLn2Lo), f);
  float p = static_cast<float>(coef::kExp.f32.back());
  for (size_t k = coef::kExp.f32.size() - 1; k-- > 0;)
    p = std::fma(p, f, static_cast<float>(coef::kExp.f32[k]));
  p = std::fma(std::fma(p, f, 1.0f), f, 1.0f);
  return ldexp(p, static_cast<int32_t>(bits(t) - bits(0x1.8p23f)));
}

}  // namespace ost::kir::scalar
