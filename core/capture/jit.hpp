// Capture and replay of a function of tensors (design §6): call 1 runs eagerly, call 2 captures one
// program of all that the function computes, later calls run that program and never the function.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/capture/captured.hpp"
#include "core/capture/session.hpp"

namespace ost::capture {

using JitResult = Result<std::vector<TensorPtr>>;
using JitFunction = std::function<JitResult(std::span<const TensorPtr>)>;
using JitBody = std::function<JitResult(std::span<const TensorPtr>, std::span<const JitScalar>)>;

struct JitOptions {
  OutputMode outputs = OutputMode::reuse;
  bool enabled = true;  // false: every call is eager
  bool prune = true;    // kernels that read nothing that can change run once, at capture
  uint32_t programs =
      1;  // how many signatures may have a program; 1: another signature is an error
  std::vector<std::string> parameters = {};  // names of the inputs, by position
  std::vector<uint32_t> donated = {};        // positions, for OutputMode::donate; none: all
};

class Jit {
 public:
  Jit(Session& session, JitBody body, JitOptions options = {});
  // A function of the inputs alone.
  Jit(Session& session, JitFunction function, JitOptions options = {});
  ~Jit();

  // Errors of the contract are OST_JIT_ERROR and name what differs; none leaves a half-captured
  // state. Within another jit's function, the function becomes a part of that one.
  JitResult call(const JitCall& call);
  JitResult call(std::span<const TensorPtr> inputs, std::span<const JitVar> vars = {}) {
    return call(JitCall{inputs, {}, {}, vars});
  }
  bool captured() const { return !programs_.empty(); }
  void reset();
  uint64_t calls() const { return calls_; }
  uint64_t free_intermediates();

  // Of the program that was captured or replayed last; null before capture.
  const Captured* last() const { return programs_.empty() ? nullptr : programs_.front().get(); }
  std::shared_ptr<const Program> program() const { return last() ? last()->program() : nullptr; }
  const runtime::RunStats* last_run() const {
    return last() ? &last()->instance().last_run() : nullptr;
  }

 private:
  Result<> bind_vars(std::span<const JitVar> vars);
  Result<> prepare(const Arguments& call);
  JitResult run_eagerly(const Arguments& call);
  Result<Captured*> program_for(const Arguments& call);
  Result<> check_donated(const Arguments& call) const;
  Result<> give_away(const Arguments& call) const;

  // trace.cpp
  struct Traced {
    std::vector<ir::NodeId> returned;
    std::vector<TensorPtr> kept;
  };
  Result<std::unique_ptr<Captured>> capture(const Arguments& call);
  Result<std::unique_ptr<Captured>> trace(const Arguments& call, std::vector<TensorPtr>& stand_ins);
  Result<std::unique_ptr<Captured>> compile(const Arguments& call, Traced traced);
  Result<Program> build_program(const Arguments& call, Traced& traced);
  Result<Program> prune(Program program);

  Session& session_;
  const JitBody body_;
  const JitOptions options_;
  uint64_t calls_ = 0;
  std::vector<std::unique_ptr<Captured>> programs_;  // used last first
};

}  // namespace ost::capture
