#include "core/runtime/env.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

extern char** environ;

namespace ost::runtime {
namespace {

constexpr EnvVariable kTable[] = {
    {"OSTINATO_CACHE_DIR", "folder of the compile cache; \"off\" for none",
     "$XDG_CACHE_HOME/ostinato, ~/.cache/ostinato"},
    {"OSTINATO_DEVICE", "the device that \"auto\" must take", "the best one that is available"},
    {"OSTINATO_FAULT", "of the layer fault: \"fail|lose|delay:ENTRY:N\" or \"seed:S:RANGE\"", ""},
    {"OSTINATO_ISOLATE", "drivers, as globs, that run in a process of their own: \"hip,open*\"",
     ""},
    {"OSTINATO_ISOLATE_TIMEOUT",
     "seconds after which an isolated driver that does not answer is ended", "60"},
    {"OSTINATO_LAYERS", "layers over every plugin: \"validate,trace,fault\"", ""},
    {"OSTINATO_OPTIONS", "options of drivers: \"threads=4;cpu.isa=avx2\", for all or for one", ""},
    {"OSTINATO_PLUGINS", "globs of driver names to load, those with ! not to load: \"cpu,!hip*\"",
     "all"},
    {"OSTINATO_PLUGIN_FILES",
     "discovery files or libraries, separated by colons, instead of any search", ""},
    {"OSTINATO_PLUGIN_PATH", "folders with discovery files, separated by colons, searched first",
     ""},
    {"OSTINATO_REQUIRE",
     "1: \"auto\" fails where it would pass over a better device that does not open", "0"},
    {"OSTINATO_THREADS", "threads of drivers that have any; \"threads\" in OSTINATO_OPTIONS wins",
     "all cores"},
    {"OSTINATO_TRACE_FILE", "where the layer trace writes", "ostinato-trace.json"},
    {"OSTINATO_VALIDATE_FILE", "where the layer validate appends its findings, one a line or more",
     ""},
};

bool has_raised_privileges() { return getauxval(AT_SECURE) != 0; }

}  // namespace

std::span<const EnvVariable> env_table() { return kTable; }

std::optional<std::string> env(std::string_view name) {
  const char* value = secure_getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<EnvValue> env_values() {
  std::vector<EnvValue> out;
  for (const EnvVariable& v : kTable) {
    if (const auto value = env(v.name)) {
      out.push_back({v, *value, "environment"});
    } else if (std::getenv(v.name) != nullptr && has_raised_privileges()) {
      out.push_back({v, v.default_value, "ignored (the process has raised privileges)"});
    } else {
      out.push_back({v, v.default_value, "default"});
    }
  }
  return out;
}

std::vector<std::string> unknown_env_names() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("OSTINATO_")) continue;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(kTable, [&](const EnvVariable& v) { return name == v.name; })) {
      out.emplace_back(name);
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace ost::runtime
