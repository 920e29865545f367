// Memory of an isolated driver: of both processes where the driver can import, else copied through
// the socket.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/runtime/isolate/remote.hpp"

namespace ost::runtime::isolate {
namespace {

RemoteDevice& device(ost_device_t* d) { return *reinterpret_cast<RemoteDevice*>(d); }
RemoteBuffer& buffer(ost_dbuffer_t* b) { return *reinterpret_cast<RemoteBuffer*>(b); }

ost_status_t check_range(const RemoteBuffer& b, uint64_t offset, uint64_t size,
                         ost_error_t* error) {
  if (offset <= b.bytes && size <= b.bytes - offset) return OST_OK;
  return refuse(
      error, OST_INVALID_ARGUMENT, 8,
      fmt::format("{} bytes at {} are outside a buffer of {} bytes", size, offset, b.bytes)
          .c_str());
}

ost_status_t alloc(ost_device_t* d, uint32_t heap, uint64_t bytes, uint32_t align,
                   ost_dbuffer_t** out, ost_error_t* error) {
  if ((align & (align - 1)) != 0)
    return refuse(error, OST_INVALID_ARGUMENT, 8, "the alignment is no power of two");
  auto made = std::make_unique<RemoteBuffer>();
  made->c = device(d).c;
  made->bytes = bytes;
  std::string path;
  int memory = -1;
  // A mapping begins at a page, which is as aligned as anybody asks for.
  if (device(d).shares && heap == 0 && align <= 4096) {
    memory = make_shared_memory(bytes);
    if (memory >= 0) made->at = static_cast<unsigned char*>(map_shared_memory(memory, bytes));
    if (made->at == nullptr) {
      if (memory >= 0) ::close(memory);
      return refuse(error, OST_OUT_OF_MEMORY, 0,
                    fmt::format("no shared memory of {} bytes", bytes).c_str());
    }
    path = fmt::format("/proc/{}/fd/{}", ::getpid(), memory);
  }
  const Reply r = made->c->call(
      Op::buffer_alloc, Writer().put(device(d).id).put(heap).put(bytes).put(align).text(path),
      time_limit_ms());
  if (memory >= 0) ::close(memory);
  if (r.status == OST_OK) {
    Reader data = r.data;
    made->id = data.get<uint64_t>();
    *out = reinterpret_cast<ost_dbuffer_t*>(made.release());
  }
  return give(r, error);
}

// Nothing is copied, but whatever was submitted before has ended when this returns.
ost_status_t settle(const RemoteDevice& d, const RemoteBuffer& b, ost_error_t* error) {
  return give(d.c->call(Op::buffer_read,
                        Writer().put(d.id).put(b.id).put(uint64_t{0}).put(uint64_t{0}), kNoLimit),
              error);
}

}  // namespace

RemoteBuffer::~RemoteBuffer() {
  if (at != nullptr) munmap(at, bytes == 0 ? 1 : bytes);
}

void set_remote_memory(ost_driver_table_t& t) {
  t.heap_count = [](ost_device_t* d) { return d == nullptr ? 0u : device(d).heaps; };
  t.heap_info = [](ost_device_t* d, uint32_t heap, ost_heap_info_t* out, ost_error_t* error) {
    Reply r =
        device(d).c->call(Op::heap_info, Writer().put(device(d).id).put(heap), time_limit_ms());
    if (r.status == OST_OK) {
      const auto info = r.data.get<ost_heap_info_t>();
      out->bytes = info.bytes;
      out->flags = info.flags;
      // What the other process maps is not mapped here.
      if (!device(d).shares || heap != 0)
        out->flags &= ~uint32_t{OST_HEAP_HOST_VISIBLE | OST_HEAP_COHERENT | OST_HEAP_CACHED};
    }
    return give(r, error);
  };
  t.buffer_alloc = &alloc;
  t.buffer_free = [](ost_device_t* d, ost_dbuffer_t* b) {
    if (b == nullptr) return;
    RemoteBuffer* object = &buffer(b);
    object->c->call(Op::buffer_free, Writer().put(device(d).id).put(object->id), time_limit_ms());
    delete object;
  };
  t.buffer_map = [](ost_dbuffer_t* b, uint64_t offset, uint64_t size, void** out,
                    ost_error_t* error) -> ost_status_t {
    if (const auto status = check_range(buffer(b), offset, size, error); status != OST_OK)
      return status;
    if (buffer(b).at == nullptr)
      return refuse(error, OST_INVALID_ARGUMENT, 8, "the heap is not host visible");
    if (!buffer(b).c->is_alive())
      return refuse(error, OST_DEVICE_LOST, 7, "the driver's process has ended");
    *out = buffer(b).at + offset;
    return OST_OK;
  };
  t.buffer_unmap = [](ost_dbuffer_t*, ost_error_t*) -> ost_status_t { return OST_OK; };
  t.buffer_flush = [](ost_dbuffer_t* b, uint64_t offset, uint64_t size, ost_error_t* error) {
    return check_range(buffer(b), offset, size, error);  // shared memory is coherent
  };
  t.buffer_invalidate = t.buffer_flush;
  t.buffer_import_host = nullptr;  // the memory of this process is not the other's
  t.buffer_write = [](ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, const void* data,
                      uint64_t size, ost_error_t* error) -> ost_status_t {
    if (const auto status = check_range(buffer(b), offset, size, error); status != OST_OK)
      return status;
    if (buffer(b).at == nullptr) {
      return give(
          device(d).c->call(
              Op::buffer_write,
              Writer().put(device(d).id).put(buffer(b).id).put(offset).bytes(data, size), kNoLimit),
          error);
    }
    const ost_status_t status = settle(device(d), buffer(b), error);
    if (status == OST_OK && size > 0) std::memcpy(buffer(b).at + offset, data, size);
    return status;
  };
  t.buffer_read = [](ost_device_t* d, ost_dbuffer_t* b, uint64_t offset, void* data, uint64_t size,
                     ost_error_t* error) -> ost_status_t {
    if (const auto status = check_range(buffer(b), offset, size, error); status != OST_OK)
      return status;
    if (buffer(b).at != nullptr) {
      const ost_status_t status = settle(device(d), buffer(b), error);
      if (status == OST_OK && size > 0) std::memcpy(data, buffer(b).at + offset, size);
      return status;
    }
    Reply r = device(d).c->call(Op::buffer_read,
                                Writer().put(device(d).id).put(buffer(b).id).put(offset).put(size),
                                kNoLimit);
    if (r.status == OST_OK) {
      const auto bytes = r.data.bytes();
      if (bytes.size() == size && size > 0) std::memcpy(data, bytes.data(), size);
    }
    return give(r, error);
  };
}

}  // namespace ost::runtime::isolate
