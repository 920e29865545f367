/* Programs on devices: binding, running, states, verification. */
#include "check.h"

static const int64_t kShape[] = {2, 2};
static const float kX[] = {1, 1, 2, -1}; /* x @ w = {0 0 0; 3 6 9} */
static const float kWanted[] = {1, 1, 1, 4, 7, 10};

static void test_bind_errors(ost_instance_t* instance) {
  const int64_t wide[] = {2, 3}, tall[] = {5, 2};
  const float data[10] = {0};
  ost_binding_t x = {"x", f32_array(kShape, 2, kX), NULL, 0};
  const ost_var_value_t three = {"n", 3}, unknown = {"m", 3};
  FAILS(OST_INVALID_ARGUMENT, "input 'x' is missing, wanted f32[n, 2]",
        ost_instance_bind(instance, NULL, 0, NULL, 0, E));
  FAILS(OST_INVALID_ARGUMENT, "'n' has two values: 3 (n = 3 was given) and 2",
        ost_instance_bind(instance, &x, 1, &three, 1, E));
  FAILS(OST_NOT_FOUND, "no variable 'm'; it has: n",
        ost_instance_bind(instance, &x, 1, &unknown, 1, E));
  x.array = f32_array(wide, 2, data);
  FAILS(OST_INVALID_ARGUMENT, "dimension 1 of input 'x' is 3, wanted 2",
        ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x.array = f32_array(tall, 2, data);
  FAILS(OST_INVALID_ARGUMENT, "'n' is 0 to 4", ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x.array = f32_array(wide, 1, data);
  FAILS(OST_INVALID_ARGUMENT, "f32[2], wanted f32[n, 2]",
        ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x.array = (ost_array_t){OST_DTYPE_I32, 2, kShape, kX};
  FAILS(OST_INVALID_ARGUMENT, "i32[2, 2], wanted f32[n, 2]",
        ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x.array = f32_array(kShape, 2, NULL);
  FAILS(OST_INVALID_ARGUMENT, "data is NULL", ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x = (ost_binding_t){"q", f32_array(kShape, 2, kX), NULL, 0};
  FAILS(OST_NOT_FOUND, "no input 'q'; it has: x", ost_instance_bind(instance, &x, 1, NULL, 0, E));
  FAILS(OST_INVALID_ARGUMENT, "nothing is bound", ost_instance_run(instance, E));
}

static void test_runs(ost_instance_t* instance) {
  ost_binding_t x = {NULL, f32_array(kShape, 2, kX), NULL, 0}; /* by position */
  ost_run_stats_t stats = SIZED(ost_run_stats_t);
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  float y[6] = {0}, back[4] = {0};
  int64_t n = 0;
  OK(ost_instance_bind(instance, &x, 1, NULL, 0, E));
  OK(ost_instance_var(instance, "n", &n, E));
  CHECK(n == 2);
  FAILS(OST_NOT_FOUND, "'m'", ost_instance_var(instance, "m", &n, E));
  OK(ost_instance_output_type(instance, 0, &type, E));
  CHECK(type.dims[0].value == 2 && type.dims[0].expr == NULL && type.dims[1].value == 3 &&
        strcmp(type.name, "y") == 0);
  for (int i = 0; i < 3; ++i) OK(ost_instance_run(instance, E));
  uint64_t freed = 1;
  OK(ost_instance_free_intermediates(instance, &freed, E));
  OK(ost_instance_free_intermediates(instance, NULL, E));
  FAILS(OST_INVALID_ARGUMENT, "instance is NULL", ost_instance_free_intermediates(NULL, &freed, E));
  OK(ost_instance_stats(instance, &stats, E));
  CHECK(stats.launches >= 1 && stats.allocations == 0 && stats.compiles == 0 && stats.copies == 0 &&
        stats.constant_bytes >= 24);
  OK(ost_instance_read_output(instance, 0, y, sizeof y, E));
  CHECK(memcmp(y, kWanted, sizeof y) == 0);
  OK(ost_instance_read_input(instance, 0, back, sizeof back, E));
  CHECK(memcmp(back, kX, sizeof back) == 0);
  FAILS(OST_INVALID_ARGUMENT, "has 24 bytes, 4 were given",
        ost_instance_read_output(instance, 0, y, 4, E));
  FAILS(OST_INVALID_ARGUMENT, "output 1", ost_instance_read_output(instance, 1, y, sizeof y, E));

  const int64_t empty[] = {0, 2};
  x.array = f32_array(empty, 2, NULL);
  OK(ost_instance_bind(instance, &x, 1, NULL, 0, E));
  OK(ost_instance_run(instance, E));
  OK(ost_instance_read_output(instance, 0, NULL, 0, E));
}

static void test_own_buffers(ost_context_t* context, const char* device, ost_instance_t* instance) {
  ost_buffer_t *in, *out;
  float y[6] = {0};
  OK(ost_buffer_create(context, device, 1024, &in, E));
  OK(ost_buffer_create(context, device, 1024, &out, E));
  OK(ost_buffer_write(in, 256, kX, sizeof kX, E));
  ost_binding_t x = {"x", f32_array(kShape, 2, NULL), in, 256};
  OK(ost_instance_bind(instance, &x, 1, NULL, 0, E));
  OK(ost_instance_bind_output(instance, 0, out, 512, E));
  FAILS(OST_INVALID_ARGUMENT, "the buffer has 1024",
        ost_instance_bind_output(instance, 0, out, 1024, E));
  OK(ost_instance_run(instance, E));
  OK(ost_buffer_read(out, 512, y, sizeof y, E));
  CHECK(memcmp(y, kWanted, sizeof y) == 0);
  x.offset = 1024;
  FAILS(OST_INVALID_ARGUMENT, "the buffer has 1024",
        ost_instance_bind(instance, &x, 1, NULL, 0, E));
  x.offset = 12;
  FAILS(OST_INVALID_ARGUMENT, "starts at byte 12, wanted a multiple",
        ost_instance_bind(instance, &x, 1, NULL, 0, E));
  ost_buffer_release(in);
  ost_buffer_release(out);
}

static void test_profile(ost_instance_t* instance) {
  const ost_binding_t x = {"x", f32_array(kShape, 2, kX), NULL, 0};
  const ost_status_t status = ost_instance_profile(instance, 1, E);
  ost_kernel_time_t time;
  CHECK(status == OST_OK || status == OST_UNIMPLEMENTED);
  OK(ost_instance_bind(instance, &x, 1, NULL, 0, E));
  OK(ost_instance_run(instance, E));
  if (status != OST_OK) return;
  CHECK(ost_instance_time_count(instance) >= 1);
  OK(ost_instance_time_at(instance, 0, &time, E));
  CHECK(time.step == 0 && time.kernel == 0);
  FAILS(OST_INVALID_ARGUMENT, "kernel time 1000", ost_instance_time_at(instance, 1000, &time, E));
}

static void test_verify(ost_context_t* context, ost_program_t* program, const char* device) {
  const char* ref = "ref:0";
  const ost_binding_t x = {"x", f32_array(kShape, 2, kX), NULL, 0};
  ost_difference_t d = SIZED(ost_difference_t);
  ost_program_desc_t desc = SIZED(ost_program_desc_t);
  OK(ost_program_describe(program, &desc, E));
  OK(ost_verify(context, program, &ref, 1, &device, 1, &x, 1, NULL, 0, &d, E));
  CHECK(d.equal == 1 && d.compared == desc.launches);
  FAILS(OST_INVALID_ARGUMENT, "'x' is missing",
        ost_verify(context, program, &ref, 1, &device, 1, NULL, 0, NULL, 0, &d, E));
}

void test_instances(ost_context_t* context, const char* device) {
  ost_program_t* program = small_program();
  ost_instance_t* instance;
  ost_instance_options_t options = SIZED(ost_instance_options_t);
  const char* nobody = "nobody:0";
  const char* three[] = {device, device, device};
  options.require_exact = 1;
  options.compile_threads = 1;
  OK(ost_instance_create(context, program, &device, 1, &options, &instance, E));
  CHECK(strcmp(ost_instance_device(instance, 0), device) == 0 &&
        ost_instance_device(instance, 1) == NULL);
  test_bind_errors(instance);
  test_runs(instance);
  test_own_buffers(context, device, instance);
  test_profile(instance);
  test_verify(context, program, device);
  ost_program_release(program); /* the instance keeps it */
  test_runs(instance);
  ost_instance_destroy(instance);
  ost_instance_destroy(NULL);
  program = small_program();
  FAILS(OST_UNAVAILABLE, "nobody:0",
        ost_instance_create(context, program, &nobody, 1, NULL, &instance, E));
  CHECK(instance == NULL);
  FAILS(OST_INVALID_ARGUMENT, "1 logical devices, 3 were given",
        ost_instance_create(context, program, three, 3, NULL, &instance, E));
  ost_program_release(program);
}

/* A counter that adds x to itself, in place. */
void test_states(ost_context_t* context, const char* device) {
  ost_graph_t* graph;
  ost_node_t s, x, sum, next;
  ost_program_t* program;
  ost_instance_t* instance;
  const ost_dim_t dims[] = {{2, NULL}};
  const int64_t shape[] = {2};
  const float start[] = {10, 20}, step[] = {1, 2}, other[] = {0, 0};
  const ost_array_t initial = f32_array(shape, 1, start);
  float now[2] = {0};
  OK(ost_graph_create(&graph, E));
  OK(ost_graph_state(graph, "s", OST_DTYPE_F32, dims, 1, &initial, 0, &s, E));
  OK(ost_graph_input(graph, "x", OST_DTYPE_F32, dims, 1, 0, &x, E));
  OK(ost_graph_op(graph, "add", (ost_node_t[]){s, x}, 2, NULL, 0, &sum, E));
  OK(ost_graph_op(graph, "assign", (ost_node_t[]){s, sum}, 2, NULL, 0, &next, E));
  OK(ost_graph_output(graph, "s", next, E));
  OK(ost_graph_compile(graph, NULL, &program, E));
  ost_graph_destroy(graph);
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  OK(ost_program_state_at(program, 0, &type, E));
  CHECK(strcmp(type.name, "s") == 0 && type.dims[0].value == 2);
  OK(ost_instance_create(context, program, &device, 1, NULL, &instance, E));
  const ost_binding_t binding = {"x", f32_array(shape, 1, step), NULL, 0};
  OK(ost_instance_bind(instance, &binding, 1, NULL, 0, E));
  for (int i = 0; i < 3; ++i) OK(ost_instance_run(instance, E));
  OK(ost_instance_read_state(instance, 0, now, sizeof now, E));
  CHECK(now[0] == 13 && now[1] == 26);
  OK(ost_instance_read_output(instance, 0, now, sizeof now, E)); /* the output is the state */
  CHECK(now[0] == 13 && now[1] == 26);
  OK(ost_instance_write_state(instance, 0, other, sizeof other, E));
  OK(ost_instance_run(instance, E));
  OK(ost_instance_read_state(instance, 0, now, sizeof now, E));
  CHECK(now[0] == 1 && now[1] == 2);
  FAILS(OST_INVALID_ARGUMENT, "state 1", ost_instance_read_state(instance, 1, now, sizeof now, E));
  FAILS(OST_INVALID_ARGUMENT, "8 bytes, 4 were given",
        ost_instance_write_state(instance, 0, other, 4, E));
  ost_instance_destroy(instance);
  ost_program_release(program);
}
