// Memory that a device can use, and where it is.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "api.hpp"

namespace hip {

// A stream that does not wait for the null stream.
class OwnedStream {
 public:
  OwnedStream(const Api& api, int device);
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream();
  Stream get() const { return stream_; }

 private:
  const Api& api_;
  int device_;
  Stream stream_ = nullptr;
};

// Device memory in the order of a stream of its own: freeing does not wait for the whole device, as
// hipFree does, and freed memory is kept for the next buffer.
class StreamPool {
 public:
  StreamPool(const Api& api, int device);
  void* allocate(uint64_t bytes);
  void release(void* memory) noexcept;

 private:
  const Api& api_;
  OwnedStream stream_;
  std::mutex mutex_;  // one call at a time on the stream
};

enum class Place : uint8_t { device, pinned, managed, imported };

class Memory {
 public:
  // `pool`: where device memory comes from; null: hipMalloc.
  Memory(const Api& api, int device, uint64_t bytes, Place place, StreamPool* pool);
  // Memory of the host's, which stays its own.
  Memory(const Api& api, int device, void* host, uint64_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }  // as the device sees it
  std::byte* host() const { return static_cast<std::byte*>(host_); }  // null if the host cannot

 private:
  const Api& api_;
  int device_;
  Place place_;
  StreamPool* pool_ = nullptr;
  void* data_ = nullptr;
  void* host_ = nullptr;
};

}  // namespace hip
