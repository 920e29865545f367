// The C++ wrapper from an installation.
#include <ostinato/ostinato.hpp>

#include <cstdio>

int main() {
  const ostinato::Context context;
  std::printf("%s\n", ost_version_text());
  return 0;
}
