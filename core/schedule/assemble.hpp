// The second half of scheduling: lowered kernels in order, buffers, edges, arenas.
#pragma once

#include "core/ir/graph.hpp"
#include "core/schedule/fuse.hpp"
#include "core/schedule/program.hpp"
#include "core/schedule/schedule.hpp"

namespace ost {

// Device of each node, from its operands; `full`, `iota` and `size` are everywhere (kNoIndex).
// Operands on two devices are an error that names both.
Result<std::vector<uint32_t>> devices_of(const ir::Graph& graph);

// Positions of plan.kernels in an order that keeps data flow and the versions of assigned buffers.
// If a kernel needs an old version after it was overwritten, `snapshot` is set to the node that
// must be copied first, and the order is empty.
std::vector<uint32_t> order_kernels(const ir::Graph& graph, const FusePlan& plan,
                                    ir::NodeId& snapshot);

// A name for people: "contract_add_relu".
std::string kernel_name(const ir::Graph& graph, const KernelPlan& kernel);

// The description of a kernel, without its number and step.
Group group_of(const ir::Graph& graph, const KernelPlan& kernel);

// Sets edges and levels of all steps from what they read and write (`access` per step and argument:
// OST_KIR_READ|WRITE).
void connect_steps(Program& program, const std::vector<std::vector<uint32_t>>& access);

// Every temp has a size that a memory can have.
Result<> check_sizes(const Program& program);

// Gives each temp a place in an arena of its device and adds the edges that reuse needs.
void place_temps(Program& program, const ScheduleOptions& options);

// Recomputes Step::level from the edges.
void set_levels(Program& program);

}  // namespace ost
