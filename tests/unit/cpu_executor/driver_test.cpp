// The driver: what it says about itself, options, errors and memory.
#include <cstdint>
#include <thread>

#include "cpu.hpp"
#include "plugins/cpu/abi/target.hpp"

namespace ost_test {
namespace {

TEST(CpuDriver, DescribesItsDevice) {
  Cpu cpu;
  const ost_device_info_t info = cpu.info();
  EXPECT_EQ(OST_DEVICE_KIND_CPU, info.kind);
  EXPECT_EQ(OST_DEVICE_UNIFIED, info.flags);
  EXPECT_STRNE("", info.name);
  const auto features = ost_cpu::from_key(info.target);
  ASSERT_TRUE(features) << info.target;
  EXPECT_EQ(info.target, ost_cpu::to_key(*features)) << "the key is canonical";
  EXPECT_EQ(*features, ost_cpu::closed(*features));
  EXPECT_EQ(1u, info.form_count);
  EXPECT_EQ(OST_FORM_KIR_L1, info.forms[0]);
  EXPECT_GE(info.threads, 1u);
  EXPECT_EQ(64u, info.min_align);
  EXPECT_GT(info.memory_bytes, 0u);
}

TEST(CpuDriver, TakesOptions) {
  EXPECT_EQ(3u, Cpu("threads", "3").info().threads);
  const std::string native = Cpu().info().target;
  EXPECT_EQ(native, Cpu("isa", "native").info().target);
  EXPECT_EQ(native, Cpu("isa", native).info().target);
  EXPECT_STREQ("x86_64", Cpu("isa", "baseline").info().target);
  EXPECT_EQ(std::string::npos, std::string(Cpu("isa", "avx2").info().target).find("avx512"));
}

TEST(CpuDriver, RefusesOptionsThatMakeNoSense) {
  const auto message = [](const char* option, const char* value) -> std::string {
    try {
      const Cpu cpu(option, value);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ("option threads is '0', wanted a number from 1 to 1024", message("threads", "0"));
  EXPECT_EQ("option threads is '2x', wanted a number from 1 to 1024", message("threads", "2x"));
  EXPECT_NE(std::string::npos,
            message("isa", "mmx").find("option isa is 'mmx', wanted native, baseline, avx2"));
}

TEST(CpuDriver, RefusesDevicesAndHeapsThatDoNotExist) {
  Cpu cpu;
  ost_device_info_t info{};
  info.size = sizeof info;
  Error error;
  EXPECT_EQ(OST_NOT_FOUND, table().device_info(cpu.driver, 1, &info, &error));
  EXPECT_STREQ("device 1 of 1", error.message);
  ost_dbuffer_t* buffer = nullptr;
  EXPECT_EQ(OST_NOT_FOUND, table().buffer_alloc(cpu.device, 1, 16, 64, &buffer, &error));
  EXPECT_EQ(1u, table().heap_count(cpu.device));
}

TEST(CpuDriver, RefusesStructsThatAreTooShort) {
  Cpu cpu;
  ost_device_info_t info{};
  info.size = 8;
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().device_info(cpu.driver, 0, &info, &error));
  EXPECT_EQ(2u, error.rule);
}

TEST(CpuDriver, RefusesOtherFormsAndTargets) {
  Cpu cpu;
  ost_compile_t job{};
  job.size = sizeof job;
  job.form = OST_FORM_OPENCL_C;
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().compile(cpu.driver, &job, &error));
  job.form = OST_FORM_KIR_L1;
  job.target = {"sparc", 5};
  EXPECT_EQ(OST_INCOMPATIBLE, table().compile(cpu.driver, &job, &error));
  EXPECT_NE(nullptr, strstr(error.message, "'sparc'"));
}

// Memory.

TEST(CpuMemory, IsAlignedAndNeverNull) {
  Cpu cpu;
  for (const uint64_t bytes : {0ull, 1ull, 63ull, 4096ull, 5ull << 20}) {
    for (const uint32_t align : {0u, 1u, 64u, 4096u}) {
      ost_dbuffer_t* buffer = nullptr;
      EXPECT_OK(table().buffer_alloc(cpu.device, 0, bytes, align, &buffer, &error));
      void* pointer = nullptr;
      EXPECT_OK(table().buffer_map(buffer, 0, bytes, &pointer, &error));
      ASSERT_NE(nullptr, pointer);
      EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(pointer) % std::max(64u, align));
      memset(pointer, 0x5a, bytes);
      EXPECT_OK(table().buffer_unmap(buffer, &error));
      table().buffer_free(cpu.device, buffer);
    }
  }
}

TEST(CpuMemory, SaysWhenThereIsNotEnough) {
  Cpu cpu;
  for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 62}) {
    ost_dbuffer_t* buffer = nullptr;
    Error error;
    EXPECT_EQ(OST_OUT_OF_MEMORY, table().buffer_alloc(cpu.device, 0, bytes, 64, &buffer, &error));
    EXPECT_EQ(nullptr, buffer);
  }
  ost_dbuffer_t* buffer = nullptr;
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().buffer_alloc(cpu.device, 0, 64, 48, &buffer, &error));
  EXPECT_EQ(8u, error.rule);
}

