// Graphs: nodes by number.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "convert.hpp"

namespace ostinato::python {
namespace {

ost_compile_options_t compile_options(bool fast, int64_t memory_budget, uint64_t arena_limit,
                                      uint32_t tile_size, bool fuse) {
  auto out = sized<ost_compile_options_t>();
  out.numerics = fast ? OST_NUMERICS_FAST : OST_NUMERICS_STRICT;
  out.no_fuse = fuse ? 0 : 1;
  out.memory_budget = memory_budget;
  out.arena_limit = arena_limit;
  out.tile_size = tile_size;
  return out;
}

ost_array_t array_of(ost_dtype_t dtype, const std::vector<int64_t>& shape, const Bytes& bytes) {
  uint64_t wanted = ost_dtype_bytes(dtype);
  for (const int64_t d : shape) wanted *= static_cast<uint64_t>(d);
  if (wanted != bytes.size()) {
    throw Error(OST_INVALID_ARGUMENT, "the data has " + std::to_string(bytes.size()) +
                                          " bytes, the type " + std::to_string(wanted));
  }
  return {dtype, size32(shape.size()), shape.data(), bytes.data()};
}

Node constant(Graph& g, const std::string& name, const std::string& dtype,
              const std::vector<int64_t>& shape, nb::handle data) {
  const Bytes bytes(data, false);
  return g.constant(name, array_of(to_dtype(dtype), shape, bytes));
}

Node state(Graph& g, const std::string& name, const std::string& dtype,
           const std::vector<int64_t>& shape, nb::handle data) {
  const Bytes bytes(data, false);
  const ost_array_t initial = array_of(to_dtype(dtype), shape, bytes);
  const auto c = to_c(Dims(shape.begin(), shape.end()));
  Node node = 0;
  call(ost_graph_state, g.get(), name.c_str(), initial.dtype, c.data(), size32(c.size()), &initial,
       0u, &node);
  return node;
}

nb::typed<nb::tuple, nb::str, Sizes> type_of(const Graph& g, Node node) {
  const Type t = g.type(node);
  return nb::make_tuple(to_text(t.dtype), from_dims(t.dims));
}

}  // namespace

void bind_graph(nb::module_& m) {
  m.def("op_names", [] {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < ost_op_count(); ++i) out.emplace_back(ost_op_at(i));
    return out;
  });
  m.def("expression_names", &expression_names, nb::arg("text"));
  m.def("expression_inputs", &expression_inputs, nb::arg("text"));
  nb::class_<Graph>(m, "Graph")
      .def(nb::init<>())
      .def("var", &Graph::var, nb::arg("name"), nb::arg("min"), nb::arg("max"))
      .def(
          "input",
          [](Graph& g, const std::string& name, const std::string& dtype, nb::handle dims) {
            return g.input(name, to_dtype(dtype), to_dims(dims));
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("dims"))
      .def("constant", &constant, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
           nb::arg("data"))
      .def("state", &state, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), nb::arg("data"))
      .def(
          "op",
          [](Graph& g, const std::string& name, const std::vector<Node>& inputs,
             const Record& attrs) { return g.op(name, inputs, to_attrs(attrs)); },
          nb::arg("name"), nb::arg("inputs"), nb::arg("attrs"))
      .def("expression", &Graph::expression, nb::arg("text"))
      .def("outputs_of", &Graph::outputs_of, nb::arg("text"))
      .def("output", &Graph::output, nb::arg("name"), nb::arg("node"))
      .def("type", &type_of, nb::arg("node"))
      .def("text", &Graph::text)
      .def(
          "compile",
          [](const Graph& g, bool fast, int64_t memory_budget, uint64_t arena_limit,
             uint32_t tile_size, bool fuse) {
            const Released released;
            return g.compile(compile_options(fast, memory_budget, arena_limit, tile_size, fuse));
          },
          nb::arg("fast") = false, nb::arg("memory_budget") = 0, nb::arg("arena_limit") = 0,
          nb::arg("tile_size") = 0, nb::arg("fuse") = true);
}

}  // namespace ostinato::python
