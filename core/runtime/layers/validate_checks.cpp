#include <algorithm>

#include "core/runtime/layers/validate.hpp"

namespace ost::runtime::layers {
namespace {

std::unexpected<Broken> broken(uint32_t rule, std::string text) {
  return std::unexpected(Broken{rule, std::move(text)});
}
using Ok = std::expected<void, Broken>;

std::optional<Broken> answer(Ok ok) {
  if (ok) return std::nullopt;
  return std::move(ok.error());
}

Object* object_of(const void* handle, Kind kind, std::string* why) {
  Object* dead = nullptr;
  return Objects::all().find(handle, kind, why, &dead);
}

const Object* device_of(const Object* o) {
  while (o != nullptr && o->kind != Kind::device) o = o->parent;
  return o;
}

const Object* driver_of(const Object* o) {
  while (o != nullptr && o->parent != nullptr) o = o->parent;
  return o;
}

const ost_command_t& command_at(const Call& call, uint32_t i) {
  const auto* at =
      reinterpret_cast<const unsigned char*>(call.commands) + size_t{i} * call.commands->size;
  return *reinterpret_cast<const ost_command_t*>(at);
}

bool overlap(const ost_ref_t& a, const ost_ref_t& b) {
  return a.slot == 0 && b.slot == 0 && a.buffer == b.buffer && a.offset < b.offset + b.size &&
         b.offset < a.offset + a.size;
}

Ok check_ref(const Call& call, const ost_ref_t& r, bool in_list) {
  if (r.slot != 0) {
    if (!in_list) return broken(8, "a slot is used outside a command list");
    if (r.slot > call.size)
      return broken(8, fmt::format("slot {} of a command list with {}", r.slot, call.size));
    return {};
  }
  std::string why;
  const Object* b = object_of(r.buffer, Kind::buffer, &why);
  if (b == nullptr) return broken(11, "a ref has " + why);
  if (device_of(b) != device_of(call.self))
    return broken(8, fmt::format("{} is of another device", to_string(*b)));
  if (r.offset > b->bytes || r.size > b->bytes - r.offset) {
    return broken(8, fmt::format("{} bytes at {} are outside {} of {} bytes", r.size, r.offset,
                                 to_string(*b), b->bytes));
  }
  return {};
}

Ok check_dispatch(const ost_command_t& c, bool in_list) {
  std::string why;
  Object* x = object_of(c.executable, Kind::executable, &why);
  if (x == nullptr) return broken(11, "a dispatch has " + why);
  {
    const std::scoped_lock lock(x->mutex);
    if (!x->entries.contains(c.entry)) {
      return broken(8, fmt::format("entry {} of {} was not given by executable_entry", c.entry,
                                   to_string(*x)));
    }
  }
  if (c.var_count > 0 && (in_list ? c.var_map == nullptr : c.vars == nullptr))
    return broken(8, fmt::format("a dispatch with {} variables has no {}", c.var_count,
                                 in_list ? "var_map" : "values"));
  return {};
}

Ok check_replay(const ost_command_t& c, bool in_list) {
  if (in_list) return broken(10, "a command list inside a command list");
  std::string why;
  const Object* l = object_of(c.cmdlist, Kind::cmdlist, &why);
  if (l == nullptr) return broken(11, "a command has " + why);
  if (c.ref_count != l->slot_count || c.var_count != l->var_count) {
    return broken(
        8, fmt::format("{} has {} slots and {} variables, {} and {} are bound", to_string(*l),
                       l->slot_count, l->var_count, c.ref_count, c.var_count));
  }
  return {};
}

Ok check_command(const Call& call, const ost_command_t& c, bool in_list) {
  if (c.size != call.commands->size) return broken(2, "commands of one array have different sizes");
  if (c.ref_count > 0 && c.refs == nullptr) return broken(8, "refs are counted and not there");
  for (uint32_t i = 0; i < c.ref_count; ++i) {
    if (auto ok = check_ref(call, c.refs[i], in_list); !ok) return ok;
  }
  switch (c.kind) {
    case OST_CMD_COPY:
      if (c.ref_count != 2) return broken(8, fmt::format("a copy has {} refs", c.ref_count));
      if (c.refs[0].size != c.refs[1].size)
        return broken(8, fmt::format("a copy from {} to {} bytes", c.refs[1].size, c.refs[0].size));
      if (overlap(c.refs[0], c.refs[1])) return broken(8, "the ranges of a copy overlap");
      return {};
    case OST_CMD_FILL: {
      const uint32_t n = c.fill_pattern_size;
      if (c.ref_count != 1) return broken(8, fmt::format("a fill has {} refs", c.ref_count));
      if (n != 1 && n != 2 && n != 4 && n != 8)
        return broken(8, fmt::format("a fill pattern of {} bytes", n));
      if (c.refs[0].slot == 0 && c.refs[0].size % n != 0)
        return broken(8, fmt::format("a fill of {} bytes with {}", c.refs[0].size, n));
      return {};
    }
    case OST_CMD_DISPATCH:
      return check_dispatch(c, in_list);
    case OST_CMD_CMDLIST:
      return check_replay(c, in_list);
    default:
      return broken(1, fmt::format("command kind {} is not known", c.kind));
  }
}

Ok check_points(const Call& call) {
  std::string why;
  for (const auto points : {call.waits, call.signals}) {
    for (const ost_point_t& p : points) {
      const Object* t = object_of(p.timeline, Kind::timeline, &why);
      if (t == nullptr) return broken(11, "a point has " + why);
      if (driver_of(t) != driver_of(call.self))
        return broken(7, fmt::format("{} is of another driver", to_string(*t)));
    }
  }
  return {};
}

}  // namespace

std::optional<Broken> check_struct(const Call& call) {
  if (call.in_size == 0) return std::nullopt;
  if (call.in == nullptr) return Broken{2, "the struct is null"};
  uint32_t size = 0;
  std::memcpy(&size, call.in, sizeof size);
  if (size >= call.in_size) return std::nullopt;
  return Broken{2, fmt::format("the struct has size {}, wanted at least {}", size, call.in_size)};
}

std::optional<Broken> check_range(const Call& call) {
  const Object* buffer = call.other != nullptr ? call.other : call.self;
  switch (call.entry) {
    case Entry::buffer_map:
      if ((buffer->heap_flags & OST_HEAP_HOST_VISIBLE) == 0)
        return Broken{8, fmt::format("{} is not host visible", to_string(*buffer))};
      [[fallthrough]];
    case Entry::buffer_flush:
    case Entry::buffer_invalidate:
    case Entry::buffer_write:
    case Entry::buffer_read:
      if (call.offset > buffer->bytes || call.size > buffer->bytes - call.offset) {
        return Broken{8, fmt::format("{} bytes at {} are outside {} of {} bytes", call.size,
                                     call.offset, to_string(*buffer), buffer->bytes)};
      }
      if (call.other != nullptr && call.other->parent != call.self)
        return Broken{8, fmt::format("{} is of another device", to_string(*buffer))};
      return std::nullopt;
    case Entry::buffer_unmap:
      if (buffer->maps > 0) return std::nullopt;
      return Broken{8, fmt::format("{} is not mapped", to_string(*buffer))};
    case Entry::buffer_alloc:
      if ((call.value & (call.value - 1)) == 0) return std::nullopt;
      return Broken{8, fmt::format("alignment {} is no power of two", call.value)};
    case Entry::profile_drain:
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Broken> check_commands(const Call& call) {
  if (auto ok = check_points(call); !ok) return answer(std::move(ok));
  if (call.command_count == 0) return std::nullopt;
  if (call.commands == nullptr) return Broken{8, "commands are counted and not there"};
  if (call.commands->size < sizeof(ost_command_t)) {
    return Broken{2, fmt::format("a command has size {}, wanted at least {}", call.commands->size,
                                 sizeof(ost_command_t))};
  }
  const bool in_list = call.entry == Entry::cmdlist_create;
  for (uint32_t i = 0; i < call.command_count; ++i) {
    auto ok = check_command(call, command_at(call, i), in_list);
    if (ok) continue;
    ok.error().text = fmt::format("command {}: {}", i, ok.error().text);
    return answer(std::move(ok));
  }
  return std::nullopt;
}

void Flights::add(const Call& submit) {
  if (submit.signals.empty()) return;
  std::string ignored;
  Flight f;
  const Object* t = object_of(submit.signals[0].timeline, Kind::timeline, &ignored);
  f.timeline = t->id;
  f.value = submit.signals[0].value;
  for (uint32_t i = 0; i < submit.command_count; ++i) {
    const ost_command_t& c = command_at(submit, i);
    for (uint32_t r = 0; r < c.ref_count; ++r) {
      const Object* b = object_of(c.refs[r].buffer, Kind::buffer, &ignored);
      if (b != nullptr) f.buffers.insert(b->id);
    }
  }
  const std::scoped_lock lock(mutex_);
  drop_ended();
  flights_.push_back(std::move(f));
}

void Flights::forget(const Call& submit) {
  if (submit.signals.empty()) return;
  std::string ignored;
  const Object* t = object_of(submit.signals[0].timeline, Kind::timeline, &ignored);
  if (t == nullptr) return;
  const std::scoped_lock lock(mutex_);
  std::erase_if(flights_, [&](const Flight& f) {
    return f.timeline == t->id && f.value == submit.signals[0].value;
  });
}

bool Flights::uses(uint64_t buffer) {
  const std::scoped_lock lock(mutex_);
  drop_ended();
  return std::ranges::any_of(flights_, [&](const Flight& f) { return f.buffers.contains(buffer); });
}

void Flights::drop_ended() {
  std::erase_if(flights_, [&](const Flight& f) {
    std::string ignored;
    const Object* t =
        object_of(reinterpret_cast<const void*>(f.timeline << 4 | 1), Kind::timeline, &ignored);
    if (t == nullptr) return true;
    uint64_t value = 0;
    const ost_status_t status = stack_.inner.entries.timeline_query(
        static_cast<ost_timeline_t*>(t->inner), &value, nullptr);
    return status != OST_OK || value >= f.value;
  });
}

}  // namespace ost::runtime::layers
