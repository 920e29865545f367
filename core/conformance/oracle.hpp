// One kernel on the device and in the interpreter, with equal contents: every bit of every
// parameter must agree, and nothing outside of a parameter may change.
#pragma once

#include "core/kir/kernel.hpp"
#include "data.hpp"

namespace ost::conform {

struct Launch {
  std::vector<Bytes> params;  // contents before, by slot; outputs too
  std::vector<int64_t> vars;
};

struct Trial {
  kir::Kernel kernel;
  std::vector<Launch> launches;
};

// Element types that the kernel keeps in memory or computes with, as bits (1 << OST_DTYPE_x); index
// arithmetic in i64 and masks do not count.
uint32_t dtypes_of(const kir::Kernel& kernel);

// What the parameters hold after the launch, by the oracle.
Result<std::vector<Bytes>> expected(const kir::Kernel& kernel, const Launch& launch);
// Nothing if equal, else the first difference.
std::string difference(const kir::Kernel& kernel, std::span<const Bytes> want,
                       std::span<const Bytes> got);

Check check(Lab& lab, const Trial& trial);

}  // namespace ost::conform
