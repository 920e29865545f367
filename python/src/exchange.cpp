// DLPack, both ways.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <new>

#include "tensor.hpp"

namespace ostinato::python {
namespace {

using Code = nb::dlpack::dtype_code;

nb::dlpack::dtype to_dlpack(ost_dtype_t dtype) {
  const auto bits = static_cast<uint8_t>(8 * ost_dtype_bytes(dtype));
  Code code = Code::Float;
  if (dtype == OST_DTYPE_BOOL) code = Code::Bool;
  if (dtype >= OST_DTYPE_I8 && dtype <= OST_DTYPE_I64) code = Code::Int;
  if (dtype >= OST_DTYPE_U8 && dtype <= OST_DTYPE_U64) code = Code::UInt;
  if (dtype == OST_DTYPE_BF16) code = Code::Bfloat;
  return {static_cast<uint8_t>(code), bits, 1};
}

ost_dtype_t from_dlpack(nb::dlpack::dtype type) {
  for (ost_dtype_t dtype = OST_DTYPE_BOOL; dtype <= OST_DTYPE_F64; ++dtype)
    if (to_dlpack(dtype) == type) return dtype;
  throw Error(OST_INVALID_ARGUMENT, "an array of DLPack type code " + std::to_string(type.code) +
                                        " with " + std::to_string(type.bits) + " bits and " +
                                        std::to_string(type.lanes) +
                                        " lanes; there is no such element type here");
}

constexpr std::align_val_t kAlign{64};

// Memory of its own with the value, or the tensor's own storage, and what keeps it.
std::pair<void*, nb::capsule> copied(const PyTensor& t, size_t bytes) {
  void* data = ::operator new(std::max<size_t>(bytes, 1), kAlign);
  nb::capsule owner(data, [](void* p) noexcept { ::operator delete(p, kAlign); });
  const Released released;
  call(ost_tensor_read, t.tensor.get(), data, bytes);
  return {data, std::move(owner)};
}

std::pair<void*, nb::capsule> shared(const PyTensor& t) {
  void* data = nullptr;
  std::unique_ptr<Buffer> held;
  {
    const Released released;
    auto [buffer, offset] = t.tensor.buffer();
    data = static_cast<char*>(buffer.map()) + offset;
    held = std::make_unique<Buffer>(std::move(buffer));
  }
  nb::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  held.release();
  return {data, std::move(owner)};
}

nb::typed<nb::object, nb::any> exchange(const PyTensor& t, bool copy) {
  Type type = t.tensor.type();
  std::vector<size_t> shape;
  size_t bytes = ost_dtype_bytes(type.dtype);
  for (const Dim& d : type.dims) {
    shape.push_back(static_cast<size_t>(d.value));
    bytes *= shape.back();
  }
  const auto [data, owner] = copy ? copied(t, bytes) : shared(t);
  return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner, nullptr,
                                             to_dlpack(type.dtype)));
}

// (address, shape, dtype, writable, contiguous) of an object that speaks DLPack, and what holds it.
nb::typed<nb::tuple, nb::int_, nb::typed<nb::list, nb::int_>, nb::str, bool, bool, nb::any>
memory_of(nb::object object) {
  nb::ndarray<nb::array_api, nb::device::cpu> writable;
  nb::ndarray<nb::array_api, nb::ro, nb::device::cpu> array;
  const bool is_writable = nb::try_cast(object, writable);
  if (!is_writable && !nb::try_cast(object, array)) {
    throw nb::type_error(
        "wanted an array that speaks DLPack or the buffer protocol and is in the host's memory");
  }
  const auto describe = [&](const auto& a) {
    nb::list shape;
    int64_t next = 1;
    bool contiguous = true;
    for (size_t d = a.ndim(); d-- > 0;) {
      contiguous = contiguous && (a.shape(d) == 1 || a.stride(d) == next);
      next *= static_cast<int64_t>(a.shape(d));
    }
    for (size_t d = 0; d < a.ndim(); ++d) shape.append(a.shape(d));
    return nb::make_tuple(reinterpret_cast<uintptr_t>(a.data()), shape,
                          to_text(from_dlpack(a.dtype())), is_writable, contiguous || next == 0,
                          nb::cast(a));
  };
  return is_writable ? describe(writable) : describe(array);
}

}  // namespace

void bind_exchange(nb::module_& m) {
  m.def("exchange", &exchange, nb::arg("tensor"), nb::arg("copy"));
  m.def("memory_of", &memory_of, nb::arg("array"));
}

}  // namespace ostinato::python
