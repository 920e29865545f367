// Forms of kernels are made once.
#include "core/runtime/recipe.hpp"

#include <gtest/gtest.h>

namespace ost {
namespace {

kir::Kernel scaled(double factor) {
  kir::Builder b;
  const kir::Value n = b.i64(100);
  const kir::Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const kir::Value y = b.param(1, DType::f32, n, OST_KIR_WRITE);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  b.store(y, i, b.mul(b.load(x, i), b.f32(static_cast<float>(factor))));
  return *b.build();
}

ost_device_info_t device(uint32_t form, uint32_t group, uint32_t local) {
  ost_device_info_t info{};
  info.size = sizeof info;
  info.forms[0] = form;
  info.form_count = 1;
  info.max_group = group;
  info.local_bytes = local;
  return info;
}

TEST(FormCache, MakesAFormOnceForAKernelAndADevice) {
  runtime::FormCache forms;
  const auto info = device(OST_FORM_OPENCL_C, 256, 32 << 10);
  const auto first = forms.get(scaled(2), info);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(*forms.get(scaled(2), info), *first);  // the very same
  const auto other = forms.get(scaled(3), info);
  EXPECT_NE((*other)->code, (*first)->code);
  const auto formed = codegen::form_for(scaled(2), info, runtime::entry_name(scaled(2)));
  EXPECT_EQ(formed->code, (*first)->code);
}

TEST(FormCache, TellsDevicesApart) {
  runtime::FormCache forms;
  const auto base = forms.get(scaled(2), device(OST_FORM_OPENCL_C, 256, 32 << 10));
  for (const auto& info :
       {device(OST_FORM_HIP_CPP, 256, 32 << 10), device(OST_FORM_OPENCL_C, 1, 32 << 10),
        device(OST_FORM_OPENCL_C, 256, 0)}) {
    const auto made = forms.get(scaled(2), info);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_NE((*made)->code, (*base)->code);
  }
}

TEST(FormCache, KeepsNothingOfAnError) {
  runtime::FormCache forms;
  EXPECT_FALSE(forms.get(scaled(2), device(99, 256, 32 << 10)).has_value());
  EXPECT_TRUE(forms.get(scaled(2), device(OST_FORM_KIR_L1, 256, 32 << 10)).has_value());
}

TEST(FormCache, StartsAnewWhenItIsFull) {
  runtime::FormCache forms;
  const auto info = device(OST_FORM_KIR_L1, 1, 0);
  for (int i = 0; i < 1100; ++i) ASSERT_TRUE(forms.get(scaled(i), info).has_value());
  EXPECT_TRUE(forms.get(scaled(0), info).has_value());
}

}  // namespace
}  // namespace ost
