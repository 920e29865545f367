/* What a driver in C need not write itself when its device does all work before a call returns and
 * its memory is host memory: queue, timelines, memory, negotiation. C11 and POSIX threads.
 *
 *   #define OST_SYNC_DISPATCH my_dispatch       // see ost_sync_dispatch_fn
 *   #include <ostinato/plugin_sync.h>
 *   ...
 *   static const ost_driver_table_t table = {
 *       .size = sizeof(ost_driver_table_t),
 *       OST_SYNC_MEMORY_ENTRIES, OST_SYNC_QUEUE_ENTRIES,
 *       .driver_create = ..., .driver_destroy = ..., .device_count = ..., .device_info = ...,
 *       .device_create = ..., .device_destroy = ..., .device_status = ..., .compiler_key = ...,
 *       .compile = ..., .image_check = ..., .executable_load = ..., .executable_unload = ...,
 *       .executable_entry = ...};
 *   ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in, ost_negotiate_out_t* out) {
 *     return ost_sync_negotiate(in, out, "mine", "1.0", "Me", &table);
 *   }
 *
 * Thirteen entries remain, and the dispatch. Include it in one file of the plugin. A driver whose
 * memory is not the host's leaves OST_SYNC_MEMORY_ENTRIES out, but the queue needs its buffers as
 * struct ost_dbuffer_t. Optional entries (command lists, profiling, import) stay NULL. */
#ifndef OSTINATO_PLUGIN_SYNC_H_
#define OSTINATO_PLUGIN_SYNC_H_

/* Plain C11 hides POSIX; this works if the header comes first in its file. */
#if !defined(_POSIX_C_SOURCE) && !defined(__cplusplus)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment of every buffer; what device_info says as min_align. */
#ifndef OST_SYNC_ALIGN
#define OST_SYNC_ALIGN 64u
#endif

/* Memory of one kernel parameter, checked to be inside its buffer. */
typedef struct ost_sync_range_t {
  void* data;
  uint64_t size;
} ost_sync_range_t;

/* Runs one kernel. `command` has entry, vars, grid and group; it must refuse an entry that the
 * executable has not, and wrong counts. May be called by several threads, one for each queue. */
typedef ost_status_t (*ost_sync_dispatch_fn)(ost_device_t* device, ost_executable_t* executable,
                                             const ost_command_t* command,
                                             const ost_sync_range_t* params, ost_error_t* error);

struct ost_dbuffer_t {
  unsigned char* data;
  uint64_t size;
};

struct ost_queue_t {
  ost_device_t* device;
};

/* Rule 7: grows or fails; the first failure stays. */
struct ost_timeline_t {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  uint64_t value;
  ost_error_t failure; /* status OST_OK: has not failed */
};

/* --- errors and structs --- */

/* Fills the caller's error, if there is one, and returns its status. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static inline ost_status_t ost_sync_error(ost_error_t* error, ost_status_t status, uint32_t rule,
                                          const char* format, ...) {
  if (error != NULL && error->size >= sizeof *error) {
    const uint32_t size = error->size;
    va_list arguments;
    memset(error, 0, sizeof *error);
    error->size = size;
    error->status = status;
    error->rule = rule;
    error->flags = status == OST_DEVICE_LOST ? (uint32_t)OST_ERROR_FLAG_DEVICE_LOST : 0;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

static inline ost_status_t ost_sync_copy_error(ost_error_t* to, const ost_error_t* from) {
  if (to != NULL && to->size >= sizeof *to) {
    const uint32_t size = to->size;
    *to = *from;
    to->size = size;
  }
  return from->status;
}

/* Rule 2 for a struct that comes in, which begins with its size: at least as long as this header
 * knows it, and zeros behind that. */
static inline ost_status_t ost_sync_check(const void* in, uint32_t known, const char* type,
                                          ost_error_t* error) {
  const unsigned char* bytes = (const unsigned char*)in;
  uint32_t size = 0, i;
  if (in == NULL) return ost_sync_error(error, OST_INVALID_ARGUMENT, 2, "%s is null", type);
  memcpy(&size, in, sizeof size);
  if (size < known) {
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 2, "%s has size %u, wanted at least %u",
                          type, (unsigned)size, (unsigned)known);
  }
  for (i = known; i < size; ++i) {
    if (bytes[i] != 0) {
      return ost_sync_error(error, OST_INCOMPATIBLE, 2,
                            "%s uses a field at byte %u that this plugin does not know", type,
                            (unsigned)i);
    }
  }
  return OST_OK;
}

