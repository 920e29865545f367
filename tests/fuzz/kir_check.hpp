// What must hold for every kernel that a reader accepts, whoever wrote it. A broken rule aborts,
// which a fuzzer reports.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "core/kir/kernel.hpp"

namespace ost::kir::fuzz {

inline void require(bool holds, const char* what, const Kernel& kernel) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s", what, to_text(kernel).c_str());
  std::abort();
}

inline void check(const Kernel& kernel) {
  const auto bytes = from_binary(to_binary(kernel));
  require(bytes && *bytes == kernel, "the binary form reads back to the same kernel", kernel);
  const auto text = from_text(to_text(kernel));
  require(text && *text == kernel, "the text form reads back to the same kernel", kernel);
  if (!verify(kernel)) return;
  (void)prove_bounds(kernel);  // either answer; it ends and stays inside of its own memory
}

}  // namespace ost::kir::fuzz
