// The cases of numpy_cases.inc (what NumPy 2 made of an expression) and how they are built and
// judged.
#pragma once

#include <gtest/gtest.h>

#include "core/dsl/dsl.hpp"
#include "tests/unit/ir/reference.hpp"

namespace ost::dsl {

namespace reference = ir::reference;

struct Case {
  const char* expression;
  std::vector<std::pair<const char*, const char*>> inputs;
  const char* dtype;
  std::vector<int64_t> shape;
  std::vector<double> values;
};

inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
#include "numpy_cases.inc"
  };
  return all;
}

// The same formula as in make_numpy_cases.py.
inline reference::Array input_values(int64_t position, const TypeDecl& type) {
  std::vector<int64_t> shape;
  for (const Sym& size : type.shape) shape.push_back(size.constant().value());
  reference::Array array = reference::make(type.dtype, shape);
  for (size_t i = 0; i < array.bits.size(); ++i) {
    const int64_t v = (static_cast<int64_t>(i) * 7 + position * 5 + 3) % 17 - 8;
    if (is_float(type.dtype))
      array.set(i, static_cast<double>(v) * 0.375);
    else if (type.dtype == DType::boolean)
      array.set(i, static_cast<int64_t>(v > 0));
    else
      array.set(i, is_unsigned_int(type.dtype) ? v + 8 : v);
  }
  return array;
}

inline double tolerance(DType type) {
  switch (type) {
    case DType::f16:
      return 4e-3;
    case DType::bf16:
      return 3e-2;
    default:
      return 2e-5;
  }
}

// The graph of a case and its arguments; no graph after a failure.
struct Built {
  std::optional<ir::Graph> graph;
  std::vector<reference::Array> arguments;
};
inline Built build_case(const Case& c) {
  Built built;
  std::vector<Binding> bindings;
  for (const auto& [name, text] : c.inputs) {
    const auto type = parse_type(text);
    EXPECT_TRUE(type) << type.error().message;
    built.arguments.push_back(input_values(static_cast<int64_t>(bindings.size()), *type));
    bindings.push_back({name, type->dtype, type->shape, ir::InputKind::argument, nullptr});
  }
  auto graph = build(c.expression, bindings, {});
  EXPECT_TRUE(graph) << graph.error().message;
  if (graph) built.graph = std::move(*graph);
  return built;
}

inline void expect_numpys(const Case& c, const reference::Array& out) {
  EXPECT_EQ(name_of(out.dtype), c.dtype);
  ASSERT_EQ(out.shape, c.shape);
  for (size_t i = 0; i < c.values.size(); ++i) {
    const double want = c.values[i], found = out.real(i);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(found)) << "element " << i << " is " << found;
    } else if (std::isinf(want)) {
      EXPECT_EQ(found, want) << "element " << i;
    } else {
      EXPECT_NEAR(found, want, tolerance(out.dtype) * std::max(1.0, std::fabs(want)))
          << "element " << i;
    }
  }
}

}  // namespace ost::dsl
