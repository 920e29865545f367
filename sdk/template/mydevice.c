/* The smallest device: it compiles C99 with the system's compiler and runs it here. What a driver
 * must do is in <ostinato/plugin.h>; <ostinato/plugin_sync.h> brings queue, timelines and memory of
 * a device that has ended its work when a call returns. docs/plugin-guide.md explains it. */
#define _GNU_SOURCE
#define OST_SYNC_DISPATCH mydevice_dispatch
#include <ostinato/plugin_sync.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define TARGET "c99" /* all that an image depends on; add the instruction set if the flags do */
#define FLAGS "-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-s"
enum { MAX_ENTRIES = 8, MAX_PARAMS = 256 };
typedef void (*kernel_fn)(void* const* params, const int64_t* vars, const uint64_t* group);

struct ost_driver_t {
  const ost_host_table_t* host;
};
struct ost_device_t {
  int unused; /* what a real device has: a context, a stream, ... */
};
struct ost_executable_t {
  void* library;
  uint32_t count;
  kernel_fn kernels[MAX_ENTRIES];
  const uint32_t* args[MAX_ENTRIES]; /* how many parameters and variables it takes */
};

/* --- the driver and its one device --- */
static ost_status_t driver_create(const ost_host_table_t* host, ost_driver_t** out,
                                  ost_error_t* error) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a driver");
  (*out)->host = host;
  return OST_OK;
}

static void driver_destroy(ost_driver_t* driver) { free(driver); }
static void device_destroy(ost_device_t* device) { free(device); }

static ost_status_t device_count(ost_driver_t* driver, uint32_t* out, ost_sink_t reason,
                                 ost_error_t* error) {
  (void)driver, (void)reason, (void)error;
  *out = 1;
  return OST_OK;
}

/* clang-format off */
static ost_status_t device_info(ost_driver_t* driver, uint32_t index, ost_device_info_t* out,
                                ost_error_t* error) {
  (void)driver;
  if (index != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "device %u of 1", index);
  if (out == NULL || out->size < sizeof *out)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 2, "ost_device_info_t is too short");
  *out = (ost_device_info_t){.size = out->size, .kind = OST_DEVICE_KIND_CPU,
                             .flags = OST_DEVICE_UNIFIED, .dtypes = 0x3ffe, /* all of them */
                             .name = "C99 on the host", .target = TARGET,
                             .form_count = 1, .forms = {OST_FORM_C99},
                             .max_group = 1, .subgroup = 1, .threads = 1,
                             .max_alloc = UINT64_MAX / 4, .min_align = OST_SYNC_ALIGN};
  return OST_OK;
}
/* clang-format on */

static ost_status_t device_create(ost_driver_t* driver, uint32_t index, ost_device_t** out,
                                  ost_error_t* error) {
  (void)driver;
  if (index != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "device %u of 1", index);
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a device");
  return OST_OK;
}

static ost_status_t device_status(ost_device_t* d, ost_error_t* e) {
  return (void)d, (void)e, OST_OK;
}

/* --- files --- */
static int write_file(const char* path, const void* data, uint64_t size) {
  FILE* file = fopen(path, "wb");
  int ok = file != NULL && (size == 0 || fwrite(data, 1, (size_t)size, file) == size);
  return file != NULL && fclose(file) == 0 && ok;
}

/* Gives the content to the sink; returns its size. */
static uint64_t send_file(const char* path, ost_sink_t sink) {
  char block[4096];
  uint64_t size = 0;
  FILE* file = fopen(path, "rb");
  for (size_t n; file != NULL && (n = fread(block, 1, sizeof block, file)) > 0; size += n)
    ost_sync_put(sink, block, n);
  if (file != NULL) fclose(file);
  return size;
}

static int make_folder(char* folder, size_t size) {
  const char* tmp = getenv("TMPDIR");
  snprintf(folder, size, "%s/mydevice-XXXXXX", tmp != NULL ? tmp : "/tmp");
  return mkdtemp(folder) != NULL;
}

/* --- the compiler --- */
static ost_status_t compiler_key(ost_driver_t* driver, ost_str_t target, ost_sink_t out,
                                 ost_error_t* error) {
  (void)driver;
  if (target.size != strlen(TARGET) || memcmp(target.data, TARGET, target.size) != 0)
    return ost_sync_error(error, OST_NOT_FOUND, 0, "the target is not '%s'", TARGET);
  ost_sync_put(out, "cc/1", 4); /* a new one whenever the same source gives other code */
  return OST_OK;
}

static int run_compiler(ost_driver_t* driver, const char* source, const char* image,
                        const char* messages) {
  const char* cc = driver->host->option ? driver->host->option(driver->host->context, "cc") : NULL;
  const char* arguments[] = {cc != NULL ? cc : "cc", FLAGS, "-o", image, source, "-lm", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = -1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (posix_spawnp(&child, arguments[0], &actions, NULL, (char**)arguments, environ) == 0)
    waitpid(child, &status, 0);
  posix_spawn_file_actions_destroy(&actions);
  return status == 0;
}

static ost_status_t compile(ost_driver_t* driver, const ost_compile_t* job, ost_error_t* error) {
  char folder[PATH_MAX / 2], source[PATH_MAX], image[PATH_MAX], messages[PATH_MAX];
  ost_status_t status = ost_sync_check(job, sizeof *job, "ost_compile_t", error);
  if (status != OST_OK) return status;
  if (job->form != OST_FORM_C99)
    return ost_sync_error(error, OST_UNIMPLEMENTED, 0, "form %u, wanted c99", job->form);
  status = compiler_key(driver, job->target, (ost_sink_t){NULL, NULL}, error);
  if (status != OST_OK) return status;
  if (job->options.size > 0)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 0, "unknown options");
  if (!make_folder(folder, sizeof folder))
    return ost_sync_error(error, OST_IO_ERROR, 0, "no folder for the compiler in TMPDIR");
  snprintf(source, sizeof source, "%s/kernel.c", folder);
  snprintf(image, sizeof image, "%s/kernel.so", folder);
  snprintf(messages, sizeof messages, "%s/messages", folder);
  if (!write_file(source, job->code.data, job->code.size))
    status = ost_sync_error(error, OST_IO_ERROR, 0, "cannot write %s", source);
  else if (!run_compiler(driver, source, image, messages) || send_file(image, job->image) == 0)
    status = ost_sync_error(error, OST_COMPILE_FAILED, 0, "the C compiler failed; see the log");
  send_file(messages, job->log);
  unlink(source), unlink(image), unlink(messages), rmdir(folder);
  return status;
}

