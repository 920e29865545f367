/* What needs no handle, and contexts. */
#include "check.h"

static uint32_t messages;
static void count_message(void* user, uint32_t level, const char* message) {
  CHECK(user == &messages);
  CHECK(level <= OST_LOG_DEBUG && strlen(message) > 0);
  ++messages;
}

void test_library(void) {
  ost_dtype_t dtype = 0;
  char hex[65];
  CHECK(ost_version() == OST_VERSION);
  CHECK(strcmp(ost_version_text(), "0.1.0") == 0);
  CHECK(strcmp(ost_status_text(OST_NOT_FOUND), "not_found") == 0);
  CHECK(strcmp(ost_dtype_text(OST_DTYPE_BF16), "bf16") == 0);
  CHECK(ost_dtype_text(0) == NULL && ost_dtype_text(99) == NULL);
  CHECK(ost_dtype_bytes(OST_DTYPE_BOOL) == 1 && ost_dtype_bytes(OST_DTYPE_F64) == 8 &&
        ost_dtype_bytes(99) == 0);
  OK(ost_dtype_parse("u16", &dtype, E));
  CHECK(dtype == OST_DTYPE_U16);
  FAILS(OST_NOT_FOUND, "'float' is no element type", ost_dtype_parse("float", &dtype, E));
  CHECK(dtype == OST_DTYPE_U16); /* untouched */
  ost_sha256("abc", 3, hex);
  CHECK(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
  ost_sha256(NULL, 0, hex);
  CHECK(strcmp(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == 0);

  const uint32_t count = ost_env_count();
  CHECK(count > 0);
  int has_cache = 0;
  for (uint32_t i = 0; i < count; ++i) {
    ost_env_desc_t desc = SIZED(ost_env_desc_t);
    OK(ost_env_at(i, &desc, E));
    CHECK(strncmp(desc.name, "OSTINATO_", 9) == 0 && desc.value != NULL && strlen(desc.origin) > 0);
    has_cache |= strcmp(desc.name, "OSTINATO_CACHE_DIR") == 0;
  }
  CHECK(has_cache);
  ost_env_desc_t desc = SIZED(ost_env_desc_t);
  FAILS(OST_INVALID_ARGUMENT, "environment variable", ost_env_at(count, &desc, E));
  desc.size = 4;
  FAILS(OST_INVALID_ARGUMENT, "size is 4", ost_env_at(0, &desc, E));
}

/* A context that names a plugin which is none: no error of the context, but a record, and only ref.
 */
static void test_bad_plugin(void) {
  ost_context_t* context;
  const char* file = "/nonexistent/plugin.so";
  const char* search = folder;
  ost_context_options_t options = SIZED(ost_context_options_t);
  options.flags = OST_CONTEXT_IGNORE_ENVIRONMENT;
  options.plugin_files = &file;
  options.plugin_file_count = 1;
  options.plugin_folders = &search;
  options.plugin_folder_count = 1;
  options.cache_folder = "off";
  ost_log_set(count_message, &messages, OST_LOG_DEBUG);
  OK(ost_context_create(&options, &context, E));
  ost_log_set(NULL, NULL, 0);
  CHECK(strcmp(ost_context_cache_folder(context), "") == 0);
  CHECK(ost_context_plugin_count(context) == 2);
  ost_plugin_desc_t plugin = SIZED(ost_plugin_desc_t);
  OK(ost_context_plugin_at(context, 0, &plugin, E));
  CHECK(strcmp(plugin.path, file) == 0 && strcmp(plugin.status, "failed") == 0 &&
        strlen(plugin.reason) > 0);
  CHECK(strlen(plugin.stage) > 0 && plugin.driver[0] == '\0');
  FAILS(OST_INVALID_ARGUMENT, "plugin record 2", ost_context_plugin_at(context, 2, &plugin, E));
  CHECK(ost_context_plugin_folder_count(context) == 1);
  CHECK(ost_context_plugin_folder_at(context, 0) != NULL &&
        ost_context_plugin_folder_at(context, 1) == NULL);
  CHECK(ost_context_device_count(context) == 1);
  ost_context_destroy(context);

  options.size = 8;
  FAILS(OST_INVALID_ARGUMENT, "size is 8", ost_context_create(&options, &context, E));
  CHECK(context == NULL);
  struct {
    ost_context_options_t known;
    uint64_t newer;
  } future = {SIZED(ost_context_options_t), 0};
  future.known.size = sizeof future;
  future.known.flags = OST_CONTEXT_NO_PLUGIN_SEARCH;
  OK(ost_context_create(&future.known, &context, E));
  ost_context_destroy(context);
  future.newer = 1;
  FAILS(OST_INCOMPATIBLE, "does not know it", ost_context_create(&future.known, &context, E));
  ost_context_destroy(NULL);
}

static void count_entry(void* user, const ost_cache_entry_t* entry) {
  CHECK(strlen(entry->key) == 64 && entry->bytes > 0 && strlen(entry->path) > 0 &&
        entry->used_ns != 0);
  ++*(uint32_t*)user;
}

void test_context(ost_context_t* context) {
  ost_device_state_t state = SIZED(ost_device_state_t);
  ost_compile_stats_t stats = SIZED(ost_compile_stats_t);
  ost_device_desc_t device = SIZED(ost_device_desc_t);
  test_bad_plugin();
  OK(ost_context_open_device(context, "ref", &state, E));
  CHECK(strcmp(state.id, "ref:0") == 0 && state.exact == 1 && state.reason[0] == '\0');
  OK(ost_context_open_device(context, NULL, &state, E)); /* auto */
  FAILS(OST_UNAVAILABLE, "nothing:0", ost_context_open_device(context, "nothing:0", &state, E));
  FAILS(OST_INVALID_ARGUMENT, "context is NULL", ost_context_open_device(NULL, "ref", &state, E));
  FAILS(OST_INVALID_ARGUMENT, "device 1000", ost_context_device_at(context, 1000, &device, E));
  CHECK(ost_context_device_count(NULL) == 0 && ost_context_plugin_count(NULL) == 0);

  /* Something to find in the cache. */
  ost_program_t* program = small_program();
  ost_instance_t* instance;
  const char* name = "ref:0";
  OK(ost_instance_create(context, program, &name, 1, NULL, &instance, E));
  ost_instance_destroy(instance);
  ost_program_release(program);
  OK(ost_context_compile_stats(context, &stats, E));
  CHECK(stats.compiles + stats.cache_hits > 0);
  CHECK(strstr(ost_context_cache_folder(context), folder) != NULL);
  uint32_t entries = 0, removed = 0, left = 0;
  OK(ost_context_cache_list(context, count_entry, &entries, E));
  CHECK(entries > 0);
  OK(ost_context_cache_prune(context, UINT64_MAX, count_entry, &removed, E));
  CHECK(removed == 0);
  OK(ost_context_cache_prune(context, 0, count_entry, &removed, E));
  CHECK(removed == entries);
  OK(ost_context_cache_list(context, count_entry, &left, E));
  CHECK(left == 0);
}

static void count_release(void* user) { ++*(int*)user; }

static void test_mapped_buffer(ost_context_t* context, const char* device) {
  ost_buffer_t *buffer, *empty;
  float data[] = {5, 6};
  void* mapped = NULL;
  OK(ost_buffer_create(context, device, sizeof data, &buffer, E));
  OK(ost_buffer_create(context, device, 0, &empty, E));
  OK(ost_buffer_write(buffer, 0, data, sizeof data, E));
  const ost_status_t status = ost_buffer_map(buffer, &mapped, E);
  CHECK(status == OST_OK || (status == OST_UNIMPLEMENTED && mapped == NULL));
  if (status == OST_OK) CHECK(((float*)mapped)[1] == 6);
  OK(ost_buffer_map(empty, &mapped, E));
  CHECK(mapped == NULL);
  FAILS(OST_INVALID_ARGUMENT, "buffer is NULL", ost_buffer_map(NULL, &mapped, E));
  FAILS(OST_INVALID_ARGUMENT, "out_data is NULL", ost_buffer_map(buffer, NULL, E));
  ost_buffer_release(buffer);
  ost_buffer_release(empty);
}

void test_buffers(ost_context_t* context, const char* device) {
  ost_buffer_t* buffer;
  float data[] = {1, 2, 3, 4}, back[4] = {0};
  OK(ost_buffer_create(context, device, sizeof data, &buffer, E));
  CHECK(ost_buffer_bytes(buffer) == sizeof data && ost_buffer_bytes(NULL) == 0);
  OK(ost_buffer_write(buffer, 0, data, sizeof data, E));
  OK(ost_buffer_read(buffer, 4, back, 8, E));
  CHECK(back[0] == 2 && back[1] == 3);
  OK(ost_buffer_read(buffer, 16, NULL, 0, E));
  FAILS(OST_INVALID_ARGUMENT, "outside the buffer", ost_buffer_read(buffer, 12, back, 8, E));
  FAILS(OST_INVALID_ARGUMENT, "outside the buffer",
        ost_buffer_write(buffer, UINT64_MAX, data, 8, E));
  ost_buffer_retain(buffer);
  ost_buffer_release(buffer);
  CHECK(ost_buffer_bytes(buffer) == sizeof data);
  ost_buffer_release(buffer);
  ost_buffer_release(NULL);

  void* memory = aligned_alloc(64, 64);
  memset(memory, 7, 64);
  const ost_status_t status = ost_buffer_import(context, device, memory, 64, &buffer, E);
  CHECK(status == OST_OK || (status == OST_UNIMPLEMENTED && buffer == NULL));
  if (status == OST_OK) {
    unsigned char byte = 0;
    OK(ost_buffer_read(buffer, 63, &byte, 1, E));
    CHECK(byte == 7);
    ost_buffer_release(buffer);
  }
  int released = 0;
  if (status == OST_OK) {
    OK(ost_buffer_import_owned(context, device, memory, 64, count_release, &released, &buffer, E));
    void* mapped = NULL;
    OK(ost_buffer_map(buffer, &mapped, E));
    CHECK(mapped == memory && released == 0);
    ost_buffer_retain(buffer);
    ost_buffer_release(buffer);
    CHECK(released == 0);
    ost_buffer_release(buffer);
    CHECK(released == 1);
  }
  free(memory);
  FAILS(OST_INVALID_ARGUMENT, "data is NULL",
        ost_buffer_import(context, device, NULL, 64, &buffer, E));
  FAILS(OST_INVALID_ARGUMENT, "data is NULL",
        ost_buffer_import_owned(context, device, NULL, 64, count_release, &released, &buffer, E));
  FAILS(OST_INVALID_ARGUMENT, "release is NULL",
        ost_buffer_import_owned(context, device, data, 16, NULL, NULL, &buffer, E));
  FAILS(OST_UNAVAILABLE, "no device nowhere:0",
        ost_buffer_import_owned(context, "nowhere:0", data, 16, count_release, &released, &buffer,
                                E));
  CHECK(released == (status == OST_OK));
  test_mapped_buffer(context, device);
}
