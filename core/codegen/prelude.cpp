// What printed kernels share: names of types, and the operations whose meaning C leaves open or
// that compilers round in their own way, in integer arithmetic.
#include "core/codegen/print.hpp"

namespace ost::codegen {
namespace {

constexpr std::string_view kC99 = R"(#include <math.h>
#include <stdint.h>
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define OST_FN static inline
#define OST_RESTRICT restrict
#define OST_LOCAL
#define OST_BARRIER
#define OST_L(x) INT64_C(x)
#define ost_fma_f32 fmaf
#define ost_sqrt_f32 sqrtf
#define ost_floor_f32 floorf
#define ost_ceil_f32 ceilf
#define ost_trunc_f32 truncf
#define ost_rint_f32 rintf
#define ost_fma_f64 fma
#define ost_sqrt_f64 sqrt
#define ost_floor_f64 floor
#define ost_ceil_f64 ceil
#define ost_trunc_f64 trunc
#define ost_rint_f64 rint
#define ost_sum_f32(a, b) ((a) + (b))
#define ost_sum_f64(a, b) ((a) + (b))
#define ost_prod_f32(a, b) ((a) * (b))
#define ost_prod_f64(a, b) ((a) * (b))
)";

// Sums are fma(one, x, acc) and products fma(acc, x, -0) with `one` an argument and -0 made of it: a
// vectoriser may not reassociate those, and one that reassociates plain sums and products without
// being asked exists (docs/numerics.md).
constexpr std::string_view kOpenCl = R"(#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
#define OST_FN
#define OST_RESTRICT restrict
#define OST_LOCAL __local
#define OST_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define OST_L(x) x##L
#define ost_fma_f32 fma
#define ost_sqrt_f32 sqrt
#define ost_floor_f32 floor
#define ost_ceil_f32 ceil
#define ost_trunc_f32 trunc
#define ost_rint_f32 rint
#define ost_sum_f32(a, b) fma(ost_one32, (b), (a))
#define ost_prod_f32(a, b) fma((a), (b), ost_nzero32)
)";
constexpr std::string_view kOpenClF64 = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#define ost_fma_f64 fma
#define ost_sqrt_f64 sqrt
#define ost_floor_f64 floor
#define ost_ceil_f64 ceil
#define ost_trunc_f64 trunc
#define ost_rint_f64 rint
#define ost_sum_f64(a, b) fma(ost_one64, (b), (a))
#define ost_prod_f64(a, b) fma((a), (b), ost_nzero64)
)";

// No headers: run-time compilers may have none.
constexpr std::string_view kGpuTypes = R"(typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#define OST_FN static __device__ inline
#define OST_RESTRICT __restrict__
#define OST_LOCAL __shared__
#define OST_BARRIER __syncthreads()
#define OST_L(x) x##LL
#define ost_sum_f32(a, b) ((a) + (b))
#define ost_sum_f64(a, b) ((a) + (b))
#define ost_prod_f32(a, b) ((a) * (b))
#define ost_prod_f64(a, b) ((a) * (b))
)";
constexpr std::string_view kHip = R"(#pragma clang fp contract(off)
#if !defined(OST_SOFT_SQRT) && defined(__AMDGCN__) && __clang_major__ < 18
#define OST_SOFT_SQRT 1
#endif
#if !OST_SOFT_SQRT
#define ost_sqrt_f32 __builtin_sqrtf
#define ost_sqrt_f64 __builtin_sqrt
#endif
#define ost_fma_f32 __builtin_fmaf
#define ost_floor_f32 __builtin_floorf
#define ost_ceil_f32 __builtin_ceilf
#define ost_trunc_f32 __builtin_truncf
#define ost_rint_f32 __builtin_rintf
#define ost_fma_f64 __builtin_fma
#define ost_floor_f64 __builtin_floor
#define ost_ceil_f64 __builtin_ceil
#define ost_trunc_f64 __builtin_trunc
#define ost_rint_f64 __builtin_rint
)";
constexpr std::string_view kCuda = R"(#define ost_fma_f32 fmaf
#define ost_sqrt_f32 __fsqrt_rn
#define ost_floor_f32 floorf
#define ost_ceil_f32 ceilf
#define ost_trunc_f32 truncf
#define ost_rint_f32 rintf
#define ost_fma_f64 fma
#define ost_sqrt_f64 __dsqrt_rn
#define ost_floor_f64 floor
#define ost_ceil_f64 ceil
#define ost_trunc_f64 trunc
#define ost_rint_f64 rint
)";

