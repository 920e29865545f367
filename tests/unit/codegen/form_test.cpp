// Which form a device gets.
#include "core/codegen/form.hpp"

#include <gtest/gtest.h>

namespace ost {
namespace {

kir::Kernel add_kernel() {
  kir::Builder b;
  const kir::Value n = b.var(0, 0, 1000);
  const kir::Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const kir::Value y = b.param(1, DType::f32, n, OST_KIR_WRITE);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  b.store(y, i, b.add(b.load(x, i), b.load(x, i)));
  return *b.build();
}

ost_device_info_t device(std::initializer_list<uint32_t> forms) {
  ost_device_info_t info{};
  info.size = sizeof info;
  for (const uint32_t form : forms) info.forms[info.form_count++] = form;
  info.max_group = 256;
  info.local_bytes = 32 << 10;
  return info;
}

TEST(FormFor, IsTheFirstThatTheHostMakes) {
  const auto kernel = add_kernel();
  EXPECT_EQ(codegen::form_for(kernel, device({OST_FORM_KIR_L1, OST_FORM_C99}), "k")->form,
            uint32_t{OST_FORM_KIR_L1});
  EXPECT_EQ(codegen::form_for(kernel, device({99, OST_FORM_OPENCL_C}), "k")->form,
            uint32_t{OST_FORM_OPENCL_C});
  EXPECT_EQ(codegen::form_for(kernel, device({99}), "k").error().message,
            "the device accepts unknown form (99); this host makes kir-l1, kir-l2, opencl-c, "
            "hip-cpp, cuda-cpp and c99");
}

TEST(FormFor, LevelOneHasNoLaunch) {
  EXPECT_FALSE(codegen::form_for(add_kernel(), device({OST_FORM_KIR_L1}), "k")->launch);
}

TEST(FormFor, TheGridOfLevelTwoFollowsTheVariables) {
  auto formed = codegen::form_for(add_kernel(), device({OST_FORM_KIR_L2}), "k");
  ASSERT_TRUE(formed.has_value());
  const auto kernel = kir::from_binary(formed->code);
  ASSERT_TRUE(kernel.has_value()) << kernel.error().message;
  EXPECT_EQ(kernel->level, 2u);
  EXPECT_EQ(kernel->lanes, formed->launch->lanes);
  for (const int64_t n : {0, 1, 128, 129, 1000}) {
    const int64_t vars[] = {n};
    const uint64_t lanes = formed->launch->lanes;
    EXPECT_EQ(formed->launch->grid.eval(vars)[0], (static_cast<uint64_t>(n) + lanes - 1) / lanes);
  }
}

TEST(FormFor, ADeviceWithoutSharedMemoryHasOneLane) {
  auto info = device({OST_FORM_KIR_L2});
  info.local_bytes = 0;
  EXPECT_EQ(codegen::form_for(add_kernel(), info, "k")->launch->lanes, 1u);
}

TEST(FormFor, SourcesNameTheirEntry) {
  for (const uint32_t form :
       {OST_FORM_C99, OST_FORM_OPENCL_C, OST_FORM_HIP_CPP, OST_FORM_CUDA_CPP}) {
    const auto formed = codegen::form_for(add_kernel(), device({form}), "my_kernel");
    ASSERT_TRUE(formed.has_value()) << codegen::form_name(form);
    const std::string text(formed->code.begin(), formed->code.end());
    EXPECT_NE(text.find("my_kernel("), std::string::npos) << codegen::form_name(form);
  }
}

}  // namespace
}  // namespace ost
