// One call of a program of fixed sizes with torch's tensors, without Python in between: their
// addresses come from torch's own C functions (DLPack's exchange table), new tensors from
// torch.empty_strided.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <array>

#include "runner.hpp"

namespace ostinato::python {
namespace {

using nb::dlpack::dltensor;

// DLPackExchangeAPI of DLPack 1.3, which torch.Tensor carries as __dlpack_c_exchange_api__.
struct ExchangeTable {
  uint32_t major, minor;
  void* previous;
  void* allocate;
  void* from_object;
  void* to_object;
  int (*borrow)(void* object, dltensor* out);  // valid as long as the object, not synchronized
  void* current_stream;
};

using Arguments = nb::typed<nb::sequence, nb::any>;
using Outputs = nb::typed<nb::list, nb::any>;

struct Expected {
  size_t place;  // among the arguments
  std::vector<int64_t> shape, strides;
};

struct Result {
  nb::object shape, strides, dtype;
};

class TensorCall {
 public:
  // inputs: (place, (shape, strides)); outputs: (shape, strides, dtype) as torch.empty_strided takes them
  TensorCall(
      nb::object runner, nb::capsule table, nb::object empty,
      const std::vector<std::pair<size_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>>>&
          inputs,
      Outputs outputs)
      : owner_(std::move(runner)), runner_(nb::cast<Runner*>(owner_)), empty_(std::move(empty)) {
    const auto* t = static_cast<const ExchangeTable*>(table.data("dlpack_exchange_api"));
    if (t->major != 1 || t->borrow == nullptr)
      throw Error(OST_UNIMPLEMENTED, "this torch has no exchange table of DLPack 1.3");
    borrow_ = t->borrow;
    for (const auto& [place, type] : inputs) inputs_.push_back({place, type.first, type.second});
    for (const nb::handle o : outputs) outputs_.push_back({o[0], o[1], o[2]});
    names_ = nb::make_tuple(nb::str("dtype"));
  }

  // The results, or None if an argument is not as expected, which the caller then sees to.
  nb::object operator()(Arguments args) {
    nb::object fast = nb::steal(PySequence_Fast(args.ptr(), "arguments in a list"));
    if (!fast) throw nb::python_error();
    const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(fast.ptr()));
    PyObject** items = PySequence_Fast_ITEMS(fast.ptr());
    std::vector<uintptr_t> in(inputs_.size()), out(outputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Expected& e = inputs_[i];
      if (e.place >= count || !address(items[e.place], &e, in[i])) return nb::none();
    }
    nb::list results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      nb::object made = make(outputs_[i]);
      if (!address(made.ptr(), nullptr, out[i])) return nb::none();
      results.append(std::move(made));
    }
    {
      const Released released;
      runner_->call_fixed(in, out);
    }
    return results;
  }

 private:
  bool address(PyObject* tensor, const Expected* expected, uintptr_t& out) const {
    dltensor t;
    if (borrow_(tensor, &t) != 0) {
      PyErr_Clear();
      return false;
    }
    out = reinterpret_cast<uintptr_t>(t.data) + t.byte_offset;
    return t.device.device_type == nb::device::cpu::value &&
           (expected == nullptr || matches(t, *expected));
  }

  static bool matches(const dltensor& t, const Expected& e) {
    if (static_cast<size_t>(t.ndim) != e.shape.size()) return false;
    for (size_t d = 0; d < e.shape.size(); ++d) {
      if (t.shape[d] != e.shape[d]) return false;
      if (t.shape[d] > 1 && t.strides != nullptr && t.strides[d] != e.strides[d]) return false;
    }
    return true;
  }

  nb::object make(const Result& r) const {
    const std::array<PyObject*, 3> args{r.shape.ptr(), r.strides.ptr(), r.dtype.ptr()};
    nb::object out = nb::steal(PyObject_Vectorcall(empty_.ptr(), args.data(), 2, names_.ptr()));
    if (!out) throw nb::python_error();
    return out;
  }

  nb::object owner_;
  Runner* runner_;
  nb::object empty_, names_;
  int (*borrow_)(void*, dltensor*) = nullptr;
  std::vector<Expected> inputs_;
  std::vector<Result> outputs_;
};

}  // namespace

void bind_tensor_call(nb::module_& m) {
  nb::class_<TensorCall>(m, "TensorCall")
      .def(nb::init<nb::object, nb::capsule, nb::object,
                    const std::vector<
                        std::pair<size_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>>>&,
                    Outputs>(),
           nb::arg("runner"), nb::arg("table"), nb::arg("empty_strided"), nb::arg("inputs"),
           nb::arg("outputs"))
      .def("__call__", &TensorCall::operator(), nb::arg("args"));
}

}  // namespace ostinato::python
