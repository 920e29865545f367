#include "core/manifest/folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ost::manifest {
namespace {

// strerror is not thread-safe.
std::string reason(int error) {
  char buffer[128] = "unknown error";
  return strerror_r(error, buffer, sizeof buffer);  // the GNU variant
}

ost_status_t status_of(int error) {
  return error == ENOENT || error == ENOTDIR ? ost_status_t{OST_NOT_FOUND}
                                             : ost_status_t{OST_IO_ERROR};
}

std::unexpected<Error> os_error(std::string_view path, std::string_view action, int error) {
  Error e{status_of(error), fmt::format("{}: {}: {}", path, action, reason(error)), error, 0, 0};
  return std::unexpected(std::move(e));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Result<> write_all(int fd, std::span<const uint8_t> bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

std::pair<std::string, std::string> split_path(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash == 0 ? 1 : slash)), std::string(path.substr(slash + 1))};
}

Result<> check_relative_path(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    std::string shown;
    for (const char c : path.substr(0, 80)) shown += (c >= ' ' && c < 0x7f) ? c : '?';
    return fail(OST_INVALID_ARGUMENT,
                "the path '{}' {}; paths are relative and stay in the manifest's folder", shown,
                why);
  };
  if (path.empty()) return refuse("is empty");
  if (path.size() > 1024) return refuse("is longer than 1024 bytes");
  for (const char c : path) {
    if (c == '\\') return refuse("holds a backslash");
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      return refuse("holds a control character");
  }
  if (path.front() == '/') return refuse("is absolute");
  if (path.size() > 1 && path[1] == ':') return refuse("starts with a drive");
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part == "..") return refuse("holds '..'");
    if (part.empty() || part == ".") return refuse("holds an empty component or '.'");
    start = end + 1;
  }
  return {};
}

// --- File

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}
File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::adopt(int fd, std::string_view path) {
  Descriptor guard(fd);
  struct stat info{};
  if (::fstat(fd, &info) != 0) return os_error(path, "cannot stat", errno);
  if (!S_ISREG(info.st_mode)) return fail(OST_INVALID_ARGUMENT, "{}: not a regular file", path);
  return File(guard.release(), static_cast<uint64_t>(info.st_size));
}

Result<File> File::open(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hang us before fstat can refuse it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return os_error(path, "cannot open", errno);
  return adopt(fd, path);
}

Result<> File::read_at(uint64_t offset, std::span<uint8_t> out) const {
  if (offset > size_ || out.size() > size_ - offset)
    return fail(OST_DATA_LOSS, "bytes [{}, {}) are wanted, the file has {}: it is truncated",
                offset, offset + out.size(), size_);
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(OST_IO_ERROR, "cannot read at byte {}: {}", offset, reason(errno));
    if (n == 0) return fail(OST_DATA_LOSS, "the file ended at byte {} while it was read", offset);
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

Result<std::vector<uint8_t>> File::read_all(uint64_t max_bytes) const {
  if (size_ > max_bytes)
    return fail(OST_INVALID_ARGUMENT, "the file has {} bytes, at most {} are read", size_,
                max_bytes);
  try {
    std::vector<uint8_t> bytes(size_);
    OST_TRY(read_at(0, bytes));
    return bytes;
  } catch (const std::bad_alloc&) {
    return fail(OST_OUT_OF_MEMORY, "no memory for the {} bytes of the file", size_);
  }
}

// --- Folder

Folder::Folder(Folder&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Folder::~Folder() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Folder> Folder::open(const std::string& path) {
  const char* name = path.empty() ? "." : path.c_str();
  const int fd = ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return os_error(name, "cannot open the folder", errno);
  return Folder(fd);
}

Result<Folder> Folder::parent_of(std::string_view relative, bool make, std::string& name) const {
  OST_TRY(check_relative_path(relative));
  const int self = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (self < 0) return os_error(relative, "cannot open", errno);
  Folder folder(self);
  std::string_view rest = relative;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    const std::string part(rest.substr(0, slash));
    rest.remove_prefix(slash + 1);
    if (make && ::mkdirat(folder.fd_, part.c_str(), 0777) != 0 && errno != EEXIST)
      return os_error(relative, "cannot make its folder", errno);
    const int fd =
        ::openat(folder.fd_, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) &&
        ::faccessat(folder.fd_, part.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      return fail(OST_INVALID_ARGUMENT,
                  "{}: '{}' is no folder or a symbolic link, which is not followed", relative,
                  part);
    if (fd < 0) return os_error(relative, "cannot open", errno);
    folder = Folder(fd);
  }
  name = rest;
  return folder;
}

Result<File> Folder::open_file(std::string_view relative) const {
  std::string name;
  OST_TRY_ASSIGN(const Folder parent, parent_of(relative, false, name));
  const int fd =
      ::openat(parent.fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ELOOP)
    return fail(OST_INVALID_ARGUMENT,
                "{}: a symbolic link, which is not followed; put the file itself there", relative);
  if (fd < 0) return os_error(relative, "cannot open", errno);
  return File::adopt(fd, relative);
}

bool Folder::exists(std::string_view relative) const {
  std::string name;
  const auto parent = parent_of(relative, false, name);
  return parent && ::faccessat(parent->fd_, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<> Folder::write_file(std::string_view relative,
                            std::span<const std::span<const uint8_t>> pieces) const {
  static std::atomic<uint64_t> counter;
  std::string name;
  OST_TRY_ASSIGN(const Folder parent, parent_of(relative, true, name));
  const std::string temp = fmt::format(".{}.{}.{}.tmp", name, ::getpid(), counter++);
  const Descriptor fd(::openat(parent.fd_, temp.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (fd.get() < 0) return os_error(relative, "cannot make a temporary file beside it", errno);
  const auto finish = [&]() -> Result<> {
    for (const auto piece : pieces) OST_TRY(write_all(fd.get(), piece, relative));
    if (::fsync(fd.get()) != 0) return os_error(relative, "cannot write to the disk", errno);
    if (::renameat(parent.fd_, temp.c_str(), parent.fd_, name.c_str()) != 0)
      return os_error(relative, "cannot rename the temporary file", errno);
    return {};
  };
  if (auto done = finish(); !done) {
    ::unlinkat(parent.fd_, temp.c_str(), 0);
    return done;
  }
  // The rename has to reach the disk too. Some file systems cannot sync a folder; the content is
  // safe by then.
  ::fsync(parent.fd_);
  return {};
}

Result<> Folder::write_file(std::string_view relative, std::span<const uint8_t> bytes) const {
  const std::span<const uint8_t> pieces[] = {bytes};
  return write_file(relative, pieces);
}

}  // namespace ost::manifest
