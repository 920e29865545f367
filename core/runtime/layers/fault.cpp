// The layer `fault`: fails, loses the device at, or delays, the n-th call. It corrupts nothing, so
// whatever goes wrong behind it is a bug of the host, or of the plugin's handling of a lost device.
//
// OSTINATO_FAULT = KIND:ENTRY:N, KIND one of fail, lose, delay; ENTRY a glob of entry names; N from
// 1. Or seed:S:RANGE: kind and N, from 1 to RANGE, follow from the seed.
#include <fnmatch.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "core/runtime/layers/layer.hpp"
#include "core/runtime/layers/layers.hpp"

namespace ost::runtime {
namespace {

// Of all drivers together, so that the n-th call is one of the process.
struct Counter {
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> struck{false};
  std::atomic<uint64_t> number{0};
};
Counter& counter() {
  static Counter* const instance = new Counter;
  return *instance;
}

}  // namespace

FaultCount fault_count() { return {counter().calls, counter().struck}; }

void arm_fault(uint64_t number) {
  counter().number = number;
  counter().calls = 0;
  counter().struck = false;
}

namespace layers {
namespace {

enum class FaultKind : uint8_t { fail, lose, delay };

struct Plan {
  FaultKind kind = FaultKind::fail;
  std::string entries = "*";
  uint64_t number = 0;
};

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

Result<Plan> plan_of(std::string_view spec) {
  const size_t a = spec.find(':');
  const size_t b = a == std::string_view::npos ? a : spec.find(':', a + 1);
  Plan plan;
  if (b != std::string_view::npos) {
    const std::string_view kind = spec.substr(0, a), middle = spec.substr(a + 1, b - a - 1);
    const auto number = number_of(spec.substr(b + 1));
    const auto seed = number_of(middle);
    if (kind == "seed" && seed && number && *number > 0) {
      std::mt19937_64 random(*seed);
      plan.kind = static_cast<FaultKind>(random() % 3);
      plan.number = 1 + random() % *number;
      return plan;
    }
    plan.kind = kind == "lose" ? FaultKind::lose : kind == "delay" ? FaultKind::delay : plan.kind;
    plan.entries = middle;
    if ((kind == "fail" || kind == "lose" || kind == "delay") && number && *number > 0) {
      plan.number = *number;
      return plan;
    }
  }
  return ost::fail(OST_INVALID_ARGUMENT,
                   "OSTINATO_FAULT is \"{}\", wanted fail|lose|delay:ENTRY:N or seed:S:RANGE",
                   spec);
}

// What cannot fail is left alone: it has no status, or rule 7 and rule 11 say that it works always.
bool can_fail(Entry e) {
  switch (e) {
    case Entry::driver_destroy:
    case Entry::device_destroy:
    case Entry::buffer_free:
    case Entry::queue_destroy:
    case Entry::timeline_destroy:
    case Entry::timeline_fail:
    case Entry::executable_unload:
    case Entry::cmdlist_destroy:
    case Entry::buffer_unmap:
    case Entry::heap_count:
    case Entry::get_extension:
      return false;
    default:
      return true;
  }
}

ost_status_t status_of(Entry e) {
  switch (e) {
    case Entry::buffer_alloc:
    case Entry::executable_load:
    case Entry::cmdlist_create:
      return OST_OUT_OF_MEMORY;
    case Entry::compile:
      return OST_COMPILE_FAILED;
    default:
      return OST_INTERNAL;
  }
}

const Object* device_of(const Object* o) {
  while (o != nullptr && o->kind != Kind::device) o = o->parent;
  return o;
}

class Fault : public Layer {
 public:
  explicit Fault(Plan plan) : plan_(std::move(plan)) {}

  std::optional<Error> before(Call& call) override {
    if (!can_fail(call.entry)) return std::nullopt;
    const std::string name(name_of(call.entry));
    const Object* device = device_of(call.self);
    const bool is_timeline = call.self->kind == Kind::timeline;
    if (device != nullptr && !is_timeline && is_lost(device->id)) return lost_error(name);
    if (fnmatch(plan_.entries.c_str(), name.c_str(), 0) != 0) return std::nullopt;
    const uint64_t armed = counter().number;
    const uint64_t number = armed != 0 ? armed : plan_.number;
    if (++counter().calls != number) return std::nullopt;
    counter().struck = true;
    if (plan_.kind == FaultKind::delay) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return std::nullopt;
    }
    if (plan_.kind == FaultKind::lose && device != nullptr && !is_timeline) {
      const std::scoped_lock lock(mutex_);
      lost_.insert(device->id);
      return lost_error(name);
    }
    return Error{status_of(call.entry),
                 fmt::format("fault: call {}, {}, was made to fail", number, name), 0, 0, 0};
  }

 private:
  bool is_lost(uint64_t device) {
    const std::scoped_lock lock(mutex_);
    return lost_.contains(device);
  }
  static Error lost_error(const std::string& name) {
    return {OST_DEVICE_LOST, fmt::format("fault: {}: the device was lost", name), 0, 7,
            OST_ERROR_FLAG_DEVICE_LOST};
  }

  const Plan plan_;
  std::mutex mutex_;
  std::set<uint64_t> lost_;
};

}  // namespace

Result<std::unique_ptr<Layer>> make_fault(Stack&, std::string_view spec) {
  OST_TRY_ASSIGN(Plan plan, plan_of(spec));
  return std::make_unique<Fault>(std::move(plan));
}

}  // namespace layers
}  // namespace ost::runtime
