// L2: compile and run. The grid, the self-test's items, and kernels that share a device.
#include <algorithm>

#include "core/kir/selftest.hpp"
#include "grid.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Role;
using kir::Value;
using runtime::Queue;
using runtime::Timeline;

Check needs_device(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  return {};
}

Check run_grid_case(Lab& lab, const GridCase& c) {
  OST_TRY(needs_device(lab));
  Random random = lab.random(c.name);
  auto trial = c.make(random);
  if (!trial) return failed("a bug of the kit: {}", trial.error().message);
  return check(lab, *trial);
}

Check self_test(Lab& lab, size_t item) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto tests, kir::self_tests());
  const kir::SelfTest& test = tests[item];
  Trial trial;
  trial.kernel = test.kernel;
  Launch launch;
  launch.params = test.inputs;
  launch.params.emplace_back(test.expected.size(), kPoison);
  trial.launches.push_back(std::move(launch));
  return check(lab, trial);
}

// y[i] = x[i] * factor + 1
Result<kir::Kernel> scale(float factor) {
  Builder b;
  const Value n = b.var(0, 0, 100000);
  const Value x = b.param(0, DType::f32, n, OST_KIR_READ);
  const Value y = b.param(1, DType::f32, n, OST_KIR_WRITE);
  const Value i = b.axis(n, Role::parallel);
  b.store(y, i, b.add(b.mul(b.load(x, i), b.f32(factor)), b.f32(1)));
  return b.build();
}

// Sixteen chains of four kernels each, on four queues, all submitted before anything is waited for.
Check in_flight(Lab& lab) {
  OST_TRY(needs_device(lab));
  constexpr uint32_t kChains = 16, kLinks = 4, kQueues = 4;
  constexpr int64_t kCount = 5001;
  Random random = lab.random("in_flight");
  std::vector<kir::Kernel> kernels;
  std::vector<Prepared> prepared;
  for (uint32_t k = 0; k < kLinks; ++k) {
    OST_TRY_ASSIGN(kir::Kernel kernel, scale(0.25f + static_cast<float>(k)));
    auto p = lab.prepare(kernel);
    if (!p) return std::unexpected(p.error());
    kernels.push_back(std::move(kernel));
    prepared.push_back(std::move(*p));
  }
  std::vector<std::unique_ptr<Queue>> queues;
  for (uint32_t q = 0; q < kQueues; ++q) {
    OST_TRY_ASSIGN(auto queue, Queue::create(lab.device_ptr()));
    queues.push_back(std::move(queue));
  }
  struct Chain {
    std::vector<Guarded> memory;
    Bytes want;
    std::shared_ptr<Timeline> timeline;
  };
  std::vector<Chain> chains(kChains);
  const int64_t vars[] = {kCount};
  for (Chain& chain : chains) {
    Bytes content = values(DType::f32, kCount, Flavour::moderate, random);
    OST_TRY_ASSIGN(chain.timeline, Timeline::create(lab.device_ptr()));
    for (uint32_t k = 0; k <= kLinks; ++k) {
      OST_TRY_ASSIGN(Guarded g, lab.guarded(k == 0 ? content : Bytes(content.size(), kPoison)));
      chain.memory.push_back(std::move(g));
      if (k == kLinks) break;
      OST_TRY_ASSIGN(auto after, expected(kernels[k], {{content, content}, {kCount}}));
      content = std::move(after[1]);
    }
    chain.want = std::move(content);
  }
  for (uint32_t k = 0; k < kLinks; ++k) {
    for (uint32_t c = 0; c < kChains; ++c) {
      Chain& chain = chains[c];
      const ost_ref_t refs[] = {chain.memory[k].ref(), chain.memory[k + 1].ref()};
      OST_TRY_ASSIGN(const ost_command_t command, lab.dispatch(prepared[k], refs, vars));
      const ost_point_t wait{chain.timeline->handle(), k};
      const ost_point_t signal{chain.timeline->handle(), k + 1};
      OST_TRY(queues[(c + k) % kQueues]->submit({&wait, 1}, {&command, 1}, {&signal, 1}));
    }
  }
  for (uint32_t c = 0; c < kChains; ++c) {
    OST_TRY(chains[c].timeline->wait(kLinks, lab.limit_ns()));
    OST_TRY_ASSIGN(const Bytes got, lab.read(chains[c].memory.back()));
    CONFORM_EXPECT(got == chains[c].want, "chain {} of {} on {} queues has other bits", c, kChains,
                   kQueues);
  }
  return {};
}

