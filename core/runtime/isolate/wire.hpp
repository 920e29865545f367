// What crosses between the host and the process of an isolated driver: frames of a kind, a number
// and bytes. Both ends are one build on one machine, so numbers are as they are in memory; a reader
// checks every length, since the other end may have gone mad.
#pragma once

#include <ostinato/plugin.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ost::runtime::isolate {

enum class FrameKind : uint32_t {
  hello,          // child: how loading went
  request,        // host: an entry of the table
  reply,          // child
  option,         // child: wants an option of the driver
  option_answer,  // host
  log,            // child
};

// Entries that are called remotely. What the host does alone (map, unmap) is not among them.
enum class Op : uint32_t {
  driver_create,
  driver_destroy,
  device_count,
  device_info,
  device_create,
  device_destroy,
  device_status,
  heap_info,
  buffer_alloc,
  buffer_free,
  buffer_write,
  buffer_read,
  queue_create,
  queue_destroy,
  timeline_create,
  timeline_destroy,
  timeline_query,
  timeline_signal,
  timeline_wait,
  timeline_fail,
  queue_submit,
  compiler_key,
  compile,
  image_check,
  executable_load,
  executable_unload,
  executable_entry,
  cmdlist_create,
  cmdlist_destroy,
  profile_enable,
  profile_drain,
  link_query,
};

class Writer {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Writer& put(const T& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    data_.insert(data_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  Writer& bytes(const void* data, uint64_t size) {
    put(size);
    const auto* from = static_cast<const uint8_t*>(data);
    if (size > 0) data_.insert(data_.end(), from, from + size);
    return *this;
  }
  Writer& text(std::string_view t) { return bytes(t.data(), t.size()); }
  const std::vector<uint8_t>& data() const { return data_; }

 private:
  std::vector<uint8_t> data_;
};

// Reads nothing once something was missing; ok() says so.
class Reader {
 public:
  Reader() = default;
  explicit Reader(std::vector<uint8_t> data) : data_(std::move(data)) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T out{};
    if (const uint8_t* from = take(sizeof out)) std::memcpy(&out, from, sizeof out);
    return out;
  }
  std::vector<uint8_t> bytes() {
    const auto size = get<uint64_t>();
    const uint8_t* from = take(size);
    return from == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(from, from + size);
  }
  std::string text() {
    const std::vector<uint8_t> b = bytes();
    return {b.begin(), b.end()};
  }
  bool ok() const { return ok_; }
  uint64_t left() const { return data_.size() - at_; }

 private:
  const uint8_t* take(uint64_t size) {
    if (!ok_ || size > data_.size() - at_) {
      ok_ = false;
      return nullptr;
    }
    const uint8_t* out = data_.data() + at_;
    at_ += size;
    return out;
  }

  std::vector<uint8_t> data_;
  uint64_t at_ = 0;
  bool ok_ = true;
};

struct Frame {
  FrameKind kind = FrameKind::hello;
  uint64_t number = 0;
  std::vector<uint8_t> data;
};

// False once the other end has gone. Writers of one socket hold a lock around write_frame.
bool write_frame(int fd, FrameKind kind, uint64_t number, const std::vector<uint8_t>& data);
bool read_frame(int fd, Frame& out);

// A memfd of that size, -1 if the machine has less memory. And a mapping of one.
int make_shared_memory(uint64_t bytes);
void* map_shared_memory(int fd, uint64_t bytes);

}  // namespace ost::runtime::isolate
