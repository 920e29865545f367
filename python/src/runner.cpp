#include "runner.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace ostinato::python {
namespace {

constexpr uintptr_t kAlign = 64;  // what an import needs

void check_count(size_t given, size_t wanted, const char* what) {
  if (given == wanted) return;
  throw Error(OST_INVALID_ARGUMENT, std::to_string(given) + " " + what +
                                        " were given, the program has " + std::to_string(wanted));
}

}  // namespace

Runner::Runner(const Context& context, const Program& program, const std::string& device,
               const std::vector<uint32_t>& copied)
    : context_(context), program_(program), instance_(context, program, {device}) {
  device_ = ost_instance_device(instance_.get(), 0);
  for (const Type& t : program.inputs()) inputs_.push_back(slot(t));
  for (const Type& t : program.outputs()) outputs_.push_back(slot(t));
  for (const uint32_t i : copied) outputs_.at(i).copied = true;
}

Runner::Slot Runner::slot(const Type& type) {
  Slot out{type, {}, nullptr};
  for (const Dim& d : type.dims) out.shape.push_back(d.value);
  return out;
}

uint64_t Runner::bytes_of(const Slot& s) {
  uint64_t n = ost_dtype_bytes(s.type.dtype);
  for (const int64_t d : s.shape) n *= static_cast<uint64_t>(d);
  return n;
}

void Runner::bind(std::span<const uintptr_t> pointers, const Shapes& shapes, const Vars& vars) {
  check_count(pointers.size(), inputs_.size(), "inputs");
  bool changed = !bound_ || vars != vars_;
  for (size_t i = 0; i < inputs_.size(); ++i) changed |= place(i, pointers[i], shapes);
  if (!changed) return;
  bound_ = false;
  vars_ = vars;
  rebind();
  // What is copied must be bound in each call; what is shared is seen as it changes.
  bound_ = true;
  for (const Slot& s : inputs_) bound_ = bound_ && s.buffer;
  sizes_known_ = false;
}

// True if the binding must be made anew.
bool Runner::place(size_t i, uintptr_t pointer, const Shapes& shapes) {
  Slot& s = inputs_[i];
  bool changed = s.pointer != pointer;
  if (i < shapes.size() && !shapes[i].empty() && shapes[i] != s.shape) {
    s.shape = shapes[i];
    changed = true;
  }
  if (!changed && s.buffer) return false;
  s.pointer = pointer;
  s.buffer = share(pointer, bytes_of(s));
  return true;
}

void Runner::rebind() {
  std::vector<ost_var_value_t> values;
  for (const auto& [name, value] : vars_) values.push_back({name.c_str(), value});
  std::vector<ost_binding_t> bindings;
  for (const Slot& s : inputs_) {
    const bool shared = static_cast<bool>(s.buffer);
    bindings.push_back({nullptr,
                        {s.type.dtype, size32(s.shape.size()), s.shape.data(),
                         shared ? nullptr : reinterpret_cast<const void*>(s.pointer)},
                        shared ? s.buffer->get() : nullptr,
                        0});
  }
  call(ost_instance_bind, instance_.get(), bindings.data(), size32(bindings.size()), values.data(),
       size32(values.size()));
  for (Slot& s : outputs_) {  // a bind takes back the outputs' memory
    s.pointer = 0;
    s.buffer = nullptr;
  }
}

Runner::Shapes Runner::output_shapes() {
  if (!sizes_known_) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Type t = type_at(ost_instance_output_type, instance_.get(), size32(i));
      outputs_[i].shape.clear();
      for (const Dim& d : t.dims) outputs_[i].shape.push_back(d.value);
    }
    sizes_known_ = true;
  }
  Shapes out;
  for (const Slot& s : outputs_) out.push_back(s.shape);
  return out;
}

