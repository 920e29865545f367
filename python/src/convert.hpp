// Between Python values and those of ostinato.h.
#pragma once

#include <nanobind/nanobind.h>

#include <ostinato/ostinato.hpp>
#include <string>
#include <vector>

namespace ostinato::python {

namespace nb = nanobind;

// What stubs say of results.
using Record = nb::typed<nb::dict, nb::str, nb::any>;
using Records = nb::typed<nb::list, Record>;
using Sizes = nb::typed<nb::tuple, nb::any, nb::ellipsis>;
using NamedTypes = nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str, Sizes>>;

// Entry points that take a session's lock or work for long run without the interpreter's lock: a
// captured function calls back into Python under the session's lock, so whoever waits for that one
// must not hold the other.
using Released = nb::gil_scoped_release;

ost_dtype_t to_dtype(const std::string& name);
std::string to_text(ost_dtype_t dtype);

// A list of numbers and expressions: [3, "n", "2*n + 1"]; None is a start or stop that is not given.
Dims to_dims(nb::handle sequence);
Sizes from_dims(const Dims& dims);  // numbers, and expressions as str

// {"axis": 1, "eps": 1e-5, "axes": [0, 2], "shape": ["n", 64], "dtype": "f32"}: integers, floats,
// lists, and text for an element type.
Attrs to_attrs(const Record& attrs);

// The bytes of an object with a C-contiguous buffer, for as long as this lives.
class Bytes {
 public:
  Bytes(nb::handle object, bool writable);
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

// Keeps a Python object alive until a thread of the library lets go of it.
std::function<void()> keep_alive(nb::object owner);

// Throws what `call` would, as a Python exception of the right class.
void register_errors(nb::module_& m);

void bind_context(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_program(nb::module_& m);
void bind_instance(nb::module_& m);
void bind_runner(nb::module_& m);
void bind_tensor_call(nb::module_& m);
void bind_session(nb::module_& m);
void bind_jit(nb::module_& m);
void bind_exchange(nb::module_& m);

}  // namespace ostinato::python
