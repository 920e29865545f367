// Contexts: devices, plugins, the compile cache.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"

namespace ostinato::python {
namespace {

const char* text(const char* t) { return t == nullptr ? "" : t; }

Records devices(const Context& c) {
  nb::list out;
  for (const auto& d : c.devices()) {
    nb::dict entry;
    entry["id"] = text(d.id);
    entry["driver"] = text(d.driver);
    entry["name"] = text(d.name);
    entry["kind"] = text(d.kind);
    entry["target"] = text(d.target);
    entry["available"] = d.available != 0;
    entry["compile_only"] = d.compile_only != 0;
    entry["reason"] = text(d.reason);
    out.append(entry);
  }
  return out;
}

Records plugins(const Context& c) {
  nb::list out;
  for (const auto& p : c.plugins()) {
    nb::dict entry;
    entry["path"] = text(p.path);
    entry["library"] = text(p.library);
    entry["driver"] = text(p.driver);
    entry["status"] = text(p.status);
    entry["stage"] = text(p.stage);
    entry["rule"] = p.rule;
    entry["reason"] = text(p.reason);
    out.append(entry);
  }
  return out;
}

Record open(const Context& c, const std::string& device) {
  ost_device_state_t s{};
  {
    const Released released;
    s = c.open(device);
  }
  nb::dict out;
  out["id"] = text(s.id);
  out["exact"] = s.exact != 0;
  out["reason"] = text(s.reason);
  out["allocations"] = s.allocations;
  out["allocated_bytes"] = s.allocated_bytes;
  out["live_bytes"] = s.live_bytes;
  out["submits"] = s.submits;
  return out;
}

Record compile_stats(const Context& c) {
  const auto s = c.compile_stats();
  nb::dict out;
  out["compiles"] = s.compiles;
  out["compile_ns"] = s.compile_ns;
  out["images_used"] = s.images_used;
  out["cache_hits"] = s.cache_hits;
  out["cache_misses"] = s.cache_misses;
  out["cache_damaged"] = s.cache_damaged;
  out["cache_stores"] = s.cache_stores;
  return out;
}

}  // namespace

void bind_context(nb::module_& m) {
  nb::class_<Context>(m, "Context")
      .def(
          "__init__",
          [](Context* self, std::vector<std::string> plugin_files,
             std::vector<std::string> plugin_folders,
             std::vector<std::pair<std::string, std::string>> options, std::string plugins,
             std::string cache) {
            const Released released;
            new (self) Context(ContextOptions{std::move(plugin_files), std::move(plugin_folders),
                                              std::move(options), std::move(plugins),
                                              std::move(cache), 0});
          },
          nb::arg("plugin_files"), nb::arg("plugin_folders"), nb::arg("options"),
          nb::arg("plugins"), nb::arg("cache"))
      .def("devices", &devices)
      .def("plugins", &plugins)
      .def("plugin_folders", &Context::plugin_folders)
      .def("open", &open, nb::arg("device"))
      .def("compile_stats", &compile_stats)
      .def("cache_folder", &Context::cache_folder);
}

}  // namespace ostinato::python
