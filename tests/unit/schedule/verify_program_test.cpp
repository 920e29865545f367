// Each rule of verify(Program) with a program that breaks only it; the pointer and the reason are
// part of the interface.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/schedule/hand_programs.hpp"

namespace ost {
namespace {

using Edit = std::function<void(Program&)>;

void expect_error(Program program, const Edit& edit, std::string_view wanted) {
  edit(program);
  const auto result = verify(program);
  ASSERT_FALSE(result.has_value()) << "want: " << wanted;
  EXPECT_NE(result.error().message.find(wanted), std::string::npos)
      << "found: " << result.error().message << "\nwant:  " << wanted;
}

void expect_error(const Edit& edit, std::string_view wanted) {
  expect_error(test::scaled_relu(), edit, wanted);
}

void expect_good(Program program, const Edit& edit = [](Program&) {}) {
  edit(program);
  const auto result = verify(program);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
}

TEST(VerifyProgram, AcceptsHandMadePrograms) {
  expect_good(test::scaled_relu());
  expect_good(test::accumulate());
  expect_good(Program{});
}

TEST(VerifyProgram, Variables) {
  expect_error([](Program& p) { p.vars[0].name = "1n"; }, "/vars/0/name: want a letter");
  expect_error([](Program& p) { p.vars[0].name = "floordiv"; },
               "/vars/0/name: 'floordiv' is the name of a function");
  expect_error([](Program& p) { p.vars = {{"n", 1, 64}, {"n", 1, 64}}; },
               "/vars/1/name: 'n' does not come after 'n'");
  expect_error([](Program& p) { p.vars[0].min = -1; },
               "/vars/0: bounds [-1, 64], want 0 <= min <= max");
  expect_error([](Program& p) { p.vars[0].max = 65; },
               "/inputs/0/shape/0: variable 'n' has bounds [1, 64] here, [1, 65] in the program");
  expect_error([](Program& p) { p.vars.clear(); },
               "/inputs/0/shape/0: variable 'n' is not one of the program's");
}

TEST(VerifyProgram, Signature) {
  expect_error([](Program& p) { p.inputs[0].name = ""; },
               "/inputs/0/name: want 1 to 256 printable bytes");
  expect_error([](Program& p) { p.inputs[0].name = "a\nb"; },
               "/inputs/0/name: want 1 to 256 printable bytes");
  expect_error([](Program& p) { p.inputs.push_back(p.inputs[0]); },
               "/inputs/1/name: 'x' is the name of /inputs/0 already");
  expect_error([](Program& p) { p.inputs[0].device = 1; },
               "/inputs/0/device: device 1, there are 1");
  expect_error([](Program& p) { p.inputs[0].dtype = static_cast<DType>(77); },
               "/inputs/0/dtype: element type 77 does not exist");
  expect_error([](Program& p) { p.inputs[0].shape[1] = Sym(-4); },
               "/inputs/0/shape/1: the dimension -4 may be negative");
  expect_error([](Program& p) { p.inputs[0].shape = {Sym(1), Sym(int64_t{1} << 61)}; },
               "/inputs/0/shape: [1, 2305843009213693952] may have more");
  expect_error([](Program& p) { p.outputs[0].buffer = kNoIndex; },
               "/outputs/0/buffer: buffer 4294967295, there are 4");
  expect_error([](Program& p) { p.outputs[0].buffer = 1; },
               "/outputs/0/buffer: buffer 1 has 4 elements, the output 4*n");
  expect_error([](Program& p) { p.constants[0].data = nullptr; }, "/constants/0: 'c' has no data");
  expect_error([](Program& p) { p.device_count = 0; }, "/devices: 0 devices, want 1 to 64");
  expect_error([](Program& p) { p.guards[0].low = floordiv(Sym(1), Sym(0)); },
               "/guards/0/low: an invalid expression");
  expect_error([](Program& p) { p.groups[0].kernel = 9; },
               "/groups/0/kernel: kernel 9, there are 2");
  expect_error([](Program& p) { p.groups[0].step = 1; },
               "/groups/0/step: step 1 does not launch kernel 0");
  expect_error(
      test::accumulate(), [](Program& p) { p.states[0].initial = test::floats({2}, {1, 2}); },
      "/states/0/initial: f32 [2], the state is f32 [8]");
}

TEST(VerifyProgram, Buffers) {
  expect_error([](Program& p) { p.buffers[0].slot = 3; },
               "/buffers/0/slot: slot 3, there are 1 inputs");
  expect_error([](Program& p) { p.buffers[0].dtype = DType::i32; },
               "/buffers/0/dtype: i32, its input is f32");
  expect_error([](Program& p) { p.buffers[0].elements = Sym(4); },
               "/buffers/0/elements: 4, its input has 4*n");
  expect_error([](Program& p) { p.buffers[2].arena = 5; },
               "/buffers/2/arena: arena 5, there are 1");
  expect_error([](Program& p) { p.buffers[2].offset = 2; },
               "/buffers/2/offset: 2 is no multiple of the element size 4");
  expect_error([](Program& p) { p.buffers[2].offset = 4; },
               "/buffers/2/offset: bytes [4, 1028) are not inside arena 0 of 1024 bytes");
  expect_error([](Program& p) { p.arenas[0].bytes = 1023; },
               "/buffers/2/offset: bytes [0, 1024) are not inside arena 0 of 1023 bytes");
  expect_error([](Program& p) { p.buffers[2].offset = UINT64_MAX - 3; },
               "/buffers/2/offset: bytes [");
  expect_error([](Program& p) { p.buffers.push_back(p.buffers[0]); },
               "/buffers/4/slot: input 0 is /buffers/0 already");
  expect_error([](Program& p) { p.buffers[3].kind = static_cast<BufferKind>(9); },
               "/buffers/3/kind: kind 9 does not exist");
  expect_error(
      test::accumulate(), [](Program& p) { p.buffers[2].device = 1; },
      "/buffers/2/device: device 1, its state is on 0");
}

TEST(VerifyProgram, Kernels) {
  expect_error([](Program& p) { p.kernels[0].name = "a b"; }, "/kernels/0/name: want a letter");
  expect_error([](Program& p) { p.kernels[1].name = "scale"; },
               "/kernels/1/name: 'scale' is the name of /kernels/0 already");
  expect_error([](Program& p) { p.kernels[0].kir.numerics = kir::Numerics::fast; },
               "/kernels/0/kir: the kernel is not strict");
  expect_good(test::scaled_relu(), [](Program& p) { p.numerics = kir::Numerics::fast; });
  expect_error([](Program& p) { p.kernels[0].kir.insts.back().nsrc = 0; }, "/kernels/0/kir/");
  // An access that the prover cannot place: one element more than the parameter has.
  expect_error(
      [](Program& p) {
        kir::Builder b;
        const auto n = b.var(0, 1, 64), count = b.mul(n, b.i64(4));
        const auto x = b.param(0, DType::f32, count, OST_KIR_READ),
                   y = b.param(1, DType::f32, count, OST_KIR_WRITE);
        const auto i = b.axis(count, kir::Role::parallel);
        b.store(y, i, b.load(x, b.add(i, b.i64(1))));
        p.kernels[1].kir = test::finish(b);
      },
      "/kernels/1/kir");
}

TEST(VerifyProgram, Launches) {
  expect_error(
      [](Program& p) {
        p.steps[0].kernel = 2;
        p.groups.clear();
      },
      "/steps/0/kernel: kernel 2, there are 2");
  expect_error([](Program& p) { p.steps[0].args.pop_back(); },
               "/steps/0/args: 2 buffers, kernel 'scale' has 3 parameters");
  expect_error([](Program& p) { p.steps[0].args[1] = 9; },
               "/steps/0/args/1: buffer 9, there are 4");
  expect_error([](Program& p) { p.steps[0].vars.clear(); },
               "/steps/0/vars: 0 variables, kernel 'scale' has 1");
  expect_error([](Program& p) { p.steps[0].vars[0] = 1; },
               "/steps/0/vars/0: variable 1, there are 1");
  expect_error([](Program& p) { p.steps[0].device = 1; }, "/steps/0/device: device 1, there are 1");
  expect_error([](Program& p) { std::swap(p.steps[0].args[0], p.steps[0].args[1]); },
               "/steps/0/args/0: buffer 1 has 4 elements, parameter 0 of 'scale' needs 4*n: not "
               "enough for all variable values");
  expect_error([](Program& p) { p.steps[0].args[2] = 0; },
               "/steps/0/args/2: buffer 0 is written, but it is an input that is not marked");
  expect_error(
      [](Program& p) {
        p.inputs[0].written = true;
        p.steps[0].args[2] = 0;
      },
      "/steps/0/args/2: buffer 0 is written and shares bytes with argument 0, buffer 0");
  // Kernel variables are proved for [1, 64]; a program that binds more breaks the proof.
  expect_error(
      [](Program& p) {
        const Var wide{"m", 0, 64};
        p.vars = {wide, {"n", 1, 64}};
        p.steps[0].vars = {0};
        p.steps[1].vars = {1};
      },
      "/steps/0/kernel: 'scale': variable slot 0 takes [1, 64], 'm' has [0, 64]");
}

TEST(VerifyProgram, Copies) {
  expect_error(
      test::accumulate(), [](Program& p) { p.steps[1].args.push_back(0); },
      "/steps/1/args: 3 buffers, a copy has destination and source");
  expect_error(
      test::accumulate(), [](Program& p) { p.steps[1].device = 0; },
      "/steps/1/device: device 0, the destination is on 1");
  expect_error(
      test::accumulate(), [](Program& p) { p.steps[1].kernel = 0; },
      "/steps/1: a copy has neither kernel nor variables");
  expect_error(
      test::accumulate(),
      [](Program& p) {
        p.steps[1].args = {0, 2};
        p.steps[1].device = 0;
      },
      "/steps/1/args/0: buffer 0 is written, but it is an input");
  expect_error(
      test::scaled_relu(),
      [](Program& p) {
        p.groups.clear();
        p.steps[1] = {.kind = StepKind::copy,
                      .device = 0,
                      .kernel = kNoIndex,
                      .args = {3, 1},
                      .vars = {},
                      .after = {0},
                      .level = 1};
      },
      "/steps/1/args/1: buffer 1 has 4 elements, the destination 4*n");
}

TEST(VerifyProgram, Edges) {
  expect_error([](Program& p) { p.steps[0].after = {0}; },
               "/steps/0/after/0: step 0 is not earlier");
  expect_error([](Program& p) { p.steps[1].after = {0, 0}; },
               "/steps/1/after/1: step 0 does not come after 0");
  expect_error([](Program& p) { p.steps[1].level = 0; },
               "/steps/1/level: level 0, its edges give 1");
  expect_error(
      [](Program& p) {
        p.steps[1].after.clear();
        p.steps[1].level = 0;
      },
      "/steps/1/args/0: buffer 2 is read, but step 0, which writes it, is not waited for");
  expect_error(
      [](Program& p) {
        p.steps[0].kernel = 1;
        p.steps[0].args = {0, 3};
        p.groups.clear();
      },
      "/steps/1/args/0: buffer 2 is read, but no earlier step writes it");
  expect_error(
      [](Program& p) {
        p.steps.pop_back();
        p.groups.clear();
      },
      "/outputs/0/buffer: no step writes buffer 3");
  expect_error(
      [](Program& p) {  // a second writer of the output that waits for nobody
        p.steps.push_back({.kind = StepKind::launch,
                           .device = 0,
                           .kernel = 1,
                           .args = {0, 3},
                           .vars = {0},
                           .after = {},
                           .level = 0});
      },
      "/steps/2/args/1: buffer 3 is written, but step 1, which writes it too, is not waited for");
  expect_error(
      [](Program& p) {  // the temp is overwritten while step 1 may still read it
        p.steps.push_back({.kind = StepKind::launch,
                           .device = 0,
                           .kernel = 1,
                           .args = {0, 2},
                           .vars = {0},
                           .after = {0},
                           .level = 1});
      },
      "/steps/2/args/1: buffer 2 is written, but step 1, which reads it, is not waited for");
}

// x -> a -> b -> y through two temps that may or may not share bytes.
Program chain(uint64_t offset_b, uint64_t offset_c) {
  Program p = test::scaled_relu();
  p.groups.clear();
  p.arenas[0].bytes = 4096;
  BufferDesc temp = p.buffers[2];
  temp.offset = offset_b;
  p.buffers.push_back(temp);  // 4
  temp.offset = offset_c;
  p.buffers.push_back(temp);  // 5
  const auto launch = [](uint32_t from, uint32_t to, uint32_t after) {
    return Step{.kind = StepKind::launch,
                .device = 0,
                .kernel = 1,
                .args = {from, to},
                .vars = {0},
                .after = {after},
                .level = after + 1};
  };
  p.steps.resize(1);
  p.steps.push_back(launch(2, 4, 0));
  p.steps.push_back(launch(4, 5, 1));
  p.steps.push_back(launch(5, 3, 2));
  return p;
}

TEST(VerifyProgram, TempsThatShareBytes) {
  expect_good(chain(1024, 2048));
  expect_good(chain(1024, 0));  // the first temp is dead when the third is made
  expect_good(chain(1024, 512 - 512));
  expect_error(
      chain(512, 2048), [](Program&) {},
      "/steps/1/args/1: buffer 4 is written and shares bytes with argument 0, buffer 2");
  // Alive: step 3 reads the first temp again.
  expect_error(
      chain(1024, 512),
      [](Program& p) {
        p.steps[3].args = {2, 3};
        p.steps[3].after = {0, 2};
      },
      "/steps/2/args/1: buffer 5 is written and shares bytes with argument 0, buffer 4");
  expect_error(
      chain(1024, 0), [](Program& p) { p.steps[3].args = {2, 3}; },
      "/buffers/5/offset: shares bytes with buffer 2, which step 3 uses and step 2 does not wait "
      "for");
  expect_error(
      chain(1024, 0),
      [](Program& p) { p.outputs.push_back({"t", DType::f32, p.inputs[0].shape, 0, 2}); },
      "/buffers/5/offset: shares bytes with buffer 2, which is an output and lives to the end");
}

TEST(VerifyProgram, OrderOfTheListIsNotEnough) {
  Program p = chain(1024, 0);
  p.steps[2].after = {};  // no edge to step 1, which reads what step 2 overwrites
  p.steps[2].args = {0, 5};
  p.steps[2].level = 0;
  p.steps[3].level = 1;
  expect_error(
      p, [](Program&) {},
      "/buffers/5/offset: shares bytes with buffer 2, which step 0 uses and step 2 does not wait "
      "for");
}

TEST(VerifyProgram, LongChainIsFast) {
  Program p = test::scaled_relu();
  p.groups.clear();
  p.arenas[0].bytes = 2048;
  BufferDesc other = p.buffers[2];
  other.offset = 1024;
  p.buffers.push_back(other);
  p.steps.resize(1);
  for (uint32_t i = 1; i < 4000; ++i) {
    const bool odd = i % 2 != 0;
    p.steps.push_back({.kind = StepKind::launch,
                       .device = 0,
                       .kernel = 1,
                       .args = {odd ? 2u : 4u, odd ? 4u : 2u},
                       .vars = {0},
                       .after = {i - 1},
                       .level = i});
  }
  p.steps.push_back({.kind = StepKind::launch,
                     .device = 0,
                     .kernel = 1,
                     .args = {4, 3},
                     .vars = {0},
                     .after = {3999},
                     .level = 4000});
  expect_good(p);
}

}  // namespace
}  // namespace ost
