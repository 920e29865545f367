/* The layout of both ABIs as assertions of the language that includes this. */
#include <ostinato/kir.h>
#include <ostinato/ostinato.h>
#include <ostinato/plugin.h>
#include <ostinato/types.h>

#ifdef __cplusplus
#define OST_ASSERT static_assert
#else
#define OST_ASSERT _Static_assert
#endif

#define OST_SIZE(type, bytes) OST_ASSERT(sizeof(type) == (bytes), "the size of " #type " changed");
#define OST_FIELD(type, field, at) \
  OST_ASSERT(offsetof(type, field) == (at), #type "::" #field " moved");
#define OST_VALUE(name, value) OST_ASSERT((long long)(name) == (value), #name " changed");
#include "layout.inc"
