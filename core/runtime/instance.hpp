// A Program on real devices: kernels loaded, arenas allocated, command lists recorded. Running it
// binds the arguments and submits; it allocates nothing, compiles nothing and builds nothing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/runtime/compiler.hpp"
#include "core/schedule/program.hpp"

namespace ost::runtime {

struct InstanceOptions {
  bool trust_images = false;
  bool require_exact = false;    // refuse a strict program on a device that failed its self-test
  unsigned compile_threads = 0;  // 0: as many as cores
  std::vector<BufferRef>
      states;  // storage for Program::states; where .buffer is null it is allocated and set
};

struct KernelTime {
  uint32_t step = 0;
  uint32_t kernel = 0;
  uint64_t ns = 0;
};

// Of the last run.
struct RunStats {
  uint64_t launches = 0;
  uint64_t copies = 0;
  uint64_t copied_bytes = 0;
  uint64_t allocations = 0;  // of device memory while it ran, on the devices of this instance;
                             // not 0 only after free_intermediates
  uint64_t compiles = 0;     // always 0: a run has no compiler
  uint64_t wall_ns = 0;
};

// What making the instance took.
struct BuildStats {
  uint64_t compiles = 0;
  uint64_t cache_hits = 0;
  uint64_t images_used = 0;
  uint64_t arena_bytes = 0;
  uint64_t constant_bytes = 0;
  uint64_t state_bytes = 0;
};

struct InstanceState;

class Instance {
 public:
  // `devices[i]` is logical device i of the program; more are ignored. The program has been
  // verified.
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<const Program> program,
                                                  std::vector<DevicePtr> devices,
                                                  Compiler& compiler,
                                                  const InstanceOptions& options = {});
  ~Instance();

  const Program& program() const;
  std::span<const DevicePtr> devices() const;
  const BuildStats& build_stats() const;

  // Concrete shape and bytes for these variables (in the order of Program::vars).
  Result<std::vector<int64_t>> output_shape(uint32_t output, std::span<const int64_t> vars) const;
  Result<uint64_t> output_bytes(uint32_t output, std::span<const int64_t> vars) const;
  Result<std::vector<int64_t>> input_shape(uint32_t input, std::span<const int64_t> vars) const;
  Result<uint64_t> input_bytes(uint32_t input, std::span<const int64_t> vars) const;
  // True if a run writes into the buffer that is bound for this output (or, where two outputs are
  // one value, into that of the first). Otherwise the output *is* an input, a state or a constant,
  // which output_alias gives, and nothing is bound.
  bool output_is_written(uint32_t output) const;
  BufferRef output_alias(uint32_t output, std::span<const BufferRef> inputs) const;
  BufferRef state(uint32_t index) const;

  // Checks variables, guards and arguments, then runs and waits. One thread at a time. Outputs that
  // are not written may be empty refs. On failure the contents of outputs and written inputs are
  // undefined; the instance stays usable unless the device is lost.
  Result<> run(std::span<const BufferRef> inputs, std::span<const BufferRef> outputs,
               std::span<const int64_t> vars);

  // Frees the arenas (bytes that were freed; 0 if they are already). The next run makes them anew.
  // States, constants and what was bound stay.
  uint64_t free_intermediates();

  const RunStats& last_run() const;
  // Times of each launch of the runs from now on; OST_UNIMPLEMENTED if no device of the program
  // can.
  Result<> profile(bool on);
  std::span<const KernelTime> last_times() const;  // by step

 private:
  explicit Instance(std::unique_ptr<InstanceState> state);
  std::unique_ptr<InstanceState> state_;
};

}  // namespace ost::runtime
