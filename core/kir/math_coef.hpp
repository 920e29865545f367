// Coefficients of the strict elementary functions (docs/numerics.md): minimax polynomials by an own
// Remez exchange, with every coefficient rounded to the type and the rest fitted again. They are
// part of the definition: changing one changes bits of programs that were saved. The f32 values are
// exact in double. Arrays run from the lowest power up.
#pragma once

#include <cstdint>
#include <span>

namespace ost::kir::coef {

// One constant, or one polynomial, for each of the two types.
struct Const {
  double f32, f64;
};
struct Poly {
  std::span<const double> f32, f64;
};
constexpr float f32(Const c) { return static_cast<float>(c.f32); }

// 1.5 * 2^(mantissa bits): fma(x, c, kMagic) - kMagic is x*c rounded to an integer, which the low
// bits hold.
inline constexpr Const kMagic = {0x1.8p23, 0x1.8p52};
inline constexpr Const kMinNormal = {0x1p-126, 0x1p-1022};

inline constexpr Const kLog2E = {0x1.715476p+0, 0x1.71547652b82fep+0};
inline constexpr Const kLog2ELo = {0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56};
inline constexpr Const kLn2Hi = {0x1.62e43p-1, 0x1.62e42fefa39efp-1};
inline constexpr Const kLn2Lo = {-0x1.05c61p-29, 0x1.abc9e3b39803fp-56};
// ln 2 in 32 + 53 bits: an exponent times the first part is exact in f64.
inline constexpr double kLn2Short = 0x1.62e42ffp-1;
inline constexpr double kLn2ShortLo = -0x1.718432a1b0e26p-35;
inline constexpr Const kTwoOverPi = {0x1.45f306p-1, 0x1.45f306dc9c883p-1};
inline constexpr Const kPiOver2Hi = {0x1.921fb6p+0, 0x1.921fb54442d18p+0};
inline constexpr Const kPiOver2Mid = {-0x1.777a5cp-25, 0x1.1a62633145c07p-54};
inline constexpr Const kPiOver2Lo = {-0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110};
inline constexpr Const kSqrtHalf = {0x1.6a09e6p-1, 0x1.6a09e667f3bcdp-1};
// pow: 2/ln2 and 2/(3 ln2) in two parts.
inline constexpr Const kPowHeadHi = {0x1.715476p+1, 0x1.71547652b82fep+1};
inline constexpr Const kPowHeadLo = {0x1.4ae0cp-25, 0x1.777d0ffda0d24p-55};
inline constexpr Const kPowCubeHi = {0x1.ec709ep-1, 0x1.ec709dc3a03fdp-1};
inline constexpr Const kPowCubeLo = {-0x1.e2fe02p-28, 0x1.d27f05548af0cp-55};

inline constexpr double kExp32[] = {0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123de4p-7,
                                    0x1.6ac862p-10};
inline constexpr double kExpm1_32[] = {0x1.0p-1,      0x1.555554p-3,  0x1.5554dp-5,
                                       0x1.11122ap-7, 0x1.6d7218p-10, 0x1.a0331p-13};
inline constexpr double kExp2_32[] = {0x1.62e43p-1,  0x1.ebfbdcp-3,  0x1.c6af26p-5,
                                      0x1.3b2d52p-7, 0x1.5f3e66p-10, 0x1.41fadap-13};
inline constexpr double kLog32[] = {-0x1.0p-1,      0x1.5554fap-2,  -0x1.ffff94p-3,
                                    0x1.99d598p-3,  -0x1.557e02p-3, 0x1.1e816ep-3,
                                    -0x1.f6bf1ep-4, 0x1.1ff852p-3,  -0x1.ff640cp-4};
inline constexpr double kLog2_32[] = {-0x1.715476p-1, 0x1.ec7014p-2,  -0x1.715492p-2,
                                      0x1.27a38cp-2,  -0x1.ec8b58p-3, 0x1.9d1f88p-3,
                                      -0x1.6c612ep-3, 0x1.a0ab88p-3,  -0x1.6903cap-3};
inline constexpr double kSin32[] = {-0x1.555556p-3, 0x1.111174p-7, -0x1.a05954p-13, 0x1.7c2c52p-19};
inline constexpr double kCos32[] = {0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80ep-16};
inline constexpr double kTanh32[] = {-0x1.555538p-2, 0x1.110a3cp-3,  -0x1.b908ecp-5,
                                     0x1.5c2fe2p-6,  -0x1.e06fd4p-8, 0x1.93c44p-10};
inline constexpr double kErfSmall32[] = {0x1.06eba8p-3,  -0x1.81273ep-2, 0x1.ce2ce6p-4,
                                         -0x1.b7f71ap-6, 0x1.53f226p-8,  -0x1.a35188p-11,
                                         0x1.4772d6p-14};
inline constexpr double kErfLarge32[] = {0x1.70d574p-12, 0x1.208634p+0,  0x1.46c3e2p-1,
                                         0x1.a6158ep-4,  -0x1.6556d2p-6, 0x1.817596p-9,
                                         -0x1.856f22p-13};
inline constexpr double kPow32[] = {0x1.2776c4p-1, 0x1.a6195p-2, 0x1.47b12cp-2, 0x1.20791cp-2};
inline constexpr double kExp64[] = {
    0x1.000000000000ap-1,  0x1.5555555555503p-3,  0x1.555555555060ep-5,  0x1.1111111124f2p-7,
    0x1.6c16c184b131cp-10, 0x1.a01a013b7426cp-13, 0x1.a01998a19e258p-16, 0x1.71defc5073713p-19,
    0x1.28aebe329c06fp-22, 0x1.adc2d369ffdd7p-26};
inline constexpr double kExpm1_64[] = {0x1.0p-1,
                                       0x1.5555555555559p-3,
                                       0x1.5555555555558p-5,
                                       0x1.111111110f6ecp-7,
                                       0x1.6c16c16c1617dp-10,
                                       0x1.a01a01af9e567p-13,
                                       0x1.a01a01a0e1a24p-16,
                                       0x1.71ddf94fad2d8p-19,
                                       0x1.27e4f78d477a4p-22,
                                       0x1.af5cbaf823decp-26,
                                       0x1.1f2f6685017d5p-29};
inline constexpr double kExp2_64[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a0ep-5,   0x1.3b2ab6fba4e64p-7,
    0x1.5d87fe78a26d5p-10, 0x1.430912f883dfbp-13, 0x1.ffcbfc74d4f25p-17, 0x1.62c021e231244p-20,
    0x1.b524dd573a87ep-24, 0x1.e4d06d4bd29cep-28, 0x1.ea014c714135dp-32, 0x1.c2cd804c63382p-36};
inline constexpr double kLog64[] = {
    0x1.5555555555592p-1, 0x1.999999997fef4p-2, 0x1.24924941e4bbep-2, 0x1.c71c5210b27aap-3,
    0x1.74663dd0f17ecp-3, 0x1.39a1ce98755cdp-3, 0x1.2f04df2cf0976p-3};
inline constexpr double kSin64[] = {-0x1.5555555555548p-3,  0x1.111111110f73p-7,
                                    -0x1.a01a019be91cep-13, 0x1.71de355524209p-19,
                                    -0x1.ae5e4b7c91521p-26, 0x1.5d8b53278efap-33};
inline constexpr double kCos64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15012p-10,
                                    0x1.a01a019c8ea52p-16, -0x1.27e4f7f117a65p-22,
                                    0x1.1ee9db6c8ee8bp-29, -0x1.8fa64acf3c0b2p-37};
