// Images: what loads, what is refused and why, and that no damage to the bytes does more than that.
#include <cstdio>
#include <fstream>
#include <random>

#include "cpu.hpp"
#include "plugins/cpu/abi/target.hpp"

namespace ost_test {
namespace {

ost_fit_t check(Cpu& cpu, const ost_device_info_t& info, const std::string& image,
                std::string* why) {
  ost_fit_t fit = 99;
  why->clear();
  EXPECT_OK(table().image_check(cpu.driver, &info, {image.data(), image.size()}, &fit, sink(*why),
                                &error));
  return fit;
}

ost_status_t try_load(Cpu& cpu, const std::string& image, Error& error) {
  ost_executable_t* out = nullptr;
  const ost_status_t status =
      table().executable_load(cpu.device, {image.data(), image.size()}, {nullptr, 0}, &out, &error);
  table().executable_unload(out);
  return status;
}

TEST(CpuImage, FindsKernelsByName) {
  Cpu cpu;
  ost_executable_t* executable = cpu.load(kernel_image());
  EXPECT_NE(cpu.entry(executable, "add_one"), cpu.entry(executable, "step"));
  uint32_t entry = 0;
  Error error;
  EXPECT_EQ(OST_NOT_FOUND, table().executable_entry(executable, str("ad"), &entry, &error));
  EXPECT_STREQ("the image has no kernel 'ad' among its 6", error.message);
}

TEST(CpuImage, RunsFromItsFileWithoutCopy) {
  Cpu cpu;
  const std::string image = kernel_image();
  const std::string path = testing::TempDir() + "ost_cpu_image_test.img";
  std::ofstream(path, std::ios::binary) << image;
  ost_executable_t* executable = cpu.load(image, path);
  std::ifstream maps("/proc/self/maps");
  const std::string all((std::istreambuf_iterator<char>(maps)), {});
  EXPECT_NE(all.find("r-xp 00001000"), all.npos);
  EXPECT_NE(all.find("ost_cpu_image_test.img"), all.npos);
  std::remove(path.c_str());

  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 5;
  EXPECT_OK(cpu.submit({dispatch(executable, cpu.entry(executable, "step"), {ref}, {1})}, &error));
  EXPECT_EQ(16, *value);
}

TEST(CpuImage, UsesItsOwnCopyWhenTheFileHasOtherBytes) {
  Cpu cpu;
  const std::string image = kernel_image();
  const std::string path = testing::TempDir() + "ost_cpu_image_other.img";
  std::ofstream(path, std::ios::binary) << std::string(image.size(), '\xcc');
  ost_executable_t* executable = cpu.load(image, path);
  std::remove(path.c_str());
  ost_ref_t ref;
  int64_t* value = cpu.buffer<int64_t>(1, ref);
  *value = 0;
  EXPECT_OK(cpu.submit({dispatch(executable, cpu.entry(executable, "step"), {ref}, {7})}, &error));
  EXPECT_EQ(7, *value);
}

TEST(CpuImage, FitsDevicesThatHaveItsExtensions) {
  Cpu cpu;
  std::string why;
  ost_device_info_t device = cpu.info();
  const auto target = [&](const char* key) {
    snprintf(device.target, sizeof device.target, "%s", key);
  };

  const std::string image = kernel_image("x86_64:avx");
  target(ost_cpu::to_key(ost_cpu::closed(ost_cpu::feature("avx"))).c_str());
  EXPECT_EQ(OST_FIT_OPTIMAL, check(cpu, device, image, &why)) << why;
  target("x86_64:avx2");
  EXPECT_EQ(OST_FIT_USABLE, check(cpu, device, image, &why));
  EXPECT_EQ("the image does not use avx2", why);
  target("x86_64:sse4.2");
  EXPECT_EQ(OST_FIT_UNUSABLE, check(cpu, device, image, &why));
  EXPECT_EQ("the image needs avx, which the device has not", why);
  target("gfx1100");
  EXPECT_EQ(OST_FIT_UNUSABLE, check(cpu, device, image, &why));
  EXPECT_NE(why.find("gfx1100"), why.npos);
}

TEST(CpuImage, RefusesToLoadWhatTheOptionIsaHides) {
  Cpu baseline("isa", "baseline");
  EXPECT_STREQ("x86_64", baseline.info().target);
  Error error;
  EXPECT_EQ(OST_OK, try_load(baseline, kernel_image("x86_64"), error)) << error.message;
  EXPECT_EQ(OST_INCOMPATIBLE, try_load(baseline, kernel_image("x86_64:sse3"), error));
  EXPECT_STREQ("the image needs sse3, which the device has not", error.message);
}

TEST(CpuImage, RefusesOtherFormatsAndKernelAbis) {
  Cpu cpu;
  Error error;
  const auto load = [&](const std::string& text) {
    return try_load(cpu, write_image("\xc3", {}, text), error);
  };
  EXPECT_EQ(OST_INCOMPATIBLE, load(note("x86_64", 2)));
  EXPECT_STREQ("image has format 2, this plugin reads 1", error.message);
  EXPECT_EQ(OST_INCOMPATIBLE, load(note("x86_64", 1, 9)));
  EXPECT_STREQ("image has kernel ABI 9, this plugin has 1", error.message);
  EXPECT_EQ(OST_INCOMPATIBLE, load(note("riscv64")));
  EXPECT_EQ(OST_DATA_LOSS, load("image=1\n"));
  EXPECT_STREQ("image is damaged: its note has no 'kernel_abi'", error.message);
  EXPECT_EQ(OST_DATA_LOSS, load(""));
}

TEST(CpuImage, RefusesKernelsOutsideTheCode) {
  Cpu cpu;
  Error error;
  EXPECT_EQ(OST_DATA_LOSS, try_load(cpu, write_image("\xc3", {{"k", 1}}, note("x86_64")), error));
  EXPECT_STREQ("image is damaged: kernel 'k' is outside the code", error.message);
}

TEST(CpuImage, RefusesEveryTruncation) {
  Cpu cpu;
  const ost_device_info_t info = cpu.info();
  const std::string whole = kernel_image();
  std::string why;
  for (size_t size = 0; size < whole.size(); ++size) {
    // An exact allocation, so that a sanitizer sees the first byte read beyond it.
    const std::vector<char> bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    ost_fit_t fit = 99;
    why.clear();
    ASSERT_EQ(OST_OK, table().image_check(cpu.driver, &info, {bytes.data(), size}, &fit, sink(why),
                                          nullptr));
    ASSERT_EQ(OST_FIT_UNUSABLE, fit) << size;
    ASSERT_FALSE(why.empty());
  }
}

// Flips bits everywhere but in the code; what is accepted must also load, since only parsing is
// tested.
TEST(CpuImage, SurvivesRandomDamage) {
  Cpu cpu;
  const std::string whole = kernel_image();
  const std::string text(__start_ost_test_kernels, __stop_ost_test_kernels);
  std::vector<size_t> places;
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool padding = i >= 120 && i < ost_cpu::kImageTextOffset;
    const bool code = i >= ost_cpu::kImageTextOffset && i < ost_cpu::kImageTextOffset + text.size();
    if (!padding && !code) places.push_back(i);
  }
  std::mt19937 random(20261130);
  unsigned accepted = 0;
  unsigned refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<char> bytes(whole.begin(), whole.end());
    const size_t flips = 1 + random() % 3;
    for (size_t f = 0; f < flips; ++f) {
      char& byte = bytes[places[random() % places.size()]];
      byte = static_cast<char>(random() % 4 == 0 ? (random() % 2 == 0 ? 0 : 0xff)
                                                 : byte ^ (1 << random() % 8));
    }
    ost_executable_t* out = nullptr;
    Error error;
    const ost_status_t status =
        table().executable_load(cpu.device, {bytes.data(), bytes.size()}, {}, &out, &error);
    (status == OST_OK ? accepted : refused) += 1;
    table().executable_unload(out);
    if (status == OST_OK) continue;
    ASSERT_STRNE("", error.message);
    ASSERT_TRUE(status == OST_DATA_LOSS || status == OST_INCOMPATIBLE) << error.message;
  }
  // Names, sizes of symbols and unused fields may change; structure may not.
  EXPECT_GT(refused, 5000u);
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace ost_test
