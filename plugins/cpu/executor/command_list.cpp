#include "command_list.hpp"

#include <algorithm>
#include <cstring>

#include "transfer.hpp"

namespace ost_cpu {

using ost::plugin::Range;
using ost::plugin::Recorded;
using ost::plugin::RecordedRef;
using ost::plugin::Recording;

namespace {
void check_sizes(uint64_t to, uint64_t from) {
  if (to != from) ost::plugin::fail_rule(8, "copy of ", from, " bytes to a range of ", to);
}
}  // namespace

CommandList::CommandList(Engine& engine, const Recording& recording)
    : engine_(engine), bound_slots_(recording.slot_count) {
  records_.reserve(recording.commands.size());
  for (const Recorded& command : recording.commands) {
    Record& record = records_.emplace_back();
    record.level = command.level;
    record.first_param = static_cast<uint32_t>(params_.size());
    record.first_var = static_cast<uint32_t>(vars_.size());
    if (command.kind == OST_CMD_DISPATCH) {
      add_dispatch(command, record);
    } else {
      add_transfer(command, record);
    }
    record.var_count = static_cast<uint32_t>(vars_.size()) - record.first_var;
  }
  for (Record& record : records_) {
    record.call.params = params_.data() + record.first_param;
    record.call.vars = vars_.data() + record.first_var;
  }
}

void CommandList::add_dispatch(const Recorded& command, Record& record) {
  record.keep = command.executable;
  record.function = static_cast<CpuExecutable&>(*command.executable).function(command.entry);
  record.dispatch = true;
  for (const RecordedRef& ref : command.refs) add_param(ref);
  for (const uint32_t from : command.var_map) {
    var_patches_.push_back(
        {static_cast<uint32_t>(records_.size()) - 1, static_cast<uint32_t>(vars_.size()), from});
    vars_.push_back(0);
  }
}

void CommandList::add_transfer(const Recorded& command, Record& record) {
  const bool copy = command.kind == OST_CMD_COPY;
  record.function = copy ? copy_kernel : fill_kernel;
  for (const RecordedRef& ref : command.refs) add_param(ref);
  add_size(command.refs[0]);
  if (copy && command.refs[0].slot == 0 && command.refs[1].slot == 0) {
    check_sizes(command.refs[0].size, command.refs[1].size);
  } else if (copy) {
    bound_copies_.push_back({command.refs[0], command.refs[1]});
  }
  if (copy) return;
  uint64_t pattern = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint64_t byte = command.fill_pattern >> (8 * (i % command.fill_pattern_size)) & 0xff;
    pattern |= byte << (8 * i);
  }
  vars_.push_back(static_cast<int64_t>(pattern));
}

void CommandList::add_param(const RecordedRef& ref) {
  if (ref.slot != 0)
    pointer_patches_.push_back({static_cast<uint32_t>(params_.size()), ref.slot - 1, ref.offset});
  params_.push_back(ref.data);
}

void CommandList::add_size(const RecordedRef& ref) {
  if (ref.slot != 0 && ref.size == 0) {
    const auto record = static_cast<uint32_t>(records_.size()) - 1;
    size_patches_.push_back(
        {record, static_cast<uint32_t>(vars_.size()), ref.slot - 1, ref.offset});
  }
  vars_.push_back(static_cast<int64_t>(ref.size));
}

void CommandList::check_copies(std::span<const Range> slots) const {
  for (const Copy& c : bound_copies_) check_sizes(c.to.bind(slots).size, c.from.bind(slots).size);
}

// Stores what differs from the last replay.
void CommandList::bind(std::span<const Range> slots, std::span<const int64_t> vars) {
  const auto same = [](const Range& a, const Range& b) {
    return a.data == b.data && a.size == b.size;
  };
  if (!bound_ || !std::equal(slots.begin(), slots.end(), bound_slots_.begin(), same)) {
    check_copies(slots);
    for (const PointerPatch& p : pointer_patches_) params_[p.param] = slots[p.slot].data + p.offset;
    for (const SizePatch& p : size_patches_) {
      const auto size = static_cast<int64_t>(slots[p.slot].size - p.offset);
      if (vars_[p.var] == size) continue;
      vars_[p.var] = size;
      records_[p.record].planned = false;
      scheduled_ = false;
    }
    std::copy(slots.begin(), slots.end(), bound_slots_.begin());
  }
  for (const VarPatch& p : var_patches_) {
    if (vars_[p.var] == vars[p.from]) continue;
    vars_[p.var] = vars[p.from];
    records_[p.record].planned = false;
    scheduled_ = false;
  }
  bound_ = true;
}

void CommandList::plan() {
  scratch_bytes_ = 0;
  for (Record& record : records_) {
    if (!record.planned) record.plan = plan_of(record.function, record.call);
    record.planned = true;
    scratch_bytes_ = std::max(scratch_bytes_, record.plan.scratch_bytes);
  }
  scratch_.reserve(scratch_bytes_);
}

