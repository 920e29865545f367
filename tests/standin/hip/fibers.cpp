// The lanes of a group as fibers of one thread: a barrier is a switch to the scheduler, which goes on
// when all have come to it.
#include <sys/mman.h>
#include <ucontext.h>

#include <deque>

#include "standin.hpp"

namespace standin {
namespace {

constexpr size_t kPage = 4096, kStack = 256 * 1024;

struct Fiber {
  ucontext_t context{};
  void* stack = nullptr;
  bool done = true;
};

// Those of one thread; they are used again.
struct Fibers {
  std::deque<Fiber> all;
  ucontext_t scheduler{};
  Fiber* current = nullptr;
  const std::function<void()>* lane = nullptr;
  ~Fibers() {
    for (const Fiber& f : all) munmap(f.stack, kStack + kPage);
  }
};
thread_local Fibers fibers;

void enter() {
  (*fibers.lane)();
  fibers.current->done = true;  // and on to uc_link
}

bool grow(unsigned count) {
  while (fibers.all.size() < count) {
    void* stack = mmap(nullptr, kStack + kPage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) return false;
    mprotect(stack, kPage, PROT_NONE);
    fibers.all.emplace_back().stack = stack;
  }
  return true;
}

void start(Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = static_cast<char*>(fiber.stack) + kPage;
  fiber.context.uc_stack.ss_size = kStack;
  fiber.context.uc_link = &fibers.scheduler;
  fiber.done = false;
  makecontext(&fiber.context, enter, 0);
}

}  // namespace

void wait() { swapcontext(&fibers.current->context, &fibers.scheduler); }

std::string run_lanes(unsigned count, bool reverse, const std::function<void(unsigned)>& before,
                      const std::function<void()>& lane) {
  if (!grow(count)) return "no memory for the stacks of the lanes";
  fibers.lane = &lane;
  for (unsigned i = 0; i < count; ++i) start(fibers.all[i]);
  for (;;) {
    unsigned done = 0;
    for (unsigned n = 0; n < count; ++n) {
      const unsigned i = reverse ? count - 1 - n : n;
      fibers.current = &fibers.all[i];
      before(i);
      swapcontext(&fibers.scheduler, &fibers.all[i].context);
      done += fibers.all[i].done;
    }
    if (done == count) return "";
    if (done > 0)
      return std::to_string(done) + " of " + std::to_string(count) +
             " lanes left the kernel while the others wait at a barrier";
  }
}

}  // namespace standin
