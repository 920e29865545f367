// Queues: a thread each, which runs the commands of executed lists. Lists, fences.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "event.hpp"

namespace standin {

// What was appended to a list, with everything that it needs captured then.
struct Command {
  const char* call;
  std::function<void()> body;  // throws if it does what no program may do; may be empty
  std::vector<Event*> waits;
  Event* signal = nullptr;
  bool barrier = false;
  std::vector<const void*> memory;  // that it touches
  std::vector<Object*> objects;     // that it uses, its events included
};
using Commands = std::vector<std::shared_ptr<const Command>>;

struct Fence : Object {
  static constexpr const char* kKind = "fence";
  explicit Fence(Object& queue) : Object(kKind, &queue) {}
  Flag flag;
};

class Queue : public Object {
 public:
  static constexpr const char* kKind = "command queue";
  Queue(uint32_t group, bool synchronous);
  ~Queue() override;
  uint32_t group() const { return group_; }
  bool synchronous() const { return synchronous_; }

  // `users`: lists that cannot be changed until the work has ended.
  void execute(Commands commands, std::vector<Object*> users, Fence* fence);
  bool wait(uint64_t timeout_ns);  // for all that was executed

 private:
  struct Job {
    Commands commands;
    std::vector<Object*> users;
    Fence* fence;
  };
  void work();
  void run(const Job& job);

  uint32_t group_;
  bool synchronous_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  uint64_t accepted_ = 0, ended_ = 0;
  bool closing_ = false;
  std::thread thread_;  // last
};

struct List : Object {
  static constexpr const char* kKind = "command list";
  explicit List(uint32_t g) : Object(kKind, nullptr), group(g) {}
  uint32_t group;
  bool closed = false;
  std::unique_ptr<Queue> immediate;  // null: an ordinary list
  Commands commands;
};

// Runs commands, backwards where nothing orders them if the settings say so. False: the device was
// lost on the way.
bool run_commands(const Commands& commands);

}  // namespace standin
