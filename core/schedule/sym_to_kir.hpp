// Symbolic integers as KIR index arithmetic; variables become kernel arguments in order of first
// use.
#pragma once

#include <map>
#include <vector>

#include "core/base/sym.hpp"
#include "core/kir/kernel.hpp"

namespace ost {

class SymToKir {
 public:
  explicit SymToKir(kir::Builder& b) : b_(b) {}
  kir::Value operator()(const Sym& s);
  const std::vector<Var>& vars() const { return vars_; }  // by slot

 private:
  kir::Value atom(const Sym::Atom& a);
  kir::Value variable(const Var& v);
  kir::Builder& b_;
  std::vector<Var> vars_;
  std::map<std::string, kir::Value> slots_;
};

}  // namespace ost
