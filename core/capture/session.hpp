// A session: the lazy graph of an eager program, and the devices that its tensors live on.
//
// Operations append nodes; `realize` schedules what the wanted tensors need and runs it. While a
// function is captured, nothing runs: realize only marks tensors, and one program is made of
// everything at the end (core/capture/jit.hpp). Threads: one at a time (the C ABI holds a lock); a
// callback of a jit is on the thread that called it. So what another thread does waits for the end
// of a capture and is never recorded into it.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/capture/tensor.hpp"
#include "core/runtime/compiler.hpp"
#include "core/runtime/instance.hpp"
#include "core/runtime/registry.hpp"
#include "core/schedule/schedule.hpp"

namespace ost::capture {

// Adds nodes for one operation and returns its result.
using Build = std::function<Result<ir::NodeId>(ir::Graph&, std::span<const ir::NodeId>)>;

struct SessionStats {
  uint64_t graph_nodes = 0;  // appended since the session was made
  uint64_t schedules = 0;    // graphs turned into programs
  uint64_t eager_runs = 0;
};

class Session {
 public:
  Session(std::shared_ptr<runtime::DeviceRegistry> registry,
          std::shared_ptr<runtime::Compiler> compiler, ScheduleOptions options = {});
  ~Session();

  // Index of a device, opened on first use: "cpu:0", "auto".
  Result<uint32_t> device(std::string_view id);
  const runtime::DevicePtr& device_at(uint32_t index) const { return devices_[index]; }
  runtime::Compiler& compiler() { return *compiler_; }
  const ScheduleOptions& options() const { return options_; }

  // Declares a variable, or changes its value; shapes may then use Sym::var of it. One name has one
  // pair of bounds. Lazy tensors are realized first, at the values that they were made for.
  Result<Sym> bind(const Var& var, int64_t value);
  const Bindings& bindings() const { return bindings_; }

  // Copies row-major host data; the shape's variables must be bound.
  Result<TensorPtr> from_data(DType dtype, Shape shape, uint32_t device,
                              std::span<const uint8_t> data);
  // Storage that exists already.
  Result<TensorPtr> from_storage(DType dtype, Shape shape, uint32_t device,
                                 runtime::BufferRef storage);

  // Lazy. No inputs: `device` says where it lives.
  Result<TensorPtr> apply(std::span<const TensorPtr> inputs, const Build& build,
                          uint32_t device = 0);

  // In-place: writes `value` into `target` from `starts` on (missing: the whole of it). Runs at
  // once, together with all lazy tensors that read the old contents; while capturing it becomes a
  // part of the program. A tensor that was made inside the captured function has no storage: it
  // gets the new value as its own, each time anew.
  Result<> assign(const TensorPtr& target, const TensorPtr& value, std::vector<Sym> starts = {});

  Result<> realize(std::span<const TensorPtr> tensors);
  // A promise that the storage is never written again, which a capture may use (prune.hpp). Assigns
  // are refused from here on.
  Result<> freeze(const TensorPtr& tensor);

  // Random numbers from counters in device memory (random.cpp), one stream for each device.
  enum class Random : uint8_t { bits, uniform, normal };
  Result<TensorPtr> random(Random kind, Shape shape, uint32_t device);
  Result<> seed(uint64_t seed);

  // Runs `body` outside of the capture that is going on: its work happens now, once, and is not a
  // part of the program. Values of the captured function cannot be used in it.
  Result<> uncaptured(const std::function<Result<>()>& body);

  // Realizes; where the value is, or a copy of it on the host. Nothing can be read while a function is captured, except
  // outside of it (uncaptured): the program would hold what was read for ever.
  Result<runtime::BufferRef> storage_of(const TensorPtr& tensor);
  Result<> read(const TensorPtr& tensor, std::span<uint8_t> out);
  // Concrete shape and bytes at the bound variables.
  Result<std::vector<int64_t>> shape_of(const Tensor& tensor) const;
  Result<uint64_t> bytes_of(const Tensor& tensor) const;

  bool capturing() const { return capture_ != nullptr; }
  const SessionStats& stats() const { return stats_; }

