// What an Instance holds, shared by the files that make it and run it.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/instance.hpp"
#include "core/runtime/run_plan.hpp"
#include "core/runtime/var_expr.hpp"

namespace ost::runtime {

// Sizes that depend on variables, ready to evaluate.
struct ShapeExpr {
  std::vector<VarExpr> dims;
  VarExpr elements;
  uint32_t element_bytes = 0;
};
struct GuardExpr {
  VarExpr low, high;
};

// A segment with its commands. With a command list, `call` is the one command that replays it and
// `slots` its binding table; without, `commands` are submitted as they are and `patches` says where
// bound refs go.
struct PreparedSegment {
  uint32_t device = 0;
  std::vector<uint32_t> steps;         // by command
  std::vector<uint32_t> slot_buffers;  // program buffer that is bound to each slot
  std::vector<ost_ref_t> slots;
  std::vector<std::vector<ost_ref_t>> refs;  // by command; the commands point into these
  std::vector<std::vector<uint32_t>> var_maps;
  std::vector<std::vector<int64_t>> vars;  // without a command list
  std::vector<ost_command_t> commands;
  std::unique_ptr<CommandList> list;
  ost_command_t call{};
  struct Patch {
    size_t command, ref, slot;
  };
  std::vector<Patch> patches;
  struct GridPatch {
    size_t command, var;
  };
  std::vector<GridPatch> grid_patches;  // without a command list
};

// The grid of a launch that depends on variables: evaluated in each run, into `vars` behind those of
// the program.
struct SymbolicGrid {
  uint32_t step = 0;
  codegen::Launch launch;
  std::vector<int64_t> slots;  // of the kernel's variables
  size_t first = 0;            // in InstanceState::vars, three values
};

struct DeviceState {
  DevicePtr device;
  std::unique_ptr<Queue> queue;
  std::shared_ptr<Timeline> timeline;
  uint64_t value = 0;  // that the timeline will reach with what was submitted
  BufferPtr empty;     // bound where an argument has no elements and no buffer
};

struct InstanceState {
  std::shared_ptr<const Program> program;
  std::vector<DeviceState> devices;
  std::vector<DevicePtr> device_ptrs;
  BuildStats build;

  std::vector<CompiledKernel> kernels;  // by position in kernel_of
  std::vector<std::vector<uint32_t>>
      kernel_of;  // [kernel][device] -> kernels, kNoIndex if not used there
  std::vector<BufferPtr> arenas;
  std::vector<BufferRef> states;
  std::vector<BufferRef>
      fixed;  // by program buffer: where it is, unless it is an input or an output

  std::vector<ShapeExpr> inputs, outputs;
  std::vector<VarExpr> elements;    // by program buffer
  std::vector<uint32_t> arguments;  // program buffers that are bound in each run
  std::vector<uint32_t> symbolic;   // others, whose size depends on variables
  std::vector<GuardExpr> guards;
  std::vector<SymbolicGrid> grids;
  std::vector<PreparedSegment> segments;
  std::vector<Action> actions;

  std::vector<BufferRef> bound;  // by program buffer, for the current run
  std::vector<uint8_t>
      staging;                // for transfers between two devices of which neither is host visible
  std::vector<int64_t> vars;  // of the program, then the symbolic grids
  RunStats last;
  bool profiling = false;
  std::vector<KernelTime> times;
  std::vector<ost_profile_record_t> records;
};

// instance.cpp: memory for the arenas, and where it is for each temp.
Result<> make_arenas(InstanceState& s);

// instance_build.cpp: commands of the segments, from the plan and the kernels that were loaded.
Result<> build_segments(InstanceState& s);

// instance_run.cpp
Result<uint64_t> checked_bytes(const VarExpr& elements, uint32_t element_bytes,
                               std::span<const int64_t> vars);

}  // namespace ost::runtime
