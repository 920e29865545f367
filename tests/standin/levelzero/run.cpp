// Executes the commands of lists. With OST_ZE_REVERSE those between two barriers run from last to
// first, but for what events order: a program that lacks a barrier gets other results.
#include "memory.hpp"
#include "queue.hpp"

namespace standin {
namespace {

bool wait_for(Event& event) {
  constexpr uint64_t kLook = 5000000;
  while (!event.flag.wait(kLook))
    if (device_lost()) return false;
  return true;
}

void run_command(const Command& c) {
  if (injected("execute") != ZE_RESULT_SUCCESS)
    return lose_device("execute", "fails as it was asked to");
  for (Event* e : c.waits)
    if (!wait_for(*e)) return;
  const uint64_t start = now_ns();
  if (c.body) {
    const Access access(c.memory);
    try {
      c.body();
    } catch (const std::exception& why) {
      return lose_device(c.call, why.what());
    }
    if (const std::string wrong = access.finish(); !wrong.empty())
      return lose_device(c.call, wrong);
  }
  if (c.signal == nullptr) return;
  c.signal->start_ns = start;
  c.signal->end_ns = now_ns();
  if (!c.signal->flag.set_once())
    lose_device(c.call, "the event that it signals was signalled already and not reset");
}

bool waits_for(const Command& c, const Command& before) {
  for (const Event* e : c.waits)
    if (before.signal == e) return true;
  return false;
}

// The last one that waits for none of those before it.
size_t pick(const Commands& open) {
  for (size_t i = open.size(); i-- > 0;) {
    bool free = true;
    for (size_t before = 0; before < i; ++before) free &= !waits_for(*open[i], *open[before]);
    if (free) return i;
  }
  return 0;
}

void run_backwards(Commands open) {
  while (!open.empty() && !device_lost()) {
    const size_t next = pick(open);
    run_command(*open[next]);
    open.erase(open.begin() + static_cast<long>(next));
  }
}

}  // namespace

bool run_commands(const Commands& commands) {
  Commands open;  // since the last barrier
  for (const auto& c : commands) {
    if (device_lost()) return false;
    if (settings().reverse && !c->barrier) {
      open.push_back(c);
      continue;
    }
    run_backwards(std::move(open));
    open.clear();
    if (!device_lost()) run_command(*c);
  }
  run_backwards(std::move(open));
  return !device_lost();
}

}  // namespace standin
