// Programs on devices. Part of ostinato.hpp.
#ifndef OSTINATO_APP_INSTANCE_HPP_
#define OSTINATO_APP_INSTANCE_HPP_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

namespace ostinato {

class Buffer {
 public:
  Buffer(const Context& context, const std::string& device, uint64_t bytes) {
    ost_buffer_t* buffer = nullptr;
    call(ost_buffer_create, context.get(), device.c_str(), bytes, &buffer);
    handle_ = SharedHandle<ost_buffer_t, ost_buffer_retain, ost_buffer_release>(buffer);
  }
  explicit Buffer(ost_buffer_t* handle) : handle_(handle) {}  // takes over the caller's reference
  // Memory of the caller's, without a copy; `release` may be empty, else it is called when nothing
  // uses the memory any more, from any thread.
  static Buffer import(const Context& context, const std::string& device, void* data,
                       uint64_t bytes, std::function<void()> release = {}) {
    ost_buffer_t* buffer = nullptr;
    if (!release) {
      call(ost_buffer_import, context.get(), device.c_str(), data, bytes, &buffer);
      return Buffer(buffer);
    }
    auto owner = std::make_unique<std::function<void()>>(std::move(release));
    const auto give_back = [](void* user) {
      const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(user));
      (*mine)();
    };
    call(ost_buffer_import_owned, context.get(), device.c_str(), data, bytes, +give_back,
         static_cast<void*>(owner.get()), &buffer);
    owner.release();
    return Buffer(buffer);
  }
  ost_buffer_t* get() const { return handle_.get(); }
  // Where the host can see it; Error(OST_UNIMPLEMENTED) where it cannot.
  void* map() const {
    void* data = nullptr;
    call(ost_buffer_map, get(), &data);
    return data;
  }
  uint64_t bytes() const { return ost_buffer_bytes(get()); }
  void write(const void* data, uint64_t bytes, uint64_t offset = 0) {
    call(ost_buffer_write, get(), offset, data, bytes);
  }
  void read(void* data, uint64_t bytes, uint64_t offset = 0) const {
    call(ost_buffer_read, get(), offset, data, bytes);
  }

 private:
  SharedHandle<ost_buffer_t, ost_buffer_retain, ost_buffer_release> handle_;
};

// Arrays by the name of the input; they must outlive the call only.
struct Binding {
  std::string name;
  ost_array_t array;
};
using Bindings = std::vector<Binding>;

inline std::vector<ost_binding_t> to_c(const Bindings& bindings) {
  std::vector<ost_binding_t> out;
  for (const Binding& b : bindings) out.push_back({b.name.c_str(), b.array, nullptr, 0});
  return out;
}

inline std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& t : texts) out.push_back(t.c_str());
  return out;
}

class Instance {
 public:
  Instance(const Context& context, const Program& program, const std::vector<std::string>& devices)
      : program_(program) {
    const auto names = pointers(devices);
    ost_instance_t* instance = nullptr;
    call(ost_instance_create, context.get(), program.get(), names.data(), size32(names.size()),
         nullptr, &instance);
    handle_ = UniqueHandle<ost_instance_t, ost_instance_destroy>(instance);
  }
  ost_instance_t* get() const { return handle_.get(); }
  const Program& program() const { return program_; }

  void bind(const Bindings& inputs, const VarValues& vars = {}) { bind_c(to_c(inputs), vars); }
  // With buffers of the caller.
  void bind_c(const std::vector<ost_binding_t>& inputs, const VarValues& vars = {}) {
    const auto values = to_c(vars);
    call(ost_instance_bind, get(), inputs.data(), size32(inputs.size()), values.data(),
         size32(values.size()));
  }
  void run() { call(ost_instance_run, get()); }
  Array output(uint32_t index) const {
    const Type type = type_at(ost_instance_output_type, get(), index);
    std::vector<int64_t> shape;
    for (const Dim& d : type.dims) shape.push_back(d.value);
    Array out(type.dtype, std::move(shape));
    call(ost_instance_read_output, get(), index, out.bytes.data(), out.bytes.size());
    return out;
  }
  int64_t var(const std::string& name) const {
    int64_t value = 0;
    call(ost_instance_var, get(), name.c_str(), &value);
    return value;
  }
  ost_run_stats_t stats() const {
    auto stats = sized<ost_run_stats_t>();
    call(ost_instance_stats, get(), &stats);
    return stats;
  }
  // Frees the arenas until the next run; bytes that were freed.
  uint64_t free_intermediates() {
    uint64_t bytes = 0;
    call(ost_instance_free_intermediates, get(), &bytes);
    return bytes;
  }
  void profile(bool on) { call(ost_instance_profile, get(), on ? 1u : 0u); }
  std::vector<ost_kernel_time_t> times() const {
    std::vector<ost_kernel_time_t> out(ost_instance_time_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) call(ost_instance_time_at, get(), i, &out[i]);
    return out;
  }

 private:
  Program program_;
  UniqueHandle<ost_instance_t, ost_instance_destroy> handle_;
};

inline ost_difference_t verify(const Context& context, const Program& program,
                               const std::vector<std::string>& a, const std::vector<std::string>& b,
                               const Bindings& inputs, const VarValues& vars = {}) {
  const auto names_a = pointers(a), names_b = pointers(b);
  const auto bindings = to_c(inputs);
  const auto values = to_c(vars);
  auto difference = sized<ost_difference_t>();
  call(ost_verify, context.get(), program.get(), names_a.data(), size32(names_a.size()),
       names_b.data(), size32(names_b.size()), bindings.data(), size32(bindings.size()),
       values.data(), size32(values.size()), &difference);
  return difference;
}

}  // namespace ostinato

#endif  // OSTINATO_APP_INSTANCE_HPP_
