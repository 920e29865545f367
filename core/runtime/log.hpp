// The one way in which the core says something that is not an error: a hook that the embedder sets.
// Without a hook nothing is said; the core never prints.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace ost::runtime {

enum class LogLevel : uint32_t { error = 0, warning = 1, info = 2, debug = 3 };  // OST_LOG_*

// Called from any thread, one line without newline at a time; must not call back into the runtime.
using LogHook = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the hook; an empty one silences. When it returns, no call of the old hook is running.
void set_log_hook(LogHook hook, LogLevel most_verbose = LogLevel::info);

bool log_enabled(LogLevel level);
void log_text(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_text(level, fmt::format(format, std::forward<Args>(args)...));
}

// "error", "warning", "info", "debug".
std::string_view name_of(LogLevel level);

}  // namespace ost::runtime
