// Programs on devices, with arrays in host memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "convert.hpp"

namespace ostinato::python {
namespace {

// (name, dtype, shape, data)
using Array4 = std::tuple<std::string, std::string, std::vector<int64_t>, nb::object>;
using Vars = std::vector<std::pair<std::string, int64_t>>;

// What a call binds, for as long as the arguments live.
class Bound {
 public:
  Bound(const std::vector<Array4>& inputs, const Vars& vars) {
    for (const auto& [name, dtype, shape, data] : inputs) add(name, to_dtype(dtype), shape, data);
    for (const auto& [name, value] : vars) values_.push_back({name.c_str(), value});
  }
  const std::vector<ost_binding_t>& inputs() const { return inputs_; }
  const std::vector<ost_var_value_t>& vars() const { return values_; }

 private:
  void add(const std::string& name, ost_dtype_t dtype, const std::vector<int64_t>& shape,
           nb::handle data) {
    bytes_.push_back(std::make_unique<Bytes>(data, false));
    uint64_t wanted = ost_dtype_bytes(dtype);
    for (const int64_t d : shape) wanted *= static_cast<uint64_t>(d);
    if (wanted != bytes_.back()->size()) {
      throw Error(OST_INVALID_ARGUMENT, "input " + name + " has " +
                                            std::to_string(bytes_.back()->size()) +
                                            " bytes, its type " + std::to_string(wanted));
    }
    const ost_array_t array{dtype, size32(shape.size()), shape.data(), bytes_.back()->data()};
    inputs_.push_back({name.c_str(), array, nullptr, 0});
  }
  std::vector<std::unique_ptr<Bytes>> bytes_;
  std::vector<ost_binding_t> inputs_;
  std::vector<ost_var_value_t> values_;
};

void bind(Instance& self, const std::vector<Array4>& inputs, const Vars& vars) {
  const Bound bound(inputs, vars);
  const Released released;
  call(ost_instance_bind, self.get(), bound.inputs().data(), size32(bound.inputs().size()),
       bound.vars().data(), size32(bound.vars().size()));
}

void run(Instance& self) {
  const Released released;
  self.run();
}

void call_function(Function& f, const std::vector<Array4>& inputs, const Vars& vars) {
  const Bound bound(inputs, vars);
  const Released released;
  call(ost_function_call, f.get(), bound.inputs().data(), size32(bound.inputs().size()),
       bound.vars().data(), size32(bound.vars().size()));
}

nb::typed<nb::tuple, nb::str, Sizes> output_type(ost_instance_t* instance, uint32_t index) {
  const Type t = type_at(ost_instance_output_type, instance, index);
  return nb::make_tuple(to_text(t.dtype), from_dims(t.dims));
}

void read(ost_instance_t* instance, uint32_t index, nb::handle out) {
  const Bytes bytes(out, true);
  const Released released;
  call(ost_instance_read_output, instance, index, bytes.data(), bytes.size());
}

Record stats(const ost_run_stats_t& s) {
  nb::dict out;
  out["launches"] = s.launches;
  out["copies"] = s.copies;
  out["copied_bytes"] = s.copied_bytes;
  out["allocations"] = s.allocations;
  out["compiles"] = s.compiles;
  out["wall_ns"] = s.wall_ns;
  out["build_compiles"] = s.build_compiles;
  out["build_cache_hits"] = s.build_cache_hits;
  out["build_images_used"] = s.build_images_used;
  out["arena_bytes"] = s.arena_bytes;
  out["constant_bytes"] = s.constant_bytes;
  out["state_bytes"] = s.state_bytes;
  return out;
}

}  // namespace

void bind_instance(nb::module_& m) {
  nb::class_<Instance>(m, "Instance")
      .def(
          "__init__",
          [](Instance* self, const Context& c, const Program& p,
             const std::vector<std::string>& devices) {
            const Released released;
            new (self) Instance(c, p, devices);
          },
          nb::arg("context"), nb::arg("program"), nb::arg("devices"))
      .def("bind", &bind, nb::arg("inputs"), nb::arg("vars"))
      .def("run", &run)
      .def(
          "output_type",
          [](const Instance& i, uint32_t index) { return output_type(i.get(), index); },
          nb::arg("index"))
      .def(
          "read",
          [](const Instance& i, uint32_t index, nb::handle out) { read(i.get(), index, out); },
          nb::arg("index"), nb::arg("out"))
      .def("device", [](const Instance& i) { return std::string(ost_instance_device(i.get(), 0)); })
      .def("free_intermediates", &Instance::free_intermediates)
      .def("stats", [](const Instance& i) { return stats(i.stats()); });
  nb::class_<Function>(m, "Function")
      .def(
          "__init__",
          [](Function* self, const Context& c, const std::string& text,
             const std::vector<std::pair<std::string, std::string>>& types,
             const std::string& device, bool fast, int64_t memory_budget, uint64_t arena_limit,
             uint32_t tile_size, bool fuse) {
            const Released released;
            new (self) Function(
                compile(c, text, types,
                        CompileOptions{device, memory_budget, arena_limit, tile_size, fast, fuse}));
          },
          nb::arg("context"), nb::arg("text"), nb::arg("types"), nb::arg("device"), nb::arg("fast"),
          nb::arg("memory_budget"), nb::arg("arena_limit"), nb::arg("tile_size"), nb::arg("fuse"))
      .def("run", &call_function, nb::arg("inputs"), nb::arg("vars"))
      .def(
          "output_type",
          [](const Function& f, uint32_t index) {
            return output_type(ost_function_instance(f.get()), index);
          },
          nb::arg("index"))
      .def(
          "read",
          [](const Function& f, uint32_t index, nb::handle out) {
            read(ost_function_instance(f.get()), index, out);
          },
          nb::arg("index"), nb::arg("out"))
      .def("program", &Function::program)
      .def("device", &Function::device)
      .def("source", &Function::source)
      .def("stats", [](const Function& f) { return stats(f.stats()); });
  m.def(
      "function_stats",
      [](const Context& c) {
        const auto s = function_stats(c);
        nb::dict out;
        out["compiled"] = s.compiled;
        out["reused"] = s.reused;
        out["kept"] = s.kept;
        return Record(out);
      },
      nb::arg("context"));
}

}  // namespace ostinato::python