// A buffer that is only read may be bound twice.
Check same_buffer_twice(Lab& lab) {
  OST_TRY(needs_device(lab));
  Builder b;
  const Value n = b.i64(77);
  const Value i = b.axis(n, Role::parallel);
  const Value x = b.load(b.param(0, DType::f32, n, OST_KIR_READ), i);
  const Value y = b.load(b.param(1, DType::f32, n, OST_KIR_READ), i);
  b.store(b.param(2, DType::f32, n, OST_KIR_WRITE), i, b.mul(x, y));
  OST_TRY_ASSIGN(const kir::Kernel kernel, b.build());
  auto prepared = lab.prepare(kernel);
  if (!prepared) return std::unexpected(prepared.error());
  Random random = lab.random("same_buffer_twice");
  const Bytes content = values(DType::f32, 77, Flavour::moderate, random);
  OST_TRY_ASSIGN(const auto want, expected(kernel, {{content, content, content}, {}}));
  OST_TRY_ASSIGN(const Guarded in, lab.guarded(content));
  OST_TRY_ASSIGN(const Guarded out, lab.guarded(Bytes(content.size(), kPoison)));
  const ost_ref_t refs[] = {in.ref(), in.ref(), out.ref()};
  OST_TRY_ASSIGN(const ost_command_t command, lab.dispatch(*prepared, refs, {}));
  OST_TRY(lab.run({&command, 1}));
  OST_TRY_ASSIGN(const Bytes got, lab.read(out));
  CONFORM_EXPECT(got == want[2], "a buffer that is bound to two parameters gives other bits");
  return {};
}

// Two devices' worth of executables of one image, unloaded in the order of creation.
Check loads_twice(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const kir::Kernel kernel, scale(3));
  auto first = lab.prepare(kernel);
  if (!first) return std::unexpected(first.error());
  auto second = lab.prepare(kernel);
  if (!second) return std::unexpected(second.error());
  first->executable.reset();
  Random random = lab.random("loads_twice");
  const Bytes content = values(DType::f32, 9, Flavour::moderate, random);
  OST_TRY_ASSIGN(const auto want, expected(kernel, {{content, content}, {9}}));
  OST_TRY_ASSIGN(const Guarded in, lab.guarded(content));
  OST_TRY_ASSIGN(const Guarded out, lab.guarded(content));
  const ost_ref_t refs[] = {in.ref(), out.ref()};
  const int64_t vars[] = {9};
  OST_TRY_ASSIGN(const ost_command_t command, lab.dispatch(*second, refs, vars));
  OST_TRY(lab.run({&command, 1}));
  OST_TRY_ASSIGN(const Bytes got, lab.read(out));
  CONFORM_EXPECT(got == want[1], "a second executable of one image gives other bits");
  return {};
}

}  // namespace

void add_kernel_cases(std::vector<Case>& out) {
  const auto tests = kir::self_tests();
  for (size_t i = 0; tests && i < tests->size(); ++i) {
    std::string name = (*tests)[i].name;
    std::ranges::replace(name, ' ', '_');
    out.push_back({2, "self_test." + name, "", [i](Lab& lab) { return self_test(lab, i); }});
  }
  for (GridCase& c : grid()) {
    Case made{2, c.name, c.cell, nullptr};
    made.run = [c = std::move(c)](Lab& lab) { return run_grid_case(lab, c); };
    out.push_back(std::move(made));
  }
  out.push_back({2, "in_flight", "", in_flight});
  out.push_back({2, "same_buffer_twice", "", same_buffer_twice});
  out.push_back({2, "loads_twice", "", loads_twice});
}

}  // namespace ost::conform