// Levels follow each other, so the shared memory of one is free for the next.
void CommandList::schedule() {
  pieces_.clear();
  cuts_.clear();
  steps_.clear();
  parallel_us_ = 0;
  const auto count = static_cast<uint32_t>(records_.size());
  std::vector<uint64_t> offsets(count);
  uint64_t shared_bytes = 0;
  for (uint32_t first = 0, last = 0; first < count; first = last) {
    uint64_t end = 0;
    for (last = first; last < count && records_[last].level == records_[first].level; ++last) {
      offsets[last] = end;
      end += (records_[last].plan.shared_bytes + kAlign - 1) / kAlign * kAlign;
    }
    shared_bytes = std::max(shared_bytes, end);
    schedule_level(first, last);
  }
  shared_.reserve(shared_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    records_[i].call.shared =
        records_[i].plan.shared_bytes > 0 ? shared_.data() + offsets[i] : nullptr;
  }
}

void CommandList::schedule_level(uint32_t first, uint32_t last) {
  double us = 0;
  for (uint32_t i = first; i < last; ++i) {
    for (uint32_t p = 0; p < records_[i].plan.phase_count; ++p)
      us += engine_.cost.phase_us(records_[i].plan.phases[p]);
  }
  if (engine_.pool.threads() > 1 && decide(us) != Parallel::kNever) {
    for (uint32_t p = 0; p < OST_CPU_MAX_PHASES; ++p) schedule_phase(first, last, p);
    return;
  }
  for (uint32_t i = first; i < last; ++i) {
    const Record& record = records_[i];
    for (uint32_t p = 0; p < record.plan.phase_count; ++p) add_serial(record, p);
  }
}

// One phase of all commands of a level, cut into tasks for the pool: long phases into several,
// short ones together.
void CommandList::schedule_phase(uint32_t first, uint32_t last, uint32_t p) {
  const auto phase_of = [&](uint32_t i) -> const ost_cpu_phase_t* {
    const ost_cpu_plan_t& plan = records_[i].plan;
    return p < plan.phase_count && plan.phases[p].tasks > 0 ? &plan.phases[p] : nullptr;
  };
  double all_us = 0;
  for (uint32_t i = first; i < last; ++i)
    all_us += phase_of(i) ? engine_.cost.phase_us(*phase_of(i)) : 0;
  const Parallel parallel = decide(all_us);
  if (parallel == Parallel::kNever) {
    for (uint32_t i = first; i < last; ++i) {
      if (phase_of(i)) add_serial(records_[i], p);
    }
    return;
  }
  const double task_us = task_length(all_us, engine_.pool.threads());
  const auto first_cut = static_cast<uint32_t>(cuts_.size());
  double filled = task_us;
  for (uint32_t i = first; i < last; ++i) {
    const ost_cpu_phase_t* phase = phase_of(i);
    if (phase == nullptr) continue;
    const double us = engine_.cost.phase_us(*phase);
    const uint32_t count = piece_count(*phase, us, task_us);
    const auto begin = static_cast<uint32_t>(pieces_.size());
    append_pieces(pieces_, {records_[i].function, &records_[i].call, 0, phase->tasks, p}, count);
    for (uint32_t piece = 0; piece < count; ++piece) {
      if (filled >= task_us) {
        cuts_.push_back(begin + piece);
        filled = 0;
      }
      filled += us / count;
    }
  }
  cuts_.push_back(static_cast<uint32_t>(pieces_.size()));
  steps_.push_back({first_cut, static_cast<uint32_t>(cuts_.size()) - 1, parallel});
  parallel_us_ += all_us;
}

void CommandList::add_serial(const Record& record, uint32_t p) {
  const int64_t tasks = record.plan.phases[p].tasks;
  if (tasks == 0) return;
  const auto at = static_cast<uint32_t>(pieces_.size());
  pieces_.push_back({record.function, &record.call, 0, tasks, p});
  if (!steps_.empty() && steps_.back().parallel == Parallel::kNever) {
    ++steps_.back().last;
  } else {
    steps_.push_back({at, at + 1, Parallel::kNever});
  }
}

void CommandList::run_steps() {
  std::byte* scratch = scratch_bytes_ > 0 ? scratch_.data() : nullptr;
  for (const Step& step : steps_) {
    if (step.parallel == Parallel::kNever) {
      engine_.run_serial(pieces_.data() + step.first, pieces_.data() + step.last, scratch);
    } else if (engine_.worth_it(step.parallel)) {
      engine_.run_parallel(pieces_.data(), cuts_.data() + step.first, step.last - step.first,
                           scratch, scratch_bytes_);
    } else {
      engine_.run_serial(pieces_.data() + cuts_[step.first], pieces_.data() + cuts_[step.last],
                         scratch);
    }
  }
}

// One command after the other, so that each has a time of its own.
void CommandList::run_profiled(ost::plugin::Profile& profile) {
  for (uint32_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    const uint64_t start = ost::plugin::now_ns();
    launch_.run(engine_, record.function, record.call, record.plan);
    if (record.dispatch) profile.add(i, start, ost::plugin::now_ns());
  }
}

void CommandList::run(std::span<const Range> slots, std::span<const int64_t> vars,
                      ost::plugin::Profile* profile) {
  constexpr double kWorthWaking = 100;
  const std::scoped_lock lock(mutex_);
  const StrictFloat strict;
  bind(slots, vars);
  if (!scheduled_) {
    plan();
    schedule();
    scheduled_ = true;  // not before: either may fail, and the next replay must try again
  }
  if (profile != nullptr) return run_profiled(*profile);
  if (parallel_us_ >= kWorthWaking) engine_.pool.rouse();
  run_steps();
}

}  // namespace ost_cpu
