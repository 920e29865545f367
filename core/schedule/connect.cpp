#include <algorithm>
#include <set>

#include "core/schedule/assemble.hpp"
#include "core/schedule/memory_plan.hpp"

namespace ost {

namespace {

void add_edge(Step& step, uint32_t before) {
  auto at = std::lower_bound(step.after.begin(), step.after.end(), before);
  if (at == step.after.end() || *at != before) step.after.insert(at, before);
}

struct LastUse {
  uint32_t writer = kNoIndex;
  std::vector<uint32_t> readers;  // since that write
};

// First and last step that touch each buffer.
struct Span {
  uint32_t first = kNoIndex, last = 0;
  std::vector<uint32_t> users;
};

std::vector<Span> spans_of(const Program& p) {
  std::vector<Span> spans(p.buffers.size());
  for (uint32_t s = 0; s < p.steps.size(); ++s) {
    for (uint32_t b : p.steps[s].args) {
      if (spans[b].first == kNoIndex) spans[b].first = s;
      spans[b].last = s;
      if (spans[b].users.empty() || spans[b].users.back() != s) spans[b].users.push_back(s);
    }
  }
  return spans;
}

}  // namespace

void connect_steps(Program& p, const std::vector<std::vector<uint32_t>>& access) {
  for (Step& step : p.steps) step.after.clear();
  std::vector<LastUse> state(p.buffers.size());
  for (uint32_t s = 0; s < p.steps.size(); ++s) {
    Step& step = p.steps[s];
    for (size_t i = 0; i < step.args.size(); ++i) {
      LastUse& use = state[step.args[i]];
      if (use.writer != kNoIndex) add_edge(step, use.writer);
      if (access[s][i] & OST_KIR_WRITE) {
        for (uint32_t r : use.readers) add_edge(step, r);
      }
    }
    for (size_t i = 0; i < step.args.size(); ++i) {
      LastUse& use = state[step.args[i]];
      if (access[s][i] & OST_KIR_WRITE) {
        use.writer = s;
        use.readers.clear();
      } else {
        use.readers.push_back(s);
      }
    }
  }
  set_levels(p);
}

Result<> check_sizes(const Program& p) {
  for (const BufferDesc& buffer : p.buffers) {
    const Sym bytes = buffer.elements * Sym(size_of(buffer.dtype));
    if (buffer.kind == BufferKind::temp && (!bytes.is_valid() || bytes.upper() == INT64_MAX))
      return fail(OST_INVALID_ARGUMENT,
                  "an intermediate of {} elements is too large for any memory; bound its variables",
                  buffer.elements.str());
  }
  return {};
}

void place_temps(Program& p, const ScheduleOptions& options) {
  const std::vector<Span> spans = spans_of(p);
  for (uint32_t device = 0; device < p.device_count; ++device) {
    std::vector<uint32_t> temps;
    std::vector<Lifetime> lifetimes;
    for (uint32_t b = 0; b < p.buffers.size(); ++b) {
      const BufferDesc& buffer = p.buffers[b];
      if (buffer.kind != BufferKind::temp || buffer.device != device || spans[b].first == kNoIndex)
        continue;
      const Sym bytes = buffer.elements * Sym(size_of(buffer.dtype));
      temps.push_back(b);
      lifetimes.push_back({static_cast<uint64_t>(std::max<int64_t>(bytes.upper(), 0)),
                           spans[b].first, spans[b].last});
    }
    if (temps.empty()) continue;
    const MemoryPlan plan = plan_memory(lifetimes, options.arena_alignment);
    const auto arena = static_cast<uint32_t>(p.arenas.size());
    p.arenas.push_back({device, plan.bytes});
    for (size_t i = 0; i < temps.size(); ++i) {
      p.buffers[temps[i]].arena = arena;
      p.buffers[temps[i]].offset = plan.offsets[i];
    }
    for (const auto& [earlier, later] : plan.reuses) {
      Step& writer = p.steps[lifetimes[later].first];
      for (uint32_t user : spans[temps[earlier]].users) add_edge(writer, user);
    }
  }
  set_levels(p);
}

void set_levels(Program& p) {
  for (Step& step : p.steps) {
    step.level = 0;
    for (uint32_t before : step.after) step.level = std::max(step.level, p.steps[before].level + 1);
  }
}

}  // namespace ost
