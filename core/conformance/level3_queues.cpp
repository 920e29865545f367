// L3: queues and timelines. What waits, what fails, and what many threads do at once.
#include <atomic>
#include <chrono>
#include <thread>

#include "data.hpp"
#include "lab.hpp"

namespace ost::conform {
namespace {

using runtime::Queue;
using runtime::Timeline;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

Check needs_device(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  return {};
}

ost_command_t fill(const ost_ref_t* ref, uint64_t value) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_FILL;
  c.refs = ref;
  c.ref_count = 1;
  c.fill_pattern = value;
  c.fill_pattern_size = 1;
  return c;
}

ost_command_t copy(const ost_ref_t* refs) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_COPY;
  c.refs = refs;
  c.ref_count = 2;
  return c;
}

Check is_status(const Result<>& result, ost_status_t wanted, const char* what) {
  CONFORM_EXPECT(!result, "{} succeeds, wanted {}", what, status_name(wanted));
  CONFORM_EXPECT(result.error().status == wanted, "{}: found {} ({}), wanted {} (rule 7)", what,
                 status_name(result.error().status), result.error().message, status_name(wanted));
  return {};
}

Check values_grow(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto t, Timeline::create(lab.device_ptr(), 5));
  OST_TRY_ASSIGN(const uint64_t first, t->query());
  CONFORM_EXPECT(first == 5, "a timeline that begins at 5 is at {}", first);
  OST_TRY(t->wait(5, 0));
  OST_TRY(t->signal(9));
  OST_TRY(t->wait(8, 0));
  OST_TRY_ASSIGN(const uint64_t second, t->query());
  CONFORM_EXPECT(second == 9, "a timeline that was signalled with 9 is at {}", second);
  OST_TRY(is_status(t->signal(9), OST_INVALID_ARGUMENT, "a signal with the value reached"));
  OST_TRY(is_status(t->signal(3), OST_INVALID_ARGUMENT, "a signal with a smaller value"));
  OST_TRY(t->signal(UINT64_MAX - 1));
  return {};
}

Check waits_end(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto t, Timeline::create(lab.device_ptr()));
  OST_TRY(is_status(t->wait(1, 0), OST_TIMEOUT, "a look at a value that is not reached"));
  const auto start = steady_clock::now();
  OST_TRY(is_status(t->wait(1, 20'000'000), OST_TIMEOUT, "a wait of 20 ms"));
  const auto took = steady_clock::now() - start;
  CONFORM_EXPECT(took > milliseconds(15), "a wait of 20 ms ends after {} us",
                 std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  std::jthread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    (void)t->signal(1);
  });
  OST_TRY(t->wait(1, lab.limit_ns()));
  return {};
}

Check first_failure_stays(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto t, Timeline::create(lab.device_ptr()));
  OST_TRY(t->signal(4));
  OST_TRY(t->fail(Error{OST_DATA_LOSS, "the first failure", 17, 0, 0}));
  (void)t->fail(Error{OST_IO_ERROR, "the second failure", 0, 0, 0});
  OST_TRY(t->wait(4, 0));  // was reached before
  const auto later = t->wait(5, lab.limit_ns());
  OST_TRY(is_status(later, OST_DATA_LOSS, "a wait on a failed timeline"));
  CONFORM_EXPECT(later.error().message.find("the first failure") != std::string::npos,
                 "the failure of a timeline lost its message: {}", later.error().message);
  CONFORM_EXPECT(later.error().native_code == 17, "the failure of a timeline lost its native code");
  OST_TRY(is_status(t->signal(6), OST_DATA_LOSS, "a signal of a failed timeline"));
  uint64_t value = 0;
  const auto query = lab.call("timeline_query", [&](ost_error_t* e) {
    return lab.table().timeline_query(t->handle(), &value, e);
  });
  OST_TRY(is_status(query, OST_DATA_LOSS, "a query of a failed timeline"));
  CONFORM_EXPECT(value == 4, "a failed timeline that had reached 4 says {} (rule 7)", value);
  return {};
}

Check in_order(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(4096, 0)));
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(lab.device_ptr()));
  const ost_ref_t all{b->handle(), 0, 4096, 0, 0};
  for (uint64_t i = 1; i <= 50; ++i) {
    const ost_ref_t half[] = {{b->handle(), 2048, 2048, 0, 0}, {b->handle(), 0, 2048, 0, 0}};
    const ost_command_t commands[] = {fill(&all, i), fill(&half[1], i + 100), copy(half)};
    const ost_point_t done{timeline->handle(), i};
    OST_TRY(queue->submit({}, commands, {&done, 1}));
  }
  OST_TRY(timeline->wait(50, lab.limit_ns()));
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  CONFORM_EXPECT(got == Bytes(4096, 150), "commands of a queue did not run in order (rule 7)");
  return {};
}

