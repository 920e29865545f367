#include "command_list.hpp"

#include <algorithm>

namespace levelzero {
namespace {

constexpr size_t kRecordings = 4;  // a ring of buffers, and one more

// Everything that a recording depends on. An address is not enough: memory that is freed gives its
// address to other memory, and a closed list still means the first.
std::vector<uint64_t> key_of(const Command& c) {
  std::vector<uint64_t> key;
  for (const Command::Ref& ref : c.refs) {
    key.push_back(ref.buffer->memory->id());
    key.push_back(reinterpret_cast<uintptr_t>(ref.buffer->data()) + ref.offset);
    key.push_back(ref.size);
  }
  for (const int64_t var : c.vars) key.push_back(static_cast<uint64_t>(var));
  return key;
}

}  // namespace

CommandList::CommandList(DevicePtr device, const ost_command_t* commands, uint32_t count,
                         uint32_t slot_count, uint32_t var_count)
    : RecordedCommands(commands, count, slot_count, var_count, kAlign),
      device_(std::move(device)) {}

// The one with this key, else a new one, else the oldest.
std::shared_ptr<CommandList::Recording> CommandList::find(const std::vector<uint64_t>& key) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<Recording> found, oldest;
  for (const auto& r : recordings_) {
    if (r->lent) continue;
    if (r->key == key) found = r;
    if (oldest == nullptr || r->used < oldest->used) oldest = r;
  }
  if (found == nullptr && (recordings_.size() < kRecordings || oldest == nullptr))
    found = recordings_.emplace_back(std::make_shared<Recording>());
  if (found == nullptr) found = oldest;
  found->lent = true;
  found->used = ++clock_;
  return found;
}

std::shared_ptr<CommandList::Recording> CommandList::borrow(const Command& command) {
  std::vector<uint64_t> key = key_of(command);
  auto recording = find(key);
  if (recording->list != nullptr && recording->key == key) return recording;
  try {
    recording->key.clear();
    if (recording->list == nullptr)
      recording->list = std::make_unique<List>(*device_, device_->compute());
    else
      recording->list->reset();
    Recorder recorder(*device_, *recording->list, nullptr);
    recorder.add_list(command.listed);
    recorder.finish();
    recording->key = std::move(key);
  } catch (...) {
    recording->list.reset();
    give_back(recording);
    throw;
  }
  return recording;
}

void CommandList::give_back(const std::shared_ptr<Recording>& recording) {
  const std::scoped_lock lock(mutex_);
  recording->lent = false;
  if (recordings_.size() <= kRecordings) return;
  std::erase(recordings_, recording);
}

}  // namespace levelzero
