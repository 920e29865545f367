#include "core/runtime/isolate/server.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "core/runtime/call.hpp"
#include "core/runtime/guarded.hpp"
#include "core/runtime/isolate/commands.hpp"
#include "core/runtime/isolate/wire.hpp"
#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime::isolate {
namespace {

template <class T>
T* handle(Reader& in) {
  return reinterpret_cast<T*>(in.get<uint64_t>());
}
uint64_t id_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

class Server {
 public:
  Server(int fd, Plugin plugin) : fd_(fd), plugin_(std::move(plugin)), t_(plugin_.table.entries) {
    host_.size = sizeof host_;
    host_.abi = plugin_.abi;
    host_.context = this;
    host_.log = [](void* self, uint32_t level, ost_str_t message) {
      Writer out;
      out.put(level).bytes(message.data, message.size);
      static_cast<Server*>(self)->send(FrameKind::log, 0, out);
    };
    host_.should_abort = [](void*) -> uint32_t { return 0; };
    host_.option = [](void* self, const char* name) {
      return static_cast<Server*>(self)->option(name);
    };
  }

  void run() {
    Frame frame;
    while (read_frame(fd_, frame)) {
      if (frame.kind == FrameKind::option_answer) {
        const std::scoped_lock lock(mutex_);
        answers_[frame.number] = Reader(std::move(frame.data));
        changed_.notify_all();
      } else if (frame.kind == FrameKind::request) {
        // A thread each: some of them wait for what others do.
        std::thread([this, f = std::move(frame)]() mutable { serve(std::move(f)); }).detach();
      }
      frame = {};
    }
  }

 private:
  void send(FrameKind kind, uint64_t number, const Writer& out) {
    const std::scoped_lock lock(write_);
    write_frame(fd_, kind, number, out.data());
  }

  const char* option(const char* name) {
    if (name == nullptr) return nullptr;
    std::unique_lock lock(mutex_);
    const uint64_t number = next_++;
    lock.unlock();
    Writer out;
    out.text(name);
    send(FrameKind::option, number, out);
    lock.lock();
    changed_.wait(lock, [&] { return answers_.contains(number); });
    Reader answer = std::move(answers_.extract(number).mapped());
    if (!answer.get<bool>()) return nullptr;
    return (options_[name] = answer.text()).c_str();  // lives as long as the driver
  }

  void serve(Frame frame) {
    Reader in(std::move(frame.data));
    const Op op = in.get<Op>();
    Reader arguments(in.bytes());
    ost_error_t error{};
    error.size = sizeof error;
    Writer out;
    ost_status_t status = OST_INTERNAL;
    try {
      status = run_entry(op, arguments, out, &error);
    } catch (const std::exception& e) {
      error.rule = 5;
      std::snprintf(error.message, sizeof error.message, "threw an exception: %.400s", e.what());
    } catch (...) {
      error.rule = 5;
      std::snprintf(error.message, sizeof error.message, "threw an exception");
    }
    Writer reply;
    reply.put(status);
    if (status != OST_OK) reply.put(error);
    for (const uint8_t b : out.data()) reply.put(b);
    send(FrameKind::reply, frame.number, reply);
  }

  template <class T>
  ost_status_t made(ost_status_t status, T* what, Writer& out) {
    out.put(id_of(what));
    return status;
  }

  template <class T>
  static ost_status_t filled(const char* entry, ost_status_t status, const Guarded<T>& info,
                             Writer& out, ost_error_t* e) {
    out.put(info.value());
    const auto ok = info.check(entry);
    if (ok) return status;
    e->rule = ok.error().rule;
    std::snprintf(e->message, sizeof e->message, "%s", ok.error().message.c_str());
    return e->status = ok.error().status;
  }

  ost_status_t run_entry(Op op, Reader& in, Writer& out, ost_error_t* e) {
    switch (op) {
      case Op::buffer_alloc:
      case Op::buffer_free:
      case Op::buffer_write:
      case Op::buffer_read:
      case Op::heap_info:
        return run_memory(op, in, out, e);
      case Op::queue_create:
      case Op::queue_destroy:
      case Op::queue_submit:
      case Op::cmdlist_create:
      case Op::cmdlist_destroy:
      case Op::profile_enable:
      case Op::profile_drain:
        return run_queue(op, in, out, e);
      case Op::timeline_create:
      case Op::timeline_destroy:
      case Op::timeline_query:
      case Op::timeline_signal:
      case Op::timeline_wait:
      case Op::timeline_fail:
        return run_timeline(op, in, out, e);
      case Op::compiler_key:
      case Op::compile:
      case Op::image_check:
      case Op::executable_load:
      case Op::executable_unload:
      case Op::executable_entry:
        return run_compiler(op, in, out, e);
      default:
        return run_device(op, in, out, e);
    }
  }

