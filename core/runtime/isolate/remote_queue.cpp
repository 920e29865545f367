// Queues, timelines and command lists of an isolated driver.
#include <algorithm>

#include "core/runtime/isolate/remote.hpp"

namespace ost::runtime::isolate {
namespace {

RemoteTimeline& timeline(ost_timeline_t* l) { return *reinterpret_cast<RemoteTimeline*>(l); }
Remote& remote(void* handle) { return *static_cast<Remote*>(handle); }

ost_status_t submit(ost_queue_t* q, const ost_point_t* waits, uint32_t wait_count,
                    const ost_command_t* commands, uint32_t command_count,
                    const ost_point_t* signals, uint32_t signal_count, ost_error_t* error) {
  if (q == nullptr) return refuse(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
  Writer out;
  out.put(remote(q).id);
  write_points(out, waits, wait_count, id_of);
  write_points(out, signals, signal_count, id_of);
  if (!write_commands(out, commands, command_count, id_of)) {
    const ost_status_t status = refuse(error, OST_INCOMPATIBLE, 2,
                                       "a command has another size, or uses a field, that is not "
                                       "known");
    ost_error_t why{};
    why.size = sizeof why;
    why.status = status;
    why.rule = 2;
    for (uint32_t i = 0; i < signal_count; ++i) {
      remote(signals[i].timeline)
          .c->call(Op::timeline_fail, Writer().put(id_of(signals[i].timeline)).put(why),
                   time_limit_ms());
    }
    return status;
  }
  // Work that waits may wait for long; only work that could run at once can be told to hang.
  return give(remote(q).c->call(Op::queue_submit, out, wait_count > 0 ? kNoLimit : time_limit_ms()),
              error);
}

void set_timelines(ost_driver_table_t& t) {
  t.timeline_create = [](ost_device_t* d, uint64_t initial, ost_timeline_t** out,
                         ost_error_t* error) {
    Reply r = remote(d).c->call(Op::timeline_create, Writer().put(remote(d).id).put(initial),
                                time_limit_ms());
    if (r.status == OST_OK) {
      auto* made = new RemoteTimeline;
      made->c = remote(d).c;
      made->id = r.data.get<uint64_t>();
      made->seen = initial;
      *out = reinterpret_cast<ost_timeline_t*>(made);
    }
    return give(r, error);
  };
  t.timeline_destroy = [](ost_timeline_t* l) {
    if (l == nullptr) return;
    timeline(l).c->call(Op::timeline_destroy, Writer().put(timeline(l).id), time_limit_ms());
    delete &timeline(l);
  };
  t.timeline_query = [](ost_timeline_t* l, uint64_t* out, ost_error_t* error) {
    Reply r =
        timeline(l).c->call(Op::timeline_query, Writer().put(timeline(l).id), time_limit_ms());
    if (r.data.left() >= sizeof(uint64_t)) timeline(l).seen = r.data.get<uint64_t>();
    *out = timeline(l).seen;
    return give(r, error);
  };
  t.timeline_signal = [](ost_timeline_t* l, uint64_t value, ost_error_t* error) {
    return give(timeline(l).c->call(Op::timeline_signal, Writer().put(timeline(l).id).put(value),
                                    time_limit_ms()),
                error);
  };
  t.timeline_wait = [](ost_timeline_t* l, uint64_t value, uint64_t timeout_ns, ost_error_t* error) {
    const uint64_t limit =
        timeout_ns == UINT64_MAX ? kNoLimit : timeout_ns / 1'000'000 + time_limit_ms();
    return give(timeline(l).c->call(Op::timeline_wait,
                                    Writer().put(timeline(l).id).put(value).put(timeout_ns), limit),
                error);
  };
  t.timeline_fail = [](ost_timeline_t* l, const ost_error_t* why) -> ost_status_t {
    if (l == nullptr || why == nullptr || why->size < sizeof *why) return OST_INVALID_ARGUMENT;
    ost_error_t known = *why;
    known.size = sizeof known;
    const Reply r = timeline(l).c->call(Op::timeline_fail, Writer().put(timeline(l).id).put(known),
                                        time_limit_ms());
    return r.status == OST_DEVICE_LOST ? OST_OK + 0u : r.status;  // what has gone has failed
  };
}

void set_profiling(ost_driver_table_t& t) {
  t.profile_enable = [](ost_queue_t* q, uint32_t on, ost_error_t* error) {
    return give(
        remote(q).c->call(Op::profile_enable, Writer().put(remote(q).id).put(on), time_limit_ms()),
        error);
  };
  t.profile_drain = [](ost_queue_t* q, ost_profile_record_t* out, uint32_t capacity,
                       uint32_t* out_count, ost_error_t* error) {
    Reply r = remote(q).c->call(Op::profile_drain, Writer().put(remote(q).id).put(capacity),
                                time_limit_ms());
    if (r.status == OST_OK) {
      const uint32_t count = std::min(r.data.get<uint32_t>(), capacity);
      const auto bytes = r.data.bytes();
      const size_t stride = count > 0 ? out->size : 0;
      for (uint32_t i = 0; i < count && (i + 1) * sizeof *out <= bytes.size(); ++i) {
        auto* at = reinterpret_cast<unsigned char*>(out) + i * stride;
        std::memcpy(at, bytes.data() + i * sizeof *out, std::min(stride, sizeof *out));
        std::memcpy(at, &stride, sizeof(uint32_t));
      }
      *out_count = count;
    }
    return give(r, error);
  };
}

}  // namespace

void set_remote_queue(ost_driver_table_t& t) {
  t.queue_create = [](ost_device_t* d, ost_queue_t** out, ost_error_t* error) {
    Reply r = remote(d).c->call(Op::queue_create, Writer().put(remote(d).id), time_limit_ms());
    if (r.status == OST_OK)
      *out = reinterpret_cast<ost_queue_t*>(new Remote{remote(d).c, r.data.get<uint64_t>()});
    return give(r, error);
  };
  t.queue_destroy = [](ost_queue_t* q) {
    if (q == nullptr) return;
    remote(q).c->call(Op::queue_destroy, Writer().put(remote(q).id), time_limit_ms());
    delete &remote(q);
  };
  t.queue_submit = &submit;
  t.cmdlist_create = [](ost_device_t* d, const ost_command_t* commands, uint32_t count,
                        uint32_t slot_count, uint32_t var_count, ost_cmdlist_t** out,
                        ost_error_t* error) {
    Writer w;
    w.put(remote(d).id).put(slot_count).put(var_count);
    if (!write_commands(w, commands, count, id_of))
      return refuse(error, OST_INCOMPATIBLE, 2, "a command of a size or field that is not known");
    Reply r = remote(d).c->call(Op::cmdlist_create, w, time_limit_ms());
    if (r.status == OST_OK)
      *out = reinterpret_cast<ost_cmdlist_t*>(new Remote{remote(d).c, r.data.get<uint64_t>()});
    return give(r, error);
  };
  t.cmdlist_destroy = [](ost_cmdlist_t* l) {
    if (l == nullptr) return;
    remote(l).c->call(Op::cmdlist_destroy, Writer().put(remote(l).id), time_limit_ms());
    delete &remote(l);
  };
  set_timelines(t);
  set_profiling(t);
}

}  // namespace ost::runtime::isolate
