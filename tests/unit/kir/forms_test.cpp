// Text and binary forms: what is written reads back to the same bytes; what is damaged is refused
// with a place.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/kir/random_kernel.hpp"

namespace ost::kir::testing {
namespace {

constexpr uint32_t kSeeds = 3000;

TEST(Forms, RandomKernelsReadBackFromBothForms) {
  std::set<uint16_t> ops;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const Kernel k = KernelMaker(seed, 1 + seed % 2).make(40);
    for (const Inst& inst : k.insts) ops.insert(inst.op);
    const Result<Kernel> from_bytes = from_binary(to_binary(k));
    ASSERT_TRUE(from_bytes) << from_bytes.error().message << ", seed " << seed;
    EXPECT_EQ(*from_bytes, k) << "seed " << seed;
    const Result<Kernel> from_lines = from_text(to_text(k));
    ASSERT_TRUE(from_lines) << from_lines.error().message << ", seed " << seed << "\n"
                            << to_text(k);
    EXPECT_EQ(*from_lines, k) << "seed " << seed << "\n" << to_text(k);
  }
  for (const OpInfo& op : all_ops())
    EXPECT_TRUE(ops.contains(static_cast<uint16_t>(op.op)))
        << "the generator leaves out " << op.name;
}

TEST(Forms, TextIsTheLinesJoined) {
  const Kernel k = KernelMaker(3).make(20);
  std::string joined;
  for (const std::string& line : to_lines(k)) joined += line + "\n";
  EXPECT_EQ(joined, to_text(k));
  EXPECT_EQ(to_lines(k).size(), k.insts.size() + 1);
}

TEST(Forms, TextIsAsDocumented) {
  Builder b;
  const Value n = b.var(0, 1, 8);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value y = b.param(1, DType::i32, b.i64(1), OST_KIR_READ | OST_KIR_WRITE);
  const Value r = b.axis(n, Role::reduce);
  const Value sum = b.reduce(Combine::sum, Order::tree, b.load(x, r), r);
  const Value half = b.f32(0.5F);
  const Value scaled = b.fma(sum, half, b.f32(-1.0F));
  const Value zero = b.i64(0);
  b.store(y, zero, b.cast(DType::i32, b.where(b.compare(Op::lt, sum, scaled), sum, scaled, true)));
  const Result<Kernel> k = b.build();
  ASSERT_TRUE(k) << k.error().message;
  EXPECT_EQ(to_text(*k),
            "kir 1.0 l1 strict\n"
            "%0 = const i64 1\n"
            "%1 = const i64 8\n"
            "%2 = var i64 slot=0 %0, %1\n"
            "%3 = param f32 slot=0 r %2\n"
            "%4 = param i32 slot=1 rw %0\n"
            "%5 = axis i64 reduce %2\n"
            "%6 = const i64 0\n"
            "%7 = load f32 %3, %5\n"
            "%8 = reduce f32 sum tree %7, %5\n"
            "%9 = const f32 0x3f000000 # 0.5\n"
            "%10 = const f32 0xbf800000 # -1\n"
            "%11 = fma f32 %8, %9, %10\n"
            "%12 = lt bool %8, %11\n"
            "%13 = where f32 rare %12, %8, %11\n"
            "%14 = cast i32 sat %13\n"
            "%15 = store i32 %4, %6, %14\n");
}

TEST(Forms, ReaderTakesCommentsBlankLinesAndSpaces) {
  const auto k = from_text(
      "# a kernel\n\n  kir 1.0 l1 fast  # header\r\n%0=const i64 -7\n\n%1 = neg i64 %0 # seven");
  ASSERT_TRUE(k) << k.error().message;
  EXPECT_EQ(k->numerics, Numerics::fast);
  EXPECT_EQ(k->insts.size(), 2u);
  EXPECT_EQ(static_cast<int64_t>(k->insts[0].imm), -7);
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(Forms, TextErrorsNameTheLine) {
  const std::string head = "kir 1.0 l1 strict\n";
  const BadText cases[] = {
      {"%0 = const i64", "line 2: found '', wanted an integer"},
      {"%0 = const i8 200", "line 2: 200 does not fit into i8"},
      {"%0 = const u8 -1", "line 2: -1 does not fit into u8"},
      {"%0 = const f32 1.5",
       "line 2: found '1.5', wanted the bits of the float in hex, as in 0x3f800000"},
      {"%0 = const f32 0x", "line 2: found '0x', wanted hex digits of at most 64 bits"},
      {"%0 = const f32 0x123456789",
       "line 2: kir record 0: const: the constant has bits above the width of its type"},
      {"%0 = const bool 1", "line 2: found '1', wanted true or false"},
      {"%1 = const i64 0", "line 2: record %1, wanted %0: records are numbered in order"},
      {"const i64 0", "line 2: found 'c', wanted '%'"},
      {"%0 = plus i64 %0, %0", "line 2: operation 'plus' is unknown"},
      {"%0 = const f8 0",
       "line 2: found 'f8', wanted a type (bool, i8 .. u64, f16, bf16, f32, f64)"},
      {"%0 = neg i64 %0", "line 2: kir record 0: operand 0 names record 0, wanted an earlier one"},
      {"%0 = const i64 1\n%1 = add i64 %0",
       "line 3: kir record 1: add has 1 operands, wanted 2..2"},
      {"%0 = const i64 1\n%1 = add i64 %0 %0", "line 3: found '%', wanted ','"},
      {"%0 = const i64 1 2", "line 2: found '2', wanted '%'"},
      {"%0 = const i64 1\n%1 = axis i64 sideways %0",
       "line 3: found 'sideways', wanted an axis role (parallel, reduce, carry)"},
      {"%0 = const i64 1\n%1 = param f32 slot=0 x %0", "line 3: access is 'x', wanted r, w or rw"},
      {"%0 = const i64 1\n%1 = param f32 r %0", "line 3: found 'r', wanted 'slot='"},
      {"%0 = const i64 1\n%1 = cast i32 up %0",
       "line 3: found 'up', wanted a rounding (wrap, rne, sat)"},
      {"%0 = const i64 1\n%1 = reduce i64 sum often %0, %0",
       "line 3: found 'often', wanted an order (any, tree, blk256, attn)"},
      {"%0 = const i64 1\n%1 = argreduce i64 sum %0, %0",
       "line 3: kir record 1: argreduce: aux is not max (3) or min (4)"},
  };
  for (const BadText& c : cases) {
    const auto k = from_text(head + c.text);
    ASSERT_FALSE(k) << c.text;
    EXPECT_EQ(k.error().message, std::string("kir text, ") + c.message) << c.text;
  }
  EXPECT_EQ(from_text("").error().message, "kir text: no header line, wanted 'kir 1.0 l1 strict'");
  EXPECT_EQ(from_text("kir 2.0 l1 strict").error().message,
            "kir text: version is '2.0', this reader knows 1.0");
  EXPECT_EQ(from_text("kir 1.0 l3 strict").error().message,
            "kir text, line 1: level is 'l3', wanted 'l1' or 'l2'");
  EXPECT_EQ(from_text("kir 1.0 l1 loose").error().message,
            "kir text, line 1: numerics is 'loose', wanted 'strict' or 'fast'");
  EXPECT_EQ(from_text("hello").error().message,
            "kir text, line 1: found 'hello', wanted the header 'kir 1.0 l1 strict'");
}

class BinaryErrors : public ::testing::Test {
 protected:
  BinaryErrors() {
    Kernel k;
    k.insts.push_back(make_inst(Op::constant, DType::i64, {}, 0, 1));
    k.insts.push_back(make_inst(Op::neg, DType::i64, {0}));
    bytes_ = to_binary(k);
  }
  // The message after one byte was changed.
  std::string with(size_t at, uint8_t value) const {
    std::vector<uint8_t> bytes = bytes_;
    bytes[at] = value;
    const auto k = from_binary(bytes);
    return k ? "accepted" : k.error().message;
  }
  static constexpr size_t kFirst = 32;
  static constexpr size_t kSecond = 64;
  std::vector<uint8_t> bytes_;
};

TEST_F(BinaryErrors, HeaderFieldsAreChecked) {
  EXPECT_EQ(with(0, 0), "kir: magic is 0x52494b00, wanted 0x52494b4f");
  EXPECT_EQ(with(4, 2), "kir: version is 2.0, this reader knows 1.0 to 1.0");
  EXPECT_EQ(with(6, 1), "kir: version is 1.1, this reader knows 1.0 to 1.0");
  EXPECT_EQ(with(8, 3), "kir: level is 3, wanted 1 or 2");
  EXPECT_EQ(with(12, 2), "kir: numerics is 2, wanted 0 (strict) or 1 (fast)");
  EXPECT_EQ(with(16, 3), "kir: 96 bytes for 3 records, wanted 128");
  EXPECT_EQ(with(18, 0xff), "kir: 16711682 records are above the limit of 1048576");
  EXPECT_EQ(with(20, 1), "kir: the header says 1 parameters, the records declare 0");
  EXPECT_EQ(with(24, 1), "kir: the header says 1 variables, the records declare 0");
  EXPECT_EQ(with(28, 1), "kir: 1 lanes in a kernel of level 1, wanted 0");
}

TEST_F(BinaryErrors, RecordFieldsAreChecked) {
  EXPECT_EQ(with(kFirst, 0),
            "kir record 0: opcode 0 is unknown; is the kernel from a newer version?");
  EXPECT_EQ(with(kFirst + 2, 0), "kir record 0: dtype 0 is unknown, wanted 1..13");
  EXPECT_EQ(with(kFirst + 3, 1), "kir record 0: const has 1 operands, wanted 0..0");
  EXPECT_EQ(with(kFirst + 4, 1), "kir record 0: const: aux is used, but this operation has none");
  EXPECT_EQ(with(kFirst + 8, 0), "kir record 0: unused operand 0 is 0xffffff00, wanted 0xffffffff");
  EXPECT_EQ(with(kSecond + 8, 1), "kir record 1: operand 0 names record 1, wanted an earlier one");
  EXPECT_EQ(with(kSecond + 24, 1), "kir record 1: neg: imm is used, but this operation has none");
}

TEST_F(BinaryErrors, EveryTruncationIsRefused) {
  for (size_t size = 0; size < bytes_.size(); ++size)
    EXPECT_FALSE(from_binary({bytes_.data(), size})) << size;
  std::vector<uint8_t> longer = bytes_;
  longer.push_back(0);
  EXPECT_FALSE(from_binary(longer));
}

// Whatever the reader accepts has exactly one encoding: writing it gives the bytes that were read.
TEST(Forms, EveryAcceptedMutationIsCanonical) {
  std::mt19937 rng(11);
  int accepted = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::vector<uint8_t> bytes = to_binary(KernelMaker(seed).make(12));
    for (int i = 0; i < 40; ++i) {
      std::vector<uint8_t> mutant = bytes;
      for (auto n = 1 + rng() % 3; n > 0; --n)
        mutant[rng() % mutant.size()] ^= static_cast<uint8_t>(1u << rng() % 8);
      const auto k = from_binary(mutant);
      if (!k) continue;
      ++accepted;
      EXPECT_EQ(to_binary(*k), mutant);
      const auto again = from_text(to_text(*k));
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *k);
      if (verify(*k)) (void)prove_bounds(*k);  // must end without a fault
    }
  }
  EXPECT_GT(accepted, 300);
}

