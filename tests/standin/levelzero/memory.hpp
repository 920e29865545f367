// Memory: device, host and shared allocations between red zones, and imported host memory.
#pragma once

#include <span>
#include <vector>

#include "device.hpp"

namespace standin {

struct Allocation {
  std::byte* start;
  size_t bytes;
  ze_memory_type_t type;
  Device* device;  // null: of the host
  uint64_t id;
  std::byte* base;  // of the mapping, red zones included; null: imported
  size_t mapped;
  int uses = 0;  // by accepted work that has not ended
  int open = 0;  // commands that run and name it
};

// The allocation that holds [pointer, pointer + bytes); refuses if there is none.
Allocation& find_memory(const void* pointer, size_t bytes);

// Work that was accepted names these pointers: until it ends they cannot be freed.
void begin_memory_use(std::span<const void* const> pointers);
void end_memory_use(std::span<const void* const> pointers);

// While it lives a command may touch the allocations of these pointers, and with OST_ZE_GUARD
// nobody may touch others. finish() looks at the red zones, and returns what is wrong or "".
class Access {
 public:
  explicit Access(std::span<const void* const> pointers);
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access();
  std::string finish() const;

 private:
  std::span<const void* const> pointers_;
};

void import_memory(void* pointer, size_t bytes);
void release_imported(void* pointer);
int report_memory_leaks();

}  // namespace standin
