// The exact functions: by MPFR, and quickly by the C library in a wider type, good to a few units
// of that type, to find the inputs for which MPFR is worth asking.
#pragma once

#include <mpfr.h>

#include <cmath>

#include "core/kir/math.hpp"
#include "tests/numerics/wide_reference.hpp"

namespace ost::numerics {

// MPFR at 300 bits; one object per thread.
class Exact {
 public:
  Exact() {
    mpfr_init2(x_, 64);
    mpfr_init2(y_, 64);
    mpfr_init2(r_, 300);
    mpfr_init2(t_, 300);
  }
  ~Exact() { mpfr_clears(x_, y_, r_, t_, nullptr); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  // The difference between the value `got` and the function, and the function, both rounded to long
  // double.
  struct Difference {
    long double error, exact;
  };
  Difference compare(kir::Fn fn, double x, double y, double got) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(y_, y, MPFR_RNDN);
    evaluate(fn);
    const long double exact = mpfr_get_ld(r_, MPFR_RNDN);
    mpfr_sub_d(r_, r_, got, MPFR_RNDN);
    return {std::fabs(mpfr_get_ld(r_, MPFR_RNDN)), exact};
  }

 private:
  void logistic() {  // r = 1 + exp(-x)
    mpfr_neg(t_, x_, MPFR_RNDN);
    mpfr_exp(r_, t_, MPFR_RNDN);
    mpfr_add_ui(r_, r_, 1, MPFR_RNDN);
  }
  void evaluate(kir::Fn fn) {
    using kir::Fn;
    switch (fn) {
      case Fn::exp:
        mpfr_exp(r_, x_, MPFR_RNDN);
        return;
      case Fn::exp2:
        mpfr_exp2(r_, x_, MPFR_RNDN);
        return;
      case Fn::expm1:
        mpfr_expm1(r_, x_, MPFR_RNDN);
        return;
      case Fn::log:
        mpfr_log(r_, x_, MPFR_RNDN);
        return;
      case Fn::log2:
        mpfr_log2(r_, x_, MPFR_RNDN);
        return;
      case Fn::log1p:
        mpfr_log1p(r_, x_, MPFR_RNDN);
        return;
      case Fn::sin:
        mpfr_sin(r_, x_, MPFR_RNDN);
        return;
      case Fn::cos:
        mpfr_cos(r_, x_, MPFR_RNDN);
        return;
      case Fn::tanh:
        mpfr_tanh(r_, x_, MPFR_RNDN);
        return;
      case Fn::sigmoid:
        logistic();
        mpfr_ui_div(r_, 1, r_, MPFR_RNDN);
        return;
      case Fn::silu:
        logistic();
        mpfr_div(r_, x_, r_, MPFR_RNDN);
        return;
      case Fn::erf:
        mpfr_erf(r_, x_, MPFR_RNDN);
        return;
      case Fn::gelu:
        mpfr_sqrt_ui(t_, 2, MPFR_RNDN);
        mpfr_div(t_, x_, t_, MPFR_RNDN);
        mpfr_neg(t_, t_, MPFR_RNDN);
        mpfr_erfc(r_, t_, MPFR_RNDN);
        mpfr_mul(r_, r_, x_, MPFR_RNDN);
        mpfr_div_2ui(r_, r_, 1, MPFR_RNDN);
        return;
      case Fn::rsqrt:
        mpfr_rec_sqrt(r_, x_, MPFR_RNDN);
        return;
      case Fn::pow:
        mpfr_pow(r_, x_, y_, MPFR_RNDN);
        return;
    }
  }
  mpfr_t x_, y_, r_, t_;
};

}  // namespace ost::numerics
