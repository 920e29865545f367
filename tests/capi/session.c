/* Lazy tensors and capture. */
#include "check.h"

static ost_tensor_t* vector(ost_session_t* session, const char* device, float a, float b) {
  const int64_t shape[] = {2};
  const float values[] = {a, b};
  const ost_array_t array = f32_array(shape, 1, values);
  ost_tensor_t* tensor;
  OK(ost_tensor_from_array(session, device, &array, NULL, &tensor, E));
  return tensor;
}

static ost_tensor_t* op2(ost_session_t* session, const char* op, ost_tensor_t* a, ost_tensor_t* b) {
  ost_tensor_t* inputs[] = {a, b};
  ost_tensor_t* out;
  OK(ost_tensor_op(session, op, inputs, 2, NULL, 0, NULL, &out, E));
  return out;
}

static int holds(ost_tensor_t* tensor, float a, float b) {
  float values[2] = {0};
  OK(ost_tensor_read(tensor, values, sizeof values, E));
  return values[0] == a && values[1] == b;
}

static void test_variables(ost_session_t* session, const char* device) {
  const ost_var_t n = {"n", 0, 8}, clash = {"n", 0, 9};
  const int64_t shape[] = {3};
  const float values[] = {1, 2, 3};
  const ost_array_t array = f32_array(shape, 1, values);
  const ost_dim_t dims[] = {{0, "n"}};
  ost_tensor_t* tensor;
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  OK(ost_session_bind(session, &n, 3, E));
  CHECK(ost_session_bind(session, &clash, 3, E) != OST_OK);
  CHECK(ost_session_bind(session, &n, 9, E) != OST_OK);
  OK(ost_tensor_from_array(session, device, &array, dims, &tensor, E));
  OK(ost_tensor_type(tensor, &type, E));
  CHECK(type.rank == 1 && strcmp(type.dims[0].expr, "n") == 0 && type.dims[0].value == 3);
  ost_tensor_release(tensor);
  OK(ost_session_bind(session, &n, 2, E));
  FAILS(OST_INVALID_ARGUMENT, "dimension 0 of the array is 3, wanted 2",
        ost_tensor_from_array(session, device, &array, dims, &tensor, E));
}

