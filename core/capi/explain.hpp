// Why each kernel of a program is what it is, for people and tools.
#pragma once

#include <string>

#include "core/manifest/json.hpp"
#include "core/schedule/program.hpp"

namespace ost::capi {

std::string summary(const Program& program);  // one line
std::string explain_text(const Program& program);
manifest::json::object explain_json(const Program& program);

}  // namespace ost::capi
