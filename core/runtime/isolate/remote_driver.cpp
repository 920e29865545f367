// Driver, devices, compiler and executables of an isolated driver.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "core/runtime/isolate/remote.hpp"

namespace ost::runtime::isolate {
namespace {

template <class T, class Handle>
T* as(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}

ost_status_t null_handle(ost_error_t* error) {
  return refuse(error, OST_INVALID_ARGUMENT, 11, "a handle is null");
}

// Rule 2, for what is sent as this side knows it.
template <class T>
ost_status_t check_size(const T* in, const char* type, ost_error_t* error) {
  if (in == nullptr || in->size < sizeof *in)
    return refuse(error, OST_INVALID_ARGUMENT, 2, fmt::format("{} is too short", type).c_str());
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  if (std::all_of(bytes + sizeof *in, bytes + in->size, [](unsigned char b) { return b == 0; }))
    return OST_OK;
  return refuse(error, OST_INCOMPATIBLE, 2,
                fmt::format("{} uses a field that this host does not know", type).c_str());
}

void put_sink(const ost_sink_t& sink, std::string_view text) {
  if (sink.write != nullptr) sink.write(sink.context, text.data(), text.size());
}

Reply start_driver(RemoteDriver& d, std::shared_ptr<Connection> c) {
  c->set_host(d.host);
  Reply reply = c->call(Op::driver_create, {}, time_limit_ms());
  if (reply.status == OST_OK) {
    d.id = reply.data.get<uint64_t>();
    d.c = std::move(c);
  }
  return reply;
}

// The driver's process, made again if it has ended, and the driver's number in it.
std::pair<std::shared_ptr<Connection>, uint64_t> living(RemoteDriver& d) {
  const std::scoped_lock lock(d.mutex);
  if (!d.c->is_alive()) {
    if (auto again = Connection::start(d.spec->library)) (void)start_driver(d, std::move(*again));
  }
  return {d.c, d.id};
}

// An entry of the driver: nothing but the handle goes first.
Reply driver_call(ost_driver_t* handle, Op op, const std::function<void(Writer&)>& more) {
  const auto [c, id] = living(*as<RemoteDriver>(handle));
  Writer out;
  out.put(id);
  if (more) more(out);
  return c->call(op, out, time_limit_ms());
}

Reply object_call(const Remote& r, Op op, const std::function<void(Writer&)>& more = {}) {
  Writer out;
  out.put(r.id);
  if (more) more(out);
  return r.c->call(op, out, time_limit_ms());
}

template <class T, class Handle>
void destroy(Handle* handle, Op op) {
  if (handle == nullptr) return;
  T* object = as<T>(handle);
  object_call(*object, op);
  delete object;
}

void set_devices(ost_driver_table_t& t) {
  t.device_count = [](ost_driver_t* d, uint32_t* out, ost_sink_t reason, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    Reply r = driver_call(d, Op::device_count, {});
    if (r.status == OST_OK) {
      *out = r.data.get<uint32_t>();
      put_sink(reason, r.data.text());
    }
    return give(r, error);
  };
  t.device_info = [](ost_driver_t* d, uint32_t index, ost_device_info_t* out, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    if (out == nullptr || out->size < sizeof *out)
      return refuse(error, OST_INVALID_ARGUMENT, 2, "ost_device_info_t is too short");
    Reply r = driver_call(d, Op::device_info, [&](Writer& w) { w.put(index); });
    if (r.status == OST_OK) {
      const uint32_t size = out->size;
      *out = r.data.get<ost_device_info_t>();
      out->size = size;
    }
    return give(r, error);
  };
  t.device_create = [](ost_driver_t* d, uint32_t index, ost_device_t** out, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    const auto [c, id] = living(*as<RemoteDriver>(d));
    Reply r = c->call(Op::device_create, Writer().put(id).put(index), time_limit_ms());
    if (r.status == OST_OK) {
      auto* made = new RemoteDevice;
      made->c = c;
      made->id = r.data.get<uint64_t>();
      made->heaps = r.data.get<uint32_t>();
      made->shares = r.data.get<bool>();
      *out = reinterpret_cast<ost_device_t*>(made);
    }
    return give(r, error);
  };
  t.device_destroy = [](ost_device_t* d) { destroy<RemoteDevice>(d, Op::device_destroy); };
  t.device_status = [](ost_device_t* d, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    return give(object_call(*as<RemoteDevice>(d), Op::device_status), error);
  };
  t.link_query = [](ost_device_t* a, const ost_device_info_t* b, ost_link_t* out,
                    ost_error_t* error) {
    if (a == nullptr) return null_handle(error);
    if (const auto bad = check_size(b, "ost_device_info_t", error); bad != OST_OK) return bad;
    Reply r = object_call(*as<RemoteDevice>(a), Op::link_query, [&](Writer& w) {
      ost_device_info_t info = *b;
      info.size = sizeof info;
      w.put(info);
    });
    // What the driver could import from the host's process is not there in its own.
    if (r.status == OST_OK) *out = std::min<ost_link_t>(r.data.get<ost_link_t>(), OST_LINK_COPY);
    return give(r, error);
  };
}

void set_compiler(ost_driver_table_t& t) {
  t.compiler_key = [](ost_driver_t* d, ost_str_t target, ost_sink_t out, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    Reply r =
        driver_call(d, Op::compiler_key, [&](Writer& w) { w.bytes(target.data, target.size); });
    if (r.status == OST_OK) put_sink(out, r.data.text());
    return give(r, error);
  };
  t.compile = [](ost_driver_t* d, const ost_compile_t* job, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    if (const auto bad = check_size(job, "ost_compile_t", error); bad != OST_OK) return bad;
    Reply r = driver_call(d, Op::compile, [&](Writer& w) {
      w.put(job->form).bytes(job->code.data, job->code.size);
      for (const ost_str_t& s : {job->entry, job->target, job->options}) w.bytes(s.data, s.size);
    });
    if (r.status == OST_OK) {
      const auto image = r.data.bytes();
      if (job->image.write != nullptr && !image.empty())
        job->image.write(job->image.context, image.data(), image.size());
      put_sink(job->log, r.data.text());
    }
    return give(r, error);
  };
  t.image_check = [](ost_driver_t* d, const ost_device_info_t* info, ost_bytes_t image,
                     ost_fit_t* out, ost_sink_t reason, ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    if (const auto bad = check_size(info, "ost_device_info_t", error); bad != OST_OK) return bad;
    Reply r = driver_call(d, Op::image_check, [&](Writer& w) {
      ost_device_info_t known = *info;
      known.size = sizeof known;
      w.put(known).bytes(image.data, image.size);
    });
    if (r.status == OST_OK) {
      *out = r.data.get<ost_fit_t>();
      put_sink(reason, r.data.text());
    }
    return give(r, error);
  };
  t.executable_load = [](ost_device_t* d, ost_bytes_t image, ost_str_t path, ost_executable_t** out,
                         ost_error_t* error) {
    if (d == nullptr) return null_handle(error);
    Reply r = object_call(*as<RemoteDevice>(d), Op::executable_load, [&](Writer& w) {
      w.bytes(image.data, image.size).bytes(path.data, path.size);
    });
    if (r.status == OST_OK) {
      *out = reinterpret_cast<ost_executable_t*>(
          new Remote{as<RemoteDevice>(d)->c, r.data.get<uint64_t>()});
    }
    return give(r, error);
  };
  t.executable_unload = [](ost_executable_t* x) { destroy<Remote>(x, Op::executable_unload); };
  t.executable_entry = [](ost_executable_t* x, ost_str_t name, uint32_t* out, ost_error_t* error) {
    if (x == nullptr) return null_handle(error);
    Reply r = object_call(*as<Remote>(x), Op::executable_entry,
                          [&](Writer& w) { w.bytes(name.data, name.size); });
    if (r.status == OST_OK) *out = r.data.get<uint32_t>();
    return give(r, error);
  };
}

}  // namespace

uint64_t id_of(const void* handle) {
  return handle == nullptr ? 0 : static_cast<const Remote*>(handle)->id;
}

ost_status_t refuse(ost_error_t* error, ost_status_t status, uint32_t rule, const char* text) {
  Reply r;
  r.status = status;
  r.error.size = sizeof r.error;
  r.error.status = status;
  r.error.rule = rule;
  std::snprintf(r.error.message, sizeof r.error.message, "%s", text);
  return give(r, error);
}

ost_status_t create_remote_driver(Spec& spec, const ost_host_table_t* host, ost_driver_t** out,
                                  ost_error_t* error) {
  auto d = std::make_unique<RemoteDriver>();
  d->spec = &spec;
  d->host = host;
  std::shared_ptr<Connection> c;
  {
    const std::scoped_lock lock(spec.mutex);
    c = std::move(spec.spare);
  }
  if (!c || !c->is_alive()) {
    auto made = Connection::start(spec.library);
    if (!made) return refuse(error, OST_UNAVAILABLE, 0, made.error().message.c_str());
    c = std::move(*made);
  }
  const Reply reply = start_driver(*d, std::move(c));
  if (reply.status == OST_OK) *out = reinterpret_cast<ost_driver_t*>(d.release());
  return give(reply, error);
}

void set_remote_driver(ost_driver_table_t& t) {
  t.driver_destroy = [](ost_driver_t* d) { destroy<RemoteDriver>(d, Op::driver_destroy); };
  t.get_extension = nullptr;
  set_devices(t);
  set_compiler(t);
}

}  // namespace ost::runtime::isolate
