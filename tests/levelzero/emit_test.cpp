// SPIR-V as bytes: the same whatever was compiled before or at the same time, and nothing in it that
// a driver may lack.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostinato/llvm/spirv.hpp>
#include <thread>

#include "spirv_lab.hpp"

namespace ost::test {
namespace {

std::vector<Subject> subjects() {
  return grid_subjects({"structure.*", "attn.*", "reduce.f32.*", "cast.f16.*.fixed", "div.*"});
}
std::string words_of(const Subject& s) {
  auto made = make_spirv(s);
  return made ? made->words : made.error().message;
}

// LLVM 22 keeps ids of basic blocks between modules.
TEST(EmitSpirv, BytesDoNotDependOnWhatWasCompiledBefore) {
  const auto all = subjects();
  ASSERT_GT(all.size(), 80u);
  std::vector<std::string> first;
  for (const Subject& s : all) first.push_back(words_of(s));
  for (size_t i = all.size(); i-- > 0;) EXPECT_EQ(words_of(all[i]), first[i]) << all[i].name;
}

TEST(EmitSpirv, ThreadsCompileAtTheSameTime) {
  const auto all = subjects();
  std::vector<std::string> alone;
  for (const Subject& s : all) alone.push_back(words_of(s));
  std::atomic<size_t> different = 0;
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; i < all.size() + t; ++i)
        different += words_of(all[i % all.size()]) != alone[i % all.size()];
    });
  threads.clear();
  EXPECT_EQ(different, 0u);
}

TEST(EmitSpirv, TheGroupAndNoContractionAreInTheModule) {
  const auto made = make_spirv(grid_subjects({"structure.rows"})[0]);
  ASSERT_TRUE(made.has_value());
  std::vector<uint32_t> words(made->words.size() / 4);
  std::memcpy(words.data(), made->words.data(), made->words.size());
  constexpr uint32_t kExecutionMode = 16, kLocalSize = 17, kContractionOff = 31;
  bool group = false, contraction_off = false;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) != kExecutionMode) continue;
    group = group || (words[at + 2] == kLocalSize && words[at + 3] == made->level2.lanes &&
                      words[at + 4] == 1 && words[at + 5] == 1);
    contraction_off = contraction_off || words[at + 2] == kContractionOff;
  }
  EXPECT_TRUE(group);
  EXPECT_TRUE(contraction_off);
}

TEST(CheckSpirv, FindsWhatADriverMayLack) {
  using ostinato::kir::check_spirv;
  const auto made = make_spirv(grid_subjects({"add.f64.fixed"})[0]);
  ASSERT_TRUE(made.has_value());
  const std::string& good = made->words;
  EXPECT_EQ(check_spirv(good, true), "");
  EXPECT_EQ(check_spirv(good, false), "capability 10");
  EXPECT_EQ(check_spirv("", true), "no header of SPIR-V");
  const auto with = [&](std::vector<uint32_t> instruction) {
    return good +
           std::string(reinterpret_cast<const char*>(instruction.data()), instruction.size() * 4);
  };
  EXPECT_EQ(check_spirv(with({2u << 16 | 17, 9}), true), "capability 9");  // Float16
  EXPECT_EQ(check_spirv(with({4u << 16 | 21, 900, 128, 0}), true), "an integer of 128 bits");
  EXPECT_EQ(check_spirv(with({5u << 16 | 151, 1, 2, 3, 4}), true), "arithmetic with carry");
  EXPECT_EQ(check_spirv(with({2u << 16 | 10, 0}), true), "an extension");
  EXPECT_EQ(check_spirv(with({5u << 16 | 54, 1, 2, 0, 3, 1u << 16 | 56}), true),
            "a function that it does not define");
  EXPECT_EQ(check_spirv(with({9u << 16 | 54, 1}), true), "an instruction that is cut off");
  for (size_t size = 0; size < good.size(); size += 4) check_spirv(good.substr(0, size), true);
}

}  // namespace
}  // namespace ost::test
