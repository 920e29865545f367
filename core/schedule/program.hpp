// A Program: kernels, buffers and steps. An eager realize, a captured program and a loaded manifest
// are all this one object; saving prints it, replay runs it (design §3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/literal.hpp"
#include "core/base/result.hpp"
#include "core/base/sym.hpp"
#include "core/kir/kernel.hpp"

namespace ost {

inline constexpr uint32_t kNoIndex = UINT32_MAX;

// Where the bytes of a program buffer come from.
enum class BufferKind : uint8_t {
  input,     // slot: index into Program::inputs; bound per call
  output,    // slot: index into Program::outputs; storage of its own per output mode
  constant,  // slot: index into Program::constants; uploaded once
  state,     // slot: index into Program::states; bound once, may be written
  temp,      // a range of an arena; valid within one run
};

struct BufferDesc {
  BufferKind kind = BufferKind::temp;
  uint32_t slot = 0;    // see kind; unused for temp
  uint32_t device = 0;  // logical device
  DType dtype = DType::f32;
  Sym elements;               // number of elements, at the bound variables
  uint32_t arena = kNoIndex;  // temp
  uint64_t offset = 0;  // temp: bytes from the start of the arena, fixed for all variable values
};

struct InputDesc {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint32_t device = 0;
  bool written = false;  // some step writes it (assign to an argument)
};

struct OutputDesc {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint32_t device = 0;
  uint32_t buffer =
      kNoIndex;  // of any kind: an output that is an input or a state unchanged names that buffer
};

struct ConstantDesc {
  std::string name;
  LiteralPtr data;
  std::string file;    // where the manifest found it or should keep it, relative ("" = inline)
  std::string tensor;  // name within that file
};

struct StateDesc {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  uint32_t device = 0;
  LiteralPtr initial;  // null: zeros
};

struct Arena {
  uint32_t device = 0;
  uint64_t bytes = 0;  // for the largest variable values
};

// A compiled form of a kernel that travels with the program (manifest variants).
struct KernelVariant {
  std::string driver;  // "cpu"
  std::string target;  // target key
  std::string compiler_key;
  std::string image_sha256;  // of the image; where the bytes are is the manifest's business
  std::vector<uint8_t> image;
};

struct KernelDesc {
  std::string name;  // [A-Za-z_][A-Za-z0-9_]*, for people; unique within the program
  kir::Kernel kir;
  std::vector<KernelVariant> variants;
};

enum class StepKind : uint8_t { launch, copy };

struct Step {
  StepKind kind = StepKind::launch;
  uint32_t device = 0;         // logical device that runs it; copy: that of the destination
  uint32_t kernel = kNoIndex;  // launch
  std::vector<uint32_t>
      args;  // launch: buffer for each parameter slot; copy: {destination, source}
  std::vector<uint32_t> vars;  // launch: index into Program::vars for each variable slot
  std::vector<uint32_t>
      after;           // earlier steps that must have ended: the only order that a run keeps
  uint32_t level = 0;  // longest path of edges; steps of one level are independent
};

// What a group is around.
enum class GroupKind : uint8_t {
  other,          // a manifest that does not say
  gemm,           // contractions
  gemm_epilogue,  // contractions and what is computed from them
  conv,           // contractions over windows
  conv_epilogue,
  attention,
  row,        // reductions along rows and what goes with them
  pointwise,  // elementwise operations
  movement,   // values that only move
  scatter,    // an ordered loop over an index
};
inline constexpr size_t kGroupKinds = 10;
std::string_view name_of(GroupKind kind);  // "gemm_epilogue"
std::optional<GroupKind> group_kind_from_name(std::string_view name);

// Why a kernel is what it is, for `explain`.
struct Group {
  std::vector<std::string> ops;  // names of the graph operations in it, in order
  uint32_t kernel = kNoIndex;
  uint32_t step = kNoIndex;
  std::string why;    // why these ops are one kernel
  std::string ended;  // what stopped it from growing
  Sym bytes_saved;    // intermediate bytes that are never stored
  GroupKind kind = GroupKind::other;
  std::vector<std::string> tiles = {};  // "100 as 4 x 32": loops that were split
};

// An assumption of a pass, checked at each call before any launch.
struct Guard {
  Sym low, high;  // holds if low <= high
  std::string why;
};

struct Program {
  kir::Numerics numerics = kir::Numerics::strict;
  std::vector<Var> vars;          // sorted by name
  uint32_t device_count = 1;      // logical devices 0 .. device_count-1
  std::vector<InputDesc> inputs;  // by argument position
  std::vector<OutputDesc> outputs;
  std::vector<ConstantDesc> constants;
  std::vector<StateDesc> states;
  std::vector<BufferDesc> buffers;
  std::vector<Arena> arenas;
  std::vector<KernelDesc> kernels;  // distinct kernels: steps share them
  std::vector<Step> steps;          // topological: edges point backwards
  std::vector<Group> groups;
  std::vector<Guard> guards;
};

// Ids in range, edges backwards, argument counts and access of each step, sizes of arenas, every
// temp inside its arena, no two live temps overlapping, every launch's buffers at least as large as
// its kernel's parameters for all variable values, kernels verified and their bounds proved. What a
// loaded manifest must pass; errors name the place as a JSON pointer ("/steps/3/args/1").
Result<> verify(const Program& program);

}  // namespace ost
