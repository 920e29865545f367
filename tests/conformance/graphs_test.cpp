// Random graphs and shapes on `ref` and on every other device that can run here: equal bits, all
// types.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/runtime/instance.hpp"
#include "core/runtime/registry.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost {
namespace {

uint64_t base_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("OSTINATO_TEST_SEED");
    return text ? std::strtoull(text, nullptr, 10)
                : uint64_t{20261130};  // scripts/soak.sh tries others
  }();
  return seed;
}

struct Lab {
  std::shared_ptr<runtime::DeviceRegistry> registry;
  std::shared_ptr<runtime::Compiler> compiler;
  runtime::DevicePtr ref;
  std::vector<runtime::DevicePtr> others;

  static Lab& get() {
    static Lab lab;
    return lab;
  }

 private:
  Lab() {
    runtime::RegistryOptions options;
    if (const char* build = std::getenv("OSTINATO_BUILD_DIR"))
      options.loader.folders = {std::string(build) + "/lib/ostinato-plugins"};
    registry = runtime::DeviceRegistry::create(options);
    compiler = std::make_shared<runtime::Compiler>(std::make_shared<runtime::CompileCache>(""));
    for (const auto& entry : registry->devices()) {
      if (!entry.available) continue;
      auto device = registry->get(entry.id);
      if (!device) {
        ADD_FAILURE() << entry.id << ": " << device.error().message;
        continue;
      }
      if (entry.driver == "ref")
        ref = *device;
      else
        others.push_back(*device);
    }
  }
};

Result<std::vector<std::vector<uint8_t>>> run_on(const runtime::DevicePtr& device,
                                                 const std::shared_ptr<const Program>& program,
                                                 const test::RandomGraph& r) {
  std::vector<runtime::DevicePtr> devices(program->device_count, device);
  OST_TRY_ASSIGN(auto instance, runtime::Instance::create(program, devices, *Lab::get().compiler));
  std::vector<runtime::BufferRef> in, out(program->outputs.size());
  for (const auto& bytes : r.inputs) {
    OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(device, bytes.size()));
    if (!bytes.empty()) OST_TRY(buffer->write(0, bytes));
    in.push_back({std::move(buffer), 0, bytes.size()});
  }
  std::vector<int64_t> vars;
  for (const Var& v : program->vars) vars.push_back(r.vars.at(v.name));
  for (uint32_t o = 0; o < out.size(); ++o) {
    if (!instance->output_is_written(o)) continue;
    const uint32_t first = program->buffers[program->outputs[o].buffer].slot;
    if (first < o) {
      out[o] = out[first];
      continue;
    }
    OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, vars));
    OST_TRY_ASSIGN(auto buffer, runtime::Buffer::allocate(device, bytes));
    out[o] = {std::move(buffer), 0, bytes};
  }
  OST_TRY(instance->run(in, out, vars));
  std::vector<std::vector<uint8_t>> results;
  for (uint32_t o = 0; o < out.size(); ++o) {
    const runtime::BufferRef ref =
        instance->output_is_written(o) ? out[o] : instance->output_alias(o, in);
    results.emplace_back(ref.bytes);
    if (ref.bytes > 0) OST_TRY(ref.buffer->read(ref.offset, results.back()));
  }
  return results;
}

void expect_same_everywhere(uint64_t seed, const test::RandomGraphOptions& options) {
  SCOPED_TRACE(testing::Message() << "OSTINATO_TEST_SEED=" << seed);
  const test::RandomGraph r = test::random_graph(seed, options);
  auto scheduled = schedule(r.graph);
  ASSERT_TRUE(scheduled.has_value()) << scheduled.error().message;
  const auto program = std::make_shared<const Program>(std::move(*scheduled));
  const auto want = run_on(Lab::get().ref, program, r);
  ASSERT_TRUE(want.has_value()) << "ref: " << want.error().message << "\n" << ir::to_text(r.graph);
  for (const auto& device : Lab::get().others) {
    const auto got = run_on(device, program, r);
    ASSERT_TRUE(got.has_value()) << device->id() << ": " << got.error().message << "\n"
                                 << ir::to_text(r.graph);
    for (size_t o = 0; o < want->size(); ++o) {
      const DType t = program->outputs[o].dtype;
      ASSERT_TRUE(test::same_bits(t, (*want)[o], (*got)[o]))
          << device->id() << ": output " << o << "\n"
          << ir::to_text(r.graph);
    }
  }
}

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    if (Lab::get().others.empty()) GTEST_SKIP() << "needs a device beside ref";
  }
};

TEST_F(Graphs, RandomGraphsHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 250 && !HasFatalFailure(); ++i)
    expect_same_everywhere(base_seed() + i, {});
}

TEST_F(Graphs, RandomGraphsWithAVariableHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 250 && !HasFatalFailure(); ++i)
    expect_same_everywhere(base_seed() + i, {.symbolic = true});
}

TEST_F(Graphs, LargerShapesHaveTheSameBitsOnEveryDevice) {
  for (uint64_t i = 0; i < 40 && !HasFatalFailure(); ++i) {
    expect_same_everywhere(base_seed() + i, {.operations = 6, .inputs = 3, .max_elements = 200000});
  }
}

}  // namespace
}  // namespace ost
