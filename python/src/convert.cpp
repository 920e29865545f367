#include "convert.hpp"

#include <nanobind/stl/string.h>

namespace ostinato::python {

ost_dtype_t to_dtype(const std::string& name) {
  ost_dtype_t dtype = 0;
  call(ost_dtype_parse, name.c_str(), &dtype);
  return dtype;
}

std::string to_text(ost_dtype_t dtype) {
  const char* text = ost_dtype_text(dtype);
  return text == nullptr ? "" : text;
}

Dims to_dims(nb::handle sequence) {
  Dims out;
  for (const nb::handle d : nb::iter(sequence)) {
    if (nb::isinstance<nb::str>(d)) {
      out.emplace_back(nb::cast<std::string>(d));
    } else if (d.is_none()) {
      out.push_back(Dim::missing());
    } else {
      out.emplace_back(nb::cast<int64_t>(d));
    }
  }
  return out;
}

Sizes from_dims(const Dims& dims) {
  nb::list out;
  for (const Dim& d : dims) {
    if (d.is_number())
      out.append(d.value);
    else
      out.append(d.expr);
  }
  return Sizes(nb::tuple(out));
}

namespace {

Attr to_attr(const std::string& name, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return {name, to_dtype(nb::cast<std::string>(value))};
  if (nb::isinstance<nb::float_>(value)) return {name, nb::cast<double>(value)};
  if (!nb::isinstance<nb::sequence>(value)) return {name, nb::cast<int64_t>(value)};
  const Dims dims = to_dims(value);
  std::vector<int64_t> ints;
  bool all_numbers = true;
  for (const Dim& d : dims) {
    ints.push_back(d.value);
    all_numbers = all_numbers && d.is_number();
  }
  if (all_numbers) return {name, std::move(ints)};
  return ostinato::dims(name, dims);
}

}  // namespace

Attrs to_attrs(const Record& attrs) {
  Attrs out;
  for (const auto& [name, value] : attrs)
    if (!value.is_none()) out.push_back(to_attr(nb::cast<std::string>(name), value));
  return out;
}

Bytes::Bytes(nb::handle object, bool writable) {
  const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
}

std::function<void()> keep_alive(nb::object owner) {
  PyObject* object = owner.release().ptr();
  return [object] {
    if (!nb::is_alive()) return;  // the interpreter is gone, and the object with it
    const nb::gil_scoped_acquire lock;
    Py_DECREF(object);
  };
}

namespace {

PyObject* error_class = nullptr;  // the function ostinato.errors.make

}  // namespace

void register_errors(nb::module_& m) {
  m.def(
      "set_error_factory", [](nb::object make) { error_class = make.release().ptr(); },
      nb::arg("make"), "make(status, message, native_code, flags, rule) gives an exception");
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      if (error_class == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
        return;
      }
      const nb::object exception =
          nb::handle(error_class)(e.status(), e.what(), e.native_code(), e.flags(), e.rule());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    }
  });
}

}  // namespace ostinato::python
