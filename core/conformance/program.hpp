// A small network as a Program, run on devices of the test and on the oracle.
#pragma once

#include "core/runtime/instance.hpp"
#include "oracle.hpp"

namespace ost::conform {

// softmax(matmul(relu(matmul(x, W1)), W2)) of x[n, 24], n up to 16; with two devices the second
// product and what follows are on device 1.
Result<std::shared_ptr<const Program>> small_network(uint32_t devices);

// Builds the program for the devices and for the interpreter, runs it for each value of its
// variable, twice, and compares bits. A run may allocate nothing.
Check replay_program(Lab& lab, const std::shared_ptr<const Program>& program,
                     const std::vector<runtime::DevicePtr>& devices,
                     const std::vector<int64_t>& sizes);

}  // namespace ost::conform
