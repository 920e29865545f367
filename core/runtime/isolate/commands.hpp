// Commands and points on the wire. Handles are numbers there.
#pragma once

#include <deque>

#include "core/runtime/isolate/wire.hpp"

namespace ost::runtime::isolate {

// What a handle of the host stands for in the child.
using IdOf = uint64_t (*)(const void* handle);

void write_points(Writer& out, const ost_point_t* points, uint32_t count, IdOf id);
std::vector<ost_point_t> read_points(Reader& in);

// False if an element is shorter than a command, or sets a field that nobody here knows.
bool write_commands(Writer& out, const ost_command_t* commands, uint32_t count, IdOf id);

// Commands that were read, with the arrays that they point to.
class Commands {
 public:
  explicit Commands(Reader& in);
  const ost_command_t* data() const { return commands_.data(); }
  uint32_t count() const { return static_cast<uint32_t>(commands_.size()); }

 private:
  std::vector<ost_command_t> commands_;
  std::deque<std::vector<ost_ref_t>> refs_;
  std::deque<std::vector<int64_t>> vars_;
  std::deque<std::vector<uint32_t>> maps_;
};

}  // namespace ost::runtime::isolate
