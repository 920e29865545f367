// A command list of the ABI: recorded once, and kept as closed lists of Level Zero for the bindings
// that it was last submitted with. Level Zero takes a kernel's arguments when it is appended, so
// another binding is another recording; a program that goes on with the same buffers records once.
#pragma once

#include "recorder.hpp"

namespace levelzero {

class CommandList : public RecordedCommands {
 public:
  CommandList(DevicePtr device, const ost_command_t* commands, uint32_t count, uint32_t slot_count,
              uint32_t var_count);

  // A closed list with one binding. It is lent to one submit at a time.
  struct Recording {
    std::vector<uint64_t> key;
    std::unique_ptr<List> list;
    bool lent = false;
    uint64_t used = 0;  // when; the oldest makes room
  };
  // Lends the recording of what is bound, made now if there is none that is free.
  std::shared_ptr<Recording> borrow(const Command& command);
  void give_back(const std::shared_ptr<Recording>& recording);

 private:
  std::shared_ptr<Recording> find(const std::vector<uint64_t>& key);

  DevicePtr device_;
  std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<Recording>> recordings_;
  uint64_t clock_ = 0;
};

}  // namespace levelzero
