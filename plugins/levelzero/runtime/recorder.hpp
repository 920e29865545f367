// From commands to command lists of Level Zero.
#pragma once

#include "executable.hpp"
#include "timer.hpp"

namespace levelzero {

// A list for queues of an engine, and what it needs until it has run.
class List {
 public:
  List(Device& device, const Engine& engine);
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List();
  ze::ListHandle get() const { return list_; }
  const Engine& engine() const { return engine_; }

  // Empties it for other commands. It does not run.
  void reset();
  void close();
  void keep(MemoryPtr memory) { kept_.push_back(std::move(memory)); }

 private:
  Device& device_;
  const Engine& engine_;
  ze::ListHandle list_ = nullptr;
  std::vector<MemoryPtr> kept_;
};

// Appends commands to a list so that they have the effect that they have one after the other. The
// list orders nothing itself: barriers do, also behind the last command.
class Recorder {
 public:
  Recorder(Device& device, List& list, Timer* timer)
      : device_(device), list_(list), timer_(timer) {}

  // Behind all before.
  void add(const Command& command, uint32_t index);
  // Those of a recorded list: they are independent of their neighbours of the same level.
  void add_list(const std::vector<Command>& commands);
  void finish();

  // Whether an engine that only copies can do it.
  static bool is_transfer(const Command& command, const Engine& engine);

 private:
  void append(const Command& command, uint32_t index);
  void barrier();
  void copy(std::byte* to, const std::byte* from, uint64_t size);
  void fill(const Command& command);
  void fill_from_host(const Command& command);

  Device& device_;
  List& list_;
  Timer* timer_;       // null: nobody wants times
  bool clean_ = true;  // nothing since the last barrier
};

}  // namespace levelzero
