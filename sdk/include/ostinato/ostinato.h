/* Ostinato for applications: graphs, programs, devices, replay, lazy tensors, capture.
 *
 * Conventions (each declaration below says only what differs):
 *   1  C11 and C++; includes only types.h. Every function is exported by libostinato.so and starts
 *      with ost_.
 *   2  A function that can fail returns ost_status_t and takes `ost_error_t* error` last. NULL is
 *      allowed there; else set error->size before the call. Results go to out_* parameters, which
 *      are untouched on failure, except that a handle is set to NULL.
 *   3  Handles are opaque. create/load makes one; destroy ends it and accepts NULL; an object with
 *      retain/release is shared and ends with its last release (which accepts NULL). An object
 *      keeps alive what it was made from, so handles may be ended in any order.
 *   4  A struct with a `size` field: set it to sizeof(the struct) and zero the rest, which is the
 *      default of every option. A tail that this library does not know must be zero
 *      (OST_INCOMPATIBLE otherwise). Structs only grow at the end.
 *   5  Text is NUL-terminated UTF-8; NULL means "not given". Pointers passed in are borrowed for
 *      the call. Pointers handed out live as long as the object that they came from, unless a
 *      declaration says otherwise.
 *   6  Nobody frees what the other side allocated: data of variable size goes to an ost_sink_t.
 *   7  Threads: different objects may be used by different threads at once. Programs, contexts and
 *      archives are immutable or locked inside: any thread, any time. Graphs, instances and buffers
 *      belong to one thread at a time. Sessions lock themselves, with all their tensors and jits.
 *   8  NULL where a handle is needed, and an index out of range, are OST_INVALID_ARGUMENT, never a
 *      crash.
 *   9  Nothing prints, exits, or throws through this interface; callbacks must not throw either.
 *  10  Devices are named "driver:index" ("cpu:0"); "cpu" is "cpu:0"; "auto" lets the library choose
 *      and records what it chose. A named device is that device or an error with the reason. */
#ifndef OSTINATO_OSTINATO_H_
#define OSTINATO_OSTINATO_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- library --- */

/* major << 16 | minor << 8 | patch. Within one major version functions and structs only grow. */
#define OST_VERSION 0x00000100u

/* OST_VERSION of the library that was loaded */
OST_EXPORT uint32_t ost_version(void);
OST_EXPORT const char* ost_version_text(void); /* "0.1.0" */
/* "invalid_argument"; "unknown" for others */
OST_EXPORT const char* ost_status_text(ost_status_t status);
/* "f32"; NULL for a value that is none */
OST_EXPORT const char* ost_dtype_text(ost_dtype_t dtype);
OST_EXPORT uint32_t ost_dtype_bytes(ost_dtype_t dtype); /* 0 for a value that is none */
OST_EXPORT ost_status_t ost_dtype_parse(const char* text, ost_dtype_t* out_dtype,
                                        ost_error_t* error);
OST_EXPORT void ost_sha256(const void* data, uint64_t size, char out_hex[65]);

/* Messages that are not errors of a call (OST_LOG_*), for the whole process. NULL: silence, which
 * is the default. Called from any thread; must not call back into the library. When this returns,
 * the old callback is not running. */
typedef void (*ost_log_fn)(void* user, uint32_t level, const char* message);
OST_EXPORT void ost_log_set(ost_log_fn log, void* user, uint32_t most_verbose);

/* The environment variables that the library reads, with what holds now. Pointers live until the
 * next call on the same thread. Unknown names that start with OSTINATO_ are listed too, with a NULL
 * meaning: most likely misspelled. */
typedef struct ost_env_desc_t {
  uint32_t size;
  uint32_t reserved;
  const char* name;
  const char* meaning;
  const char* value;
  const char* origin; /* "environment", "default", "ignored (...)", "unknown name" */
} ost_env_desc_t;
OST_EXPORT uint32_t ost_env_count(void);
OST_EXPORT ost_status_t ost_env_at(uint32_t index, ost_env_desc_t* out_desc, ost_error_t* error);

/* --- context: plugins, devices, compile cache --- */

typedef struct ost_context_t ost_context_t;

typedef struct ost_option_t {
  const char* name; /* "threads" for every driver, "cpu.threads" for one, which wins */
  const char* value;
} ost_option_t;

enum {
  OST_CONTEXT_NO_PLUGIN_SEARCH = 1u << 0,  /* only plugin_files */
  OST_CONTEXT_IGNORE_ENVIRONMENT = 1u << 1 /* OSTINATO_PLUGIN* are not looked at */
};

typedef struct ost_context_options_t {
  uint32_t size;
  uint32_t flags;                    /* OST_CONTEXT_* */
  const char* const* plugin_files;   /* discovery files or libraries, loaded first */
  const char* const* plugin_folders; /* searched instead of those beside the library */
  /* over OSTINATO_OPTIONS; a driver that this process has already keeps its own */
  const ost_option_t* driver_options;
  uint32_t plugin_file_count;
  uint32_t plugin_folder_count;
  uint32_t driver_option_count;
  uint32_t reserved;
  const char* plugin_filter; /* "glob,!glob" over driver names, instead of OSTINATO_PLUGINS */
  /* of the compile cache; NULL: OSTINATO_CACHE_DIR or the default; "off": none */
  const char* cache_folder;
} ost_context_options_t;

/* `options` may be NULL. A plugin that does not load is no error here: see the plugin records. */
OST_EXPORT ost_status_t ost_context_create(const ost_context_options_t* options,
                                           ost_context_t** out_context, ost_error_t* error);
OST_EXPORT void ost_context_destroy(ost_context_t* context);

typedef struct ost_device_desc_t {
  uint32_t size;
  uint32_t available;    /* 0 or 1, as far as is known without opening it */
  uint32_t compile_only; /* 0 or 1: its compiler can be used, it cannot run */
  uint32_t reserved;
  const char* id; /* "cpu:0" */
  const char* driver;
  const char* name;
  const char* kind;   /* "CPU", "GPU", "accelerator" or "reference" */
  const char* target; /* target key of its compiler */
  const char* reason; /* why it is not available; "" if it is */
} ost_device_desc_t;
OST_EXPORT uint32_t ost_context_device_count(const ost_context_t* context);
OST_EXPORT ost_status_t ost_context_device_at(const ost_context_t* context, uint32_t index,
                                              ost_device_desc_t* out_desc, ost_error_t* error);

