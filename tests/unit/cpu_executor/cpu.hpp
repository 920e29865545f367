// The cpu plugin through its table, as a host sees it: loaded by dlopen, all handles released at
// the end.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ostinato/plugin.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "image_writer.hpp"

namespace ost_test {

inline const ost_driver_table_t& table() {
  static const ost_driver_table_t* loaded = [] {
    void* library = dlopen(OST_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto negotiate =
        reinterpret_cast<ost_plugin_negotiate_fn>(dlsym(library, OST_PLUGIN_ENTRY_NAME));
    const ost_negotiate_in_t in{sizeof in, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
    ost_negotiate_out_t out{};
    out.size = sizeof out;
    if (negotiate(&in, &out) != OST_OK) throw std::runtime_error(out.reason);
    return out.table;
  }();
  return *loaded;
}

struct Error : ost_error_t {
  Error() : ost_error_t{} { size = sizeof(ost_error_t); }
};

#define EXPECT_OK(call)                       \
  do {                                        \
    ost_test::Error error;                    \
    EXPECT_EQ(OST_OK, call) << error.message; \
  } while (false)

inline ost_str_t str(const std::string& text) { return {text.data(), text.size()}; }
inline ost_sink_t sink(std::string& out) {
  return {&out, [](void* to, const void* data, uint64_t size) {
            static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
          }};
}

// A driver with one option, its device, and a queue.
class Cpu {
 public:
  explicit Cpu(const std::string& option = "", const std::string& value = "")
      : options_{{option, value}} {
    host_.size = sizeof host_;
    host_.abi = OST_PLUGIN_ABI_VERSION;
    host_.context = this;
    host_.option = [](void* self, const char* name) -> const char* {
      const auto& all = static_cast<Cpu*>(self)->options_;
      const auto at = all.find(name);
      return at == all.end() ? nullptr : at->second.c_str();
    };
    Error error;
    if (table().driver_create(&host_, &driver, &error) != OST_OK)
      throw std::runtime_error(error.message);
    if (table().device_create(driver, 0, &device, &error) != OST_OK)
      throw std::runtime_error(error.message);
    if (table().queue_create(device, &queue, &error) != OST_OK)
      throw std::runtime_error(error.message);
  }
  ~Cpu() {
    for (auto* list : lists_) table().cmdlist_destroy(list);
    for (auto* buffer : buffers_) table().buffer_free(device, buffer);
    for (auto* executable : executables_) table().executable_unload(executable);
    table().queue_destroy(queue);
    table().device_destroy(device);
    table().driver_destroy(driver);
  }
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  ost_device_info_t info() {
    ost_device_info_t out{};
    out.size = sizeof out;
    EXPECT_OK(table().device_info(driver, 0, &out, &error));
    return out;
  }

  ost_executable_t* load(const std::string& image, const std::string& path = "") {
    ost_executable_t* out = nullptr;
    EXPECT_OK(
        table().executable_load(device, {image.data(), image.size()}, str(path), &out, &error));
    if (out != nullptr) executables_.push_back(out);
    return out;
  }
  uint32_t entry(ost_executable_t* executable, const std::string& name) {
    uint32_t out = UINT32_MAX;
    EXPECT_OK(table().executable_entry(executable, str(name), &out, &error));
    return out;
  }

  // A buffer of `count` elements, and where they are.
  template <class T>
  T* buffer(size_t count, ost_ref_t& ref) {
    ost_dbuffer_t* out = nullptr;
    EXPECT_OK(table().buffer_alloc(device, 0, count * sizeof(T), 64, &out, &error));
    buffers_.push_back(out);
    ref = {out, 0, count * sizeof(T), 0, 0};
    void* pointer = nullptr;
    EXPECT_OK(table().buffer_map(out, 0, ref.size, &pointer, &error));
    return static_cast<T*>(pointer);
  }

  ost_cmdlist_t* list(const std::vector<ost_command_t>& commands, uint32_t slots, uint32_t vars) {
    ost_cmdlist_t* out = nullptr;
    const auto count = static_cast<uint32_t>(commands.size());
    EXPECT_OK(table().cmdlist_create(device, commands.data(), count, slots, vars, &out, &error));
    if (out != nullptr) lists_.push_back(out);
    return out;
  }

  ost_status_t submit(const std::vector<ost_command_t>& commands, ost_error_t* error = nullptr) {
    const auto count = static_cast<uint32_t>(commands.size());
    return table().queue_submit(queue, nullptr, 0, commands.data(), count, nullptr, 0, error);
  }

  ost_driver_t* driver = nullptr;
  ost_device_t* device = nullptr;
  ost_queue_t* queue = nullptr;

 private:
  std::map<std::string, std::string> options_;
  ost_host_table_t host_{};
  std::vector<ost_executable_t*> executables_;
  std::vector<ost_dbuffer_t*> buffers_;
  std::vector<ost_cmdlist_t*> lists_;
};

inline ost_ref_t slot(uint32_t number, uint64_t offset = 0, uint64_t size = 0) {
  return {nullptr, offset, size, number, 0};
}

inline ost_command_t dispatch(ost_executable_t* executable, uint32_t entry,
                              const std::vector<ost_ref_t>& refs,
                              const std::vector<int64_t>& vars) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_DISPATCH;
  c.executable = executable;
  c.entry = entry;
  c.refs = refs.data();
  c.ref_count = static_cast<uint32_t>(refs.size());
  c.vars = vars.data();
  c.var_count = static_cast<uint32_t>(vars.size());
  return c;
}
inline ost_command_t recorded(ost_executable_t* executable, uint32_t entry, uint32_t level,
                              const std::vector<ost_ref_t>& refs,
                              const std::vector<uint32_t>& var_map) {
  ost_command_t c = dispatch(executable, entry, refs, {});
  c.level = level;
  c.vars = nullptr;
  c.var_count = static_cast<uint32_t>(var_map.size());
  c.var_map = var_map.data();
  return c;
}
inline ost_command_t replay(ost_cmdlist_t* list, const std::vector<ost_ref_t>& refs,
                            const std::vector<int64_t>& vars) {
  ost_command_t c = dispatch(nullptr, 0, refs, vars);
  c.kind = OST_CMD_CMDLIST;
  c.cmdlist = list;
  return c;
}
inline ost_command_t transfer(uint32_t kind, const std::vector<ost_ref_t>& refs,
                              uint32_t level = 0) {
  ost_command_t c = dispatch(nullptr, 0, refs, {});
  c.kind = kind;
  c.level = level;
  return c;
}

}  // namespace ost_test
