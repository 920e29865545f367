// Every environment variable that the core reads, in one table. The environment is ignored in a
// process that runs with raised privileges (AT_SECURE), so that it cannot be used to load code into
// it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ost::runtime {

struct EnvVariable {
  const char* name;           // "OSTINATO_..."
  const char* meaning;        // one line
  const char* default_value;  // what holds if it is not set, for people
};

std::span<const EnvVariable> env_table();

// The value, if the variable is set, not empty, and the process may read it. `name` is one of the
// table.
std::optional<std::string> env(std::string_view name);

struct EnvValue {
  EnvVariable variable;
  std::string value;   // what holds
  std::string origin;  // "environment", "default", "ignored (the process has raised privileges)"
};

// For `ost env`: the whole table with what holds now, in the order of the table.
std::vector<EnvValue> env_values();

// OSTINATO_* names that are set and that nothing reads: most likely misspelled. Sorted.
std::vector<std::string> unknown_env_names();

}  // namespace ost::runtime