static inline void ost_sync_text(char* out, size_t capacity, const char* text) {
  snprintf(out, capacity, "%s", text);
}

static inline void ost_sync_put(ost_sink_t sink, const void* data, uint64_t size) {
  if (sink.write != NULL) sink.write(sink.context, data, size);
}

static inline ost_status_t ost_sync_negotiate(const ost_negotiate_in_t* in,
                                              ost_negotiate_out_t* out, const char* name,
                                              const char* version, const char* vendor,
                                              const ost_driver_table_t* table) {
  ost_error_t error;
  ost_status_t status;
  uint32_t size;
  if (in == NULL || in->size < sizeof *in || out == NULL || out->size < sizeof *out)
    return OST_INVALID_ARGUMENT;
  size = out->size;
  memset(out, 0, sizeof *out);
  out->size = size;
#if defined(__SANITIZE_ADDRESS__)
  out->sanitizer = OST_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  out->sanitizer = OST_SANITIZER_THREAD;
#endif
  ost_sync_text(out->name, sizeof out->name, name);
  ost_sync_text(out->version, sizeof out->version, version);
  ost_sync_text(out->vendor, sizeof out->vendor, vendor);
  memset(&error, 0, sizeof error);
  error.size = sizeof error;
  status = ost_sync_check(in, sizeof *in, "ost_negotiate_in_t", &error);
  if (status != OST_OK) {
    snprintf(out->reason, sizeof out->reason, "%.200s", error.message);
    return status;
  }
  if (OST_PLUGIN_ABI_VERSION < in->abi_min || OST_PLUGIN_ABI_VERSION > in->abi_max) {
    snprintf(out->reason, sizeof out->reason,
             "the host accepts ABI %u.%u to %u.%u, this plugin has %u.%u",
             (unsigned)(in->abi_min >> 16), (unsigned)(in->abi_min & 0xffffu),
             (unsigned)(in->abi_max >> 16), (unsigned)(in->abi_max & 0xffffu),
             (unsigned)(OST_PLUGIN_ABI_VERSION >> 16),
             (unsigned)(OST_PLUGIN_ABI_VERSION & 0xffffu));
    return OST_INCOMPATIBLE;
  }
  out->abi = OST_PLUGIN_ABI_VERSION;
  out->table = table;
  return OST_OK;
}

/* --- memory: one heap, the host's --- */

static inline uint32_t ost_sync_heap_count(ost_device_t* device) {
  (void)device;
  return 1;
}

static inline ost_status_t ost_sync_heap_info(ost_device_t* device, uint32_t heap,
                                              ost_heap_info_t* out, ost_error_t* error) {
  (void)device;
  if (heap != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "heap %u of 1", (unsigned)heap);
  if (out == NULL || out->size < sizeof *out)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 2, "ost_heap_info_t is too short");
  out->flags = OST_HEAP_DEVICE_LOCAL | OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT | OST_HEAP_CACHED;
  out->bytes = 0;
  return OST_OK;
}

static inline ost_status_t ost_sync_buffer_alloc(ost_device_t* device, uint32_t heap,
                                                 uint64_t bytes, uint32_t align,
                                                 ost_dbuffer_t** out, ost_error_t* error) {
  const uint64_t wanted = align > OST_SYNC_ALIGN ? align : OST_SYNC_ALIGN;
  ost_dbuffer_t* made;
  (void)device;
  if (heap != 0) return ost_sync_error(error, OST_NOT_FOUND, 0, "heap %u of 1", (unsigned)heap);
  if (out == NULL)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 5, "the out-parameter is null");
  if ((align & (align - 1)) != 0) {
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 8, "alignment %u is no power of two",
                          (unsigned)align);
  }
  made = (ost_dbuffer_t*)calloc(1, sizeof *made);
  if (made != NULL && bytes < UINT64_MAX / 2) {
    const uint64_t rounded = bytes == 0 ? wanted : (bytes + wanted - 1) / wanted * wanted;
    made->data = (unsigned char*)aligned_alloc((size_t)wanted, (size_t)rounded);
    made->size = bytes;
  }
  if (made == NULL || made->data == NULL) {
    free(made);
    return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a buffer of %llu bytes",
                          (unsigned long long)bytes);
  }
  *out = made;
  return OST_OK;
}

static inline void ost_sync_buffer_free(ost_device_t* device, ost_dbuffer_t* buffer) {
  (void)device;
  if (buffer == NULL) return;
  free(buffer->data);
  free(buffer);
}

