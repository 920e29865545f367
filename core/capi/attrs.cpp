#include "core/capi/attrs.hpp"

namespace ost::capi {
namespace {

constexpr std::string_view kKinds[] = {"", "INT", "FLOAT", "INTS", "DIMS"};

bool contains_word(std::string_view list, std::string_view word) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::string Attrs::where(std::string_view name) const {
  return fmt::format("{}: attribute '{}'", op_, name);
}

const ost_attr_t* Attrs::find(std::string_view name) const {
  for (const ost_attr_t& a : attrs_) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

Result<const ost_attr_t*> Attrs::need(std::string_view name) const {
  if (const ost_attr_t* a = find(name)) return a;
  return fail(OST_INVALID_ARGUMENT, "{} is missing", where(name));
}

std::unexpected<Error> Attrs::wrong_kind(const ost_attr_t& attr, std::string_view wanted) const {
  return fail(OST_INVALID_ARGUMENT, "{} has kind {}, wanted {}", where(attr.name),
              kKinds[attr.kind], wanted);
}

Result<> Attrs::check(std::string_view known) const {
  for (size_t i = 0; i < attrs_.size(); ++i) {
    const ost_attr_t& a = attrs_[i];
    if (a.name == nullptr)
      return fail(OST_INVALID_ARGUMENT, "{}: the name of attribute {} is NULL", op_, i);
    if (a.kind < OST_ATTR_INT || a.kind > OST_ATTR_DIMS) {
      return fail(OST_INVALID_ARGUMENT, "{} has the unknown kind {}", where(a.name), a.kind);
    }
    if (!contains_word(known, a.name)) {
      return fail(OST_INVALID_ARGUMENT, "{}: no attribute '{}', {}", op_, a.name,
                  known.empty() ? std::string("it has none") : fmt::format("there are: {}", known));
    }
    if (find(a.name) != &a) return fail(OST_INVALID_ARGUMENT, "{} is given twice", where(a.name));
    if (a.kind == OST_ATTR_INTS) OST_TRY(list(a.ints, a.count, where(a.name)));
    if (a.kind == OST_ATTR_DIMS) OST_TRY(list(a.dims, a.count, where(a.name)));
  }
  return {};
}

Result<int64_t> Attrs::integer(std::string_view name, std::optional<int64_t> otherwise) const {
  if (otherwise && !has(name)) return *otherwise;
  OST_TRY_ASSIGN(const ost_attr_t* a, need(name));
  if (a->kind != OST_ATTR_INT) return wrong_kind(*a, "INT");
  return a->i;
}

Result<bool> Attrs::flag(std::string_view name) const {
  OST_TRY_ASSIGN(const int64_t value, integer(name, 0));
  if (value != 0 && value != 1)
    return fail(OST_INVALID_ARGUMENT, "{} is {}, wanted 0 or 1", where(name), value);
  return value == 1;
}

Result<double> Attrs::number(std::string_view name, std::optional<double> otherwise) const {
  if (otherwise && !has(name)) return *otherwise;
  OST_TRY_ASSIGN(const ost_attr_t* a, need(name));
  if (a->kind == OST_ATTR_INT) return static_cast<double>(a->i);
  if (a->kind != OST_ATTR_FLOAT) return wrong_kind(*a, "FLOAT or INT");
  return a->f;
}

Result<std::vector<int64_t>> Attrs::ints(std::string_view name) const {
  const ost_attr_t* a = find(name);
  if (a == nullptr) return std::vector<int64_t>();
  if (a->kind == OST_ATTR_INT) return std::vector<int64_t>{a->i};
  if (a->kind != OST_ATTR_INTS) return wrong_kind(*a, "INTS");
  return std::vector<int64_t>(a->ints, a->ints + a->count);
}

Result<std::vector<std::optional<Sym>>> Attrs::positions(std::string_view name) const {
  std::vector<std::optional<Sym>> out;
  const ost_attr_t* a = find(name);
  if (a == nullptr) return out;
  if (a->kind != OST_ATTR_DIMS && a->kind != OST_ATTR_INTS) return wrong_kind(*a, "DIMS or INTS");
  for (uint32_t i = 0; i < a->count; ++i) {
    if (a->kind == OST_ATTR_INTS) {
      out.emplace_back(a->ints[i]);
    } else if (a->dims[i].expr != nullptr && *a->dims[i].expr == '\0') {
      out.emplace_back(std::nullopt);
    } else {
      OST_TRY_ASSIGN(out.emplace_back(), to_sym(a->dims[i], vars_, where(name)));
    }
  }
  return out;
}

Result<std::optional<Shape>> Attrs::dims(std::string_view name) const {
  if (!has(name)) return std::optional<Shape>();
  OST_TRY_ASSIGN(const auto given, positions(name));
  Shape shape;
  for (const auto& dim : given) {
    if (!dim) return fail(OST_INVALID_ARGUMENT, "{} has an empty dimension", where(name));
    shape.push_back(*dim);
  }
  return shape;
}

Result<Shape> Attrs::shape(std::string_view name) const {
  OST_TRY(need(name));
  OST_TRY_ASSIGN(auto given, dims(name));
  return std::move(*given);
}

Result<DType> Attrs::dtype(std::string_view name) const {
  OST_TRY_ASSIGN(const int64_t value, integer(name));
  if (value < OST_DTYPE_BOOL || value > OST_DTYPE_F64) {
    return fail(OST_INVALID_ARGUMENT, "{} is {}, which is no element type (OST_DTYPE_*)",
                where(name), value);
  }
  return static_cast<DType>(value);
}

bool Attrs::is_integer(std::string_view name) const {
  const ost_attr_t* a = find(name);
  return a != nullptr && a->kind == OST_ATTR_INT;
}

}  // namespace ost::capi
