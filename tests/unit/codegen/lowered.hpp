// Programs by the interpreters of both levels: level 1 as it is scheduled, level 2 as it is lowered for
// a device.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/codegen/lower.hpp"
#include "core/ir/ops.hpp"
#include "core/kir/level2.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost::test {

inline Result<> run_lowered(const kir::Kernel& kernel, const codegen::Target& target, bool reverse,
                            std::span<const kir::ParamData> params, std::span<const int64_t> vars) {
  auto lowered = codegen::lower(kernel, target);
  if (!lowered)
    return std::unexpected(lowered.error().in(fmt::format("lowering\n{}", to_text(kernel))));
  uint64_t local = 0;
  for (kir::Value v = 0; v < lowered->insts.size(); ++v)
    if (lowered->op(v) == kir::Op::local_array)
      local += lowered->insts[v].imm * size_of(lowered->dtype(v));
  if (lowered->lanes > target.max_lanes || (target.max_lanes > 1 && local > target.local_bytes))
    return fail(OST_INTERNAL, "{} lanes of {}, {} bytes of {}", lowered->lanes, target.max_lanes,
                local, target.local_bytes);
  auto done = kir::interpret_level2(*lowered, params, vars, {.reverse = reverse});
  if (!done)
    return std::unexpected(
        done.error().in(fmt::format("\n{}\n{}", to_text(kernel), to_text(*lowered))));
  return done;
}

inline void expect_same(const Program& program, const std::vector<Bytes>& inputs,
                        const Bindings& vars, const codegen::Target& target, bool reverse) {
  HostRun want{inputs, {}, vars, {}}, got = want;
  const auto reference = run_on_host(program, want);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  const auto done = run_on_host(
      program, got,
      [&](const kir::Kernel& k, std::span<const kir::ParamData> p, std::span<const int64_t> v) {
        return run_lowered(k, target, reverse, p, v);
      });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  for (size_t o = 0; o < want.outputs.size(); ++o)
    ASSERT_TRUE(same_bits(program.outputs[o].dtype, want.outputs[o], got.outputs[o]))
        << "output " << o;
}

// Each barrier keeps some lane from reading what another one has not written, or from overwriting what
// another one still reads: without it the interpreter finds a race. `spare`: the last ones, which
// protect a use that does not come.
inline void expect_barriers_needed(const kir::Kernel& kernel, const codegen::Target& target,
                                   std::span<const kir::ParamData> params, size_t at_least,
                                   size_t spare = 0) {
  const auto lowered = codegen::lower(kernel, target);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
  const auto whole = kir::interpret_level2(*lowered, params, {});
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  std::vector<kir::Value> barriers;
  for (kir::Value v = 0; v < lowered->insts.size(); ++v)
    if (lowered->op(v) == kir::Op::barrier) barriers.push_back(v);
  ASSERT_GE(barriers.size(), at_least);
  barriers.resize(barriers.size() - spare);
  for (const kir::Value v : barriers) {
    kir::Kernel broken = *lowered;
    broken.insts[v].op = OST_KIR_OP_CONST;
    ASSERT_TRUE(kir::verify(broken).has_value());
    const auto done = kir::interpret_level2(broken, params, {});
    EXPECT_TRUE(!done && done.error().message.find("races") != std::string::npos)
        << "without the barrier of record " << v << ": "
        << (done ? "nothing is found" : done.error().message);
  }
}

// Builds a graph and checks its programs.
class LoweredGraph : public testing::Test {
 protected:
  using NodeId = ir::NodeId;
  using Op = ir::Op;

  // Of f32 unless said otherwise: normal numbers, and small integers for integer types.
  NodeId input(Shape shape, DType type = DType::f32, double spread = 1) {
    size_t count = 1;
    for (const Sym& d : shape) count *= static_cast<size_t>(d.upper());
    Bytes bytes(count * size_of(type));
    for (size_t i = 0; i < count; ++i) put(&bytes[i * size_of(type)], type, spread);
    return input(std::move(shape), type, std::move(bytes));
  }
  NodeId input(Shape shape, DType type, Bytes bytes) {
    inputs_.push_back(std::move(bytes));
    return *g_.add_input({fmt::format("x{}", inputs_.size()), ir::InputKind::argument, type,
                          std::move(shape), 0, nullptr});
  }
  static NodeId must(Result<NodeId> n) {
    EXPECT_TRUE(n.has_value()) << (n ? "" : n.error().message);
    return n.value_or(0);
  }
  NodeId sum(NodeId x, std::vector<int64_t> axes) {
    return must(ir::reduce(g_, Op::sum, x, std::move(axes), false));
  }
  void check(std::initializer_list<NodeId> outputs, const codegen::Target& target,
             const std::vector<Bindings>& all_vars = {{}}) {
    size_t k = 0;
    for (const NodeId n : outputs) g_.add_output(fmt::format("y{}", k++), n);
    const auto program = schedule(g_);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    for (const Bindings& vars : all_vars) {
      expect_same(*program, inputs_, vars, target, true);
      if (HasFatalFailure()) break;
    }
    g_ = {};
    inputs_.clear();
  }

  std::mt19937_64 rng_{20261130};
  ir::Graph g_;
  std::vector<Bytes> inputs_;

 private:
  void put(uint8_t* to, DType type, double spread) {
    const double x = std::normal_distribution<double>(0, spread)(rng_);
    const auto n = static_cast<int64_t>(rng_() % 7);
    const auto narrow = static_cast<float>(x);
    switch (type) {
      case DType::f64:
        std::memcpy(to, &x, 8);
        break;
      case DType::f32:
        std::memcpy(to, &narrow, 4);
        break;
      case DType::bf16: {
        uint32_t bits;
        std::memcpy(&bits, &narrow, 4);
        bits >>= 16;
        std::memcpy(to, &bits, 2);
        break;
      }
      case DType::f16: {  // 1 to 2 in steps of 1/1024, either sign
        const auto bits = static_cast<uint16_t>((rng_() & 0x83ff) | 0x3c00);
        std::memcpy(to, &bits, 2);
        break;
      }
      default:
        std::memcpy(to, &n, size_of(type));
    }
  }
};

}  // namespace ost::test
