// Building graphs node by node.
#include "core/capi/handles.hpp"
#include "core/capi/op_table.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

Result<> check_new_name(const ost_graph_t* graph, const char* name, ost_node_t* out_node) {
  OST_TRY(require(graph, "graph"));
  OST_TRY(require(name, "name"));
  OST_TRY(require(out_node, "out_node"));
  if (*name == '\0') return fail(OST_INVALID_ARGUMENT, "an input, constant or state needs a name");
  if (graph->names.contains(std::string_view(name)))
    return fail(OST_INVALID_ARGUMENT, "the graph has '{}' already", name);
  return {};
}

Result<> add_input(ost_graph_t* graph, ir::Input input, ost_node_t* out_node) {
  std::string name = input.name;
  OST_TRY_ASSIGN(const ir::NodeId node, graph->graph.add_input(std::move(input)));
  graph->names.emplace(std::move(name), node);
  *out_node = node;
  return {};
}

}  // namespace

extern "C" {

ost_status_t ost_graph_create(ost_graph_t** out_graph, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_graph, "out_graph"));
    *out_graph = nullptr;
    *out_graph = new ost_graph_t();
    return {};
  });
}

void ost_graph_destroy(ost_graph_t* graph) { delete graph; }

ost_status_t ost_graph_var(ost_graph_t* graph, const ost_var_t* var, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    return declare(graph->vars, var);
  });
}

ost_status_t ost_graph_input(ost_graph_t* graph, const char* name, ost_dtype_t dtype,
                             const ost_dim_t* dims, uint32_t rank, uint32_t device,
                             ost_node_t* out_node, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(check_new_name(graph, name, out_node));
    OST_TRY_ASSIGN(const DType type, to_dtype(dtype, name));
    OST_TRY_ASSIGN(auto shape, to_shape(dims, rank, graph->vars, name));
    return add_input(
        graph, {name, ir::InputKind::argument, type, std::move(shape), device, nullptr}, out_node);
  });
}

ost_status_t ost_graph_constant(ost_graph_t* graph, const char* name, const ost_array_t* data,
                                const char* file, const char* tensor, ost_node_t* out_node,
                                ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(check_new_name(graph, name, out_node));
    OST_TRY_ASSIGN(const LiteralPtr literal, to_literal(data, name));
    const Shape shape(literal->shape.begin(), literal->shape.end());
    OST_TRY(add_input(graph, {name, ir::InputKind::constant, literal->dtype, shape, 0, literal},
                      out_node));
    if (file != nullptr) graph->origins[literal.get()] = {file, tensor == nullptr ? name : tensor};
    return {};
  });
}

ost_status_t ost_graph_state(ost_graph_t* graph, const char* name, ost_dtype_t dtype,
                             const ost_dim_t* dims, uint32_t rank, const ost_array_t* initial,
                             uint32_t device, ost_node_t* out_node, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(check_new_name(graph, name, out_node));
    OST_TRY_ASSIGN(const DType type, to_dtype(dtype, name));
    OST_TRY_ASSIGN(auto shape, to_shape(dims, rank, graph->vars, name));
    LiteralPtr data;
    if (initial != nullptr) {
      OST_TRY_ASSIGN(data, to_literal(initial, name));
      if (data->dtype != type || Shape(data->shape.begin(), data->shape.end()) != shape) {
        return fail(OST_INVALID_ARGUMENT, "state '{}' is {}{}, its initial value {}[{}]", name,
                    name_of(type), to_string(shape), name_of(data->dtype),
                    fmt::join(data->shape, ", "));
      }
    }
    return add_input(graph,
                     {name, ir::InputKind::state, type, std::move(shape), device, std::move(data)},
                     out_node);
  });
}

ost_status_t ost_graph_op(ost_graph_t* graph, const char* op, const ost_node_t* inputs,
                          uint32_t input_count, const ost_attr_t* attrs, uint32_t attr_count,
                          ost_node_t* out_node, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    OST_TRY(require(op, "op"));
    OST_TRY(require(out_node, "out_node"));
    OST_TRY_ASSIGN(const auto nodes, list(inputs, input_count, "inputs"));
    OST_TRY_ASSIGN(const auto given, list(attrs, attr_count, "attrs"));
    for (const ost_node_t node : nodes)
      OST_TRY(check_index(node, graph->graph.nodes().size(), "node"));
    OST_TRY_ASSIGN(*out_node, apply_op(graph->graph, op, nodes, given, graph->vars));
    return {};
  });
}

uint32_t ost_op_count(void) { return static_cast<uint32_t>(op_names().size()); }
const char* ost_op_at(uint32_t index) {
  return index < op_names().size() ? op_names()[index] : nullptr;
}

ost_status_t ost_graph_node_type(ost_graph_t* graph, ost_node_t node, ost_type_desc_t* out_type,
                                 ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    OST_TRY(check_index(node, graph->graph.nodes().size(), "node"));
    auto it = graph->types.find(node);
    if (it == graph->types.end()) {
      const ir::Node& n = graph->graph.node(node);
      const std::string name =
          n.op == ir::Op::input ? graph->graph.input(node).name : std::string();
      const uint32_t device = n.op == ir::Op::input  ? graph->graph.input(node).device
                              : n.op == ir::Op::copy ? static_cast<uint32_t>(n.bits)
                                                     : 0;
      it = graph->types.emplace(node, type_text(name, n.dtype, n.shape, device)).first;
    }
    return write_type(out_type, it->second);
  });
}

ost_status_t ost_graph_output(ost_graph_t* graph, const char* name, ost_node_t node,
                              ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    OST_TRY(require(name, "name"));
    OST_TRY(check_index(node, graph->graph.nodes().size(), "node"));
    for (const auto& output : graph->graph.outputs()) {
      if (output.name == name)
        return fail(OST_INVALID_ARGUMENT, "the graph has an output '{}' already", name);
    }
    graph->graph.add_output(name, node);
    return {};
  });
}

ost_status_t ost_graph_text(const ost_graph_t* graph, const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(graph, "graph"));
    return write_text(sink, ir::to_text(graph->graph));
  });
}

}  // extern "C"
