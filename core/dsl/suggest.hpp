// "did you mean": the known name that is nearest to a wrong one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ost::dsl {

// "; did you mean 'relu'?", or nothing if no candidate is near.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace ost::dsl
