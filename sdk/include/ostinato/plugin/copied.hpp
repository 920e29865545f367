// Commands, copied out of the caller's memory and checked, and lists of them that are recorded once
// and bound to other memory and variables with each submit.
//
// A driver brings a Buffer with a member `size` and an Executable. Its ost_executable_t* is a
// std::shared_ptr<Executable>, its ost_cmdlist_t*, if it has lists, a
// std::shared_ptr<CommandList<Buffer, Executable>>. The entry and the numbers of arguments are the
// executable's to check.
#ifndef OSTINATO_PLUGIN_COPIED_HPP_
#define OSTINATO_PLUGIN_COPIED_HPP_

#include <algorithm>

#include "command.hpp"

namespace ost::plugin {

template <class Buffer, class Executable>
class CommandList;

template <class Buffer, class Executable>
struct Command {
  struct Ref {
    const Buffer* buffer;
    uint64_t offset, size;
  };
  uint32_t kind = 0;
  uint32_t level = 0;
  std::vector<Ref> refs;
  std::vector<int64_t> vars;
  std::shared_ptr<Executable> executable;
  uint32_t entry = 0;
  uint64_t grid[3] = {};
  uint32_t group[3] = {};
  uint64_t fill_pattern = 0;
  uint32_t fill_pattern_size = 0;
  // CMDLIST: the list, and its commands with what this submit binds.
  std::shared_ptr<CommandList<Buffer, Executable>> list;
  std::vector<Command> listed;
};

namespace detail {

template <class Buffer>
void check_range(const Buffer& buffer, uint64_t offset, uint64_t size) {
  if (offset > buffer.size || size > buffer.size - offset)
    fail_rule(8, "bytes ", offset, " to ", offset, " + ", size, " are outside a buffer of ",
              buffer.size, " bytes");
}

// What depends on sizes, offsets and grids; `align`: of what kernels get.
template <class Buffer, class Executable>
void check_values(const Command<Buffer, Executable>& c, uint32_t align) {
  if (c.kind == OST_CMD_FILL && c.refs[0].size % c.fill_pattern_size != 0)
    fail_rule(8, "fill of ", c.refs[0].size, " bytes with a pattern of ", c.fill_pattern_size);
  if (c.kind == OST_CMD_COPY) {
    const auto &to = c.refs[0], &from = c.refs[1];
    if (to.size != from.size) fail_rule(8, "copy of ", from.size, " bytes to a range of ", to.size);
    if (to.buffer == from.buffer && to.offset < from.offset + from.size &&
        from.offset < to.offset + to.size)
      fail_rule(8, "copy between ranges that overlap");
  }
  if (c.kind != OST_CMD_DISPATCH) return;
  for (const auto& ref : c.refs)
    if (ref.offset % align != 0)
      fail_rule(8, "a parameter at byte ", ref.offset, ", wanted a multiple of ", align);
  for (int d = 0; d < 3; ++d)
    if (c.group[d] == 0 || c.grid[d] % c.group[d] != 0)
      fail_rule(8, "a grid of ", c.grid[d], " work-items in groups of ", c.group[d]);
}

// What a command has in a submit and in a list.
template <class Buffer, class Executable>
Command<Buffer, Executable> copy_plain(const ost_command_t& in) {
  check_shape(in);
  Command<Buffer, Executable> out;
  out.kind = in.kind;
  out.level = in.level;
  out.fill_pattern = in.fill_pattern;
  out.fill_pattern_size = in.fill_pattern_size;
  if (in.kind != OST_CMD_DISPATCH) return out;
  out.executable = object<std::shared_ptr<Executable>>(in.executable);
  out.entry = in.entry;
  std::copy_n(in.grid, 3, out.grid);
  std::copy_n(in.group, 3, out.group);
  return out;
}

}  // namespace detail

// A list of commands. It keeps its executables alive.
template <class Buffer, class Executable>
class CommandList {
 public:
  using Bound = Command<Buffer, Executable>;

  CommandList(const ost_command_t* commands, uint32_t count, uint32_t slot_count,
              uint32_t var_count, uint32_t align)
      : need_(slot_count), var_count_(var_count), align_(align) {
    if (count > 0 && commands == nullptr) fail_rule(8, "commands are null");
    for (uint32_t i = 0; i < count; ++i) record(command_at(commands, i));
  }
  virtual ~CommandList() = default;

  size_t size() const { return commands_.size(); }

