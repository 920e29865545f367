/* The C interface of libostinato_levelzero_spirv.so, which the plugin opens on the first compile, so
 * that a process that only replays maps no LLVM. */
#ifndef OSTINATO_PLUGINS_LEVELZERO_ABI_SPIRV_H_
#define OSTINATO_PLUGINS_LEVELZERO_ABI_SPIRV_H_

#include <ostinato/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The plugin refuses a library with another value. */
#define OST_LEVELZERO_SPIRV_ABI 1u

#define OST_LEVELZERO_SPIRV_FILE "libostinato_levelzero_spirv.so" /* beside the plugin */
#define OST_LEVELZERO_SPIRV_SYMBOL "ost_levelzero_spirv"
/* A section of the library's file with the text of `key`, so that a cache look-up need not load the
 * library. */
#define OST_LEVELZERO_SPIRV_KEY_SECTION ".ostinato_key"

typedef struct ost_levelzero_spirv_job_t {
  ost_bytes_t kernel; /* binary KIR, level 2 */
  ost_str_t entry;    /* [A-Za-z_][A-Za-z0-9_]* */
  ost_str_t options;  /* "key=value;...": dump=DIR writes ENTRY.ll there; division=software */
  uint32_t fp64;      /* the target has f64 */
  uint32_t reserved;
  ost_sink_t code; /* out: the module, in one write */
  /* out: what an image says of the kernel */
  uint32_t params, vars, lanes, local_bytes;
} ost_levelzero_spirv_job_t;

typedef struct ost_levelzero_spirv_t {
  uint32_t abi; /* OST_LEVELZERO_SPIRV_ABI */
  uint32_t reserved;
  const char* key; /* identifies compiler and lowering in cache keys: "llvm-22.1.8/1" */
  /* Re-entrant and deterministic: equal jobs give equal bytes. Never throws. */
  ost_status_t (*compile)(ost_levelzero_spirv_job_t* job, ost_error_t* error);
} ost_levelzero_spirv_t;

/* The only exported symbol; static storage. */
typedef const ost_levelzero_spirv_t* (*ost_levelzero_spirv_fn)(void);
OST_EXPORT const ost_levelzero_spirv_t* ost_levelzero_spirv(void);

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_PLUGINS_LEVELZERO_ABI_SPIRV_H_ */
