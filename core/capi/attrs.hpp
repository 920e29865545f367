// Reads the attributes of one operation; what is left unread at the end is unknown to it.
#pragma once

#include <optional>
#include <vector>

#include "core/capi/values.hpp"

namespace ost::capi {

class Attrs {
 public:
  Attrs(std::string_view op, std::span<const ost_attr_t> attrs, std::span<const Var> vars)
      : op_(op), attrs_(attrs), vars_(vars) {}

  // Types, names, and that each is one of `known`, a list of names with spaces between.
  Result<> check(std::string_view known) const;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  Result<int64_t> integer(std::string_view name, std::optional<int64_t> otherwise = {}) const;
  Result<bool> flag(std::string_view name) const;  // false if not given
  Result<double> number(std::string_view name,
                        std::optional<double> otherwise = {}) const;  // INT or FLOAT
  Result<std::vector<int64_t>> ints(
      std::string_view name) const;  // empty if not given; one INT too
  Result<std::optional<Shape>> dims(std::string_view name) const;  // DIMS or INTS
  Result<Shape> shape(std::string_view name) const;                // must be given
  Result<DType> dtype(std::string_view name) const;
  // Like dims, but an empty expression is nothing.
  Result<std::vector<std::optional<Sym>>> positions(std::string_view name) const;
  bool is_integer(std::string_view name) const;

 private:
  const ost_attr_t* find(std::string_view name) const;
  Result<const ost_attr_t*> need(std::string_view name) const;
  std::unexpected<Error> wrong_kind(const ost_attr_t& attr, std::string_view wanted) const;
  std::string where(std::string_view name) const;

  std::string_view op_;
  std::span<const ost_attr_t> attrs_;
  std::span<const Var> vars_;
};

}  // namespace ost::capi
