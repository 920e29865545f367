// The layer `trace`: what happened when, as a file that Perfetto and chrome://tracing open
// (OSTINATO_TRACE_FILE). One process of the picture is one device, one of its threads a queue; the
// compiler and blocking copies have threads of their own.
//
// Kernels have their own times where the driver has profiling and the host does not use it; else
// the time of the submit is all that is known.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>

#include "core/runtime/env.hpp"
#include "core/runtime/layers/layer.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime::layers {
namespace {

constexpr size_t kMostEvents = 1u << 20;

uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

struct Event {
  std::string name;
  const char* category;
  uint64_t track;  // id of a device or driver
  uint64_t lane;   // id of a queue; 0: compiler, 1: copies, 2: waits
  uint64_t start_ns, end_ns;
  uint64_t bytes;
};

// Of the process; every driver that ends writes the whole file again.
class Recorder {
 public:
  static Recorder& all() {
    static Recorder* const instance = new Recorder;
    return *instance;
  }

  void add(Event event) {
    const std::scoped_lock lock(mutex_);
    if (events_.size() < kMostEvents) {
      events_.push_back(std::move(event));
    } else {
      ++dropped_;
    }
  }
  void name_track(uint64_t track, std::string name) {
    const std::scoped_lock lock(mutex_);
    tracks_.emplace_back(track, std::move(name));
  }

  void write() {
    const std::string file = env("OSTINATO_TRACE_FILE").value_or("ostinato-trace.json");
    const std::string part = file + ".part";
    const std::scoped_lock lock(mutex_);
    std::ofstream out(part);
    out << "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": " << dropped_
        << "}, \"traceEvents\": [\n";
    const char* comma = "";
    for (const auto& [track, name] : tracks_) {
      out << comma
          << fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})",
                         track, json_text(name));
      comma = ",\n";
    }
    for (const Event& e : events_) {
      out << comma
          << fmt::format(
                 R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"bytes":{}}}}})",
                 json_text(e.name), e.category, e.track, e.lane,
                 static_cast<double>(e.start_ns) / 1e3,
                 static_cast<double>(e.end_ns - e.start_ns) / 1e3, e.bytes);
      comma = ",\n";
    }
    out << "\n]}\n";
    out.close();
    if (!out || std::rename(part.c_str(), file.c_str()) != 0)
      log(LogLevel::warning, "trace: {} cannot be written", file);
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<std::pair<uint64_t, std::string>> tracks_;
  uint64_t dropped_ = 0;
};

uint64_t track_of(const Object* o) {
  while (o->kind != Kind::device && o->parent != nullptr) o = o->parent;
  return o->id;
}

// Start times of the calls that run on this thread, innermost last.
thread_local std::vector<uint64_t> starts;

class Trace : public Layer {
 public:
  explicit Trace(Stack& stack) : stack_(stack) {}

  std::optional<Error> before(Call& call) override {
    if (call.entry == Entry::driver_destroy) Recorder::all().write();
    if (call.entry == Entry::queue_destroy) drain(call.self, {});
    starts.push_back(now_ns());
    return std::nullopt;
  }

  void after(const Call& call, ost_status_t status) override {
    const uint64_t start = starts.back();
    starts.pop_back();
    const uint64_t track = track_of(call.self);
    const auto add = [&](std::string name, const char* category, uint64_t lane, uint64_t bytes) {
      if (status != OST_OK) name += fmt::format(" ({})", status_name(status));
      Recorder::all().add({std::move(name), category, track, lane, start, now_ns(), bytes});
    };
    switch (call.entry) {
      case Entry::device_create:
        if (call.made != nullptr)
          Recorder::all().name_track(call.made->id,
                                     fmt::format("{}:{}", stack_.driver, call.value));
        break;
      case Entry::device_count:
        Recorder::all().name_track(track, stack_.driver + " driver");
        break;
      case Entry::compile:
        add(fmt::format("compile {}", call.text), "compile", 0, 0);
        break;
      case Entry::executable_load:
        add("load", "compile", 0, call.size);
        break;
      case Entry::buffer_write:
      case Entry::buffer_read:
        if (call.size > 0)
          add(call.entry == Entry::buffer_write ? "write" : "read", "copy", 1, call.size);
        break;
      case Entry::timeline_wait:
        add(fmt::format("wait for {} of {}", call.value, to_string(*call.self)), "wait", 2, 0);
        break;
      case Entry::queue_create:
        if (call.made != nullptr && stack_.inner.has_profiling) enable(call.made);
        break;
      case Entry::queue_submit:
        add(fmt::format("submit {} commands", call.command_count), "submit", call.self->id, 0);
        drain(call.self, names_of(call));
        break;
      default:
        break;
    }
  }

 private:
  void enable(const Object* queue) {
    stack_.inner.entries.profile_enable(static_cast<ost_queue_t*>(queue->inner), 1, nullptr);
  }

  // Names by command index: those of the submit, or of the one list that it replays.
  static std::vector<std::string> names_of(const Call& call) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < call.command_count; ++i) {
      const auto& c = *reinterpret_cast<const ost_command_t*>(
          reinterpret_cast<const unsigned char*>(call.commands) + size_t{i} * call.commands->size);
      std::string why;
      Object* dead = nullptr;
      if (c.kind == OST_CMD_CMDLIST) {
        const Object* l = Objects::all().find(c.cmdlist, Kind::cmdlist, &why, &dead);
        if (l != nullptr && call.command_count == 1) return l->kernels;
      }
      Object* x = c.kind == OST_CMD_DISPATCH
                      ? Objects::all().find(c.executable, Kind::executable, &why, &dead)
                      : nullptr;
      if (x != nullptr) {
        const std::scoped_lock lock(x->mutex);
        out.push_back(x->entries[c.entry]);
      } else {
        out.emplace_back();
      }
    }
    return out;
  }

  void drain(Object* queue, const std::vector<std::string>& names) {
    if (!stack_.inner.has_profiling || queue->profiling) return;  // the host reads them itself
    constexpr uint32_t kChunk = 256;
    ost_profile_record_t records[kChunk] = {};
    for (uint32_t count = kChunk; count == kChunk;) {
      for (auto& r : records) r.size = sizeof r;
      count = 0;
      if (stack_.inner.entries.profile_drain(static_cast<ost_queue_t*>(queue->inner), records,
                                             kChunk, &count, nullptr) != OST_OK)
        return;
      for (uint32_t i = 0; i < count; ++i) {
        const auto& r = records[i];
        const std::string name = r.command < names.size() ? names[r.command] : "";
        Recorder::all().add({name.empty() ? "kernel" : name, "kernel", track_of(queue), queue->id,
                             r.start_ns, r.end_ns, 0});
      }
    }
  }

  Stack& stack_;
};

}  // namespace

std::unique_ptr<Layer> make_trace(Stack& stack) { return std::make_unique<Trace>(stack); }

}  // namespace ost::runtime::layers
