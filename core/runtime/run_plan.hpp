// The steps of a Program as work for devices: segments of commands that one device runs without the
// host, and transfers between devices, in an order that keeps all edges. A pure function of the
// program.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/program.hpp"

namespace ost::runtime {

struct Segment {
  uint32_t device = 0;          // logical
  std::vector<uint32_t> steps;  // sorted by level: independent ones are neighbours
};

struct Action {
  enum class Kind : uint8_t { submit, transfer };
  Kind kind = Kind::submit;
  uint32_t index = 0;  // submit: segment; transfer: step, whose buffers are on two devices
};

struct RunPlan {
  std::vector<Segment> segments;
  std::vector<Action> actions;
};

RunPlan plan_run(const Program& program);

}  // namespace ost::runtime