void test_tensors(ost_context_t* context, const char* device) {
  ost_session_t *session, *other;
  ost_buffer_t* buffer;
  ost_tensor_t *shared, *there, *filled, *wrong;
  OK(ost_session_create(context, NULL, &session, E));
  OK(ost_session_create(context, NULL, &other, E));
  ost_tensor_t* a = vector(session, device, 1, -2);
  ost_tensor_t* b = vector(session, device, 3, 4);
  ost_tensor_t* sum = op2(session, "add", a, b);
  CHECK(ost_tensor_is_realized(a) && !ost_tensor_is_realized(sum) && !ost_tensor_is_realized(NULL));
  CHECK(strcmp(ost_tensor_device(sum), device) == 0 && ost_tensor_device(NULL) == NULL);
  OK(ost_tensor_realize(&sum, 1, E));
  CHECK(ost_tensor_is_realized(sum) && holds(sum, 4, 2));
  FAILS(OST_INVALID_ARGUMENT, "ost_tensor_assign",
        ost_tensor_op(session, "assign", (ost_tensor_t*[]){a, b}, 2, NULL, 0, NULL, &wrong, E));
  FAILS(OST_INVALID_ARGUMENT, "another session",
        ost_tensor_op(other, "relu", &a, 1, NULL, 0, NULL, &wrong, E));
  CHECK(wrong == NULL);

  OK(ost_tensor_assign(a, b, NULL, 0, E));
  CHECK(holds(a, 3, 4) && holds(sum, 4, 2));
  OK(ost_buffer_create(context, device, 264, &buffer, E));
  OK(ost_buffer_write(buffer, 256, (float[]){5, 6}, 8, E));
  OK(ost_tensor_from_buffer(session, buffer, 256, OST_DTYPE_F32, &(ost_dim_t){2, NULL}, 1, &shared,
                            E));
  CHECK(holds(shared, 5, 6));
  OK(ost_tensor_assign(shared, a, NULL, 0, E));
  float raw[2];
  OK(ost_buffer_read(buffer, 256, raw, 8, E));
  CHECK(raw[0] == 3 && raw[1] == 4);
  FAILS(OST_INVALID_ARGUMENT, "offset 12 is no multiple",
        ost_tensor_from_buffer(session, buffer, 12, OST_DTYPE_F32, &(ost_dim_t){2, NULL}, 1, &wrong,
                               E));
  FAILS(OST_INVALID_ARGUMENT, "needs 12 bytes, the storage has 8",
        ost_tensor_from_buffer(session, buffer, 256, OST_DTYPE_F32, &(ost_dim_t){3, NULL}, 1,
                               &wrong, E));
  OK(ost_tensor_to(a, "ref:0", &there, E));
  CHECK(strcmp(ost_tensor_device(there), "ref:0") == 0 && holds(there, 3, 4));
  const ost_attr_t full[] = {
      {.name = "dtype", .kind = OST_ATTR_INT, .i = OST_DTYPE_F32},
      {.name = "shape", .kind = OST_ATTR_INTS, .count = 1, .ints = (int64_t[]){2}},
      {.name = "value", .kind = OST_ATTR_FLOAT, .f = 1.5}};
  OK(ost_tensor_op(session, "full", NULL, 0, full, 3, device, &filled, E));
  CHECK(holds(filled, 1.5f, 1.5f));
  FAILS(OST_INVALID_ARGUMENT, "has 8 bytes", ost_tensor_read(filled, raw, 4, E));
  ost_buffer_t* storage;
  uint64_t offset;
  OK(ost_tensor_buffer(sum, &storage, &offset, E)); /* realizes it */
  CHECK(ost_tensor_is_realized(sum) == 1);
  OK(ost_buffer_read(storage, offset, raw, sizeof raw, E));
  CHECK(raw[0] == 4 && raw[1] == 2);
  ost_buffer_release(storage);
  FAILS(OST_INVALID_ARGUMENT, "tensor is NULL", ost_tensor_buffer(NULL, &storage, &offset, E));
  FAILS(OST_INVALID_ARGUMENT, "out_offset is NULL", ost_tensor_buffer(sum, &storage, NULL, E));
  test_variables(session, device);
  ost_tensor_t* all[] = {a, b, sum, shared, there, filled};
  ost_session_destroy(session); /* the tensors keep it */
  CHECK(holds(sum, 4, 2));
  for (uint32_t i = 0; i < COUNT(all); ++i) {
    ost_tensor_retain(all[i]);
    ost_tensor_release(all[i]);
    ost_tensor_release(all[i]);
  }
  ost_tensor_release(NULL);
  ost_buffer_release(buffer);
  ost_session_destroy(other);
  ost_session_destroy(NULL);
}

typedef struct calls_t {
  ost_session_t* session;
  int count;
  int fail;
} calls_t;

/* (x * x + y, x - y) */
static ost_status_t function(void* user, ost_tensor_t* const* in, uint32_t count,
                             ost_jit_outputs_t* outputs, ost_error_t* e) {
  calls_t* calls = user;
  ++calls->count;
  CHECK(count == 2);
  if (calls->fail) {
    snprintf(e->message, sizeof e->message, "the test wants it");
    return OST_CANCELLED;
  }
  ost_tensor_t* square = op2(calls->session, "mul", in[0], in[0]);
  ost_tensor_t* sum = op2(calls->session, "add", square, in[1]);
  ost_tensor_t* difference = op2(calls->session, "sub", in[0], in[1]);
  OK(ost_jit_outputs_add(outputs, sum, e));
  OK(ost_jit_outputs_add(outputs, difference, e));
  CHECK(ost_jit_outputs_add(outputs, NULL, NULL) == OST_INVALID_ARGUMENT);
  ost_tensor_release(square);
  ost_tensor_release(sum);
  ost_tensor_release(difference);
  return OST_OK;
}

static void call_and_check(ost_jit_t* jit, ost_session_t* session, const char* device, float a,
                           float b) {
  ost_tensor_t* in[] = {vector(session, device, a, 1), vector(session, device, b, 2)};
  ost_tensor_t* out[2] = {0};
  uint32_t count = 0;
  OK(ost_jit_call(jit, in, 2, NULL, 0, out, 2, &count, E));
  CHECK(count == 2 && holds(out[0], a * a + b, 3) && holds(out[1], a - b, -1));
  for (int i = 0; i < 2; ++i) {
    ost_tensor_release(in[i]);
    ost_tensor_release(out[i]);
  }
}

