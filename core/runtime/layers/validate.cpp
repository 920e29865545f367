// The layer `validate`: handles, lifetimes, sizes, threads, the order of calls, and leaks with the
// place of creation. What the host does wrong is refused before the plugin sees it; what the plugin
// does wrong is reported. Every finding names the rule of plugin.h.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "core/runtime/env.hpp"
#include "core/runtime/layers/layers.hpp"
#include "core/runtime/layers/validate.hpp"
#include "core/runtime/log.hpp"

namespace ost::runtime {
namespace {

struct Findings {
  std::mutex mutex;
  std::vector<std::string> all;
};
Findings& findings() {
  static Findings* const instance = new Findings;
  return *instance;
}

}  // namespace

std::vector<std::string> validate_findings() {
  const std::scoped_lock lock(findings().mutex);
  return findings().all;
}

void clear_validate_findings() {
  const std::scoped_lock lock(findings().mutex);
  findings().all.clear();
}

namespace layers {

void report_finding(const Stack& stack, uint32_t rule, std::string text) {
  std::string line = fmt::format("{}: (rule {}) {}", stack.driver, rule, text);
  log(LogLevel::error, "validate: {}", line.substr(0, line.find('\n')));
  const auto file = env("OSTINATO_VALIDATE_FILE");
  const std::scoped_lock lock(findings().mutex);
  if (file) std::ofstream(*file, std::ios::app) << line << "\n";
  findings().all.push_back(std::move(line));
}

namespace {

bool is_destroy(Entry e) {
  return e == Entry::driver_destroy || e == Entry::device_destroy || e == Entry::buffer_free ||
         e == Entry::queue_destroy || e == Entry::timeline_destroy ||
         e == Entry::executable_unload || e == Entry::cmdlist_destroy;
}

// Rule 6: one thread at a time.
bool is_exclusive(Kind kind) {
  return kind == Kind::queue || kind == Kind::buffer || kind == Kind::executable ||
         kind == Kind::cmdlist;
}

class Validate : public Layer {
 public:
  explicit Validate(Stack& stack) : stack_(stack), flights_(stack) {}

  std::optional<Error> before(Call& call) override {
    check_threads(call);
    note_loss(call);
    if (is_destroy(call.entry)) {
      check_end(call);
      return std::nullopt;  // it happens all the same
    }
    if (auto broken = check_struct(call)) return refuse(call, std::move(*broken));
    if (auto broken = check_range(call)) return refuse(call, std::move(*broken));
    if (call.commands != nullptr || call.entry == Entry::queue_submit) {
      if (auto broken = check_commands(call)) return refuse(call, std::move(*broken));
    }
    if (call.entry == Entry::queue_submit) flights_.add(call);
    return std::nullopt;
  }

  void after(const Call& call, ost_status_t status) override {
    if (call.entry == Entry::queue_submit && status != OST_OK) flights_.forget(call);
    if (status > OST_IO_ERROR)
      finding(1, fmt::format("{} returns the unknown status {}", name_of(call.entry), status));
    if (status != OST_OK && !is_destroy(call.entry) && call.error->size >= sizeof *call.error &&
        call.error->message[0] == '\0' && call.entry != Entry::timeline_fail) {
      finding(5, fmt::format("{} fails with {} and no message", name_of(call.entry),
                             status_name(status)));
    }
    check_made(call, status);
    check_lost(call, status);
  }

  void wrong_handle(const std::string& text) override { finding(11, text); }

 private:
  void finding(uint32_t rule, std::string text) { report_finding(stack_, rule, std::move(text)); }

  std::optional<Error> refuse(const Call& call, Broken broken) {
    std::string text = fmt::format("{}: {}", name_of(call.entry), broken.text);
    finding(broken.rule, text);
    return Error{OST_INVALID_ARGUMENT, std::move(text), 0, broken.rule, 0};
  }

  void check_threads(const Call& call) {
    for (const Object* o : {call.self, call.other}) {
      // A wait blocks on purpose while others signal; buffers of a copy are used by its device.
      if (o != nullptr && is_exclusive(o->kind) && o->users > 1)
        finding(6, fmt::format("{} on {} while another thread uses it", name_of(call.entry),
                               to_string(*o)));
    }
  }

  void check_end(const Call& call) {
    Object* const object = call.entry == Entry::buffer_free ? call.other : call.self;
    if (object->users > 1 && !is_exclusive(object->kind)) {
      finding(11, fmt::format("{} of {} while a call on it runs", name_of(call.entry),
                              to_string(*object)));
    }
    if (object->kind == Kind::buffer && object->maps > 0)
      finding(8, fmt::format("{} is freed while it is mapped", to_string(*object)));
    if (object->kind == Kind::buffer && flights_.uses(object->id)) {
      finding(8, fmt::format("{} is freed while a submit that uses it has not ended",
                             to_string(*object)));
    }
    if (object->children > 0) {
      for (const Object* left : Objects::all().below(object)) {
        finding(11, fmt::format("leak: {} outlives {}; it was made at{}", to_string(*left),
                                to_string(*object), place_of(*left)));
      }
    }
  }

  void check_made(const Call& call, ost_status_t status) {
    const bool makes = call.entry == Entry::device_create || call.entry == Entry::buffer_alloc ||
                       call.entry == Entry::buffer_import_host ||
                       call.entry == Entry::queue_create || call.entry == Entry::timeline_create ||
                       call.entry == Entry::executable_load || call.entry == Entry::cmdlist_create;
    if (makes && status == OST_OK && call.made == nullptr)
      finding(5, fmt::format("{} succeeds and gives nothing", name_of(call.entry)));
  }

  // The device whose loss the call has to tell, null if it has none to tell.
  static const Object* device_of(const Call& call) {
    const Object* device = call.self;
    while (device != nullptr && device->kind != Kind::device) device = device->parent;
    const bool tells = !is_destroy(call.entry) && call.self->kind != Kind::timeline;
    return tells ? device : nullptr;
  }

  // A call that is under way while another thread's finds the device lost may still succeed.
  void note_loss(Call& call) {
    if (call.self == nullptr) return;
    const Object* device = device_of(call);
    const std::scoped_lock lock(mutex_);
    call.after_loss = device != nullptr && lost_.contains(device->id);
  }

  // Rule 7: what is lost stays lost.
  void check_lost(const Call& call, ost_status_t status) {
    const Object* device = call.self == nullptr ? nullptr : device_of(call);
    if (device == nullptr) return;
    const std::scoped_lock lock(mutex_);
    if (status == OST_DEVICE_LOST) {
      lost_.insert_or_assign(device->id, true);
    } else if (status == OST_OK && call.after_loss) {
      report_finding(stack_, 7,
                     fmt::format("{} succeeds on {}, which was lost", name_of(call.entry),
                                 to_string(*device)));
    }
  }

  Stack& stack_;
  Flights flights_;
  std::mutex mutex_;
  std::map<uint64_t, bool> lost_;
};

}  // namespace

std::unique_ptr<Layer> make_validate(Stack& stack) { return std::make_unique<Validate>(stack); }

}  // namespace layers
}  // namespace ost::runtime
