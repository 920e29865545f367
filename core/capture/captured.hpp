// One captured program with what it is bound to: replay checks a call against the signature, finds
// storage for the outputs and runs. No graph, no schedule, no compiler.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/capture/signature.hpp"

namespace ost::capture {

enum class OutputMode : uint8_t {
  reuse,  // storage belongs to the program; a tensor of an earlier call is stale once it is overwritten, reading it fails
  fresh,  // new storage for each call
  donate,  // the storage of donated inputs serves the outputs of later calls; those inputs have no value any more
};

class Captured {
 public:
  // What the trace found; the rest follows from it.
  struct Parts {
    Signature signature;
    std::shared_ptr<const Program> program;
    std::vector<TensorPtr> states;  // closed-over tensors, by program state
    size_t returned = 0;  // outputs of the function; the rest are tensors that outlived the capture
    std::vector<TensorPtr> kept;  // those, by output - returned
    std::unique_ptr<runtime::Instance> instance;
  };
  Captured(Session& session, Parts parts, OutputMode mode, std::vector<uint32_t> donated);

  const Signature& signature() const { return parts_.signature; }
  const std::shared_ptr<const Program>& program() const { return parts_.program; }
  const runtime::Instance& instance() const { return *parts_.instance; }
  // The program with the closed-over tensors' present contents as initial values of its states.
  Result<Program> snapshot() const;

  // Everything that can be refused is refused before any launch.
  Result<> check(const Arguments& call) const;
  Result<std::vector<TensorPtr>> replay(const Arguments& call);
  // Arenas and output storage that nobody else holds; the next replay makes them anew.
  uint64_t free_intermediates();

 private:
  struct OutputSet {
    std::vector<runtime::BufferRef> storage;
    std::shared_ptr<Generation> generation = std::make_shared<Generation>();
  };

  Result<> check_states() const;
  Result<> check_aliasing(const Arguments& call) const;
  Result<> check_sizes(const Arguments& call) const;
  std::vector<int64_t> values_of(const Arguments& call) const;
  bool is_donated(size_t input) const;
  Result<std::vector<runtime::BufferRef>> bind_inputs(const Arguments& call);
  Result<OutputSet*> outputs_for(const Arguments& call, std::span<const int64_t> vars);
  Result<OutputSet> allocate(std::span<const int64_t> vars, bool at_maximum);
  Result<runtime::BufferRef> take(uint32_t device, uint64_t bytes);
  Result<> settle_kept(OutputSet& set, std::span<const runtime::BufferRef> out,
                       std::span<const runtime::BufferRef> in);
  void consume(const Arguments& call);

  Session& session_;
  Parts parts_;
  const OutputMode mode_;
  const std::vector<uint32_t> donated_;  // none: all
  std::vector<bool> state_written_;
  std::vector<std::unique_ptr<OutputSet>> sets_;
  OutputSet once_;                           // of this call, where outputs are not reused
  std::vector<runtime::BufferPtr> pool_;     // donated memory that no output has taken yet
  std::vector<runtime::BufferRef> scratch_;  // by input: a copy where the tensor is also an output
};

// True for each state that some step writes.
std::vector<bool> written_states(const Program& program);

}  // namespace ost::capture
