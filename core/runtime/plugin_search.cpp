// Where plugins are looked for, and the filter on their names.
#include "core/runtime/plugin_search.hpp"

#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "core/runtime/discovery_file.hpp"
#include "core/runtime/env.hpp"

namespace ost::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      out.emplace_back(text.substr(0, end));  // an empty part would mean the current directory
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string> split_env(const LoaderOptions& options, std::string_view name) {
  if (!options.environment) return {};
  return split(env(name).value_or(""), ':');
}

// The file that this code is in: libostinato.so, or an executable that is linked with the core.
fs::path own_folder() {
  static const char marker = 0;
  Dl_info info{};
  if (dladdr(&marker, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ec;
  // For an executable that was found through PATH, dli_fname is only what argv[0] said.
  fs::path file = fs::path(info.dli_fname);
  if (!file.is_absolute() || !fs::exists(file, ec)) file = "/proc/self/exe";
  file = fs::canonical(file, ec);
  return ec ? fs::path() : file.parent_path();
}

std::string absolute(const std::string& path) {
  std::error_code ec;
  const fs::path p = fs::absolute(path, ec);
  return ec ? path : p.lexically_normal().string();
}

LoadRecord not_found(const std::string& path, std::string reason) {
  LoadRecord r;
  r.path = path;
  r.reason = std::move(reason);
  return r;
}

void add_folder(const std::string& folder, bool must_exist, SearchResult& out) {
  std::error_code ec;
  std::vector<std::string> found;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string path = it->path().string();
    if (path.ends_with(kDiscoverySuffix)) found.push_back(path);
  }
  if (ec && must_exist) {
    out.records.push_back(
        not_found(folder, fmt::format("the folder cannot be listed: {}", ec.message())));
  }
  std::ranges::sort(found);
  out.candidates.insert(out.candidates.end(), found.begin(), found.end());
}

void add_files(const std::vector<std::string>& files, SearchResult& out) {
  for (const std::string& file : files) out.candidates.push_back(absolute(file));
}

}  // namespace

SearchResult search_plugins(const LoaderOptions& options) {
  SearchResult out;
  add_files(options.files, out);
  if (!options.search) return out;
  if (const auto files = split_env(options, "OSTINATO_PLUGIN_FILES"); !files.empty()) {
    add_files(files, out);
    return out;
  }
  const std::vector<std::string> named = split_env(options, "OSTINATO_PLUGIN_PATH");
  const std::vector<std::string> folders = plugin_folders(options);
  for (size_t i = 0; i < folders.size(); ++i) {
    add_folder(folders[i], i < named.size() || !options.folders.empty(), out);
  }
  return out;
}

std::vector<std::string> plugin_folders(const LoaderOptions& options) {
  std::vector<std::string> out;
  for (const std::string& folder : split_env(options, "OSTINATO_PLUGIN_PATH"))
    out.push_back(absolute(folder));
  for (const std::string& folder : options.folders) out.push_back(absolute(folder));
  if (!options.folders.empty()) return out;
  if (const fs::path own = own_folder(); !own.empty()) {
    const fs::path beside = own / "ostinato-plugins";
    const fs::path installed = own.parent_path() / "lib" / "ostinato-plugins";
    out.push_back(beside.string());
    if (installed != beside) out.push_back(installed.string());
  }
  return out;
}

std::optional<std::string> dropped_by(std::string_view filter, std::string_view name) {
  bool any_wanted = false;
  bool wanted = false;
  const std::string subject(name);
  for (const std::string& part : split(filter, ',')) {
    const bool excludes = part[0] == '!';
    const bool matches = fnmatch(part.c_str() + (excludes ? 1 : 0), subject.c_str(), 0) == 0;
    if (excludes && matches) return part;
    any_wanted |= !excludes;
    wanted |= !excludes && matches;
  }
  if (any_wanted && !wanted) return std::string(filter);
  return std::nullopt;
}

std::string active_filter(const LoaderOptions& options) {
  if (options.filter) return *options.filter;
  return options.environment ? env("OSTINATO_PLUGINS").value_or("") : "";
}

}  // namespace ost::runtime
