// The extension module: ostinato.h for Python, object by object. What users see is written in
// Python on top of it (../ostinato); nothing here decides anything.
#include <nanobind/stl/string.h>

#include "convert.hpp"

NB_MODULE(_core, m) {
  using namespace ostinato::python;
  m.doc() = "libostinato for Python; use the package ostinato";
  // Torch keeps what it compiled until the process ends, behind the end of the interpreter's modules.
  nb::set_leak_warnings(false);
  m.def("version", [] { return std::string(ost_version_text()); });
  m.def("status_text", [](uint32_t status) { return std::string(ost_status_text(status)); });
  register_errors(m);
  bind_context(m);
  bind_program(m);
  bind_graph(m);
  bind_instance(m);
  bind_runner(m);
  bind_tensor_call(m);
  bind_session(m);
  bind_jit(m);
  bind_exchange(m);
}
