// SHA-256, the only hash that is written into files: program ids, kernel ids, images, cache keys.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ost {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const uint8_t> bytes);
  void update(std::string_view text);
  std::array<uint8_t, 32> finish();  // once; start a new object for the next digest

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string to_hex(std::span<const uint8_t> bytes);      // lower case
std::string sha256_hex(std::span<const uint8_t> bytes);  // 64 hex digits
std::string sha256_hex(std::string_view text);

}  // namespace ost
