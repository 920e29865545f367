// Captured functions. The body is called under the session's lock, with the interpreter's lock
// taken again; an exception of the body comes out of the call as it went in.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tensor.hpp"

namespace ostinato::python {
namespace {

using ScalarOf = std::tuple<std::string, std::string, uint64_t>;   // name, dtype, bits
using VarOf = std::tuple<std::string, int64_t, int64_t, int64_t>;  // name, min, max, value
constexpr uint32_t kMaxResults = 4096;

class PyJit {
 public:
  PyJit(const Session& session, uint32_t outputs, bool disabled, bool prune, uint32_t programs,
        const std::vector<uint32_t>& donated) {
    auto c = sized<ost_jit_options_t>();
    c.outputs = outputs;
    c.disabled = disabled ? 1 : 0;
    c.no_prune = prune ? 0 : 1;
    c.programs = programs;
    c.donated = donated.empty() ? nullptr : donated.data();
    c.donated_count = size32(donated.size());
    ost_jit_t* jit = nullptr;
    ostinato::call(ost_jit_create, session.get(), &PyJit::trampoline, this, &c, &jit);
    handle_ = UniqueHandle<ost_jit_t, ost_jit_destroy>(jit);
  }
  ost_jit_t* get() const { return handle_.get(); }

  // `body` takes the list of inputs and returns the list of results; it is used in this call only.
  nb::typed<nb::list, PyTensor> call(
      nb::typed<nb::callable, nb::typed<nb::list, PyTensor>(nb::typed<nb::list, PyTensor>)> body,
      const std::vector<const PyTensor*>& inputs, const std::vector<std::string>& names,
      const std::vector<ScalarOf>& scalars, const std::vector<VarOf>& vars) {
    std::vector<ost_tensor_t*> in, out(kMaxResults);
    std::vector<const char*> in_names;
    std::vector<ost_scalar_t> in_scalars;
    std::vector<ost_jit_var_t> in_vars;
    for (const PyTensor* t : inputs) in.push_back(t->tensor.get());
    for (const std::string& n : names) in_names.push_back(n.empty() ? nullptr : n.c_str());
    for (const auto& [name, dtype, bits] : scalars)
      in_scalars.push_back({name.c_str(), to_dtype(dtype), 0, bits});
    for (const auto& [name, min, max, value] : vars)
      in_vars.push_back({{name.c_str(), min, max}, value});
    auto c = sized<ost_jit_call_t>();
    c.inputs = in.data();
    c.input_count = size32(in.size());
    c.names = names.empty() ? nullptr : in_names.data();
    c.scalars = in_scalars.data();
    c.scalar_count = size32(in_scalars.size());
    c.vars = in_vars.data();
    c.var_count = size32(in_vars.size());

    Body mine{std::move(body), {}};
    Body* before = std::exchange(body_, &mine);
    uint32_t count = 0;
    try {
      const Released released;
      ostinato::call(ost_jit_call_with, get(), &c, out.data(), kMaxResults, &count);
    } catch (const Error&) {
      body_ = before;
      if (mine.raised) std::rethrow_exception(mine.raised);
      throw;
    }
    body_ = before;
    nb::list results;
    for (uint32_t i = 0; i < count; ++i) results.append(wrap(Tensor(out[i])));
    return results;
  }

 private:
  struct Body {
    nb::callable function;
    std::exception_ptr raised;
  };

  static ost_status_t trampoline(void* user, ost_tensor_t* const* inputs, uint32_t count,
                                 ost_jit_outputs_t* outputs, ost_error_t* error) {
    Body& body = *static_cast<PyJit*>(user)->body_;
    return guarded(error, [&] {
      const nb::gil_scoped_acquire lock;
      try {
        nb::list in;
        for (uint32_t i = 0; i < count; ++i) in.append(wrap(Tensor::share(inputs[i])));
        for (const nb::handle t : nb::iter(body.function(in)))
          ostinato::call(ost_jit_outputs_add, outputs, nb::cast<PyTensor&>(t).tensor.get());
      } catch (...) {
        body.raised = std::current_exception();
        throw Error(OST_INTERNAL, "the function raised an exception");
      }
    });
  }

  Body* body_ = nullptr;  // of the call that is going on; its thread has the session
  UniqueHandle<ost_jit_t, ost_jit_destroy> handle_;
};

Record stats(const PyJit& j) {
  auto s = sized<ost_run_stats_t>();
  call(ost_jit_stats, j.get(), &s);
  nb::dict out;
  out["launches"] = s.launches;
  out["copies"] = s.copies;
  out["allocations"] = s.allocations;
  out["compiles"] = s.compiles;
  out["wall_ns"] = s.wall_ns;
  out["arena_bytes"] = s.arena_bytes;
  out["constant_bytes"] = s.constant_bytes;
  out["state_bytes"] = s.state_bytes;
  return out;
}

}  // namespace

void bind_jit(nb::module_& m) {
  m.attr("JIT_REUSE") = static_cast<uint32_t>(OST_JIT_REUSE);
  m.attr("JIT_FRESH") = static_cast<uint32_t>(OST_JIT_FRESH);
  m.attr("JIT_DONATE") = static_cast<uint32_t>(OST_JIT_DONATE);
  nb::class_<PyJit>(m, "Jit")
      .def(nb::init<const Session&, uint32_t, bool, bool, uint32_t, const std::vector<uint32_t>&>(),
           nb::arg("session"), nb::arg("outputs"), nb::arg("disabled"), nb::arg("prune"),
           nb::arg("programs"), nb::arg("donated"), nb::keep_alive<1, 2>())
      .def("call", &PyJit::call, nb::arg("body"), nb::arg("inputs"), nb::arg("names"),
           nb::arg("scalars"), nb::arg("vars"))
      .def("captured",
           [](const PyJit& j) {
             const Released released;
             return ost_jit_captured(j.get()) != 0;
           })
      .def("reset",
           [](PyJit& j) {
             const Released released;
             ost_jit_reset(j.get());
           })
      .def("free_intermediates",
           [](PyJit& j) {
             uint64_t bytes = 0;
             const Released released;
             call(ost_jit_free_intermediates, j.get(), &bytes);
             return bytes;
           })
      .def("program",
           [](const PyJit& j) {
             ost_program_t* program = nullptr;
             const Released released;
             call(ost_jit_program, j.get(), &program);
             return Program(program);
           })
      .def("stats", &stats);
}

}  // namespace ostinato::python
