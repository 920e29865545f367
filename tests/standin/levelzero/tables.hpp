// A table that the loader asks for, filled with entries. The loader gives it uninitialised.
#pragma once

#include <cstring>

#include "standin.hpp"

#define OST_ZE_TABLE(prefix, Name, type, ...)                                                     \
  extern "C" __attribute__((visibility("default"))) ze_result_t prefix##Get##Name##ProcAddrTable( \
      ze_api_version_t version, prefix##_##type##_dditable_t* table) {                            \
    if (table == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                            \
    if (ZE_MAJOR_VERSION(version) != 1) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;               \
    std::memset(static_cast<void*>(table), 0, sizeof *table);                                     \
    __VA_ARGS__;                                                                                  \
    return ZE_RESULT_SUCCESS;                                                                     \
  }
