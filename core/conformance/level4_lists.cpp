// L4: command lists, and a whole program that is recorded once and replayed.
#include "program.hpp"

namespace ost::conform {
namespace {

using kir::Builder;
using kir::Role;
using kir::Value;
using runtime::CommandList;
using runtime::Queue;
using runtime::Timeline;

Check needs_lists(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  if (!lab.driver()->features().has_command_lists)
    return unsupported("the driver has no command lists; the host submits the commands one by one");
  return {};
}

ost_command_t command(uint32_t kind, std::span<const ost_ref_t> refs) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = kind;
  c.refs = refs.data();
  c.ref_count = static_cast<uint32_t>(refs.size());
  return c;
}

ost_command_t fill(std::span<const ost_ref_t> ref, uint64_t value) {
  ost_command_t c = command(OST_CMD_FILL, ref);
  c.fill_pattern = value;
  c.fill_pattern_size = 1;
  return c;
}

ost_command_t replay(const CommandList& list, std::span<const ost_ref_t> slots,
                     std::span<const int64_t> vars = {}) {
  ost_command_t c = command(OST_CMD_CMDLIST, slots);
  c.cmdlist = list.handle();
  c.vars = vars.data();
  c.var_count = static_cast<uint32_t>(vars.size());
  return c;
}

// y[i] = x[i] + k, for i < n
Result<kir::Kernel> add_constant() {
  Builder b;
  const Value n = b.var(0, 0, 1000);
  const Value k = b.var(1, 0, 100);
  const Value i = b.axis(n, Role::parallel);
  const Value x = b.load(b.param(0, DType::i64, n, OST_KIR_READ), i);
  b.store(b.param(1, DType::i64, n, OST_KIR_WRITE), i, b.add(x, k));
  return b.build();
}

Check slots(Lab& lab) {
  OST_TRY(needs_lists(lab));
  const ost_ref_t whole[] = {{nullptr, 0, 0, 1, 0}};  // all of slot 1
  const ost_ref_t part[] = {{nullptr, 4, 8, 2, 0}};   // 8 bytes of slot 2
  const ost_ref_t rest[] = {{nullptr, 16, 16, 2, 0}, {nullptr, 0, 16, 1, 0}};
  ost_command_t commands[] = {fill(whole, 5), fill(part, 6), command(OST_CMD_COPY, rest)};
  commands[2].level = 1;  // it reads what the first one writes
  OST_TRY_ASSIGN(const auto list, CommandList::create(lab.device_ptr(), commands, 2, 0));
  for (uint64_t round = 0; round < 3; ++round) {
    const uint64_t size = 16 + 8 * round;
    OST_TRY_ASSIGN(const Guarded a, lab.guarded(Bytes(size, 1)));
    OST_TRY_ASSIGN(const Guarded b, lab.guarded(Bytes(32, 2)));
    const ost_ref_t bound[] = {a.ref(), b.ref()};
    const ost_command_t c = replay(*list, bound);
    OST_TRY(lab.run({&c, 1}));
    OST_TRY_ASSIGN(const Bytes got_a, lab.read(a));
    OST_TRY_ASSIGN(const Bytes got_b, lab.read(b));
    CONFORM_EXPECT(got_a == Bytes(size, 5), "a ref with size 0 is not all of its slot");
    Bytes want(32, 2);
    std::fill_n(want.begin() + 4, 8, uint8_t{6});
    std::fill_n(want.begin() + 16, 16, uint8_t{5});
    CONFORM_EXPECT(got_b == want, "a part of a slot has other bytes after a replay");
  }
  return {};
}

Check variables(Lab& lab) {
  OST_TRY(needs_lists(lab));
  OST_TRY_ASSIGN(const kir::Kernel kernel, add_constant());
  auto prepared = lab.prepare(kernel);
  if (!prepared) return std::unexpected(prepared.error());
  const ost_ref_t first[] = {{nullptr, 0, 0, 1, 0}, {nullptr, 0, 0, 2, 0}};
  const ost_ref_t second[] = {{nullptr, 0, 0, 2, 0}, {nullptr, 0, 0, 3, 0}};
  // The list's variables are {unused, k, n}; the kernel's are {n, k}.
  const uint32_t var_map[] = {2, 1};
  OST_TRY_ASSIGN(const Recorded a, lab.record(*prepared, first, var_map, 3));
  OST_TRY_ASSIGN(const Recorded b, lab.record(*prepared, second, var_map, 3));
  ost_command_t commands[] = {a.command, b.command};
  commands[1].level = 1;
  OST_TRY_ASSIGN(const auto list,
                 CommandList::create(lab.device_ptr(), commands, 3,
                                     static_cast<uint32_t>(a.vars_of({0, 0, 0}).size())));
  prepared->executable.reset();  // the list keeps what it needs
  Random random = lab.random("variables");
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{0, 3}, {1, 0}, {257, 42}, {1000, 100}}) {
    const auto count = static_cast<uint64_t>(n);
    const Bytes in = values(DType::i64, count, Flavour::any, random);
    const Bytes poison(in.size(), kPoison);
    OST_TRY_ASSIGN(const auto mid, expected(kernel, {{in, poison}, {n, k}}));
    OST_TRY_ASSIGN(const auto end, expected(kernel, {{mid[1], poison}, {n, k}}));
    OST_TRY_ASSIGN(const Guarded x, lab.guarded(in));
    OST_TRY_ASSIGN(const Guarded y, lab.guarded(poison));
    OST_TRY_ASSIGN(const Guarded z, lab.guarded(poison));
    const ost_ref_t bound[] = {x.ref(), y.ref(), z.ref()};
    const std::vector<int64_t> vars = a.vars_of({99, k, n});
    const ost_command_t c = replay(*list, bound, vars);
    OST_TRY(lab.run({&c, 1}));
    OST_TRY_ASSIGN(const Bytes got, lab.read(z));
    CONFORM_EXPECT(got == end[1], "a replay with n = {} and k = {} has other bits", n, k);
  }
  return {};
}

