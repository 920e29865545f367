/* A host of version 1.0-rc, compiled against the headers of this folder: it opens a plugin of any
 * later minor version, and uses it with the sizes and the table that it knows.
 *
 * usage: host PLUGIN DRIVER_NAME      exit code 0: all as it was then */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <ostinato/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ABI = 0x00010000, N = 5, BEYOND = 4096 };

static ost_driver_table_t table; /* the part that this host knows */
static ost_error_t error;

static void fail(const char* what, int line) {
  fprintf(stderr, "host.c:%d: %s is false; last error: status %u, rule %u: %s\n", line, what,
          (unsigned)error.status, (unsigned)error.rule, error.message);
  exit(1);
}
#define WANT(what) ((what) ? (void)0 : fail(#what, __LINE__))

static ost_error_t* fresh(void) {
  memset(&error, 0, sizeof error);
  error.size = sizeof error;
  return &error;
}

static ost_str_t str(const char* text) {
  const ost_str_t out = {text, strlen(text)};
  return out;
}

/* A struct as a host of a far later version has it: with fields that nobody knows today. */
typedef union Later {
  uint64_t align;
  uint32_t size;
  ost_negotiate_in_t negotiate;
  ost_compile_t compile;
  ost_command_t command;
  unsigned char bytes[2 * BEYOND];
} Later;

static Later* later(const void* known, size_t known_size, unsigned char last) {
  static Later out;
  memset(&out, 0, sizeof out);
  memcpy(&out, known, known_size);
  out.size = (uint32_t)known_size + BEYOND;
  out.bytes[known_size + BEYOND - 1] = last;
  return &out;
}

/* --- what a plugin may call --- */
static void host_log(void* context, uint32_t level, ost_str_t message) {
  (void)context;
  fprintf(stderr, "log %u: %.*s\n", (unsigned)level, (int)message.size, message.data);
}
static uint32_t host_should_abort(void* context) { return (void)context, 0; }
static const char* host_option(void* context, const char* name) {
  return (void)context, (void)name, NULL;
}

typedef struct Bytes {
  size_t size;
  unsigned char data[1 << 20];
} Bytes;

static void put(void* context, const void* data, uint64_t size) {
  Bytes* bytes = (Bytes*)context;
  WANT(size <= sizeof bytes->data - bytes->size);
  memcpy(bytes->data + bytes->size, data, (size_t)size);
  bytes->size += (size_t)size;
}

/* --- negotiation: the range of then, a later range, a later struct --- */
static ost_status_t ask(ost_plugin_negotiate_fn negotiate, const ost_negotiate_in_t* in,
                        ost_negotiate_out_t* out) {
  memset(out, 0, sizeof *out);
  out->size = sizeof *out;
  const ost_status_t status = negotiate(in, out);
  WANT(out->size == sizeof *out);
  return status;
}

static void negotiate_all(ost_plugin_negotiate_fn negotiate, const char* name) {
  const ost_negotiate_in_t now = {sizeof now, ABI, ABI, 0};
  const ost_negotiate_in_t next_major = {sizeof next_major, ABI + 0x10000, ABI + 0x10000, 0};
  ost_negotiate_out_t out;
  WANT(ask(negotiate, &next_major, &out) != OST_OK && out.abi == 0 && out.reason[0] != '\0');
  WANT(ask(negotiate, &later(&now, sizeof now, 1)->negotiate, &out) == OST_INCOMPATIBLE);
  WANT(out.abi == 0 && out.reason[0] != '\0');
  WANT(ask(negotiate, &later(&now, sizeof now, 0)->negotiate, &out) == OST_OK);
  WANT(ask(negotiate, &now, &out) == OST_OK);
  WANT(out.abi == ABI && strcmp(out.name, name) == 0);
  /* A later table is longer; what is behind the end of this one is not looked at. */
  WANT(out.table != NULL && out.table->size >= sizeof table);
  memcpy(&table, out.table, sizeof table);
}

