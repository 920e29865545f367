/* Ostinato device plugin ABI, version 1 (not frozen yet). docs/plugin-abi.md has the same rules as
 * a table.
 *
 * A plugin is a shared library that exports one symbol, ost_plugin_negotiate, and includes only
 * this header. It never links the core: all that it may call is in the host table that
 * driver_create receives.
 *
 * Rules (each message of the loader names the number of the broken one):
 *   1  Only <stddef.h> and <stdint.h>; fixed-width types; no bool, bit-field, long or enum type in
 *      a struct.
 *   2  Every struct that crosses starts with `uint32_t size`. The smallest accepted size is that of
 *      version 1.0 for ever; a tail that the reader does not know must be zero. Tables only grow at
 *      the end; entries of a driver table that the host does not know are not called. All elements
 *      of an array have the size of its first element, which is the stride. The small values
 *      without a size (str, bytes, sink, ref, point) never change.
 *   3  The host copies the plugin's table; an entry that is NULL becomes a thunk that returns
 *      OST_UNIMPLEMENTED. A NULL entry that is marked REQUIRED refuses the load.
 *   4  The plugin calls the host only through ost_host_table_t.
 *   5  Nobody frees what the other allocated: variable output goes to sinks, errors to a
 *      caller-owned ost_error_t (may be NULL). No thread-local state, exception, exit, abort or
 *      signal handler crosses.
 *   6  Free-threaded on different handles. One handle is used by one thread at a time, except that
 *      device_info, compile, image_check, buffer_alloc, buffer_free and all timeline entries are
 *      internally synchronised.
 *   7  Queues are in-order. Timelines (monotonic u64, reached or failed) order across queues and
 *      carry failure: the first failure stays, and waiting for a value that was reached before it
 *      succeeds. A lost device returns OST_DEVICE_LOST from every call until it is destroyed;
 *      destroy always works. A submit that returns an error has failed its signals with it, so that
 *      nobody waits for ever.
 *   8  Memory is {buffer, offset, size}. Only heaps with HOST_VISIBLE can be mapped; map returns a
 *      pointer that is valid until unmap.
 *   9  compile and image_check need no device: one machine can make images for every target that a
 *      plugin knows. compile is deterministic and re-entrant.
 *  10  Optional entries and features are found through NULL entries, flags and get_extension by
 *      name ("vendor.thing").
 *  11  Pointers passed in are borrowed for the call. A child handle keeps what it needs of its
 *      parents alive; children are destroyed before parents. destroy accepts NULL.
 *  12  negotiate is pure: no files, threads, devices or environment; it may be called several
 *      times.
 * Rules of loading (docs/plugin-abi.md):
 *  13  A discovery file NAME.ostplugin.json says format, library, ABI range and architecture; it is
 *      read before any code of the plugin runs.
 *  14  The library is opened with RTLD_NOW | RTLD_LOCAL, exports ost_plugin_negotiate, and is never
 *      unloaded.
 *  15  The plugin picks the highest ABI version in the host's range that it has, or says in
 *      `reason` why it has none.
 *  16  A driver's name is [a-z][a-z0-9_]* and unique in a process: the first one found wins. The
 *      discovery file and the library agree on it.
 *  17  A plugin that is built with a sanitizer needs a host that is built with the same one. */
#ifndef OSTINATO_PLUGIN_H_
#define OSTINATO_PLUGIN_H_

#include "kir.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* major << 16 | minor. A minor version only appends. */
#define OST_PLUGIN_ABI_VERSION 0x00010000u

typedef struct ost_driver_t ost_driver_t;
typedef struct ost_device_t ost_device_t;
typedef struct ost_queue_t ost_queue_t;
typedef struct ost_timeline_t ost_timeline_t;
typedef struct ost_dbuffer_t ost_dbuffer_t; /* device memory as a plugin sees it */
typedef struct ost_executable_t ost_executable_t;
typedef struct ost_cmdlist_t ost_cmdlist_t;

/* --- host table: what a plugin may call --- */

typedef struct ost_host_table_t {
  uint32_t size;
  uint32_t abi; /* the version that was negotiated */
  void* context;
  /* Any thread. `message` is one line of UTF-8 without newline. */
  void (*log)(void* context, uint32_t level, ost_str_t message);
  /* Any thread. Non-zero asks a long compile to give up with OST_CANCELLED. */
  uint32_t (*should_abort)(void* context);
  /* An option that the user gave for this driver ("threads", "isa"), NUL-terminated, or NULL; valid
   * while the driver lives. A driver reads no environment variables of its own for anything that
   * has an option. */
  const char* (*option)(void* context, const char* name);
} ost_host_table_t;