static inline ost_status_t ost_sync_part(const ost_dbuffer_t* buffer, uint64_t offset,
                                         uint64_t size, ost_error_t* error) {
  if (buffer == NULL) return ost_sync_error(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
  if (offset <= buffer->size && size <= buffer->size - offset) return OST_OK;
  return ost_sync_error(
      error, OST_INVALID_ARGUMENT, 8, "%llu bytes at %llu are outside a buffer of %llu bytes",
      (unsigned long long)size, (unsigned long long)offset, (unsigned long long)buffer->size);
}

static inline ost_status_t ost_sync_buffer_map(ost_dbuffer_t* buffer, uint64_t offset,
                                               uint64_t size, void** out, ost_error_t* error) {
  const ost_status_t status = ost_sync_part(buffer, offset, size, error);
  if (status == OST_OK) *out = buffer->data + offset;
  return status;
}

static inline ost_status_t ost_sync_buffer_unmap(ost_dbuffer_t* buffer, ost_error_t* error) {
  return ost_sync_part(buffer, 0, 0, error);
}

static inline ost_status_t ost_sync_buffer_write(ost_device_t* device, ost_dbuffer_t* buffer,
                                                 uint64_t offset, const void* data, uint64_t size,
                                                 ost_error_t* error) {
  const ost_status_t status = ost_sync_part(buffer, offset, size, error);
  (void)device;
  if (status == OST_OK && size > 0) memcpy(buffer->data + offset, data, (size_t)size);
  return status;
}

static inline ost_status_t ost_sync_buffer_read(ost_device_t* device, ost_dbuffer_t* buffer,
                                                uint64_t offset, void* data, uint64_t size,
                                                ost_error_t* error) {
  const ost_status_t status = ost_sync_part(buffer, offset, size, error);
  (void)device;
  if (status == OST_OK && size > 0) memcpy(data, buffer->data + offset, (size_t)size);
  return status;
}

/* --- timelines --- */

static inline ost_status_t ost_sync_timeline_create(ost_device_t* device, uint64_t initial,
                                                    ost_timeline_t** out, ost_error_t* error) {
  pthread_condattr_t attributes;
  ost_timeline_t* made = (ost_timeline_t*)calloc(1, sizeof *made);
  (void)device;
  if (made == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a timeline");
  pthread_mutex_init(&made->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&made->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  made->value = initial;
  made->failure.size = sizeof made->failure;
  *out = made;
  return OST_OK;
}

static inline void ost_sync_timeline_destroy(ost_timeline_t* t) {
  if (t == NULL) return;
  pthread_cond_destroy(&t->changed);
  pthread_mutex_destroy(&t->mutex);
  free(t);
}

static inline ost_status_t ost_sync_timeline_query(ost_timeline_t* t, uint64_t* out,
                                                   ost_error_t* error) {
  ost_status_t status = OST_OK;
  if (t == NULL) return ost_sync_error(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
  pthread_mutex_lock(&t->mutex);
  *out = t->value;
  if (t->failure.status != OST_OK) status = ost_sync_copy_error(error, &t->failure);
  pthread_mutex_unlock(&t->mutex);
  return status;
}

static inline ost_status_t ost_sync_timeline_signal(ost_timeline_t* t, uint64_t value,
                                                    ost_error_t* error) {
  ost_status_t status = OST_OK;
  if (t == NULL) return ost_sync_error(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
  pthread_mutex_lock(&t->mutex);
  if (t->failure.status != OST_OK) {
    status = ost_sync_copy_error(error, &t->failure);
  } else if (value <= t->value) {
    status =
        ost_sync_error(error, OST_INVALID_ARGUMENT, 7, "a timeline at %llu is signalled with %llu",
                       (unsigned long long)t->value, (unsigned long long)value);
  } else {
    t->value = value;
    pthread_cond_broadcast(&t->changed);
  }
  pthread_mutex_unlock(&t->mutex);
  return status;
}

static inline ost_status_t ost_sync_timeline_wait(ost_timeline_t* t, uint64_t value,
                                                  uint64_t timeout_ns, ost_error_t* error) {
  const uint64_t longest = 365ull * 24 * 3600 * 1000000000ull; /* longer is for ever */
  struct timespec end;
  ost_status_t status = OST_OK;
  int over = 0;
  if (t == NULL) return ost_sync_error(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (timeout_ns <= longest) {
    const uint64_t ns = (uint64_t)end.tv_nsec + timeout_ns;
    end.tv_sec += (time_t)(ns / 1000000000u);
    end.tv_nsec = (long)(ns % 1000000000u);
  }
  pthread_mutex_lock(&t->mutex);
  while (t->value < value && t->failure.status == OST_OK && !over) {
    if (timeout_ns > longest) {
      pthread_cond_wait(&t->changed, &t->mutex);
    } else {
      over = pthread_cond_timedwait(&t->changed, &t->mutex, &end) == ETIMEDOUT;
    }
  }
  if (t->value < value && t->failure.status != OST_OK) {
    status = ost_sync_copy_error(error, &t->failure);
  } else if (t->value < value) {
    status = ost_sync_error(error, OST_TIMEOUT, 0, "a timeline is at %llu and did not reach %llu",
                            (unsigned long long)t->value, (unsigned long long)value);
  }
  pthread_mutex_unlock(&t->mutex);
  return status;
}

static inline ost_status_t ost_sync_timeline_fail(ost_timeline_t* t, const ost_error_t* why) {
  if (t == NULL || why == NULL || why->size < sizeof *why) return OST_INVALID_ARGUMENT;
  pthread_mutex_lock(&t->mutex);
  if (t->failure.status == OST_OK) {
    t->failure = *why;
    t->failure.size = sizeof t->failure;
    if (t->failure.status == OST_OK) t->failure.status = OST_INTERNAL;
    t->failure.message[OST_ERROR_MESSAGE_SIZE - 1] = '\0';
  }
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->mutex);
  return OST_OK;
}

/* --- the queue --- */

static inline ost_status_t ost_sync_queue_create(ost_device_t* device, ost_queue_t** out,
                                                 ost_error_t* error) {
  ost_queue_t* made = (ost_queue_t*)calloc(1, sizeof *made);
  if (made == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for a queue");
  made->device = device;
  *out = made;
  return OST_OK;
}

static inline void ost_sync_queue_destroy(ost_queue_t* queue) { free(queue); }

static inline void ost_sync_fill(ost_sync_range_t to, uint64_t pattern, uint32_t pattern_size) {
  unsigned char* bytes = (unsigned char*)to.data;
  uint64_t i;
  for (i = 0; i < to.size; ++i) bytes[i] = (unsigned char)(pattern >> (8 * (i % pattern_size)));
}

static inline ost_status_t ost_sync_run(ost_queue_t* queue, const ost_command_t* c,
                                        const ost_sync_range_t* r, ost_sync_dispatch_fn dispatch,
                                        ost_error_t* error) {
  const uint32_t n = c->fill_pattern_size;
  switch (c->kind) {
    case OST_CMD_COPY:
      if (c->ref_count != 2 || r[0].size != r[1].size)
        return ost_sync_error(error, OST_INVALID_ARGUMENT, 8,
                              "a copy wants two ranges of one size");
      if (r[0].size > 0) memmove(r[0].data, r[1].data, (size_t)r[0].size);
      return OST_OK;
    case OST_CMD_FILL:
      if (c->ref_count != 1 || (n != 1 && n != 2 && n != 4 && n != 8) || r[0].size % n != 0)
        return ost_sync_error(error, OST_INVALID_ARGUMENT, 8,
                              "a fill wants one range, a multiple of its pattern of 1, 2, 4 or 8 "
                              "bytes");
      ost_sync_fill(r[0], c->fill_pattern, n);
      return OST_OK;
    case OST_CMD_DISPATCH:
      if (c->executable == NULL)
        return ost_sync_error(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
      if (c->var_count > 0 && c->vars == NULL)
        return ost_sync_error(error, OST_INVALID_ARGUMENT, 8, "variables are counted, not there");
      return dispatch(queue->device, c->executable, c, r, error);
    case OST_CMD_CMDLIST:
      return ost_sync_error(error, OST_UNIMPLEMENTED, 10, "this driver has no command lists");
    default:
      return ost_sync_error(error, OST_INVALID_ARGUMENT, 1, "command kind %u is not known",
                            (unsigned)c->kind);
  }
}

static inline ost_status_t ost_sync_command(ost_queue_t* queue, const ost_command_t* c,
                                            ost_sync_dispatch_fn dispatch, ost_error_t* error) {
  ost_sync_range_t few[16];
  ost_sync_range_t* ranges = few;
  ost_status_t status = ost_sync_check(c, sizeof *c, "ost_command_t", error);
  uint32_t i;
  if (status != OST_OK) return status;
  if (c->ref_count > 0 && c->refs == NULL)
    return ost_sync_error(error, OST_INVALID_ARGUMENT, 8, "refs are counted, not there");
  if (c->ref_count > sizeof few / sizeof few[0])
    ranges = (ost_sync_range_t*)malloc(c->ref_count * sizeof *ranges);
  if (ranges == NULL) return ost_sync_error(error, OST_OUT_OF_MEMORY, 0, "no memory for ranges");
  for (i = 0; i < c->ref_count && status == OST_OK; ++i) {
    const ost_ref_t* ref = &c->refs[i];
    if (ref->slot != 0) {
      status = ost_sync_error(error, OST_INVALID_ARGUMENT, 8, "a slot outside a command list");
    } else {
      status = ost_sync_part(ref->buffer, ref->offset, ref->size, error);
      if (status == OST_OK) {
        ranges[i].data = ref->buffer->data + ref->offset;
        ranges[i].size = ref->size;
      }
    }
  }
  if (status == OST_OK) status = ost_sync_run(queue, c, ranges, dispatch, error);
  if (ranges != few) free(ranges);
  return status;
}

/* A submit that fails has failed its signals (rule 7). */
static inline ost_status_t ost_sync_submit(ost_queue_t* queue, const ost_point_t* waits,
                                           uint32_t wait_count, const ost_command_t* commands,
                                           uint32_t command_count, const ost_point_t* signals,
                                           uint32_t signal_count, ost_sync_dispatch_fn dispatch,
                                           ost_error_t* error) {
  ost_error_t own;
  ost_status_t status = OST_OK;
  uint32_t i;
  memset(&own, 0, sizeof own);
  own.size = sizeof own;
  if (queue == NULL) status = ost_sync_error(&own, OST_INVALID_ARGUMENT, 11, "a handle is null");
  for (i = 0; i < wait_count && status == OST_OK; ++i)
    status = ost_sync_timeline_wait(waits[i].timeline, waits[i].value, UINT64_MAX, &own);
  for (i = 0; i < command_count && status == OST_OK; ++i) {
    const ost_command_t* c =
        (const ost_command_t*)((const char*)commands + (size_t)i * commands->size);
    status = ost_sync_command(queue, c, dispatch, &own);
  }
  for (i = 0; i < signal_count && status == OST_OK; ++i)
    status = ost_sync_timeline_signal(signals[i].timeline, signals[i].value, &own);
  if (status == OST_OK) return OST_OK;
  if (own.status == OST_OK) ost_sync_error(&own, status, 0, "the kernel failed");
  for (i = 0; i < signal_count; ++i) {
    uint64_t value = 0;
    ost_sync_timeline_query(signals[i].timeline, &value, NULL);
    if (value < signals[i].value) ost_sync_timeline_fail(signals[i].timeline, &own);
  }
  return ost_sync_copy_error(error, &own);
}

#ifdef OST_SYNC_DISPATCH
static ost_status_t OST_SYNC_DISPATCH(ost_device_t* device, ost_executable_t* executable,
                                      const ost_command_t* command, const ost_sync_range_t* params,
                                      ost_error_t* error);

static inline ost_status_t ost_sync_queue_submit(ost_queue_t* queue, const ost_point_t* waits,
                                                 uint32_t wait_count, const ost_command_t* commands,
                                                 uint32_t command_count, const ost_point_t* signals,
                                                 uint32_t signal_count, ost_error_t* error) {
  return ost_sync_submit(queue, waits, wait_count, commands, command_count, signals, signal_count,
                         OST_SYNC_DISPATCH, error);
}
#endif

#define OST_SYNC_MEMORY_ENTRIES                                               \
  .heap_count = ost_sync_heap_count, .heap_info = ost_sync_heap_info,         \
  .buffer_alloc = ost_sync_buffer_alloc, .buffer_free = ost_sync_buffer_free, \
  .buffer_map = ost_sync_buffer_map, .buffer_unmap = ost_sync_buffer_unmap,   \
  .buffer_write = ost_sync_buffer_write, .buffer_read = ost_sync_buffer_read

#define OST_SYNC_QUEUE_ENTRIES                                                              \
  .queue_create = ost_sync_queue_create, .queue_destroy = ost_sync_queue_destroy,           \
  .queue_submit = ost_sync_queue_submit, .timeline_create = ost_sync_timeline_create,       \
  .timeline_destroy = ost_sync_timeline_destroy, .timeline_query = ost_sync_timeline_query, \
  .timeline_signal = ost_sync_timeline_signal, .timeline_wait = ost_sync_timeline_wait,     \
  .timeline_fail = ost_sync_timeline_fail

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_PLUGIN_SYNC_H_ */
