// From hip-cpp to an image: which compiler makes code for a target, with which flags, and what can
// be compiled for on this machine.
#pragma once

#include <vector>

#include "clang.hpp"
#include "image.hpp"
#include "rtc.hpp"
#include "target.hpp"

namespace hip {

class Compiler {
 public:
  // `sqrt`: "software" and "hardware" instead of what the compiler's version needs.
  Compiler(const Api& api, std::string_view clang, std::string_view sqrt);

  // Why nothing can be compiled at all; "" if something can.
  std::string missing() const;
  // The devices that only compile: one for each architecture that a compiler here has.
  std::vector<ost_device_info_t> targets() const;

  std::string key(std::string_view target);  // compiler, version and flags
  std::string build(const ost_compile_t& job);

 private:
  enum class Maker : uint8_t { rtc, clang };
  Maker maker_for(std::string_view target) const;  // fails if there is none
  std::string made_by(const Architecture& architecture) const;

  Rtc rtc_;
  Clang clang_;
  std::vector<std::string> flags_;
};

}  // namespace hip