/* Opens a device (later uses share it) and says whether it proved that it computes the bits that
 * the numerics define. */
typedef struct ost_device_state_t {
  uint32_t size;
  uint32_t exact; /* 0 or 1 */
  const char* id; /* what "auto" chose; lives as long as the context */
  /* the first item of the self-test that failed; "" if exact; lives as long as the context */
  const char* reason;
  uint64_t allocations; /* of device memory since it was opened */
  uint64_t allocated_bytes;
  uint64_t live_bytes;
  uint64_t submits;
} ost_device_state_t;
OST_EXPORT ost_status_t ost_context_open_device(ost_context_t* context, const char* device,
                                                ost_device_state_t* out_state, ost_error_t* error);

/* One record for each plugin that was looked at, loaded or not. */
typedef struct ost_plugin_desc_t {
  uint32_t size;
  uint32_t rule;    /* rule of the plugin ABI that is broken, 0 if none */
  const char* path; /* discovery file, or the library if it was given directly; "(built in)" */
  const char* library;
  const char* driver; /* "" as long as unknown */
  const char* status; /* "loaded", "skipped", "failed" */
  /* how far it came: "discover", "manifest", "filter", "open", "entry", "negotiate", "table", ...
   * */
  const char* stage;
  const char* reason; /* the cause in full; of a loaded plugin its version */
} ost_plugin_desc_t;
OST_EXPORT uint32_t ost_context_plugin_count(const ost_context_t* context);
OST_EXPORT ost_status_t ost_context_plugin_at(const ost_context_t* context, uint32_t index,
                                              ost_plugin_desc_t* out_desc, ost_error_t* error);
/* Folders that the search looked into, existing or not. NULL beyond the last. */
OST_EXPORT uint32_t ost_context_plugin_folder_count(const ost_context_t* context);
OST_EXPORT const char* ost_context_plugin_folder_at(const ost_context_t* context, uint32_t index);

/* What the context's compilers and cache did since it was created. */
typedef struct ost_compile_stats_t {
  uint32_t size;
  uint32_t reserved;
  uint64_t compiles;    /* calls of a driver's compiler */
  uint64_t compile_ns;  /* time in them, summed over threads */
  uint64_t images_used; /* taken from a manifest (trusted) */
  uint64_t cache_hits;
  uint64_t cache_misses;
  uint64_t cache_damaged; /* files that failed the check and were removed */
  uint64_t cache_stores;
} ost_compile_stats_t;
OST_EXPORT ost_status_t ost_context_compile_stats(const ost_context_t* context,
                                                  ost_compile_stats_t* out_stats,
                                                  ost_error_t* error);

/* The compile cache on disk. `each` is called once an entry; may be NULL. */
typedef struct ost_cache_entry_t {
  uint32_t size;
  uint32_t reserved;
  const char* key; /* 64 hex digits; valid during the callback, as is path */
  const char* path;
  uint64_t bytes;
  int64_t used_ns; /* last use, since the epoch */
} ost_cache_entry_t;
typedef void (*ost_cache_entry_fn)(void* user, const ost_cache_entry_t* entry);
/* "" if there is no cache */
OST_EXPORT const char* ost_context_cache_folder(const ost_context_t* context);
OST_EXPORT ost_status_t ost_context_cache_list(ost_context_t* context, ost_cache_entry_fn each,
                                               void* user, ost_error_t* error);
/* Removes the entries used least recently until max_bytes are left (0: all). `each` gets what was
 * removed. */
OST_EXPORT ost_status_t ost_context_cache_prune(ost_context_t* context, uint64_t max_bytes,
                                                ost_cache_entry_fn each, void* user,
                                                ost_error_t* error);

/* --- values --- */

/* A dimension: `expr` ("n", "64*n + 3") if it is not NULL, else `value`. Handed out, `value` is the
 * largest that it can be. */
typedef struct ost_dim_t {
  int64_t value;
  const char* expr;
} ost_dim_t;

typedef struct ost_var_t {
  const char* name;
  int64_t min, max; /* inclusive; min >= 0 */
} ost_var_t;

typedef struct ost_var_value_t {
  const char* name;
  int64_t value;
} ost_var_value_t;

/* An array in host memory: row-major, contiguous, the machine's byte order. */
typedef struct ost_array_t {
  ost_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  const void* data; /* may be NULL if a dimension is 0 */
} ost_array_t;

/* Device memory, shared between whoever binds it. One thread at a time. Where a part of a buffer is
 * bound, its offset is a multiple of the device's alignment (256 is one for every device). */
typedef struct ost_buffer_t ost_buffer_t;
OST_EXPORT ost_status_t ost_buffer_create(ost_context_t* context, const char* device,
                                          uint64_t bytes, ost_buffer_t** out_buffer,
                                          ost_error_t* error);
/* Uses the caller's memory without a copy; it must outlive the buffer and everything that the
 * buffer was bound to. OST_UNIMPLEMENTED if the device cannot, OST_INVALID_ARGUMENT if `data` is
 * not aligned enough (64 bytes suffice). */
OST_EXPORT ost_status_t ost_buffer_import(ost_context_t* context, const char* device, void* data,
                                          uint64_t bytes, ost_buffer_t** out_buffer,
                                          ost_error_t* error);
/* The same, and `release(user)` is called once when nothing uses the memory any more: from any
 * thread, not into this library. After an error it is not called. */
OST_EXPORT ost_status_t ost_buffer_import_owned(ost_context_t* context, const char* device,
                                                void* data, uint64_t bytes,
                                                void (*release)(void* user), void* user,
                                                ost_buffer_t** out_buffer, ost_error_t* error);
OST_EXPORT void ost_buffer_retain(ost_buffer_t* buffer);
OST_EXPORT void ost_buffer_release(ost_buffer_t* buffer);
OST_EXPORT uint64_t ost_buffer_bytes(const ost_buffer_t* buffer);
/* The memory itself, for as long as the buffer lives. Programs that write it while it is looked at
 * are the caller's business. OST_UNIMPLEMENTED if the host cannot see the device's memory; NULL for
 * a buffer of no bytes. */