// A list whose buffers were named when it was recorded, many times, between other commands.
Check repeats(Lab& lab) {
  OST_TRY(needs_lists(lab));
  OST_TRY_ASSIGN(const BufferPtr a, lab.buffer(Bytes(64, 0)));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(64, 0)));
  const ost_ref_t refs[] = {{b->handle(), 0, 64, 0, 0}, {a->handle(), 0, 64, 0, 0}};
  const ost_command_t recorded[] = {command(OST_CMD_COPY, refs)};
  OST_TRY_ASSIGN(const auto list, CommandList::create(lab.device_ptr(), recorded, 0, 0));
  OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(lab.device_ptr()));
  for (uint64_t i = 1; i <= 200; ++i) {
    const ost_command_t commands[] = {fill({&refs[1], 1}, i), replay(*list, {})};
    const ost_point_t done{timeline->handle(), i};
    OST_TRY(queue->submit({}, commands, {&done, 1}));
    if (i % 50 != 0) continue;
    OST_TRY(timeline->wait(i, lab.limit_ns()));
    OST_TRY_ASSIGN(const Bytes got, lab.read(b));
    CONFORM_EXPECT(got == Bytes(64, static_cast<uint8_t>(i)), "replay {} has other bytes", i);
  }
  return {};
}

Check levels(Lab& lab) {
  OST_TRY(needs_lists(lab));
  constexpr uint32_t kWide = 12;
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(kWide * 64 * 2, 0)));
  std::vector<ost_ref_t> refs;
  for (uint32_t i = 0; i < kWide; ++i) refs.push_back({b->handle(), uint64_t{64} * i, 64, 0, 0});
  std::vector<ost_command_t> commands;
  for (uint32_t i = 0; i < kWide; ++i) commands.push_back(fill({&refs[i], 1}, i + 1));
  const ost_ref_t halves[] = {{b->handle(), kWide * 64, kWide * 64, 0, 0},
                              {b->handle(), 0, kWide * 64, 0, 0}};
  commands.push_back(command(OST_CMD_COPY, halves));
  commands.back().level = 1;
  OST_TRY_ASSIGN(const auto list, CommandList::create(lab.device_ptr(), commands, 0, 0));
  const ost_command_t c = replay(*list, {});
  OST_TRY(lab.run({&c, 1}));
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  for (uint32_t i = 0; i < 2 * kWide * 64; ++i) {
    CONFORM_EXPECT(got[i] == i % (kWide * 64) / 64 + 1, "byte {} of two levels is {}, wanted {}", i,
                   got[i], i % (kWide * 64) / 64 + 1);
  }
  return {};
}

Check refuses(Lab& lab) {
  OST_TRY(needs_lists(lab));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(64, 3)));
  const ost_ref_t sixteen[] = {{nullptr, 0, 16, 1, 0}};
  const ost_command_t recorded[] = {fill(sixteen, 9)};
  OST_TRY_ASSIGN(const auto list, CommandList::create(lab.device_ptr(), recorded, 1, 0));
  const ost_ref_t small[] = {{b->handle(), 0, 15, 0, 0}};
  const ost_ref_t two[] = {{b->handle(), 0, 16, 0, 0}, {b->handle(), 16, 16, 0, 0}};
  const ost_ref_t outside[] = {{b->handle(), 60, 16, 0, 0}};
  const int64_t seven = 7;
  const std::pair<const char*, ost_command_t> wrong[] = {
      {"a range of 15 bytes for a slot that needs 16", replay(*list, small)},
      {"two ranges for one slot", replay(*list, two)},
      {"no range for one slot", replay(*list, {})},
      {"a range outside of its buffer", replay(*list, outside)},
      {"a variable for a list that has none", replay(*list, {&two[0], 1}, {&seven, 1})}};
  for (const auto& [what, c] : wrong) CONFORM_EXPECT(!lab.run({&c, 1}), "{} is accepted", what);
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  CONFORM_EXPECT(got == Bytes(64, 3), "a refused replay has written");
  const ost_ref_t no_slot[] = {{nullptr, 0, 16, 2, 0}};
  const ost_command_t bad_slot[] = {fill(no_slot, 9)};
  CONFORM_EXPECT(!CommandList::create(lab.device_ptr(), bad_slot, 1, 0),
                 "slot 2 of a list with 1 is accepted");
  const ost_command_t nested[] = {replay(*list, sixteen)};
  CONFORM_EXPECT(!CommandList::create(lab.device_ptr(), nested, 1, 0),
                 "a list inside a list is accepted (rule 10)");
  return {};
}

// Capture: a program with a variable is built once, and its runs compile, load and allocate
// nothing.
Check program_replays(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  OST_TRY_ASSIGN(const auto program, small_network(1));
  const std::vector<runtime::DevicePtr> devices{lab.device_ptr()};
  return replay_program(lab, program, devices, {0, 1, 7, 16});
}

}  // namespace

void add_list_cases(std::vector<Case>& out) {
  const std::pair<const char*, Check (*)(Lab&)> kCases[] = {
      {"list.slots", slots},   {"list.variables", variables}, {"list.repeats", repeats},
      {"list.levels", levels}, {"list.refuses", refuses},     {"program.replays", program_replays},
  };
  for (const auto& [name, run] : kCases) out.push_back({4, name, "", run});
}

}  // namespace ost::conform
