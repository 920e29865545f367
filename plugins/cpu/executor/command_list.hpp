// A recorded command list: every command bound to plain arguments once, so that a replay stores
// what has changed and then runs a flat array of pieces. Commands of one level run at the same time
// if that pays.
#pragma once

#include <mutex>
#include <ostinato/plugin/sync.hpp>
#include <vector>

#include "device.hpp"

namespace ost_cpu {

class CommandList final : public ost::plugin::SyncCommandList {
 public:
  // The engine belongs to the device, which outlives its lists (rule 11).
  CommandList(Engine& engine, const ost::plugin::Recording& recording);

  void run(std::span<const ost::plugin::Range> slots, std::span<const int64_t> vars,
           ost::plugin::Profile* profile) override;

 private:
  // A command: what to call, and what it said it would do.
  struct Record {
    std::shared_ptr<ost::plugin::SyncExecutable> keep;  // the code
    ost_cpu_kernel_fn function = nullptr;
    ost_cpu_call_t call{};
    ost_cpu_plan_t plan{};
    uint32_t level = 0;
    uint32_t first_param = 0;
    uint32_t first_var = 0;
    uint32_t var_count = 0;
    bool dispatch = false;  // only these are profiled
    bool planned = false;
  };
  struct PointerPatch {
    uint32_t param;
    uint32_t slot;
    uint64_t offset;
  };
  struct SizePatch {  // COPY and FILL of all that is bound
    uint32_t record;
    uint32_t var;
    uint32_t slot;
    uint64_t offset;
  };
  struct VarPatch {
    uint32_t record;
    uint32_t var;
    uint32_t from;
  };
  struct Copy {
    ost::plugin::RecordedRef to;
    ost::plugin::RecordedRef from;
  };
  // kNever: pieces [first, last), one after the other. Otherwise tasks [first, last) of cuts_, at
  // once.
  struct Step {
    uint32_t first;
    uint32_t last;
    Parallel parallel;
  };

  void add_dispatch(const ost::plugin::Recorded& command, Record& record);
  void add_transfer(const ost::plugin::Recorded& command, Record& record);
  void add_param(const ost::plugin::RecordedRef& ref);
  void add_size(const ost::plugin::RecordedRef& ref);

  void check_copies(std::span<const ost::plugin::Range> slots) const;
  void bind(std::span<const ost::plugin::Range> slots, std::span<const int64_t> vars);
  void plan();
  void schedule();
  void schedule_level(uint32_t first, uint32_t last);
  void schedule_phase(uint32_t first, uint32_t last, uint32_t phase);
  void add_serial(const Record& record, uint32_t phase);
  void run_steps();
  void run_profiled(ost::plugin::Profile& profile);

  Engine& engine_;
  std::mutex mutex_;  // two queues may have been given the same list
  std::vector<Record> records_;
  std::vector<void*> params_;
  std::vector<int64_t> vars_;
  std::vector<PointerPatch> pointer_patches_;
  std::vector<SizePatch> size_patches_;
  std::vector<VarPatch> var_patches_;
  std::vector<Copy> bound_copies_;  // those whose sizes are only known when their slots are bound

  std::vector<ost::plugin::Range> bound_slots_;
  bool bound_ = false;
  bool scheduled_ = false;  // plans and steps are those of vars_
  std::vector<Piece> pieces_;
  std::vector<uint32_t> cuts_;  // task i of a step is pieces [cuts_[i], cuts_[i + 1])
  std::vector<Step> steps_;
  double parallel_us_ = 0;  // of the steps that could use the workers
  uint64_t scratch_bytes_ = 0;
  Arena scratch_;  // of the thread that submits
  Arena shared_;
  Launch launch_;  // for profiled runs
};

}  // namespace ost_cpu
