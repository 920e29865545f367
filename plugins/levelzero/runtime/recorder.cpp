#include "recorder.hpp"

#include <algorithm>
#include <cstring>

namespace levelzero {
namespace {

std::byte* data_of(const Command::Ref& ref) { return ref.buffer->data() + ref.offset; }

bool fills(const Command& c, const Engine& engine) {
  return c.fill_pattern_size <= engine.max_pattern &&
         reinterpret_cast<uintptr_t>(data_of(c.refs[0])) % c.fill_pattern_size == 0;
}

}  // namespace

List::List(Device& device, const Engine& engine) : device_(device), engine_(engine) {
  auto desc = typed<ze::ListDesc>(ze::kListDesc);
  desc.ordinal = engine.ordinal;
  device.check(device.api().zeCommandListCreate(device.context(), device.handle(), &desc, &list_),
               "zeCommandListCreate");
}
List::~List() { device_.api().zeCommandListDestroy(list_); }

void List::reset() {
  device_.check(device_.api().zeCommandListReset(list_), "zeCommandListReset");
  kept_.clear();
}
void List::close() { device_.check(device_.api().zeCommandListClose(list_), "zeCommandListClose"); }

bool Recorder::is_transfer(const Command& c, const Engine& engine) {
  return c.kind == OST_CMD_COPY || (c.kind == OST_CMD_FILL && fills(c, engine));
}

void Recorder::add(const Command& command, uint32_t index) {
  barrier();
  append(command, index);
}

void Recorder::add_list(const std::vector<Command>& commands) {
  for (uint32_t i = 0; i < commands.size(); ++i) {
    if (i == 0 || commands[i].level != commands[i - 1].level) barrier();
    append(commands[i], i);
  }
}

void Recorder::finish() {
  barrier();
  list_.close();
}

void Recorder::barrier() {
  if (clean_) return;
#ifndef OST_LEVELZERO_WITHOUT_BARRIERS  // a test shows that the test-suite finds this
  device_.check(device_.api().zeCommandListAppendBarrier(list_.get(), nullptr, 0, nullptr),
                "zeCommandListAppendBarrier");
#endif
  clean_ = true;
}

void Recorder::append(const Command& c, uint32_t index) {
  if (c.kind == OST_CMD_DISPATCH) {
    if (c.grid[0] == 0 || c.grid[1] == 0 || c.grid[2] == 0) return;
    c.executable->launch(list_.get(), c, timer_ != nullptr ? timer_->start(index) : nullptr);
  } else if (c.refs[0].size == 0) {
    return;
  } else if (c.kind == OST_CMD_COPY) {
    copy(data_of(c.refs[0]), data_of(c.refs[1]), c.refs[0].size);
  } else if (fills(c, list_.engine())) {
    fill(c);
  } else {
    fill_from_host(c);
  }
  clean_ = false;
}

void Recorder::copy(std::byte* to, const std::byte* from, uint64_t size) {
  device_.check(
      device_.api().zeCommandListAppendMemoryCopy(list_.get(), to, from, size, nullptr, 0, nullptr),
      "zeCommandListAppendMemoryCopy");
}

void Recorder::fill(const Command& c) {
  device_.check(device_.api().zeCommandListAppendMemoryFill(list_.get(), data_of(c.refs[0]),
                                                            &c.fill_pattern, c.fill_pattern_size,
                                                            c.refs[0].size, nullptr, 0, nullptr),
                "zeCommandListAppendMemoryFill");
}

// A pattern at an odd place, or a larger one than the engine has: its bytes come from the host.
void Recorder::fill_from_host(const Command& c) {
  const uint64_t size = c.refs[0].size;
  const uint64_t part = std::min<uint64_t>(size, 1 << 20);
  MemoryPtr bytes = allocate(device_, Heap::host, part, kAlign);
  for (uint64_t i = 0; i < part; i += c.fill_pattern_size)
    std::memcpy(bytes->data() + i, &c.fill_pattern, c.fill_pattern_size);
  for (uint64_t at = 0; at < size; at += part)
    copy(data_of(c.refs[0]) + at, bytes->data(), std::min(part, size - at));
  list_.keep(std::move(bytes));
}

}  // namespace levelzero
