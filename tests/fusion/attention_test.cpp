// softmax(q k^T) v as one operation: recognised, near its parts, and the same bits everywhere.
#include <cmath>

#include "core/passes/attention.hpp"
#include "core/passes/simplify.hpp"
#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

const std::vector<TypedName> kTypes = {
    {"q", "2,5,16"}, {"k", "2,t:0..1400,16"}, {"v", "2,t,12"}, {"m", "bool[5,t]"}, {"a", "5,t"}};

size_t attentions(std::string_view text, const std::vector<TypedName>& types = kTypes) {
  const auto graph = graph_of(text, types);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  const auto simple = simplify(*graph);
  const auto out = recognise_attention(*simple);
  EXPECT_TRUE(out.has_value());
  if (!out || !*out) return 0;
  EXPECT_TRUE(ir::verify(**out).has_value());
  const auto nodes = (*out)->nodes();
  return static_cast<size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const ir::Node& n) { return n.op == ir::Op::attention; }));
}

TEST(RecogniseAttention, FindsTheFormsThatPeopleWrite) {
  EXPECT_EQ(attentions("softmax(q @ k.mT) @ v"), 1u);
  EXPECT_EQ(attentions("softmax(0.25 * (q @ k.mT)) @ v"), 1u);
  EXPECT_EQ(attentions("softmax(a + q @ k.mT / 4) @ v"), 1u);
  EXPECT_EQ(attentions("softmax(where(m, q @ k.mT / 4 + a, -inf)) @ v"), 1u);
  EXPECT_EQ(attentions("softmax(where(m, q @ k.mT / 4, -inf) + a) @ v"), 1u);
  EXPECT_EQ(attentions("relu(softmax(q @ k.mT) @ v) + 1"), 1u);
}

TEST(RecogniseAttention, LeavesWhatIsNotAttention) {
  EXPECT_EQ(attentions("softmax(q @ k.mT, axis=1) @ v"), 0u);  // over the queries
  EXPECT_EQ(attentions("softmax(where(m, q @ k.mT, -1e9)) @ v"),
            0u);  // hidden keys weigh something
  EXPECT_EQ(attentions("softmax(tanh(q @ k.mT)) @ v"), 0u);
  EXPECT_EQ(attentions("log_softmax(q @ k.mT) @ v"), 0u);
  EXPECT_EQ(attentions("softmax(q @ k.mT * inf) @ v"), 0u);
  EXPECT_EQ(attentions("softmax(a) @ v"), 0u);
  EXPECT_EQ(attentions("softmax(cast(q @ k.mT, f64)) @ v"), 0u);
}

TEST(RecogniseAttention, LeavesHeadsThatTwoProductsDoFaster) {
  const auto found = [](const char* q, const char* k, const char* v) {
    return attentions("softmax(q @ k.mT) @ v", {{"q", q}, {"k", k}, {"v", v}});
  };
  EXPECT_EQ(found("4,512", "9,512", "9,512"), 1u);
  EXPECT_EQ(found("4,512", "9,512", "9,8"), 1u);
  EXPECT_EQ(found("4,513", "9,513", "9,64"), 0u);
  EXPECT_EQ(found("4,64", "9,64", "9,513"), 0u);
  EXPECT_EQ(found("4,64", "9,64", "9,7"), 0u);
  EXPECT_EQ(found("4,d:1..64", "9,d", "9,64"), 0u);
}

TEST(RecogniseAttention, KeepsPartsThatAreReadElsewhere) {
  const auto program = program_of("w = softmax(q @ k.mT); (w @ v, w)", kTypes);
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ(program->outputs.size(), 2u);
}

TEST(RecogniseAttention, IsNotDoneOnAGraphThatIsTakenAsItIs) {
  const auto program = program_of("softmax(q @ k.mT) @ v", kTypes, {.simplify = false});
  ASSERT_TRUE(program.has_value());
  for (const Group& g : program->groups) EXPECT_NE(g.kind, GroupKind::attention);
}

// The largest difference to the parts, which `simplify = false` keeps, at several lengths.
void expect_close_to_parts(const char* text) {
  const auto fused = program_of(text, kTypes);
  const auto parts = program_of(text, kTypes, {.simplify = false});
  ASSERT_TRUE(fused.has_value() && parts.has_value());
  for (const int64_t t : {1, 7, 64, 65, 300, 1024, 1025, 1400}) {
    const Bindings vars{{"t", t}};
    std::vector<Bytes> inputs;
    for (const InputDesc& in : fused->inputs) {
      const auto count = static_cast<size_t>(*numel(in.shape).eval(vars));
      if (in.dtype == DType::boolean) {
        Bytes mask(count, 1);
        for (size_t i = 0; i < count; ++i) mask[i] = (i * 2654435761u >> 7) % 3 != 0;
        for (size_t row = 0; row < 5; ++row) mask[row * static_cast<size_t>(t)] = 1;
        inputs.push_back(mask);
      } else {
        inputs.push_back(bytes_of(noise(count, inputs.size() + 3)));
      }
    }
    std::optional<std::vector<uint32_t>> want;
    for (const auto& device : Devices::get().all) {
      const auto one = run_on(device, *fused, inputs, vars);
      const auto many = run_on(device, *parts, inputs, vars);
      ASSERT_TRUE(one.has_value() && many.has_value()) << one.error().message;
      if (!want) want = float_bits((*one)[0]);
      EXPECT_EQ(float_bits((*one)[0]), *want) << text << " on " << device->id() << " t=" << t;
      const auto a = values_of<float>((*one)[0]), b = values_of<float>((*many)[0]);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 2e-6) << text << " on " << device->id() << " t=" << t;
    }
  }
}

TEST(RecogniseAttention, IsCloseToItsParts) { expect_close_to_parts("softmax(q @ k.mT / 4) @ v"); }
TEST(RecogniseAttention, WithABiasIsCloseToItsParts) {
  expect_close_to_parts("softmax(q @ k.mT / 4 + a) @ v");
}
TEST(RecogniseAttention, WithAMaskIsCloseToItsParts) {
  expect_close_to_parts("softmax(where(m, q @ k.mT / 4, -inf)) @ v");
}
TEST(RecogniseAttention, WithBothIsCloseToItsParts) {
  expect_close_to_parts("softmax(where(m, q @ k.mT * 0.25 + a, -inf)) @ v");
}

TEST(RecogniseAttention, AQueryThatSeesNoKeyGivesZero) {
  const auto program = program_of("softmax(where(m, q @ k.mT, -inf)) @ v",
                                  {{"q", "1,8"}, {"k", "3,8"}, {"v", "3,8"}, {"m", "bool[1,3]"}});
  ASSERT_TRUE(program.has_value());
  for (const auto& device : Devices::get().all) {
    const auto out = run_on(
        device, *program,
        {bytes_of(noise(8, 1)), bytes_of(noise(24, 2)), bytes_of(noise(24, 3)), Bytes(3, 0)});
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(values_of<float>((*out)[0]), std::vector<float>(8, 0.0f)) << device->id();
  }
}

}  // namespace
}  // namespace ost::test
