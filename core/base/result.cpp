#include "core/base/result.hpp"

namespace ost {

const char* status_name(ost_status_t status) {
  switch (status) {
    case OST_OK:
      return "ok";
    case OST_INVALID_ARGUMENT:
      return "invalid_argument";
    case OST_NOT_FOUND:
      return "not_found";
    case OST_UNAVAILABLE:
      return "unavailable";
    case OST_UNIMPLEMENTED:
      return "unimplemented";
    case OST_OUT_OF_MEMORY:
      return "out_of_memory";
    case OST_TIMEOUT:
      return "timeout";
    case OST_CANCELLED:
      return "cancelled";
    case OST_INCOMPATIBLE:
      return "incompatible";
    case OST_COMPILE_FAILED:
      return "compile_failed";
    case OST_DEVICE_LOST:
      return "device_lost";
    case OST_DATA_LOSS:
      return "data_loss";
    case OST_BUSY:
      return "busy";
    case OST_INTERNAL:
      return "internal";
    case OST_JIT_ERROR:
      return "jit_error";
    case OST_IO_ERROR:
      return "io_error";
  }
  return "unknown_status";
}

}  // namespace ost
