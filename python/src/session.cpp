// Sessions and lazy tensors.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "tensor.hpp"

namespace ostinato::python {

Wrapped wrap(Tensor tensor) {
  return nb::borrow<Wrapped>(nb::cast(PyTensor{std::move(tensor)}, nb::rv_policy::move));
}

namespace {

Wrapped from_array(Session& s, const std::string& device, const std::string& dtype,
                   const std::vector<int64_t>& shape, nb::handle data, nb::handle dims) {
  const Bytes bytes(data, false);
  const ost_array_t array{to_dtype(dtype), size32(shape.size()), shape.data(), bytes.data()};
  const Dims named = dims.is_none() ? Dims() : to_dims(dims);
  const auto c = to_c(named);
  ost_tensor_t* out = nullptr;
  {
    const Released released;
    call(ost_tensor_from_array, s.get(), device.c_str(), &array,
         dims.is_none() ? nullptr : c.data(), &out);
  }
  return wrap(Tensor(out));
}

// Memory of `owner`'s, without a copy.
Wrapped from_memory(Session& s, const Context& context, const std::string& device,
                    uintptr_t pointer, uint64_t bytes, const std::string& dtype, nb::handle dims,
                    nb::object owner) {
  const Dims named = to_dims(dims);
  const ost_dtype_t type = to_dtype(dtype);
  const std::function<void()> release = keep_alive(std::move(owner));
  Tensor tensor;
  {
    const Released released;
    std::optional<Buffer> buffer;
    try {
      buffer = Buffer::import(context, device, reinterpret_cast<void*>(pointer), bytes, release);
    } catch (...) {
      release();  // what was refused has not taken the owner
      throw;
    }
    tensor = s.tensor(*buffer, 0, type, named);
  }
  return wrap(std::move(tensor));
}

Wrapped op(Session& s, const std::string& name, const std::vector<const PyTensor*>& inputs,
           const Record& attrs, const std::string& device) {
  const Attrs given = to_attrs(attrs);
  std::vector<Tensor> tensors;
  for (const PyTensor* t : inputs) tensors.push_back(t->tensor);
  Tensor out;
  {
    const Released released;
    out = s.op(name, tensors, given, device);
    tensors.clear();
  }
  return wrap(std::move(out));
}

Wrapped random(Session& s, const std::string& kind, nb::handle dims, const std::string& device) {
  const Dims shape = to_dims(dims);
  Tensor out;
  {
    const Released released;
    out = s.random(kind, shape, device);
  }
  return wrap(std::move(out));
}

void realize(const std::vector<const PyTensor*>& tensors) {
  std::vector<ost_tensor_t*> handles;
  for (const PyTensor* t : tensors) handles.push_back(t->tensor.get());
  const Released released;
  call(ost_tensor_realize, handles.data(), size32(handles.size()));
}

// (dtype, sizes, sizes as they were declared)
nb::typed<nb::tuple, nb::str, Sizes, Sizes> type_of(const PyTensor& t) {
  auto desc = sized<ost_type_desc_t>();
  {
    const Released released;
    call(ost_tensor_type, t.tensor.get(), &desc);
  }
  nb::list values, declared;
  for (uint32_t d = 0; d < desc.rank; ++d) {
    values.append(desc.dims[d].value);
    if (desc.dims[d].expr != nullptr)
      declared.append(desc.dims[d].expr);
    else
      declared.append(desc.dims[d].value);
  }
  return nb::make_tuple(to_text(desc.dtype), nb::tuple(values), nb::tuple(declared));
}

void assign(PyTensor& target, const PyTensor& value, nb::handle starts) {
  const Dims from = starts.is_none() ? Dims() : to_dims(starts);
  const auto c = to_c(from);
  const Released released;
  call(ost_tensor_assign, target.tensor.get(), value.tensor.get(), c.data(), size32(c.size()));
}

void read(const PyTensor& t, nb::handle out) {
  const Bytes bytes(out, true);
  const Released released;
  call(ost_tensor_read, t.tensor.get(), bytes.data(), bytes.size());
}

Record stats(const Session& s) {
  const auto stats = s.stats();
  nb::dict out;
  out["graph_nodes"] = stats.graph_nodes;
  out["schedules"] = stats.schedules;
  out["eager_runs"] = stats.eager_runs;
  return out;
}

void bind_tensor(nb::module_& m) {
  nb::class_<PyTensor>(m, "Tensor")
      .def("type", &type_of)
      .def("device",
           [](const PyTensor& t) {
             const Released released;
             return t.tensor.device();
           })
      .def("is_realized",
           [](const PyTensor& t) {
             const Released released;
             return t.tensor.is_realized();
           })
      .def("read", &read, nb::arg("out"))
      .def(
          "to",
          [](const PyTensor& t, const std::string& device) {
            Tensor out;
            {
              const Released released;
              out = t.tensor.to(device);
            }
            return wrap(std::move(out));
          },
          nb::arg("device"))
      .def("assign", &assign, nb::arg("value"), nb::arg("starts").none())
      .def("freeze", [](PyTensor& t) {
        const Released released;
        t.tensor.freeze();
      });
}

}  // namespace

void bind_session(nb::module_& m) {
  bind_tensor(m);
  m.def("realize", &realize, nb::arg("tensors"));
  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session* self, const Context& c, bool fast, bool fuse) {
            auto options = sized<ost_compile_options_t>();
            options.numerics = fast ? OST_NUMERICS_FAST : OST_NUMERICS_STRICT;
            options.no_fuse = fuse ? 0 : 1;
            new (self) Session(c, options);
          },
          nb::arg("context"), nb::arg("fast"), nb::arg("fuse"))
      .def(
          "bind",
          [](Session& s, const std::string& name, int64_t min, int64_t max, int64_t value) {
            const Released released;
            s.bind(name, min, max, value);
          },
          nb::arg("name"), nb::arg("min"), nb::arg("max"), nb::arg("value"))
      .def("from_array", &from_array, nb::arg("device"), nb::arg("dtype"), nb::arg("shape"),
           nb::arg("data"), nb::arg("dims").none())
      .def("from_memory", &from_memory, nb::arg("context"), nb::arg("device"), nb::arg("pointer"),
           nb::arg("bytes"), nb::arg("dtype"), nb::arg("dims"), nb::arg("owner"))
      .def("op", &op, nb::arg("name"), nb::arg("inputs"), nb::arg("attrs"), nb::arg("device"))
      .def("random", &random, nb::arg("kind"), nb::arg("dims"), nb::arg("device"))
      .def(
          "seed",
          [](Session& s, uint64_t seed) {
            const Released released;
            s.seed(seed);
          },
          nb::arg("seed"))
      .def("stats", &stats);
}

}  // namespace ostinato::python
