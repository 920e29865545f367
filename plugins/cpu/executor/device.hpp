// The device: this machine's processors, as one. Dispatches kernels alone; command lists are in
// command_list.hpp.
#pragma once

#include <memory>
#include <mutex>
#include <ostinato/plugin/sync.hpp>
#include <vector>

#include "cost.hpp"
#include "executable.hpp"
#include "memory.hpp"
#include "piece.hpp"
#include "pool.hpp"

namespace ost_cpu {

// What runs kernels, shared by the device and its command lists.
struct Engine {
  Engine(FeatureSet set, unsigned threads, std::vector<int> cpus)
      : features(set), cost(set), pool(threads, std::move(cpus)) {}

  static void run_serial(const Piece* first, const Piece* last, std::byte* scratch) {
    for (; first != last; ++first) first->run(scratch);
  }
  // Task i is the pieces [cuts[i], cuts[i + 1]); all may run at the same time. `scratch` is the
  // calling thread's.
  void run_parallel(const Piece* pieces, const uint32_t* cuts, uint32_t tasks, std::byte* scratch,
                    uint64_t scratch_bytes);
  // Should pieces with this decision be given to run_parallel now?
  bool worth_it(Parallel decision) const {
    if (pool.threads() == 1 || decision == Parallel::kNever) return false;
    return decision == Parallel::kAlways || pool.awake();
  }

  const FeatureSet features;
  const CostModel cost;
  Pool pool;
};

// Runs all phases of one call.
class Launch {
 public:
  void run(Engine& engine, ost_cpu_kernel_fn function, ost_cpu_call_t call,
           const ost_cpu_plan_t& plan);

 private:
  std::vector<Piece> pieces_;
  std::vector<uint32_t> cuts_;
  Arena scratch_;
  Arena shared_;
};

class CpuDevice final : public ost::plugin::SyncDevice {
 public:
  CpuDevice(FeatureSet features, unsigned threads, std::vector<int> cpus, uint64_t memory_bytes);

  std::unique_ptr<ost::plugin::SyncExecutable> load(std::span<const std::byte> image,
                                                    std::string_view path) override;
  void dispatch(const ost::plugin::Dispatch& dispatch) override;
  std::unique_ptr<ost::plugin::SyncCommandList> record(
      const ost::plugin::Recording& recording) override;

  void* allocate(uint64_t bytes, uint64_t align) override {
    return ost_cpu::allocate(bytes, align);
  }
  void deallocate(void* memory, uint64_t) override { ost_cpu::deallocate(memory); }
  uint64_t heap_bytes() override { return memory_bytes_; }
  uint32_t min_align() override { return kAlign; }
  uint32_t import_align() override { return 8; }  // kernels need that of the element type

 private:
  // A Launch that no other thread uses.
  std::unique_ptr<Launch> take_launch();
  void give_back(std::unique_ptr<Launch> launch);

  Engine engine_;
  uint64_t memory_bytes_;
  std::mutex launches_mutex_;
  std::vector<std::unique_ptr<Launch>> launches_;
};

}  // namespace ost_cpu
