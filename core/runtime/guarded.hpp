// A struct that a plugin fills, with room behind it that shows whether the plugin has a larger idea
// of it than this host (rule 2): it must keep to the size that it was given.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/result.hpp"

namespace ost::runtime {

template <typename T>
class Guarded {
 public:
  Guarded() {
    inside_.value.size = sizeof(T);
    inside_.guard.fill(kGuard);
  }
  T* get() { return &inside_.value; }
  const T& value() const { return inside_.value; }
  bool is_intact() const {
    return inside_.value.size == sizeof(T) &&
           std::ranges::all_of(inside_.guard, [](uint8_t byte) { return byte == kGuard; });
  }
  // `entry`: what of the plugin had it.
  Result<> check(std::string_view entry) const {
    if (is_intact()) return {};
    return std::unexpected(Error{
        OST_INCOMPATIBLE,
        fmt::format("{} wrote beyond the {} bytes that it was given", entry, sizeof(T)), 0, 2, 0});
  }

 private:
  static constexpr uint8_t kGuard = 0xa5;
  struct {
    T value;
    std::array<uint8_t, 256> guard;
  } inside_{};
};

}  // namespace ost::runtime
