// What the opaque handles of ostinato.h are. Shared parts are held by shared_ptr, so handles may
// end in any order.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/capi/values.hpp"
#include "core/ir/graph.hpp"
#include "core/manifest/manifest.hpp"
#include "core/runtime/compiler.hpp"
#include "core/runtime/instance.hpp"
#include "core/runtime/registry.hpp"
#include "core/schedule/schedule.hpp"

namespace ost::capi {

class FunctionCache;

struct ContextState {
  std::shared_ptr<runtime::DeviceRegistry> registry;
  std::shared_ptr<runtime::Compiler> compiler;
  std::vector<std::string> folders;  // that were searched for plugins
  std::shared_ptr<FunctionCache> functions;

  Result<runtime::DevicePtr> open(const char* device);
  Result<std::vector<runtime::DevicePtr>> open_all(const char* const* devices, uint32_t count,
                                                   uint32_t wanted);

 private:
  std::mutex mutex_;
  std::vector<runtime::DevicePtr>
      opened_;  // once opened, open as long as the context: texts point into them
};

// Where a graph's constant can be found again, relative to the place where the program will be
// saved.
struct Origin {
  std::string file;
  std::string tensor;
};

// A program and what its descriptions point to. Immutable.
struct ProgramState {
  manifest::Document document;
  std::string id, summary, counts;
  std::vector<TypeText> inputs, outputs, states;
  struct GroupText {
    std::string ops, tiles;
  };
  std::vector<GroupText> groups;

  static Result<std::shared_ptr<const ProgramState>> make(manifest::Document document);
};

std::shared_ptr<const Program> program_of(const std::shared_ptr<const ProgramState>& state);

Result<ScheduleOptions> to_schedule_options(const ost_compile_options_t& in);

}  // namespace ost::capi

struct ost_context_t {
  std::shared_ptr<ost::capi::ContextState> state;
};

struct ost_buffer_t {
  std::atomic<uint32_t> references{1};
  std::shared_ptr<ost::capi::ContextState> context;
  ost::runtime::BufferPtr buffer;
};

struct ost_graph_t {
  ost::ir::Graph graph;
  std::vector<ost::Var> vars;                                 // sorted by name
  std::map<std::string, ost::ir::NodeId, std::less<>> names;  // inputs, constants, states
  std::map<const ost::Literal*, ost::capi::Origin> origins;
  std::map<ost::ir::NodeId, ost::capi::TypeText> types;  // that were asked for
};

struct ost_program_t {
  std::atomic<uint32_t> references{1};
  std::shared_ptr<const ost::capi::ProgramState> state;
};

struct ost_instance_t {
  std::shared_ptr<ost::capi::ContextState> context;
  std::shared_ptr<const ost::capi::ProgramState> program;
  std::unique_ptr<ost::runtime::Instance> instance;
  bool bound = false;
  std::vector<int64_t> vars;
  std::vector<ost::runtime::BufferRef> inputs, outputs;          // of this bind
  std::vector<ost::runtime::BufferPtr> own_inputs, own_outputs;  // kept for the next bind
  std::vector<ost::capi::TypeText> output_types;
};
