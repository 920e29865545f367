#include "core/runtime/layers/object.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>

namespace ost::runtime::layers {

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"driver",   "device",     "buffer", "queue",
                                         "timeline", "executable", "cmdlist"};
  return kNames[static_cast<size_t>(kind)];
}

std::string to_string(const Object& object) {
  return fmt::format("{} {}", name_of(object.kind), object.id);
}

std::string place_of(const Object& object) {
  std::string out;
  for (void* address : object.place) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string_view file(info.dli_fname);
    out +=
        fmt::format("\n    {}+{:#x}", file.substr(file.rfind('/') + 1),
                    static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase));
    if (info.dli_sname != nullptr) out += fmt::format(" {}", info.dli_sname);
  }
  return out;
}

Objects& Objects::all() {
  static Objects* const instance = new Objects;  // drivers may go while the process ends
  return *instance;
}

Object* Objects::add(Kind kind, void* inner, Stack* stack, Object* parent) {
  auto made = std::make_unique<Object>();
  made->kind = kind;
  made->inner = inner;
  made->stack = stack;
  made->parent = parent;
  void* frames[24];
  const int count = backtrace(frames, 24);
  constexpr int kOurs = 2;  // this function and the table's entry
  made->place.assign(frames + std::min(kOurs, count), frames + count);
  if (parent != nullptr) ++parent->children;
  const std::scoped_lock lock(mutex_);
  made->id = next_++;
  return living_.emplace(made->id, std::move(made)).first->second.get();
}

Object* Objects::find(const void* handle, Kind kind, std::string* why, Object** dead) {
  *dead = nullptr;
  if (handle == nullptr) {
    *why = fmt::format("a null handle, wanted a {}", name_of(kind));
    return nullptr;
  }
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  const uint64_t id = bits >> 4;
  const std::scoped_lock lock(mutex_);
  const auto living = living_.find(id);
  if ((bits & 15) == 1 && living != living_.end()) {
    if (living->second->kind == kind) return living->second.get();
    *why = fmt::format("{}, wanted a {}", to_string(*living->second), name_of(kind));
    *dead = living->second.get();
    return nullptr;
  }
  const auto gone = dead_.find(id);
  if ((bits & 15) == 1 && gone != dead_.end()) {
    *why = fmt::format("{}, which was destroyed; it was made at{}", to_string(*gone->second),
                       place_of(*gone->second));
    *dead = gone->second.get();
    return nullptr;
  }
  *why = fmt::format("{}, which is no handle, wanted a {}", handle, name_of(kind));
  return nullptr;
}

void Objects::remove(Object* object) {
  if (object->parent != nullptr) --object->parent->children;
  const std::scoped_lock lock(mutex_);
  auto node = living_.extract(object->id);
  node.mapped()->parent = nullptr;
  dead_order_.push_back(node.key());
  dead_.insert(std::move(node));
  while (dead_order_.size() > kRemembered) {
    dead_.erase(dead_order_.front());
    dead_order_.pop_front();
  }
}

std::vector<Object*> Objects::below(const Object* root) {
  std::vector<Object*> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, object] : living_) {
    for (const Object* o = object->parent; o != nullptr; o = o->parent) {
      if (o == root) out.push_back(object.get());
    }
  }
  std::ranges::sort(out, {}, &Object::id);
  return out;
}

}  // namespace ost::runtime::layers
