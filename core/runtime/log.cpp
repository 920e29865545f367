#include "core/runtime/log.hpp"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace ost::runtime {
namespace {

// Leaked: plugins may log while the process ends.
struct Hook {
  std::shared_mutex mutex;
  LogHook call;
  std::atomic<int> most_verbose{-1};  // -1: no hook
};

Hook& hook() {
  static Hook* const instance = new Hook;
  return *instance;
}

}  // namespace

void set_log_hook(LogHook call, LogLevel most_verbose) {
  Hook& h = hook();
  const std::unique_lock lock(h.mutex);
  h.call = std::move(call);
  h.most_verbose = h.call ? static_cast<int>(most_verbose) : -1;
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) <= hook().most_verbose.load(std::memory_order_relaxed);
}

void log_text(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  Hook& h = hook();
  const std::shared_lock lock(h.mutex);
  if (!h.call) return;
  try {
    h.call(level, message);
  } catch (...) {  // a message is not worth an error
    return;
  }
}

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "unknown";
}

}  // namespace ost::runtime