void Runner::run(std::span<const uintptr_t> pointers) {
  check_count(pointers.size(), outputs_.size(), "outputs");
  if (!sizes_known_) output_shapes();
  given_.assign(pointers.begin(), pointers.end());
  for (size_t i = 0; i < outputs_.size(); ++i) give(i, pointers[i]);
  instance_.run();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Slot& s = outputs_[i];
    if (s.buffer || bytes_of(s) == 0) continue;
    call(ost_instance_read_output, instance_.get(), size32(i), reinterpret_cast<void*>(pointers[i]),
         bytes_of(s));
  }
}

void Runner::call_fixed(std::span<const uintptr_t> inputs, std::span<const uintptr_t> outputs) {
  static const Shapes kNoShapes;
  static const Vars kNoVars;
  const std::scoped_lock lock(mutex_);
  bind(inputs, kNoShapes, kNoVars);
  run(outputs);
}

// An output's memory; where the program cannot write to it, the result is copied there.
void Runner::give(size_t i, uintptr_t pointer) {
  Slot& s = outputs_[i];
  if (s.copied || (s.pointer == pointer && s.buffer)) return;
  std::shared_ptr<Buffer> buffer = share(pointer, bytes_of(s));
  if (!buffer && s.buffer) {
    rebind();  // else the program would still write to the last call's memory
    for (size_t k = 0; k < i; ++k) give(k, given_[k]);
  }
  s.buffer = std::move(buffer);
  s.pointer = pointer;
  if (!s.buffer) return;
  call(ost_instance_bind_output, instance_.get(), size32(i), s.buffer->get(), uint64_t{0});
}

// Null where the memory must be copied.
std::shared_ptr<Buffer> Runner::share(uintptr_t pointer, uint64_t bytes) {
  if (!can_share_ || bytes == 0 || pointer == 0 || pointer % kAlign != 0) return nullptr;
  try {
    return std::make_shared<Buffer>(
        Buffer::import(context_, device_, reinterpret_cast<void*>(pointer), bytes));
  } catch (const Error& e) {
    if (e.status() != OST_UNIMPLEMENTED && e.status() != OST_INVALID_ARGUMENT) throw;
    if (e.status() == OST_UNIMPLEMENTED) can_share_ = false;
    return nullptr;
  }
}

void bind_runner(nb::module_& m) {
  nb::class_<Runner>(m, "Runner")
      .def(
          "__init__",
          [](Runner* self, const Context& c, const Program& p, const std::string& device,
             const std::vector<uint32_t>& copied) {
            const Released released;
            new (self) Runner(c, p, device, copied);
          },
          nb::arg("context"), nb::arg("program"), nb::arg("device"), nb::arg("copied"),
          nb::keep_alive<1, 2>())
      .def(
          "bind",
          [](Runner& r, const std::vector<uintptr_t>& pointers, const Runner::Shapes& shapes,
             const Runner::Vars& vars) {
            const Released released;
            r.bind(pointers, shapes, vars);
          },
          nb::arg("pointers"), nb::arg("shapes"), nb::arg("vars"))
      .def("output_shapes", &Runner::output_shapes)
      .def(
          "run",
          [](Runner& r, const std::vector<uintptr_t>& pointers) {
            const Released released;
            r.run(pointers);
          },
          nb::arg("pointers"))
      .def(
          "call_fixed",
          [](Runner& r, const std::vector<uintptr_t>& inputs,
             const std::vector<uintptr_t>& outputs) {
            const Released released;
            r.call_fixed(inputs, outputs);
          },
          nb::arg("inputs"), nb::arg("outputs"))
      .def("device", &Runner::device)
      .def("stats", [](const Runner& r) {
        const auto s = r.stats();
        nb::dict out;
        out["launches"] = s.launches;
        out["allocations"] = s.allocations;
        out["compiles"] = s.compiles;
        out["build_compiles"] = s.build_compiles;
        out["build_cache_hits"] = s.build_cache_hits;
        out["arena_bytes"] = s.arena_bytes;
        return Record(out);
      });
}

}  // namespace ostinato::python
