// What the stand-in includes before a kernel: the words of HIP C++ as those of a host compiler. One
// group runs at a time in a module, so its coordinates and its __shared__ arrays are statics.
#pragma once

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __shared__ static __attribute__((section("standin_shared")))
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))

namespace standin {
struct Dim {
  unsigned x, y, z;
};

// What the runtime and a module know of each other; standin.hpp has the same text.
struct ModuleState {
  Dim thread, block, block_dim, grid_dim;
  void (*barrier)();
  char* shared_begin;
  char* shared_end;
};
struct KernelInfo {
  unsigned arguments;
  unsigned max_lanes;          // of __launch_bounds__, 0 if there is none
  const unsigned char* kinds;  // for each argument 'p' (a pointer) or its size
  void (*call)(void* const* arguments);
};

template <class T>
struct Kind {
  static_assert(sizeof(T) <= 16, "an argument of at most 16 bytes");
  static constexpr unsigned char value = sizeof(T);
};
template <class T>
struct Kind<T*> {
  static constexpr unsigned char value = 'p';
};

template <unsigned... I>
struct Indices {};
template <unsigned N, unsigned... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <unsigned... I>
struct MakeIndices<0, I...> {
  using Type = Indices<I...>;
};

template <auto Kernel, class F>
struct Trampoline;
template <auto Kernel, class... A>
struct Trampoline<Kernel, void (*)(A...)> {
  static constexpr unsigned char kinds[sizeof...(A) + 1] = {Kind<A>::value..., 0};
  template <unsigned... I>
  static void expand([[maybe_unused]] void* const* arguments, Indices<I...>) {
    Kernel(*static_cast<A*>(arguments[I])...);
  }
  static void call(void* const* arguments) {
    expand(arguments, typename MakeIndices<sizeof...(A)>::Type{});
  }
};
}  // namespace standin

extern "C" {
extern char __start_standin_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_standin_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((visibility("default"))) standin::ModuleState standin_module = {
    {}, {}, {}, {}, nullptr, __start_standin_shared, __stop_standin_shared};
// Only a module that waits has this symbol; all others need no fibers.
inline __attribute__((noinline, visibility("default"))) void standin_wait() {
  standin_module.barrier();
}
}

#define threadIdx standin_module.thread
#define blockIdx standin_module.block
#define blockDim standin_module.block_dim
#define gridDim standin_module.grid_dim
#define __syncthreads() standin_wait()

#define STANDIN_KERNEL(NAME, BOUNDS)                                          \
  extern "C" __attribute__((visibility("default")))                           \
  const standin::KernelInfo standin_kernel_##NAME = {                         \
      sizeof(standin::Trampoline<&NAME, decltype(&NAME)>::kinds) - 1, BOUNDS, \
      standin::Trampoline<&NAME, decltype(&NAME)>::kinds,                     \
      standin::Trampoline<&NAME, decltype(&NAME)>::call};