  ost_status_t run_device(Op op, Reader& in, Writer& out, ost_error_t* e) {
    switch (op) {
      case Op::driver_create: {
        ost_driver_t* d = nullptr;
        const auto status = t_.driver_create(&host_, &d, e);
        return made(status, d, out);
      }
      case Op::driver_destroy:
        t_.driver_destroy(handle<ost_driver_t>(in));
        return OST_OK;
      case Op::device_count: {
        uint32_t count = 0;
        Collect<std::string> reason;
        const auto status = t_.device_count(handle<ost_driver_t>(in), &count, reason.sink(), e);
        out.put(count).text(reason.take());
        return status;
      }
      case Op::device_info: {
        auto* d = handle<ost_driver_t>(in);
        const auto index = in.get<uint32_t>();
        Guarded<ost_device_info_t> info;
        const auto status = t_.device_info(d, index, info.get(), e);
        return filled("device_info", status, info, out, e);
      }
      case Op::device_create: {
        auto* d = handle<ost_driver_t>(in);
        const auto index = in.get<uint32_t>();
        ost_device_t* device = nullptr;
        const auto status = t_.device_create(d, index, &device, e);
        out.put(id_of(device)).put(t_.heap_count(device)).put(can_share(status, device));
        return status;
      }
      case Op::device_destroy:
        t_.device_destroy(handle<ost_device_t>(in));
        return OST_OK;
      case Op::device_status:
        return t_.device_status(handle<ost_device_t>(in), e);
      case Op::link_query: {
        auto* a = handle<ost_device_t>(in);
        const auto b = in.get<ost_device_info_t>();
        ost_link_t link = OST_LINK_NONE;
        const auto status = t_.link_query(a, &b, &link, e);
        out.put(link);
        return status;
      }
      default:
        std::snprintf(e->message, sizeof e->message, "unknown request %u",
                      static_cast<unsigned>(op));
        return OST_INTERNAL;
    }
  }

  // Whether memory of the host can be a buffer of heap 0, so that both see it.
  bool can_share(ost_status_t status, ost_device_t* device) {
    if (status != OST_OK || !plugin_.table.has_import_host) return false;
    Guarded<ost_heap_info_t> heap;
    if (t_.heap_info(device, 0, heap.get(), nullptr) != OST_OK || !heap.is_intact()) return false;
    if ((heap.value().flags & OST_HEAP_HOST_VISIBLE) == 0 ||
        (heap.value().flags & OST_HEAP_COHERENT) == 0)
      return false;
    alignas(4096) static unsigned char page[4096];
    ost_dbuffer_t* b = nullptr;
    if (t_.buffer_import_host(device, page, sizeof page, &b, nullptr) != OST_OK) return false;
    t_.buffer_free(device, b);
    return true;
  }

  ost_status_t run_memory(Op op, Reader& in, Writer& out, ost_error_t* e) {
    auto* device = handle<ost_device_t>(in);
    switch (op) {
      case Op::heap_info: {
        const auto heap = in.get<uint32_t>();
        Guarded<ost_heap_info_t> info;
        const auto status = t_.heap_info(device, heap, info.get(), e);
        return filled("heap_info", status, info, out, e);
      }
      case Op::buffer_alloc: {
        const auto heap = in.get<uint32_t>();
        const auto bytes = in.get<uint64_t>();
        const auto align = in.get<uint32_t>();
        const std::string shared = in.text();
        ost_dbuffer_t* b = nullptr;
        const auto status = shared.empty() ? t_.buffer_alloc(device, heap, bytes, align, &b, e)
                                           : import(device, shared, bytes, &b, e);
        return made(status, b, out);
      }
      case Op::buffer_free: {
        auto* b = handle<ost_dbuffer_t>(in);
        t_.buffer_free(device, b);
        const std::scoped_lock lock(mutex_);
        if (const auto m = mappings_.extract(b)) munmap(m.mapped().first, m.mapped().second);
        return OST_OK;
      }
      case Op::buffer_write: {
        auto* b = handle<ost_dbuffer_t>(in);
        const auto offset = in.get<uint64_t>();
        const auto data = in.bytes();
        return t_.buffer_write(device, b, offset, data.data(), data.size(), e);
      }
      default: {
        auto* b = handle<ost_dbuffer_t>(in);
        const auto offset = in.get<uint64_t>();
        std::vector<uint8_t> data(in.get<uint64_t>());
        const auto status = t_.buffer_read(device, b, offset, data.data(), data.size(), e);
        out.bytes(data.data(), data.size());
        return status;
      }
    }
  }