TEST(CpuMemory, IsReadAndWrittenInsideTheBufferOnly) {
  Cpu cpu;
  ost_ref_t ref;
  char* bytes = cpu.buffer<char>(8, ref);
  EXPECT_OK(table().buffer_write(cpu.device, ref.buffer, 2, "abc", 3, &error));
  EXPECT_EQ("abc", std::string(bytes + 2, 3));
  char back[3] = {};
  EXPECT_OK(table().buffer_read(cpu.device, ref.buffer, 3, back, 2, &error));
  EXPECT_STREQ("bc", back);
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT,
            table().buffer_write(cpu.device, ref.buffer, 6, "abc", 3, &error));
  EXPECT_EQ(8u, error.rule);
  EXPECT_EQ(OST_INVALID_ARGUMENT,
            table().buffer_read(cpu.device, ref.buffer, UINT64_MAX, back, 2, &error));
  void* pointer = nullptr;
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().buffer_map(ref.buffer, 4, 5, &pointer, &error));
}

TEST(CpuMemory, ImportsTheCallersMemory) {
  Cpu cpu;
  alignas(8) int64_t mine[4] = {1, 2, 3, 4};
  ost_dbuffer_t* buffer = nullptr;
  EXPECT_OK(table().buffer_import_host(cpu.device, mine, sizeof mine, &buffer, &error));
  const ost_ref_t ref{buffer, 8, 16, 0, 0};
  ost_command_t fill = transfer(OST_CMD_FILL, {});
  fill.refs = &ref;
  fill.ref_count = 1;
  fill.fill_pattern = 9;
  fill.fill_pattern_size = 8;
  EXPECT_OK(cpu.submit({fill}, &error));
  EXPECT_EQ(1, mine[0]);
  EXPECT_EQ(9, mine[1]);
  EXPECT_EQ(9, mine[2]);
  EXPECT_EQ(4, mine[3]);
  table().buffer_free(cpu.device, buffer);
  EXPECT_EQ(4, mine[3]);
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT,
            table().buffer_import_host(cpu.device, reinterpret_cast<char*>(mine) + 1, 8, &buffer,
                                       &error));
}

TEST(CpuDriver, DestroysNull) {
  table().driver_destroy(nullptr);
  table().device_destroy(nullptr);
  table().queue_destroy(nullptr);
  table().timeline_destroy(nullptr);
  table().buffer_free(nullptr, nullptr);
  table().executable_unload(nullptr);
  table().cmdlist_destroy(nullptr);
}

TEST(CpuDriver, RefusesNullHandles) {
  Error error;
  EXPECT_EQ(OST_INVALID_ARGUMENT,
            table().queue_submit(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, &error));
  EXPECT_EQ(11u, error.rule);
  ost_executable_t* executable = nullptr;
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().executable_load(nullptr, {}, {}, &executable, nullptr));
  EXPECT_EQ(OST_INVALID_ARGUMENT, table().timeline_signal(nullptr, 1, nullptr));
}

}  // namespace
}  // namespace ost_test
