// Expressions against NumPy: the same text, evaluated by NumPy 2 when numpy_cases.inc was generated. Dtype and shape must
// be NumPy's, values equal within a tolerance (the naive evaluator sums in another order).
#include <gtest/gtest.h>

#include "core/dsl/dsl.hpp"
#include "tests/unit/ir/reference.hpp"

namespace ost::dsl {
namespace {

namespace reference = ir::reference;

struct Case {
  const char* expression;
  std::vector<std::pair<const char*, const char*>> inputs;
  const char* dtype;
  std::vector<int64_t> shape;
  std::vector<double> values;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
#include "numpy_cases.inc"
  };
  return all;
}

// The same formula as in make_numpy_cases.py.
reference::Array input_values(int64_t position, const TypeDecl& type) {
  std::vector<int64_t> shape;
  for (const Sym& size : type.shape) shape.push_back(size.constant().value());
  reference::Array array = reference::make(type.dtype, shape);
  for (size_t i = 0; i < array.bits.size(); ++i) {
    const int64_t v = (static_cast<int64_t>(i) * 7 + position * 5 + 3) % 17 - 8;
    if (is_float(type.dtype)) array.set(i, static_cast<double>(v) * 0.375);
    else if (type.dtype == DType::boolean) array.set(i, static_cast<int64_t>(v > 0));
    else array.set(i, is_unsigned_int(type.dtype) ? v + 8 : v);
  }
  return array;
}

double tolerance(DType type) {
  switch (type) {
    case DType::f16: return 4e-3;
    case DType::bf16: return 3e-2;
    default: return 2e-5;
  }
}

class Numpy : public testing::TestWithParam<size_t> {};

TEST_P(Numpy, GivesTheSameTypeShapeAndValues) {
  const Case& c = cases()[GetParam()];
  SCOPED_TRACE(c.expression);
  std::vector<Binding> bindings;
  std::vector<reference::Array> arrays;
  for (const auto& [name, text] : c.inputs) {
    const auto type = parse_type(text);
    ASSERT_TRUE(type) << type.error().message;
    arrays.push_back(input_values(static_cast<int64_t>(bindings.size()), *type));
    bindings.push_back({name, type->dtype, type->shape, ir::InputKind::argument, nullptr});
  }
  const auto graph = build(c.expression, bindings, {});
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(ir::verify(*graph)) << ir::verify(*graph).error().message;
  const reference::Evaluator evaluator(*graph, arrays, {});
  const reference::Array& out = evaluator.output();
  EXPECT_EQ(name_of(out.dtype), c.dtype);
  ASSERT_EQ(out.shape, c.shape) << ir::to_text(*graph);
  for (size_t i = 0; i < c.values.size(); ++i) {
    const double want = c.values[i], found = out.real(i);
    if (std::isnan(want)) EXPECT_TRUE(std::isnan(found)) << "element " << i << " is " << found;
    else if (std::isinf(want)) EXPECT_EQ(found, want) << "element " << i;
    else EXPECT_NEAR(found, want, tolerance(out.dtype) * std::max(1.0, std::fabs(want))) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Numpy, testing::Range(size_t{0}, cases().size()));

}  // namespace
}  // namespace ost::dsl
