// Queues, timelines and command lists through layers: the handles in commands are replaced too.
#include <algorithm>

#include "core/runtime/layers/pass.hpp"

namespace ost::runtime::layers {
namespace {

constexpr ost_status_t kBad = OST_INVALID_ARGUMENT;

// The plugin's own handles in a copy of what the host gave. Commands keep their stride.
class Unwrapped {
 public:
  Unwrapped(Entry entry, ost_error_t* error) : entry_(entry), error_(error) {}

  bool points(const ost_point_t* in, uint32_t count, std::vector<ost_point_t>& out) {
    for (uint32_t i = 0; i < count; ++i) {
      Object* t = find(in[i].timeline, Kind::timeline, entry_, error_);
      if (t == nullptr) return false;
      out.push_back({inner_of<ost_timeline_t>(t), in[i].value});
    }
    return true;
  }

  bool commands(const ost_command_t* in, uint32_t count) {
    if (count == 0) return true;
    const uint32_t stride = in->size;
    const auto* from = reinterpret_cast<const unsigned char*>(in);
    // What is too short to be a command is the plugin's to refuse.
    bytes_.assign(from, from + size_t{stride} * count);
    if (stride < sizeof(ost_command_t)) return true;
    for (uint32_t i = 0; i < count; ++i) {
      auto& c = *reinterpret_cast<ost_command_t*>(bytes_.data() + size_t{i} * stride);
      if (!command(c)) return false;
    }
    return true;
  }
  const ost_command_t* commands() const {
    return bytes_.empty() ? nullptr : reinterpret_cast<const ost_command_t*>(bytes_.data());
  }

 private:
  bool command(ost_command_t& c) {
    if (c.refs != nullptr) {
      std::vector<ost_ref_t>& refs = refs_.emplace_back(c.refs, c.refs + c.ref_count);
      for (ost_ref_t& r : refs) {
        if (r.slot != 0) continue;
        Object* b = find(r.buffer, Kind::buffer, entry_, error_);
        if (b == nullptr) return false;
        r.buffer = inner_of<ost_dbuffer_t>(b);
      }
      c.refs = refs.data();
    }
    if (c.kind == OST_CMD_DISPATCH) {
      Object* x = find(c.executable, Kind::executable, entry_, error_);
      if (x == nullptr) return false;
      c.executable = inner_of<ost_executable_t>(x);
    }
    if (c.kind == OST_CMD_CMDLIST) {
      Object* l = find(c.cmdlist, Kind::cmdlist, entry_, error_);
      if (l == nullptr) return false;
      c.cmdlist = inner_of<ost_cmdlist_t>(l);
    }
    return true;
  }

