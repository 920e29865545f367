#include "core/runtime/plugin_loader.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "core/runtime/discovery_file.hpp"
#include "core/runtime/guarded.hpp"
#include "core/runtime/isolate/isolated.hpp"
#include "core/runtime/log.hpp"
#include "core/runtime/plugin_search.hpp"

namespace ost::runtime {
namespace {

constexpr uint32_t kAbiMin = 0x00010000u;
constexpr uint32_t kAbiMax = OST_PLUGIN_ABI_VERSION;

template <typename... Args>
std::unexpected<Rejection> reject(LoadStage stage, uint32_t rule,
                                  fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Rejection{stage, rule, fmt::format(format, std::forward<Args>(args)...)});
}

template <size_t N>
std::string text_of(const char (&array)[N]) {
  return std::string(array, strnlen(array, N));
}

std::string abi_range(uint32_t low, uint32_t high) {
  return low == high ? abi_name(low) : fmt::format("{} to {}", abi_name(low), abi_name(high));
}

// --- negotiation ---------------------------------------------------------------------------------

std::expected<ost_negotiate_out_t, Rejection> ask(ost_plugin_negotiate_fn negotiate) {
  Guarded<ost_negotiate_out_t> guarded;
  const ost_negotiate_in_t in{sizeof in, kAbiMin, kAbiMax, 0};
  ost_status_t status = OST_INTERNAL;
  try {
    status = negotiate(&in, guarded.get());
  } catch (const std::exception& e) {
    return reject(LoadStage::negotiate, 5, "ost_plugin_negotiate threw an exception: {}", e.what());
  } catch (...) {
    return reject(LoadStage::negotiate, 5, "ost_plugin_negotiate threw an exception");
  }
  if (auto ok = guarded.check("ost_plugin_negotiate"); !ok)
    return reject(LoadStage::negotiate, ok.error().rule, "{}", ok.error().message);
  const ost_negotiate_out_t& out = guarded.value();
  if (status != OST_OK || out.abi == 0) {
    const std::string reason = text_of(out.reason);
    return reject(LoadStage::negotiate, 15, "the plugin refuses this host, which has ABI {}: {}",
                  abi_range(kAbiMin, kAbiMax),
                  reason.empty() ? status_name(status) : reason.c_str());
  }
  if (out.reserved != 0) {
    return reject(LoadStage::negotiate, 2,
                  "ost_negotiate_out_t uses a field that this host does not know: reserved is {}",
                  out.reserved);
  }
  return out;
}

std::expected<void, Rejection> check_sanitizer(uint32_t sanitizer, LoadStage stage) {
  // The other way round works: what an instrumented host calls need not be instrumented.
  if (sanitizer == OST_SANITIZER_NONE || sanitizer == host_sanitizer()) return {};
  return reject(stage, 17,
                "the plugin is built with the {0} sanitizer and this host is not: build it "
                "without, or run a host "
                "that is built with -fsanitize={0}",
                sanitizer_name(sanitizer));
}

std::expected<void, Rejection> check_answer(const ost_negotiate_out_t& out) {
  if (out.abi < kAbiMin || out.abi > kAbiMax) {
    return reject(LoadStage::negotiate, 15, "the plugin chose ABI {}, this host has {}",
                  abi_name(out.abi), abi_range(kAbiMin, kAbiMax));
  }
  if (const std::string name = text_of(out.name);
      !is_driver_name(name) || name.size() == sizeof out.name) {
    return reject(LoadStage::negotiate, 16,
                  "the driver name \"{}\" is not [a-z][a-z0-9_]* of at most {} characters", name,
                  sizeof out.name - 1);
  }
  return check_sanitizer(out.sanitizer, LoadStage::negotiate);
}

// --- libraries -----------------------------------------------------------------------------------

// Never unloaded, not even at exit: threads of a vendor's runtime may outlive any point at which
// that could be done.
boost::dll::shared_library& keep_open(boost::dll::shared_library library) {
  static std::mutex mutex;
  static auto& libraries = *new std::deque<boost::dll::shared_library>;
  const std::lock_guard lock(mutex);
  return libraries.emplace_back(std::move(library));
}

std::expected<ost_plugin_negotiate_fn, Rejection> open_library(const std::string& path) {
  try {
    auto* library = &keep_open(boost::dll::shared_library(
        path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local));
    if (!library->has(OST_PLUGIN_ENTRY_NAME)) {
      return reject(LoadStage::entry, 14,
                    "the library does not export {}: it is not an Ostinato plugin",
                    OST_PLUGIN_ENTRY_NAME);
    }
    return &library->get<ost_status_t(const ost_negotiate_in_t*, ost_negotiate_out_t*)>(
        OST_PLUGIN_ENTRY_NAME);
  } catch (const std::exception& e) {
    return reject(LoadStage::open, 14, "{}", e.what());  // has the text of dlerror
  }
}

struct FileId {
  dev_t device;
  ino_t inode;
  auto operator<=>(const FileId&) const = default;
};

// --- one candidate after the other ---------------------------------------------------------------

class Loader {
 public:
  explicit Loader(const LoaderOptions& options)
      : filter_(active_filter(options)), secure_(options.secure || getauxval(AT_SECURE) != 0) {}

  void add(const std::string& path) {
    LoadRecord record;
    record.path = path;
    if (auto plugin = load(record)) {
      record.status = LoadStatus::loaded;
      record.stage = LoadStage::table;
      out_.record_of.push_back(out_.records.size());
      out_.plugins.push_back(std::make_shared<const Plugin>(std::move(*plugin)));
    } else {
      record.stage = plugin.error().stage;
      record.rule = plugin.error().rule;
      record.reason = std::move(plugin.error().reason);
      log(record.status == LoadStatus::failed ? LogLevel::warning : LogLevel::info, "plugin {}",
          to_string(record));
    }
    out_.records.push_back(std::move(record));
  }