/* --- one kernel, in the form and with the arguments of then --- */
static const char kernel[] =
    "#include <stdint.h>\n"
    "const uint32_t mad_args[2] = {4, 1};\n"
    "void mad(void* const* params, const int64_t* vars, const uint64_t* group) {\n"
    "  const uint64_t i = group[0];\n"
    "  if ((int64_t)i >= vars[0]) return;\n"
    "  const float product = ((const float*)params[0])[i] * ((const float*)params[1])[i];\n"
    "  ((float*)params[3])[i] = product + ((const float*)params[2])[i];\n"
    "}\n";
/* Bits of a, b, c and a * b + c in two roundings. One rounding would give 0x3a000400 and 0x337ffffe
 * for the first two; a flush of denormals 0 for the third. The last one is beyond the variable. */
static const uint32_t values[4][N] = {
    {0x3f800800, 0x3f800001, 0x00800000, 0x3f800000, 0x3f800000},
    {0x3f800800, 0x3f7fffff, 0x3f000000, 0x40000000, 0x3f800000},
    {0xbf800000, 0xbf800000, 0x00000000, 0xff800000, 0x3f800000},
    {0x3a000000, 0x00000000, 0x00400000, 0xff800000, 0xdeadbeef},
};

static void compile_all(ost_driver_t* driver, const char* target, Bytes* image) {
  static Bytes key, log;
  const ost_sink_t key_sink = {&key, put};
  ost_compile_t job;
  memset(&job, 0, sizeof job);
  job.size = sizeof job;
  job.form = OST_FORM_C99;
  job.code.data = kernel;
  job.code.size = sizeof kernel - 1;
  job.entry = str("mad");
  job.target = str(target);
  job.image.context = image;
  job.image.write = put;
  job.log.context = &log;
  job.log.write = put;
  WANT(table.compiler_key(driver, job.target, key_sink, fresh()) == OST_OK && key.size > 0);
  WANT(table.compile(driver, &later(&job, sizeof job, 1)->compile, fresh()) == OST_INCOMPATIBLE);
  WANT(error.rule == 2 && error.message[0] != '\0' && image->size == 0);
  Later* shorter = later(&job, sizeof job, 0);
  shorter->size = sizeof job - 8;
  WANT(table.compile(driver, &shorter->compile, fresh()) == OST_INVALID_ARGUMENT);
  WANT(error.rule == 2 && image->size == 0);
  WANT(table.compile(driver, &later(&job, sizeof job, 0)->compile, fresh()) == OST_OK);
  image->size = 0;
  WANT(table.compile(driver, &job, fresh()) == OST_OK && image->size > 0);
}

typedef struct Work {
  ost_device_t* device;
  ost_queue_t* queue;
  ost_timeline_t* done;
  ost_dbuffer_t* buffers[4];
  ost_ref_t refs[4];
  int64_t var;
  ost_command_t command;
} Work;

static void make_work(Work* w, ost_executable_t* executable) {
  WANT(table.queue_create(w->device, &w->queue, fresh()) == OST_OK);
  WANT(table.timeline_create(w->device, 0, &w->done, fresh()) == OST_OK);
  for (int i = 0; i < 4; ++i) {
    const uint32_t poison[N] = {0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef};
    WANT(table.buffer_alloc(w->device, 0, sizeof values[i], 64, &w->buffers[i], fresh()) == OST_OK);
    WANT(table.buffer_write(w->device, w->buffers[i], 0, i < 3 ? values[i] : poison,
                            sizeof values[i], fresh()) == OST_OK);
    w->refs[i].buffer = w->buffers[i];
    w->refs[i].size = sizeof values[i];
  }
  w->var = N - 1;
  w->command.size = sizeof w->command;
  w->command.kind = OST_CMD_DISPATCH;
  w->command.refs = w->refs;
  w->command.ref_count = 4;
  w->command.vars = &w->var;
  w->command.var_count = 1;
  w->command.executable = executable;
  WANT(table.executable_entry(executable, str("mad"), &w->command.entry, fresh()) == OST_OK);
  w->command.grid[0] = N;
  w->command.grid[1] = w->command.grid[2] = 1;
  w->command.group[0] = w->command.group[1] = w->command.group[2] = 1;
}

