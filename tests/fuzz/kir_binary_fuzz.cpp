// libFuzzer target: any bytes as the binary form of a kernel. What is accepted has exactly one
// encoding.
#include <algorithm>

#include "tests/fuzz/kir_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ost::kir;
  const auto kernel = from_binary({data, size});
  if (!kernel) return 0;
  const std::vector<uint8_t> written = to_binary(*kernel);
  fuzz::require(written.size() == size && std::equal(written.begin(), written.end(), data),
                "the encoding is the only one", *kernel);
  fuzz::check(*kernel);
  return 0;
}
