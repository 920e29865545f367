// Programs: what a manifest holds.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"

namespace ostinato::python {
namespace {

python::NamedTypes types(const std::vector<Type>& all) {
  nb::list out;
  for (const Type& t : all) out.append(nb::make_tuple(t.name, to_text(t.dtype), from_dims(t.dims)));
  return out;
}

Record describe(const Program& p) {
  const auto d = p.describe();
  nb::dict out;
  out["id"] = d.id;
  out["numerics"] = d.numerics == OST_NUMERICS_FAST ? "fast" : "strict";
  out["devices"] = d.devices;
  out["kernels"] = d.kernels;
  out["groups"] = d.groups;
  out["launches"] = d.launches;
  out["copies"] = d.copies;
  out["constants"] = d.constants;
  out["states"] = d.states;
  out["images"] = d.images;
  out["arena_bytes"] = d.arena_bytes;
  out["constant_bytes"] = d.constant_bytes;
  out["summary"] = d.summary;
  out["counts"] = d.counts;
  return out;
}

Records groups(const Program& p) {
  nb::list out;
  for (const Group& g : p.groups()) {
    nb::dict entry;
    entry["kernel"] = g.kernel;
    entry["kind"] = g.kind;
    entry["ops"] = g.ops;
    entry["why"] = g.why;
    entry["ended"] = g.ended;
    entry["tiles"] = g.tiles;
    entry["bytes_saved"] = g.bytes_saved;
    out.append(entry);
  }
  return out;
}

nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::int_, nb::int_>> vars(const Program& p) {
  nb::list out;
  for (const ost_var_t& v : p.vars()) out.append(nb::make_tuple(std::string(v.name), v.min, v.max));
  return out;
}

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def_static(
          "load",
          [](const std::string& path, bool trust, bool accept_edited) {
            const Released released;
            return Program::load(path, trust, accept_edited);
          },
          nb::arg("path"), nb::arg("trust"), nb::arg("accept_edited"))
      .def_static("parse", &Program::parse, nb::arg("text"))
      .def("save", &Program::save, nb::arg("path"), nb::arg("images"))
      .def("describe", &describe)
      .def("groups", &groups)
      .def("vars", &vars)
      .def("inputs", [](const Program& p) { return types(p.inputs()); })
      .def("outputs", [](const Program& p) { return types(p.outputs()); })
      .def("states", [](const Program& p) { return types(p.states()); })
      .def("inspect", &Program::inspect, nb::arg("format"))
      .def("explain", &Program::explain, nb::arg("format"))
      .def(
          "link",
          [](const Program& p, const Context& c, const std::vector<std::string>& targets) {
            const Released released;
            return p.link(c, targets);
          },
          nb::arg("context"), nb::arg("targets"));
  m.attr("FORMAT_TEXT") = static_cast<uint32_t>(OST_FORMAT_TEXT);
  m.attr("FORMAT_JSON") = static_cast<uint32_t>(OST_FORMAT_JSON);
  m.attr("FORMAT_DOT") = static_cast<uint32_t>(OST_FORMAT_DOT);
  m.attr("FORMAT_HTML") = static_cast<uint32_t>(OST_FORMAT_HTML);
  m.attr("FORMAT_MANIFEST") = static_cast<uint32_t>(OST_FORMAT_MANIFEST);
  m.attr("FORMAT_KIR") = static_cast<uint32_t>(OST_FORMAT_KIR);
}

}  // namespace ostinato::python