/* The section headers are at the end of the file. */
static int is_whole(ost_bytes_t image) {
  const Elf64_Ehdr* elf = image.data;
  return image.size > sizeof *elf && memcmp(elf, "\177ELF", 4) == 0 &&
         elf->e_shoff + elf->e_shnum * elf->e_shentsize <= image.size;
}

static ost_status_t image_check(ost_driver_t* driver, const ost_device_info_t* info,
                                ost_bytes_t image, ost_fit_t* out, ost_sink_t reason,
                                ost_error_t* error) {
  (void)driver, (void)error;
  *out = is_whole(image) && strcmp(info->target, TARGET) == 0 ? OST_FIT_OPTIMAL : OST_FIT_UNUSABLE;
  if (*out == OST_FIT_UNUSABLE) ost_sync_put(reason, "not an image of " TARGET, 19);
  return OST_OK;
}

/* --- executables --- */
static ost_status_t executable_load(ost_device_t* device, ost_bytes_t image, ost_str_t path,
                                    ost_executable_t** out, ost_error_t* error) {
  char folder[PATH_MAX / 2], file[PATH_MAX];
  const int has_file = path.size > 0 && path.size < sizeof file; /* in the host's cache */
  ost_executable_t* made = calloc(1, sizeof *made);
  (void)device;
  if (made == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a kernel");
  if (has_file) {
    snprintf(file, sizeof file, "%.*s", (int)path.size, path.data);
  } else if (make_folder(folder, sizeof folder)) {
    snprintf(file, sizeof file, "%s/kernel.so", folder);
    if (!write_file(file, image.data, image.size)) file[0] = '\0';
  }
  made->library = is_whole(image) ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!has_file) unlink(file), rmdir(folder);
  if (made->library == NULL) {
    free(made);
    return ost_sync_error(error, OST_INCOMPATIBLE, 0, "the image is cut off or does not load");
  }
  *out = made;
  return OST_OK;
}

static void executable_unload(ost_executable_t* executable) {
  if (executable != NULL) dlclose(executable->library);
  free(executable);
}

static ost_status_t executable_entry(ost_executable_t* executable, ost_str_t name, uint32_t* out,
                                     ost_error_t* error) {
  char symbol[256], args[300];
  const uint32_t at = executable->count;
  snprintf(symbol, sizeof symbol, "%.*s", (int)name.size, name.data);
  snprintf(args, sizeof args, "%s_args", symbol);
  if (at == MAX_ENTRIES) return ost_sync_error(error, OST_UNAVAILABLE, 0, "too many entries");
  *(void**)&executable->kernels[at] = dlsym(executable->library, symbol);
  executable->args[at] = dlsym(executable->library, args);
  if (executable->kernels[at] == NULL || executable->args[at] == NULL)
    return ost_sync_error(error, OST_NOT_FOUND, 0, "the image has no kernel %s", symbol);
  *out = executable->count++;
  return OST_OK;
}

static ost_status_t mydevice_dispatch(ost_device_t* device, ost_executable_t* executable,
                                      const ost_command_t* c, const ost_sync_range_t* params,
                                      ost_error_t* error) {
  void* pointers[MAX_PARAMS];
  uint64_t group[3];
  (void)device;
  if (c->entry >= executable->count)
    return ost_sync_error(error, OST_NOT_FOUND, 0, "entry %u of %u", c->entry, executable->count);
  if (c->ref_count != executable->args[c->entry][0] ||
      c->var_count != executable->args[c->entry][1])
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 8, "wrong number of arguments");
  if (c->ref_count > MAX_PARAMS)
    return ost_sync_error(error, OST_UNIMPLEMENTED, 0, "more than %d parameters", MAX_PARAMS);
  for (uint32_t i = 0; i < c->ref_count; ++i) pointers[i] = params[i].data;
  for (group[2] = 0; group[2] < c->grid[2]; ++group[2])
    for (group[1] = 0; group[1] < c->grid[1]; ++group[1])
      for (group[0] = 0; group[0] < c->grid[0]; ++group[0])
        executable->kernels[c->entry](pointers, c->vars, group);
  return OST_OK;
}

/* clang-format off */
static const ost_driver_table_t table = {
    .size = sizeof(ost_driver_table_t), OST_SYNC_MEMORY_ENTRIES, OST_SYNC_QUEUE_ENTRIES,
    .driver_create = driver_create, .driver_destroy = driver_destroy,
    .device_count = device_count, .device_info = device_info, .device_create = device_create,
    .device_destroy = device_destroy, .device_status = device_status,
    .compiler_key = compiler_key, .compile = compile, .image_check = image_check,
    .executable_load = executable_load, .executable_unload = executable_unload,
    .executable_entry = executable_entry};
/* clang-format on */

ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
  return ost_sync_negotiate(in, out, "mydevice", "1.0", "me", &table);
}
