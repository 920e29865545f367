// From an element type that is known at run time to a C++ type.
#pragma once

#include "core/base/dtype.hpp"
#include "core/kir/semantics.hpp"

namespace ost::kir::interp {

template <class T>
struct Tag {
  using type = T;
};

// f(Tag<T>{}) for the storage type of `dtype`, which must be valid.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(Tag<bool>{});
    case DType::i8:
      return f(Tag<int8_t>{});
    case DType::i16:
      return f(Tag<int16_t>{});
    case DType::i32:
      return f(Tag<int32_t>{});
    case DType::i64:
      return f(Tag<int64_t>{});
    case DType::u8:
      return f(Tag<uint8_t>{});
    case DType::u16:
      return f(Tag<uint16_t>{});
    case DType::u32:
      return f(Tag<uint32_t>{});
    case DType::u64:
      return f(Tag<uint64_t>{});
    case DType::f16:
      return f(Tag<scalar::F16>{});
    case DType::bf16:
      return f(Tag<scalar::BF16>{});
    case DType::f32:
      return f(Tag<float>{});
    case DType::f64:
      break;
  }
  return f(Tag<double>{});
}

}  // namespace ost::kir::interp
