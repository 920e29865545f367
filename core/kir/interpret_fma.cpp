// The loops around fma. std::fma without hardware support is a library call for each element, so
// these few functions exist twice on x86: for any CPU, and for CPUs with FMA3, chosen once. Both
// round once: the bits are the same.
#include <cmath>

#include "core/kir/interpret_ops.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define OST_HAVE_FMA3_LOOPS 1
#define OST_FMA3 __attribute__((target("avx2,fma")))
#endif

namespace ost::kir::interp {
namespace {

#define OST_DEFINE_FMA_LOOPS(suffix, attribute)                                                   \
  template <class T>                                                                              \
  attribute void map_##suffix(size_t n, void* out, const void* a, const void* b, const void* c) { \
    T* __restrict r = static_cast<T*>(out);                                                       \
    const T* __restrict x = static_cast<const T*>(a);                                             \
    const T* __restrict y = static_cast<const T*>(b);                                             \
    const T* __restrict z = static_cast<const T*>(c);                                             \
    for (size_t i = 0; i < n; ++i) r[i] = std::fma(x[i], y[i], z[i]);                             \
  }                                                                                               \
  template <class T>                                                                              \
  attribute T chain_##suffix(size_t n, const T* x, const T* y, T acc) {                           \
    for (size_t i = 0; i < n; ++i) acc = std::fma(x[i], y[i], acc);                               \
    return acc;                                                                                   \
  }                                                                                               \
  template <class T>                                                                              \
  attribute void lanes_##suffix(size_t n, const T* x, const T* y, T* lanes) {                     \
    T* __restrict acc = lanes;                                                                    \
    size_t i = 0;                                                                                 \
    for (; i + 64 <= n; i += 64)                                                                  \
      for (size_t l = 0; l < 64; ++l) acc[l] = std::fma(x[i + l], y[i + l], acc[l]);              \
    for (; i < n; ++i) acc[i % 64] = std::fma(x[i], y[i], acc[i % 64]);                           \
  }                                                                                               \
  constexpr FmaLoops kLoops_##suffix = {map_##suffix<float>,   map_##suffix<double>,              \
                                        chain_##suffix<float>, chain_##suffix<double>,            \
                                        lanes_##suffix<float>, lanes_##suffix<double>};

OST_DEFINE_FMA_LOOPS(any, )
#ifdef OST_HAVE_FMA3_LOOPS
OST_DEFINE_FMA_LOOPS(fma3, OST_FMA3)
#endif

}  // namespace

const FmaLoops& fma_loops() {
#ifdef OST_HAVE_FMA3_LOOPS
  static const bool fast = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (fast) return kLoops_fma3;
#endif
  return kLoops_any;
}

BlockFn fma_fn(DType type) {
  if (type == DType::f32) return fma_loops().f32;
  return type == DType::f64 ? fma_loops().f64 : nullptr;
}

}  // namespace ost::kir::interp
