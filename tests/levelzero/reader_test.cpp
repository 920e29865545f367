// The SDK's reader of level 2 and the lowering behind it, with kernels that are damaged in every way
// that one byte can be: an error, or a kernel that becomes valid code.
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <ostinato/kir/level2.hpp>
#include <ostinato/llvm/spirv.hpp>

#include "spirv_lab.hpp"

namespace ost::test {
namespace {

namespace okir = ostinato::kir;
using conform::Bytes;

std::vector<Spirv> some_kernels() {
  std::vector<Spirv> out;
  for (const Subject& s : grid_subjects({"structure.*", "attn.f32.fixed", "cast.f16.from_f64.fixed",
                                         "reduce.f32.sum_tree.symbolic", "ldexp.f32.masked",
                                         "div.i32.masked", "bitcast.f32.from_i32.fixed"})) {
    auto made = make_spirv(s);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (made) out.push_back(std::move(*made));
  }
  return out;
}

std::string read(const Bytes& bytes) {
  okir::Kernel kernel;
  return okir::parse_level2({bytes.data(), bytes.size()}, &kernel);
}

// What LLVM's verifier says of the lowered kernel; the error of the lowering is fine too.
std::string lower(const Bytes& bytes) {
  llvm::LLVMContext context;
  const okir::SpirvTarget target;
  auto made =
      okir::lower_to_llvm({bytes.data(), bytes.size()}, "k", target, {.fp64 = true}, context);
  if (!made) {
    llvm::consumeError(made.takeError());
    return "";
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  return llvm::verifyModule(*made->module, &out) ? text + " " : "";
}

TEST(Level2Reader, TakesWhatCoreMakes) {
  size_t count = 0;
  for (const Spirv& k : some_kernels()) {
    EXPECT_EQ(read(kir::to_binary(k.level2)), "") << k.entry;
    ++count;
  }
  EXPECT_GT(count, 15u);
}

TEST(Level2Reader, ACutOffKernelIsAnError) {
  const Bytes whole = kir::to_binary(some_kernels()[0].level2);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(read(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size))), "") << size;
}

// Whatever core's reader and verifier refuse is refused here too, but for fields that no meaning
// depends on; whatever is taken becomes valid code.
TEST(Level2Reader, EachDamagedByteIsAnErrorOrAnotherKernel) {
  size_t taken = 0, refused = 0;
  for (const Spirv& k : some_kernels()) {
    const Bytes whole = kir::to_binary(k.level2);
    const size_t step = 1 + whole.size() / 1500;
    for (size_t at = 0; at < whole.size(); at += step) {
      for (const int change : {0x01, 0x04, 0x80, 0xff}) {
        Bytes damaged = whole;
        damaged[at] = static_cast<uint8_t>(damaged[at] ^ change);
        const std::string wrong = read(damaged);
        ++(wrong.empty() ? taken : refused);
        const auto decoded = kir::from_binary(damaged);
        const bool core_takes = decoded && kir::verify_level2(*decoded).has_value();
        ASSERT_FALSE(core_takes && !wrong.empty()) << k.entry << " byte " << at << ": " << wrong;
        ASSERT_FALSE(decoded && !core_takes && wrong.empty())
            << k.entry << " byte " << at << ": core says "
            << kir::verify_level2(*decoded).error().message;
        if (!wrong.empty()) continue;
        ASSERT_EQ(lower(damaged), "") << k.entry << " byte " << at;
      }
    }
  }
  EXPECT_GT(taken, 500u);
  EXPECT_GT(refused, 5000u);
}

TEST(Level2Reader, RandomDamageOfManyBytesIsSafe) {
  const auto kernels = some_kernels();
  std::mt19937_64 random(20261130);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = kir::to_binary(kernels[random() % kernels.size()].level2);
    for (uint64_t n = 1 + random() % 12; n > 0; --n) {
      // Small numbers in the fields of records: they stay plausible.
      const size_t at = 32 + (random() % ((bytes.size() - 32) / 4)) * 4;
      bytes[at] = static_cast<uint8_t>(random() % 112);
    }
    if (!read(bytes).empty()) continue;
    ASSERT_EQ(lower(bytes), "");
  }
}

// --- what a target does not have

llvm::Expected<okir::LlvmKernel> lowered(const kir::Kernel& kernel, const char* entry,
                                         const okir::LlvmOptions& options,
                                         llvm::LLVMContext& context) {
  static const okir::SpirvTarget target;
  const Bytes bytes = kir::to_binary(kernel);
  return okir::lower_to_llvm({bytes.data(), bytes.size()}, entry, target, options, context);
}
std::string refusal(const kir::Kernel& kernel, const char* entry,
                    const okir::LlvmOptions& options) {
  llvm::LLVMContext context;
  auto made = lowered(kernel, entry, options, context);
  return made ? "taken" : llvm::toString(made.takeError());
}

TEST(LowerToLlvm, SaysWhatTheTargetLacks) {
  const auto f64 = make_spirv(grid_subjects({"add.f64.fixed"})[0]);
  ASSERT_TRUE(f64.has_value());
  EXPECT_NE(refusal(f64->level2, "k", {}).find("f64, which the target does not have"),
            std::string::npos);
  EXPECT_EQ(refusal(f64->level2, "k", {.fp64 = true}), "taken");
  Subject wide = grid_subjects({"structure.rows"})[0];
  const auto rows = make_spirv(wide);
  ASSERT_TRUE(rows.has_value());
  EXPECT_GT(rows->local_bytes, 0u);
  EXPECT_NE(refusal(rows->level2, "k", {.max_lanes = 32}).find("lanes, the target has 32"),
            std::string::npos);
  EXPECT_NE(refusal(rows->level2, "k", {.local_bytes = 16}).find("bytes of local memory"),
            std::string::npos);
  EXPECT_NE(refusal(rows->level2, "2k", {}).find("is no name for a kernel"), std::string::npos);
  EXPECT_NE(refusal(rows->level2, "", {}).find("is no name for a kernel"), std::string::npos);
}

}  // namespace
}  // namespace ost::test
