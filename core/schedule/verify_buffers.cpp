// Buffers and outputs of a program.
#include <array>
#include <map>
#include <tuple>

#include "core/schedule/verify_parts.hpp"

namespace ost::verify_parts {
namespace {

// What a buffer that is no temp must agree with.
struct Slot {
  DType dtype = DType::f32;
  Sym elements;
  std::optional<uint32_t> device;  // constants are wherever they are needed
};

Result<Slot> slot_of(const Program& p, const BufferDesc& b, const std::string& pointer) {
  const auto signature = [&](const auto& list, std::string_view section) -> Result<Slot> {
    if (b.slot >= list.size())
      return bad(pointer + "/slot", "slot {}, there are {} {}", b.slot, list.size(), section);
    return Slot{list[b.slot].dtype, numel(list[b.slot].shape), list[b.slot].device};
  };
  switch (b.kind) {
    case BufferKind::input:
      return signature(p.inputs, "inputs");
    case BufferKind::output:
      return signature(p.outputs, "outputs");
    case BufferKind::state:
      return signature(p.states, "states");
    case BufferKind::constant: {
      if (b.slot >= p.constants.size())
        return bad(pointer + "/slot", "slot {}, there are {} constants", b.slot,
                   p.constants.size());
      const Literal& data = *p.constants[b.slot].data;
      return Slot{data.dtype, Sym(static_cast<int64_t>(data.bytes.size() / size_of(data.dtype))),
                  std::nullopt};
    }
    case BufferKind::temp:
      break;
  }
  return bad(pointer + "/kind", "kind {} does not exist", static_cast<int>(b.kind));
}

Result<> check_slot(const Program& p, const BufferDesc& b, const std::string& pointer) {
  OST_TRY_ASSIGN(const Slot slot, slot_of(p, b, pointer));
  if (b.dtype != slot.dtype)
    return bad(pointer + "/dtype", "{}, its {} is {}", ost::name_of(b.dtype), name_of(b.kind),
               ost::name_of(slot.dtype));
  if (!equal_for_all(b.elements, slot.elements))
    return bad(pointer + "/elements", "{}, its {} has {}", b.elements.str(), name_of(b.kind),
               slot.elements.str());
  if (slot.device && *slot.device != b.device)
    return bad(pointer + "/device", "device {}, its {} is on {}", b.device, name_of(b.kind),
               *slot.device);
  return {};
}

Result<> check_temp(const Program& p, const BufferDesc& b, const std::string& pointer) {
  if (b.arena >= p.arenas.size())
    return bad(pointer + "/arena", "arena {}, there are {}", b.arena, p.arenas.size());
  const Arena& arena = p.arenas[b.arena];
  if (arena.device != b.device)
    return bad(pointer + "/arena", "arena {} is on device {}, the buffer on {}", b.arena,
               arena.device, b.device);
  if (b.offset % size_of(b.dtype) != 0)
    return bad(pointer + "/offset", "{} is no multiple of the element size {}", b.offset,
               size_of(b.dtype));
  const uint64_t bytes = max_bytes(b);
  if (b.offset > arena.bytes || bytes > arena.bytes - b.offset)
    return bad(pointer + "/offset", "bytes [{}, {}) are not inside arena {} of {} bytes", b.offset,
               b.offset + bytes, b.arena, arena.bytes);
  return {};
}

}  // namespace

std::string_view name_of(BufferKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"input", "output", "constant", "state",
                                                      "temp"};
  const auto i = static_cast<std::size_t>(kind);
  return i < kNames.size() ? kNames.at(i) : "?";
}

bool equal_for_all(const Sym& a, const Sym& b) {
  return a == b || (provably_le(a, b) && provably_le(b, a));
}

uint64_t max_bytes(const BufferDesc& buffer) {
  return static_cast<uint64_t>(buffer.elements.upper()) * size_of(buffer.dtype);
}

Result<> check_buffers(const Program& p) {
  std::map<std::tuple<BufferKind, uint32_t, uint32_t>, std::size_t> seen;
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const BufferDesc& b = p.buffers[i];
    const std::string pointer = fmt::format("/buffers/{}", i);
    if (b.device >= p.device_count)
      return bad(pointer + "/device", "device {}, there are {}", b.device, p.device_count);
    if (!is_valid(b.dtype))
      return bad(pointer + "/dtype", "element type {} does not exist", static_cast<int>(b.dtype));
    OST_TRY(check_sym(p, b.elements, pointer + "/elements"));
    if (!provably_le(0, b.elements))
      return bad(pointer + "/elements", "{} may be negative", b.elements.str());
    if (static_cast<uint64_t>(b.elements.upper()) > (uint64_t{1} << 62) / size_of(b.dtype))
      return bad(pointer + "/elements", "{} may have more than 2^62 bytes", b.elements.str());
    if (b.kind == BufferKind::temp) {
      OST_TRY(check_temp(p, b, pointer));
      continue;
    }
    OST_TRY(check_slot(p, b, pointer));
    // One buffer for each slot: then two buffers never share bytes unless they are temps.
    const auto [it, fresh] = seen.emplace(std::tuple(b.kind, b.slot, b.device), i);
    if (!fresh)
      return bad(pointer + "/slot", "{} {} is /buffers/{} already", name_of(b.kind), b.slot,
                 it->second);
  }
  return {};
}

Result<> check_outputs(const Program& p) {
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const OutputDesc& o = p.outputs[i];
    const std::string pointer = fmt::format("/outputs/{}", i);
    if (o.buffer >= p.buffers.size())
      return bad(pointer + "/buffer", "buffer {}, there are {}", o.buffer, p.buffers.size());
    const BufferDesc& b = p.buffers[o.buffer];
    if (b.dtype != o.dtype)
      return bad(pointer + "/buffer", "buffer {} is {}, the output {}", o.buffer,
                 ost::name_of(b.dtype), ost::name_of(o.dtype));
    if (!equal_for_all(b.elements, numel(o.shape)))
      return bad(pointer + "/buffer", "buffer {} has {} elements, the output {}", o.buffer,
                 b.elements.str(), numel(o.shape).str());
    if (b.device != o.device)
      return bad(pointer + "/buffer", "buffer {} is on device {}, the output on {}", o.buffer,
                 b.device, o.device);
  }
  for (std::size_t i = 0; i < p.buffers.size(); ++i)
    if (p.buffers[i].kind == BufferKind::output && p.outputs[p.buffers[i].slot].buffer != i)
      return bad(fmt::format("/buffers/{}/slot", i), "output {} is in buffer {}", p.buffers[i].slot,
                 p.outputs[p.buffers[i].slot].buffer);
  return {};
}

}  // namespace ost::verify_parts
