/* Graphs: node by node, and from text. */
#include "check.h"

static ost_attr_t int_attr(const char* name, int64_t value) {
  return (ost_attr_t){.name = name, .kind = OST_ATTR_INT, .i = value};
}

static void test_inputs(void) {
  ost_graph_t* graph;
  ost_node_t x, again, w, s;
  const ost_var_t n = {"n", 1, 64}, other = {"n", 1, 65}, bad = {"n!", 0, 1},
                  upside_down = {"m", 5, 4};
  const ost_dim_t dims[] = {{0, "n"}, {64, NULL}};
  const int64_t shape[] = {2};
  const float values[] = {1, 2};
  const ost_array_t data = f32_array(shape, 1, values);
  OK(ost_graph_create(&graph, E));
  OK(ost_graph_var(graph, &n, E));
  OK(ost_graph_var(graph, &n, E));
  FAILS(OST_INVALID_ARGUMENT, "declared again with 1..65", ost_graph_var(graph, &other, E));
  FAILS(OST_INVALID_ARGUMENT, "wanted a name", ost_graph_var(graph, &bad, E));
  FAILS(OST_INVALID_ARGUMENT, "5..4 are malformed", ost_graph_var(graph, &upside_down, E));
  OK(ost_graph_input(graph, "x", OST_DTYPE_F32, dims, 2, 0, &x, E));
  FAILS(OST_INVALID_ARGUMENT, "has 'x' already",
        ost_graph_input(graph, "x", OST_DTYPE_F32, dims, 2, 0, &again, E));
  FAILS(OST_INVALID_ARGUMENT, "no element type",
        ost_graph_input(graph, "z", 77, dims, 2, 0, &again, E));
  FAILS(OST_INVALID_ARGUMENT, "rank 17",
        ost_graph_input(graph, "z", OST_DTYPE_F32, dims, 17, 0, &again, E));
  FAILS(OST_INVALID_ARGUMENT, "NULL, but its count is 2",
        ost_graph_input(graph, "z", OST_DTYPE_F32, NULL, 2, 0, &again, E));
  OK(ost_graph_constant(graph, "w", &data, "weights.safetensors", "w", &w, E));
  OK(ost_graph_state(graph, "s", OST_DTYPE_F32, &(ost_dim_t){2, NULL}, 1, &data, 0, &s, E));
  FAILS(OST_INVALID_ARGUMENT, "its initial value f32[2]",
        ost_graph_state(graph, "t", OST_DTYPE_F32, &(ost_dim_t){3, NULL}, 1, &data, 0, &s, E));

  ost_type_desc_t type = SIZED(ost_type_desc_t);
  OK(ost_graph_node_type(graph, x, &type, E));
  CHECK(type.rank == 2 && type.dtype == OST_DTYPE_F32 && strcmp(type.name, "x") == 0);
  CHECK(strcmp(type.dims[0].expr, "n") == 0 && type.dims[0].value == 64 &&
        type.dims[1].expr == NULL && type.dims[1].value == 64);
  FAILS(OST_INVALID_ARGUMENT, "node 1000 does not exist",
        ost_graph_node_type(graph, 1000, &type, E));
  ost_graph_destroy(graph);
  ost_graph_destroy(NULL);
}

