// A tensor as Python holds it.
#pragma once

#include <optional>
#include <utility>

#include "convert.hpp"

namespace ostinato::python {

// Its end takes the session's lock, so it gives up the interpreter's lock first.
struct PyTensor {
  Tensor tensor;

  explicit PyTensor(Tensor t) : tensor(std::move(t)) {}
  PyTensor(PyTensor&&) noexcept = default;
  PyTensor& operator=(PyTensor&&) = delete;
  ~PyTensor() {
    if (!tensor) return;
    const Released released;
    tensor = Tensor();
  }
};

using Wrapped = nb::typed<nb::object, PyTensor>;
Wrapped wrap(Tensor tensor);

}  // namespace ostinato::python
