#include "core/runtime/lockstep.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/runtime/ref_driver.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::runtime {
namespace {

using test::bytes_of_floats;

// A driver that is ref, but compiles one float operation as another.
struct Mistake {
  kir::Op right, wrong;
};
Mistake mistake{kir::Op::mul, kir::Op::add};
ost_driver_table_t wrong_table;
decltype(wrong_table.compile) right_compile;
decltype(wrong_table.driver_create) right_create;

// A function of its own: a process has one driver for each.
ost_status_t wrong_create(const ost_host_table_t* host, ost_driver_t** out_driver,
                          ost_error_t* error) {
  return right_create(host, out_driver, error);
}

ost_status_t wrong_compile(ost_driver_t* driver, const ost_compile_t* job, ost_error_t* error) {
  auto kernel = kir::from_binary({static_cast<const uint8_t*>(job->code.data), job->code.size});
  if (!kernel) return OST_INTERNAL;
  for (kir::Inst& inst : kernel->insts) {
    if (inst.op == static_cast<uint16_t>(mistake.right) && inst.dtype == OST_DTYPE_F32)
      inst.op = static_cast<uint16_t>(mistake.wrong);
  }
  const auto code = kir::to_binary(*kernel);
  ost_compile_t changed = *job;
  changed.code = {code.data(), code.size()};
  return right_compile(driver, &changed, error);
}

ost_status_t wrong_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  const ost_status_t status = ref_negotiate(in, out);
  if (status != OST_OK) return status;
  std::strcpy(out->name, "wrong");
  wrong_table = *out->table;
  right_compile = wrong_table.compile;
  right_create = wrong_table.driver_create;
  wrong_table.compile = wrong_compile;
  wrong_table.driver_create = wrong_create;
  out->table = &wrong_table;
  return OST_OK;
}

DevicePtr wrong_device() {
  auto plugin = negotiate_with(wrong_negotiate);
  EXPECT_TRUE(plugin.has_value());
  auto driver = Driver::create(std::make_shared<const Plugin>(std::move(*plugin)), {});
  EXPECT_TRUE(driver.has_value());
  OpenOptions options;
  options.self_test = false;  // which would find it out
  auto device = (*driver)->open(0, options);
  EXPECT_TRUE(device.has_value());
  return *device;
}

Result<LockstepResult> compare(const Program& program, const DevicePtr& a, const DevicePtr& b,
                               const std::vector<float>& x) {
  Compiler compiler(std::make_shared<CompileCache>(""));
  const auto bytes = bytes_of_floats(x);
  const LockstepCall call{{bytes}, {static_cast<int64_t>(x.size() / 4)}};
  return lockstep(std::make_shared<const Program>(program), {std::vector{a}, std::vector{b}},
                  compiler, call);
}

TEST(Lockstep, EqualDevicesAreEqualNaNsIncluded) {
  const DevicePtr ref = test::ref_device();
  const auto result = compare(test::scaled_relu(), ref, ref, {NAN, -NAN, 0.0f, -0.0f, 1, 2, 3, 4});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_FALSE(result->first.has_value());
  EXPECT_EQ(result->compared, 2u);
}

TEST(Lockstep, FindsTheFirstKernelAndElementThatDiffer) {
  mistake = {kir::Op::mul, kir::Op::add};
  const Program program = test::scaled_relu();
  const auto result =
      compare(program, test::ref_device(), wrong_device(), {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_TRUE(result->first.has_value());
  EXPECT_EQ(result->first->step, 0u);
  EXPECT_EQ(result->first->buffer, program.steps[0].args[2]);
  EXPECT_EQ(result->compared, 1u);
  EXPECT_GT(result->first->different, 0u);
  const float* scale = reinterpret_cast<const float*>(program.constants[0].data->bytes.data());
  uint64_t first = 0;
  while (scale[first % 4] * static_cast<float>(first + 1) ==
         scale[first % 4] + static_cast<float>(first + 1))
    ++first;
  EXPECT_EQ(result->first->index, first);
  EXPECT_EQ(result->first->bits[0],
            std::bit_cast<uint32_t>(scale[first % 4] * static_cast<float>(first + 1)));
  EXPECT_EQ(result->first->bits[1],
            std::bit_cast<uint32_t>(scale[first % 4] + static_cast<float>(first + 1)));
}

TEST(Lockstep, DoesNotBlameTheKernelBefore) {
  mistake = {kir::Op::neg, kir::Op::abs};
  const auto result =
      compare(test::scaled_relu(kir::Op::neg), wrong_device(), test::ref_device(), {1, 2, 3, 4});
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_TRUE(result->first.has_value());
  EXPECT_EQ(result->first->step, 1u);
  EXPECT_EQ(result->compared, 2u);
}

TEST(Lockstep, DistanceIsInRepresentableNumbers) {
  const auto f = [](float v) { return uint64_t{std::bit_cast<uint32_t>(v)}; };
  EXPECT_EQ(bit_distance(DType::f32, f(1), f(std::nextafter(1.0f, 2.0f))), 1u);
  EXPECT_EQ(bit_distance(DType::f32, f(0.0f), f(-0.0f)), 1u);
  EXPECT_EQ(bit_distance(DType::f32, f(std::nextafter(0.0f, 1.0f)), f(std::nextafter(0.0f, -1.0f))),
            3u);
  EXPECT_EQ(bit_distance(DType::f32, f(NAN), f(-NAN)), 0u);
  EXPECT_EQ(bit_distance(DType::f32, f(NAN), f(1)), UINT64_MAX);
  EXPECT_EQ(bit_distance(DType::f16, 0x7c00, 0x7bff), 1u);
  EXPECT_EQ(bit_distance(DType::bf16, 0x7f81, 0xffff), 0u);
  EXPECT_EQ(bit_distance(DType::f64, std::bit_cast<uint64_t>(-INFINITY * 1.0),
                         std::bit_cast<uint64_t>(double{INFINITY})),
            2 * (uint64_t{0x7ff} << 52) + 1);
  EXPECT_EQ(bit_distance(DType::i8, 0xff, 0x01), 2u);  // -1 and 1
  EXPECT_EQ(bit_distance(DType::u8, 0xff, 0x01), 254u);
  EXPECT_EQ(bit_distance(DType::i64, uint64_t{1} << 63, ~uint64_t{0} >> 1), ~uint64_t{0});
  EXPECT_EQ(bit_distance(DType::boolean, 0, 1), 1u);
}

}  // namespace
}  // namespace ost::runtime