  ost_status_t import(ost_device_t* device, const std::string& path, uint64_t bytes,
                      ost_dbuffer_t** out, ost_error_t* e) {
    const int memory = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* at = memory >= 0 ? map_shared_memory(memory, bytes) : nullptr;
    if (memory >= 0) ::close(memory);
    if (at == nullptr) {
      std::snprintf(e->message, sizeof e->message, "shared memory %s cannot be mapped",
                    path.c_str());
      return OST_OUT_OF_MEMORY;
    }
    const auto status = t_.buffer_import_host(device, at, bytes, out, e);
    const std::scoped_lock lock(mutex_);
    if (status == OST_OK) {
      mappings_[*out] = {at, bytes == 0 ? 1 : bytes};
    } else {
      munmap(at, bytes == 0 ? 1 : bytes);
    }
    return status;
  }

  ost_status_t run_timeline(Op op, Reader& in, Writer& out, ost_error_t* e) {
    if (op == Op::timeline_create) {
      auto* device = handle<ost_device_t>(in);
      ost_timeline_t* l = nullptr;
      const auto status = t_.timeline_create(device, in.get<uint64_t>(), &l, e);
      return made(status, l, out);
    }
    auto* l = handle<ost_timeline_t>(in);
    switch (op) {
      case Op::timeline_destroy:
        t_.timeline_destroy(l);
        return OST_OK;
      case Op::timeline_query: {
        uint64_t value = 0;
        const auto status = t_.timeline_query(l, &value, e);
        out.put(value);
        return status;
      }
      case Op::timeline_signal:
        return t_.timeline_signal(l, in.get<uint64_t>(), e);
      case Op::timeline_wait: {
        const auto value = in.get<uint64_t>();
        return t_.timeline_wait(l, value, in.get<uint64_t>(), e);
      }
      default: {
        const auto why = in.get<ost_error_t>();
        return t_.timeline_fail(l, &why);
      }
    }
  }

  ost_status_t run_queue(Op op, Reader& in, Writer& out, ost_error_t* e) {
    switch (op) {
      case Op::queue_create: {
        ost_queue_t* q = nullptr;
        const auto status = t_.queue_create(handle<ost_device_t>(in), &q, e);
        return made(status, q, out);
      }
      case Op::queue_destroy:
        t_.queue_destroy(handle<ost_queue_t>(in));
        return OST_OK;
      case Op::queue_submit: {
        auto* q = handle<ost_queue_t>(in);
        const std::vector<ost_point_t> waits = read_points(in), signals = read_points(in);
        const Commands c(in);
        if (!in.ok()) return OST_INTERNAL;
        return t_.queue_submit(q, waits.data(), static_cast<uint32_t>(waits.size()), c.data(),
                               c.count(), signals.data(), static_cast<uint32_t>(signals.size()), e);
      }
      case Op::cmdlist_create: {
        auto* device = handle<ost_device_t>(in);
        const auto slots = in.get<uint32_t>();
        const auto vars = in.get<uint32_t>();
        const Commands c(in);
        if (!in.ok()) return OST_INTERNAL;
        ost_cmdlist_t* l = nullptr;
        const auto status = t_.cmdlist_create(device, c.data(), c.count(), slots, vars, &l, e);
        return made(status, l, out);
      }
      case Op::cmdlist_destroy:
        t_.cmdlist_destroy(handle<ost_cmdlist_t>(in));
        return OST_OK;
      case Op::profile_enable: {
        auto* q = handle<ost_queue_t>(in);
        return t_.profile_enable(q, in.get<uint32_t>(), e);
      }
      default: {
        auto* q = handle<ost_queue_t>(in);
        std::vector<ost_profile_record_t> records(in.get<uint32_t>());
        for (auto& r : records) r.size = sizeof r;
        uint32_t count = 0;
        const auto status =
            t_.profile_drain(q, records.data(), static_cast<uint32_t>(records.size()), &count, e);
        out.put(count).bytes(records.data(), count * sizeof records[0]);
        return status;
      }
    }
  }