// Integers: division is total, shifts by the width give 0, all wraps.
constexpr std::string_view kIntegers = R"(#define OST_INTS(T, U, BITS, MIN) \
OST_FN T ost_div_##T(T a, T b) { return b == 0 ? (T)0 : b == (T)-1 ? (T)((U)0 - (U)a) : (T)(a / b); } \
OST_FN T ost_rem_##T(T a, T b) { return b == 0 || b == (T)-1 ? (T)0 : (T)(a % b); } \
OST_FN T ost_abs_##T(T a) { return a < 0 ? (T)((U)0 - (U)a) : a; } \
OST_FN T ost_shl_##T(T a, T b) { return (U)b >= BITS ? (T)0 : (T)((U)a << b); } \
OST_FN T ost_shr_##T(T a, T b) { return (U)b >= BITS ? (T)0 : (T)(a >> b); }
#define OST_UINTS(T, U, BITS) \
OST_FN T ost_div_##T(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); } \
OST_FN T ost_rem_##T(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); } \
OST_FN T ost_shl_##T(T a, T b) { return b >= BITS ? (T)0 : (T)((U)a << b); } \
OST_FN T ost_shr_##T(T a, T b) { return b >= BITS ? (T)0 : (T)(a >> b); }
OST_INTS(i8, u8, 8, -128)
OST_INTS(i16, u16, 16, -32768)
OST_INTS(i32, u32, 32, -2147483648)
OST_INTS(i64, u64, 64, 0)
OST_UINTS(u8, u32, 8)
OST_UINTS(u16, u32, 16)
OST_UINTS(u32, u32, 32)
OST_UINTS(u64, u64, 64)
)";

constexpr std::string_view kF32 =
    R"(OST_FN u32 ost_bits_f32(f32 x) { union { f32 f; u32 u; } v; v.f = x; return v.u; }
OST_FN f32 ost_from_u32(u32 x) { union { f32 f; u32 u; } v; v.u = x; return v.f; }
OST_FN f32 ost_neg_f32(f32 x) { return ost_from_u32(ost_bits_f32(x) ^ 0x80000000u); }
OST_FN f32 ost_abs_f32(f32 x) { return ost_from_u32(ost_bits_f32(x) & 0x7fffffffu); }
OST_FN f32 ost_max_f32(f32 a, f32 b) {
  if (a > b || a != a) return a;
  if (b > a || b != b) return b;
  return ost_from_u32(ost_bits_f32(a) & ost_bits_f32(b));
}
OST_FN f32 ost_min_f32(f32 a, f32 b) {
  if (a < b || a != a) return a;
  if (b < a || b != b) return b;
  return ost_from_u32(ost_bits_f32(a) | ost_bits_f32(b));
}
OST_FN f32 ost_ldexp_f32(f32 x, i32 n) {
  u32 b = ost_bits_f32(x), sign = b & 0x80000000u, m = b & 0x7fffffffu, rest, mid, q, k;
  i32 e;
  if (m == 0 || m >= 0x7f800000u) return x;
  n = n < -600 ? -600 : n > 600 ? 600 : n;
  e = (i32)(m >> 23);
  if (e == 0) {
    m = ost_bits_f32(ost_from_u32(m) * 16777216.0f);
    e = (i32)(m >> 23) - 24;
  }
  e += n;
  if (e >= 255) return ost_from_u32(sign | 0x7f800000u);
  if (e > 0) return ost_from_u32(sign | ((u32)e << 23) | (m & 0x7fffffu));
  m = (m & 0x7fffffu) | 0x800000u;
  k = e < -24 ? 25u : (u32)(1 - e);
  q = m >> k;
  rest = m & ((1u << k) - 1u);
  mid = 1u << (k - 1u);
  if (rest > mid || (rest == mid && (q & 1u))) ++q;
  return ost_from_u32(sign | q);
}
OST_FN f32 ost_f32_of_bf16(u16 h) { return ost_from_u32((u32)h << 16); }
OST_FN u16 ost_bf16_of_f32(f32 x) {
  u32 u = ost_bits_f32(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
OST_FN f32 ost_f32_of_f16(u16 h) {
  u32 sign = (u32)(h & 0x8000u) << 16, e = (h >> 10) & 0x1fu, m = h & 0x3ffu;
  if (e == 0x1f) return ost_from_u32(sign | 0x7f800000u | (m << 13));
  if (e != 0) return ost_from_u32(sign | ((e + 112u) << 23) | (m << 13));
  if (m == 0) return ost_from_u32(sign);
  e = 113u;
  while (!(m & 0x400u)) {
    m <<= 1;
    --e;
  }
  return ost_from_u32(sign | (e << 23) | ((m & 0x3ffu) << 13));
}
OST_FN u16 ost_f16_of_f32(f32 x) {
  u32 u = ost_bits_f32(x), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu, m, k, q, rest, mid;
  if (a > 0x7f800000u) return (u16)(sign | 0x7e00u);
  if (a >= 0x477ff000u) return (u16)(sign | 0x7c00u);
  if (a >= 0x38800000u) {
    a -= 0x38000000u;
    return (u16)(sign | ((a + 0xfffu + ((a >> 13) & 1u)) >> 13));
  }
  if (a < 0x33000000u) return (u16)sign;
  m = (a & 0x7fffffu) | 0x800000u;
  k = 126u - (a >> 23);
  q = m >> k;
  rest = m & ((1u << k) - 1u);
  mid = 1u << (k - 1u);
  return (u16)(sign | (q + ((rest > mid || (rest == mid && (q & 1u))) ? 1u : 0u)));
}
OST_FN f32 ost_odd_u64(u64 x) {
  u64 q = x;
  u32 k = 0;
  while ((q >> k) > 0xffffffu) ++k;
  q = x >> k;
  if (x & (((u64)1 << k) - 1u)) q |= 1u;
  return (f32)(u32)q * (f32)((u64)1 << k);
}
OST_FN f32 ost_odd_i64(i64 x) { return x < 0 ? -ost_odd_u64((u64)0 - (u64)x) : ost_odd_u64((u64)x); }
#define OST_SAT_F32(T, LOW, HIGH, END) \
OST_FN T ost_##T##_of_f32(f32 x) { \
  if (x != x) return (T)0; \
  if (x >= END) return HIGH; \
  return x <= (f32)(LOW) ? LOW : (T)x; }
OST_SAT_F32(i8, (i8)-128, (i8)127, 128.0f)
OST_SAT_F32(i16, (i16)-32768, (i16)32767, 32768.0f)
OST_SAT_F32(i32, (i32)(-2147483647 - 1), (i32)2147483647, 2147483648.0f)
OST_SAT_F32(i64, (-OST_L(9223372036854775807) - 1), OST_L(9223372036854775807), 9223372036854775808.0f)
OST_SAT_F32(u8, (u8)0, (u8)255, 256.0f)
OST_SAT_F32(u16, (u16)0, (u16)65535, 65536.0f)
OST_SAT_F32(u32, 0u, 4294967295u, 4294967296.0f)
OST_SAT_F32(u64, (u64)0, ~(u64)0, 18446744073709551616.0f)
)";

