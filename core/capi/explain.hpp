// Why each kernel of a program is what it is, for people and tools.
#pragma once

#include <string>

#include "core/manifest/json.hpp"
#include "core/schedule/program.hpp"

namespace ost::capi {

std::string summary(const Program& program);  // one line
// Groups by kind ({"gemm_epilogue": 1, "pointwise_groups": 0, ...}), totals, and the line.
manifest::json::object counts(const Program& program);
std::string explain_text(const Program& program);
manifest::json::object explain_json(const Program& program);

}  // namespace ost::capi
