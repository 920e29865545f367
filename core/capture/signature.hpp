// What a call must have in common with the capture: inputs, scalars, variables. Inputs are told
// apart by position; names only put them there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/capture/session.hpp"

namespace ost::capture {

// A variable and its value for one call.
struct JitVar {
  Var var;
  int64_t value = 0;
};

// A host scalar. A capture freezes it, so its bits are part of the signature.
struct JitScalar {
  std::string name;
  DType dtype = DType::f32;
  uint64_t bits = 0;
  bool operator==(const JitScalar&) const = default;
};

struct JitCall {
  std::span<const TensorPtr> inputs;
  std::span<const std::string> names;  // none, or one an input; "": by position
  std::span<const JitScalar> scalars;
  std::span<const JitVar> vars;
};

// A call in the order in which the function sees it.
struct Arguments {
  std::vector<TensorPtr> inputs;
  std::vector<std::string> names;  // one an input; "" where it came by position
  std::vector<JitScalar> scalars;  // by name
  std::vector<JitVar> vars;
};

// With `parameters`, a named input goes to its parameter's position; without, named inputs follow
// the others in the order of their names. So the order in which a caller names them does not matter.
Result<Arguments> normalise(const JitCall& call, std::span<const std::string> parameters);

struct Signature {
  struct Input {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    uint32_t device = 0;
  };
  std::vector<Input> inputs;
  std::vector<JitScalar> scalars;
  std::vector<Var> vars;

  static Signature of(const Arguments& call);
  // OST_JIT_ERROR that names what differs.
  Result<> check(const Arguments& call, const Session& session) const;
};

}  // namespace ost::capture
