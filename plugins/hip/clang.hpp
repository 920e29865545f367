// clang as a process: HIP source to the code object of one target, with no part of ROCm, for the
// architectures that the hipRTC of the machine is too old for.
#pragma once

#include <mutex>
#include <ostinato/plugin.hpp>
#include <string>

namespace hip {

class Clang {
 public:
  static constexpr int kOldest = 19;
  // `setting`: a path, "" for the newest one in PATH, "off" for none.
  explicit Clang(std::string_view setting);

  bool is_there() const { return !path_.empty(); }
  const std::string& missing() const { return missing_; }
  int major() const { return major_; }
  std::string version();  // "22.1.8"
  std::string build(const std::string& source, const std::string& target,
                    std::span<const std::string> flags, ost_sink_t log);

 private:
  void ask();  // runs it, for its version

  std::string path_, missing_;
  int major_ = 0;
  std::mutex mutex_;
  std::string version_;
};

}  // namespace hip
