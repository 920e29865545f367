#include "interrupt.hpp"

#include <csignal>

#include "exit_codes.hpp"

namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the next one kills
  sigaction(SIGINT, &action, nullptr);
}

void check_interrupt() {
  if (interrupted) throw Failure(kInterrupted, "interrupted");
}
