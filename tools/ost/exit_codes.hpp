// Exit codes of ost: part of its interface (docs/cli.md).
#pragma once

#include <ostinato/ostinato.h>

#include <stdexcept>
#include <string>

enum ExitCode : int {
  kOk = 0,
  kDiffers = 1,  // or a verification failed
  kUsage = 2,
  kBadInput = 3,
  kUnavailable = 4,  // a device or plugin
  kCompileError = 5,
  kInternal = 70,
  kInterrupted = 130,
};

// A failure that the command line found itself.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

ExitCode exit_code_of(ost_status_t status);
