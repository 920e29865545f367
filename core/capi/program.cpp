// Programs: from a graph or a file, to a file, and what is in them.
#include <fmt/ranges.h>

#include "core/capi/explain.hpp"
#include "core/capi/handles.hpp"
#include "core/schedule/schedule.hpp"

using namespace ost;
using namespace ost::capi;

namespace ost::capi {

Result<std::shared_ptr<const ProgramState>> ProgramState::make(manifest::Document document) {
  auto state = std::make_shared<ProgramState>();
  OST_TRY_ASSIGN(state->id, manifest::program_id(document.program));
  const auto describe = [](const auto& items, std::vector<TypeText>& out) {
    for (const auto& item : items)
      out.push_back(type_text(item.name, item.dtype, item.shape, item.device));
  };
  describe(document.program.inputs, state->inputs);
  describe(document.program.outputs, state->outputs);
  describe(document.program.states, state->states);
  state->summary = capi::summary(document.program);
  for (const Group& g : document.program.groups)
    state->groups.push_back(
        {fmt::format("{}", fmt::join(g.ops, " ")), fmt::format("{}", fmt::join(g.tiles, "; "))});
  state->counts = boost::json::serialize(capi::counts(document.program));
  state->document = std::move(document);
  return state;
}

std::shared_ptr<const Program> program_of(const std::shared_ptr<const ProgramState>& state) {
  return {state, &state->document.program};
}

Result<ScheduleOptions> to_schedule_options(const ost_compile_options_t& in) {
  ScheduleOptions out;
  if (in.numerics > OST_NUMERICS_FAST)
    return fail(OST_INVALID_ARGUMENT, "numerics {} is unknown (OST_NUMERICS_*)", in.numerics);
  if (in.memory_budget < 0)
    return fail(OST_INVALID_ARGUMENT, "memory_budget is {}, wanted at least 0", in.memory_budget);
  out.numerics = in.numerics == OST_NUMERICS_FAST ? kir::Numerics::fast : kir::Numerics::strict;
  out.fuse = in.no_fuse == 0;
  out.simplify = in.no_simplify == 0;
  out.tile_size = in.tile_size;
  if (in.memory_budget > 0) out.memory_budget = in.memory_budget;
  if (in.arena_limit > 0) out.arena_limit = in.arena_limit;
  return out;
}

}  // namespace ost::capi

namespace {

Result<> make_program(manifest::Document document, ost_program_t** out_program) {
  OST_TRY_ASSIGN(auto state, ProgramState::make(std::move(document)));
  *out_program = new ost_program_t{1, std::move(state)};
  return {};
}

manifest::LoadOptions load_options(const ost_load_options_t& in) {
  manifest::LoadOptions out;
  out.images = in.trust != 0;
  out.check_id = in.accept_edited == 0;
  if (in.max_data_bytes > 0) out.max_data_bytes = in.max_data_bytes;
  return out;
}

// A description of the index-th of `types`.
Result<> type_at(const ost_program_t* program, uint32_t index,
                 std::vector<TypeText> ProgramState::* types, std::string_view what,
                 ost_type_desc_t* out_type) {
  OST_TRY(require(program, "program"));
  const auto& list = (*program->state).*types;
  OST_TRY(check_index(index, list.size(), what));
  return write_type(out_type, list[index]);
}

ost_program_desc_t describe(const ProgramState& state) {
  const Program& p = state.document.program;
  const auto count = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  ost_program_desc_t desc{};
  desc.numerics = p.numerics == kir::Numerics::fast ? OST_NUMERICS_FAST : OST_NUMERICS_STRICT;
  desc.id = state.id.c_str();
  desc.summary = state.summary.c_str();
  desc.counts = state.counts.c_str();
  desc.devices = p.device_count;
  desc.vars = count(p.vars);
  desc.inputs = count(p.inputs);
  desc.outputs = count(p.outputs);
  desc.constants = count(p.constants);
  desc.states = count(p.states);
  desc.kernels = count(p.kernels);
  desc.groups = count(p.groups);
  for (const Step& s : p.steps) ++(s.kind == StepKind::launch ? desc.launches : desc.copies);
  for (const KernelDesc& k : p.kernels) desc.images += count(k.variants);
  desc.tests = count(state.document.tests);
  for (const Arena& a : p.arenas) desc.arena_bytes += a.bytes;
  for (const ConstantDesc& c : p.constants) desc.constant_bytes += c.data->bytes.size();
  return desc;
}

}  // namespace

