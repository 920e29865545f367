// libFuzzer target: any text as a manifest. What loads has been verified, and its text loads again
// as the same program.
#include <cstdlib>
#include <string_view>

#include "core/manifest/inspect.hpp"
#include "core/manifest/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ost::manifest;
  const LoadOptions options{
      .json = {.max_bytes = 1 << 16}, .max_data_bytes = 1 << 20, .check_id = false};
  const auto document =
      from_text(std::string_view(reinterpret_cast<const char*>(data), size), options);
  if (!document) {
    if (document.error().message.empty()) std::abort();
    return 0;
  }
  const auto text = to_text(*document);
  if (!text) std::abort();
  const auto again = from_text(*text);
  if (!again || to_text(*again).value_or("") != *text) std::abort();
  if (inspect_text(*again, true).empty()) std::abort();
  return 0;
}
