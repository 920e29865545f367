// Finds device plugins and loads them up to a checked driver table. Nothing that a plugin file
// contains can make this fail as a whole: every candidate ends in a LoadRecord and the others go
// on.
//
// Order of the sources: LoaderOptions::files, then OSTINATO_PLUGIN_FILES if set, which replaces
// what follows; OSTINATO_PLUGIN_PATH, then ostinato-plugins beside the library and the executable
// (LoaderOptions::folders instead, if there are any). Within a folder by file name. The current
// directory is never searched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/driver_entries.hpp"
#include "core/runtime/load_report.hpp"

namespace ost::runtime {

struct LoaderOptions {
  std::vector<std::string> files;     // discovery files (*.ostplugin.json), or libraries
  bool search = true;                 // false: only `files`
  bool environment = true;            // false: OSTINATO_PLUGIN* are not looked at
  std::vector<std::string> folders;   // instead of those beside the library
  std::optional<std::string> filter;  // instead of OSTINATO_PLUGINS
  // As in a process with raised privileges (AT_SECURE): only files of root that nobody else may
  // write. Always so in such a process.
  bool secure = false;
};

// A library that was opened and accepted. It is never unloaded, so a table stays valid for the life
// of the process.
struct Plugin {
  std::string path;  // as in LoadRecord
  std::string library;
  std::string name;  // of the driver
  std::string version;
  std::string vendor;
  uint32_t abi = 0;  // negotiated
  DriverTable table;
};
using PluginPtr = std::shared_ptr<const Plugin>;

struct LoadResult {
  std::vector<PluginPtr> plugins;  // in the order found; names are unique
  std::vector<size_t> record_of;   // index into records for each plugin
  std::vector<LoadRecord>
      records;  // stage `table` and status loaded for each plugin: the driver does not exist yet
};

LoadResult load_plugins(const LoaderOptions& options);

// The same checks for a plugin that is linked in: its negotiate function is called directly.
struct Rejection {
  LoadStage stage;
  uint32_t rule;
  std::string reason;
};
std::expected<Plugin, Rejection> negotiate_with(ost_plugin_negotiate_fn negotiate);

// Folders that a search looks into, in order, existing or not: for `ost doctor`.
std::vector<std::string> plugin_folders(const LoaderOptions& options);

// "glob,!glob": names that match no glob without `!` (if there is one) or one with `!` are dropped.
// Returns the part that dropped `name`, or nothing.
std::optional<std::string> dropped_by(std::string_view filter, std::string_view name);

}  // namespace ost::runtime
