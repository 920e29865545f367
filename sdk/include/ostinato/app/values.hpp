// Arrays, types and dimensions. Part of ostinato.hpp.
#ifndef OSTINATO_APP_VALUES_HPP_
#define OSTINATO_APP_VALUES_HPP_

#include <cstring>
#include <string>
#include <vector>

#include "error.hpp"

namespace ostinato {

template <typename T>
constexpr ost_dtype_t dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return OST_DTYPE_BOOL;
  else if constexpr (std::is_same_v<T, int8_t>)
    return OST_DTYPE_I8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return OST_DTYPE_I16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return OST_DTYPE_I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return OST_DTYPE_I64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return OST_DTYPE_U8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return OST_DTYPE_U16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return OST_DTYPE_U32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return OST_DTYPE_U64;
  else if constexpr (std::is_same_v<T, float>)
    return OST_DTYPE_F32;
  else {
    static_assert(std::is_same_v<T, double>, "no element type; f16 and bf16 have no C++ type");
    return OST_DTYPE_F64;
  }
}

// A dimension: a number, or an expression over variables.
struct Dim {
  Dim(int64_t v) : value(v) {}                // NOLINT: numbers are dimensions
  Dim(int v) : value(v) {}                    // NOLINT: 0 is a number, not a null pointer
  Dim(const char* e) : expr(e) {}             // NOLINT: so are expressions
  Dim(std::string e) : expr(std::move(e)) {}  // NOLINT
  // Where a start or a stop of a slice is not given.
  static Dim missing() {
    Dim d(0);
    d.is_missing = true;
    return d;
  }
  int64_t value = 0;
  std::string expr;  // "" if it is a number
  bool is_missing = false;
  bool is_number() const { return expr.empty() && !is_missing; }
  std::string text() const { return is_number() ? std::to_string(value) : expr; }
};
using Dims = std::vector<Dim>;

inline std::vector<ost_dim_t> to_c(const Dims& dims) {
  std::vector<ost_dim_t> out;
  for (const Dim& d : dims) out.push_back({d.value, d.is_number() ? nullptr : d.expr.c_str()});
  return out;
}

inline uint32_t size32(size_t size) { return static_cast<uint32_t>(size); }

struct Type {
  std::string name;
  ost_dtype_t dtype = OST_DTYPE_F32;
  Dims dims;
  uint32_t device = 0;

  explicit Type(const ost_type_desc_t& desc)
      : name(desc.name ? desc.name : ""), dtype(desc.dtype), device(desc.device) {
    for (uint32_t d = 0; d < desc.rank; ++d) {
      dims.push_back(desc.dims[d].value);
      if (desc.dims[d].expr != nullptr) dims.back().expr = desc.dims[d].expr;
    }
  }
  // "f32[n, 64]"
  std::string text() const {
    std::string out = std::string(ost_dtype_text(dtype)) + "[";
    for (size_t d = 0; d < dims.size(); ++d) out += (d > 0 ? ", " : "") + dims[d].text();
    return out + "]";
  }
};

// The type of something by index: type_at(ost_program_input_at, program, i).
template <typename Function, typename Handle>
Type type_at(Function function, Handle* handle, uint32_t index) {
  auto desc = sized<ost_type_desc_t>();
  call(function, handle, index, &desc);
  return Type(desc);
}

// An array in host memory that owns its data.
struct Array {
  ost_dtype_t dtype = OST_DTYPE_F32;
  std::vector<int64_t> shape;
  std::vector<unsigned char> bytes;

  Array() = default;
  Array(ost_dtype_t type, std::vector<int64_t> dims) : dtype(type), shape(std::move(dims)) {
    bytes.resize(count() * ost_dtype_bytes(dtype));
  }
  explicit Array(const ost_array_t& a) : Array(a.dtype, {a.shape, a.shape + a.rank}) {
    if (!bytes.empty()) std::memcpy(bytes.data(), a.data, bytes.size());
  }
  template <typename T>
  static Array of(std::vector<int64_t> dims, const std::vector<T>& values) {
    Array a(dtype_of<T>(), std::move(dims));
    if (values.size() != a.count())
      throw Error(OST_INVALID_ARGUMENT, "the number of values is not that of the shape");
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      std::memcpy(a.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return a;
  }
  size_t count() const {
    size_t n = 1;
    for (const int64_t d : shape) n *= static_cast<size_t>(d);
    return n;
  }
  template <typename T>
  std::vector<T> values() const {
    if (dtype_of<T>() != dtype)
      throw Error(OST_INVALID_ARGUMENT, std::string("the array is ") + ost_dtype_text(dtype));
    std::vector<T> out(count());
    for (size_t i = 0; i < out.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      out[i] = value;
    }
    return out;
  }
  // Valid as long as the array is unchanged.
  ost_array_t view() const { return {dtype, size32(shape.size()), shape.data(), bytes.data()}; }
};

struct VarValue {
  std::string name;
  int64_t value = 0;
};
using VarValues = std::vector<VarValue>;

inline std::vector<ost_var_value_t> to_c(const VarValues& vars) {
  std::vector<ost_var_value_t> out;
  for (const VarValue& v : vars) out.push_back({v.name.c_str(), v.value});
  return out;
}

}  // namespace ostinato

#endif  // OSTINATO_APP_VALUES_HPP_
