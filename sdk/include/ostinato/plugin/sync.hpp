// What a plugin implements when its device does all work before a call returns and its memory is
// host memory: three small classes. sync_table.hpp makes the whole driver table from them.
//
// Any function may throw (Failure says more than other exceptions). Functions of a device and an
// executable may be called from several threads at once, since every queue has its own.
#ifndef OSTINATO_PLUGIN_SYNC_HPP_
#define OSTINATO_PLUGIN_SYNC_HPP_

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "error.hpp"

namespace ost::plugin {

// Memory of a buffer, checked to be inside it.
struct Range {
  std::byte* data = nullptr;
  uint64_t size = 0;
};

class SyncExecutable {
 public:
  virtual ~SyncExecutable() = default;
  // The index of a kernel; OST_NOT_FOUND if the image has none of that name.
  virtual uint32_t entry(std::string_view name) = 0;
};

struct Dispatch {
  SyncExecutable* executable;
  uint32_t entry;
  std::span<const Range> buffers;  // by parameter slot
  std::span<const int64_t> vars;   // by variable slot
  const uint64_t* grid;            // 3 values
  const uint32_t* group;           // 3 values
};

inline uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// Times of dispatches, until the host drains them. Records beyond kMost are dropped.
class Profile {
 public:
  void add(uint32_t command, uint64_t start, uint64_t end) {
    if (records_.size() < kMost)
      records_.push_back({sizeof(ost_profile_record_t), command, start, end});
  }
  std::vector<ost_profile_record_t>& records() { return records_; }

 private:
  static constexpr size_t kMost = 1u << 20;
  std::vector<ost_profile_record_t> records_;
};

// --- command lists

// A ref of a recorded command: memory, or (slot > 0) a part of what will be bound to slot - 1.
struct RecordedRef {
  std::byte* data = nullptr;  // slot 0
  uint64_t offset = 0;        // slot > 0
  uint64_t size = 0;          // slot > 0: 0 means all of the bound range from offset on
  uint32_t slot = 0;

  Range bind(std::span<const Range> slots) const {
    if (slot == 0) return {data, size};
    const Range& bound = slots[slot - 1];
    return {bound.data + offset, size != 0 ? size : bound.size - offset};
  }
};

// A command of a list, copied and checked.
struct Recorded {
  uint32_t kind = 0;
  uint32_t level = 0;
  std::vector<RecordedRef> refs;
  std::vector<uint32_t> var_map;
  std::shared_ptr<SyncExecutable> executable;
  uint32_t entry = 0;
  uint64_t grid[3] = {};
  uint32_t group[3] = {};
  uint32_t grid_var[3] = {};
  uint64_t fill_pattern = 0;
  uint32_t fill_pattern_size = 0;
};

struct Recording {
  std::vector<Recorded> commands;
  uint32_t slot_count = 0;
  uint32_t var_count = 0;
};

class SyncCommandList {
 public:
  virtual ~SyncCommandList() = default;
  // `slots` and `vars` have the counts of the recording, and every slot is large enough. `profile`
  // may be null.
  virtual void run(std::span<const Range> slots, std::span<const int64_t> vars,
                   Profile* profile) = 0;
};

// --- device and driver

class SyncDevice {
 public:
  virtual ~SyncDevice() = default;

  // `path` names a file that holds exactly the image, or is empty.
  virtual std::unique_ptr<SyncExecutable> load(std::span<const std::byte> image,
                                               std::string_view path) = 0;
  // Must refuse an entry that the executable has not, and wrong counts of buffers and vars.
  virtual void dispatch(const Dispatch& dispatch) = 0;

  // Null: the commands are kept and dispatched one by one.
  virtual std::unique_ptr<SyncCommandList> record(const Recording&) { return nullptr; }

  // Memory. `align` is a power of two; `bytes` may be 0, and the result is never null.
  virtual void* allocate(uint64_t bytes, uint64_t align) {
    if (bytes > UINT64_MAX / 2) throw std::bad_alloc();
    void* memory =
        std::aligned_alloc(align, bytes == 0 ? align : (bytes + align - 1) / align * align);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  virtual void deallocate(void* memory, uint64_t bytes) {
    (void)bytes;
    std::free(memory);
  }
  virtual uint64_t heap_bytes() { return 0; }
  virtual uint32_t min_align() { return 64; }
  // Imported memory may be less aligned than min_align where kernels do not mind.
  virtual uint32_t import_align() { return min_align(); }
};

// A driver is made from the host table: `explicit MyDriver(const Host&)`.
class SyncDriver {
 public:
  virtual ~SyncDriver() = default;

  virtual uint32_t device_count(const ost_sink_t& reason) {
    (void)reason;
    return 1;
  }
  // `info` is zeroed; `index` is below device_count.
  virtual void device_info(uint32_t index, ost_device_info_t& info) = 0;
  virtual std::unique_ptr<SyncDevice> open(uint32_t index) = 0;

  virtual std::string compiler_key(std::string_view target) = 0;
  virtual void compile(const ost_compile_t& job) = 0;
  virtual ost_fit_t image_check(const ost_device_info_t& info, std::span<const std::byte> image,
                                const ost_sink_t& reason) = 0;
  virtual const void* get_extension(std::string_view name, uint32_t version) {
    (void)name, (void)version;
    return nullptr;
  }
};

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_SYNC_HPP_
