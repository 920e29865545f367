// Walks the syntax tree and makes graph nodes.
#pragma once

#include <map>
#include <span>
#include <string>

#include "core/dsl/ast.hpp"
#include "core/dsl/dsl.hpp"
#include "core/dsl/source.hpp"
#include "core/dsl/value.hpp"
#include "core/ir/ops.hpp"

namespace ost::dsl {

class Emitter {
 public:
  Emitter(const Source& text, ir::Graph& target) : source(text), graph(target) {}

  Result<> bind(std::span<const Binding> inputs, std::span<const Var> vars);
  Result<> run(std::span<const Statement> statements);
  void set_variables(std::span<const Var> vars) { vars_.assign(vars.begin(), vars.end()); }

  // --- for the functions of the language ---
  Result<Value> binary(std::string_view op, size_t position, const Value& a, const Value& b);
  // A value as a graph node. Numbers and sizes are i64 or f64 scalars there.
  Result<ir::NodeId> node(const Value& value);
  // Like node(), but a weak value takes the type that NEP 50 gives it beside a tensor of type
  // `like`.
  Result<ir::NodeId> node_like(const Value& value, DType like);
  // All as nodes, weak ones typed by the promoted type of the others.
  Result<std::vector<ir::NodeId>> nodes_alike(std::span<const Value> values);
  bool is_weak(const Value& value) const;
  // A builder's answer as a value; its error is located at `position`.
  Result<Value> done(size_t position, ir::Node1 node, bool weak = false);

  const Source& source;
  ir::Graph& graph;

 private:
  Result<Value> eval(const Expr& expr);
  Result<Value> name(const Expr& expr);
  Result<Value> tuple(const Expr& expr);
  Result<Value> chain(const Expr& expr);
  Result<Value> prefix(const Expr& expr);
  Result<Value> attribute(const Expr& expr);
  Result<Value> call(const Expr& expr);
  Result<Value> index(const Expr& expr);
  Result<Value> index_tuple(const Expr& expr, const Tuple& tuple);
  Result<Value> index_tensor(const Expr& expr, ir::NodeId x);
  Result<Value> take(const Expr& expr, ir::NodeId x, const Value& at);
  Result<std::optional<Sym>> bound(const ExprPtr& expr);
  Result<std::optional<Value>> scalars(std::string_view op, size_t position, const Value& a,
                                       const Value& b);
  // programs.cpp
  Result<> declare(const Statement& statement);
  Result<> declare_input(const Statement::Name& name, const TypeDecl& type);
  Result<> match_input(const Statement::Name& name, ir::NodeId input, const TypeDecl& type);
  Result<> define(const Statement& statement);
  Result<> assign(const Statement& statement, Value value);
  Result<> check_target(const Statement::Name& name) const;
  Result<Value> call_defined(const Expr& expr, const Statement& function);
  Result<> output(const Statement& statement, const Value& value);
  const Value* find(std::string_view name) const;

  using Names = std::map<std::string, Value, std::less<>>;
  Names names_;
  std::vector<Names> calls_;  // the names of the functions that are being called
  size_t expansions_ = 0;
  std::map<std::string, const Statement*, std::less<>> functions_;
  std::vector<Var> vars_;                          // declared outside or by a type
  std::map<std::string, Sym, std::less<>> sizes_;  // what a declared variable stands for
};

// Where an integer or a size is wanted: the size, or nothing.
std::optional<Sym> as_size(const Value& value);

}  // namespace ost::dsl
