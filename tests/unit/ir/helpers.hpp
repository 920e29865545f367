// Short ways to make graphs in tests.
#pragma once

#include <gtest/gtest.h>

#include "core/ir/ops.hpp"

namespace ost::ir {

inline Sym var(const char* name, int64_t min, int64_t max) { return Sym::var({name, min, max}); }

inline NodeId input(Graph& g, DType dtype, Shape shape, const char* name = "x") {
  Input in;
  in.name = name;
  in.dtype = dtype;
  in.shape = std::move(shape);
  return g.add_input(std::move(in)).value();
}

inline Node node(Op op, std::vector<NodeId> inputs, std::vector<int64_t> ints = {},
                 std::vector<Sym> syms = {}, Shape shape = {}) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.ints = std::move(ints);
  n.syms = std::move(syms);
  n.shape = std::move(shape);
  return n;
}

// "f32[2, 3]", or the error's text.
inline std::string type(const Graph& g, const Result<NodeId>& id) {
  if (!id) return id.error().message;
  return std::string(name_of(g.node(*id).dtype)) + to_string(g.node(*id).shape);
}

}  // namespace ost::ir