OST_EXPORT ost_status_t ost_buffer_map(ost_buffer_t* buffer, void** out_data, ost_error_t* error);
OST_EXPORT ost_status_t ost_buffer_write(ost_buffer_t* buffer, uint64_t offset, const void* data,
                                         uint64_t bytes, ost_error_t* error);
OST_EXPORT ost_status_t ost_buffer_read(const ost_buffer_t* buffer, uint64_t offset, void* data,
                                        uint64_t bytes, ost_error_t* error);

/* --- graphs --- */

typedef struct ost_graph_t ost_graph_t;
typedef uint32_t ost_node_t;

OST_EXPORT ost_status_t ost_graph_create(ost_graph_t** out_graph, ost_error_t* error);
OST_EXPORT void ost_graph_destroy(ost_graph_t* graph);

/* Declares a variable that dimensions may name. Declaring it again with the same bounds is allowed.
 * */
OST_EXPORT ost_status_t ost_graph_var(ost_graph_t* graph, const ost_var_t* var, ost_error_t* error);

/* Names of inputs, constants and states are unique within a graph. `device` is the logical device,
 * 0 as a rule. */
OST_EXPORT ost_status_t ost_graph_input(ost_graph_t* graph, const char* name, ost_dtype_t dtype,
                                        const ost_dim_t* dims, uint32_t rank, uint32_t device,
                                        ost_node_t* out_node, ost_error_t* error);
/* Data is copied. `file` (may be NULL) and `tensor`: a .safetensors file relative to where the
 * program will be saved that holds the same bytes under this name: the program then refers to it.
 * */
OST_EXPORT ost_status_t ost_graph_constant(ost_graph_t* graph, const char* name,
                                           const ost_array_t* data, const char* file,
                                           const char* tensor, ost_node_t* out_node,
                                           ost_error_t* error);
/* Lives as long as an instance and may be assigned. `initial` NULL: zeros. */
OST_EXPORT ost_status_t ost_graph_state(ost_graph_t* graph, const char* name, ost_dtype_t dtype,
                                        const ost_dim_t* dims, uint32_t rank,
                                        const ost_array_t* initial, uint32_t device,
                                        ost_node_t* out_node, ost_error_t* error);

/* An attribute of an operation. INT also carries booleans (0, 1) and element types (OST_DTYPE_*).
 * */
enum { OST_ATTR_INT = 1, OST_ATTR_FLOAT = 2, OST_ATTR_INTS = 3, OST_ATTR_DIMS = 4 };
typedef struct ost_attr_t {
  const char* name;
  uint32_t kind;  /* OST_ATTR_* */
  uint32_t count; /* of ints or dims */
  int64_t i;
  double f;
  const int64_t* ints;
  const ost_dim_t* dims;
} ost_attr_t;

/* Applies one operation, with NumPy's broadcasting, promotion and negative axes. Attributes in []
 * may be left out.
 *   neg abs sign sqrt floor ceil trunc round bit_not exp exp2 expm1 log log2 log1p sin cos tanh
 *   sigmoid silu erf gelu
 *   rsqrt relu                             x
 *   cast bitcast                           x; dtype
 *   add sub mul div floor_div floor_mod trunc_div trunc_mod pow minimum maximum bit_and bit_or
 *   bit_xor shl shr
 *   eq ne lt le gt ge                      a, b         (div of integers is a float, as in NumPy)
 *   where                                  cond, a, b
 *   fma                                    a, b, c      (one rounding)
 *   full                                   dtype, shape, value (FLOAT, or INT for an integer type)
 *   arange                                 count (DIMS of one)
 *   reshape broadcast_to                   x; shape     (reshape: one dimension may be -1)
 *   permute                                x; axes
 *   transpose                              x            (the last two axes)
 *   slice                                  x; [starts (DIMS)], [stops (DIMS)], [steps]   (of the
 *                                          first axes; a missing start or stop has the expr "")
 *   window                                 x; axis, taps, [stride = 1], [dilation = 1]
 *   pad                                    x; before (DIMS), after (DIMS), [value]
 *   flip                                   x; axes
 *   concat                                 parts ...; [axis = 0]
 *   squeeze unsqueeze                      x; axis
 *   sum prod mean max min any all          x; [axes: all], [keepdims = 0]
 *   argmax argmin                          x; [axis: all], [keepdims = 0]
 *   matmul                                 a, b; [acc (dtype)]
 *   dot                                    a, b
 *   linear                                 x, weight[N, K], [bias]
 *   attention                              q, k, v, [mask: bool, or a float that is added to the
 * scores]; [scale], [causal = 0]
 *   conv2d                                 x[N, C, H, W], weight[O, C / groups, KH, KW], [bias];
 * [stride], [padding], [dilation], [groups = 1]   (INTS of one or two; padding also of four: top,
 * left, bottom, right)
 *   max_pool2d                             x; size, [stride = size], [padding], [dilation]
 *   avg_pool2d                             x; size, [stride = size], [padding], [count_padding = 1]
 *   gather                                 data, index; [axis = 0]
 *   scatter scatter_add                    base, index, updates; [axis = 0]
 *   softmax log_softmax                    x; [axis = -1]
 *   logsumexp                              x; [axis = -1], [keepdims = 0]
 *   layernorm                              x, [gamma], [beta]; [eps = 1e-5]
 *   rmsnorm                                x, [gamma]; [eps = 1e-6]
 *   assign                                 target, value; [starts (DIMS)]
 *   copy                                   x; device (INT: a logical device)
 * ost_op_count and ost_op_at list the same names. */
OST_EXPORT ost_status_t ost_graph_op(ost_graph_t* graph, const char* op, const ost_node_t* inputs,
                                     uint32_t input_count, const ost_attr_t* attrs,
                                     uint32_t attr_count, ost_node_t* out_node, ost_error_t* error);
OST_EXPORT uint32_t ost_op_count(void);
OST_EXPORT const char* ost_op_at(uint32_t index); /* in alphabetical order; NULL beyond the last */

/* An input whose type is written as text: "64,64", "n:1..1797,64" (declares the variable n),
 * "f16[n:1..64, 64]", "" for a scalar; f32 if no element type is named. */
OST_EXPORT ost_status_t ost_graph_input_text(ost_graph_t* graph, const char* name, const char* type,
                                             uint32_t device, ost_node_t* out_node,
                                             ost_error_t* error);

