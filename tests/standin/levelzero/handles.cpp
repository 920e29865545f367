#include "handles.hpp"

#include <map>
#include <mutex>
#include <set>

namespace standin {
namespace {

// Never destroyed: the last handles are given back while the process ends.
struct List {
  std::mutex mutex;
  std::set<void*> live;
};
List& list() {
  static List* all = new List;
  return *all;
}

}  // namespace

void enlist(Object* object) {
  const std::scoped_lock lock(list().mutex);
  list().live.insert(object);
}
void strike(Object* object) {
  const std::scoped_lock lock(list().mutex);
  list().live.erase(object);
}
Object* find_object(void* handle) {
  const std::scoped_lock lock(list().mutex);
  return list().live.contains(handle) ? static_cast<Object*>(handle) : nullptr;
}

int report_leaks() {
  const std::scoped_lock lock(list().mutex);
  std::map<std::string, int> left;
  for (void* handle : list().live)
    if (const auto* object = static_cast<Object*>(handle); !object->permanent())
      ++left[object->kind()];
  int count = 0;
  for (const auto& [kind, n] : left) {
    say("leak", std::to_string(n) + " " + kind + (n > 1 ? "s" : ""));
    count += n;
  }
  return count;
}

}  // namespace standin
