// Sessions, lazy tensors, capture of functions. Part of ostinato.hpp.
#ifndef OSTINATO_APP_TENSOR_HPP_
#define OSTINATO_APP_TENSOR_HPP_

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph.hpp"
#include "instance.hpp"

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
  // Its storage, shared, and where in it the tensor starts. Realizes.
  std::pair<Buffer, uint64_t> buffer() const {
    ost_buffer_t* buffer = nullptr;
    uint64_t offset = 0;
    call(ost_tensor_buffer, get(), &buffer, &offset);
    return {Buffer(buffer), offset};
  }
  Tensor to(const std::string& device) const {
    ost_tensor_t* out = nullptr;
    call(ost_tensor_to, get(), device.c_str(), &out);
    return Tensor(out);
  }
  explicit operator bool() const { return get() != nullptr; }
  void assign(const Tensor& value) { call(ost_tensor_assign, get(), value.get(), nullptr, 0u); }
  void assign(const Tensor& value, const Dims& starts) {
    const auto c = to_c(starts);
    call(ost_tensor_assign, get(), value.get(), c.data(), size32(c.size()));
  }
  void freeze() { call(ost_tensor_freeze, get()); }
  void realize() const {
    ost_tensor_t* self = get();
    call(ost_tensor_realize, &self, 1u);
  }

 private:
  SharedHandle<ost_tensor_t, ost_tensor_retain, ost_tensor_release> handle_;
};

// The body of a callback: exceptions become errors.
template <typename Body>
ost_status_t guarded(ost_error_t* error, Body&& body) noexcept {
  const auto fill = [&](ost_status_t status, const char* message) {
    if (error != nullptr && error->size >= sizeof(ost_error_t)) {
      error->status = status;
      std::strncpy(error->message, message, sizeof error->message - 1);
      error->message[sizeof error->message - 1] = '\0';
    }
    return status;
  };
  try {
    body();
    return OST_OK;
  } catch (const Error& e) {
    return fill(e.status(), e.what());
  } catch (const std::exception& e) {
    return fill(OST_INTERNAL, e.what());
  } catch (...) {
    return fill(OST_INTERNAL, "an exception of an unknown type");
  }
}

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
  // Storage that exists already, shared.
  Tensor tensor(const Buffer& buffer, uint64_t offset, ost_dtype_t dtype, const Dims& shape) {
    const auto c = to_c(shape);
    ost_tensor_t* out = nullptr;
    call(ost_tensor_from_buffer, get(), buffer.get(), offset, dtype, c.data(), size32(c.size()),
         &out);
    return Tensor(out);
  }
  // "bits", "uniform", "normal".
  Tensor random(const std::string& kind, const Dims& shape, const std::string& device = "auto") {
    const auto c = to_c(shape);
    ost_tensor_t* out = nullptr;
    call(ost_tensor_random, get(), kind.c_str(), c.data(), size32(c.size()), device.c_str(), &out);
    return Tensor(out);
  }
  void seed(uint64_t seed) { call(ost_session_seed, get(), seed); }
  // Runs `body` outside of the capture that is going on, if one is.
  void uncaptured(const std::function<void()>& body) {
    call(ost_session_uncaptured, get(), &Session::trampoline,
         const_cast<void*>(static_cast<const void*>(&body)));
  }
  ost_session_stats_t stats() const {
    auto stats = sized<ost_session_stats_t>();
    call(ost_session_stats, get(), &stats);
    return stats;
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
  static ost_status_t trampoline(void* user, ost_error_t* error) {
    return guarded(error, [&] { (*static_cast<const std::function<void()>*>(user))(); });
  }
  UniqueHandle<ost_session_t, ost_session_destroy> handle_;
};

// A host value that a capture freezes: scalar("eps", 1e-5f).
struct Scalar {
  std::string name;
  ost_dtype_t dtype = OST_DTYPE_F32;
  uint64_t bits = 0;
  template <typename T>
  T as() const {
    if (dtype != dtype_of<T>())
      throw Error(OST_INVALID_ARGUMENT, "scalar '" + name + "' is " + ost_dtype_text(dtype));
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};
template <typename T>
Scalar scalar(std::string name, T value) {
  Scalar out{std::move(name), dtype_of<T>(), 0};
  std::memcpy(&out.bits, &value, sizeof value);
  return out;
}

// A variable and its value for one call: var("n", 1, 64, 7).
struct BoundVar {
  std::string name;
  int64_t min = 0, max = 0, value = 0;
};
inline BoundVar var(std::string name, int64_t min, int64_t max, int64_t value) {
  return {std::move(name), min, max, value};
}

// What a call passes, by position or by name. A list or a map gives one input for each element,
// named "name.0" or "name.key", so that containers of tensors are inputs too.
class Arguments {
 public:
  Arguments& add(const Tensor& tensor) { return put("", tensor); }
  Arguments& add(const std::string& name, const Tensor& tensor) { return put(name, tensor); }
  Arguments& add(const std::string& name, const std::vector<Tensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) put(name + "." + std::to_string(i), tensors[i]);
    return *this;
  }
  Arguments& add(const std::string& name, const std::map<std::string, Tensor>& tensors) {
    for (const auto& [key, tensor] : tensors) put(name + "." + key, tensor);
    return *this;
  }
  Arguments& add(Scalar scalar) {
    scalars.push_back(std::move(scalar));
    return *this;
  }
  Arguments& add(BoundVar var) {
    vars.push_back(std::move(var));
    return *this;
  }
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  std::vector<Scalar> scalars;
  std::vector<BoundVar> vars;

