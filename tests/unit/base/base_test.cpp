// The small parts of the base layer: results, element types, hashes.
#include <gtest/gtest.h>

#include <set>

#include "core/base/dtype.hpp"
#include "core/base/result.hpp"
#include "core/base/sha256.hpp"

namespace ost {
namespace {

TEST(DType, NamesReadBack) {
  for (DType t : kAllDTypes) EXPECT_EQ(dtype_from_name(name_of(t)), t);
  EXPECT_FALSE(dtype_from_name("f8"));
  EXPECT_FALSE(dtype_from_name(""));
}

TEST(DType, ClassesPartitionTheTypes) {
  for (DType t : kAllDTypes) {
    EXPECT_TRUE(is_valid(t));
    EXPECT_EQ((t == DType::boolean) + is_signed_int(t) + is_unsigned_int(t) + is_float(t), 1)
        << name_of(t);
    EXPECT_EQ(bits_of(t), 8 * size_of(t));
    EXPECT_GE(size_of(t), 1u);
  }
  EXPECT_FALSE(is_valid(static_cast<DType>(0)));
  EXPECT_FALSE(is_valid(static_cast<DType>(14)));
}

TEST(Status, EachHasItsOwnName) {
  std::set<std::string> names;
  for (ost_status_t s = OST_OK; s <= OST_IO_ERROR; ++s) names.insert(status_name(s));
  EXPECT_EQ(names.size(), OST_IO_ERROR + 1u);
  EXPECT_STREQ(status_name(OST_INVALID_ARGUMENT), "invalid_argument");
  EXPECT_STREQ(status_name(9999), "unknown_status");
}

Result<int> half(int v) {
  if (v % 2) return fail(OST_INVALID_ARGUMENT, "{} is odd", v);
  return v / 2;
}
Result<int> quarter(int v) {
  OST_TRY_ASSIGN(const int h, half(v));
  OST_TRY(half(h));
  return half(h);
}

TEST(Result, TryPassesErrorsOn) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(3).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().in("outer").message, "outer: 3 is odd");
  EXPECT_EQ(quarter(6).error().in("outer").status, OST_INVALID_ARGUMENT);
}

TEST(Sha256, KnowsThePublishedVectors) {
  EXPECT_EQ(sha256_hex(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      sha256_hex(std::string_view("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(1000, 'x');
  Sha256 pieces;
  for (size_t at = 0; at < text.size(); at += 37)
    pieces.update(std::string_view(text).substr(at, 37));
  EXPECT_EQ(to_hex(pieces.finish()), sha256_hex(text));
}

}  // namespace
}  // namespace ost
