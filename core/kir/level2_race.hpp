// Who touched an element last: finds two accesses of one element by different work-items, one of
// them a store, that no barrier orders. Groups are never ordered.
#pragma once

#include <cstdint>
#include <vector>

namespace ost::kir {

struct WorkItem {
  uint32_t group = 0, lane = 0;
  uint32_t epoch = 0;  // barriers that the group has passed
};

class RaceLog {
 public:
  explicit RaceLog(size_t elements) : log_(elements) {}

  // False: races with an earlier store.
  bool read(size_t element, WorkItem by) {
    Entry& e = log_[element];
    if (e.written && !ordered(e.writer, by)) return false;
    if (e.read && e.reader.group != by.group) e.many_groups = true;
    e.many_lanes = e.read && e.reader.group == by.group && e.reader.epoch == by.epoch &&
                   (e.many_lanes || e.reader.lane != by.lane);
    e.read = true;
    e.reader = by;
    return true;
  }

  // False: races with an earlier access.
  bool write(size_t element, WorkItem by) {
    Entry& e = log_[element];
    if (e.written && !ordered(e.writer, by)) return false;
    if (e.read && (e.many_groups || !ordered(e.reader, by))) return false;
    if (e.read && e.many_lanes && e.reader.epoch == by.epoch) return false;
    e.written = true;
    e.writer = by;
    return true;
  }

 private:
  struct Entry {
    WorkItem writer, reader;
    bool written = false, read = false, many_lanes = false, many_groups = false;
  };
  static bool ordered(const WorkItem& a, const WorkItem& b) {
    return a.group == b.group && (a.lane == b.lane || a.epoch != b.epoch);
  }
  std::vector<Entry> log_;
};

}  // namespace ost::kir