  Entry entry_;
  ost_error_t* error_;
  std::vector<unsigned char> bytes_;
  std::deque<std::vector<ost_ref_t>> refs_;
};

void fail_signals(const ost_point_t* signals, uint32_t count, const ost_error_t& why) {
  for (uint32_t i = 0; i < count; ++i) {
    std::string ignored;
    Object* dead = nullptr;
    Object* t = Objects::all().find(signals[i].timeline, Kind::timeline, &ignored, &dead);
    if (t == nullptr) continue;
    const auto& table = t->stack->inner.entries;
    uint64_t value = 0;
    table.timeline_query(inner_of<ost_timeline_t>(t), &value, nullptr);
    if (value < signals[i].value) table.timeline_fail(inner_of<ost_timeline_t>(t), &why);
  }
}

ost_status_t submit(ost_queue_t* q, const ost_point_t* waits, uint32_t wait_count,
                    const ost_command_t* commands, uint32_t command_count,
                    const ost_point_t* signals, uint32_t signal_count, ost_error_t* error) {
  ost_error_t own{};
  own.size = sizeof own;
  ost_error_t* const to = error != nullptr && error->size >= sizeof own ? error : &own;
  Object* self = find(q, Kind::queue, Entry::queue_submit, to);
  bool reached = false;
  ost_status_t status = kBad;
  if (self != nullptr) {
    Call call{.entry = Entry::queue_submit,
              .self = self,
              .waits = {waits, wait_count},
              .signals = {signals, signal_count},
              .commands = commands,
              .command_count = command_count};
    status = pass(call, to, [&](ost_error_t* e) -> ost_status_t {
      Unwrapped inner(Entry::queue_submit, e);
      std::vector<ost_point_t> w, s;
      if (!inner.points(waits, wait_count, w) || !inner.points(signals, signal_count, s) ||
          !inner.commands(commands, command_count))
        return kBad;
      reached = true;
      return self->stack->inner.entries.queue_submit(inner_of<ost_queue_t>(self), w.data(),
                                                     wait_count, inner.commands(), command_count,
                                                     s.data(), signal_count, e);
    });
  }
  // Rule 7 holds for a submit that a layer refuses too.
  if (status != OST_OK && !reached) fail_signals(signals, signal_count, *to);
  return status;
}

std::vector<std::string> kernels_of(const ost_command_t* commands, uint32_t count) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < count; ++i) {
    const auto& c = *reinterpret_cast<const ost_command_t*>(
        reinterpret_cast<const unsigned char*>(commands) + size_t{i} * commands->size);
    std::string ignored;
    Object* dead = nullptr;
    Object* x = c.kind == OST_CMD_DISPATCH
                    ? Objects::all().find(c.executable, Kind::executable, &ignored, &dead)
                    : nullptr;
    if (x == nullptr) {
      out.emplace_back();
      continue;
    }
    const std::scoped_lock lock(x->mutex);
    out.push_back(x->entries[c.entry]);
  }
  return out;
}

template <class Handle, typename Inner>
void destroy(Handle* handle, Kind kind, Entry entry, Inner&& inner) {
  if (handle == nullptr) return;
  Object* self = find(handle, kind, entry, nullptr);
  if (self == nullptr) return;
  Call call{.entry = entry, .self = self};
  pass(call, nullptr, [&](ost_error_t*) -> ost_status_t {
    inner(self->stack->inner.entries, static_cast<Handle*>(self->inner));
    return OST_OK;
  });
  Objects::all().remove(self);
}

void set_timeline_entries(ost_driver_table_t& t) {
  t.timeline_create = [](ost_device_t* d, uint64_t initial, ost_timeline_t** out,
                         ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::timeline_create, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::timeline_create, .self = self, .value = initial};
    return pass(call, error, [&](ost_error_t* e) {
      ost_timeline_t* inner = nullptr;
      const auto& table = self->stack->inner.entries;
      const auto status = table.timeline_create(inner_of<ost_device_t>(self), initial, &inner, e);
      if (status != OST_OK || inner == nullptr) return status;
      call.made = Objects::all().add(Kind::timeline, inner, self->stack, self);
      *out = handle_of<ost_timeline_t>(call.made);
      return status;
    });
  };
  t.timeline_destroy = [](ost_timeline_t* l) {
    destroy(l, Kind::timeline, Entry::timeline_destroy,
            [](const auto& table, ost_timeline_t* inner) { table.timeline_destroy(inner); });
  };
  t.timeline_query = [](ost_timeline_t* l, uint64_t* out, ost_error_t* error) {
    Object* self = find(l, Kind::timeline, Entry::timeline_query, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::timeline_query, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.timeline_query(inner_of<ost_timeline_t>(self), out, e);
    });
  };
  t.timeline_signal = [](ost_timeline_t* l, uint64_t value, ost_error_t* error) {
    Object* self = find(l, Kind::timeline, Entry::timeline_signal, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::timeline_signal, .self = self, .value = value};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.timeline_signal(inner_of<ost_timeline_t>(self), value, e);
    });
  };
  t.timeline_wait = [](ost_timeline_t* l, uint64_t value, uint64_t timeout_ns, ost_error_t* error) {
    Object* self = find(l, Kind::timeline, Entry::timeline_wait, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::timeline_wait, .self = self, .value = value};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.timeline_wait(inner_of<ost_timeline_t>(self), value,
                                                      timeout_ns, e);
    });
  };
  t.timeline_fail = [](ost_timeline_t* l, const ost_error_t* why) {
    Object* self = find(l, Kind::timeline, Entry::timeline_fail, nullptr);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::timeline_fail, .self = self, .in = why, .in_size = sizeof *why};
    return pass(call, nullptr, [&](ost_error_t*) {
      return self->stack->inner.entries.timeline_fail(inner_of<ost_timeline_t>(self), why);
    });
  };
}

