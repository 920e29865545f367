// Graphs from text: expressions, and types of inputs as the command line writes them.
#include "core/capi/handles.hpp"
#include "core/dsl/dsl.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

// The expression's graph has one input for each of ours, in the same order, and then those that it
// declares itself.
Result<std::vector<ir::NodeId>> append(ost_graph_t& graph, const ir::Graph& from) {
  ir::Graph& to = graph.graph;
  std::vector<ir::NodeId> inputs(to.inputs().size());
  for (ir::NodeId n = 0; n < to.nodes().size(); ++n) {
    if (to.node(n).op == ir::Op::input) inputs[to.node(n).bits] = n;
  }
  for (size_t i = inputs.size(); i < from.inputs().size(); ++i) {
    const ir::Input& input = from.inputs()[i];
    OST_TRY_ASSIGN(inputs.emplace_back(), to.add_input(input));
    graph.names.emplace(input.name, inputs.back());
  }
  OST_TRY_ASSIGN(const auto vars, from.vars());
  for (const Var& var : vars) {
    const ost_var_t v{var.name.c_str(), var.min, var.max};
    OST_TRY(declare(graph.vars, &v));
  }
  std::vector<ir::NodeId> map;
  for (const ir::Node& node : from.nodes()) {
    if (node.op == ir::Op::input) {
      map.push_back(inputs[node.bits]);
      continue;
    }
    ir::Node copy = node;
    for (ir::NodeId& in : copy.inputs) in = map[in];
    OST_TRY_ASSIGN(map.emplace_back(), to.add(std::move(copy)));
  }
  return map;
}

Result<> write_each(const ost_sink_t* sink, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) OST_TRY(write_text(sink, text));
  return {};
}

}  // namespace

extern "C" {

ost_status_t ost_graph_input_text(ost_graph_t* graph, const char* name, const char* type,
                                  uint32_t device, ost_node_t* out_node, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    OST_TRY(require(name, "name"));
    OST_TRY(require(type, "type"));
    auto parsed = dsl::parse_type(type, graph->vars);
    if (!parsed) return std::unexpected(parsed.error().in(name));
    std::vector<Var> vars = graph->vars;  // unchanged if the input is refused
    for (const Var& var : parsed->vars) {
      const ost_var_t v{var.name.c_str(), var.min, var.max};
      OST_TRY(declare(vars, &v));
    }
    std::vector<std::string> exprs;
    for (const Sym& dim : parsed->shape) exprs.push_back(dim.str());
    std::vector<ost_dim_t> dims;
    for (const std::string& e : exprs) dims.push_back({0, e.c_str()});
    graph->vars.swap(vars);
    ost_error_t why{sizeof(ost_error_t), OST_OK, 0, 0, 0, {}};
    const ost_status_t status =
        ost_graph_input(graph, name, static_cast<ost_dtype_t>(parsed->dtype), dims.data(),
                        static_cast<uint32_t>(dims.size()), device, out_node, &why);
    if (status == OST_OK) return {};
    graph->vars.swap(vars);
    return fail(status, "{}", why.message);
  });
}

ost_status_t ost_graph_expression(ost_graph_t* graph, const char* text, ost_node_t* out_node,
                                  ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    OST_TRY(require(text, "text"));
    std::vector<dsl::Binding> bindings;
    for (const ir::Input& in : graph->graph.inputs())
      bindings.push_back({in.name, in.dtype, in.shape, in.kind, in.data});
    OST_TRY_ASSIGN(const ir::Graph built, dsl::build(text, bindings, graph->vars));
    const auto outputs = built.outputs();
    if (out_node != nullptr && outputs.size() != 1) {
      return fail(OST_INVALID_ARGUMENT, "the expression has {} results, wanted one",
                  outputs.size());
    }
    for (const auto& output : out_node == nullptr ? outputs : decltype(outputs)()) {
      for (const auto& ours : graph->graph.outputs()) {
        if (ours.name == output.name)
          return fail(OST_INVALID_ARGUMENT, "the graph has an output '{}' already", output.name);
      }
    }
    OST_TRY_ASSIGN(const auto map, append(*graph, built));
    if (out_node != nullptr) {
      *out_node = map[outputs[0].node];
    } else {
      for (const auto& output : outputs) graph->graph.add_output(output.name, map[output.node]);
    }
    return {};
  });
}

ost_status_t ost_expression_names(const char* text, const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(text, "text"));
    OST_TRY_ASSIGN(const auto names, dsl::free_names(text));
    return write_each(sink, names);
  });
}

ost_status_t ost_expression_inputs(const char* text, const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(text, "text"));
    OST_TRY_ASSIGN(const auto names, dsl::declared_inputs(text));
    return write_each(sink, names);
  });
}

ost_status_t ost_expression_functions(const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&] { return write_each(sink, dsl::function_signatures()); });
}

}  // extern "C"
