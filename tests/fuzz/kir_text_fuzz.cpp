// libFuzzer target: any text as a kernel.
#include <string_view>

#include "tests/fuzz/kir_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto kernel =
      ost::kir::from_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (kernel) ost::kir::fuzz::check(*kernel);
  return 0;
}
