// Negotiation, sizes of structs, and texts in fixed arrays.
#include <gtest/gtest.h>

#include "fake_driver.hpp"

namespace ost_test {
namespace {

struct Result {
  ost_status_t status;
  ost_negotiate_out_t out;
};
Result negotiate(uint32_t host_min, uint32_t host_max, uint32_t own_min, uint32_t own_max) {
  const ost_negotiate_in_t in{sizeof in, host_min, host_max, 0};
  Result r{};
  r.out.size = sizeof r.out;
  r.status = sdk::negotiate(&in, &r.out, {"fake", "2.1", "Somebody", own_min, own_max},
                            sdk::sync_table<FakeDriver>());
  return r;
}

TEST(Negotiate, PicksTheHighestCommonVersion) {
  EXPECT_EQ(0x10002u, negotiate(0x10000, 0x10002, 0x10000, 0x10005).out.abi);
  EXPECT_EQ(0x10003u, negotiate(0x10000, 0x10009, 0x10001, 0x10003).out.abi);
  const Result r = negotiate(0x10000, 0x10000, 0x10000, 0x10000);
  EXPECT_EQ(OST_OK, r.status);
  EXPECT_STREQ("fake", r.out.name);
  EXPECT_STREQ("2.1", r.out.version);
  EXPECT_STREQ("Somebody", r.out.vendor);
  EXPECT_NE(nullptr, r.out.table);
  EXPECT_STREQ("", r.out.reason);
}

TEST(Negotiate, SaysWhyThereIsNone) {
  const Result r = negotiate(0x20000, 0x20001, 0x10000, 0x10003);
  EXPECT_EQ(OST_INCOMPATIBLE, r.status);
  EXPECT_EQ(0u, r.out.abi);
  EXPECT_EQ(nullptr, r.out.table);
  EXPECT_STREQ("the host accepts ABI 2.0 to 2.1, this plugin has 1.0 to 1.3", r.out.reason);
}

TEST(Negotiate, RefusesStructsThatAreTooShort) {
  ost_negotiate_in_t in{sizeof in, 0x10000, 0x10000, 0};
  ost_negotiate_out_t out{};
  out.size = 16;
  EXPECT_EQ(OST_INVALID_ARGUMENT, sdk::negotiate(&in, &out, {"a", "b", "c"}, nullptr));
  EXPECT_EQ(OST_INVALID_ARGUMENT, sdk::negotiate(nullptr, &out, {"a", "b", "c"}, nullptr));
  out.size = sizeof out;
  in.size = 4;
  EXPECT_EQ(OST_INVALID_ARGUMENT, sdk::negotiate(&in, &out, {"a", "b", "c"}, nullptr));
}

TEST(Structs, KeepTheCallersSizeAndItsEnd) {
  struct Longer {
    ost_heap_info_t info;
    uint64_t beyond = 77;
  } longer;
  longer.info.size = sizeof longer;
  sdk::fill_out(&longer.info, {0, 3, 4}, "ost_heap_info_t");
  EXPECT_EQ(sizeof longer, longer.info.size);
  EXPECT_EQ(3u, longer.info.flags);
  EXPECT_EQ(77u, longer.beyond);
}

TEST(Structs, LeaveAnErrorThatIsTooShortAlone) {
  ost_error_t error{};
  error.size = 8;
  EXPECT_EQ(OST_INTERNAL, sdk::report(&error, sdk::Failure(OST_INTERNAL, "x").error()));
  EXPECT_EQ(OST_OK, error.status);
}

TEST(Texts, AreCutAtWholeCharacters) {
  char out[6];
  sdk::copy_text(out, "abcdefg");
  EXPECT_STREQ("abcde", out);
  sdk::copy_text(out, "abcd\xc3\xa9");  // the last character has two bytes, one would fit
  EXPECT_STREQ("abcd", out);
  sdk::copy_text(out, "\xf0\x9f\x8e\xb5x");
  EXPECT_STREQ("\xf0\x9f\x8e\xb5x", out);
  sdk::copy_text(out, "");
  EXPECT_STREQ("", out);
}

TEST(Texts, OfErrorsFit) {
  const sdk::Failure failure(OST_INTERNAL, std::string(5000, 'a'));
  EXPECT_EQ(OST_ERROR_MESSAGE_SIZE - 1u, std::string(failure.what()).size());
}

}  // namespace
}  // namespace ost_test