void set_list_entries(ost_driver_table_t& t) {
  t.cmdlist_create = [](ost_device_t* d, const ost_command_t* commands, uint32_t count,
                        uint32_t slot_count, uint32_t var_count, ost_cmdlist_t** out,
                        ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::cmdlist_create, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::cmdlist_create,
              .self = self,
              .size = slot_count,
              .value = var_count,
              .commands = commands,
              .command_count = count};
    return pass(call, error, [&](ost_error_t* e) -> ost_status_t {
      Unwrapped inner(Entry::cmdlist_create, e);
      if (!inner.commands(commands, count)) return kBad;
      ost_cmdlist_t* made = nullptr;
      const auto status = self->stack->inner.entries.cmdlist_create(
          inner_of<ost_device_t>(self), inner.commands(), count, slot_count, var_count, &made, e);
      if (status != OST_OK || made == nullptr) return status;
      call.made = Objects::all().add(Kind::cmdlist, made, self->stack, self);
      call.made->slot_count = slot_count;
      call.made->var_count = var_count;
      call.made->kernels = kernels_of(commands, count);
      *out = handle_of<ost_cmdlist_t>(call.made);
      return status;
    });
  };
  t.cmdlist_destroy = [](ost_cmdlist_t* l) {
    destroy(l, Kind::cmdlist, Entry::cmdlist_destroy,
            [](const auto& table, ost_cmdlist_t* inner) { table.cmdlist_destroy(inner); });
  };
}

}  // namespace

void set_queue_entries(ost_driver_table_t& t) {
  t.queue_create = [](ost_device_t* d, ost_queue_t** out, ost_error_t* error) {
    Object* self = find(d, Kind::device, Entry::queue_create, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::queue_create, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      ost_queue_t* inner = nullptr;
      const auto status =
          self->stack->inner.entries.queue_create(inner_of<ost_device_t>(self), &inner, e);
      if (status != OST_OK || inner == nullptr) return status;
      call.made = Objects::all().add(Kind::queue, inner, self->stack, self);
      *out = handle_of<ost_queue_t>(call.made);
      return status;
    });
  };
  t.queue_destroy = [](ost_queue_t* q) {
    destroy(q, Kind::queue, Entry::queue_destroy,
            [](const auto& table, ost_queue_t* inner) { table.queue_destroy(inner); });
  };
  t.queue_submit = &submit;
  t.profile_enable = [](ost_queue_t* q, uint32_t on, ost_error_t* error) {
    Object* self = find(q, Kind::queue, Entry::profile_enable, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::profile_enable, .self = self, .value = on};
    return pass(call, error, [&](ost_error_t* e) {
      const auto status =
          self->stack->inner.entries.profile_enable(inner_of<ost_queue_t>(self), on, e);
      if (status == OST_OK) self->profiling = on != 0;
      return status;
    });
  };
  t.profile_drain = [](ost_queue_t* q, ost_profile_record_t* out, uint32_t capacity,
                       uint32_t* out_count, ost_error_t* error) {
    Object* self = find(q, Kind::queue, Entry::profile_drain, error);
    if (self == nullptr) return ost_status_t{kBad};
    Call call{.entry = Entry::profile_drain, .self = self};
    return pass(call, error, [&](ost_error_t* e) {
      return self->stack->inner.entries.profile_drain(inner_of<ost_queue_t>(self), out, capacity,
                                                      out_count, e);
    });
  };
  set_timeline_entries(t);
  set_list_entries(t);
}

}  // namespace ost::runtime::layers