constexpr std::string_view kF64 =
    R"(OST_FN u64 ost_bits_f64(f64 x) { union { f64 f; u64 u; } v; v.f = x; return v.u; }
OST_FN f64 ost_from_u64(u64 x) { union { f64 f; u64 u; } v; v.u = x; return v.f; }
OST_FN f64 ost_neg_f64(f64 x) { return ost_from_u64(ost_bits_f64(x) ^ ((u64)1 << 63)); }
OST_FN f64 ost_abs_f64(f64 x) { return ost_from_u64(ost_bits_f64(x) & (~(u64)0 >> 1)); }
OST_FN f64 ost_max_f64(f64 a, f64 b) {
  if (a > b || a != a) return a;
  if (b > a || b != b) return b;
  return ost_from_u64(ost_bits_f64(a) & ost_bits_f64(b));
}
OST_FN f64 ost_min_f64(f64 a, f64 b) {
  if (a < b || a != a) return a;
  if (b < a || b != b) return b;
  return ost_from_u64(ost_bits_f64(a) | ost_bits_f64(b));
}
OST_FN f64 ost_ldexp_f64(f64 x, i32 n) {
  u64 b = ost_bits_f64(x), sign = b & ((u64)1 << 63), m = b & (~(u64)0 >> 1), rest, mid, q;
  u64 fraction = ((u64)1 << 52) - 1u;
  i32 e, k;
  if (m == 0 || (m >> 52) == 0x7ff) return x;
  n = n < -5000 ? -5000 : n > 5000 ? 5000 : n;
  e = (i32)(m >> 52);
  if (e == 0) {
    m = ost_bits_f64(ost_from_u64(m) * 18014398509481984.0);
    e = (i32)(m >> 52) - 54;
  }
  e += n;
  if (e >= 2047) return ost_from_u64(sign | ((u64)0x7ff << 52));
  if (e > 0) return ost_from_u64(sign | ((u64)e << 52) | (m & fraction));
  m = (m & fraction) | ((u64)1 << 52);
  k = e < -53 ? 54 : 1 - e;
  q = m >> k;
  rest = m & (((u64)1 << k) - 1u);
  mid = (u64)1 << (k - 1);
  if (rest > mid || (rest == mid && (q & 1u))) ++q;
  return ost_from_u64(sign | q);
}
OST_FN f32 ost_odd_f64(f64 x) {
  f32 r = (f32)x;
  u32 b = ost_bits_f32(r);
  if (x != x || (f64)r == x) return r;
  if ((b & 0x7fffffffu) == 0x7f800000u) return ost_from_u32((b & 0x80000000u) | 0x7f7fffffu);
  if (ost_abs_f64((f64)r) > ost_abs_f64(x)) --b;
  return ost_from_u32(b | 1u);
}
#define OST_SAT_F64(T, LOW, HIGH, END) \
OST_FN T ost_##T##_of_f64(f64 x) { \
  if (x != x) return (T)0; \
  if (x >= END) return HIGH; \
  return x <= (f64)(LOW) ? LOW : (T)x; }
