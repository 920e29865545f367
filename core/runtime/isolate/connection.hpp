// The host's end: the process of one isolated driver, and calls of its entries.
//
// Once the process has gone, every call is OST_DEVICE_LOST with how it went ("killed by SIGSEGV"),
// and so is every call that was waiting then.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "core/base/result.hpp"
#include "core/runtime/isolate/wire.hpp"

namespace ost::runtime::isolate {

inline constexpr uint64_t kNoLimit = UINT64_MAX;

struct Reply {
  ost_status_t status = OST_OK;
  ost_error_t error{};
  Reader data;
};

class Connection {
 public:
  // The process is running and has loaded the library, or refused it: hello() says which.
  static Result<std::shared_ptr<Connection>> start(const std::string& library);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Reader hello() const { return Reader(hello_); }
  bool is_alive();
  // Blocks; after limit_ms without an answer the driver hangs, and its process is ended.
  Reply call(Op op, const Writer& arguments, uint64_t limit_ms);
  void set_host(const ost_host_table_t* host);
  pid_t process() const { return pid_; }

 private:
  Connection() = default;
  struct Waiting {
    bool done = false;
    Reply reply;
  };
  void read_frames();
  void serve(Frame frame);
  void end(std::string why);
  Reply lost_reply();

  int fd_ = -1;
  pid_t pid_ = -1;
  std::vector<uint8_t> hello_;
  std::thread reader_;
  std::mutex write_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::map<uint64_t, Waiting> waiting_;
  uint64_t next_ = 1;
  const ost_host_table_t* host_ = nullptr;
  std::string blame_;  // why the process was killed by us
  std::string death_;  // "" while it lives
};

// OSTINATO_ISOLATE_TIMEOUT in milliseconds.
uint64_t time_limit_ms();

}  // namespace ost::runtime::isolate