/* An expression of docs/dsl.md over the graph's inputs, constants, states and variables, by name.
 * If out_node is NULL its results become outputs of the graph ("out", or the names that the text
 * assigns); otherwise it must have one result, which is returned. An error names line and column;
 * its message has the line with a caret. */
OST_EXPORT ost_status_t ost_graph_expression(ost_graph_t* graph, const char* text,
                                             ost_node_t* out_node, ost_error_t* error);
/* The names that an expression reads and does not define, each once in order of first use, one sink
 * write a name. */
OST_EXPORT ost_status_t ost_expression_names(const char* text, const ost_sink_t* sink,
                                             ost_error_t* error);
/* The names of the inputs that a program declares ("x: f32[n:1..64, 768]"), one sink write a name.
 * ost_graph_expression adds those that the graph does not have; one that it has must have the
 * declared type, with any size within the bounds where the program has a variable. */
OST_EXPORT ost_status_t ost_expression_inputs(const char* text, const ost_sink_t* sink,
                                              ost_error_t* error);
/* The functions that an expression may call, with their parameters, sorted, one sink write each. */
OST_EXPORT ost_status_t ost_expression_functions(const ost_sink_t* sink, ost_error_t* error);

/* Result of a node. Text of dims lives until the graph changes. */
#define OST_MAX_RANK 16
typedef struct ost_type_desc_t {
  uint32_t size;
  ost_dtype_t dtype;
  uint32_t rank;
  uint32_t device;  /* logical */
  const char* name; /* of an input, output, ...; "" for a node */
  ost_dim_t dims[OST_MAX_RANK];
} ost_type_desc_t;
OST_EXPORT ost_status_t ost_graph_node_type(ost_graph_t* graph, ost_node_t node,
                                            ost_type_desc_t* out_type, ost_error_t* error);

OST_EXPORT ost_status_t ost_graph_output(ost_graph_t* graph, const char* name, ost_node_t node,
                                         ost_error_t* error);
OST_EXPORT ost_status_t ost_graph_text(const ost_graph_t* graph, const ost_sink_t* sink,
                                       ost_error_t* error);

/* --- programs --- */

typedef struct ost_program_t ost_program_t;

enum { OST_NUMERICS_STRICT = 0, OST_NUMERICS_FAST = 1 };

typedef struct ost_compile_options_t {
  uint32_t size;
  uint32_t numerics;    /* OST_NUMERICS_* */
  uint32_t no_fuse;     /* 1: one kernel an operation */
  uint32_t no_simplify; /* 1: the graph as it was given */
  /* elements: a larger intermediate is stored instead of kept within a kernel; 0: no limit */
  int64_t memory_budget;
  /* bytes: a hard cap on the arena of each device, met by other orders and by computing again, else
   * an error that names the smallest limit that works; 0: no limit */
  uint64_t arena_limit;
  /* elements: longer loops over results are split; 0: the device's compiler chooses */
  uint32_t tile_size;
  uint32_t reserved;
} ost_compile_options_t;

/* Graph to program; `options` may be NULL. Needs outputs; compiles nothing for a device. The graph
 * is unchanged. */
OST_EXPORT ost_status_t ost_graph_compile(const ost_graph_t* graph,
                                          const ost_compile_options_t* options,
                                          ost_program_t** out_program, ost_error_t* error);

typedef struct ost_load_options_t {
  uint32_t size;
  /* 1: run native code that is in the manifest; only for manifests whose author you trust */
  uint32_t trust;
  /* 1: do not compare the program with its id (it is verified all the same) */
  uint32_t accept_edited;
  uint32_t reserved;
  uint64_t max_data_bytes; /* constants and states together; 0: 64 GiB */
} ost_load_options_t;
/* Opens and verifies a manifest; safe on files from strangers. Errors name the file and the JSON
 * pointer. */
OST_EXPORT ost_status_t ost_program_load(const char* path, const ost_load_options_t* options,
                                         ost_program_t** out_program, ost_error_t* error);
/* The same from text without files beside it. */
OST_EXPORT ost_status_t ost_program_parse(const char* text, uint64_t size,
                                          const ost_load_options_t* options,
                                          ost_program_t** out_program, ost_error_t* error);
OST_EXPORT void ost_program_retain(ost_program_t* program);
OST_EXPORT void ost_program_release(ost_program_t* program);

typedef struct ost_save_options_t {
  uint32_t size;
  uint32_t no_images;    /* 1: leave compiled kernels out */
  uint64_t inline_bytes; /* data up to this size is written into the JSON; 0: 1024 */
} ost_save_options_t;
/* Writes "x.ost.json", and beside it "x.safetensors" and "x.images" where needed; each file
 * atomically. */
OST_EXPORT ost_status_t ost_program_save(const ost_program_t* program, const char* path,
                                         const ost_save_options_t* options, ost_error_t* error);

typedef struct ost_program_desc_t {
  uint32_t size;
  uint32_t numerics; /* OST_NUMERICS_* */
  const char* id;    /* 64 hex digits: what it computes, and how */
  uint32_t devices;  /* logical */
  uint32_t vars;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t constants;
  uint32_t states;
  uint32_t kernels; /* distinct */
  uint32_t groups;
  uint32_t launches; /* of one run */
  uint32_t copies;
  uint32_t images; /* compiled kernels that travel with it */
  uint32_t tests;  /* runs with known results */
  uint64_t arena_bytes;
  uint64_t constant_bytes;
  const char* summary; /* one line: "7 operations in 2 launches, ..." */
  const char* counts;  /* JSON: {"gemm_epilogue": 1, "pointwise_groups": 0, ...} */
} ost_program_desc_t;
OST_EXPORT ost_status_t ost_program_describe(const ost_program_t* program,
                                             ost_program_desc_t* out_desc, ost_error_t* error);
OST_EXPORT ost_status_t ost_program_var_at(const ost_program_t* program, uint32_t index,
                                           ost_var_t* out_var, ost_error_t* error);
OST_EXPORT ost_status_t ost_program_input_at(const ost_program_t* program, uint32_t index,
                                             ost_type_desc_t* out_type, ost_error_t* error);