OST_SAT_F64(i8, (i8)-128, (i8)127, 128.0)
OST_SAT_F64(i16, (i16)-32768, (i16)32767, 32768.0)
OST_SAT_F64(i32, (i32)(-2147483647 - 1), (i32)2147483647, 2147483648.0)
OST_SAT_F64(i64, (-OST_L(9223372036854775807) - 1), OST_L(9223372036854775807), 9223372036854775808.0)
OST_SAT_F64(u8, (u8)0, (u8)255, 256.0)
OST_SAT_F64(u16, (u16)0, (u16)65535, 65536.0)
OST_SAT_F64(u32, 0u, 4294967295u, 4294967296.0)
OST_SAT_F64(u64, (u64)0, ~(u64)0, 18446744073709551616.0)
)";

// Before LLVM 18 an AMD GPU's square root is the bare instruction, which is off by one bit at times.
// This one is Markstein's: 1/sqrt(x) by Newton's method, then sqrt(x) and its half reciprocal
// together, the last step with the exact remainder. Equal to the correctly rounded one for all f32.
constexpr std::string_view kHipSqrtF32 = R"(#if OST_SOFT_SQRT
OST_FN f32 ost_sqrt_f32(f32 x) {
  f32 m = x, k = 1.0f, r, g, h;
  if (!(x > 0.0f) || ost_bits_f32(x) == 0x7f800000u)
    return x < 0.0f ? ost_from_u32(0x7fc00000u) : x + x;
  if (x < 0x1p-80f) {
    m = x * 0x1p64f;
    k = 0x1p-32f;
  }
  r = ost_from_u32(0x5f375a86u - (ost_bits_f32(m) >> 1));
  r = r * ost_fma_f32(-0.5f * m * r, r, 1.5f);
  r = r * ost_fma_f32(-0.5f * m * r, r, 1.5f);
  g = m * r;
  h = 0.5f * r;
  r = ost_fma_f32(-g, h, 0.5f);
  g = ost_fma_f32(g, r, g);
  h = ost_fma_f32(h, r, h);
  return ost_fma_f32(ost_fma_f32(-g, g, m), h, g) * k;
}
#endif
)";
constexpr std::string_view kHipSqrtF64 = R"(#if OST_SOFT_SQRT
OST_FN f64 ost_sqrt_f64(f64 x) {
  f64 m = x, k = 1.0, r, g, h;
  i32 i;
  if (!(x > 0.0) || ost_bits_f64(x) == ((u64)0x7ff << 52))
    return x < 0.0 ? ost_from_u64((u64)0x7ff8 << 48) : x + x;
  if (x < 0x1p-700) {
    m = x * 0x1p512;
    k = 0x1p-256;
  }
  r = ost_from_u64(0x5fe6eb50c7b537a9u - (ost_bits_f64(m) >> 1));
  for (i = 0; i < 4; ++i) r = r * ost_fma_f64(-0.5 * m * r, r, 1.5);
  g = m * r;
  h = 0.5 * r;
  r = ost_fma_f64(-g, h, 0.5);
  g = ost_fma_f64(g, r, g);
  h = ost_fma_f64(h, r, h);
  return ost_fma_f64(ost_fma_f64(-g, g, m), h, g) * k;
}
#endif
)";

}  // namespace

std::string prelude(Dialect dialect, bool f64) {
  std::string out;
  switch (dialect) {
    case Dialect::c99:
      out += kC99;
      break;
    case Dialect::opencl_c:
      out += kOpenCl;
      if (f64) out += kOpenClF64;
      break;
    case Dialect::hip_cpp:
      out += kHip;
      out += kGpuTypes;
      break;
    case Dialect::cuda_cpp:
      out += kCuda;
      out += kGpuTypes;
      break;
  }
  out += kIntegers;
  out += kF32;
  if (f64) out += kF64;
  if (dialect == Dialect::hip_cpp) {
    out += kHipSqrtF32;
    if (f64) out += kHipSqrtF64;
  }
  return out;
}

}  // namespace ost::codegen