/* x * s, where s is a scalar of the call */
static ost_status_t scaled(void* user, ost_tensor_t* const* in, uint32_t count,
                           ost_jit_outputs_t* outputs, ost_error_t* e) {
  ost_session_t* session = user;
  ost_scalar_t s;
  float value;
  CHECK(count == 2);
  FAILS(OST_NOT_FOUND, "no scalar 't'", ost_jit_outputs_scalar(outputs, "t", &s, E));
  OK(ost_jit_outputs_scalar(outputs, "s", &s, E));
  memcpy(&value, &s.bits, sizeof value);
  const ost_attr_t full[] = {{.name = "dtype", .kind = OST_ATTR_INT, .i = OST_DTYPE_F32},
                             {.name = "shape", .kind = OST_ATTR_INTS, .count = 0},
                             {.name = "value", .kind = OST_ATTR_FLOAT, .f = (double)value}};
  ost_tensor_t* factor;
  OK(ost_tensor_op(session, "full", NULL, 0, full, 3, ost_tensor_device(in[0]), &factor, E));
  ost_tensor_t* product = op2(session, "mul", in[0], factor);
  ost_tensor_t* difference = op2(session, "sub", product, in[1]);
  OK(ost_jit_outputs_add(outputs, difference, e));
  ost_tensor_release(factor);
  ost_tensor_release(product);
  ost_tensor_release(difference);
  return OST_OK;
}

static ost_status_t count_up(void* user, ost_error_t* e) {
  ++*(int*)user;
  if (*(int*)user < 3) return OST_OK;
  snprintf(e->message, sizeof e->message, "three are enough");
  return OST_CANCELLED;
}

static void test_call_with(ost_context_t* context, const char* device) {
  ost_session_t* session;
  ost_jit_t* jit;
  ost_jit_options_t options = SIZED(ost_jit_options_t);
  const char* parameters[] = {"x", "y"};
  options.parameters = parameters;
  options.parameter_count = 2;
  options.donated = (const uint32_t[]){0};
  options.donated_count = 1;
  OK(ost_session_create(context, NULL, &session, E));
  FAILS(OST_INVALID_ARGUMENT, "the output mode is not donate",
        ost_jit_create(session, scaled, session, &options, &jit, E));
  options.outputs = OST_JIT_DONATE;
  OK(ost_jit_create(session, scaled, session, &options, &jit, E));
  uint64_t freed = 0;
  for (int i = 0; i < 4; ++i) {
    ost_tensor_t* in[] = {vector(session, device, 1, 2), vector(session, device, 3, 4)};
    const char* names[] = {"y", "x"}; /* in the other order */
    const float two = 2;
    ost_scalar_t s = {"s", OST_DTYPE_F32, 0, 0};
    memcpy(&s.bits, &two, sizeof two);
    ost_jit_call_t call = SIZED(ost_jit_call_t);
    call.inputs = in;
    call.input_count = 2;
    call.names = names;
    call.scalars = &s;
    call.scalar_count = 1;
    ost_tensor_t* out;
    uint32_t count;
    OK(ost_jit_call_with(jit, &call, &out, 1, &count, E));
    CHECK(count == 1 && holds(out, 5, 6));
    float raw[2];
    FAILS(OST_JIT_ERROR, "was donated", ost_tensor_read(in[1], raw, sizeof raw, E));
    CHECK(holds(in[0], 1, 2));
    ost_tensor_release(out);
    ost_tensor_release(in[0]);
    ost_tensor_release(in[1]);
  }
  OK(ost_jit_free_intermediates(jit, &freed, E));
  CHECK(freed > 0); /* the memory of what was donated */
  FAILS(OST_INVALID_ARGUMENT, "call is NULL", ost_jit_call_with(jit, NULL, NULL, 0, NULL, E));
  ost_jit_destroy(jit);
  ost_session_destroy(session);
}

