// Compiling through the driver: the compiler library is opened when it is needed, by any number of
// threads.
#include <ostinato/kir.h>

#include <filesystem>
#include <thread>

#include "cpu.hpp"

namespace ost_test {
namespace {

constexpr int64_t kCount = 1000;

// out[i] = in[i] + in[i], as a binary kernel.
std::string twice() {
  const auto inst = [](uint16_t op, uint8_t dtype, std::vector<uint32_t> src, uint32_t aux = 0,
                       uint64_t imm = 0) {
    ost_kir_inst_t out{op, dtype, static_cast<uint8_t>(src.size()), aux, {}, imm};
    src.resize(4, OST_KIR_NO_INDEX);
    std::copy(src.begin(), src.end(), out.src);
    return out;
  };
  const ost_kir_inst_t insts[] = {
      inst(OST_KIR_OP_CONST, OST_DTYPE_I64, {}, 0, kCount),
      inst(OST_KIR_OP_PARAM, OST_DTYPE_F32, {0}, OST_KIR_READ, 0),
      inst(OST_KIR_OP_PARAM, OST_DTYPE_F32, {0}, OST_KIR_WRITE, 1),
      inst(OST_KIR_OP_AXIS, OST_DTYPE_I64, {0}, OST_KIR_AXIS_PARALLEL, 0),
      inst(OST_KIR_OP_LOAD, OST_DTYPE_F32, {1, 3}),
      inst(OST_KIR_OP_ADD, OST_DTYPE_F32, {4, 4}),
      inst(OST_KIR_OP_STORE, OST_DTYPE_F32, {2, 3, 5}),
  };
  const ost_kir_header_t header{OST_KIR_MAGIC,
                                OST_KIR_VERSION_MAJOR,
                                OST_KIR_VERSION_MINOR,
                                1,
                                OST_KIR_STRICT,
                                std::size(insts),
                                2,
                                0,
                                0};
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  return out.append(reinterpret_cast<const char*>(insts), sizeof insts);
}

ost_status_t compile(const ost_driver_table_t& t, ost_driver_t* driver, const std::string& target,
                     std::string& image, Error& error) {
  const std::string kernel = twice();
  ost_compile_t job{};
  job.size = sizeof job;
  job.form = OST_FORM_KIR_L1;
  job.code = {kernel.data(), kernel.size()};
  job.entry = {"twice", 5};
  job.target = str(target);
  job.image = sink(image);
  return t.compile(driver, &job, &error);
}

TEST(CpuCompile, MakesImagesThatRun) {
  Cpu cpu;
  for (const std::string& target : {std::string("x86_64"), std::string(cpu.info().target)}) {
    std::string image;
    EXPECT_OK(compile(table(), cpu.driver, target, image, error));
    ost_executable_t* executable = cpu.load(image);
    ost_ref_t in;
    ost_ref_t out;
    float* x = cpu.buffer<float>(kCount, in);
    float* y = cpu.buffer<float>(kCount, out);
    for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i) * 0.1f;
    EXPECT_OK(
        cpu.submit({dispatch(executable, cpu.entry(executable, "twice"), {in, out}, {})}, &error));
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(x[i] + x[i], y[i]) << i;
  }
}

TEST(CpuCompile, GivesTheSameBytesToAllThreads) {
  Cpu cpu;
  std::vector<std::string> images(6);
  std::vector<std::thread> threads;
  for (std::string& image : images) {
    threads.emplace_back(
        [&] { EXPECT_OK(compile(table(), cpu.driver, "x86_64:avx2,fma", image, error)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(images[0].empty());
  for (const std::string& image : images) EXPECT_EQ(images[0], image);
}

TEST(CpuCompile, KnowsItsKeyWithoutLoadingTheCompiler) {
  const auto key = [](Cpu& cpu) {
    std::string out;
    EXPECT_OK(table().compiler_key(cpu.driver, {"x86_64", 6}, sink(out), &error));
    return out;
  };
  Cpu cold;
  const std::string before = key(cold);
  EXPECT_TRUE(before.starts_with("llvm-")) << before;
  Cpu warm;
  std::string image;
  EXPECT_OK(compile(table(), warm.driver, "x86_64", image, error));
  EXPECT_EQ(before, key(warm));
  EXPECT_NE(std::string::npos, image.find("compiler=" + before + "\n"))
      << "the compiler stamps its key into images";
}

// The executor alone in a folder.
TEST(CpuCompile, SaysThatTheCompilerIsMissing) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "ost_cpu_alone";
  std::filesystem::create_directories(folder);
  const std::string copy = folder / "libostinato_cpu.so";
  std::filesystem::copy_file(OST_CPU_PLUGIN, copy,
                             std::filesystem::copy_options::overwrite_existing);
  void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  ASSERT_NE(nullptr, library) << dlerror();
  const auto negotiate =
      reinterpret_cast<ost_plugin_negotiate_fn>(dlsym(library, OST_PLUGIN_ENTRY_NAME));
  const ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  ASSERT_EQ(OST_OK, negotiate(&in, &out));
  ost_host_table_t host{};
  host.size = sizeof host;
  ost_driver_t* driver = nullptr;
  ASSERT_EQ(OST_OK, out.table->driver_create(&host, &driver, nullptr));
  std::string image;
  Error error;
  EXPECT_EQ(OST_UNAVAILABLE, compile(*out.table, driver, "x86_64", image, error));
  EXPECT_NE(nullptr, strstr(error.message, "can replay but not compile here")) << error.message;
  EXPECT_NE(nullptr, strstr(error.message, "libostinato_cpu_compiler.so")) << error.message;
  std::string key;
  EXPECT_EQ(OST_UNAVAILABLE, out.table->compiler_key(driver, {}, sink(key), nullptr));
  EXPECT_EQ("", image + key);
  out.table->driver_destroy(driver);
}

}  // namespace
}  // namespace ost_test