/* --- devices --- */

enum {
  OST_DEVICE_KIND_CPU = 1,
  OST_DEVICE_KIND_GPU = 2,
  OST_DEVICE_KIND_ACCELERATOR = 3,
  OST_DEVICE_KIND_REFERENCE = 4
};

enum {
  /* has a target and a compiler, but device_create is refused; forms, max_group, subgroup and
   * local_bytes are what kernels are made for, the same as those of a device of that target */
  OST_DEVICE_COMPILE_ONLY = 1u << 0,
  OST_DEVICE_UNUSABLE = 1u << 1, /* listed, with `reason`, but cannot be created */
  OST_DEVICE_UNIFIED = 1u << 2   /* heap 0 is host memory: no staging copies needed */
};

/* Kernel forms, best first in ost_device_info_t.forms. Level 1 knows its own range: its dispatches
 * have a grid of zeros. All others are what one work-group does (docs/kir.md, level 2); a dispatch
 * says how many work-items there are and how many make a group, and does nothing if a dimension of
 * the grid is 0. Source text is one translation unit with one function, named like the entry, whose
 * arguments are the parameters by slot and the variables by slot:
 *   c99       void entry(void* const* params, const int64_t* vars, const uint64_t* group)
 *             runs group group[0..2]; groups have one work-item and may run on several threads.
 *             const uint32_t entry_args[2] has the numbers of parameters and of variables
 *   opencl-c  __kernel void entry(__global uchar* p0, ulong o0, ..., long v0, ..., uint one)
 *             a parameter is memory and the offset in bytes of its first element; `one` is the bits
 *             of 1.0f, 0x3f800000 (docs/numerics.md says why)
 *   hip-cpp, cuda-cpp
 *             extern "C" __global__ void entry(u8* p0, ..., long long v0, ...) */
enum {
  OST_FORM_KIR_L1 = 1,   /* binary KIR, level 1 */
  OST_FORM_KIR_L2 = 2,   /* binary KIR, level 2 */
  OST_FORM_OPENCL_C = 3, /* source text */
  OST_FORM_HIP_CPP = 4,
  OST_FORM_CUDA_CPP = 5,
  OST_FORM_C99 = 6
};

#define OST_MAX_FORMS 8
#define OST_NAME_SIZE 128
#define OST_TARGET_SIZE 256

typedef struct ost_device_info_t {
  uint32_t size;
  uint32_t kind;  /* out: OST_DEVICE_KIND_* */
  uint32_t flags; /* out: OST_DEVICE_* */
  /* out: bit (1 << OST_DTYPE_x) for each element type that kernels may use */
  uint32_t dtypes;
  char name[OST_NAME_SIZE]; /* out: for people */
  /* out: target key, all that code depends on: "x86_64:avx512f,avx512bw,..." */
  char target[OST_TARGET_SIZE];
  char reason[OST_NAME_SIZE * 2]; /* out: why it is UNUSABLE or COMPILE_ONLY, "" otherwise */
  uint32_t form_count;            /* out */
  uint32_t forms[OST_MAX_FORMS];  /* out: accepted kernel forms, best first */
  uint32_t max_group;             /* out: largest work-group, 1 if the notion does not apply */
  uint32_t subgroup;              /* out: subgroup width, 1 if none */
  uint32_t local_bytes;           /* out: local memory of a work-group, 0 if none */
  uint64_t memory_bytes;          /* out: of heap 0, 0 if unknown */
  uint64_t max_alloc;             /* out: largest single buffer */
  /* out: alignment of every allocation and of refs that kernels get, power of two */
  uint32_t min_align;
  uint32_t threads; /* out: parallel units, for information */
  uint32_t reserved[4];
} ost_device_info_t;

/* --- memory --- */

enum {
  OST_HEAP_DEVICE_LOCAL = 1u << 0,
  OST_HEAP_HOST_VISIBLE = 1u << 1,
  OST_HEAP_COHERENT = 1u << 2, /* flush and invalidate do nothing */
  OST_HEAP_CACHED = 1u << 3
};