inline constexpr double kErfSmall64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a25p-2,  0x1.ce2f21a0458dap-4,  -0x1.b82ce31354e4ap-6,
    0x1.565bcd2c684f4p-8,  -0x1.c02db9346b56ep-11, 0x1.f9a3b983b8aadp-14, -0x1.f4dcf5bfd48ecp-17,
    0x1.ba6956c090cf8p-20, -0x1.639347cf6eeb4p-23, 0x1.132fd27a3ec2dp-26, -0x1.c521cd263a623p-30,
    0x1.3c3a3f6dd959p-33};
inline constexpr double kErfMiddle64[] = {
    0x1.327992c6af0a6p-20, 0x1.20dcb354e289cp+0,   0x1.45fa217b3ae69p-1,  0x1.a4508b64452dp-4,
    -0x1.344955c041a49p-6, -0x1.5b4902190bf7ep-11, 0x1.1f28fb384880bp-9,  -0x1.06886920599b9p-10,
    0x1.2b8bd66042c15p-12, -0x1.d8ea452f2112cp-15, 0x1.f8d6a0bf0223ep-18, -0x1.459dba13908adp-21,
    0x1.624cf8e3edb46p-26, 0x1.1384c0452c06fp-32};
inline constexpr double kErfLarge64[] = {
    -0x1.79ac283c2f5f1p-12, 0x1.2151e1c472d3fp+0,   0x1.43e0f3a0f2063p-1,  0x1.bbe85808201c2p-4,
    -0x1.8ef642a5630e9p-6,  0x1.9f98104763f6bp-9,   0x1.dd7ed919945e9p-13, -0x1.08c3aea8bb68cp-12,
    0x1.39506e057505cp-14,  -0x1.cd48543da333cp-17, 0x1.cbf6fac5726b5p-20, -0x1.30a27302cfc99p-23,
    0x1.e720fff3bc553p-28,  -0x1.65440f0bb4a74p-33};