// The same for the text: a changed character is refused with a line, or gives a kernel whose text
// reads back.
TEST(Forms, MutatedTextIsRefusedOrReadsBack) {
  std::mt19937 rng(12);
  constexpr std::string_view kCharacters = "0123456789%=, xrwnab_-#\n";
  int accepted = 0;
  int refused = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    const std::string text = to_text(KernelMaker(seed).make(12));
    for (int i = 0; i < 40; ++i) {
      std::string mutant = text;
      for (auto n = 1 + rng() % 3; n > 0; --n)
        mutant[rng() % mutant.size()] = kCharacters[rng() % kCharacters.size()];
      const auto k = from_text(mutant);
      if (!k) {
        ++refused;
        EXPECT_TRUE(k.error().message.starts_with("kir text")) << k.error().message;
        continue;
      }
      ++accepted;
      const auto again = from_text(to_text(*k));
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *k);
      if (verify(*k)) (void)prove_bounds(*k);
    }
  }
  EXPECT_GT(accepted, 150);
  EXPECT_GT(refused, 1500);
}

TEST(Kernel, HashIsOfTheBinaryForm) {
  const Kernel a = KernelMaker(1).make(10);
  Kernel b = a;
  EXPECT_EQ(hash_of(a), hash_of(b));
  EXPECT_EQ(hash_of(a).size(), 64u);
  b.numerics = a.numerics == Numerics::fast ? Numerics::strict : Numerics::fast;
  EXPECT_NE(hash_of(a), hash_of(b));
  EXPECT_NE(a, b);
}

TEST(Ops, TableMatchesTheHeader) {
  std::set<std::string_view> names;
  for (const OpInfo& op : all_ops()) {
    EXPECT_EQ(find_op(static_cast<uint16_t>(op.op)), &op);
    EXPECT_EQ(find_op(op.name), &op);
    EXPECT_TRUE(names.insert(op.name).second) << op.name;
    EXPECT_LE(op.min_src, op.max_src);
    EXPECT_LE(op.max_src, 4);
  }
  EXPECT_EQ(find_op(uint16_t{0}), nullptr);
  EXPECT_EQ(find_op(uint16_t{999}), nullptr);
  EXPECT_EQ(find_op("no"), nullptr);
}

}  // namespace
}  // namespace ost::kir::testing
