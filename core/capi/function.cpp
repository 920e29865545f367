#include "core/capi/function.hpp"

#include "core/codegen/form.hpp"
#include "core/dsl/dsl.hpp"
#include "core/kir/kernel.hpp"

using namespace ost;
using namespace ost::capi;

namespace ost::capi {

std::shared_ptr<FunctionState> FunctionCache::find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto it = functions_.find(key);
  if (it == functions_.end()) return nullptr;
  ++reused_;
  return it->second;
}

void FunctionCache::keep(std::string key, std::shared_ptr<FunctionState> function) {
  const std::scoped_lock lock(mutex_);
  ++compiled_;
  if (!functions_.emplace(key, std::move(function)).second) return;  // another thread was first
  by_age_.push_back(std::move(key));
  if (by_age_.size() <= kMostFunctions) return;
  functions_.erase(by_age_.front());
  by_age_.pop_front();
}

void FunctionCache::stats(uint64_t& compiled, uint64_t& reused, uint64_t& kept) {
  const std::scoped_lock lock(mutex_);
  compiled = compiled_;
  reused = reused_;
  kept = functions_.size();
}

}  // namespace ost::capi

namespace {

struct Request {
  std::string text, device;
  std::vector<std::pair<std::string, std::string>> types;
  ost_compile_options_t options;
};

// Everything that decides the compiled function; types in their canonical spelling.
Result<std::string> key_of(const Request& r) {
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {}\n", r.device, r.options.numerics,
                                r.options.no_fuse, r.options.no_simplify, r.options.memory_budget,
                                r.options.arena_limit, r.options.tile_size, r.text.size(), r.text);
  std::vector<Var> vars;
  for (const auto& [name, type] : r.types) {
    auto decl = dsl::parse_type(type, vars);
    if (!decl) return std::unexpected(decl.error().in(name));
    key += fmt::format("{} {}{}\n", name, name_of(decl->dtype), to_string(decl->shape));
    for (const Var& v : decl->vars) key += fmt::format("{} {} {}\n", v.name, v.min, v.max);
    vars.insert(vars.end(), decl->vars.begin(), decl->vars.end());
  }
  return key;
}

// Errors of the inner entry points keep their status and text.
struct Inner {
  ost_error_t error{sizeof(ost_error_t), OST_OK, 0, 0, 0, {}};
  Result<> operator()(ost_status_t status) const {
    if (status == OST_OK) return {};
    return fail(status, "{}", error.message);
  }
};

Result<std::shared_ptr<FunctionState>> compile(ost_context_t& context, const Request& r) {
  Inner inner;
  ost_graph_t graph;
  ost_node_t node = 0;
  for (const auto& [name, type] : r.types)
    OST_TRY(
        inner(ost_graph_input_text(&graph, name.c_str(), type.c_str(), 0, &node, &inner.error)));
  OST_TRY(inner(ost_graph_expression(&graph, r.text.c_str(), nullptr, &inner.error)));
  ost_program_t* program = nullptr;
  OST_TRY(inner(ost_graph_compile(&graph, &r.options, &program, &inner.error)));
  const std::unique_ptr<ost_program_t, void (*)(ost_program_t*)> owner(program,
                                                                       ost_program_release);
  const char* device = r.device.c_str();
  ost_instance_t* instance = nullptr;
  OST_TRY(
      inner(ost_instance_create(&context, program, &device, 1, nullptr, &instance, &inner.error)));
  auto state = std::make_shared<FunctionState>();
  state->device = r.device;
  state->program = program->state;
  state->instance.reset(instance);
  instance->context.reset();  // the handle holds the context, which holds this: no circle
  return state;
}

Result<> need(const ost_function_t* function) { return require(function, "function"); }

// The kernel in the form that the device gets, as text.
Result<std::string> source_for(const KernelDesc& kernel, const ost_device_info_t& info) {
  OST_TRY_ASSIGN(const codegen::Formed formed, codegen::form_for(kernel.kir, info, kernel.name));
  if (formed.form == OST_FORM_KIR_L1 || formed.form == OST_FORM_KIR_L2) {
    OST_TRY_ASSIGN(const kir::Kernel kir, kir::from_binary(formed.code));
    return fmt::format("# {}\n{}\n", kernel.name, kir::to_text(kir));
  }
  return fmt::format(
      "/* {} */\n{}\n", kernel.name,
      std::string_view(reinterpret_cast<const char*>(formed.code.data()), formed.code.size()));
}

}  // namespace

extern "C" {

ost_status_t ost_function_create(ost_context_t* context, const char* text,
                                 const ost_named_type_t* types, uint32_t type_count,
                                 const ost_compile_options_t* options, const char* device,
                                 ost_function_t** out_function, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_function, "out_function"));
    *out_function = nullptr;
    OST_TRY(require(context, "context"));
    OST_TRY(require(text, "text"));
    Request request;
    OST_TRY_ASSIGN(request.options, read_options(options, "options"));
    OST_TRY_ASSIGN(const auto opened, context->state->open(device));
    request.device = opened->id();
    request.text = text;
    OST_TRY_ASSIGN(const auto given, list(types, type_count, "types"));
    for (const ost_named_type_t& t : given) {
      OST_TRY(require(t.name, "the name of a type"));
      OST_TRY(require(t.type, "a type"));
      request.types.emplace_back(t.name, t.type);
    }
    OST_TRY_ASSIGN(std::string key, key_of(request));
    FunctionCache& cache = *context->state->functions;
    auto state = cache.find(key);
    if (!state) {
      OST_TRY_ASSIGN(state, compile(*context, request));
      cache.keep(std::move(key), state);
    }
    *out_function = new ost_function_t{1, context->state, std::move(state)};
    return {};
  });
}

void ost_function_retain(ost_function_t* function) {
  if (function != nullptr) ++function->references;
}

void ost_function_release(ost_function_t* function) {
  if (function != nullptr && --function->references == 0) delete function;
}

ost_status_t ost_function_call(ost_function_t* function, const ost_binding_t* inputs,
                               uint32_t input_count, const ost_var_value_t* vars,
                               uint32_t var_count, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need(function));
    Inner inner;
    ost_instance_t* instance = function->state->instance.get();
    OST_TRY(inner(ost_instance_bind(instance, inputs, input_count, vars, var_count, &inner.error)));
    return inner(ost_instance_run(instance, &inner.error));
  });
}

ost_instance_t* ost_function_instance(ost_function_t* function) {
  return function == nullptr ? nullptr : function->state->instance.get();
}

const char* ost_function_device(const ost_function_t* function) {
  return function == nullptr ? nullptr : function->state->device.c_str();
}

ost_status_t ost_function_program(ost_function_t* function, ost_program_t** out_program,
                                  ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(need(function));
    *out_program = new ost_program_t{1, function->state->program};
    return {};
  });
}

ost_status_t ost_function_source(ost_function_t* function, const ost_sink_t* sink,
                                 ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(need(function));
    const ost_device_info_t& info = function->state->instance->instance->devices().front()->info();
    for (const KernelDesc& k : function->state->program->document.program.kernels) {
      OST_TRY_ASSIGN(const std::string text, source_for(k, info));
      OST_TRY(write_text(sink, text));
    }
    return {};
  });
}

ost_status_t ost_context_function_stats(const ost_context_t* context,
                                        ost_function_stats_t* out_stats, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    ost_function_stats_t stats{};
    context->state->functions->stats(stats.compiled, stats.reused, stats.kept);
    return write_struct(out_stats, stats, "out_stats");
  });
}

}  // extern "C"
