// Every handle that this driver gave out and that was not given back. Invariant: what is not in
// this list is never dereferenced, so a dead or foreign handle is an error and no crash.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "standin.hpp"

namespace standin {

class Object {
 public:
  Object(const char* kind, Object* parent, bool permanent = false)
      : kind_(kind), parent_(parent), permanent_(permanent) {
    if (parent_ != nullptr) ++parent_->children_;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (parent_ != nullptr) --parent_->children_;
  }
  const char* kind() const { return kind_; }
  bool permanent() const { return permanent_; }  // drivers and devices are never given back
  int children() const { return children_; }

  // Accepted work that has not ended and uses this.
  void begin_use() { ++uses_; }
  void end_use() { --uses_; }
  bool in_use() const { return uses_ > 0; }

 private:
  const char* kind_;
  Object* parent_;
  bool permanent_;
  std::atomic<int> children_{0};
  std::atomic<int> uses_{0};
};

void enlist(Object* object);
void strike(Object* object);
// The object if it is alive, else null.
Object* find_object(void* handle);
// Says what is left, and returns how much that is.
int report_leaks();

template <class T, class Handle>
void give(std::unique_ptr<T> object, Handle* out) {
  need(out, "the out-parameter");
  enlist(object.get());
  *out = reinterpret_cast<Handle>(static_cast<Object*>(object.release()));
}

// The object of a handle; T::kKind is its kind.
template <class T, class Handle>
T& of(Handle handle) {
  if (handle == nullptr)
    refuse(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, std::string("the ") + T::kKind + " is null");
  Object* object = find_object(handle);
  if (object == nullptr || object->kind() != std::string_view(T::kKind))
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           std::string("dead or foreign handle, wanted a ") + T::kKind);
  return *static_cast<T*>(object);
}

template <class T, class Handle>
void give_back(Handle handle) {
  T& object = of<T>(handle);
  if (object.in_use())
    refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
           std::string("the ") + T::kKind + " is used by work that has not ended");
  if (object.children() > 0)
    refuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, std::string("the ") + T::kKind + " still has " +
                                                     std::to_string(object.children()) +
                                                     " objects that were made from it");
  strike(&object);
  delete &object;
}

}  // namespace standin
