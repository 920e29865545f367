/* Functions: expressions that are compiled once and called. */
#include "check.h"

void test_functions(ost_context_t* context, const char* device) {
  const ost_named_type_t types[] = {{"A", "2,2"}, {"B", "2,2"}};
  const ost_named_type_t other[] = {{"A", "4,2"}, {"B", "2,2"}};
  const int64_t shape[] = {2, 2};
  const float a[] = {1, -2, 3, 4}, b[] = {1, 0, 0, 1};
  const ost_binding_t inputs[] = {{"A", f32_array(shape, 2, a), NULL, 0},
                                  {"B", f32_array(shape, 2, b), NULL, 0}};
  ost_function_stats_t before = SIZED(ost_function_stats_t), after = SIZED(ost_function_stats_t);
  ost_function_t *f, *g, *h;
  OK(ost_context_function_stats(context, &before, E));
  OK(ost_function_create(context, "relu(A @ B) + 1", types, 2, NULL, device, &f, E));
  OK(ost_function_create(context, "relu(A @ B) + 1", types, 2, NULL, device, &g, E));
  OK(ost_function_create(context, "relu(A @ B) + 1", other, 2, NULL, device, &h, E));
  OK(ost_context_function_stats(context, &after, E));
  CHECK(after.compiled == before.compiled + 2 && after.reused == before.reused + 1);
  CHECK(after.kept == before.kept + 2);
  CHECK(ost_function_instance(f) == ost_function_instance(g));
  CHECK(ost_function_instance(f) != ost_function_instance(h));
  CHECK(strcmp(ost_function_device(f), device) == 0);
  ost_function_release(h);
  ost_function_release(g);

  float result[4];
  OK(ost_function_call(f, inputs, 2, NULL, 0, E));
  OK(ost_instance_read_output(ost_function_instance(f), 0, result, sizeof result, E));
  CHECK(result[0] == 2 && result[1] == 1 && result[2] == 4 && result[3] == 5);
  FAILS(OST_INVALID_ARGUMENT, "B", ost_function_call(f, inputs, 1, NULL, 0, E));

  ost_program_t* program;
  static text_t text;
  ost_sink_t sink = sink_of(&text);
  OK(ost_function_program(f, &program, E));
  ost_group_desc_t group = SIZED(ost_group_desc_t);
  OK(ost_program_group_at(program, 0, &group, E));
  CHECK(strcmp(group.kind, "gemm_epilogue") == 0 && strstr(group.ops, "relu") != NULL);
  CHECK(strlen(group.why) > 0 && strlen(group.ended) > 0 && strlen(group.kernel) > 0);
  CHECK(group.step == 0 && group.bytes_saved > 0 && strcmp(group.tiles, "") == 0);
  FAILS(OST_INVALID_ARGUMENT, "group 7", ost_program_group_at(program, 7, &group, E));
  ost_program_release(program);
  OK(ost_function_source(f, &sink, E));
  CHECK(strstr(text.data, "contract") != NULL);
  ost_function_retain(f);
  ost_function_release(f);
  ost_function_release(f);
  ost_function_release(NULL);
  CHECK(ost_function_instance(NULL) == NULL && ost_function_device(NULL) == NULL);

  FAILS(OST_INVALID_ARGUMENT, "^",
        ost_function_create(context, "relu(A", types, 2, NULL, device, &f, E));
  CHECK(f == NULL);
  FAILS(OST_UNAVAILABLE, "nobody:3",
        ost_function_create(context, "relu(A)", types, 1, NULL, "nobody:3", &f, E));
}
