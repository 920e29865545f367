/* Programs and files of arrays. */
#include "check.h"

static const char* file(const char* name) {
  static char path[2][1024];
  static int next;
  next = !next;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static void test_compile_options(void) {
  ost_graph_t* graph;
  ost_program_t* program;
  ost_node_t x;
  ost_compile_options_t options = SIZED(ost_compile_options_t);
  OK(ost_graph_create(&graph, E));
  FAILS(OST_INVALID_ARGUMENT, "no outputs", ost_graph_compile(graph, NULL, &program, E));
  CHECK(program == NULL);
  OK(ost_graph_input_text(graph, "x", "64,64", 0, &x, E));
  OK(ost_graph_expression(graph, "matmul(matmul(x, x), x)", NULL, E));
  ost_program_desc_t desc = SIZED(ost_program_desc_t);
  options.numerics = OST_NUMERICS_FAST;
  options.no_simplify = 1;
  OK(ost_graph_compile(graph, &options, &program, E));
  OK(ost_program_describe(program, &desc, E));
  CHECK(desc.numerics == OST_NUMERICS_FAST && desc.arena_bytes > 0);
  ost_program_release(program);
  options = SIZED(ost_compile_options_t);
  options.arena_limit = 16;
  CHECK(ost_graph_compile(graph, &options, &program, E) != OST_OK);
  CHECK(strstr(last_error.message, "16") != NULL);
  options = SIZED(ost_compile_options_t);
  options.numerics = 9;
  FAILS(OST_INVALID_ARGUMENT, "numerics 9", ost_graph_compile(graph, &options, &program, E));
  options = SIZED(ost_compile_options_t);
  options.memory_budget = -1;
  FAILS(OST_INVALID_ARGUMENT, "memory_budget is -1",
        ost_graph_compile(graph, &options, &program, E));
  ost_graph_destroy(graph);
}

static void test_description(ost_program_t* program) {
  ost_program_desc_t desc = SIZED(ost_program_desc_t);
  ost_var_t var;
  ost_type_desc_t type = SIZED(ost_type_desc_t);
  int64_t shape[OST_MAX_RANK];
  OK(ost_program_describe(program, &desc, E));
  CHECK(strlen(desc.id) == 64 && strlen(desc.summary) > 0);
  CHECK(desc.vars == 1 && desc.inputs == 1 && desc.outputs == 1 && desc.constants == 1 &&
        desc.states == 0 && desc.devices == 1);
  CHECK(desc.kernels >= 1 && desc.launches >= 1 && desc.groups >= 1 && desc.copies == 0 &&
        desc.constant_bytes == 24);
  OK(ost_program_var_at(program, 0, &var, E));
  CHECK(strcmp(var.name, "n") == 0 && var.min == 0 && var.max == 4);
  FAILS(OST_INVALID_ARGUMENT, "variable 1", ost_program_var_at(program, 1, &var, E));
  OK(ost_program_input_at(program, 0, &type, E));
  CHECK(strcmp(type.name, "x") == 0 && strcmp(type.dims[0].expr, "n") == 0);
  OK(ost_program_output_at(program, 0, &type, E));
  CHECK(strcmp(type.name, "y") == 0 && type.dims[1].value == 3);
  FAILS(OST_INVALID_ARGUMENT, "state 0", ost_program_state_at(program, 0, &type, E));
  const ost_var_value_t three = {"n", 3}, five = {"n", 5};
  OK(ost_program_input_shape(program, 0, &three, 1, shape, E));
  CHECK(shape[0] == 3 && shape[1] == 2);
  CHECK(ost_program_input_shape(program, 0, &five, 1, shape, E) != OST_OK);
  CHECK(ost_program_input_shape(program, 0, NULL, 0, shape, E) != OST_OK);
  CHECK(ost_program_kernel_name(program, 0) != NULL &&
        ost_program_kernel_name(program, 1000) == NULL);
}

static void test_reports(ost_program_t* program) {
  static text_t text;
  const uint32_t formats[] = {OST_FORMAT_TEXT, OST_FORMAT_JSON,     OST_FORMAT_DOT,
                              OST_FORMAT_HTML, OST_FORMAT_MANIFEST, OST_FORMAT_KIR};
  for (uint32_t i = 0; i < COUNT(formats); ++i) {
    const ost_sink_t sink = sink_of(&text);
    OK(ost_program_inspect(program, formats[i], &sink, E));
    CHECK(text.size > 100);
  }
  ost_sink_t sink = sink_of(&text);
  FAILS(OST_INVALID_ARGUMENT, "no format 99", ost_program_inspect(program, 99, &sink, E));
  OK(ost_program_explain(program, OST_FORMAT_JSON, &sink, E));
  CHECK(strstr(text.data, "\"groups\"") != NULL && strstr(text.data, "\"summary\"") != NULL);
  sink = sink_of(&text);
  OK(ost_program_explain(program, OST_FORMAT_TEXT, &sink, E));
  CHECK(strstr(text.data, "why") != NULL);
  FAILS(OST_INVALID_ARGUMENT, "no format 3",
        ost_program_explain(program, OST_FORMAT_DOT, &sink, E));
}

static void test_files(ost_program_t* program) {
  ost_program_t *loaded, *parsed;
  ost_program_desc_t a = SIZED(ost_program_desc_t), b = SIZED(ost_program_desc_t);
  ost_save_options_t save = SIZED(ost_save_options_t);
  ost_load_options_t load = SIZED(ost_load_options_t);
  static text_t text;
  OK(ost_program_save(program, file("m.ost.json"), &save, E));
  OK(ost_program_load(file("m.ost.json"), &load, &loaded, E));
  OK(ost_program_describe(program, &a, E));
  OK(ost_program_describe(loaded, &b, E));
  CHECK(strcmp(a.id, b.id) == 0);
  uint32_t count = 99;
  ost_sink_t sink = sink_of(&text);
  OK(ost_program_diff(program, loaded, OST_FORMAT_TEXT, &sink, &count, E));
  CHECK(count == 0 && text.size == 0);
  sink = sink_of(&text);
  OK(ost_program_inspect(program, OST_FORMAT_MANIFEST, &sink, E));
  OK(ost_program_parse(text.data, text.size, NULL, &parsed, E));
  OK(ost_program_describe(parsed, &b, E));
  CHECK(strcmp(a.id, b.id) == 0);
  ost_program_release(loaded);
  FAILS(OST_NOT_FOUND, "nothing.json", ost_program_load(file("nothing.json"), NULL, &loaded, E));
  CHECK(loaded == NULL);
  CHECK(ost_program_parse(text.data, text.size / 2, NULL, &loaded, E) != OST_OK && loaded == NULL);
  ost_program_retain(parsed);
  ost_program_release(parsed);
  ost_program_release(parsed);
  ost_program_release(NULL);
}

static void test_link(ost_program_t* program, ost_context_t* context) {
  ost_program_t* linked;
  ost_program_desc_t a = SIZED(ost_program_desc_t), b = SIZED(ost_program_desc_t);
  const char *target = "ref", *nobody = "nobody:0", *too_far = "ref:7";
  OK(ost_program_link(program, context, &target, 1, &linked, E));
  OK(ost_program_describe(program, &a, E));
  OK(ost_program_describe(linked, &b, E));
  CHECK(a.images == 0 && b.images == b.kernels && strcmp(a.id, b.id) == 0);
  ost_program_release(linked);
  CHECK(ost_program_link(program, context, &nobody, 1, &linked, E) != OST_OK &&
        strstr(last_error.message, "nobody") != NULL);
  FAILS(OST_UNAVAILABLE, "ref:7", ost_program_link(program, context, &too_far, 1, &linked, E));
}

void test_programs(ost_context_t* context) {
  ost_program_t* program = small_program();
  test_compile_options();
  test_description(program);
  test_reports(program);
  test_files(program);
  test_link(program, context);
  ost_program_release(program);
}

void test_archives(void) {
  ost_archive_t *archive, *loaded;
  const int64_t shape[] = {2, 2};
  const float values[] = {1, 2, 3, 4};
  const ost_array_t array = f32_array(shape, 2, values);
  const char* names[] = {"a.npz", "a.safetensors"};
  OK(ost_archive_create(&archive, E));
  OK(ost_archive_add(archive, "first", &array, E));
  OK(ost_archive_save(archive, file("a.npy"), E));
  OK(ost_archive_add(archive, "second", &array, E));
  FAILS(OST_INVALID_ARGUMENT, "holds one array, there are 2",
        ost_archive_save(archive, file("a.npy"), E));
  FAILS(OST_INVALID_ARGUMENT, "unknown kind of file", ost_archive_save(archive, file("a.txt"), E));
  for (uint32_t i = 0; i < COUNT(names); ++i) {
    ost_type_desc_t type = SIZED(ost_type_desc_t);
    ost_array_t back;
    uint32_t index = 99;
    OK(ost_archive_save(archive, file(names[i]), E));
    OK(ost_archive_load(file(names[i]), &loaded, E));
    CHECK(ost_archive_count(loaded) == 2 && ost_archive_count(NULL) == 0);
    OK(ost_archive_type_at(loaded, 1, &type, E));
    CHECK(strcmp(type.name, "second") == 0 && type.rank == 2 && type.dims[1].value == 2 &&
          type.dtype == OST_DTYPE_F32);
    OK(ost_archive_find(loaded, "first", &index, E));
    CHECK(index == 0);
    FAILS(OST_NOT_FOUND, "there are: first, second", ost_archive_find(loaded, "third", &index, E));
    FAILS(OST_NOT_FOUND, "2 arrays", ost_archive_find(loaded, NULL, &index, E));
    OK(ost_archive_array_at(loaded, 1, &back, E));
    CHECK(back.rank == 2 && back.shape[0] == 2 && memcmp(back.data, values, sizeof values) == 0);
    FAILS(OST_INVALID_ARGUMENT, "array 2", ost_archive_array_at(loaded, 2, &back, E));
    ost_archive_destroy(loaded);
  }
  uint32_t only = 99;
  OK(ost_archive_load(file("a.npy"), &loaded, E));
  OK(ost_archive_find(loaded, NULL, &only, E));
  CHECK(only == 0);
  ost_archive_destroy(loaded);
  ost_archive_destroy(archive);
  ost_archive_destroy(NULL);
  FAILS(OST_NOT_FOUND, "nothing.npy", ost_archive_load(file("nothing.npy"), &loaded, E));
  const unsigned char two = 2;
  const ost_array_t no_bool = {OST_DTYPE_BOOL, 0, NULL, &two};
  OK(ost_archive_create(&archive, E));
  FAILS(OST_INVALID_ARGUMENT, "wanted 0 or 1", ost_archive_add(archive, "b", &no_bool, E));
  ost_archive_destroy(archive);
}
