// A program on one device, bound to memory by address: what torch's tensors are called with. Where
// the device shares the host's memory nothing is copied.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "convert.hpp"

namespace ostinato::python {
namespace {

constexpr uintptr_t kAlign = 64;  // what an import needs

class Runner {
 public:
  Runner(const Context& context, const Program& program, const std::string& device)
      : context_(context), program_(program), instance_(context, program, {device}) {
    device_ = ost_instance_device(instance_.get(), 0);
    for (const Type& t : program.inputs()) inputs_.push_back({t, fixed(t), {}, 0, 0});
    for (const Type& t : program.outputs()) outputs_.push_back({t, fixed(t), {}, 0, 0});
  }

  // Shapes of the inputs whose sizes are not all numbers, by position (empty for the others).
  void bind(const std::vector<uintptr_t>& pointers,
            const std::vector<std::vector<int64_t>>& shapes) {
    if (pointers.size() != inputs_.size()) {
      throw Error(OST_INVALID_ARGUMENT, std::to_string(pointers.size()) +
                                            " inputs were given, the program has " +
                                            std::to_string(inputs_.size()));
    }
    const Released released;
    bool changed = !bound_;
    for (size_t i = 0; i < inputs_.size(); ++i)
      changed |= place(inputs_[i], pointers[i], shapes, i);
    if (!changed) return;
    bound_ = false;
    std::vector<ost_binding_t> bindings;
    for (const Slot& s : inputs_) {
      const bool shared = static_cast<bool>(s.buffer);
      bindings.push_back({nullptr,
                          {s.type.dtype, size32(s.shape.size()), s.shape.data(),
                           shared ? nullptr : reinterpret_cast<const void*>(s.pointer)},
                          shared ? s.buffer->get() : nullptr,
                          0});
    }
    call(ost_instance_bind, instance_.get(), bindings.data(), size32(bindings.size()), nullptr, 0u);
    // What is copied must be bound in each call; what is shared is seen as it changes.
    bound_ = true;
    for (const Slot& s : inputs_) bound_ = bound_ && s.buffer;
    for (Slot& s : outputs_) s.pointer = 0;  // a bind takes back the outputs' memory
    sizes_known_ = false;
  }

  std::vector<std::vector<int64_t>> output_shapes() {
    if (!sizes_known_) {
      for (size_t i = 0; i < outputs_.size(); ++i) {
        const Type t = type_at(ost_instance_output_type, instance_.get(), size32(i));
        outputs_[i].shape.clear();
        for (const Dim& d : t.dims) outputs_[i].shape.push_back(d.value);
      }
      sizes_known_ = true;
    }
    std::vector<std::vector<int64_t>> out;
    for (const Slot& s : outputs_) out.push_back(s.shape);
    return out;
  }

  // Runs what is bound; the results go to memory of the caller's, of the sizes of output_shapes().
  void run(const std::vector<uintptr_t>& pointers) {
    if (pointers.size() != outputs_.size()) {
      throw Error(OST_INVALID_ARGUMENT, std::to_string(pointers.size()) +
                                            " outputs were given, the program has " +
                                            std::to_string(outputs_.size()));
    }
    const Released released;
    if (!sizes_known_) output_shapes();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Slot& s = outputs_[i];
      if (s.pointer == pointers[i] && s.buffer) continue;
      s.pointer = pointers[i];
      s.buffer = share(s.pointer, bytes_of(s));
      if (s.buffer)
        call(ost_instance_bind_output, instance_.get(), size32(i), s.buffer->get(), uint64_t{0});
    }
    instance_.run();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Slot& s = outputs_[i];
      if (s.buffer || bytes_of(s) == 0) continue;
      call(ost_instance_read_output, instance_.get(), size32(i), reinterpret_cast<void*>(s.pointer),
           bytes_of(s));
    }
  }

  const std::string& device() const { return device_; }
  ost_run_stats_t stats() const { return instance_.stats(); }

 private:
  struct Slot {
    Type type;
    std::vector<int64_t> shape;  // of this call
    std::shared_ptr<Buffer> buffer;
    uintptr_t pointer = 0;
    uint64_t bytes = 0;  // of the buffer
  };

  static std::vector<int64_t> fixed(const Type& t) {
    std::vector<int64_t> out;
    for (const Dim& d : t.dims) out.push_back(d.value);
    return out;
  }
  static uint64_t bytes_of(const Slot& s) {
    uint64_t n = ost_dtype_bytes(s.type.dtype);
    for (const int64_t d : s.shape) n *= static_cast<uint64_t>(d);
    return n;
  }

  bool place(Slot& s, uintptr_t pointer, const std::vector<std::vector<int64_t>>& shapes,
             size_t i) {
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

  // Null where the memory must be copied.
  std::shared_ptr<Buffer> share(uintptr_t pointer, uint64_t bytes) {
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

  const Context& context_;  // kept alive by Python
  Program program_;
  Instance instance_;
  std::string device_;
  std::vector<Slot> inputs_, outputs_;
  bool bound_ = false, sizes_known_ = false, can_share_ = true;
};

}  // namespace

void bind_runner(nb::module_& m) {
  nb::class_<Runner>(m, "Runner")
      .def(
          "__init__",
          [](Runner* self, const Context& c, const Program& p, const std::string& device) {
            const Released released;
            new (self) Runner(c, p, device);
          },
          nb::arg("context"), nb::arg("program"), nb::arg("device"), nb::keep_alive<1, 2>())
      .def("bind", &Runner::bind, nb::arg("pointers"), nb::arg("shapes"))
      .def("output_shapes", &Runner::output_shapes)
      .def("run", &Runner::run, nb::arg("pointers"))
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