  ost_status_t run_compiler(Op op, Reader& in, Writer& out, ost_error_t* e) {
    switch (op) {
      case Op::compiler_key: {
        auto* d = handle<ost_driver_t>(in);
        const std::string target = in.text();
        Collect<std::string> key;
        const auto status = t_.compiler_key(d, str(target), key.sink(), e);
        out.text(key.take());
        return status;
      }
      case Op::compile:
        return compile(in, out, e);
      case Op::image_check: {
        auto* d = handle<ost_driver_t>(in);
        const auto info = in.get<ost_device_info_t>();
        const auto image = in.bytes();
        ost_fit_t fit = OST_FIT_UNUSABLE;
        Collect<std::string> reason;
        const auto status =
            t_.image_check(d, &info, {image.data(), image.size()}, &fit, reason.sink(), e);
        out.put(fit).text(reason.take());
        return status;
      }
      case Op::executable_load: {
        auto* device = handle<ost_device_t>(in);
        const auto image = in.bytes();
        const std::string path = in.text();
        ost_executable_t* x = nullptr;
        const auto status =
            t_.executable_load(device, {image.data(), image.size()}, str(path), &x, e);
        return made(status, x, out);
      }
      case Op::executable_unload:
        t_.executable_unload(handle<ost_executable_t>(in));
        return OST_OK;
      default: {
        auto* x = handle<ost_executable_t>(in);
        uint32_t entry = 0;
        const std::string name = in.text();
        const auto status = t_.executable_entry(x, str(name), &entry, e);
        out.put(entry);
        return status;
      }
    }
  }

  ost_status_t compile(Reader& in, Writer& out, ost_error_t* e) {
    auto* d = handle<ost_driver_t>(in);
    ost_compile_t job{};
    job.size = sizeof job;
    job.form = in.get<uint32_t>();
    const auto code = in.bytes();
    const std::string entry = in.text(), target = in.text(), options = in.text();
    job.code = {code.data(), code.size()};
    job.entry = str(entry);
    job.target = str(target);
    job.options = str(options);
    Collect<std::vector<uint8_t>> image;
    Collect<std::string> log;
    job.image = image.sink();
    job.log = log.sink();
    const auto status = t_.compile(d, &job, e);
    const auto bytes = image.take();
    out.bytes(bytes.data(), bytes.size()).text(log.take());
    return status;
  }

  const int fd_;
  const Plugin plugin_;
  const ost_driver_table_t& t_;
  ost_host_table_t host_{};
  std::mutex write_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  uint64_t next_ = 1;
  std::map<uint64_t, Reader> answers_;
  std::map<std::string, std::string> options_;
  std::map<ost_dbuffer_t*, std::pair<void*, uint64_t>> mappings_;
};

}  // namespace

int serve_plugin(const std::string& library, int fd) {
  ::signal(SIGPIPE, SIG_IGN);
  ::unsetenv("OSTINATO_ISOLATE");  // this is the process of its own
  LoaderOptions options;
  options.files = {library};
  options.search = false;
  options.environment = false;
  options.filter = "*";
  const LoadResult loaded = load_plugins(options);
  const LoadRecord& record = loaded.records.front();
  Writer hello;
  hello.put(record.status == LoadStatus::loaded);
  if (loaded.plugins.empty()) {
    hello.put(record.stage).put(record.rule).text(record.reason);
  } else {
    const Plugin& p = *loaded.plugins.front();
    hello.put(p.abi).text(p.name).text(p.version).text(p.vendor);
    hello.put(p.table.has_command_lists).put(p.table.has_profiling).put(p.table.has_link_query);
  }
  Writer frame;
  frame.bytes(hello.data().data(), hello.data().size());
  if (!write_frame(fd, FrameKind::hello, 0, frame.data()) || loaded.plugins.empty()) return 0;
  Server server(fd, *loaded.plugins.front());
  server.run();
  _exit(0);  // calls may still be running
}

}  // namespace ost::runtime::isolate
