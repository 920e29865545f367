#include "core/runtime/isolate/wire.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace ost::runtime::isolate {
namespace {

struct Head {
  uint32_t kind;
  uint32_t unused;
  uint64_t number;
  uint64_t size;
};
constexpr uint64_t kMostBytes = uint64_t{1} << 36;

bool send_all(int fd, const void* data, uint64_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<uint64_t>(n);
  }
  return true;
}

bool receive_all(int fd, void* data, uint64_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = ::recv(fd, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

bool write_frame(int fd, FrameKind kind, uint64_t number, const std::vector<uint8_t>& data) {
  const Head head{static_cast<uint32_t>(kind), 0, number, data.size()};
  return send_all(fd, &head, sizeof head) && send_all(fd, data.data(), data.size());
}

bool read_frame(int fd, Frame& out) {
  Head head{};
  if (!receive_all(fd, &head, sizeof head) || head.size > kMostBytes) return false;
  out.kind = static_cast<FrameKind>(head.kind);
  out.number = head.number;
  out.data.resize(head.size);
  return receive_all(fd, out.data.data(), head.size);
}

int make_shared_memory(uint64_t bytes) {
  if (bytes > INT64_MAX) return -1;
  const int fd = memfd_create("ostinato", MFD_CLOEXEC);
  if (fd < 0) return -1;
  // Like the allocator's, the memory comes when it is touched; what no machine has is refused now.
  const uint64_t all =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= all && ftruncate(fd, static_cast<off_t>(bytes == 0 ? 1 : bytes)) == 0) return fd;
  ::close(fd);
  return -1;
}

void* map_shared_memory(int fd, uint64_t bytes) {
  void* at = mmap(nullptr, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace ost::runtime::isolate
