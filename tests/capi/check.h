/* What the parts of the C test share. Each part is a function; a failed check says where and ends
 * the process. */
#ifndef TESTS_CAPI_CHECK_H_
#define TESTS_CAPI_CHECK_H_

#include <ostinato/ostinato.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern ost_error_t last_error; /* of the last call */
#define E (last_error = (ost_error_t){.size = sizeof(ost_error_t)}, &last_error)

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)
/* A call that must succeed. */
#define OK(call)                                                                                  \
  do {                                                                                            \
    const ost_status_t status_ = (call);                                                          \
    if (status_ != OST_OK) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, ost_status_text(status_), \
              last_error.message);                                                                \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
/* A call that must fail with this status and with this text in its message. */
#define FAILS(wanted, text, call)                                                                \
  do {                                                                                           \
    const ost_status_t status_ = (call);                                                         \
    if (status_ != (wanted) || last_error.status != (wanted) ||                                  \
        strstr(last_error.message, text) == NULL) {                                              \
      fprintf(stderr, "%s:%d: %s: found %s: '%s', wanted %s: '%s'\n", __FILE__, __LINE__, #call, \
              ost_status_text(status_), last_error.message, ost_status_text(wanted), text);      \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

#define SIZED(type) ((type){.size = sizeof(type)})
#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* A sink that collects text, NUL-terminated. */
typedef struct text_t {
  char data[1 << 16];
  size_t size;
  uint32_t writes;
} text_t;
ost_sink_t sink_of(text_t* text); /* also empties it */

ost_array_t f32_array(const int64_t* shape, uint32_t rank, const float* data);
/* y = relu(x @ w) + 1 over x: f32[n, 2], n in 0..4; w is a constant. */
ost_program_t* small_program(void);

extern const char* folder; /* for files */

void test_library(void);
void test_context(ost_context_t* context);
void test_buffers(ost_context_t* context, const char* device);
void test_graphs(void);
void test_expressions(void);
void test_programs(ost_context_t* context);
void test_instances(ost_context_t* context, const char* device);
void test_states(ost_context_t* context, const char* device);
void test_tensors(ost_context_t* context, const char* device);
void test_jit(ost_context_t* context, const char* device);
void test_functions(ost_context_t* context, const char* device);
void test_archives(void);

#endif /* TESTS_CAPI_CHECK_H_ */
