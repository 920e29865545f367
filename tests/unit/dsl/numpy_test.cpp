// Expressions against NumPy: the same text, evaluated by NumPy 2 when numpy_cases.inc was
// generated. Dtype and shape must be NumPy's, values equal within a tolerance (the naive evaluator
// sums in another order).
#include "numpy_cases.hpp"

namespace ost::dsl {
namespace {

class Numpy : public testing::TestWithParam<size_t> {};

TEST_P(Numpy, GivesTheSameTypeShapeAndValues) {
  const Case& c = cases()[GetParam()];
  SCOPED_TRACE(c.expression);
  const Built built = build_case(c);
  ASSERT_TRUE(built.graph);
  ASSERT_TRUE(ir::verify(*built.graph)) << ir::verify(*built.graph).error().message;
  expect_numpys(c, reference::Evaluator(*built.graph, built.arguments, {}).output());
}

INSTANTIATE_TEST_SUITE_P(Cases, Numpy, testing::Range(size_t{0}, cases().size()));

}  // namespace
}  // namespace ost::dsl
