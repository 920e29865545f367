// libFuzzer target: any text as a symbolic expression. What is accepted reads back to itself, and
// lies within its bounds.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/base/sym.hpp"

namespace {

void require(bool holds, const char* what, const ost::Sym& sym) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", what, sym.str().c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ost::Var vars[] = {{"n", 0, 100}, {"m", 1, 7}, {"k", -3, INT64_MAX}};
  const auto sym = ost::Sym::parse({reinterpret_cast<const char*>(data), size}, vars);
  if (!sym) return 0;
  const auto again = ost::Sym::parse(sym->str(), vars);
  require(again && *again == *sym, "the text reads back to the same expression", *sym);
  const auto value = sym->eval({{"n", 5}, {"m", 3}, {"k", -1}});
  require(!value || (*value >= sym->lower() && *value <= sym->upper()),
          "the value is within the bounds", *sym);
  return 0;
}