OST_EXPORT ost_status_t ost_program_output_at(const ost_program_t* program, uint32_t index,
                                              ost_type_desc_t* out_type, ost_error_t* error);
OST_EXPORT ost_status_t ost_program_state_at(const ost_program_t* program, uint32_t index,
                                             ost_type_desc_t* out_type, ost_error_t* error);
/* The concrete shape of an input at these values, to out_shape[0 .. rank). */
OST_EXPORT ost_status_t ost_program_input_shape(const ost_program_t* program, uint32_t index,
                                                const ost_var_value_t* vars, uint32_t var_count,
                                                int64_t out_shape[OST_MAX_RANK],
                                                ost_error_t* error);
/* NULL beyond the last */
OST_EXPORT const char* ost_program_kernel_name(const ost_program_t* program, uint32_t index);

/* Reports for people and tools. JSON is one object. DOT and HTML: inspect only. */
enum {
  OST_FORMAT_TEXT = 1,
  OST_FORMAT_JSON = 2,
  OST_FORMAT_DOT = 3,
  OST_FORMAT_HTML = 4,
  OST_FORMAT_MANIFEST = 5,
  OST_FORMAT_KIR = 6
};
/* MANIFEST: the canonical text with all data inline. KIR: TEXT with the instructions of each
 * kernel. */
OST_EXPORT ost_status_t ost_program_inspect(const ost_program_t* program, uint32_t format,
                                            const ost_sink_t* sink, ost_error_t* error);
/* Why a launch is what it is. Text lives as long as the program. */
typedef struct ost_group_desc_t {
  uint32_t size;
  uint32_t step;        /* of the program */
  const char* kernel;   /* its name */
  const char* kind;     /* "gemm_epilogue", "pointwise", ...: docs/fusion.md */
  const char* ops;      /* graph operations in order, separated by spaces */
  const char* why;      /* they are one kernel */
  const char* ended;    /* what stopped it from growing */
  const char* tiles;    /* loops that tile_size split, separated by "; "; "" if none */
  uint64_t bytes_saved; /* intermediates that are never stored, at the largest variables */
} ost_group_desc_t;
OST_EXPORT ost_status_t ost_program_group_at(const ost_program_t* program, uint32_t index,
                                             ost_group_desc_t* out_desc, ost_error_t* error);
/* Why each kernel is what it is: groups (ops, kernel, why, ended, bytes_saved), copies, summary.
 * TEXT or JSON. */
OST_EXPORT ost_status_t ost_program_explain(const ost_program_t* program, uint32_t format,
                                            const ost_sink_t* sink, ost_error_t* error);
/* What differs by structure; nothing is written and *out_count is 0 if the programs do the same in
 * the same way. */
OST_EXPORT ost_status_t ost_program_diff(const ost_program_t* a, const ost_program_t* b,
                                         uint32_t format, const ost_sink_t* sink,
                                         uint32_t* out_count, ost_error_t* error);
/* Compiles every kernel for targets ("cpu", "cpu:0", "hip:gfx90a", or only "gfx90a" where one
 * driver has it; no device of it need be here) and keeps the images in a new program of the same
 * id. */
OST_EXPORT ost_status_t ost_program_link(const ost_program_t* program, ost_context_t* context,
                                         const char* const* targets, uint32_t target_count,
                                         ost_program_t** out_program, ost_error_t* error);

/* --- instances: a program on devices --- */

typedef struct ost_instance_t ost_instance_t;

typedef struct ost_instance_options_t {
  uint32_t size;
  uint32_t require_exact;   /* 1: refuse a device that failed its self-test */
  uint32_t compile_threads; /* 0: as many as cores */
  uint32_t reserved;
} ost_instance_options_t;
/* devices[i] is logical device i; one name serves for all if device_count is 1. Kernels come from
 * the manifest (if it was loaded with trust), the cache, or the device's compiler, in this order.
 * */
OST_EXPORT ost_status_t ost_instance_create(ost_context_t* context, const ost_program_t* program,
                                            const char* const* devices, uint32_t device_count,
                                            const ost_instance_options_t* options,
                                            ost_instance_t** out_instance, ost_error_t* error);
OST_EXPORT void ost_instance_destroy(ost_instance_t* instance);

/* What is bound to an input: an array in host memory, which is copied, or a part of a buffer, which
 * is shared. */
typedef struct ost_binding_t {
  const char* name;  /* of the input; NULL: by position */
  ost_array_t array; /* dtype, rank and shape always; data if buffer is NULL */
  ost_buffer_t* buffer;
  uint64_t offset;
} ost_binding_t;
/* Binds all inputs and sizes the outputs. A variable that is not given follows from the shapes;
 * errors name what differs and where. Nothing is bound after an error. */
OST_EXPORT ost_status_t ost_instance_bind(ost_instance_t* instance, const ost_binding_t* inputs,
                                          uint32_t input_count, const ost_var_value_t* vars,
                                          uint32_t var_count, ost_error_t* error);
/* Gives an output memory instead of the instance's own, until the next bind. */
OST_EXPORT ost_status_t ost_instance_bind_output(ost_instance_t* instance, uint32_t output,
                                                 ost_buffer_t* buffer, uint64_t offset,
                                                 ost_error_t* error);
/* Runs what is bound and waits. Allocates and compiles nothing. */
OST_EXPORT ost_status_t ost_instance_run(ost_instance_t* instance, ost_error_t* error);

/* Of the last bind: concrete dims (expr NULL). */
OST_EXPORT ost_status_t ost_instance_output_type(ost_instance_t* instance, uint32_t output,
                                                 ost_type_desc_t* out_type, ost_error_t* error);
/* `bytes` must be the array's exactly. Inputs and states differ from what they were where the
 * program assigns to them. */
OST_EXPORT ost_status_t ost_instance_read_output(ost_instance_t* instance, uint32_t output,
                                                 void* data, uint64_t bytes, ost_error_t* error);
OST_EXPORT ost_status_t ost_instance_read_input(ost_instance_t* instance, uint32_t input,
                                                void* data, uint64_t bytes, ost_error_t* error);
OST_EXPORT ost_status_t ost_instance_read_state(ost_instance_t* instance, uint32_t state,
                                                void* data, uint64_t bytes, ost_error_t* error);
