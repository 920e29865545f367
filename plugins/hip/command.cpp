// Commands as they come over the ABI, checked and copied.
#include "queue.hpp"

namespace hip {
namespace {

using ost::plugin::fail_rule;

Command::Ref copy_ref(const ost_ref_t& ref) {
  if (ref.slot != 0) fail_rule(8, "a slot outside of a command list");
  if (ref.buffer == nullptr) fail_rule(8, "a ref without a buffer");
  const Buffer& buffer = *reinterpret_cast<Buffer*>(ref.buffer);
  if (ref.offset > buffer.size || ref.size > buffer.size - ref.offset)
    fail_rule(8, "bytes ", ref.offset, " to ", ref.offset + ref.size, " of a buffer of ",
              buffer.size);
  return {buffer.memory.get(), ref.offset, ref.size};
}

void check_copy(const Command& c) {
  if (c.refs.size() != 2) fail_rule(8, "a copy with ", c.refs.size(), " refs, wanted 2");
  const Command::Ref &to = c.refs[0], &from = c.refs[1];
  if (to.size != from.size) fail_rule(8, "a copy of ", from.size, " bytes to ", to.size);
  if (to.memory == from.memory && to.offset < from.offset + from.size &&
      from.offset < to.offset + to.size)
    fail_rule(8, "a copy between ranges that overlap");
}

void check_fill(const Command& c) {
  const uint32_t size = c.fill_pattern_size;
  if (c.refs.size() != 1) fail_rule(8, "a fill with ", c.refs.size(), " refs, wanted 1");
  if (size != 1 && size != 2 && size != 4 && size != 8)
    fail_rule(8, "a pattern of ", size, " bytes, wanted 1, 2, 4 or 8");
  if (c.refs[0].size % size != 0)
    fail_rule(8, "a fill of ", c.refs[0].size, " bytes with a pattern of ", size);
}

void copy_dispatch(const ost_command_t& command, Command& c) {
  if (command.executable == nullptr) fail_rule(8, "a dispatch without an executable");
  c.executable = *reinterpret_cast<std::shared_ptr<Executable>*>(command.executable);
  if (command.entry != 0) fail(OST_NOT_FOUND, "entry ", command.entry, " of an image with 1");
  for (const Command::Ref& r : c.refs)
    if (r.offset % kAlign != 0)
      fail_rule(8, "a parameter at byte ", r.offset, ", wanted a multiple of ", kAlign);
  if (command.var_count > 0 && command.vars == nullptr) fail_rule(8, "variables are null");
  c.vars.assign(command.vars, command.vars + command.var_count);
  for (int d = 0; d < 3; ++d) c.grid[d] = command.grid[d], c.group[d] = command.group[d];
  c.executable->check_launch(c.refs.size(), c.vars.size(), c.grid, c.group);
}

}  // namespace

Command copy_command(const ost_command_t& command) {
  ost::plugin::check_size(&command, "ost_command_t");
  Command c;
  c.kind = command.kind;
  if (command.ref_count > 0 && command.refs == nullptr) fail_rule(8, "refs are null");
  for (uint32_t i = 0; i < command.ref_count; ++i) c.refs.push_back(copy_ref(command.refs[i]));
  c.fill_pattern = command.fill_pattern;
  c.fill_pattern_size = command.fill_pattern_size;
  switch (command.kind) {
    case OST_CMD_COPY:
      check_copy(c);
      break;
    case OST_CMD_FILL:
      check_fill(c);
      break;
    case OST_CMD_DISPATCH:
      copy_dispatch(command, c);
      break;
    default:
      fail_rule(1, "a command of kind ", command.kind);
  }
  return c;
}

}  // namespace hip
