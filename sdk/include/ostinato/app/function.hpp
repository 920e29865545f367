// Expressions as callables. Part of ostinato.hpp.
#ifndef OSTINATO_APP_FUNCTION_HPP_
#define OSTINATO_APP_FUNCTION_HPP_

#include <string>
#include <utility>
#include <vector>

#include "instance.hpp"

namespace ostinato {

// {"A", "64,64"}, {"x", "f16[n:1..64, 64]"}
using NamedTypes = std::vector<std::pair<std::string, std::string>>;

struct CompileOptions {
  std::string device = {};    // "": the context chooses
  int64_t memory_budget = 0;  // elements; 0: no limit
  uint64_t arena_limit = 0;   // bytes; 0: no limit
  uint32_t tile_size = 0;     // elements; 0: the device's compiler chooses
  bool fast = false;          // numerics
  bool fuse = true;
};

// A compiled expression. Copies are the same function; one call at a time.
class Function {
 public:
  explicit Function(ost_function_t* handle) : handle_(handle) {}  // takes over the reference
  ost_function_t* get() const { return handle_.get(); }

  // Every result, in order.
  std::vector<Array> operator()(const Bindings& inputs, const VarValues& vars = {}) const {
    const auto bound = to_c(inputs);
    const auto values = to_c(vars);
    call(ost_function_call, get(), bound.data(), size32(bound.size()), values.data(),
         size32(values.size()));
    std::vector<Array> out;
    for (uint32_t i = 0; i < program().describe().outputs; ++i) out.push_back(output(i));
    return out;
  }

  Program program() const {
    ost_program_t* program = nullptr;
    call(ost_function_program, get(), &program);
    return Program(program);
  }
  std::string device() const { return ost_function_device(get()); }
  std::vector<Group> groups() const { return program().groups(); }
  // Of each group, the loops that tile_size split: "100 as 4 x 32".
  std::vector<std::string> tiles() const {
    std::vector<std::string> out;
    for (const Group& g : groups()) out.push_back(g.tiles);
    return out;
  }
  std::string ir() const { return program().inspect(OST_FORMAT_KIR); }
  std::string source() const {
    return collect([&](const ost_sink_t* sink) { call(ost_function_source, get(), sink); });
  }
  std::string explain(uint32_t format = OST_FORMAT_TEXT) const { return program().explain(format); }
  std::string manifest() const { return program().inspect(OST_FORMAT_MANIFEST); }
  ost_run_stats_t stats() const {
    auto stats = sized<ost_run_stats_t>();
    call(ost_instance_stats, ost_function_instance(get()), &stats);
    return stats;
  }

 private:
  Array output(uint32_t index) const {
    ost_instance_t* instance = ost_function_instance(get());
    const Type type = type_at(ost_instance_output_type, instance, index);
    std::vector<int64_t> shape;
    for (const Dim& d : type.dims) shape.push_back(d.value);
    Array out(type.dtype, std::move(shape));
    call(ost_instance_read_output, instance, index, out.bytes.data(), out.bytes.size());
    return out;
  }

  SharedHandle<ost_function_t, ost_function_retain, ost_function_release> handle_;
};

// The function of a program of docs/dsl.md; the context returns the same one for the same request.
inline Function compile(const Context& context, const std::string& text, const NamedTypes& types,
                        const CompileOptions& options = {}) {
  std::vector<ost_named_type_t> named;
  for (const auto& [name, type] : types) named.push_back({name.c_str(), type.c_str()});
  auto how = sized<ost_compile_options_t>();
  how.numerics = options.fast ? OST_NUMERICS_FAST : OST_NUMERICS_STRICT;
  how.no_fuse = !options.fuse;
  how.memory_budget = options.memory_budget;
  how.arena_limit = options.arena_limit;
  how.tile_size = options.tile_size;
  ost_function_t* function = nullptr;
  call(ost_function_create, context.get(), text.c_str(), named.data(), size32(named.size()), &how,
       options.device.empty() ? nullptr : options.device.c_str(), &function);
  return Function(function);
}

// Compile and call in one: the types are those of the arrays.
inline std::vector<Array> evaluate(const Context& context, const std::string& text,
                                   const Bindings& inputs, const CompileOptions& options = {}) {
  NamedTypes types;
  for (const Binding& b : inputs) {
    std::string type = std::string(ost_dtype_text(b.array.dtype)) + "[";
    for (uint32_t d = 0; d < b.array.rank; ++d)
      type += (d > 0 ? "," : "") + std::to_string(b.array.shape[d]);
    types.emplace_back(b.name, type + "]");
  }
  return compile(context, text, types, options)(inputs);
}

inline ost_function_stats_t function_stats(const Context& context) {
  auto stats = sized<ost_function_stats_t>();
  call(ost_context_function_stats, context.get(), &stats);
  return stats;
}

}  // namespace ostinato

#endif  // OSTINATO_APP_FUNCTION_HPP_
