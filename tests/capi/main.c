/* The C ABI from C: every entry point, on every device of this build. Usage: capi_c FOLDER */
#include "check.h"

ost_error_t last_error;
const char* folder;

static void append(void* context, const void* data, uint64_t size) {
  text_t* text = context;
  CHECK(text->size + size < sizeof text->data);
  memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
  ++text->writes;
}

ost_sink_t sink_of(text_t* text) {
  text->size = 0;
  text->data[0] = '\0';
  text->writes = 0;
  return (ost_sink_t){text, append};
}

ost_array_t f32_array(const int64_t* shape, uint32_t rank, const float* data) {
  return (ost_array_t){OST_DTYPE_F32, rank, shape, data};
}

ost_program_t* small_program(void) {
  ost_graph_t* graph;
  ost_node_t x, w;
  ost_program_t* program;
  const int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, -1, -2, -3};
  const ost_array_t data = f32_array(shape, 2, values);
  OK(ost_graph_create(&graph, E));
  OK(ost_graph_input_text(graph, "x", "n:0..4, 2", 0, &x, E));
  OK(ost_graph_constant(graph, "w", &data, NULL, NULL, &w, E));
  OK(ost_graph_expression(graph, "y = relu(matmul(x, w)) + 1", NULL, E));
  OK(ost_graph_compile(graph, NULL, &program, E));
  ost_graph_destroy(graph);
  return program;
}

int main(int argc, char** argv) {
  ost_context_t* context;
  ost_context_options_t options = SIZED(ost_context_options_t);
  ost_option_t threads = {"threads", "2"};
  char cache[1024];
  CHECK(argc == 2);
  folder = argv[1];
  snprintf(cache, sizeof cache, "%s/cache", folder);
  options.cache_folder = cache;
  options.driver_options = &threads;
  options.driver_option_count = 1;
  OK(ost_context_create(&options, &context, E));
  test_library();
  test_context(context);
  test_graphs();
  test_expressions();
  test_archives();
  test_programs(context);
  uint32_t devices = 0;
  for (uint32_t i = 0; i < ost_context_device_count(context); ++i) {
    ost_device_desc_t device = SIZED(ost_device_desc_t);
    OK(ost_context_device_at(context, i, &device, E));
    if (!device.available) continue;
    ++devices;
    test_buffers(context, device.id);
    test_instances(context, device.id);
    test_states(context, device.id);
    test_tensors(context, device.id);
    test_jit(context, device.id);
    test_functions(context, device.id);
    printf("%s: ok\n", device.id);
  }
  CHECK(devices > 0);
  ost_context_destroy(context);
  return 0;
}
