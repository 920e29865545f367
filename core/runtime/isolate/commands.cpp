#include "core/runtime/isolate/commands.hpp"

#include <algorithm>

namespace ost::runtime::isolate {
namespace {

template <typename T>
void write_array(Writer& out, const T* data, uint64_t count) {
  out.bytes(data, data == nullptr ? 0 : count * sizeof(T));
}

template <typename T>
std::vector<T> read_array(Reader& in) {
  const std::vector<uint8_t> bytes = in.bytes();
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

template <typename T>
T* pointer(uint64_t id) {
  return reinterpret_cast<T*>(id);
}

const ost_command_t* at(const ost_command_t* commands, uint32_t i) {
  return reinterpret_cast<const ost_command_t*>(reinterpret_cast<const unsigned char*>(commands) +
                                                size_t{i} * commands->size);
}

}  // namespace

void write_points(Writer& out, const ost_point_t* points, uint32_t count, IdOf id) {
  out.put(count);
  for (uint32_t i = 0; i < count; ++i) out.put(id(points[i].timeline)).put(points[i].value);
}

std::vector<ost_point_t> read_points(Reader& in) {
  std::vector<ost_point_t> out;
  for (auto count = in.get<uint32_t>(); count > 0 && in.ok(); --count) {
    const auto timeline = in.get<uint64_t>();
    out.push_back({pointer<ost_timeline_t>(timeline), in.get<uint64_t>()});
  }
  return out;
}

bool write_commands(Writer& out, const ost_command_t* commands, uint32_t count, IdOf id) {
  out.put(count);
  for (uint32_t i = 0; i < count; ++i) {
    const ost_command_t& c = *at(commands, i);
    if (c.size < sizeof c || c.size != commands->size) return false;
    const auto* tail = reinterpret_cast<const unsigned char*>(&c);
    if (std::any_of(tail + sizeof c, tail + c.size, [](unsigned char b) { return b != 0; }))
      return false;
    ost_command_t flat = c;
    flat.size = sizeof flat;
    flat.executable = pointer<ost_executable_t>(id(c.executable));
    flat.cmdlist = pointer<ost_cmdlist_t>(id(c.cmdlist));
    std::vector<ost_ref_t> refs;
    if (c.refs != nullptr) refs.assign(c.refs, c.refs + c.ref_count);
    for (ost_ref_t& r : refs) r.buffer = pointer<ost_dbuffer_t>(id(r.buffer));
    out.put(flat);
    write_array(out, refs.data(), refs.size());
    write_array(out, c.vars, c.var_count);
    write_array(out, c.var_map, c.var_count);
  }
  return true;
}

Commands::Commands(Reader& in) {
  for (auto count = in.get<uint32_t>(); count > 0 && in.ok(); --count) {
    auto c = in.get<ost_command_t>();
    refs_.push_back(read_array<ost_ref_t>(in));
    vars_.push_back(read_array<int64_t>(in));
    maps_.push_back(read_array<uint32_t>(in));
    if (c.refs != nullptr) c.refs = refs_.back().data();
    if (c.vars != nullptr) c.vars = vars_.back().data();
    if (c.var_map != nullptr) c.var_map = maps_.back().data();
    commands_.push_back(c);
  }
}

}  // namespace ost::runtime::isolate
