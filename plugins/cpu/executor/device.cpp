#include "device.hpp"

#include <numeric>

#include "command_list.hpp"

namespace ost_cpu {

using ost::plugin::Dispatch;
using ost::plugin::fail;

ost_cpu_plan_t plan_of(ost_cpu_kernel_fn function, const ost_cpu_call_t& call) {
  constexpr uint64_t kMost = uint64_t{1}
                             << 46;  // no machine has more: sums of a few cannot overflow
  ost_cpu_plan_t plan{};
  function(&call, &plan, OST_CPU_PHASE_PLAN, 0, 0);
  bool sane = plan.phase_count >= 1 && plan.phase_count <= OST_CPU_MAX_PHASES;
  sane = sane && plan.scratch_bytes < kMost && plan.shared_bytes < kMost;
  for (uint32_t p = 0; sane && p < plan.phase_count; ++p) sane = plan.phases[p].tasks >= 0;
  if (!sane)
    fail(OST_DATA_LOSS, "a kernel made an impossible plan: ", plan.phase_count, " phases, ",
         plan.scratch_bytes, " bytes of scratch, ", plan.shared_bytes, " shared");
  return plan;
}

void Engine::run_parallel(const Piece* pieces, const uint32_t* cuts, uint32_t tasks,
                          std::byte* scratch, uint64_t scratch_bytes) {
  struct Job {
    const Pool& pool;
    const Piece* pieces;
    const uint32_t* cuts;
    std::byte* scratch;
  } job{pool, pieces, cuts, scratch};
  const auto task = [](void* context, uint32_t index, unsigned worker) {
    const Job& j = *static_cast<const Job*>(context);
    std::byte* own = worker == 0 ? j.scratch : j.pool.scratch(worker);
    run_serial(j.pieces + j.cuts[index], j.pieces + j.cuts[index + 1], own);
  };
  if (pool.try_run(tasks, task, &job, scratch_bytes)) return;
  // Another thread has the pool: all processors are busy, so this one does its own work.
  run_serial(pieces + cuts[0], pieces + cuts[tasks], scratch);
}

void Launch::run(Engine& engine, ost_cpu_kernel_fn function, ost_cpu_call_t call,
                 const ost_cpu_plan_t& plan) {
  scratch_.reserve(plan.scratch_bytes);
  shared_.reserve(plan.shared_bytes);
  call.shared = plan.shared_bytes > 0 ? shared_.data() : nullptr;
  std::byte* scratch = plan.scratch_bytes > 0 ? scratch_.data() : nullptr;
  for (uint32_t p = 0; p < plan.phase_count; ++p) {
    const ost_cpu_phase_t& phase = plan.phases[p];
    if (phase.tasks == 0) continue;
    const double us = engine.cost.phase_us(phase);
    if (!engine.worth_it(decide(us))) {
      Piece{function, &call, 0, phase.tasks, p}.run(scratch);
      continue;
    }
    pieces_.clear();
    const uint32_t count = piece_count(phase, us, task_length(us, engine.pool.threads()));
    append_pieces(pieces_, {function, &call, 0, phase.tasks, p}, count);
    cuts_.resize(count + 1);
    std::iota(cuts_.begin(), cuts_.end(), 0u);
    engine.run_parallel(pieces_.data(), cuts_.data(), count, scratch, plan.scratch_bytes);
  }
}

CpuDevice::CpuDevice(FeatureSet features, unsigned threads, std::vector<int> cpus,
                     uint64_t memory_bytes)
    : engine_(features, threads, std::move(cpus)), memory_bytes_(memory_bytes) {}

std::unique_ptr<ost::plugin::SyncExecutable> CpuDevice::load(std::span<const std::byte> image,
                                                             std::string_view path) {
  return std::make_unique<CpuExecutable>(image, path, engine_.features);
}

std::unique_ptr<ost::plugin::SyncCommandList> CpuDevice::record(
    const ost::plugin::Recording& recording) {
  return std::make_unique<CommandList>(engine_, recording);
}

void CpuDevice::dispatch(const Dispatch& d) {
  auto& executable = static_cast<CpuExecutable&>(*d.executable);  // only load() makes them
  const ost_cpu_kernel_fn function = executable.function(d.entry);
  constexpr size_t kUsual = 16;
  void* few[kUsual];
  std::vector<void*> many;
  void** params = few;
  if (d.buffers.size() > kUsual) {
    many.resize(d.buffers.size());
    params = many.data();
  }
  for (size_t i = 0; i < d.buffers.size(); ++i) params[i] = d.buffers[i].data;
  const ost_cpu_call_t call{params, d.vars.data(), nullptr};
  const StrictFloat strict;
  const ost_cpu_plan_t plan = plan_of(function, call);
  auto launch = take_launch();
  launch->run(engine_, function, call, plan);
  give_back(std::move(launch));
}

std::unique_ptr<Launch> CpuDevice::take_launch() {
  const std::scoped_lock lock(launches_mutex_);
  if (launches_.empty()) return std::make_unique<Launch>();
  auto launch = std::move(launches_.back());
  launches_.pop_back();
  return launch;
}

void CpuDevice::give_back(std::unique_ptr<Launch> launch) {
  const std::scoped_lock lock(launches_mutex_);
  launches_.push_back(std::move(launch));
}

}  // namespace ost_cpu