OST_EXPORT ost_status_t ost_instance_write_state(ost_instance_t* instance, uint32_t state,
                                                 const void* data, uint64_t bytes,
                                                 ost_error_t* error);
OST_EXPORT ost_status_t ost_instance_var(ost_instance_t* instance, const char* name,
                                         int64_t* out_value, ost_error_t* error);
/* The device that logical device `index` is; NULL beyond the last. */
OST_EXPORT const char* ost_instance_device(const ost_instance_t* instance, uint32_t index);

typedef struct ost_run_stats_t {
  uint32_t size;
  uint32_t reserved;
  uint64_t launches; /* of the last run, like what follows */
  uint64_t copies;
  uint64_t copied_bytes;
  uint64_t allocations; /* of device memory while it ran */
  uint64_t compiles;
  uint64_t wall_ns;
  uint64_t build_compiles; /* of making the instance, like what follows */
  uint64_t build_cache_hits;
  uint64_t build_images_used;
  uint64_t arena_bytes;
  uint64_t constant_bytes;
  uint64_t state_bytes;
} ost_run_stats_t;
OST_EXPORT ost_status_t ost_instance_stats(const ost_instance_t* instance,
                                           ost_run_stats_t* out_stats, ost_error_t* error);

/* Times of each launch of the runs from now on. OST_UNIMPLEMENTED if no device of the program can.
 * */
OST_EXPORT ost_status_t ost_instance_profile(ost_instance_t* instance, uint32_t on,
                                             ost_error_t* error);
typedef struct ost_kernel_time_t {
  uint32_t step;
  uint32_t kernel;
  uint64_t ns;
} ost_kernel_time_t;
OST_EXPORT uint32_t ost_instance_time_count(const ost_instance_t* instance);
OST_EXPORT ost_status_t ost_instance_time_at(const ost_instance_t* instance, uint32_t index,
                                             ost_kernel_time_t* out_time, ost_error_t* error);

/* Runs one program on two lists of devices in lockstep: both get the same bytes before each kernel,
 * and what it wrote is compared bit for bit, with all NaNs as one value. Then the whole program
 * runs on each, and the outputs are compared. */
typedef struct ost_difference_t {
  uint32_t size;
  uint32_t equal;    /* 0 or 1; the fields from `step` on are meaningful if 0 */
  uint32_t compared; /* kernels (launches) that were compared */
  uint32_t step;     /* UINT32_MAX: every kernel alone is equal, but the whole program is not */
  char kernel[128];
  char op[128];     /* operations that the kernel was made from */
  char buffer[128]; /* what it wrote: "output y", "temp 3" */
  ost_dtype_t dtype;
  uint32_t different; /* elements of that buffer that differ (saturates) */
  uint64_t index;     /* of the first one, row-major */
  uint64_t bits[2];
  /* floats: representable numbers between the two (UINT64_MAX if one is a NaN); else |a - b| */
  uint64_t ulp;
} ost_difference_t;
OST_EXPORT ost_status_t ost_verify(ost_context_t* context, const ost_program_t* program,
                                   const char* const* devices_a, uint32_t device_count_a,
                                   const char* const* devices_b, uint32_t device_count_b,
                                   const ost_binding_t* inputs, uint32_t input_count,
                                   const ost_var_value_t* vars, uint32_t var_count,
                                   ost_difference_t* out_difference, ost_error_t* error);

/* --- functions: an expression, compiled and kept --- */

typedef struct ost_function_t ost_function_t;
typedef struct ost_named_type_t {
  const char* name;
  const char* type; /* as ost_graph_input_text has it: "64,64", "f16[n:1..64, 64]" */
} ost_named_type_t;

/* Compiles a program of docs/dsl.md for these types of its inputs and one device (NULL: auto). The
 * context keeps it: the same text with the same types, options and device gives the same function
 * again, which compiles nothing. The function keeps the context's devices alive. */
OST_EXPORT ost_status_t ost_function_create(ost_context_t* context, const char* text,
                                            const ost_named_type_t* types, uint32_t type_count,
                                            const ost_compile_options_t* options,
                                            const char* device, ost_function_t** out_function,
                                            ost_error_t* error);
OST_EXPORT void ost_function_retain(ost_function_t* function);
OST_EXPORT void ost_function_release(ost_function_t* function);
/* Binds and runs; results are read from its instance until the next call. One call at a time, also
 * through other handles of the same function. */
OST_EXPORT ost_status_t ost_function_call(ost_function_t* function, const ost_binding_t* inputs,
                                          uint32_t input_count, const ost_var_value_t* vars,
                                          uint32_t var_count, ost_error_t* error);
/* Borrowed; lives as long as the function. NULL for NULL. */
OST_EXPORT ost_instance_t* ost_function_instance(ost_function_t* function);
OST_EXPORT const char* ost_function_device(const ost_function_t* function);
/* Its program, which the caller releases: describe, explain, inspect, save. */
OST_EXPORT ost_status_t ost_function_program(ost_function_t* function, ost_program_t** out_program,
                                             ost_error_t* error);
/* The kernels in the form that the device's compiler is given: the text of KIR, or source. */
OST_EXPORT ost_status_t ost_function_source(ost_function_t* function, const ost_sink_t* sink,
                                            ost_error_t* error);
typedef struct ost_function_stats_t {
  uint32_t size;
  uint32_t reserved;
  uint64_t compiled; /* requests that compiled */
  uint64_t reused;   /* requests that found their function */
  uint64_t kept;     /* functions that the context holds now */
} ost_function_stats_t;
OST_EXPORT ost_status_t ost_context_function_stats(const ost_context_t* context,
                                                   ost_function_stats_t* out_stats,
                                                   ost_error_t* error);

/* --- sessions: lazy tensors and capture --- */

typedef struct ost_session_t ost_session_t;
typedef struct ost_tensor_t ost_tensor_t;
typedef struct ost_jit_t ost_jit_t;

/* `options` may be NULL. */
OST_EXPORT ost_status_t ost_session_create(ost_context_t* context,
                                           const ost_compile_options_t* options,
                                           ost_session_t** out_session, ost_error_t* error);
OST_EXPORT void ost_session_destroy(ost_session_t* session);
/* Declares a variable, or changes its value; shapes may then name it. Lazy tensors are realized
 * first, at the old value. While a function is captured no value changes. */
