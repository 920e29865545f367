// Files of one folder, for documents that strangers sent: a relative path is opened component by
// component under the folder's descriptor, without following a symbolic link, and must end at a
// regular file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace ost::manifest {

// "a/b.c": not empty, not absolute, no empty, "." or ".." component, no backslash, no NUL or
// control character, no drive letter, at most 1,024 bytes.
Result<> check_relative_path(std::string_view path);

// An open regular file. Reads are positional; the size is the one at opening.
class File {
 public:
  static Result<File> open(const std::string& path);  // follows links: for paths that the user gave
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  uint64_t size() const { return size_; }
  Result<> read_at(uint64_t offset, std::span<uint8_t> out) const;
  Result<std::vector<uint8_t>> read_all(uint64_t max_bytes) const;  // refuses before allocating

 private:
  friend class Folder;
  File(int fd, uint64_t size) : fd_(fd), size_(size) {}
  static Result<File> adopt(int fd, std::string_view path);
  int fd_ = -1;
  uint64_t size_ = 0;
};

class Folder {
 public:
  static Result<Folder> open(const std::string& path);  // "" is the current folder
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&& other) noexcept;
  ~Folder();

  Result<File> open_file(std::string_view relative) const;
  bool exists(std::string_view relative) const;  // of whatever kind
  // Temporary file in the target's folder, fsync, rename, fsync of the folder: readers see the old
  // or the new content. Sub-folders of `relative` are made.
  Result<> write_file(std::string_view relative,
                      std::span<const std::span<const uint8_t>> pieces) const;
  Result<> write_file(std::string_view relative, std::span<const uint8_t> bytes) const;

 private:
  explicit Folder(int fd) : fd_(fd) {}
  // Descriptor of the folder that holds the last component of `relative`.
  Result<Folder> parent_of(std::string_view relative, bool make, std::string& name) const;
  int fd_ = -1;
};

// "a/b/c.json" -> {"a/b", "c.json"}; "c.json" -> {"", "c.json"}.
std::pair<std::string, std::string> split_path(std::string_view path);

}  // namespace ost::manifest
