// The command line as a table of commands and flags. The only user of CLI11.
#pragma once

#include <optional>

#include "options.hpp"

// Fills `options`; or an exit code, where help was printed or the usage is wrong (which was said on
// stderr).
std::optional<int> parse_command_line(int argc, char** argv, Options& options);
