// The roof: f32 multiply-adds per second of one core, with as many independent chains as the pipes
// need, in the widest vectors that this CPU has. Prints one JSON object.
#include <chrono>
#include <cstdio>

namespace {

constexpr int kChains = 12;  // latency 4 x 2 pipes, with room
constexpr long kSteps = 20'000'000;

template <typename Vector>
[[gnu::always_inline]] inline double measure() {
  Vector acc[kChains];
  const Vector a = Vector{} + 0.999999f, b = Vector{} + 1e-6f;
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) acc[i] = Vector{} + static_cast<float>(i);
  const auto start = std::chrono::steady_clock::now();
  for (long s = 0; s < kSteps; ++s) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) {
      acc[i] = acc[i] * a + b;
      asm volatile("" : "+v"(acc[i]));
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  float sink = 0;
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) sink += acc[i][0];
  asm volatile("" : : "r"(&sink) : "memory");
  return 2.0 * kSteps * kChains * (sizeof(Vector) / sizeof(float)) / seconds.count() / 1e9;
}

using V16 = float __attribute__((vector_size(64)));
using V8 = float __attribute__((vector_size(32)));

[[gnu::target("avx512f,fma"), gnu::optimize("fp-contract=fast")]] double peak_avx512() {
  return measure<V16>();
}
[[gnu::target("avx2,fma"), gnu::optimize("fp-contract=fast")]] double peak_avx2() {
  return measure<V8>();
}

}  // namespace

int main() {
  const bool wide = __builtin_cpu_supports("avx512f") != 0;
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double now = wide ? peak_avx512() : peak_avx2();
    best = now > best ? now : best;
  }
  std::printf("{\"isa\": \"%s\", \"gflops\": %.1f}\n", wide ? "avx512f" : "avx2", best);
}
