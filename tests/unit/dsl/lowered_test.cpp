// Expressions against NumPy through the whole compiler: graph, fusion, KIR, interpreter. Unfused,
// the same bits.
#include "core/schedule/schedule.hpp"
#include "numpy_cases.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost::dsl {
namespace {

test::Bytes bytes_of(const reference::Array& array) {
  const size_t width = size_of(array.dtype);
  test::Bytes bytes(array.bits.size() * width);
  for (size_t i = 0; i < array.bits.size(); ++i)
    std::memcpy(bytes.data() + i * width, &array.bits[i], width);
  return bytes;
}

Result<test::Bytes> run(const Built& built, bool fuse) {
  ScheduleOptions options;
  options.fuse = fuse;
  OST_TRY_ASSIGN(const Program program, schedule(*built.graph, options));
  OST_TRY(verify(program));
  test::HostRun host;
  for (const reference::Array& array : built.arguments) host.inputs.push_back(bytes_of(array));
  OST_TRY(test::run_on_host(program, host));
  return host.outputs.at(0);
}

class Lowered : public testing::TestWithParam<size_t> {};

TEST_P(Lowered, GivesNumpysValuesFusedOrNot) {
  const Case& c = cases()[GetParam()];
  SCOPED_TRACE(c.expression);
  const Built built = build_case(c);
  ASSERT_TRUE(built.graph);
  const auto fused = run(built, true);
  ASSERT_TRUE(fused) << fused.error().message;
  const auto plain = run(built, false);
  ASSERT_TRUE(plain) << plain.error().message;
  const ir::Node& out = built.graph->node(built.graph->outputs()[0].node);
  reference::Array array = reference::make(out.dtype, c.shape);
  ASSERT_EQ(fused->size(), bytes_of(array).size());
  for (size_t i = 0; i < array.bits.size(); ++i)
    std::memcpy(&array.bits[i], fused->data() + i * size_of(out.dtype), size_of(out.dtype));
  expect_numpys(c, array);
  EXPECT_EQ(*fused, *plain);
}

// The case with every size above 1 a variable "s<size>" of 0..size; equal sizes are one variable.
struct Symbolic {
  ir::Graph graph;
  std::vector<TypeDecl> types;
  std::map<std::string, int64_t> sizes;
};
Result<Symbolic> build_symbolic(const Case& c) {
  Symbolic symbolic;
  std::vector<Binding> bindings;
  std::vector<Var> vars;
  for (const auto& [name, text] : c.inputs) {
    TypeDecl type = parse_type(text).value();
    for (Sym& size : type.shape) {
      const int64_t value = size.constant().value();
      if (value < 2) continue;
      const Var var{"s" + std::to_string(value), 0, value};
      size = Sym::var(var);
      if (symbolic.sizes.emplace(var.name, value).second) vars.push_back(var);
    }
    bindings.push_back({name, type.dtype, type.shape, ir::InputKind::argument, nullptr});
    symbolic.types.push_back(std::move(type));
  }
  OST_TRY_ASSIGN(symbolic.graph, build(c.expression, bindings, vars));
  return symbolic;
}

// Runs at `limit` or the variable's own maximum, whichever is less, and compares with the naive
// evaluator.
void expect_equal_at(const Case& c, const Symbolic& symbolic, const Program& program,
                     int64_t limit) {
  SCOPED_TRACE("variables at most " + std::to_string(limit));
  Bindings vars;
  for (const auto& [name, value] : symbolic.sizes) vars[name] = std::min(value, limit);
  std::vector<reference::Array> arguments;
  test::HostRun host;
  host.vars = vars;
  for (TypeDecl type : symbolic.types) {
    for (Sym& size : type.shape) size = size.eval(vars).value();
    arguments.push_back(input_values(static_cast<int64_t>(arguments.size()), type));
    host.inputs.push_back(bytes_of(arguments.back()));
  }
  const auto ran = test::run_on_host(program, host);
  ASSERT_TRUE(ran) << ran.error().message;
  const reference::Array want = reference::Evaluator(symbolic.graph, arguments, vars).output();
  const size_t width = size_of(want.dtype);
  ASSERT_EQ(host.outputs.at(0).size(), want.bits.size() * width);
  Case expected{c.expression, {}, name_of(want.dtype).data(), want.shape, {}};
  for (size_t i = 0; i < want.bits.size(); ++i) expected.values.push_back(want.real(i));
  reference::Array found = want;
  for (size_t i = 0; i < want.bits.size(); ++i)
    std::memcpy(&found.bits[i], host.outputs[0].data() + i * width, width);
  expect_numpys(expected, found);
}

TEST(LoweredSymbolic, EqualsTheEvaluatorForAllValuesOfItsVariables) {
  size_t run = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expression);
    const auto symbolic = build_symbolic(c);
    if (!symbolic) continue;  // sizes of the text are constants: not an expression over variables
    ++run;
    const auto program = schedule(symbolic->graph);
    EXPECT_TRUE(program) << program.error().message;
    if (!program) continue;
    const auto verified = verify(*program);
    EXPECT_TRUE(verified) << verified.error().message;
    for (const int64_t limit : {0, 1, 2, 100}) expect_equal_at(c, *symbolic, *program, limit);
  }
  EXPECT_GT(run, 380u);
}

INSTANTIATE_TEST_SUITE_P(Cases, Lowered, testing::Range(size_t{0}, cases().size()));

}  // namespace
}  // namespace ost::dsl