inline constexpr double kPow64[] = {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aeddep-2, 0x1.484b13d6ace7p-2,
                                    0x1.0c9a853af6ef3p-2, 0x1.c68ee95e3237bp-3, 0x1.8a09b80abdd7p-3,
                                    0x1.58fcc7d0bb5afp-3, 0x1.61f10228dc0d1p-3};

inline constexpr Poly kExp = {kExp32, kExp64};  // (e^f - 1 - f) / f^2,           |f| <= ln2/2
inline constexpr Poly kExpm1 = {kExpm1_32, kExpm1_64};  // the same, for results near zero
inline constexpr Poly kExp2 = {kExp2_32, kExp2_64};     // (2^f - 1) / f,                 |f| <= 1/2
inline constexpr Poly kSin = {kSin32, kSin64};  // (sin(r)/r - 1) / r^2 in r^2,   |r| <= pi/4
inline constexpr Poly kCos = {kCos32, kCos64};  // (cos(r) - 1 + r^2/2) / r^4 in r^2
inline constexpr Poly kErfSmall = {kErfSmall32, kErfSmall64};  // erf(x)/x - 1 in x^2,  |x| <= 1
// log2((1+s)/(1-s)) less the terms in s and s^3, over s^5, in s^2.
inline constexpr Poly kPowTail = {kPow32, kPow64};

// 2/pi after the binary point, in words of 32 and of 64 bits, most significant first, with one zero
// word in front.
inline constexpr uint32_t kTwoOverPiWords32[] = {0,          0xa2f9836e, 0x4e441529,
                                                 0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                                 0x3c439041, 0xfe5163ab, 0xdebbc561};
inline constexpr uint64_t kTwoOverPiWords64[] = {0,
                                                 0xa2f9836e4e441529,
                                                 0xfc2757d1f534ddc0,
                                                 0xdb6295993c439041,
                                                 0xfe5163abdebbc561,
                                                 0xb7246e3a424dd2e0,
                                                 0x06492eea09d1921c,
                                                 0xfe1deb1cb129a73e,
                                                 0xe88235f52ebb4484,
                                                 0xe99c7026b45f7e41,
                                                 0x3991d639835339f4,
                                                 0x9c845f8bbdf9283b,
                                                 0x1ff897ffde05980f,
                                                 0xef2f118b5a0a6d1f,
                                                 0x6d367ecf27cb09b7,
                                                 0x4f463f669e5fea2d,
                                                 0x7527bac7ebe5f17b,
                                                 0x3d0739f78a5292ea,
                                                 0x6bfb5fb11f8d5d08,
                                                 0x56033046fc7b6bab,
                                                 0xf0cfbc209af4361d};

}  // namespace ost::kir::coef