typedef struct ost_heap_info_t {
  uint32_t size;
  uint32_t flags; /* out: OST_HEAP_* */
  uint64_t bytes; /* out: capacity, 0 if unknown */
} ost_heap_info_t;

/* A range of device memory. In command lists, `slot` > 0 names entry slot-1 of the binding table
 * that submit gets, and `buffer` is NULL; offset is then added to the bound ref's, and size 0 means
 * all of the bound range behind offset. */
typedef struct ost_ref_t {
  ost_dbuffer_t* buffer;
  uint64_t offset; /* bytes */
  uint64_t size;   /* bytes */
  uint32_t slot;   /* 0: use buffer */
  uint32_t reserved;
} ost_ref_t;

/* --- commands --- */

enum { OST_CMD_COPY = 1, OST_CMD_FILL = 2, OST_CMD_DISPATCH = 3, OST_CMD_CMDLIST = 4 };

typedef struct ost_command_t {
  uint32_t size;
  uint32_t kind; /* OST_CMD_* */
  /* commands run in order; those of one list with equal level are independent of each other */
  uint32_t level;
  uint32_t fill_pattern_size; /* FILL: 1, 2, 4 or 8 */
  /* DISPATCH: parameters by slot. COPY: refs[0] = destination, refs[1] = source, same size, not
   * overlapping. FILL: refs[0], a multiple of the pattern. CMDLIST: the binding table. */
  const ost_ref_t* refs;
  uint32_t ref_count;
  uint32_t var_count;
  /* DISPATCH in a submit and CMDLIST: values by variable slot. DISPATCH in a command list: NULL,
   * see var_map. */
  const int64_t* vars;
  /* DISPATCH in a command list: for each variable slot of the kernel the index into the vars of the
   * CMDLIST command. */
  const uint32_t* var_map;
  ost_executable_t* executable; /* DISPATCH */
  uint32_t entry;               /* DISPATCH: index from executable_entry */
  uint32_t reserved;
  /* DISPATCH of source forms and KIR L2: work-items per dimension; zeros for KIR L1, where the
   * kernel knows its range. */
  uint64_t grid[3];
  uint32_t group[3];
  /* DISPATCH in a command list: k > 0 takes grid[d] from entry k-1 of the vars of the CMDLIST
   * command. */
  uint32_t grid_var[3];
  ost_cmdlist_t* cmdlist; /* CMDLIST */
  uint64_t fill_pattern;  /* FILL: low bytes */
} ost_command_t;

typedef struct ost_point_t {
  ost_timeline_t* timeline;
  uint64_t value;
} ost_point_t;

/* --- compilation --- */

typedef struct ost_compile_t {
  uint32_t size;
  uint32_t form;     /* OST_FORM_* */
  ost_bytes_t code;  /* the kernel in that form */
  ost_str_t entry;   /* name of the kernel: [A-Za-z_][A-Za-z0-9_]* */
  ost_str_t target;  /* target key of a device, present or not */
  ost_str_t options; /* "key=value;..." or empty; part of the cache key */
  ost_sink_t image;  /* out: the image, self-contained */
  ost_sink_t log;    /* out: compiler messages; write may be NULL */
} ost_compile_t;

typedef uint32_t ost_fit_t;
enum { OST_FIT_OPTIMAL = 0, OST_FIT_USABLE = 1, OST_FIT_UNUSABLE = 2 };

/* One completed dispatch, as profile_drain reports it. */
typedef struct ost_profile_record_t {
  uint32_t size;
  uint32_t command;  /* index of the command in its submit or command list */
  uint64_t start_ns; /* monotonic clock */
  uint64_t end_ns;
} ost_profile_record_t;

typedef uint32_t ost_link_t;
enum { OST_LINK_NONE = 0, OST_LINK_COPY = 1, OST_LINK_IMPORT = 2, OST_LINK_NATIVE = 3 };

/* --- the driver table
 * ------------------------------------------------------------------------------------------------
 * REQ: required. OPT: may be NULL. All since 1.0. Every entry that returns ost_status_t fills
 * `error` unless OST_OK. */
