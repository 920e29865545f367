// Contexts: plugins, devices, the compile cache. Part of ostinato.hpp.
#ifndef OSTINATO_APP_CONTEXT_HPP_
#define OSTINATO_APP_CONTEXT_HPP_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace ostinato {

struct ContextOptions {
  std::vector<std::string> plugin_files;
  std::vector<std::string> plugin_folders;
  std::vector<std::pair<std::string, std::string>> driver_options;  // {"cpu.threads", "4"}
  std::string plugin_filter;                                        // "": OSTINATO_PLUGINS
  std::string cache_folder;                                         // "": the default; "off": none
  uint32_t flags = 0;                                               // OST_CONTEXT_*
};

class Context {
 public:
  explicit Context(const ContextOptions& options = {}) {
    const auto pointers = [](const std::vector<std::string>& texts) {
      std::vector<const char*> out;
      for (const std::string& t : texts) out.push_back(t.c_str());
      return out;
    };
    const auto files = pointers(options.plugin_files), folders = pointers(options.plugin_folders);
    std::vector<ost_option_t> driver_options;
    for (const auto& [name, value] : options.driver_options)
      driver_options.push_back({name.c_str(), value.c_str()});
    auto in = sized<ost_context_options_t>();
    in.flags = options.flags;
    in.plugin_files = files.data();
    in.plugin_file_count = static_cast<uint32_t>(files.size());
    in.plugin_folders = folders.data();
    in.plugin_folder_count = static_cast<uint32_t>(folders.size());
    in.driver_options = driver_options.data();
    in.driver_option_count = static_cast<uint32_t>(driver_options.size());
    in.plugin_filter = options.plugin_filter.empty() ? nullptr : options.plugin_filter.c_str();
    in.cache_folder = options.cache_folder.empty() ? nullptr : options.cache_folder.c_str();
    ost_context_t* context = nullptr;
    call(ost_context_create, &in, &context);
    handle_ = UniqueHandle<ost_context_t, ost_context_destroy>(context);
  }
  ost_context_t* get() const { return handle_.get(); }

  // Texts in the descriptions live as long as the context.
  std::vector<ost_device_desc_t> devices() const {
    return all<ost_device_desc_t>(ost_context_device_count(get()), ost_context_device_at);
  }
  std::vector<ost_plugin_desc_t> plugins() const {
    return all<ost_plugin_desc_t>(ost_context_plugin_count(get()), ost_context_plugin_at);
  }
  std::vector<std::string> plugin_folders() const {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < ost_context_plugin_folder_count(get()); ++i)
      out.emplace_back(ost_context_plugin_folder_at(get(), i));
    return out;
  }
  ost_device_state_t open(const std::string& device) const {
    auto state = sized<ost_device_state_t>();
    call(ost_context_open_device, get(), device.c_str(), &state);
    return state;
  }
  ost_compile_stats_t compile_stats() const {
    auto stats = sized<ost_compile_stats_t>();
    call(ost_context_compile_stats, get(), &stats);
    return stats;
  }

  struct CacheEntry {
    std::string key, path;
    uint64_t bytes;
    int64_t used_ns;
  };
  std::string cache_folder() const { return ost_context_cache_folder(get()); }
  std::vector<CacheEntry> cache_entries() const {
    std::vector<CacheEntry> out;
    call(ost_context_cache_list, get(), &Context::add_entry, &out);
    return out;
  }
  // Keeps at most max_bytes; 0 removes everything. Returns what was removed.
  std::vector<CacheEntry> prune_cache(uint64_t max_bytes) const {
    std::vector<CacheEntry> out;
    call(ost_context_cache_prune, get(), max_bytes, &Context::add_entry, &out);
    return out;
  }

 private:
  template <typename Desc, typename At>
  std::vector<Desc> all(uint32_t count, At at) const {
    std::vector<Desc> out;
    for (uint32_t i = 0; i < count; ++i) {
      out.push_back(sized<Desc>());
      call(at, get(), i, &out.back());
    }
    return out;
  }
  static void add_entry(void* user, const ost_cache_entry_t* e) {
    static_cast<std::vector<CacheEntry>*>(user)->push_back({e->key, e->path, e->bytes, e->used_ns});
  }

  UniqueHandle<ost_context_t, ost_context_destroy> handle_;
};

}  // namespace ostinato

#endif  // OSTINATO_APP_CONTEXT_HPP_
