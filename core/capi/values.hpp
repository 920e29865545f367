// Dimensions, arrays and types: from C to the core and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/literal.hpp"
#include "core/base/sym.hpp"
#include "core/capi/boundary.hpp"

namespace ost::capi {

Result<DType> to_dtype(ost_dtype_t dtype, std::string_view what);
Result<Shape> to_shape(const ost_dim_t* dims, uint32_t rank, std::span<const Var> vars,
                       std::string_view what);
Result<Sym> to_sym(const ost_dim_t& dim, std::span<const Var> vars, std::string_view what);

// The bytes of an array, checked: type, rank, dimensions, size, booleans that are 0 or 1.
struct ArrayView {
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;
};
// `need_data`: false for an array that only tells type and shape.
Result<ArrayView> to_array(const ost_array_t* array, std::string_view what, bool need_data = true);
Result<LiteralPtr> to_literal(const ost_array_t* array, std::string_view what);

// A type with its texts, so that a description can point to them.
struct TypeText {
  std::string name;
  DType dtype = DType::f32;
  uint32_t device = 0;
  std::vector<int64_t> values;
  std::vector<std::string> exprs;  // "" where the dimension is a number
};
TypeText type_text(std::string name, DType dtype, const Shape& shape, uint32_t device);
TypeText type_text(std::string name, DType dtype, std::span<const int64_t> shape, uint32_t device);
Result<> write_type(ost_type_desc_t* out, const TypeText& type);

// Adds a variable, or finds that it is there with the same bounds.
Result<> declare(std::vector<Var>& vars, const ost_var_t* var);

}  // namespace ost::capi