extern "C" {

ost_status_t ost_graph_compile(const ost_graph_t* graph, const ost_compile_options_t* options,
                               ost_program_t** out_program, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(require(graph, "graph"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    OST_TRY_ASSIGN(const auto how, to_schedule_options(in));
    if (graph->graph.outputs().empty())
      return fail(OST_INVALID_ARGUMENT, "the graph has no outputs; add some with ost_graph_output");
    OST_TRY(ir::verify(graph->graph));
    manifest::Document document;
    OST_TRY_ASSIGN(document.program, schedule(graph->graph, how));
    for (ConstantDesc& c : document.program.constants) {
      const auto it = graph->origins.find(c.data.get());
      if (it == graph->origins.end()) continue;
      c.file = it->second.file;
      c.tensor = it->second.tensor;
    }
    OST_TRY(verify(document.program));
    return make_program(std::move(document), out_program);
  });
}

ost_status_t ost_program_group_at(const ost_program_t* program, uint32_t index,
                                  ost_group_desc_t* out_desc, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    const Program& p = program->state->document.program;
    OST_TRY(check_index(index, p.groups.size(), "group"));
    const Group& g = p.groups[index];
    const auto& texts = program->state->groups[index];
    ost_group_desc_t desc{};
    desc.step = g.step;
    desc.kernel = g.kernel == kNoIndex ? "" : p.kernels[g.kernel].name.c_str();
    desc.kind = name_of(g.kind).data();
    desc.ops = texts.ops.c_str();
    desc.why = g.why.c_str();
    desc.ended = g.ended.c_str();
    desc.tiles = texts.tiles.c_str();
    desc.bytes_saved = static_cast<uint64_t>(std::max<int64_t>(g.bytes_saved.upper(), 0));
    return write_struct(out_desc, desc, "out_desc");
  });
}

ost_status_t ost_program_load(const char* path, const ost_load_options_t* options,
                              ost_program_t** out_program, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(require(path, "path"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    OST_TRY_ASSIGN(auto document, manifest::load(path, load_options(in)));
    return make_program(std::move(document), out_program);
  });
}

ost_status_t ost_program_parse(const char* text, uint64_t size, const ost_load_options_t* options,
                               ost_program_t** out_program, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(require(text, "text"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    OST_TRY_ASSIGN(auto document,
                   manifest::from_text(std::string_view(text, size), load_options(in)));
    return make_program(std::move(document), out_program);
  });
}

void ost_program_retain(ost_program_t* program) { retain(program); }
void ost_program_release(ost_program_t* program) { release(program); }

ost_status_t ost_program_save(const ost_program_t* program, const char* path,
                              const ost_save_options_t* options, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    OST_TRY(require(path, "path"));
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    manifest::SaveOptions how;
    how.images = in.no_images == 0;
    if (in.inline_bytes > 0) how.inline_bytes = in.inline_bytes;
    return manifest::save(program->state->document, path, how);
  });
}

ost_status_t ost_program_describe(const ost_program_t* program, ost_program_desc_t* out_desc,
                                  ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    return write_struct(out_desc, describe(*program->state), "out_desc");
  });
}

ost_status_t ost_program_var_at(const ost_program_t* program, uint32_t index, ost_var_t* out_var,
                                ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    OST_TRY(require(out_var, "out_var"));
    const auto& vars = program->state->document.program.vars;
    OST_TRY(check_index(index, vars.size(), "variable"));
    *out_var = {vars[index].name.c_str(), vars[index].min, vars[index].max};
    return {};
  });
}

ost_status_t ost_program_input_at(const ost_program_t* program, uint32_t index,
                                  ost_type_desc_t* out_type, ost_error_t* error) {
  return guard(error,
               [&] { return type_at(program, index, &ProgramState::inputs, "input", out_type); });
}
ost_status_t ost_program_output_at(const ost_program_t* program, uint32_t index,
                                   ost_type_desc_t* out_type, ost_error_t* error) {
  return guard(error,
               [&] { return type_at(program, index, &ProgramState::outputs, "output", out_type); });
}
ost_status_t ost_program_state_at(const ost_program_t* program, uint32_t index,
                                  ost_type_desc_t* out_type, ost_error_t* error) {
  return guard(error,
               [&] { return type_at(program, index, &ProgramState::states, "state", out_type); });
}

ost_status_t ost_program_input_shape(const ost_program_t* program, uint32_t index,
                                     const ost_var_value_t* vars, uint32_t var_count,
                                     int64_t out_shape[OST_MAX_RANK], ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    OST_TRY(require(out_shape, "out_shape"));
    const auto& inputs = program->state->document.program.inputs;
    OST_TRY(check_index(index, inputs.size(), "input"));
    OST_TRY_ASSIGN(const auto values, list(vars, var_count, "vars"));
    Bindings bindings;
    for (const ost_var_value_t& v : values) {
      OST_TRY(require(v.name, "the name of a variable"));
      bindings[v.name] = v.value;
    }
    const Shape& shape = inputs[index].shape;
    if (shape.size() > OST_MAX_RANK)
      return fail(OST_INVALID_ARGUMENT, "input '{}' has rank {}", inputs[index].name, shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      OST_TRY_ASSIGN(out_shape[d], shape[d].eval(bindings));
    }
    return {};
  });
}

const char* ost_program_kernel_name(const ost_program_t* program, uint32_t index) {
  if (program == nullptr || index >= program->state->document.program.kernels.size())
    return nullptr;
  return program->state->document.program.kernels[index].name.c_str();
}

}  // extern "C"
