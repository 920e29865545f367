// examples/transformer: the block and the encoder of 12 of them as programs.
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/fusion/lab.hpp"

namespace ost::test {
namespace {

std::string file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path << " is read relative to the source folder";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

uint64_t arena_of(const Program& p) {
  uint64_t total = 0;
  for (const Arena& a : p.arenas) total += a.bytes;
  return total;
}

TEST(Transformer, ABlockIsSevenKernels) {
  const auto program = program_of(file("examples/transformer/block.ost"), {});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  std::string kinds;
  for (const Group& g : program->groups) kinds += std::string(name_of(g.kind)) + " ";
  EXPECT_EQ(kinds, "row gemm_epilogue attention gemm_epilogue row gemm_epilogue gemm_epilogue ");
}

TEST(Transformer, ABlockHasTheSameBitsOnEveryDevice) {
  const auto program = program_of(file("examples/transformer/block.ost"), {});
  const auto plain = program_of(file("examples/transformer/block.ost"), {}, {.fuse = false});
  ASSERT_TRUE(program.has_value() && plain.has_value());
  const Bindings vars{{"s", 5}};
  const auto inputs = noise_for(*program, vars);
  const auto want = run_on(Devices::get().ref, *program, inputs, vars);
  ASSERT_TRUE(want.has_value()) << want.error().message;
  for (const auto& device : Devices::get().all) {
    for (const Program& p : {*program, *plain}) {
      const auto got = run_on(device, p, inputs, vars);
      ASSERT_TRUE(got.has_value()) << got.error().message;
      EXPECT_EQ(*got, *want) << device->id();
    }
  }
}

// docs/encoder.md says what the compiler says of the encoder with 128 positions.
TEST(Transformer, ThePageOfTheEncoderHasItsFigures) {
  const auto program = program_of(file("examples/transformer/encoder.ost"), {{"x", "128,768"}});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  const std::string page = file("docs/encoder.md");
  std::map<GroupKind, size_t> kinds;
  size_t ops = 0;
  for (const Group& g : program->groups) ++kinds[g.kind], ops += g.ops.size();
  const auto says = [&](const std::string& text) {
    EXPECT_NE(page.find(text), std::string::npos) << "docs/encoder.md should say: " << text;
  };
  says(fmt::format("| launches | {} |", program->steps.size()));
  says(fmt::format("| graph operations | {} |", ops));
  says(fmt::format("| distinct kernels | {} |", program->kernels.size()));
  says(fmt::format("| peak memory of intermediates | {} bytes |", arena_of(*program)));
  says(fmt::format("| row, gemm_epilogue, attention groups | {}, {}, {} |", kinds[GroupKind::row],
                   kinds[GroupKind::gemm_epilogue], kinds[GroupKind::attention]));
  EXPECT_EQ(kinds.size(), 3u);
}

// The same program with narrower layers, so that the reference device gets through it.
TEST(Transformer, TheEncoderHasTheSameBitsOnEveryDevice) {
  std::string text = file("examples/transformer/encoder.ost");
  for (const auto& [wide, narrow] : {std::pair("3072", "192"), std::pair("768", "96"),
                                     std::pair("64\\.0", "8.0"), std::pair("12, 64\\)", "12, 8)")})
    text = std::regex_replace(text, std::regex(wide), narrow);
  const auto program = program_of(text, {});
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ(program->steps.size(), 12u * 7u + 1u);
  const Bindings vars{{"s", 9}};
  const auto inputs = noise_for(*program, vars);
  const auto want = run_on(Devices::get().ref, *program, inputs, vars);
  ASSERT_TRUE(want.has_value()) << want.error().message;
  for (const auto& device : Devices::get().all) {
    const auto got = run_on(device, *program, inputs, vars);
    ASSERT_TRUE(got.has_value()) << got.error().message;
    EXPECT_EQ(*got, *want) << device->id();
  }
}

}  // namespace
}  // namespace ost::test
