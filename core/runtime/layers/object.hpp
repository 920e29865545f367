// The handles that a host sees through layers: numbers that are never used again, so that a handle
// that was destroyed is told from a living one.
#pragma once

#include <ostinato/plugin.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace ost::runtime::layers {

struct Stack;

enum class Kind : uint8_t { driver, device, buffer, queue, timeline, executable, cmdlist };
std::string_view name_of(Kind kind);

struct Object {
  Kind kind = Kind::driver;
  uint64_t id = 0;
  void* inner = nullptr;
  Stack* stack = nullptr;
  Object* parent = nullptr;
  std::atomic<uint32_t> children{0};
  std::atomic<int> users{0};  // calls that are running on it
  std::vector<void*> place;   // return addresses where it was made

  uint64_t bytes = 0;                       // buffer; device: alignment of its memory
  std::atomic<int> maps{0};                 // buffer
  uint32_t heap_flags = 0;                  // buffer
  uint32_t slot_count = 0, var_count = 0;   // cmdlist
  std::map<uint32_t, std::string> entries;  // executable: names by index
  std::vector<std::string> kernels;         // cmdlist: names of its commands, "" if no dispatch
  bool profiling = false;                   // queue: switched on by the host
  std::mutex mutex;                         // of entries and of a layer's notes
};

// "buffer 17".
std::string to_string(const Object& object);
// One frame a line: file and offset, with the function where it is known.
std::string place_of(const Object& object);

class Objects {
 public:
  static Objects& all();
  Object* add(Kind kind, void* inner, Stack* stack, Object* parent);
  // Null, with the reason in `why`, if it is none of this kind that lives. `dead` is set to the
  // object that it was.
  Object* find(const void* handle, Kind kind, std::string* why, Object** dead);
  void remove(Object* object);
  // Living objects whose parents lead to `root`, without root, by age.
  std::vector<Object*> below(const Object* root);

 private:
  static constexpr size_t kRemembered = 4096;  // dead objects, for better messages
  std::mutex mutex_;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, std::unique_ptr<Object>> living_, dead_;
  std::deque<uint64_t> dead_order_;
};

template <class Handle>
Handle* handle_of(const Object* object) {
  return reinterpret_cast<Handle*>(object->id << 4 | 1);  // odd: no driver's pointer is
}

}  // namespace ost::runtime::layers