OST_EXPORT ost_status_t ost_session_bind(ost_session_t* session, const ost_var_t* var,
                                         int64_t value, ost_error_t* error);

/* Copies `data` to a device. `dims` (may be NULL: data->shape) say which dimensions are variables.
 * */
OST_EXPORT ost_status_t ost_tensor_from_array(ost_session_t* session, const char* device,
                                              const ost_array_t* data, const ost_dim_t* dims,
                                              ost_tensor_t** out_tensor, ost_error_t* error);
/* Storage that exists already, shared. */
OST_EXPORT ost_status_t ost_tensor_from_buffer(ost_session_t* session, ost_buffer_t* buffer,
                                               uint64_t offset, ost_dtype_t dtype,
                                               const ost_dim_t* dims, uint32_t rank,
                                               ost_tensor_t** out_tensor, ost_error_t* error);
/* Lazy. Operations as in ost_graph_op, without assign and copy; `device` matters without inputs
 * only (NULL: auto). */
OST_EXPORT ost_status_t ost_tensor_op(ost_session_t* session, const char* op,
                                      ost_tensor_t* const* inputs, uint32_t input_count,
                                      const ost_attr_t* attrs, uint32_t attr_count,
                                      const char* device, ost_tensor_t** out_tensor,
                                      ost_error_t* error);
/* The same value on another device. Lazy. */
OST_EXPORT ost_status_t ost_tensor_to(ost_tensor_t* tensor, const char* device,
                                      ost_tensor_t** out_tensor, ost_error_t* error);
/* In place: writes `value` into the region of `target` that starts at `starts` (NULL: the whole).
 * */
OST_EXPORT ost_status_t ost_tensor_assign(ost_tensor_t* target, ost_tensor_t* value,
                                          const ost_dim_t* starts, uint32_t start_count,
                                          ost_error_t* error);
OST_EXPORT ost_status_t ost_tensor_realize(ost_tensor_t* const* tensors, uint32_t count,
                                           ost_error_t* error);
/* Dims: `value` is the concrete one, `expr` set where it is not a number. Text lives as long as the
 * tensor. While a function is captured a dimension that is not a number has the value -1. */
OST_EXPORT ost_status_t ost_tensor_type(ost_tensor_t* tensor, ost_type_desc_t* out_type,
                                        ost_error_t* error);
OST_EXPORT const char* ost_tensor_device(ost_tensor_t* tensor); /* "cpu:0"; NULL for NULL */
OST_EXPORT uint32_t ost_tensor_is_realized(ost_tensor_t* tensor);
/* Realizes and copies to the host; `bytes` must be the tensor's exactly. OST_JIT_ERROR while a
 * function is captured: the program would keep for ever what was read. */
OST_EXPORT ost_status_t ost_tensor_read(ost_tensor_t* tensor, void* data, uint64_t bytes,
                                        ost_error_t* error);
/* Realizes; the storage, shared, which the caller releases, and where in it the tensor starts.
 * OST_JIT_ERROR where ost_tensor_read gives it. */
OST_EXPORT ost_status_t ost_tensor_buffer(ost_tensor_t* tensor, ost_buffer_t** out_buffer,
                                          uint64_t* out_offset, ost_error_t* error);
OST_EXPORT void ost_tensor_retain(ost_tensor_t* tensor);
OST_EXPORT void ost_tensor_release(ost_tensor_t* tensor);

/* Capture: call 1 runs the function eagerly, call 2 captures one program of all that it computes,
 * later calls run that program and never the function. Breaches of the contract are OST_JIT_ERROR
 * and leave no half-captured state. */
typedef struct ost_jit_outputs_t ost_jit_outputs_t;
/* Within the function only: appends a tensor to the results, and retains it. */
OST_EXPORT ost_status_t ost_jit_outputs_add(ost_jit_outputs_t* outputs, ost_tensor_t* tensor,
                                            ost_error_t* error);
/* Inputs are borrowed for the call. An error that it returns is that of ost_jit_call. */
typedef ost_status_t (*ost_jit_fn)(void* user, ost_tensor_t* const* inputs, uint32_t input_count,
                                   ost_jit_outputs_t* outputs, ost_error_t* error);

/* What happens to the outputs of a captured program. */
enum {
  /* they belong to the program: a tensor of an earlier call is stale after the next, and reading it
   * fails */
  OST_JIT_REUSE = 0,
  /* new storage for each call */
  OST_JIT_FRESH = 1,
  /* the memory of donated inputs serves the outputs of later calls: those tensors have no value
   * after the call, and reading one fails */
  OST_JIT_DONATE = 2
};
typedef struct ost_jit_options_t {
  uint32_t size;
  uint32_t outputs;  /* OST_JIT_* */
  uint32_t disabled; /* 1: every call is eager */
  /* 1: kernels run in every replay even if all that they read is constant or frozen */
  uint32_t no_prune;
  /* how many signatures may have a program at once; the one used longest ago makes room. 0 or 1:
   * another signature than the captured one is an error */
  uint32_t programs;
  uint32_t parameter_count;
  const char* const* parameters; /* names of the inputs, by position; NULL: they have none */
  const uint32_t* donated;       /* positions of inputs, for OST_JIT_DONATE; NULL: all of them */
  uint32_t donated_count;
  uint32_t reserved;
} ost_jit_options_t;
typedef struct ost_jit_var_t {
  ost_var_t var;
  int64_t value;
} ost_jit_var_t;
/* `user` must outlive the jit. */
OST_EXPORT ost_status_t ost_jit_create(ost_session_t* session, ost_jit_fn function, void* user,
                                       const ost_jit_options_t* options, ost_jit_t** out_jit,
                                       ost_error_t* error);
OST_EXPORT void ost_jit_destroy(ost_jit_t* jit);
/* Results go to out_tensors[0 .. *out_count), which the caller releases; more than `capacity` of
 * them is an error that says how many there are. Within the function of another jit, the function
 * becomes a part of that one. */
OST_EXPORT ost_status_t ost_jit_call(ost_jit_t* jit, ost_tensor_t* const* inputs,
                                     uint32_t input_count, const ost_jit_var_t* vars,
                                     uint32_t var_count, ost_tensor_t** out_tensors,
                                     uint32_t capacity, uint32_t* out_count, ost_error_t* error);