typedef struct ost_driver_table_t {
  uint32_t size;
  uint32_t reserved;

  /* REQ. `host` outlives the driver. One driver per plugin and process. */
  ost_status_t (*driver_create)(const ost_host_table_t* host, ost_driver_t** out_driver,
                                ost_error_t* error);
  /* REQ. */
  void (*driver_destroy)(ost_driver_t* driver);
  /* REQ. The devices that only compile come after all others, each with a target of its own, and
   * count too. Where no other device is there, the cause goes to `reason` (its write may be
   * NULL). */
  ost_status_t (*device_count)(ost_driver_t* driver, uint32_t* out_count, ost_sink_t reason,
                               ost_error_t* error);
  /* REQ. */
  ost_status_t (*device_info)(ost_driver_t* driver, uint32_t index, ost_device_info_t* out_info,
                              ost_error_t* error);
  /* REQ. */
  ost_status_t (*device_create)(ost_driver_t* driver, uint32_t index, ost_device_t** out_device,
                                ost_error_t* error);
  /* REQ. Waits for the device's work. */
  void (*device_destroy)(ost_device_t* device);
  /* REQ. OST_OK or OST_DEVICE_LOST. */
  ost_status_t (*device_status)(ost_device_t* device, ost_error_t* error);

  /* Memory. */
  /* REQ */
  uint32_t (*heap_count)(ost_device_t* device);
  /* REQ */
  ost_status_t (*heap_info)(ost_device_t* device, uint32_t heap, ost_heap_info_t* out,
                            ost_error_t*);
  /* REQ. `bytes` may be 0. Contents are undefined. */
  ost_status_t (*buffer_alloc)(ost_device_t* device, uint32_t heap, uint64_t bytes, uint32_t align,
                               ost_dbuffer_t** out_buffer, ost_error_t* error);
  /* REQ. No queue uses it any more. */
  void (*buffer_free)(ost_device_t* device, ost_dbuffer_t* buffer);
  /* REQ where a heap is HOST_VISIBLE. */
  ost_status_t (*buffer_map)(ost_dbuffer_t* buffer, uint64_t offset, uint64_t size,
                             void** out_pointer, ost_error_t*);
  ost_status_t (*buffer_unmap)(ost_dbuffer_t* buffer, ost_error_t*);
  /* OPT */
  ost_status_t (*buffer_flush)(ost_dbuffer_t* buffer, uint64_t offset, uint64_t size, ost_error_t*);
  /* OPT */
  ost_status_t (*buffer_invalidate)(ost_dbuffer_t* buffer, uint64_t offset, uint64_t size,
                                    ost_error_t*);
  /* OPT. Makes host memory usable by the device without a copy; it stays the caller's and outlives
   * the buffer. A driver may refuse memory that is less aligned than it needs
   * (OST_INVALID_ARGUMENT), and a device that cannot do it says so (OST_UNIMPLEMENTED): the host then
   * copies. */
  ost_status_t (*buffer_import_host)(ost_device_t* device, void* pointer, uint64_t bytes,
                                     ost_dbuffer_t** out_buffer, ost_error_t*);
  /* REQ. Blocking copies between host memory and a buffer, after all work submitted before that uses
   * the buffer has ended; other work may still wait for something that the caller does later. */
  ost_status_t (*buffer_write)(ost_device_t*, ost_dbuffer_t*, uint64_t offset, const void* data,
                               uint64_t size, ost_error_t*);
  ost_status_t (*buffer_read)(ost_device_t*, ost_dbuffer_t*, uint64_t offset, void* data,
                              uint64_t size, ost_error_t*);

  /* Queues and timelines. */
  /* REQ */
  ost_status_t (*queue_create)(ost_device_t* device, ost_queue_t** out_queue, ost_error_t* error);
  /* REQ */
  void (*queue_destroy)(ost_queue_t* queue);
  /* REQ */
  ost_status_t (*timeline_create)(ost_device_t* device, uint64_t initial, ost_timeline_t** out,
                                  ost_error_t*);
  /* REQ */
  void (*timeline_destroy)(ost_timeline_t*);
  /* REQ. OST_OK, or the status that it failed with; the value reached in both cases. */
  ost_status_t (*timeline_query)(ost_timeline_t*, uint64_t* out_value, ost_error_t*);
  /* REQ. From the host; the value must be above the current one. */
  ost_status_t (*timeline_signal)(ost_timeline_t*, uint64_t value, ost_error_t*);
  /* REQ. UINT64_MAX: no limit; 0: only looks. OST_TIMEOUT if the time is over. */
  ost_status_t (*timeline_wait)(ost_timeline_t*, uint64_t value, uint64_t timeout_ns, ost_error_t*);
  ost_status_t (*timeline_fail)(ost_timeline_t*, const ost_error_t* why); /* REQ */
  /* REQ. Waits for all `waits`, runs the commands in order, signals `signals`. Returns once the
   * work is accepted; a failure of accepted work fails the signals. Synchronous devices may do all
   * of it before they return. Timelines are those of this device's driver. */
  ost_status_t (*queue_submit)(ost_queue_t* queue, const ost_point_t* waits, uint32_t wait_count,
                               const ost_command_t* commands, uint32_t command_count,
                               const ost_point_t* signals, uint32_t signal_count,
                               ost_error_t* error);

  /* Compilation: no device needed. */
  /* REQ. Identifies compiler, version and flags in cache keys and manifests: "llvm-22.1.8/1". */
  ost_status_t (*compiler_key)(ost_driver_t*, ost_str_t target, ost_sink_t out_key, ost_error_t*);
  ost_status_t (*compile)(ost_driver_t*, const ost_compile_t* job, ost_error_t*); /* REQ */
  /* REQ. Can the image run on that device, and if not, why (to `reason`)? */
  ost_status_t (*image_check)(ost_driver_t*, const ost_device_info_t* info, ost_bytes_t image,
                              ost_fit_t* out_fit, ost_sink_t reason, ost_error_t*);

  /* Executables. */
  /* REQ. `path` is the file that holds exactly the image, or empty: a driver may map it instead of
   * copying. */
  ost_status_t (*executable_load)(ost_device_t*, ost_bytes_t image, ost_str_t path,
                                  ost_executable_t** out, ost_error_t*);
  /* REQ */
  void (*executable_unload)(ost_executable_t*);
  /* REQ */
  ost_status_t (*executable_entry)(ost_executable_t*, ost_str_t name, uint32_t* out_entry,
                                   ost_error_t*);

  /* Command lists. OPT, all or none: without them the host submits the commands one by one. */
  ost_status_t (*cmdlist_create)(ost_device_t*, const ost_command_t* commands,
                                 uint32_t command_count, uint32_t slot_count, uint32_t var_count,
                                 ost_cmdlist_t** out, ost_error_t*);
  void (*cmdlist_destroy)(ost_cmdlist_t*);

  /* Profiling. OPT, all or none. Times of DISPATCH commands are recorded per queue while enabled.
   * */
  ost_status_t (*profile_enable)(ost_queue_t*, uint32_t on, ost_error_t*);
  ost_status_t (*profile_drain)(ost_queue_t*, ost_profile_record_t* out, uint32_t capacity,
                                uint32_t* out_count, ost_error_t*);

  /* OPT. How device `a` of this driver can use memory of the device with target/name given by `b`.
   * */
  ost_status_t (*link_query)(ost_device_t* a, const ost_device_info_t* b, ost_link_t* out_link,
                             ost_error_t*);
  /* OPT. A table of further functions, by name and version; NULL if there is none. */
  const void* (*get_extension)(ost_driver_t*, ost_str_t name, uint32_t version);
} ost_driver_table_t;

