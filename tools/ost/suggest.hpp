// "did you mean".
#pragma once

#include <string>
#include <string_view>
#include <vector>

// The candidate nearest to `text` if it is near enough to be a slip, "" otherwise.
std::string nearest(std::string_view text, const std::vector<std::string>& candidates);
// "; did you mean 'replay'?" or "".
std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates);
