// Capture and replay of a function of tensors (design §6): call 1 runs eagerly, call 2 captures one
// program of all that the function computes, later calls run that program and never the function.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/capture/session.hpp"

namespace ost::capture {

using JitFunction = std::function<Result<std::vector<TensorPtr>>(std::span<const TensorPtr>)>;

enum class OutputMode : uint8_t {
  reuse,  // storage belongs to the program; a tensor of an earlier call is stale once it is
          // overwritten, reading it fails
  fresh,  // new storage for each call
};

struct JitOptions {
  OutputMode outputs = OutputMode::reuse;
  bool enabled = true;  // false: every call is eager
};

// A variable and its value for one call.
struct JitVar {
  Var var;
  int64_t value = 0;
};

class Jit {
 public:
  Jit(Session& session, JitFunction function, JitOptions options = {});
  ~Jit();

  // Errors of the contract are OST_JIT_ERROR and name what differs; none leaves a half-captured
  // state.
  Result<std::vector<TensorPtr>> call(std::span<const TensorPtr> inputs,
                                      std::span<const JitVar> vars = {});
  bool captured() const { return instance_ != nullptr; }
  void reset();
  uint64_t calls() const { return calls_; }

  // Null before capture.
  const std::shared_ptr<const Program>& program() const { return program_; }
  const runtime::RunStats* last_run() const { return instance_ ? &instance_->last_run() : nullptr; }

 private:
  struct SignatureInput {
    DType dtype;
    Shape shape;
    uint32_t device;
  };
  struct OutputSet {
    std::vector<runtime::BufferRef> storage;
    std::shared_ptr<Generation> generation = std::make_shared<Generation>();
  };

  Result<> bind_vars(std::span<const JitVar> vars);
  Result<> prepare_inputs(std::span<const TensorPtr> inputs);
  Result<std::vector<TensorPtr>> run_eagerly(std::span<const TensorPtr> inputs);
  Result<> capture(std::span<const TensorPtr> inputs, std::span<const JitVar> vars);
  Result<> trace(std::span<const TensorPtr> inputs, std::vector<TensorPtr>& arguments);
  Result<> compile(std::span<const ir::NodeId> returned, std::vector<TensorPtr> kept);
  Result<std::vector<TensorPtr>> replay(std::span<const TensorPtr> inputs,
                                        std::span<const JitVar> vars);
  Result<> check_signature(std::span<const TensorPtr> inputs, std::span<const JitVar> vars) const;
  Result<> check_aliasing(std::span<const TensorPtr> inputs) const;
  Result<OutputSet*> outputs_for(std::span<const TensorPtr> inputs, std::span<const int64_t> vars);
  Result<OutputSet> allocate(std::span<const int64_t> vars, bool at_maximum) const;

  Session& session_;
  const JitFunction function_;
  const JitOptions options_;
  uint64_t calls_ = 0;
  std::vector<SignatureInput> signature_;
  std::vector<Var> signature_vars_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<runtime::Instance> instance_;
  std::vector<TensorPtr> states_;  // closed-over tensors, by program state
  std::vector<bool> state_written_;
  size_t returned_ = 0;  // outputs of the function; the rest are tensors that outlived the capture
  std::vector<TensorPtr> kept_;  // those, by output - returned_
  std::vector<std::unique_ptr<OutputSet>> sets_;
};

}  // namespace ost::capture
