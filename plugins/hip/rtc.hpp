// hipRTC: HIP source to the code object of one target, in this process.
#pragma once

#include <optional>
#include <vector>

#include "api.hpp"

namespace hip {

class Rtc {
 public:
  explicit Rtc(const Api& api) : api_(api) {}

  bool is_there() const { return api_.rtc_missing.empty(); }
  const std::string& missing() const { return api_.rtc_missing; }
  int version() const { return api_.version(); }  // of the HIP it belongs to
  // The architectures that its library lists, if the library that has them is open by itself;
  // opening it would cost each process, and one with another LLVM its life.
  std::optional<std::vector<std::string>> listed() const;
  // Whether it has this architecture: asks its list, which is opened for it. hipRTC 5 ends the
  // process when it compiles for one that it does not know.
  bool knows(std::string_view architecture) const;
  std::string key() const;  // "hiprtc-9.0/50221153"
  // One at a time in a process: hipRTC 5 corrupts its heap when two threads compile.
  std::string build(const std::string& source, const std::string& target,
                    std::span<const std::string> flags, ost_sink_t log) const;

 private:
  const Api& api_;
};

}  // namespace hip
