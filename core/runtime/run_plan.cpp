#include "core/runtime/run_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ost::runtime {
namespace {

bool is_transfer(const Program& p, const Step& s) {
  return s.kind == StepKind::copy && p.buffers[s.args[0]].device != p.buffers[s.args[1]].device;
}

}  // namespace

// Levels are longest paths over the edges, so an order by level keeps every edge. A transfer is
// blocking for the host: it closes the segments of both of its devices, and what follows it is
// submitted after it. Segments of other devices stay open: they have no edge to this transfer's
// buffers, since a buffer is on one device. Known waste: a segment of the source that is
// independent of the transfer is closed too.
RunPlan plan_run(const Program& program) {
  std::vector<uint32_t> order(program.steps.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return program.steps[i].level; });

  RunPlan out;
  std::vector<Segment> open(program.device_count);
  const auto close = [&](uint32_t device) {
    if (open[device].steps.empty()) return;
    out.actions.push_back({Action::Kind::submit, static_cast<uint32_t>(out.segments.size())});
    out.segments.push_back(std::exchange(open[device], {}));
  };
  for (const uint32_t i : order) {
    const Step& step = program.steps[i];
    if (is_transfer(program, step)) {
      close(program.buffers[step.args[1]].device);
      close(program.buffers[step.args[0]].device);
      out.actions.push_back({Action::Kind::transfer, i});
      continue;
    }
    const uint32_t device =
        step.kind == StepKind::copy ? program.buffers[step.args[0]].device : step.device;
    open[device].device = device;
    open[device].steps.push_back(i);
  }
  for (uint32_t d = 0; d < program.device_count; ++d) close(d);
  return out;
}

}  // namespace ost::runtime