/* A host value that the function uses. A capture freezes it, so its bits are part of the signature:
 * a call with other bits is an error. */
typedef struct ost_scalar_t {
  const char* name;
  ost_dtype_t dtype;
  uint32_t reserved;
  uint64_t bits; /* of the value, in the low bytes */
} ost_scalar_t;
/* A call with all that it can have. The order in which inputs and scalars are named does not
 * matter: with parameters in the options a named input goes to its parameter, without them named
 * inputs follow the others in the order of their names. */
typedef struct ost_jit_call_t {
  uint32_t size;
  uint32_t input_count;
  ost_tensor_t* const* inputs;
  const char* const* names; /* one an input, NULL entries go by position; NULL: all of them do */
  const ost_scalar_t* scalars;
  const ost_jit_var_t* vars;
  uint32_t scalar_count;
  uint32_t var_count;
} ost_jit_call_t;
OST_EXPORT ost_status_t ost_jit_call_with(ost_jit_t* jit, const ost_jit_call_t* call,
                                          ost_tensor_t** out_tensors, uint32_t capacity,
                                          uint32_t* out_count, ost_error_t* error);
/* Within the function only: a scalar of the call by its name, which lives until the function
 * returns. OST_NOT_FOUND if the call has none of this name. */
OST_EXPORT ost_status_t ost_jit_outputs_scalar(const ost_jit_outputs_t* outputs, const char* name,
                                               ost_scalar_t* out_scalar, ost_error_t* error);

OST_EXPORT uint32_t ost_jit_captured(ost_jit_t* jit);
OST_EXPORT void ost_jit_reset(ost_jit_t* jit);
/* The program that was captured or replayed last, with what the tensors that the function closes
 * over hold now as initial values of its states. OST_NOT_FOUND before capture. */
OST_EXPORT ost_status_t ost_jit_program(ost_jit_t* jit, ost_program_t** out_program,
                                        ost_error_t* error);
OST_EXPORT ost_status_t ost_jit_stats(ost_jit_t* jit, ost_run_stats_t* out_stats,
                                      ost_error_t* error);
/* Frees arenas, and output storage that no tensor holds; out_bytes (may be NULL) says how much. The
 * next call makes them anew. What the program updates in place stays. */
OST_EXPORT ost_status_t ost_jit_free_intermediates(ost_jit_t* jit, uint64_t* out_bytes,
                                                   ost_error_t* error);
/* The same for the arenas of an instance. */
OST_EXPORT ost_status_t ost_instance_free_intermediates(ost_instance_t* instance,
                                                        uint64_t* out_bytes, ost_error_t* error);

/* Runs `body` outside of the capture that is going on, if one is: its work happens now, once, and
 * is not a part of the program. Values of the captured function cannot be used in it; tensors can
 * be read. An error that it returns is that of this function. */
typedef ost_status_t (*ost_uncaptured_fn)(void* user, ost_error_t* error);
OST_EXPORT ost_status_t ost_session_uncaptured(ost_session_t* session, ost_uncaptured_fn body,
                                               void* user, ost_error_t* error);

/* A promise that the tensor is never written again: assigns to it fail from here on, and captured
 * programs compute once what depends on such tensors and constants alone. */
OST_EXPORT ost_status_t ost_tensor_freeze(ost_tensor_t* tensor, ost_error_t* error);

/* Random numbers, Philox4x32-10 with counters in device memory: a replay draws what the next eager
 * call would have drawn. "bits" (u32), "uniform" (f32 in [0, 1)), "normal" (f32). Lazy. */
OST_EXPORT ost_status_t ost_tensor_random(ost_session_t* session, const char* kind,
                                          const ost_dim_t* dims, uint32_t rank, const char* device,
                                          ost_tensor_t** out_tensor, ost_error_t* error);
/* Starts the random numbers of all devices anew; captured programs follow. The seed is 0 at first.
 */
OST_EXPORT ost_status_t ost_session_seed(ost_session_t* session, uint64_t seed, ost_error_t* error);

/* What the session did since it was created. Replays change none of it. */
typedef struct ost_session_stats_t {
  uint32_t size;
  uint32_t reserved;
  uint64_t graph_nodes; /* appended to its lazy graph */
  uint64_t schedules;   /* graphs that were turned into programs */
  uint64_t eager_runs;  /* runs that no captured program did */
} ost_session_stats_t;
OST_EXPORT ost_status_t ost_session_stats(ost_session_t* session, ost_session_stats_t* out_stats,
                                          ost_error_t* error);

/* --- array files --- */

/* Named arrays of a .npy (one, named ""), .npz or .safetensors file, by the ending of the path.
 * Sorted by name. */
typedef struct ost_archive_t ost_archive_t;
OST_EXPORT ost_status_t ost_archive_create(ost_archive_t** out_archive, ost_error_t* error);
OST_EXPORT ost_status_t ost_archive_load(const char* path, ost_archive_t** out_archive,
                                         ost_error_t* error);
OST_EXPORT void ost_archive_destroy(ost_archive_t* archive);
OST_EXPORT uint32_t ost_archive_count(const ost_archive_t* archive);
/* Name and type, without reading the data. */
OST_EXPORT ost_status_t ost_archive_type_at(const ost_archive_t* archive, uint32_t index,
                                            ost_type_desc_t* out_type, ost_error_t* error);
/* Index of a name; OST_NOT_FOUND lists what there is. NULL finds the only array of an archive that
 * has one. */
OST_EXPORT ost_status_t ost_archive_find(const ost_archive_t* archive, const char* name,
                                         uint32_t* out_index, ost_error_t* error);
/* Reads the data if it was not yet. Pointers live as long as the archive. */
OST_EXPORT ost_status_t ost_archive_array_at(ost_archive_t* archive, uint32_t index,
                                             ost_array_t* out_array, ost_error_t* error);
/* Copies an array into the archive; an array of that name is replaced. */
OST_EXPORT ost_status_t ost_archive_add(ost_archive_t* archive, const char* name,
                                        const ost_array_t* array, ost_error_t* error);
/* By the ending of the path; .npy holds exactly one array. */
OST_EXPORT ost_status_t ost_archive_save(ost_archive_t* archive, const char* path,
                                         ost_error_t* error);

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_OSTINATO_H_ */