static void test_ops(void) {
  ost_graph_t* graph;
  ost_node_t x, y, out;
  const ost_dim_t dims[] = {{4, NULL}, {6, NULL}};
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  OK(ost_graph_create(&graph, E));
  OK(ost_graph_input(graph, "x", OST_DTYPE_F32, dims, 2, 0, &x, E));
  const ost_attr_t axis = int_attr("axis", -1), wrong = int_attr("axes_", 0);
  OK(ost_graph_op(graph, "softmax", &x, 1, &axis, 1, &y, E));
  FAILS(OST_NOT_FOUND, "no operation 'softmaxx'; did you mean 'softmax'?",
        ost_graph_op(graph, "softmaxx", &x, 1, NULL, 0, &out, E));
  FAILS(OST_INVALID_ARGUMENT, "no attribute 'axes_'",
        ost_graph_op(graph, "softmax", &x, 1, &wrong, 1, &out, E));
  FAILS(OST_INVALID_ARGUMENT, "1 inputs, wanted 2",
        ost_graph_op(graph, "add", &x, 1, NULL, 0, &out, E));
  FAILS(OST_INVALID_ARGUMENT, "node 99 does not exist",
        ost_graph_op(graph, "relu", &(ost_node_t){99}, 1, NULL, 0, &out, E));
  FAILS(OST_INVALID_ARGUMENT, "'dtype' is missing",
        ost_graph_op(graph, "cast", &x, 1, NULL, 0, &out, E));
  const ost_attr_t twice[] = {axis, axis};
  FAILS(OST_INVALID_ARGUMENT, "given twice",
        ost_graph_op(graph, "softmax", &x, 1, twice, 2, &out, E));

  const int64_t axes[] = {0};
  const ost_attr_t sum[] = {{.name = "axes", .kind = OST_ATTR_INTS, .count = 1, .ints = axes},
                            int_attr("keepdims", 1)};
  OK(ost_graph_op(graph, "sum", &y, 1, sum, 2, &out, E));
  OK(ost_graph_node_type(graph, out, &type, E));
  CHECK(type.rank == 2 && type.dims[0].value == 1 && type.dims[1].value == 6);
  const ost_dim_t starts[] = {{1, NULL}, {0, ""}}, stops[] = {{3, NULL}, {-1, NULL}};
  const ost_attr_t slice[] = {{.name = "starts", .kind = OST_ATTR_DIMS, .count = 2, .dims = starts},
                              {.name = "stops", .kind = OST_ATTR_DIMS, .count = 2, .dims = stops}};
  OK(ost_graph_op(graph, "slice", &y, 1, slice, 2, &out, E));
  OK(ost_graph_node_type(graph, out, &type, E));
  CHECK(type.dims[0].value == 2 && type.dims[1].value == 5);
  const ost_attr_t window[] = {int_attr("axis", 1), int_attr("taps", 2), int_attr("stride", 2)};
  ost_node_t taps;
  OK(ost_graph_op(graph, "window", &y, 1, window, 3, &taps, E));
  OK(ost_graph_node_type(graph, taps, &type, E));
  CHECK(type.rank == 3 && type.dims[1].value == 3 && type.dims[2].value == 2);
  FAILS(OST_INVALID_ARGUMENT, "'taps' is missing",
        ost_graph_op(graph, "window", &y, 1, window, 1, &taps, E));
  const ost_dim_t shape[] = {{2, NULL}, {-1, NULL}};
  const ost_attr_t to = {.name = "shape", .kind = OST_ATTR_DIMS, .count = 2, .dims = shape};
  OK(ost_graph_op(graph, "reshape", &out, 1, &to, 1, &out, E));
  const ost_attr_t full[] = {
      int_attr("dtype", OST_DTYPE_F32), to, {.name = "value", .kind = OST_ATTR_FLOAT, .f = 0.5}};
  FAILS(OST_INVALID_ARGUMENT, "",
        ost_graph_op(graph, "full", NULL, 0, full, 3, &out, E)); /* -1 is no size here */
  OK(ost_graph_output(graph, "out", y, E));
  FAILS(OST_INVALID_ARGUMENT, "output 'out' already", ost_graph_output(graph, "out", x, E));
  static text_t text;
  const ost_sink_t sink = sink_of(&text);
  OK(ost_graph_text(graph, &sink, E));
  CHECK(strstr(text.data, "input") != NULL);
  FAILS(OST_INVALID_ARGUMENT, "no write function", ost_graph_text(graph, &(ost_sink_t){0}, E));
  ost_graph_destroy(graph);

  CHECK(ost_op_count() > 80);
  for (uint32_t i = 0; i + 1 < ost_op_count(); ++i)
    CHECK(strcmp(ost_op_at(i), ost_op_at(i + 1)) < 0);
  CHECK(ost_op_at(ost_op_count()) == NULL);
}

void test_graphs(void) {
  test_inputs();
  test_ops();
}

void test_expressions(void) {
  ost_graph_t* graph;
  ost_node_t x, y;
  static text_t text;
  ost_sink_t sink = sink_of(&text);
  OK(ost_expression_names("matmul(A, relu(B)) + A", &sink, E));
  CHECK(strcmp(text.data, "AB") == 0 && text.writes == 2);
  FAILS(OST_INVALID_ARGUMENT, "^", ost_expression_names("matmul(A", &sink, E));
  sink = sink_of(&text);
  OK(ost_expression_inputs("x: f32[n:1..8, 4]\nb, c: f32[4]\nx * b + c", &sink, E));
  CHECK(strcmp(text.data, "xbc") == 0 && text.writes == 3);
  sink = sink_of(&text);
  OK(ost_expression_functions(&sink, E));
  CHECK(strstr(text.data, "softmax(") != NULL && text.writes > 40);

  OK(ost_graph_create(&graph, E));
  OK(ost_graph_input_text(graph, "x", "f16[n:1..8, 4]", 0, &x, E));
  FAILS(OST_INVALID_ARGUMENT, "y", ost_graph_input_text(graph, "y", "q[1]", 0, &y, E));
  FAILS(OST_INVALID_ARGUMENT, "declared as 1..8 and as 1..9",
        ost_graph_input_text(graph, "y", "n:1..9", 0, &y, E));
  OK(ost_graph_input_text(graph, "y", "n*2", 0, &y, E));
  OK(ost_graph_expression(graph, "x + 1", &y, E));
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  OK(ost_graph_node_type(graph, y, &type, E));
  CHECK(type.dtype == OST_DTYPE_F16 && strcmp(type.dims[0].expr, "n") == 0);
  FAILS(OST_INVALID_ARGUMENT, "2 results", ost_graph_expression(graph, "(x, x)", &y, E));
  OK(ost_graph_expression(graph, "(x, x * 2)", NULL, E)); /* out0, out1 */
  FAILS(OST_INVALID_ARGUMENT, "output 'out0' already",
        ost_graph_expression(graph, "(x, x)", NULL, E));
  FAILS(OST_INVALID_ARGUMENT, "did you mean 'relu'",
        ost_graph_expression(graph, "relux(x)", &y, E));
  ost_program_t* program;
  OK(ost_graph_compile(graph, NULL, &program, E));
  ost_program_desc_t desc = SIZED(ost_program_desc_t);
  OK(ost_program_describe(program, &desc, E));
  CHECK(desc.outputs == 2 && desc.inputs == 2 && desc.vars == 1);
  ost_program_release(program);
  ost_graph_destroy(graph);
}
