/* A driver in C with <ostinato/plugin_sync.h>: a device that has memory, a queue and timelines, and
 * whose only kernel writes zeros. Thirteen entries, as the header says. */
#define OST_SYNC_DISPATCH dispatch
#include <ostinato/plugin_sync.h>

struct ost_driver_t {
  int unused;
};
struct ost_device_t {
  int unused;
};
struct ost_executable_t {
  int unused;
};

static ost_driver_t the_driver;

static ost_status_t driver_create(const ost_host_table_t* host, ost_driver_t** out,
                                  ost_error_t* error) {
  (void)host, (void)error;
  *out = &the_driver;
  return OST_OK;
}
static void driver_destroy(ost_driver_t* driver) { (void)driver; }
static ost_status_t device_count(ost_driver_t* driver, uint32_t* out, ost_sink_t reason,
                                 ost_error_t* error) {
  (void)driver, (void)reason, (void)error;
  *out = 1;
  return OST_OK;
}
static ost_status_t device_info(ost_driver_t* driver, uint32_t index, ost_device_info_t* out,
                                ost_error_t* error) {
  uint32_t size;
  (void)driver;
  if (index != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "device %u of 1", (unsigned)index);
  if (out == NULL || out->size < sizeof *out)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 2, "ost_device_info_t is too short");
  size = out->size;
  memset(out, 0, sizeof *out);
  out->size = size;
  out->kind = OST_DEVICE_KIND_ACCELERATOR;
  out->flags = OST_DEVICE_UNIFIED;
  out->dtypes = 1u << OST_DTYPE_F32;
  ost_sync_text(out->name, sizeof out->name, "memory only");
  ost_sync_text(out->target, sizeof out->target, "none");
  out->form_count = 1;
  out->forms[0] = OST_FORM_KIR_L1;
  out->max_group = out->subgroup = out->threads = 1;
  out->max_alloc = UINT64_MAX / 4;
  out->min_align = OST_SYNC_ALIGN;
  return OST_OK;
}
static ost_status_t device_create(ost_driver_t* driver, uint32_t index, ost_device_t** out,
                                  ost_error_t* error) {
  (void)driver;
  if (index != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "device %u of 1", (unsigned)index);
  *out = (ost_device_t*)calloc(1, sizeof **out);
  return *out != NULL ? OST_OK : ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory");
}
static void device_destroy(ost_device_t* device) { free(device); }
static ost_status_t device_status(ost_device_t* device, ost_error_t* error) {
  (void)device, (void)error;
  return OST_OK;
}
static ost_status_t compiler_key(ost_driver_t* driver, ost_str_t target, ost_sink_t out,
                                 ost_error_t* error) {
  (void)driver, (void)target, (void)error;
  ost_sync_put(out, "zero/1", 6);
  return OST_OK;
}
static ost_status_t compile(ost_driver_t* driver, const ost_compile_t* job, ost_error_t* error) {
  (void)driver;
  const ost_status_t status = ost_sync_check(job, sizeof *job, "ost_compile_t", error);
  if (status == OST_OK) ost_sync_put(job->image, "zero", 4);
  return status;
}
static ost_status_t image_check(ost_driver_t* driver, const ost_device_info_t* info,
                                ost_bytes_t image, ost_fit_t* out, ost_sink_t reason,
                                ost_error_t* error) {
  const int good = image.size == 4 && memcmp(image.data, "zero", 4) == 0;
  (void)driver, (void)info, (void)error;
  *out = good ? OST_FIT_OPTIMAL : OST_FIT_UNUSABLE;
  if (!good) ost_sync_put(reason, "not \"zero\"", 10);
  return OST_OK;
}
static ost_status_t executable_load(ost_device_t* device, ost_bytes_t image, ost_str_t path,
                                    ost_executable_t** out, ost_error_t* error) {
  (void)device, (void)path;
  if (image.size != 4) return ost_sync_error(error, OST_DATA_LOSS, 0, "not \"zero\"");
  *out = (ost_executable_t*)calloc(1, sizeof **out);
  return *out != NULL ? OST_OK : ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory");
}
static void executable_unload(ost_executable_t* executable) { free(executable); }
static ost_status_t executable_entry(ost_executable_t* executable, ost_str_t name, uint32_t* out,
                                     ost_error_t* error) {
  (void)executable, (void)name, (void)error;
  *out = 0;
  return OST_OK;
}

static ost_status_t dispatch(ost_device_t* device, ost_executable_t* executable,
                             const ost_command_t* command, const ost_sync_range_t* params,
                             ost_error_t* error) {
  (void)device, (void)executable, (void)error;
  if (command->ref_count > 0) memset(params[0].data, 0, (size_t)params[0].size);
  return OST_OK;
}

static const ost_driver_table_t table = {.size = sizeof(ost_driver_table_t),
                                         OST_SYNC_MEMORY_ENTRIES,
                                         OST_SYNC_QUEUE_ENTRIES,
                                         .driver_create = driver_create,
                                         .driver_destroy = driver_destroy,
                                         .device_count = device_count,
                                         .device_info = device_info,
                                         .device_create = device_create,
                                         .device_destroy = device_destroy,
                                         .device_status = device_status,
                                         .compiler_key = compiler_key,
                                         .compile = compile,
                                         .image_check = image_check,
                                         .executable_load = executable_load,
                                         .executable_unload = executable_unload,
                                         .executable_entry = executable_entry};

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return ost_sync_negotiate(in, out, "memory_only", "1.0", "Test", &table);
}