// Several waits and several signals, and a submit without any command.
Check joins(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto a, Timeline::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto b, Timeline::create(lab.device_ptr()));
  OST_TRY(a->signal(3));
  OST_TRY(b->signal(2));
  const ost_point_t waits[] = {{a->handle(), 3}, {b->handle(), 1}};
  const ost_point_t signals[] = {{a->handle(), 10}, {b->handle(), 20}};
  OST_TRY(queue->submit(waits, {}, signals));
  OST_TRY(a->wait(10, lab.limit_ns()));
  OST_TRY(b->wait(20, lab.limit_ns()));
  OST_TRY(queue->submit({}, {}, {}));
  return {};
}

Check wait_before_signal(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(64, 0)));
  OST_TRY_ASSIGN(const auto gate, Timeline::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto done, Timeline::create(lab.device_ptr()));
  const ost_ref_t ref{b->handle(), 0, 64, 0, 0};
  Result<> submitted;
  {
    std::jthread worker([&] {  // a synchronous device waits inside the submit
      auto queue = Queue::create(lab.device_ptr());
      if (!queue) {
        submitted = std::unexpected(queue.error());
        return;
      }
      const ost_command_t command = fill(&ref, 7);
      const ost_point_t wait{gate->handle(), 1};
      const ost_point_t signal{done->handle(), 1};
      submitted = (*queue)->submit({&wait, 1}, {&command, 1}, {&signal, 1});
      (void)done->wait(1, lab.limit_ns());  // the queue lives until its work has ended
    });
    std::this_thread::sleep_for(milliseconds(30));
    OST_TRY_ASSIGN(const uint64_t early, done->query());
    if (early != 0) {
      (void)gate->signal(1);
      return failed("work ran before what it waits for was signalled");
    }
    OST_TRY(gate->signal(1));
  }
  OST_TRY(submitted);
  OST_TRY(done->wait(1, lab.limit_ns()));
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  CONFORM_EXPECT(got == Bytes(64, 7), "work that waited did not run");
  return {};
}

// A failure travels along three submits; none of them runs, and nobody waits for ever.
Check failure_travels(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(64, 1)));
  const ost_ref_t ref{b->handle(), 0, 64, 0, 0};
  std::vector<std::shared_ptr<Timeline>> chain;
  for (int i = 0; i < 4; ++i) {
    OST_TRY_ASSIGN(auto t, Timeline::create(lab.device_ptr()));
    chain.push_back(std::move(t));
  }
  OST_TRY(chain[0]->fail(Error{OST_DATA_LOSS, "the cause", 0, 0, 0}));
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  for (size_t i = 0; i < 3; ++i) {
    const ost_command_t command = fill(&ref, 9);
    const ost_point_t wait{chain[i]->handle(), 1};
    const ost_point_t signal{chain[i + 1]->handle(), 1};
    (void)queue->submit({&wait, 1}, {&command, 1}, {&signal, 1});  // may say so at once
  }
  for (size_t i = 1; i < 4; ++i) {
    const auto end = chain[i]->wait(1, lab.limit_ns());
    OST_TRY(is_status(end, OST_DATA_LOSS, "a wait behind a failed wait"));
    CONFORM_EXPECT(end.error().message.find("the cause") != std::string::npos,
                   "the message was lost on the way: {}", end.error().message);
  }
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  CONFORM_EXPECT(got == Bytes(64, 1), "work ran although its wait had failed (rule 7)");
  OST_TRY_ASSIGN(const auto fresh, Timeline::create(lab.device_ptr()));
  const ost_command_t command = fill(&ref, 2);
  const ost_point_t signal{fresh->handle(), 1};
  OST_TRY(queue->submit({}, {&command, 1}, {&signal, 1}));  // the queue is as good as before
  OST_TRY(fresh->wait(1, lab.limit_ns()));
  OST_TRY_ASSIGN(const Bytes after, lab.read(b));
  CONFORM_EXPECT(after == Bytes(64, 2), "a queue does not work after a failed submit");
  return {};
}

Check failed_work_signals(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(64, 1)));
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto first, Timeline::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto second, Timeline::create(lab.device_ptr()));
  const ost_ref_t outside{b->handle(), 60, 10, 0, 0};
  const ost_command_t command = fill(&outside, 9);
  const ost_point_t signals[] = {{first->handle(), 1}, {second->handle(), 1}};
  (void)queue->submit({}, {&command, 1}, signals);
  for (const auto& t : {first, second}) {
    const auto end = t->wait(1, lab.limit_ns());
    CONFORM_EXPECT(!end, "a submit that is wrong signals success");
    CONFORM_EXPECT(end.error().status != OST_TIMEOUT,
                   "a submit that fails leaves its signals open: somebody would wait for ever "
                   "(rule 7)");
  }
  return {};
}