/* --- negotiation --- */

typedef struct ost_negotiate_in_t {
  uint32_t size;
  uint32_t abi_min; /* the host accepts any version in [abi_min, abi_max] */
  uint32_t abi_max;
  uint32_t reserved;
} ost_negotiate_in_t;

enum { OST_SANITIZER_NONE = 0, OST_SANITIZER_ADDRESS = 1, OST_SANITIZER_THREAD = 2 };

typedef struct ost_negotiate_out_t {
  uint32_t size;
  uint32_t abi;       /* out: the highest version in the range that the plugin has, 0 if none */
  uint32_t sanitizer; /* out: OST_SANITIZER_* of the build */
  uint32_t reserved;
  char name[32];    /* out: driver name, [a-z][a-z0-9_]*: the first part of device ids */
  char version[32]; /* out */
  char vendor[64];  /* out */
  char reason[240]; /* out: why abi is 0 */
  const ost_driver_table_t* table; /* out: static storage of the plugin */
} ost_negotiate_out_t;

#define OST_PLUGIN_ENTRY_NAME "ost_plugin_negotiate"
typedef ost_status_t (*ost_plugin_negotiate_fn)(const ost_negotiate_in_t* in,
                                                ost_negotiate_out_t* out);
OST_EXPORT ost_status_t ost_plugin_negotiate(const ost_negotiate_in_t* in,
                                             ost_negotiate_out_t* out);

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_PLUGIN_H_ */
