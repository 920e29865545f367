// A program on one device, bound to memory by address: what torch's tensors are called with. Where
// the device shares the host's memory nothing is copied. One thread at a time but for
// call_fixed, and without the interpreter's lock.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "convert.hpp"

namespace ostinato::python {

class Runner {
 public:
  using Vars = std::vector<std::pair<std::string, int64_t>>;
  using Shapes = std::vector<std::vector<int64_t>>;

  // `copied`: outputs that the program does not write, because they are an input, a constant or
  // another output as it is.
  Runner(const Context& context, const Program& program, const std::string& device,
         const std::vector<uint32_t>& copied);

  // Shapes of the inputs whose sizes are not all numbers, by position (empty for the others), and
  // the variables that no shape gives.
  void bind(std::span<const uintptr_t> pointers, const Shapes& shapes, const Vars& vars);
  Shapes output_shapes();
  // Runs what is bound; the results go to memory of the caller's, of the sizes of output_shapes().
  void run(std::span<const uintptr_t> pointers);
  // Both at once, for any number of threads: a program of fixed sizes.
  void call_fixed(std::span<const uintptr_t> inputs, std::span<const uintptr_t> outputs);

  const std::string& device() const { return device_; }
  ost_run_stats_t stats() const { return instance_.stats(); }

 private:
  struct Slot {
    Type type;
    std::vector<int64_t> shape;  // of this call
    std::shared_ptr<Buffer> buffer;
    uintptr_t pointer = 0;
    bool copied = false;  // an output that the program does not write
  };

  static Slot slot(const Type& type);
  static uint64_t bytes_of(const Slot& s);
  bool place(size_t i, uintptr_t pointer, const Shapes& shapes);
  void rebind();
  void give(size_t i, uintptr_t pointer);
  std::shared_ptr<Buffer> share(uintptr_t pointer, uint64_t bytes);

  const Context& context_;  // kept alive by Python
  Program program_;
  Instance instance_;
  std::string device_;
  std::vector<Slot> inputs_, outputs_;
  std::vector<uintptr_t> given_;  // to the outputs in this call
  Vars vars_;
  std::mutex mutex_;  // of call_fixed
  bool bound_ = false, sizes_known_ = false, can_share_ = true;
};

}  // namespace ostinato::python
