// The oracle, prepared once and run many times. interpret() of kernel.hpp is create() and run() in
// one.
#pragma once

#include <memory>

#include "core/kir/kernel.hpp"

namespace ost::kir {

class Interpreter {
 public:
  // The kernel must have passed verify(). It is copied.
  static Result<Interpreter> create(const Kernel& kernel);
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  // One execution; not by two threads at the same time. An access outside of a param, a param
  // smaller than its count and a variable outside of its bounds are errors; what was stored before
  // the error stays.
  Result<> run(std::span<const ParamData> params, std::span<const int64_t> vars);

 private:
  struct State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ost::kir
