// What a device has to prove when it is opened (design: "a device proves itself"): small kernels
// whose results the interpreter knows. A device that gets one wrong is `inexact`, with the name of
// the item as the reason.
#pragma once

#include <string>
#include <vector>

#include "core/kir/kernel.hpp"

namespace ost::kir {

struct SelfTest {
  std::string
      name;       // "contraction", "fma", "division", "sqrt", "denormals", "ordered sum", "casts"
  Kernel kernel;  // slots 0..n-1: inputs; the last slot: output
  std::vector<std::vector<uint8_t>> inputs;  // contents by slot
  std::vector<uint8_t>
      expected;  // contents of the last slot after the run; NaNs are compared as one class
  DType output_type;
};

// Built once, by interpreting; cheap enough to run at each opening (some thousand elements in
// total).
Result<std::vector<SelfTest>> self_tests();

}  // namespace ost::kir
