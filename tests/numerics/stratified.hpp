// Inputs and hashes that show with a few seconds of work that a backend's elementary functions have
// the bits of the specification. Any backend's test may use it: it needs nothing of the project.
//
// With `bits` = 32 the inputs are all f32 values in the order of their bit patterns. With fewer,
// the patterns are cut into 2^bits equal strata, and each stratum gives one member, chosen by a
// hash of its number. f64 works the same way.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>

namespace ost::numerics {

constexpr uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
template <class Float>
Float from_bits(BitsOf<Float> b) {
  Float f;
  std::memcpy(&f, &b, sizeof f);
  return f;
}
template <class Float>
BitsOf<Float> to_bits(Float f) {
  BitsOf<Float> b;
  std::memcpy(&b, &f, sizeof b);
  return b;
}

// Input number i of 2^bits.
template <class Float>
Float input(uint64_t i, int bits) {
  constexpr int kWidth = 8 * sizeof(Float);
  if (bits == kWidth) return from_bits<Float>(static_cast<BitsOf<Float>>(i));
  const uint64_t stratum = uint64_t{1} << (kWidth - bits);
  return from_bits<Float>(static_cast<BitsOf<Float>>(i * stratum + (mix(i) & (stratum - 1))));
}

// The second argument that goes with x in a function of two: half of them any bits, half of them
// moderate numbers of which many are integers.
template <class Float>
Float partner(Float x) {
  const uint64_t h = mix(to_bits(x));
  if (h & 1) return from_bits<Float>(static_cast<BitsOf<Float>>(h >> 16));
  const auto small = static_cast<int32_t>(h >> 32);
  return static_cast<Float>(small >> 4) * static_cast<Float>((h & 2) ? 0x1p-22 : 0x1p-8);
}

// Sum over a hash of each (position, result): blocks may come in any order. All NaNs count as one.
template <class Float>
class Hash {
 public:
  void add(uint64_t first, const Float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t b = y[i] != y[i] ? ~uint64_t{0} : uint64_t{to_bits(y[i])};
      sum_ += mix(mix(first + i) ^ b);
    }
  }
  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0;
};

// The committed hash out of tests/numerics/hashes.txt, whose lines are "type function bits hash".
inline std::optional<uint64_t> committed_hash(const std::string& path, const std::string& type,
                                              const std::string& function, int bits) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string t, f, hash;
    int b = 0;
    if (fields >> t >> f >> b >> hash && t == type && f == function && b == bits)
      return std::stoull(hash, nullptr, 16);
  }
  return std::nullopt;
}

}  // namespace ost::numerics
