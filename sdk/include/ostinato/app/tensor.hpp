// Sessions, lazy tensors, capture of functions. Part of ostinato.hpp.
#ifndef OSTINATO_APP_TENSOR_HPP_
#define OSTINATO_APP_TENSOR_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph.hpp"

namespace ostinato {

class Tensor {
 public:
  explicit Tensor(ost_tensor_t* handle = nullptr)
      : handle_(handle) {}  // takes over the caller's reference
  static Tensor share(ost_tensor_t* handle) {
    ost_tensor_retain(handle);
    return Tensor(handle);
  }
  ost_tensor_t* get() const { return handle_.get(); }
  Type type() const {
    auto desc = sized<ost_type_desc_t>();
    call(ost_tensor_type, get(), &desc);
    return Type(desc);
  }
  std::string device() const { return ost_tensor_device(get()); }
  bool is_realized() const { return ost_tensor_is_realized(get()) != 0; }
  Array read() const {
    const Type t = type();
    std::vector<int64_t> shape;
    for (const Dim& d : t.dims) shape.push_back(d.value);
    Array out(t.dtype, std::move(shape));
    call(ost_tensor_read, get(), out.bytes.data(), out.bytes.size());
    return out;
  }
  Tensor to(const std::string& device) const {
    ost_tensor_t* out = nullptr;
    call(ost_tensor_to, get(), device.c_str(), &out);
    return Tensor(out);
  }
  void assign(const Tensor& value) { call(ost_tensor_assign, get(), value.get(), nullptr, 0u); }
  void realize() const {
    ost_tensor_t* self = get();
    call(ost_tensor_realize, &self, 1u);
  }

 private:
  SharedHandle<ost_tensor_t, ost_tensor_retain, ost_tensor_release> handle_;
};

class Session {
 public:
  explicit Session(const Context& context,
                   ost_compile_options_t options = sized<ost_compile_options_t>()) {
    ost_session_t* session = nullptr;
    call(ost_session_create, context.get(), &options, &session);
    handle_ = UniqueHandle<ost_session_t, ost_session_destroy>(session);
  }
  ost_session_t* get() const { return handle_.get(); }

  void bind(const std::string& name, int64_t min, int64_t max, int64_t value) {
    const ost_var_t var{name.c_str(), min, max};
    call(ost_session_bind, get(), &var, value);
  }
  Tensor tensor(const Array& data, const std::string& device, const Dims& shape = {}) {
    const ost_array_t view = data.view();
    const auto c = to_c(shape);
    ost_tensor_t* out = nullptr;
    call(ost_tensor_from_array, get(), device.c_str(), &view, shape.empty() ? nullptr : c.data(),
         &out);
    return Tensor(out);
  }
  Tensor op(const std::string& name, const std::vector<Tensor>& inputs, const Attrs& attrs = {},
            const std::string& device = "auto") {
    const AttrList list(attrs);
    std::vector<ost_tensor_t*> handles;
    for (const Tensor& t : inputs) handles.push_back(t.get());
    ost_tensor_t* out = nullptr;
    call(ost_tensor_op, get(), name.c_str(), handles.data(), size32(handles.size()), list.data(),
         list.size(), device.c_str(), &out);
    return Tensor(out);
  }

 private:
  UniqueHandle<ost_session_t, ost_session_destroy> handle_;
};

// A captured function. An exception of the function becomes the error of call().
class Jit {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  Jit(const Session& session, Function function, uint32_t outputs = OST_JIT_REUSE)
      : function_(std::make_unique<Function>(std::move(function))) {
    auto options = sized<ost_jit_options_t>();
    options.outputs = outputs;
    ost_jit_t* jit = nullptr;
    call(ost_jit_create, session.get(), &Jit::trampoline, function_.get(), &options, &jit);
    handle_ = UniqueHandle<ost_jit_t, ost_jit_destroy>(jit);
  }
  ost_jit_t* get() const { return handle_.get(); }

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs,
                                 const std::vector<ost_jit_var_t>& vars = {}) {
    std::vector<ost_tensor_t*> in, out(kMaxResults);
    for (const Tensor& t : inputs) in.push_back(t.get());
    uint32_t count = 0;
    call(ost_jit_call, get(), in.data(), size32(in.size()), vars.data(), size32(vars.size()),
         out.data(), kMaxResults, &count);
    std::vector<Tensor> results;
    for (uint32_t i = 0; i < count; ++i) results.emplace_back(out[i]);
    return results;
  }
  bool captured() const { return ost_jit_captured(get()) != 0; }
  void reset() { ost_jit_reset(get()); }
  Program program() const {
    ost_program_t* program = nullptr;
    call(ost_jit_program, get(), &program);
    return Program(program);
  }
  ost_run_stats_t stats() const {
    auto stats = sized<ost_run_stats_t>();
    call(ost_jit_stats, get(), &stats);
    return stats;
  }

 private:
  static constexpr uint32_t kMaxResults = 1024;

  static ost_status_t fill(ost_error_t* error, ost_status_t status, const char* message) {
    if (error != nullptr && error->size >= sizeof(ost_error_t)) {
      error->status = status;
      std::strncpy(error->message, message, sizeof error->message - 1);
      error->message[sizeof error->message - 1] = '\0';
    }
    return status;
  }
  static ost_status_t trampoline(void* user, ost_tensor_t* const* inputs, uint32_t count,
                                 ost_jit_outputs_t* outputs, ost_error_t* error) {
    try {
      std::vector<Tensor> in;
      for (uint32_t i = 0; i < count; ++i) in.push_back(Tensor::share(inputs[i]));
      for (const Tensor& t : (*static_cast<Function*>(user))(in)) {
        if (const ost_status_t status = ost_jit_outputs_add(outputs, t.get(), error)) return status;
      }
      return OST_OK;
    } catch (const Error& e) {
      return fill(error, e.status(), e.what());
    } catch (const std::exception& e) {
      return fill(error, OST_INTERNAL, e.what());
    } catch (...) {
      return fill(error, OST_INTERNAL, "an exception of an unknown type");
    }
  }

  std::unique_ptr<Function> function_;
  UniqueHandle<ost_jit_t, ost_jit_destroy> handle_;
};

}  // namespace ostinato

#endif  // OSTINATO_APP_TENSOR_HPP_
