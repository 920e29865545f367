// Handles and commands as they come over the ABI: what every driver in C++ checks in the same way.
#ifndef OSTINATO_PLUGIN_COMMAND_HPP_
#define OSTINATO_PLUGIN_COMMAND_HPP_

#include <memory>
#include <vector>

#include "error.hpp"

namespace ost::plugin {

// The opaque handles of plugin.h are the driver's own structs.
template <class T, class Handle>
T& object(Handle* handle) {
  if (handle == nullptr) fail_rule(11, "a handle is null");
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
T* handle_of(std::unique_ptr<T> object, Handle** out) {
  if (out == nullptr) fail_rule(5, "the out-parameter is null");
  *out = reinterpret_cast<Handle*>(object.get());
  return object.release();
}
template <class T, class Handle>
void destroy(Handle* handle) noexcept {
  fence([&] { delete reinterpret_cast<T*>(handle); });
}

// Arrays of structs that can grow have the size of their first element as stride (rule 2).
inline const ost_command_t& command_at(const ost_command_t* commands, uint32_t index) {
  const auto* at =
      reinterpret_cast<const unsigned char*>(commands) + size_t{index} * commands->size;
  const auto& command = *reinterpret_cast<const ost_command_t*>(at);
  if (index > 0 && command.size != commands->size)
    fail_rule(2, "command ", index, " has another size than command 0");
  check_size(&command, "ost_command_t");
  return command;
}

inline void check_shape(const ost_command_t& c) {
  if (c.ref_count > 0 && c.refs == nullptr)
    fail_rule(8, "a command has ", c.ref_count, " refs and no array");
  if (c.kind == OST_CMD_COPY && c.ref_count != 2)
    fail_rule(8, "copy has ", c.ref_count, " refs, wanted 2");
  if (c.kind == OST_CMD_FILL) {
    const uint32_t n = c.fill_pattern_size;
    if (c.ref_count != 1) fail_rule(8, "fill has ", c.ref_count, " refs, wanted 1");
    if (n != 1 && n != 2 && n != 4 && n != 8)
      fail_rule(8, "fill pattern has ", n, " bytes, wanted 1, 2, 4 or 8");
  }
  if (c.kind < OST_CMD_COPY || c.kind > OST_CMD_CMDLIST)
    fail_rule(1, "unknown command kind ", c.kind);
}

// Moves the oldest records to the caller, who set the size of the first one: the stride (rule 2).
inline void drain_records(std::vector<ost_profile_record_t>& records, ost_profile_record_t* out,
                          uint32_t capacity, uint32_t* out_count) {
  if (out_count == nullptr || (capacity > 0 && out == nullptr))
    fail_rule(5, "the out-parameter is null");
  const auto n = static_cast<uint32_t>(records.size() < capacity ? records.size() : capacity);
  const size_t stride = n > 0 ? out->size : 0;
  for (uint32_t i = 0; i < n; ++i) {
    auto* at =
        reinterpret_cast<ost_profile_record_t*>(reinterpret_cast<unsigned char*>(out) + i * stride);
    at->size = static_cast<uint32_t>(stride);
    fill_out(at, records[i], "ost_profile_record_t");
  }
  records.erase(records.begin(), records.begin() + n);
  *out_count = n;
}

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_COMMAND_HPP_