static void test_session_entries(ost_context_t* context, const char* device) {
  ost_session_t* session;
  ost_session_stats_t stats = SIZED(ost_session_stats_t);
  ost_tensor_t *bits, *again, *wrong;
  uint32_t a[4], b[4];
  int runs = 0;
  OK(ost_session_create(context, NULL, &session, E));
  OK(ost_session_seed(session, 7, E));
  OK(ost_tensor_random(session, "bits", &(ost_dim_t){4, NULL}, 1, device, &bits, E));
  OK(ost_session_seed(session, 7, E));
  OK(ost_tensor_random(session, "bits", &(ost_dim_t){4, NULL}, 1, device, &again, E));
  OK(ost_tensor_read(bits, a, sizeof a, E));
  OK(ost_tensor_read(again, b, sizeof b, E));
  CHECK(memcmp(a, b, sizeof a) == 0 && a[0] != a[1]);
  FAILS(OST_INVALID_ARGUMENT, "there are: bits, uniform, normal",
        ost_tensor_random(session, "dice", NULL, 0, device, &wrong, E));
  OK(ost_session_uncaptured(session, count_up, &runs, E));
  OK(ost_session_uncaptured(session, count_up, &runs, E));
  FAILS(OST_CANCELLED, "three are enough", ost_session_uncaptured(session, count_up, &runs, E));
  OK(ost_tensor_freeze(bits, E));
  FAILS(OST_JIT_ERROR, "is frozen", ost_tensor_assign(bits, again, NULL, 0, E));
  OK(ost_session_stats(session, &stats, E));
  CHECK(stats.graph_nodes > 0 && stats.schedules > 0 && stats.eager_runs > 0);
  ost_tensor_release(bits);
  ost_tensor_release(again);
  ost_session_destroy(session);
}

void test_jit(ost_context_t* context, const char* device) {
  calls_t calls = {0};
  ost_jit_t* jit;
  ost_program_t* program;
  test_call_with(context, device);
  test_session_entries(context, device);
  ost_run_stats_t stats = SIZED(ost_run_stats_t);
  ost_jit_options_t options = SIZED(ost_jit_options_t);
  OK(ost_session_create(context, NULL, &calls.session, E));
  options.outputs = 7;
  FAILS(OST_INVALID_ARGUMENT, "output mode 7",
        ost_jit_create(calls.session, function, &calls, &options, &jit, E));
  options.outputs = OST_JIT_FRESH;
  OK(ost_jit_create(calls.session, function, &calls, &options, &jit, E));
  FAILS(OST_NOT_FOUND, "nothing is captured", ost_jit_program(jit, &program, E));
  FAILS(OST_NOT_FOUND, "nothing is captured", ost_jit_stats(jit, &stats, E));
  for (int i = 0; i < 5; ++i) {
    call_and_check(jit, calls.session, device, (float)i, 2);
    CHECK(ost_jit_captured(jit) == (i >= 1));
  }
  CHECK(calls.count == 2); /* eager, captured; then never again */
  OK(ost_jit_stats(jit, &stats, E));
  CHECK(stats.launches >= 1 && stats.compiles == 0);
  OK(ost_jit_program(jit, &program, E));
  ost_program_desc_t desc = SIZED(ost_program_desc_t);
  OK(ost_program_describe(program, &desc, E));
  CHECK(desc.inputs == 2 && desc.outputs == 2);
  ost_program_release(program);

  ost_tensor_t *one = vector(calls.session, device, 1, 1), *out[2];
  uint32_t count = 0;
  FAILS(OST_JIT_ERROR, "1 inputs", ost_jit_call(jit, &one, 1, NULL, 0, out, 2, &count, E));
  ost_jit_reset(jit);
  CHECK(!ost_jit_captured(jit));
  calls.fail = 1;
  ost_tensor_t* two[] = {one, one};
  FAILS(OST_CANCELLED, "the test wants it", ost_jit_call(jit, two, 2, NULL, 0, out, 2, &count, E));
  calls.fail = 0;
  FAILS(OST_INVALID_ARGUMENT, "2 results, there is room for 1",
        ost_jit_call(jit, two, 2, NULL, 0, out, 1, &count, E));
  ost_tensor_release(one);
  ost_jit_destroy(jit);
  ost_jit_destroy(NULL);
  ost_session_destroy(calls.session);
}