// Eight threads, each with a queue, a timeline and two buffers; each waits for the one before.
Check stress(Lab& lab) {
  OST_TRY(needs_device(lab));
  constexpr uint32_t kThreads = 8;
  constexpr uint64_t kRounds = 100;
  std::vector<std::shared_ptr<Timeline>> timelines;
  for (uint32_t i = 0; i < kThreads; ++i) {
    OST_TRY_ASSIGN(auto t, Timeline::create(lab.device_ptr()));
    timelines.push_back(std::move(t));
  }
  std::vector<Check> results(kThreads);
  const auto work = [&](uint32_t me) -> Check {
    Random random = lab.random(fmt::format("stress{}", me));
    OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
    for (uint64_t round = 1; round <= kRounds; ++round) {
      const uint64_t size = 1 + random() % 5000;
      const auto value = static_cast<uint8_t>(random());
      OST_TRY_ASSIGN(const BufferPtr a, lab.buffer(Bytes(size, kPoison)));
      OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(size + 2, kPoison)));
      const ost_ref_t all{a->handle(), 0, size, 0, 0};
      const ost_ref_t refs[] = {{b->handle(), 1, size, 0, 0}, all};
      const ost_command_t commands[] = {fill(&all, value), copy(refs)};
      // A ring would wait for itself, so thread 0 waits for nobody.
      const ost_point_t wait{timelines[(me + kThreads - 1) % kThreads]->handle(), round};
      const ost_point_t signal{timelines[me]->handle(), round};
      OST_TRY(queue->submit({&wait, me == 0 ? 0u : 1u}, commands, {&signal, 1}));
      OST_TRY(timelines[me]->wait(round, lab.limit_ns()));
      OST_TRY_ASSIGN(const Bytes got, lab.read(b));
      Bytes want(size + 2, value);
      want.front() = want.back() = kPoison;
      CONFORM_EXPECT(got == want, "thread {}, round {}: other bytes than were filled", me, round);
    }
    return {};
  };
  {
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        results[i] = work(i);
        if (!results[i]) (void)timelines[i]->fail(Error{OST_INTERNAL, "stopped", 0, 0, 0});
      });
    }
  }
  for (Check& r : results) OST_TRY(std::move(r));
  return {};
}

// One timeline, eight waiters, one signaller.
Check crowd(Lab& lab) {
  OST_TRY(needs_device(lab));
  OST_TRY_ASSIGN(const auto t, Timeline::create(lab.device_ptr()));
  std::atomic<int> woken{0};
  {
    std::vector<std::jthread> threads;
    for (uint64_t i = 1; i <= 8; ++i) {
      threads.emplace_back([&, i] {
        if (t->wait(i, lab.limit_ns())) ++woken;
      });
    }
    for (uint64_t i = 2; i <= 8; i += 2) OST_TRY(t->signal(i));
  }
  CONFORM_EXPECT(woken == 8, "{} of 8 threads woke", woken.load());
  return {};
}

Check profiles(Lab& lab) {
  OST_TRY(needs_device(lab));
  if (!lab.driver()->features().has_profiling) return unsupported("the driver has no profiling");
  kir::Builder b;
  const kir::Value n = b.i64(1000);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  b.store(b.param(0, DType::f32, n, OST_KIR_WRITE), i, b.f32(1));
  OST_TRY_ASSIGN(const kir::Kernel kernel, b.build());
  auto prepared = lab.prepare(kernel);
  if (!prepared) return std::unexpected(prepared.error());
  OST_TRY_ASSIGN(const Guarded memory, lab.guarded(Bytes(4000, 0)));
  const ost_ref_t ref = memory.ref();
  OST_TRY_ASSIGN(const ost_command_t dispatch, lab.dispatch(*prepared, {&ref, 1}, {}));
  const ost_command_t commands[] = {fill(&ref, 0), dispatch, dispatch};
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(lab.device_ptr()));
  OST_TRY(queue->profile(true));
  const ost_point_t done{timeline->handle(), 1};
  OST_TRY(queue->submit({}, commands, {&done, 1}));
  OST_TRY(timeline->wait(1, lab.limit_ns()));
  std::vector<ost_profile_record_t> records;
  OST_TRY(queue->drain_profile(records));
  CONFORM_EXPECT(records.size() == 2, "2 dispatches give {} records", records.size());
  for (uint32_t r = 0; r < 2; ++r) {
    CONFORM_EXPECT(records[r].command == r + 1, "record {} is of command {}, wanted {}", r,
                   records[r].command, r + 1);
    CONFORM_EXPECT(records[r].start_ns <= records[r].end_ns, "record {} ends before it starts", r);
  }
  OST_TRY(queue->profile(false));
  return {};
}

}  // namespace

void add_queue_cases(std::vector<Case>& out) {
  const std::pair<const char*, Check (*)(Lab&)> kCases[] = {
      {"timeline.values", values_grow},
      {"timeline.timeout", waits_end},
      {"timeline.failure", first_failure_stays},
      {"timeline.crowd", crowd},
      {"queue.order", in_order},
      {"queue.joins", joins},
      {"queue.wait_before_signal", wait_before_signal},
      {"queue.failure_travels", failure_travels},
      {"queue.failed_work", failed_work_signals},
      {"queue.stress", stress},
      {"queue.profile", profiles},
  };
  for (const auto& [name, run] : kCases) out.push_back({3, name, "", run});
}

}  // namespace ost::conform
