// Contents for parameters: numbers at which implementations differ, from a seeded generator.
#pragma once

#include <random>

#include "core/base/dtype.hpp"
#include "lab.hpp"

namespace ost::conform {

enum class Flavour : uint8_t {
  any,       // all values of the type, special ones often; every third value is a small one
  no_nan,    // as `any`, without NaN and infinity
  moderate,  // about 1, for sums and contractions whose result should not be NaN
  index,     // integers from -3 to 40
};

using Random = std::mt19937_64;

uint64_t value_of(DType type, Flavour flavour, Random& random);
Bytes values(DType type, uint64_t count, Flavour flavour, Random& random);

// The bits of element i, where all NaN of the type are one value: a payload is not specified.
uint64_t element(DType type, std::span<const uint8_t> data, size_t i);

}  // namespace ost::conform