  // The commands with the slots and variables of one submit. Fails if they do not fit.
  std::vector<Bound> bind(const std::vector<typename Bound::Ref>& slots,
                          const std::vector<int64_t>& vars) const {
    if (slots.size() != need_.size())
      fail_rule(8, "command list has ", need_.size(), " slots, ", slots.size(), " were bound");
    if (vars.size() != var_count_)
      fail_rule(8, "command list has ", var_count_, " variables, ", vars.size(), " were given");
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].size < need_[i])
        fail_rule(8, "slot ", i + 1, " needs ", need_[i], " bytes, ", slots[i].size, " were bound");
    std::vector<Bound> out;
    out.reserve(commands_.size());
    for (const Recorded& r : commands_) out.push_back(r.bind(slots, vars, align_));
    return out;
  }

 private:
  struct Recorded {
    Bound command;                // refs of slots have no buffer
    std::vector<uint32_t> slots;  // for each ref, 0 if it has a buffer
    std::vector<uint32_t> var_map;
    uint32_t grid_var[3] = {};

    Bound bind(const std::vector<typename Bound::Ref>& bound, const std::vector<int64_t>& vars,
               uint32_t align) const {
      Bound out = command;
      for (size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] == 0) continue;
        const auto& slot = bound[slots[i] - 1];
        auto& ref = out.refs[i];
        ref = {slot.buffer, slot.offset + ref.offset,
               ref.size != 0 ? ref.size : slot.size - ref.offset};
      }
      for (const uint32_t var : var_map) out.vars.push_back(vars[var]);
      for (int d = 0; d < 3; ++d)
        if (grid_var[d] > 0) out.grid[d] = static_cast<uint64_t>(vars[grid_var[d] - 1]);
      detail::check_values(out, align);
      return out;
    }
  };

  void record(const ost_command_t& in) {
    if (in.kind == OST_CMD_CMDLIST) fail_rule(10, "a command list inside a command list");
    Recorded r;
    r.command = detail::copy_plain<Buffer, Executable>(in);
    for (uint32_t i = 0; i < in.ref_count; ++i) record(in.refs[i], r);
    if (in.kind == OST_CMD_DISPATCH) {
      if (in.var_count > 0 && in.var_map == nullptr)
        fail_rule(8, "a recorded dispatch with vars needs a var_map");
      for (uint32_t i = 0; i < in.var_count; ++i) {
        if (in.var_map[i] >= var_count_)
          fail_rule(8, "variable ", in.var_map[i], " of a command list with ", var_count_);
        r.var_map.push_back(in.var_map[i]);
      }
      std::copy_n(in.grid_var, 3, r.grid_var);
      for (const uint32_t var : r.grid_var)
        if (var > var_count_)
          fail_rule(8, "a grid uses variable ", var - 1, " of a command list with ", var_count_);
    }
    commands_.push_back(std::move(r));
  }

  void record(const ost_ref_t& ref, Recorded& r) {
    if (ref.slot > need_.size())
      fail_rule(8, "slot ", ref.slot, " of a command list with ", need_.size());
    if (ref.size > UINT64_MAX - ref.offset) fail_rule(8, "offset and size of a ref overflow");
    const Buffer* buffer = nullptr;
    if (ref.slot == 0) {
      buffer = &object<Buffer>(ref.buffer);
      detail::check_range(*buffer, ref.offset, ref.size);
    } else {
      need_[ref.slot - 1] = std::max(need_[ref.slot - 1], ref.offset + ref.size);
    }
    r.command.refs.push_back({buffer, ref.offset, ref.size});
    r.slots.push_back(ref.slot);
  }

  std::vector<Recorded> commands_;
  std::vector<uint64_t> need_;  // bytes that the range bound to each slot must have
  uint32_t var_count_, align_;
};

// `align`: of what kernels get.
template <class Buffer, class Executable>
Command<Buffer, Executable> copy_command(const ost_command_t& in, uint32_t align) {
  auto out = detail::copy_plain<Buffer, Executable>(in);
  for (uint32_t i = 0; i < in.ref_count; ++i) {
    const ost_ref_t& ref = in.refs[i];
    if (ref.slot != 0) fail_rule(8, "a slot is used outside a command list");
    const Buffer& buffer = object<Buffer>(ref.buffer);
    detail::check_range(buffer, ref.offset, ref.size);
    out.refs.push_back({&buffer, ref.offset, ref.size});
  }
  if (in.kind == OST_CMD_DISPATCH || in.kind == OST_CMD_CMDLIST) {
    if (in.var_count > 0 && in.vars == nullptr)
      fail_rule(8, "a command with variables has no values");
    out.vars.assign(in.vars, in.vars + in.var_count);
  }
  detail::check_values(out, align);
  if (in.kind == OST_CMD_CMDLIST) {
    out.list = object<std::shared_ptr<CommandList<Buffer, Executable>>>(in.cmdlist);
    out.listed = out.list->bind(out.refs, out.vars);
  }
  return out;
}

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_COPIED_HPP_