static ost_status_t submit(Work* w, const ost_command_t* command, ost_timeline_t* done) {
  const ost_point_t signal = {done, 1};
  return table.queue_submit(w->queue, NULL, 0, command, 1, &signal, 1, fresh());
}

static void expect_result(Work* w) {
  uint32_t found[N];
  WANT(table.buffer_read(w->device, w->buffers[3], 0, found, sizeof found, fresh()) == OST_OK);
  for (int i = 0; i < N; ++i) {
    if (found[i] == values[3][i]) continue;
    fprintf(stderr, "element %d is 0x%08x, wanted 0x%08x\n", i, (unsigned)found[i],
            (unsigned)values[3][i]);
    exit(1);
  }
}

static void run_all(Work* w) {
  /* A command with an unknown field is refused, has run nothing, and has failed its signal. */
  ost_timeline_t* failed = NULL;
  uint32_t found[N];
  WANT(table.timeline_create(w->device, 0, &failed, fresh()) == OST_OK);
  const ost_status_t refused =
      submit(w, &later(&w->command, sizeof w->command, 1)->command, failed);
  WANT(refused == OST_INCOMPATIBLE && error.rule == 2);
  WANT(table.timeline_wait(failed, 1, UINT64_MAX, fresh()) == OST_INCOMPATIBLE && error.rule == 2);
  WANT(table.buffer_read(w->device, w->buffers[3], 0, found, sizeof found, fresh()) == OST_OK);
  WANT(found[0] == 0xdeadbeef);
  table.timeline_destroy(failed);

  uint64_t reached = 0;
  WANT(submit(w, &w->command, w->done) == OST_OK);
  WANT(table.timeline_wait(w->done, 1, UINT64_MAX, fresh()) == OST_OK);
  WANT(table.timeline_query(w->done, &reached, fresh()) == OST_OK && reached == 1);
  expect_result(w);
}

static void use_device(ost_driver_t* driver) {
  static Bytes image, reason;
  const ost_sink_t reason_sink = {&reason, put};
  uint32_t count = 0;
  ost_device_info_t info;
  ost_fit_t fit = OST_FIT_UNUSABLE;
  ost_executable_t* executable = NULL;
  Work w;
  memset(&w, 0, sizeof w);
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  WANT(table.device_count(driver, &count, reason_sink, fresh()) == OST_OK && count == 1);
  WANT(table.device_info(driver, 0, &info, fresh()) == OST_OK && info.size == sizeof info);
  WANT(info.form_count == 1 && info.forms[0] == OST_FORM_C99);
  compile_all(driver, info.target, &image);
  const ost_bytes_t bytes = {image.data, image.size};
  WANT(table.image_check(driver, &info, bytes, &fit, reason_sink, fresh()) == OST_OK);
  WANT(fit == OST_FIT_OPTIMAL);
  WANT(table.device_create(driver, 0, &w.device, fresh()) == OST_OK);
  WANT(table.executable_load(w.device, bytes, str(""), &executable, fresh()) == OST_OK);
  make_work(&w, executable);
  run_all(&w);
  WANT(table.device_status(w.device, fresh()) == OST_OK);
  table.queue_destroy(w.queue);
  table.timeline_destroy(w.done);
  table.executable_unload(executable);
  for (int i = 0; i < 4; ++i) table.buffer_free(w.device, w.buffers[i]);
  table.device_destroy(w.device);
}

int main(int argc, char** argv) {
  const ost_host_table_t host = {sizeof host, ABI, NULL, host_log, host_should_abort, host_option};
  ost_plugin_negotiate_fn negotiate = NULL;
  ost_driver_t* driver = NULL;
  if (argc != 3) return fprintf(stderr, "usage: host PLUGIN DRIVER_NAME\n"), 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void**)&negotiate = dlsym(library, OST_PLUGIN_ENTRY_NAME);
  WANT(negotiate != NULL);
  negotiate_all(negotiate, argv[2]);
  WANT(table.driver_create(&host, &driver, fresh()) == OST_OK && driver != NULL);
  use_device(driver);
  table.driver_destroy(driver);
  printf("%s: a host of version 1.0-rc has what it wants\n", argv[2]);
  return 0;
}
