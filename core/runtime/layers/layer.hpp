// Layers stand between the host and a plugin's table and see every call: validate, trace, fault.
// They work on any plugin, because handles are replaced by numbers of our own (object.hpp).
//
// Invariant: with no layer asked for, no call goes through here and nothing is slower.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/runtime/driver_entries.hpp"
#include "core/runtime/layers/object.hpp"

namespace ost::runtime::layers {

enum class Entry : uint32_t {
#define X(name, required) name,
  OST_DRIVER_ENTRIES(X)
#undef X
};
std::string_view name_of(Entry entry);

// One call of an entry, with the arguments that a layer may want. Handles in `commands` and points
// are those that the host gave; what they stand for is in `objects`.
struct Call {
  Entry entry;
  Object* self = nullptr;   // the handle that the call is about
  Object* other = nullptr;  // a buffer of a call about a device
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t value = 0;        // of a timeline; alignment of an allocation; entry index
  std::string_view text{};   // name of a kernel, target, image path
  const void* in = nullptr;  // a struct that the host hands over
  uint32_t in_size = 0;      // what that struct must have at least
  std::span<const ost_point_t> waits{}, signals{};
  const ost_command_t* commands = nullptr;
  uint32_t command_count = 0;

  // Set by validate on the way in: the device was lost before the call began.
  bool after_loss = false;

  // Set once the inner call has returned.
  Object* made = nullptr;
  const ost_error_t* error = nullptr;
};

class Layer {
 public:
  virtual ~Layer() = default;
  // An error ends the call here: the plugin does not see it.
  virtual std::optional<Error> before(Call&) { return std::nullopt; }
  // For each layer whose before() was called, also where another one ended the call.
  virtual void after(const Call&, ost_status_t) {}
  // A handle that is none, no more, or one of another kind.
  virtual void wrong_handle(const std::string&) {}
};

// What stands behind one driver: the plugin's table and the layers over it, the host's first.
struct Stack {
  std::string driver;
  DriverTable inner;
  std::vector<std::unique_ptr<Layer>> layers;
};

std::unique_ptr<Layer> make_validate(Stack& stack);
std::unique_ptr<Layer> make_trace(Stack& stack);
Result<std::unique_ptr<Layer>> make_fault(Stack& stack, std::string_view spec);

// The table that the host gets for a stack. `slot` is one of kSlots: driver_create has no argument
// that says whose it is.
inline constexpr size_t kSlots = 64;
DriverTable layered_table(Stack& stack, size_t slot);

}  // namespace ost::runtime::layers
