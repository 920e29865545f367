// The layout as a C++ compiler sees it, and properties that rules 1 and 2 of plugin.h demand of
// every struct.
#include <gtest/gtest.h>

#include <type_traits>

#include "layout.h"

#undef OST_SIZE
#undef OST_FIELD
#undef OST_VALUE
#define OST_SIZE(type, bytes)                                                          \
  static_assert(std::is_standard_layout_v<type> && std::is_trivially_copyable_v<type>, \
                #type " is no C struct");
#define OST_FIELD(type, field, at)                                                            \
  static_assert(                                                                              \
      !std::is_enum_v<decltype(type::field)> && !std::is_same_v<decltype(type::field), bool>, \
      #type);
#define OST_VALUE(name, value)
#include "layout.inc"

namespace {

// Structs that can grow begin with their size; the others are listed in rule 2 or are values of
// ostinato.h.
template <class T>
constexpr bool has_size_first() {
  if constexpr (requires(T t) { t.size; }) {
    return offsetof(T, size) == 0 && std::is_same_v<decltype(T::size), uint32_t>;
  }
  return false;
}

TEST(AbiLayout, GrowingStructsStartWithTheirSize) {
  EXPECT_TRUE(has_size_first<ost_error_t>());
  EXPECT_TRUE(has_size_first<ost_host_table_t>());
  EXPECT_TRUE(has_size_first<ost_device_info_t>());
  EXPECT_TRUE(has_size_first<ost_heap_info_t>());
  EXPECT_TRUE(has_size_first<ost_command_t>());
  EXPECT_TRUE(has_size_first<ost_compile_t>());
  EXPECT_TRUE(has_size_first<ost_profile_record_t>());
  EXPECT_TRUE(has_size_first<ost_driver_table_t>());
  EXPECT_TRUE(has_size_first<ost_negotiate_in_t>());
  EXPECT_TRUE(has_size_first<ost_negotiate_out_t>());
}

// A table has pointers of functions and nothing else behind its size, so that a host can fill its
// holes one by one.
TEST(AbiLayout, TheDriverTableHasNoGaps) {
  constexpr size_t kEntries = (sizeof(ost_driver_table_t) - 8) / sizeof(void*);
  EXPECT_EQ(offsetof(ost_driver_table_t, driver_create), 8u);
  EXPECT_EQ(offsetof(ost_driver_table_t, get_extension), 8 + (kEntries - 1) * sizeof(void*));
}

}  // namespace
