/* The C interface of libostinato_cpu_compiler.so, which the executor opens on the first compile, so
 * that a process that only replays maps no LLVM. */
#ifndef OSTINATO_PLUGINS_CPU_ABI_COMPILER_H_
#define OSTINATO_PLUGINS_CPU_ABI_COMPILER_H_

#include <ostinato/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The executor refuses a compiler library with another value. */
#define OST_CPU_COMPILER_ABI 1u

#define OST_CPU_COMPILER_FILE "libostinato_cpu_compiler.so" /* beside the executor */
#define OST_CPU_COMPILER_SYMBOL "ost_cpu_compiler"
/* A section of the library's file with the text of `key`, so that a cache look-up need not load the
 * library:
 *   __attribute__((section(OST_CPU_COMPILER_KEY_SECTION), used)) static const char key[] = "...";
 * Optional: without it the library is loaded to ask. */
#define OST_CPU_COMPILER_KEY_SECTION ".ostinato_key"

typedef struct ost_cpu_compile_t {
  ost_bytes_t kernel; /* binary KIR, level 1 */
  ost_str_t entry;    /* symbol of the kernel in the image: [A-Za-z_][A-Za-z0-9_]* */
  ost_str_t target;   /* target key, see target.hpp */
  /* "key=value;...": dump=DIR writes ENTRY.ll and ENTRY.s there. Keys that the compiler does not
   * know are errors. */
  ost_str_t options;
  ost_sink_t image; /* out: the image, in one write */
  ost_sink_t log;   /* out: remarks for people; write may be NULL */
  void* abort_context;
  uint32_t (*should_abort)(void* context); /* may be NULL; non-zero: give up with OST_CANCELLED */
} ost_cpu_compile_t;

typedef struct ost_cpu_compiler_t {
  uint32_t abi; /* OST_CPU_COMPILER_ABI */
  uint32_t kernel_abi;
  const char* key; /* identifies compiler and lowering in cache keys: "llvm-22.1.8/1" */
  /* Re-entrant and deterministic: equal jobs give equal bytes. Never throws. */
  ost_status_t (*compile)(const ost_cpu_compile_t* job, ost_error_t* error);
} ost_cpu_compiler_t;

/* The only exported symbol; static storage. */
typedef const ost_cpu_compiler_t* (*ost_cpu_compiler_fn)(void);
OST_EXPORT const ost_cpu_compiler_t* ost_cpu_compiler(void);

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_PLUGINS_CPU_ABI_COMPILER_H_ */
