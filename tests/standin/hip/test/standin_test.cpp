// The stand-in itself: it must run kernels right, and find what a GPU would punish. What it finds
// loses the device for the process, so those cases run in processes of their own.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

template <class F>
F* symbol(const char* name) {
  static void* library = dlopen(OST_STANDIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) std::abort();
  return reinterpret_cast<F*>(found);
}
#define CALL(name, signature, ...) symbol<int signature>(#name)(__VA_ARGS__)

constexpr int kIllegalAddress = 700, kLaunchFailure = 719;

std::vector<char> compile(const std::string& source, int& code) {
  void* program = nullptr;
  CALL(hiprtcCreateProgram, (void**, const char*, const char*, int, void*, void*), &program,
       source.c_str(), "", 0, nullptr, nullptr);
  const char* options[] = {"--gpu-architecture=gfx000", "-std=c++17"};
  code = CALL(hiprtcCompileProgram, (void*, int, const char**), program, 2, options);
  size_t size = 0;
  CALL(hiprtcGetCodeSize, (void*, size_t*), program, &size);
  std::vector<char> out(size);
  CALL(hiprtcGetCode, (void*, char*), program, out.data());
  CALL(hiprtcDestroyProgram, (void**), &program);
  return out;
}

struct Kernel {
  explicit Kernel(const std::string& body, const std::string& bounds = "") {
    int code = 0;
    const auto image = compile(
        "extern \"C\" __global__ " + bounds + " void k(int* out, long long n) {" + body + "}",
        code);
    EXPECT_EQ(code, 0);
    EXPECT_EQ(CALL(hipModuleLoadData, (void**, const void*), &module, image.data()), 0);
    EXPECT_EQ(CALL(hipModuleGetFunction, (void**, void*, const char*), &function, module, "k"), 0);
    EXPECT_EQ(CALL(hipStreamCreateWithFlags, (void**, unsigned), &stream, 1), 0);
    EXPECT_EQ(CALL(hipMalloc, (void**, size_t), &memory, kInts * sizeof(int)), 0);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() {
    CALL(hipFree, (void*), memory);
    CALL(hipStreamDestroy, (void*), stream);
    CALL(hipModuleUnload, (void*), module);
  }
  // What the launch and then the stream say.
  int run(unsigned groups, unsigned lanes, long long n = 0) {
    void* params[] = {&memory, &n};
    const int launched = CALL(hipModuleLaunchKernel,
                              (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, void*, void**, void**),
                              function, groups, 1, 1, lanes, 1, 1, 0, stream, params, nullptr);
    return launched != 0 ? launched : CALL(hipStreamSynchronize, (void*), stream);
  }
  std::vector<int> ints() {
    std::vector<int> out(kInts);
    CALL(hipMemcpyAsync, (void*, const void*, size_t, int, void*), out.data(), memory,
         kInts * sizeof(int), 2, stream);
    CALL(hipStreamSynchronize, (void*), stream);
    return out;
  }
  static constexpr int kInts = 256;
  void *module = nullptr, *function = nullptr, *stream = nullptr, *memory = nullptr;
};

TEST(HipStandin, RunsLanesAndGroups) {
  Kernel k("int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = i + (int)n + (int)gridDim.x;");
  ASSERT_EQ(k.run(4, 64, 1000), 0);
  std::vector<int> want(256);
  std::iota(want.begin(), want.end(), 1004);
  EXPECT_EQ(k.ints(), want);
}

TEST(HipStandin, WaitsAtBarriers) {
  Kernel k(
      "__shared__ int a[64]; a[threadIdx.x] = threadIdx.x; "
      "for (int step = 32; step > 0; step /= 2) { __syncthreads(); "
      "if ((int)threadIdx.x < step) a[threadIdx.x] += a[threadIdx.x + step]; } "
      "__syncthreads(); out[blockIdx.x * 64 + threadIdx.x] = a[0];");
  ASSERT_EQ(k.run(4, 64), 0);
  EXPECT_EQ(k.ints(), std::vector<int>(256, 64 * 63 / 2));
}

TEST(HipStandin, PoisonsNewMemoryAndSharedMemory) {
  Kernel k("__shared__ int a[64]; if (threadIdx.x == 0) out[0] = a[63]; else out[1] += 0;");
  EXPECT_EQ(k.ints(), std::vector<int>(256, -1));
  ASSERT_EQ(k.run(1, 2), 0);
  EXPECT_EQ(k.ints()[0], -1);
}

TEST(HipStandin, RefusesSourceThatIsWrong) {
  int code = 0;
  EXPECT_TRUE(compile("extern \"C\" __global__ void k() { nonsense; }", code).empty());
  EXPECT_EQ(code, 6);
}

TEST(HipStandin, HoldsTheLimitsOfALaunch) {
  Kernel k("out[threadIdx.x] = 0;", "__launch_bounds__(64)");
  EXPECT_EQ(k.run(0, 64), 1);
  EXPECT_EQ(k.run(1, 2048), 1);
  EXPECT_EQ(k.run(1, 128), kLaunchFailure);
  EXPECT_EQ(k.run(1, 64), 0);
}

// The exit code says whether the device is lost with the wanted error, and stays lost.
void expect_lost(const char* body, unsigned lanes, long long n, int error, const char* said) {
  EXPECT_EXIT(
      {
        Kernel k(body);
        const bool found = k.run(1, lanes, n) == error;
        std::exit(found && CALL(hipSetDevice, (int), 0) == error ? 0 : 1);
      },
      testing::ExitedWithCode(0), said);
}

TEST(HipStandin, FindsAWriteBehindTheMemory) {
  expect_lost("out[n] = 1;", 1, 256, kIllegalAddress, "outside");
}
TEST(HipStandin, FindsAWriteBeforeTheMemory) {
  expect_lost("out[n] = 1;", 1, -1, kIllegalAddress, "outside");
}
TEST(HipStandin, FindsABarrierThatNotAllLanesReach) {
  expect_lost("if ((int)threadIdx.x < n) __syncthreads();", 64, 32, kLaunchFailure, "barrier");
}

TEST(HipStandin, RunsLanesFromLastToFirstIfAsked) {
  EXPECT_EXIT(
      {
        setenv("OST_STANDIN_REVERSE", "1", 1);
        Kernel k("out[0] = threadIdx.x;");
        std::exit(k.run(1, 64) == 0 && k.ints()[0] == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  Kernel k("out[0] = threadIdx.x;");
  ASSERT_EQ(k.run(1, 64), 0);
  EXPECT_EQ(k.ints()[0], 63);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // streams are threads
  return RUN_ALL_TESTS();
}
