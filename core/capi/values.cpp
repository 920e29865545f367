#include "core/capi/values.hpp"

#include "core/manifest/safetensors.hpp"

namespace ost::capi {

Result<DType> to_dtype(ost_dtype_t dtype, std::string_view what) {
  if (dtype < OST_DTYPE_BOOL || dtype > OST_DTYPE_F64) {
    return fail(OST_INVALID_ARGUMENT, "{}: {} is no element type (OST_DTYPE_*)", what, dtype);
  }
  return static_cast<DType>(dtype);
}

Result<Sym> to_sym(const ost_dim_t& dim, std::span<const Var> vars, std::string_view what) {
  if (dim.expr == nullptr) return Sym(dim.value);
  auto sym = Sym::parse(dim.expr, vars);
  if (!sym) return std::unexpected(sym.error().in(what));
  return sym;
}

Result<Shape> to_shape(const ost_dim_t* dims, uint32_t rank, std::span<const Var> vars,
                       std::string_view what) {
  OST_TRY_ASSIGN(const auto items, list(dims, rank, what));
  if (rank > OST_MAX_RANK)
    return fail(OST_INVALID_ARGUMENT, "{}: rank {}, at most {} is possible", what, rank,
                OST_MAX_RANK);
  Shape shape;
  for (const ost_dim_t& dim : items) {
    OST_TRY_ASSIGN(shape.emplace_back(), to_sym(dim, vars, what));
  }
  return shape;
}

Result<ArrayView> to_array(const ost_array_t* array, std::string_view what, bool need_data) {
  OST_TRY(require(array, what));
  OST_TRY_ASSIGN(const DType dtype, to_dtype(array->dtype, what));
  OST_TRY_ASSIGN(const auto dims, list(array->shape, array->rank, what));
  if (array->rank > OST_MAX_RANK) {
    return fail(OST_INVALID_ARGUMENT, "{}: rank {}, at most {} is possible", what, array->rank,
                OST_MAX_RANK);
  }
  ArrayView view{dtype, {dims.begin(), dims.end()}, {}};
  auto bytes = manifest::literal_bytes(dtype, view.shape);
  if (!bytes) return std::unexpected(bytes.error().in(what));
  if (!need_data) return view;
  if (array->data == nullptr && *bytes > 0)
    return fail(OST_INVALID_ARGUMENT, "{}: data is NULL, wanted {} bytes", what, *bytes);
  view.bytes = {static_cast<const uint8_t*>(array->data), *bytes};
  if (dtype == DType::boolean) {
    const auto bad = std::ranges::find_if(view.bytes, [](uint8_t b) { return b > 1; });
    if (bad != view.bytes.end()) {
      return fail(OST_INVALID_ARGUMENT, "{}: element {} of a bool array is {}, wanted 0 or 1", what,
                  bad - view.bytes.begin(), *bad);
    }
  }
  return view;
}

Result<LiteralPtr> to_literal(const ost_array_t* array, std::string_view what) {
  OST_TRY_ASSIGN(ArrayView view, to_array(array, what));
  auto literal = std::make_shared<Literal>();
  literal->dtype = view.dtype;
  literal->shape = std::move(view.shape);
  literal->bytes.assign(view.bytes.begin(), view.bytes.end());
  return literal;
}

TypeText type_text(std::string name, DType dtype, const Shape& shape, uint32_t device) {
  TypeText type{std::move(name), dtype, device, {}, {}};
  for (const Sym& dim : shape) {
    type.values.push_back(dim.upper());
    type.exprs.push_back(dim.is_const() ? std::string() : dim.str());
  }
  return type;
}

TypeText type_text(std::string name, DType dtype, std::span<const int64_t> shape, uint32_t device) {
  return {std::move(name),
          dtype,
          device,
          {shape.begin(), shape.end()},
          std::vector<std::string>(shape.size())};
}

Result<> write_type(ost_type_desc_t* out, const TypeText& type) {
  if (type.values.size() > OST_MAX_RANK) {
    return fail(OST_INVALID_ARGUMENT, "'{}' has rank {}, a description holds {}", type.name,
                type.values.size(), OST_MAX_RANK);
  }
  ost_type_desc_t desc{};
  desc.dtype = static_cast<ost_dtype_t>(type.dtype);
  desc.rank = static_cast<uint32_t>(type.values.size());
  desc.device = type.device;
  desc.name = type.name.c_str();
  for (size_t d = 0; d < type.values.size(); ++d) {
    desc.dims[d].value = type.values[d];
    desc.dims[d].expr = type.exprs[d].empty() ? nullptr : type.exprs[d].c_str();
  }
  return write_struct(out, desc, "out_type");
}

Result<> declare(std::vector<Var>& vars, const ost_var_t* var) {
  OST_TRY(require(var, "var"));
  OST_TRY(require(var->name, "the name of a variable"));
  const std::string_view name = var->name;
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool is_name =
      !name.empty() && is_letter(name[0]) &&
      std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!is_name)
    return fail(OST_INVALID_ARGUMENT, "variable '{}': wanted a name of letters, digits and _",
                name);
  if (var->min < 0 || var->min > var->max) {
    return fail(OST_INVALID_ARGUMENT,
                "variable '{}': bounds {}..{} are malformed, wanted 0 <= min <= max", name,
                var->min, var->max);
  }
  const Var wanted{std::string(name), var->min, var->max};
  const auto it = std::ranges::lower_bound(vars, wanted.name, {}, &Var::name);
  if (it != vars.end() && it->name == name) {
    if (*it == wanted) return {};
    return fail(OST_INVALID_ARGUMENT,
                "variable '{}' has bounds {}..{} and is declared again with {}..{}", name, it->min,
                it->max, var->min, var->max);
  }
  vars.insert(it, wanted);
  return {};
}

}  // namespace ost::capi
