// Bytes of any origin: a compile ends with a status, whatever they are, and errors say what is
// wrong.
#include <cstring>

#include "core/kir/math.hpp"
#include "jit.hpp"

namespace ost::cpu_test {
namespace {

struct Attempt {
  ost_status_t status;
  std::string message;
};

Attempt compile_bytes(const std::vector<uint8_t>& bytes, const std::string& target = "x86_64",
                      const std::string& entry = "kernel", const std::string& options = "") {
  std::string image;
  const auto write = [](void* to, const void* data, uint64_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
  };
  const ost_cpu_compile_t job{{bytes.data(), bytes.size()},
                              {entry.data(), entry.size()},
                              {target.data(), target.size()},
                              {options.data(), options.size()},
                              {&image, write},
                              {},
                              nullptr,
                              nullptr};
  ost_error_t error{};
  error.size = sizeof error;
  const ost_status_t status = compiler().compile(&job, &error);
  EXPECT_EQ(status == OST_OK, !image.empty());
  return {status, error.message};
}

std::vector<uint8_t> sample() {
  Builder b;
  const Value x = b.param(0, DType::f32, b.i64(600), OST_KIR_READ),
              out = b.param(1, DType::f32, b.i64(600), OST_KIR_WRITE),
              h = b.param(2, DType::f16, b.i64(600), OST_KIR_WRITE);
  const Value i = b.axis(b.i64(20), Role::parallel), j = b.axis(b.i64(30), Role::parallel),
              r = b.axis(b.i64(30), Role::reduce);
  const Value row = b.mul(i, b.i64(30));
  const Value top = b.reduce(Combine::max, Order::any, b.load(x, b.add(row, r)), r);
  const Value y = expand(b, kir::Fn::sin, b.binary(Op::sub, b.load(x, b.add(row, j)), top));
  b.store(out, b.add(row, j), y, b.lt(j, b.i64(29)));
  b.store(h, b.add(row, j), b.cast(DType::f16, y));
  return to_binary(*b.build());
}

TEST(CpuDamaged, EveryTruncationIsRefused) {
  const std::vector<uint8_t> whole = sample();
  for (size_t n = 0; n < whole.size(); n += 7) {
    const Attempt a =
        compile_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
    EXPECT_EQ(a.status, OST_INVALID_ARGUMENT);
    EXPECT_NE(a.message.find("kernel"), std::string::npos) << a.message;
  }
}

TEST(CpuDamaged, RandomChangesNeverCrash) {
  const std::vector<uint8_t> whole = sample();
  Random random(99);
  const std::string avx2 = ost_cpu::to_key(ost_cpu::kAvx2Level);
  size_t accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t k = 0; k <= random.below(2); ++k) {
      const size_t at =
          sizeof(ost_kir_header_t) + random.below(bytes.size() - sizeof(ost_kir_header_t));
      bytes[at] = random.one_in(2) ? static_cast<uint8_t>(random.next())
                                   : static_cast<uint8_t>(bytes[at] + random.below(5) - 2);
    }
    if (compile_bytes(bytes, avx2).status == OST_OK && ++accepted == 40) break;
  }
  EXPECT_GT(accepted, 10u);
}

TEST(CpuDamaged, JobsThatMakeNoSenseSayWhy) {
  const std::vector<uint8_t> bytes = sample();
  EXPECT_EQ(compile_bytes(bytes, "aarch64").status, OST_INCOMPATIBLE);
  EXPECT_NE(compile_bytes(bytes, "x86_64:avx,mmx9").message.find("avx,mmx9"), std::string::npos);
  EXPECT_EQ(compile_bytes(bytes, "x86_64", "a-b").status, OST_INVALID_ARGUMENT);
  EXPECT_EQ(compile_bytes(bytes, "x86_64", "").status, OST_INVALID_ARGUMENT);
  EXPECT_NE(compile_bytes(bytes, "x86_64", "kernel", "colour=red").message.find("colour=red"),
            std::string::npos);
  EXPECT_EQ(compile_bytes(bytes, "x86_64", "kernel", "dump=/nowhere/at/all").status, OST_IO_ERROR);
}

TEST(CpuCompiler, EqualJobsGiveEqualImages) {
  Builder b;
  const Value x = b.param(0, DType::f32, b.i64(600), OST_KIR_READ),
              out = b.param(1, DType::f32, b.i64(600), OST_KIR_WRITE);
  const Value i = b.axis(b.i64(600), Role::parallel);
  b.store(out, i, expand(b, kir::Fn::pow, b.load(x, i), b.f32(1.5f)));
  const auto kernel = b.build();
  ASSERT_TRUE(kernel);
  for (const Target& t : targets()) {
    const auto first = compile_image(*kernel, ost_cpu::to_key(t.features)),
               second = compile_image(*kernel, ost_cpu::to_key(t.features));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
    EXPECT_NE(first->find("target=" + ost_cpu::to_key(t.features) + "\n"), std::string::npos);
  }
}

TEST(CpuCompiler, DeepExpressionsNeedNoDeepStack) {
  Builder b;
  const Value n = b.var(0, 0, 10);
  Value count = n;
  for (int i = 0; i < 20000; ++i) count = b.add(b.binary(Op::max, count, b.i64(i % 7)), n);
  const Value x = b.param(0, DType::f32, count, OST_KIR_READ),
              out = b.param(1, DType::f32, count, OST_KIR_WRITE);
  const Value i = b.axis(count, Role::parallel);
  Value v = b.load(x, i);
  for (int k = 0; k < 3000; ++k) v = b.add(b.mul(v, v), b.f32(static_cast<float>(k)));
  b.store(out, i, v);
  const auto kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto image = compile_image(*kernel, ost_cpu::to_key(ost_cpu::kAvx2Level));
  EXPECT_TRUE(image) << image.error().message;
}

TEST(CpuTarget, KeysAreCanonicalAndClosed) {
  using namespace ost_cpu;
  for (const FeatureSet set : {kBaseline, kAvx2Level, kAvx512Level})
    EXPECT_EQ(from_key(to_key(set)), set);
  EXPECT_EQ(to_key(kBaseline), "x86_64");
  EXPECT_EQ(from_key("x86_64:fma,avx"), from_key("x86_64:avx,fma"));
  EXPECT_TRUE(has(*from_key("x86_64:avx512f"), "sse4.1"));
  EXPECT_FALSE(from_key("x86_64:"));
  EXPECT_FALSE(from_key("x86_64:avx,"));
  EXPECT_FALSE(from_key("x86_64avx"));
}

}  // namespace
}  // namespace ost::cpu_test