 private:
  friend class Jit;
  friend class Captured;
  struct CaptureState {
    uint64_t first_id = 0;                   // tensors from here on were made inside
    std::vector<TensorPtr> closed_over;      // by state input, in order of first use
    std::map<uint64_t, ir::NodeId> version;  // by tensor id: its newest assign
    std::map<uint32_t, Sym> drawn;           // by device: random counters used so far
  };
  // The graph of a capture that is interrupted.
  struct Suspended {
    std::unique_ptr<CaptureState> capture;
    ir::Graph graph;
    uint64_t graph_id = 0;
    std::vector<TensorPtr> bound;
    std::map<uint64_t, ir::NodeId> input_of;
  };

  TensorPtr make(DType dtype, Shape shape, uint32_t device);
  Result<> store(const TensorPtr& tensor, runtime::BufferRef storage);
  Result<TensorPtr> upload(DType dtype, Shape shape, uint32_t device,
                           std::span<const uint8_t> data);
  Result<TensorPtr> constant_of(DType dtype, Shape shape, uint32_t device,
                                std::span<const uint8_t> data);
  TensorPtr make_lazy(ir::NodeId node, uint32_t device);
  Result<ir::NodeId> node_of(const TensorPtr& tensor);
  Result<ir::NodeId> input_for(const TensorPtr& tensor, ir::InputKind kind, std::string name);
  std::vector<TensorPtr> live_lazy(uint64_t from_id = 0);
  Result<> run_eagerly(std::span<const TensorPtr> lazy, std::span<const ir::NodeId> effects);
  Result<std::shared_ptr<runtime::Instance>> instance_for(ir::Graph graph);
  Result<ir::NodeId> own_value(ir::NodeId node);
  Result<ir::NodeId> copy_of(ir::NodeId node, uint32_t device);
  void start_graph();  // forgets the lazy graph; no lazy tensor may be alive
  void compact();
  Result<> assign_eagerly(const TensorPtr& target, const TensorPtr& value, std::vector<Sym> starts);
  Result<> assign_functionally(const TensorPtr& target, const TensorPtr& value,
                               std::vector<Sym> starts);
  Result<ir::NodeId> assign_node(const TensorPtr& target, const TensorPtr& value,
                                 std::vector<Sym> starts);
  Result<> check_guarded(const TensorPtr& target) const;
  Result<> realize_aliases(const TensorPtr& target);
  bool depends_on_input(ir::NodeId node, ir::NodeId input) const;
  Result<TensorPtr> counters(uint32_t device);
  Result<> advance_counters(uint32_t device, const Sym& drawn);

  std::shared_ptr<runtime::DeviceRegistry> registry_;
  std::shared_ptr<runtime::Compiler> compiler_;
  const ScheduleOptions options_;
  std::vector<runtime::DevicePtr> devices_;
  std::map<std::string, uint32_t, std::less<>> device_index_;
  std::map<std::string, Var, std::less<>> vars_;
  Bindings bindings_;
  uint64_t next_id_ = 1;
  uint64_t graph_id_ = 1, next_graph_id_ = 2;
  std::map<uint64_t, std::weak_ptr<Tensor>> tensors_;  // lazy ones, by id
  ir::Graph graph_;
  std::vector<TensorPtr> bound_;             // by graph input: the tensor whose storage it is
  std::map<uint64_t, ir::NodeId> input_of_;  // tensor id -> input node
  std::list<std::pair<std::string, std::shared_ptr<runtime::Instance>>>
      instances_;  // most recent first
  std::unique_ptr<CaptureState> capture_;
  uint32_t inside_jit_ = 0;                 // depth of eager calls of jits
  std::span<const TensorPtr> guarded_;      // inputs of the outermost of them
  std::map<uint32_t, TensorPtr> counters_;  // by device: u64[2], key and next counter
  std::vector<uint32_t> streams_;           // devices in the order in which they first drew
  uint64_t seed_ = 0;
  SessionStats stats_;
};

bool overlap(const runtime::BufferRef& a, const runtime::BufferRef& b);  // by byte range

// The nodes that `roots` need, as a graph of its own; inputs keep their order, unused ones are
// dropped. `inputs` gets the old index of each new input, `map` the new id of each kept node.
Result<ir::Graph> extract(const ir::Graph& graph, std::span<const ir::NodeId> roots,
                          std::vector<uint32_t>& inputs, std::vector<ir::NodeId>& map);

}  // namespace ost::capture
