#include "core/runtime/driver_entries.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace ost::runtime {
namespace {

// The last argument of most entries, to which a thunk writes that the driver has no such entry.
void explain(ost_error_t* error, const char* name) {
  if (error == nullptr || error->size < sizeof *error) return;
  const uint32_t size = error->size;
  *error = {};
  error->size = size;
  error->status = OST_UNIMPLEMENTED;
  error->rule = 3;
  std::snprintf(error->message, sizeof error->message, "this driver has no %s", name);
}
template <typename T>
void explain(T, const char*) {}

template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) {
    std::copy_n(from, N, text);
  }  // NOLINT: for use as a template argument
};

// What stands where a plugin has NULL: a function of the entry's own type.
template <Name name, typename Function>
struct Hole;
template <Name name, typename R, typename... Args>
struct Hole<name, R (*)(Args...)> {
  static R call(Args... args) noexcept {
    if constexpr (std::is_same_v<R, ost_status_t>) {
      if constexpr (sizeof...(Args) > 0) (explain(args, name.text), ...);
      return OST_UNIMPLEMENTED;
    } else if constexpr (!std::is_void_v<R>) {
      ((void)args, ...);
      return R{};
    } else {
      ((void)args, ...);
    }
  }
};

constexpr bool REQ = true;
constexpr bool OPT = false;

#define X(name, required) +1
constexpr size_t kEntryCount = 0 OST_DRIVER_ENTRIES(X);
#undef X
// The list in the header names every entry of the table.
static_assert(sizeof(ost_driver_table_t) ==
              offsetof(ost_driver_table_t, driver_create) + kEntryCount * sizeof(void*));

// What version 1.0 had, which is accepted for ever.
constexpr size_t kSizeV1 = offsetof(ost_driver_table_t, get_extension) + sizeof(void*);

std::string missing_entries(const ost_driver_table_t& t) {
  std::string missing;
  const auto note = [&missing](const char* name, bool required, bool present) {
    if (!required || present) return;
    missing += missing.empty() ? "" : ", ";
    missing += name;
  };
#define X(name, required) note(#name, required, t.name != nullptr);
  OST_DRIVER_ENTRIES(X)
#undef X
  return missing;
}

std::unexpected<Error> broken(uint32_t rule, std::string message) {
  return std::unexpected(Error{OST_INCOMPATIBLE, std::move(message), 0, rule, 0});
}

// Entries that only make sense together.
Result<> check_pair(const char* what, bool first, bool second) {
  if (first == second) return {};
  return broken(10, fmt::format("the driver table has a part of {}: all of it or none", what));
}

}  // namespace

Result<DriverTable> complete_table(const ost_driver_table_t* from_plugin) {
  if (from_plugin == nullptr) return broken(3, "the plugin gave no driver table");
  const uint32_t size = from_plugin->size;
  if (size < kSizeV1) {
    return broken(
        2, fmt::format("the driver table is too short: found {} bytes, wanted at least {}", size,
                       kSizeV1));
  }
  if (from_plugin->reserved != 0) {
    return broken(2, fmt::format("the driver table uses a field that this host does not know: "
                                 "reserved is {}",
                                 from_plugin->reserved));
  }
  DriverTable out;
  ost_driver_table_t& t = out.entries;
  std::memcpy(&t, from_plugin, std::min<size_t>(size, sizeof t));
  t.size = sizeof t;
  if (const std::string missing = missing_entries(t); !missing.empty()) {
    return broken(3, fmt::format("the driver table lacks required entries: {}", missing));
  }
  OST_TRY(check_pair("mapping (buffer_map, buffer_unmap)", t.buffer_map, t.buffer_unmap));
  OST_TRY(check_pair("command lists (cmdlist_create, cmdlist_destroy)", t.cmdlist_create,
                     t.cmdlist_destroy));
  OST_TRY(
      check_pair("profiling (profile_enable, profile_drain)", t.profile_enable, t.profile_drain));
  out.has_map = t.buffer_map != nullptr;
  out.has_flush = t.buffer_flush != nullptr;
  out.has_import_host = t.buffer_import_host != nullptr;
  out.has_command_lists = t.cmdlist_create != nullptr;
  out.has_profiling = t.profile_enable != nullptr;
  out.has_link_query = t.link_query != nullptr;
#define X(name, required) \
  if (t.name == nullptr) t.name = &Hole<Name(#name), decltype(t.name)>::call;
  OST_DRIVER_ENTRIES(X)
#undef X
  return out;
}

}  // namespace ost::runtime
