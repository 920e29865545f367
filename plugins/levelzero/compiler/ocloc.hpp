// Intel's offline compiler, as a process: SPIR-V to the instructions of one GPU. A crash of it is
// an error of the compile and no more.
#pragma once

#include <ostinato/plugin.h>

#include <mutex>
#include <string>
#include <string_view>

namespace levelzero {

class Ocloc {
 public:
  // `setting`: a path, "" for the one in PATH, "off" for none.
  explicit Ocloc(std::string_view setting);

  bool is_there() const { return !path_.empty(); }
  const std::string& missing() const { return missing_; }
  // Of the compiler and the driver it belongs to, and what it is told: "22.43.24595 -cl-...".
  std::string key();
  // The binary that ocloc makes, with instructions for the kernel in it: ocloc also succeeds
  // without any (a cut-off module, an undefined function), and that is a failure here.
  std::string build(std::string_view device, std::string_view entry, std::string_view spirv,
                    ost_sink_t log);

 private:
  std::string path_, missing_;
  std::mutex mutex_;
  std::string key_;
};

}  // namespace levelzero