 private:
  Arguments& put(std::string name, const Tensor& tensor) {
    names.push_back(std::move(name));
    inputs.push_back(tensor);
    return *this;
  }
};

struct JitOptions {
  uint32_t outputs = OST_JIT_REUSE;
  bool disabled = false;
  bool prune = true;
  uint32_t programs = 1;
  std::vector<std::string> parameters;
  std::vector<uint32_t> donated;
};

// A captured function. An exception of the function becomes the error of call(). A function of the
// inputs alone, or of the inputs and the call's scalars.
class Jit {
 public:
  // The scalars of the call that is going on; valid within the function.
  class Scalars {
   public:
    explicit Scalars(const ost_jit_outputs_t* outputs) : outputs_(outputs) {}
    template <typename T>
    T get(const std::string& name) const {
      ost_scalar_t s{};
      call(ost_jit_outputs_scalar, outputs_, name.c_str(), &s);
      return Scalar{s.name, s.dtype, s.bits}.as<T>();
    }

   private:
    const ost_jit_outputs_t* outputs_;
  };
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  using FunctionOfScalars =
      std::function<std::vector<Tensor>(const std::vector<Tensor>&, const Scalars&)>;

  Jit(const Session& session, FunctionOfScalars function, const JitOptions& options = {})
      : function_(std::make_unique<FunctionOfScalars>(std::move(function))) {
    const auto names = pointers(options.parameters);
    auto c = sized<ost_jit_options_t>();
    c.outputs = options.outputs;
    c.disabled = options.disabled ? 1 : 0;
    c.no_prune = options.prune ? 0 : 1;
    c.programs = options.programs;
    c.parameters = names.empty() ? nullptr : names.data();
    c.parameter_count = size32(names.size());
    c.donated = options.donated.empty() ? nullptr : options.donated.data();
    c.donated_count = size32(options.donated.size());
    ost_jit_t* jit = nullptr;
    call(ost_jit_create, session.get(), &Jit::trampoline, function_.get(), &c, &jit);
    handle_ = UniqueHandle<ost_jit_t, ost_jit_destroy>(jit);
  }
  Jit(const Session& session, Function function, const JitOptions& options = {})
      : Jit(session,
            FunctionOfScalars(
                [function = std::move(function)](const std::vector<Tensor>& in, const Scalars&) {
                  return function(in);
                }),
            options) {}
  Jit(const Session& session, Function function, uint32_t outputs)
      : Jit(session, std::move(function), with_outputs(outputs)) {}
  ost_jit_t* get() const { return handle_.get(); }

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs,
                                 const std::vector<ost_jit_var_t>& vars = {}) {
    std::vector<ost_tensor_t*> in, out(kMaxResults);
    for (const Tensor& t : inputs) in.push_back(t.get());
    uint32_t count = 0;
    call(ost_jit_call, get(), in.data(), size32(in.size()), vars.data(), size32(vars.size()),
         out.data(), kMaxResults, &count);
    return take(out, count);
  }
  // A template, so that jit({}) means no inputs.
  template <typename A, typename = std::enable_if_t<std::is_same_v<A, Arguments>>>
  std::vector<Tensor> operator()(const A& arguments) {
    std::vector<ost_tensor_t*> in, out(kMaxResults);
    std::vector<const char*> names;
    std::vector<ost_scalar_t> scalars;
    std::vector<ost_jit_var_t> vars;
    for (const Tensor& t : arguments.inputs) in.push_back(t.get());
    for (const std::string& n : arguments.names) names.push_back(n.empty() ? nullptr : n.c_str());
    for (const Scalar& s : arguments.scalars)
      scalars.push_back({s.name.c_str(), s.dtype, 0, s.bits});
    for (const BoundVar& v : arguments.vars)
      vars.push_back({{v.name.c_str(), v.min, v.max}, v.value});
    auto c = sized<ost_jit_call_t>();
    c.inputs = in.data();
    c.input_count = size32(in.size());
    c.names = names.data();
    c.scalars = scalars.data();
    c.scalar_count = size32(scalars.size());
    c.vars = vars.data();
    c.var_count = size32(vars.size());
    uint32_t count = 0;
    call(ost_jit_call_with, get(), &c, out.data(), kMaxResults, &count);
    return take(out, count);
  }
  bool captured() const { return ost_jit_captured(get()) != 0; }
  void reset() { ost_jit_reset(get()); }
  // Bytes that were freed.
  uint64_t free_intermediates() {
    uint64_t bytes = 0;
    call(ost_jit_free_intermediates, get(), &bytes);
    return bytes;
  }
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

  static JitOptions with_outputs(uint32_t outputs) {
    JitOptions options;
    options.outputs = outputs;
    return options;
  }
  static std::vector<Tensor> take(const std::vector<ost_tensor_t*>& out, uint32_t count) {
    std::vector<Tensor> results;
    for (uint32_t i = 0; i < count; ++i) results.emplace_back(out[i]);
    return results;
  }
  static ost_status_t trampoline(void* user, ost_tensor_t* const* inputs, uint32_t count,
                                 ost_jit_outputs_t* outputs, ost_error_t* error) {
    return guarded(error, [&] {
      std::vector<Tensor> in;
      for (uint32_t i = 0; i < count; ++i) in.push_back(Tensor::share(inputs[i]));
      for (const Tensor& t : (*static_cast<FunctionOfScalars*>(user))(in, Scalars(outputs)))
        call(ost_jit_outputs_add, outputs, t.get());
    });
  }

  std::unique_ptr<FunctionOfScalars> function_;
  UniqueHandle<ost_jit_t, ost_jit_destroy> handle_;
};

}  // namespace ostinato

#endif  // OSTINATO_APP_TENSOR_HPP_
