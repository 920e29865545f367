// ost-plugin-host LIBRARY FD: the process of an isolated driver (OSTINATO_ISOLATE). The host starts
// it; it has no use of its own.
#include <cstdio>
#include <cstdlib>

#include "core/runtime/isolate/server.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("ost-plugin-host: Ostinato starts this for drivers in OSTINATO_ISOLATE\n", stderr);
    return 2;
  }
  return ost::runtime::isolate::serve_plugin(argv[1], std::atoi(argv[2]));
}
