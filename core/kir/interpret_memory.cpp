#include "core/kir/interpret_memory.hpp"

#include <cstring>

namespace ost::kir::interp {
namespace {

template <class T>
size_t gather(const Memory& m, size_t n, std::byte* out, const int64_t* index, const bool* mask) {
  for (size_t i = 0; i < n; ++i) {
    T value{};
    if (!mask || mask[i]) {
      if (static_cast<uint64_t>(index[i]) >= m.count) return i;
      std::memcpy(&value, m.data + static_cast<uint64_t>(index[i]) * sizeof(T), sizeof(T));
    }
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
  return n;
}

// A byte that is neither 0 nor 1 is no bool; it reads as true.
size_t gather_bool(const Memory& m, size_t n, std::byte* out, const int64_t* index,
                   const bool* mask) {
  const size_t done = gather<uint8_t>(m, n, out, index, mask);
  for (size_t i = 0; i < done; ++i) out[i] = std::byte{out[i] != std::byte{0}};
  return done;
}

template <class T>
size_t scatter(const Memory& m, size_t n, const std::byte* values, const int64_t* index,
               const bool* mask) {
  for (size_t i = 0; i < n; ++i) {
    if (mask && !mask[i]) continue;
    if (static_cast<uint64_t>(index[i]) >= m.count) return i;
    std::memcpy(m.data + static_cast<uint64_t>(index[i]) * sizeof(T), values + i * sizeof(T),
                sizeof(T));
  }
  return n;
}

}  // namespace

Memory make_memory(DType type, void* data, uint64_t count) {
  auto* bytes = static_cast<std::byte*>(data);
  switch (size_of(type)) {
    case 1:
      return {bytes, count, type == DType::boolean ? gather_bool : gather<uint8_t>,
              scatter<uint8_t>};
    case 2:
      return {bytes, count, gather<uint16_t>, scatter<uint16_t>};
    case 4:
      return {bytes, count, gather<uint32_t>, scatter<uint32_t>};
    default:
      return {bytes, count, gather<uint64_t>, scatter<uint64_t>};
  }
}

}  // namespace ost::kir::interp