  void add(LoadRecord record) {
    log(LogLevel::warning, "plugin {}", to_string(record));
    out_.records.push_back(std::move(record));
  }

  LoadResult take() { return std::move(out_); }

 private:
  std::expected<Plugin, Rejection> load(LoadRecord& record) {
    record.library = record.path;
    if (record.path.ends_with(kDiscoverySuffix)) {
      if (auto ok = read_discovery(record); !ok) return std::unexpected(std::move(ok).error());
    }
    if (auto ok = check_file(record); !ok) return std::unexpected(std::move(ok).error());
    auto plugin = open_and_negotiate(record);
    if (!plugin) return plugin;
    if (!record.driver.empty() && record.driver != plugin->name) {
      return reject(LoadStage::negotiate, 16,
                    "the discovery file says driver {}, the library is driver {}", record.driver,
                    plugin->name);
    }
    record.driver = plugin->name;
    if (auto ok = check_name(record); !ok) return std::unexpected(std::move(ok).error());
    plugin->path = record.path;
    plugin->library = record.library;
    return plugin;
  }

  static std::expected<Plugin, Rejection> open_and_negotiate(const LoadRecord& record) {
    if (wants_isolation(record.driver, record.library)) return load_isolated(record.library);
    auto negotiate = open_library(record.library);
    if (!negotiate) return std::unexpected(std::move(negotiate).error());
    return negotiate_with(*negotiate);
  }

  // What can be known without running code of the plugin.
  std::expected<void, Rejection> read_discovery(LoadRecord& record) {
    struct stat info{};
    if (stat(record.path.c_str(), &info) != 0) return missing(record.path);
    auto file = read_discovery_file(record.path);
    if (!file) return reject(LoadStage::manifest, file.error().rule, "{}", file.error().message);
    record.library = file->library;
    record.driver = file->name;
    if (file->arch != host_arch()) {
      record.status = LoadStatus::skipped;
      return reject(LoadStage::manifest, 13, "the library is for {}, this process is {}",
                    file->arch, host_arch());
    }
    if (file->abi_min > kAbiMax || file->abi_max < kAbiMin) {
      return reject(LoadStage::manifest, 15,
                    "the plugin has ABI {}, this host has {}: {} is too old",
                    abi_range(file->abi_min, file->abi_max), abi_range(kAbiMin, kAbiMax),
                    file->abi_min > kAbiMax ? "the host" : "the plugin");
    }
    if (auto ok = check_sanitizer(file->sanitizer, LoadStage::manifest); !ok) return ok;
    return check_filter(record);
  }

  std::expected<void, Rejection> check_file(LoadRecord& record) {
    struct stat info{};
    if (stat(record.library.c_str(), &info) != 0) return missing(record.library);
    if (secure_ && (info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
      return reject(LoadStage::discover, 13,
                    "{}: others than root may write it, and this process has raised privileges",
                    record.library);
    }
    const auto [seen, is_new] = files_.try_emplace({info.st_dev, info.st_ino}, record.path);
    if (is_new) return {};
    record.status = LoadStatus::skipped;
    return reject(LoadStage::discover, 16, "the library is the one of {}", seen->second);
  }

  std::expected<void, Rejection> missing(const std::string& path) {
    return reject(LoadStage::discover, 13, "{}: {}", path, std::strerror(errno));
  }

  std::expected<void, Rejection> check_filter(LoadRecord& record) {
    const auto part = dropped_by(filter_, record.driver);
    if (!part) return {};
    record.status = LoadStatus::skipped;
    return reject(LoadStage::filter, 0, "driver {} is dropped by the filter \"{}\"", record.driver,
                  *part);
  }

  std::expected<void, Rejection> check_name(LoadRecord& record) {
    if (auto ok = check_filter(record); !ok) return ok;
    const auto [first, is_new] = names_.try_emplace(record.driver, record.path);
    if (is_new) return {};
    record.status = LoadStatus::skipped;
    return reject(LoadStage::negotiate, 16, "driver {} was loaded from {}", record.driver,
                  first->second);
  }

  std::string filter_;
  bool secure_ = false;
  std::map<FileId, std::string> files_;
  std::map<std::string, std::string> names_{{"ref", "(built in)"}};
  LoadResult out_;
};

}  // namespace

std::expected<Plugin, Rejection> negotiate_with(ost_plugin_negotiate_fn negotiate) {
  auto out = ask(negotiate);
  if (!out) return std::unexpected(std::move(out).error());
  if (auto ok = check_answer(*out); !ok) return std::unexpected(std::move(ok).error());
  auto table = complete_table(out->table);
  if (!table) return reject(LoadStage::table, table.error().rule, "{}", table.error().message);
  Plugin plugin;
  plugin.name = text_of(out->name);
  plugin.version = text_of(out->version);
  plugin.vendor = text_of(out->vendor);
  plugin.abi = out->abi;
  plugin.table = *table;
  return plugin;
}

LoadResult load_plugins(const LoaderOptions& options) {
  Loader loader(options);
  SearchResult found = search_plugins(options);
  for (LoadRecord& record : found.records) loader.add(std::move(record));
  for (const std::string& path : found.candidates) loader.add(path);
  return loader.take();
}

}  // namespace ost::runtime
