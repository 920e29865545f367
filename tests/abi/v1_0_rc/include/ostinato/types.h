/* Ostinato: the types that both ABIs share (ostinato.h for applications, plugin.h for device
 * plugins).
 *
 * C11 and C++; includes only <stddef.h> and <stdint.h>. Enumerations are carried as uint32_t with
 * explicit values that never change; a value that a reader does not know is an error, never
 * undefined behaviour. */
#ifndef OSTINATO_TYPES_H_
#define OSTINATO_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OST_EXPORT __attribute__((visibility("default")))
#else
#define OST_EXPORT
#endif

/* What went wrong, as a class that a program can act on. */
typedef uint32_t ost_status_t;
enum {
  OST_OK = 0,
  OST_INVALID_ARGUMENT = 1, /* the caller broke a precondition */
  OST_NOT_FOUND = 2,        /* a file, name or index that does not exist */
  OST_UNAVAILABLE = 3,      /* a device or plugin that cannot be used now */
  OST_UNIMPLEMENTED = 4,    /* an optional entry or feature that this side does not have */
  OST_OUT_OF_MEMORY = 5,
  OST_TIMEOUT = 6,
  OST_CANCELLED = 7,
  OST_INCOMPATIBLE = 8, /* ABI, format or target mismatch */
  OST_COMPILE_FAILED = 9,
  OST_DEVICE_LOST = 10, /* sticky: the device must be destroyed and created again */
  OST_DATA_LOSS = 11,   /* a file or image whose content is damaged */
  OST_BUSY = 12,
  OST_INTERNAL = 13,
  /* the capture contract was broken (signature, duplicate, empty capture, ...) */
  OST_JIT_ERROR = 14,
  OST_IO_ERROR = 15
};

/* Levels of messages that are not errors of a call. */
enum { OST_LOG_ERROR = 0, OST_LOG_WARNING = 1, OST_LOG_INFO = 2, OST_LOG_DEBUG = 3 };

/* Element types. bool is one byte, 0 or 1. f16 is IEEE binary16, bf16 the upper half of f32. */
typedef uint32_t ost_dtype_t;
enum {
  OST_DTYPE_BOOL = 1,
  OST_DTYPE_I8 = 2,
  OST_DTYPE_I16 = 3,
  OST_DTYPE_I32 = 4,
  OST_DTYPE_I64 = 5,
  OST_DTYPE_U8 = 6,
  OST_DTYPE_U16 = 7,
  OST_DTYPE_U32 = 8,
  OST_DTYPE_U64 = 9,
  OST_DTYPE_F16 = 10,
  OST_DTYPE_BF16 = 11,
  OST_DTYPE_F32 = 12,
  OST_DTYPE_F64 = 13
};

/* Borrowed bytes: valid for the duration of the call unless a declaration says otherwise. Text is
 * UTF-8, not NUL-terminated. */
typedef struct ost_str_t {
  const char* data;
  uint64_t size;
} ost_str_t;

typedef struct ost_bytes_t {
  const void* data;
  uint64_t size;
} ost_bytes_t;

/* How a callee returns data of variable size without handing over memory: it calls `write` one or
 * more times. */
typedef struct ost_sink_t {
  void* context;
  void (*write)(void* context, const void* data, uint64_t size);
} ost_sink_t;

#define OST_ERROR_MESSAGE_SIZE 480

/* Owned by the caller, filled by the callee when the returned status is not OST_OK; NULL may be
 * passed everywhere. Set `size` to sizeof(ost_error_t) before the call. */
typedef struct ost_error_t {
  uint32_t size;       /* in: sizeof(ost_error_t) */
  ost_status_t status; /* out */
  int64_t native_code; /* out: the vendor's own code, 0 if none */
  uint32_t flags;      /* out: OST_ERROR_* */
  uint32_t rule;       /* out: number of the broken ABI rule (docs/plugin-abi.md), 0 if none */
  char message[OST_ERROR_MESSAGE_SIZE]; /* out: NUL-terminated, lower case, no full stop */
} ost_error_t;
enum { OST_ERROR_RETRYABLE = 1u << 0, OST_ERROR_FLAG_DEVICE_LOST = 1u << 1 };

#ifdef __cplusplus
}
#endif

#endif /* OSTINATO_TYPES_H_ */
