// From what a caller hands over for a call to positions, concrete sizes and variable values. Shared
// by instances and by verification, so that both accept the same and complain in the same words.
#pragma once

#include <span>
#include <vector>

#include "core/capi/handles.hpp"

namespace ost::capi {

struct BoundCall {
  std::vector<const ost_binding_t*> inputs;  // by position
  std::vector<int64_t> vars;                 // by position
};

// Every input once, types and shapes agree with the program, every variable has one value within
// its bounds. A variable that is not given follows from a dimension that it alone decides (n, 64*n
// + 3).
Result<BoundCall> bind_call(const ProgramState& program, const ost_binding_t* inputs,
                            uint32_t input_count, const ost_var_value_t* vars, uint32_t var_count);

}  // namespace ost::capi
