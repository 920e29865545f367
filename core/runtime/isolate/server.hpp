// The child's end: loads a plugin as any host does, and serves its table over a socket.
#pragma once

#include <string>

namespace ost::runtime::isolate {

// Until the socket ends. Returns an exit code.
int serve_plugin(const std::string& library, int fd);

}  // namespace ost::runtime::isolate
