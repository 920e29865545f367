// L1: memory. Every write is between guards; every call that is wrong is refused and changes
// nothing.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/runtime/guarded.hpp"
#include "data.hpp"
#include "lab.hpp"

namespace ost::conform {
namespace {

using runtime::Buffer;
using runtime::Queue;
using runtime::Timeline;

Check needs_device(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  return {};
}

Bytes pattern(uint64_t count, uint32_t salt) {
  Bytes out(count);
  for (uint64_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>((i * 37 + salt * 101 + (i >> 8)) & 0xff);
  return out;
}

Check same_bytes(std::span<const uint8_t> got, std::span<const uint8_t> want, const char* what) {
  for (size_t i = 0; i < want.size(); ++i) {
    CONFORM_EXPECT(got[i] == want[i], "{}: byte {} of {} is {:#x}, wanted {:#x}", what, i,
                   want.size(), got[i], want[i]);
  }
  return {};
}

// A call that must be refused, with a message, and as an invalid argument unless said otherwise.
Check refused(const Result<>& result, const char* what,
              ost_status_t wanted = OST_INVALID_ARGUMENT) {
  CONFORM_EXPECT(!result, "{} is accepted", what);
  CONFORM_EXPECT(result.error().status == wanted, "{}: found {} ({}), wanted {}", what,
                 status_name(result.error().status), result.error().message, status_name(wanted));
  return {};
}

Check heaps(Lab& lab) {
  OST_TRY(needs_device(lab));
  const auto& t = lab.table();
  const uint32_t count = t.heap_count(lab.device().handle());
  CONFORM_EXPECT(count > 0, "the device has no heap");
  for (uint32_t h = 0; h <= count; ++h) {
    runtime::Guarded<ost_heap_info_t> guarded;
    const auto found = lab.call("heap_info", [&](ost_error_t* e) {
      return t.heap_info(lab.device().handle(), h, guarded.get(), e);
    });
    OST_TRY(guarded.check("heap_info"));
    const ost_heap_info_t& info = guarded.value();
    CONFORM_EXPECT(h < count || !found, "heap_info has heap {} of {}", h, count);
    if (h == count) break;
    OST_TRY(found);
    CONFORM_EXPECT((info.flags & ~15u) == 0, "heap {} has unknown flags {:#x} (rule 1)", h,
                   info.flags);
    const bool coherent = (info.flags & OST_HEAP_COHERENT) != 0;
    CONFORM_EXPECT(!coherent || (info.flags & OST_HEAP_HOST_VISIBLE) != 0,
                   "heap {} is COHERENT and not HOST_VISIBLE", h);
  }
  return {};
}

Check sizes(Lab& lab) {
  OST_TRY(needs_device(lab));
  for (const uint64_t bytes : {0, 1, 3, 63, 64, 65, 4095, 4096, 4097, 1 << 20}) {
    const Bytes content = pattern(bytes, static_cast<uint32_t>(bytes));
    OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(content));
    OST_TRY_ASSIGN(const Bytes got, lab.read(b));
    OST_TRY(same_bytes(got, content, "read after write"));
    // Nothing, at the end of the buffer and from nowhere.
    OST_TRY(lab.call("buffer_write", [&](ost_error_t* e) {
      return lab.table().buffer_write(lab.device().handle(), b->handle(), bytes, nullptr, 0, e);
    }));
    OST_TRY(lab.call("buffer_read", [&](ost_error_t* e) {
      return lab.table().buffer_read(lab.device().handle(), b->handle(), bytes, nullptr, 0, e);
    }));
  }
  return {};
}

Check parts(Lab& lab) {
  OST_TRY(needs_device(lab));
  constexpr uint64_t kSize = 1000;
  for (const uint64_t offset : {0, 1, 3, 7, 64, 65, 511, 999}) {
    for (const uint64_t size : {0, 1, 2, 3, 8, 17, 64, 255}) {
      if (offset + size > kSize) continue;
      Bytes want(kSize, kPoison);
      OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(want));
      const Bytes part = pattern(size, static_cast<uint32_t>(offset));
      OST_TRY(b->write(offset, part));
      std::ranges::copy(part, want.begin() + static_cast<std::ptrdiff_t>(offset));
      OST_TRY_ASSIGN(const Bytes all, lab.read(b));
      OST_TRY(same_bytes(all, want, "write of a part"));
      Bytes back(size);
      if (size > 0) OST_TRY(b->read(offset, back));
      OST_TRY(same_bytes(back, part, "read of a part"));
    }
  }
  return {};
}

Check ranges(Lab& lab) {
  OST_TRY(needs_device(lab));
  const auto& t = lab.table();
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(pattern(100, 1)));
  Bytes host(256, kPoison);
  const std::pair<uint64_t, uint64_t> wrong[] = {{0, 101}, {100, 1},        {101, 0},
                                                 {99, 2},  {UINT64_MAX, 1}, {UINT64_MAX - 3, 8}};
  for (const auto& [offset, size] : wrong) {
    const std::string what = fmt::format("{} bytes at {} of a buffer of 100", size, offset);
    OST_TRY(refused(lab.call("buffer_write",
                             [&](ost_error_t* e) {
                               return t.buffer_write(lab.device().handle(), b->handle(), offset,
                                                     host.data(), size, e);
                             }),
                    ("buffer_write of " + what).c_str()));
    OST_TRY(refused(lab.call("buffer_read",
                             [&](ost_error_t* e) {
                               return t.buffer_read(lab.device().handle(), b->handle(), offset,
                                                    host.data(), size, e);
                             }),
                    ("buffer_read of " + what).c_str()));
  }
  OST_TRY(same_bytes(host, Bytes(256, kPoison), "host memory after refused reads"));
  OST_TRY_ASSIGN(const Bytes all, lab.read(b));
  return same_bytes(all, pattern(100, 1), "a buffer after refused writes");
}

Check out_of_memory(Lab& lab) {
  OST_TRY(needs_device(lab));
  for (const uint64_t bytes : {uint64_t{1} << 62, UINT64_MAX - 100}) {
    ost_dbuffer_t* buffer = nullptr;
    OST_TRY(refused(lab.call("buffer_alloc",
                             [&](ost_error_t* e) {
                               return lab.table().buffer_alloc(lab.device().handle(), 0, bytes, 64,
                                                               &buffer, e);
                             }),
                    fmt::format("buffer_alloc of {} bytes", bytes).c_str(), OST_OUT_OF_MEMORY));
    CONFORM_EXPECT(buffer == nullptr, "buffer_alloc fails and gives a buffer");
  }
  return sizes(lab);  // and the device works on
}

Check alignment(Lab& lab) {
  OST_TRY(needs_device(lab));
  const auto& t = lab.table();
  ost_dbuffer_t* none = nullptr;
  OST_TRY(refused(lab.call("buffer_alloc",
                           [&](ost_error_t* e) {
                             return t.buffer_alloc(lab.device().handle(), 0, 64, 48, &none, e);
                           }),
                  "buffer_alloc with alignment 48"));
  if (!lab.device().host_visible()) return unsupported("heap 0 is not host visible");
  for (const uint32_t align : {1u, 64u, 256u, 4096u}) {
    ost_dbuffer_t* b = nullptr;
    OST_TRY(lab.call("buffer_alloc", [&](ost_error_t* e) {
      return t.buffer_alloc(lab.device().handle(), 0, 100, align, &b, e);
    }));
    void* at = nullptr;
    const auto mapped =
        lab.call("buffer_map", [&](ost_error_t* e) { return t.buffer_map(b, 0, 100, &at, e); });
    if (mapped) t.buffer_unmap(b, nullptr);
    t.buffer_free(lab.device().handle(), b);
    OST_TRY(mapped);
    const uint64_t wanted = std::max(align, lab.info().min_align);
    CONFORM_EXPECT(reinterpret_cast<uintptr_t>(at) % wanted == 0,
                   "memory for alignment {} is at {}, wanted a multiple of {} (rule 8)", align, at,
                   wanted);
  }
  return {};
}

Check distinct(Lab& lab) {
  OST_TRY(needs_device(lab));
  std::vector<BufferPtr> buffers;
  for (uint32_t i = 0; i < 200; ++i) {
    OST_TRY_ASSIGN(BufferPtr b, lab.buffer(pattern(100 + 7 * i, i)));
    buffers.push_back(std::move(b));
  }
  for (uint32_t i = 0; i < 200; i += 3) buffers[i].reset();
  for (uint32_t i = 0; i < 200; ++i) {
    if (!buffers[i]) continue;
    OST_TRY_ASSIGN(const Bytes got, lab.read(buffers[i]));
    OST_TRY(same_bytes(got, pattern(100 + 7 * i, i), "one of many buffers"));
  }
  return {};
}

// 64 GB in total: memory that is freed must come back.
Check freed(Lab& lab) {
  OST_TRY(needs_device(lab));
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  for (int i = 0; i < 1000; ++i) {
    OST_TRY_ASSIGN(const BufferPtr b, Buffer::allocate(lab.device_ptr(), kBytes));
    if (i % 100 == 0) OST_TRY(b->write(kBytes - 3, pattern(3, 1)));
  }
  return {};
}

Check maps(Lab& lab) {
  OST_TRY(needs_device(lab));
  const auto& t = lab.table();
  const Bytes content = pattern(1000, 5);
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(content));
  void* at = nullptr;
  const auto mapped = lab.call(
      "buffer_map", [&](ost_error_t* e) { return t.buffer_map(b->handle(), 10, 100, &at, e); });
  if (!lab.device().host_visible()) {
    CONFORM_EXPECT(!mapped, "a heap that is not HOST_VISIBLE can be mapped (rule 8)");
    return unsupported("heap 0 is not host visible");
  }
  OST_TRY(mapped);
  const bool coherent = (lab.device().heap_flags() & OST_HEAP_COHERENT) != 0;
  if (!coherent)
    OST_TRY(lab.call("buffer_invalidate",
                     [&](ost_error_t* e) { return t.buffer_invalidate(b->handle(), 10, 100, e); }));
  auto* bytes = static_cast<uint8_t*>(at);
  OST_TRY(same_bytes({bytes, 100}, std::span(content).subspan(10, 100), "mapped memory"));
  std::fill_n(bytes, 100, uint8_t{0x3c});
  if (!coherent)
    OST_TRY(lab.call("buffer_flush",
                     [&](ost_error_t* e) { return t.buffer_flush(b->handle(), 10, 100, e); }));
  OST_TRY(lab.call("buffer_unmap", [&](ost_error_t* e) { return t.buffer_unmap(b->handle(), e); }));
  Bytes want = content;
  std::fill_n(want.begin() + 10, 100, uint8_t{0x3c});
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  OST_TRY(same_bytes(got, want, "a buffer after a write through its mapping"));
  const std::pair<uint64_t, uint64_t> wrong[] = {{0, 1001}, {1000, 1}, {UINT64_MAX, 2}};
  for (const auto& [offset, size] : wrong) {
    OST_TRY(refused(
        lab.call("buffer_map",
                 [&](ost_error_t* e) { return t.buffer_map(b->handle(), offset, size, &at, e); }),
        fmt::format("buffer_map of {} bytes at {} of 1000", size, offset).c_str()));
  }
  return {};
}

Check imports(Lab& lab) {
  OST_TRY(needs_device(lab));
  if (!lab.driver()->features().has_import_host)
    return unsupported("the driver has no buffer_import_host");
  constexpr uint64_t kBytes = 8192;
  const std::shared_ptr<void> memory(std::aligned_alloc(4096, kBytes), std::free);
  auto* bytes = static_cast<uint8_t*>(memory.get());
  const Bytes content = pattern(kBytes, 9);
  std::ranges::copy(content, bytes);
  {
    const auto imported = Buffer::import_host(lab.device_ptr(), bytes, kBytes, memory);
    if (!imported && imported.error().status == OST_UNIMPLEMENTED)
      return unsupported("{}", imported.error().message);
    OST_TRY_ASSIGN(const auto b, imported);
    OST_TRY_ASSIGN(const Bytes got, lab.read(b));
    OST_TRY(same_bytes(got, content, "imported memory"));
    OST_TRY(b->write(7, pattern(11, 3)));
    OST_TRY_ASSIGN(const Bytes after, lab.read(b));
    OST_TRY(same_bytes(std::span(after).subspan(7, 11), pattern(11, 3), "imported memory"));
  }
  Bytes want = content;
  std::ranges::copy(pattern(11, 3), want.begin() + 7);
  OST_TRY(same_bytes({bytes, kBytes}, want, "imported memory after its buffer was freed"));
  const auto null = Buffer::import_host(lab.device_ptr(), nullptr, 64, nullptr);
  CONFORM_EXPECT(!null, "import of a null pointer is accepted");
  return {};
}

// --- commands

ost_command_t copy_command(const ost_ref_t* refs) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_COPY;
  c.refs = refs;
  c.ref_count = 2;
  return c;
}

ost_command_t fill_command(const ost_ref_t* ref, uint64_t value, uint32_t size) {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_FILL;
  c.refs = ref;
  c.ref_count = 1;
  c.fill_pattern = value;
  c.fill_pattern_size = size;
  return c;
}

Check copies(Lab& lab) {
  OST_TRY(needs_device(lab));
  const Bytes content = pattern(1000, 4);
  OST_TRY_ASSIGN(const BufferPtr source, lab.buffer(content));
  for (const uint64_t to : {0, 1, 3, 64, 129}) {
    for (const uint64_t from : {0, 1, 2, 64, 77}) {
      for (const uint64_t size : {0, 1, 5, 64, 333}) {
        Bytes want(1000, kPoison);
        OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(want));
        const ost_ref_t refs[] = {{b->handle(), to, size, 0, 0},
                                  {source->handle(), from, size, 0, 0}};
        const ost_command_t c = copy_command(refs);
        if (auto ok = lab.run({&c, 1}); !ok) {
          return failed("copy of {} bytes from {} to {}: {}", size, from, to, ok.error().message);
        }
        std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(from), size,
                    want.begin() + static_cast<std::ptrdiff_t>(to));
        OST_TRY_ASSIGN(const Bytes got, lab.read(b));
        OST_TRY(same_bytes(got, want,
                           fmt::format("copy of {} bytes from {} to {}", size, from, to).c_str()));
      }
    }
  }
  return {};
}

Check copies_inside(Lab& lab) {
  OST_TRY(needs_device(lab));
  Bytes want = pattern(1000, 6);
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(want));
  const ost_ref_t refs[] = {{b->handle(), 600, 300, 0, 0}, {b->handle(), 50, 300, 0, 0}};
  const ost_command_t c = copy_command(refs);
  OST_TRY(lab.run({&c, 1}));
  std::copy_n(want.begin() + 50, 300, want.begin() + 600);
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  return same_bytes(got, want, "copy within one buffer");
}

Check fills(Lab& lab) {
  OST_TRY(needs_device(lab));
  constexpr uint64_t kPattern = 0x8877665544332211u;
  for (const uint32_t width : {1u, 2u, 4u, 8u}) {
    for (const uint64_t offset : {0, 8, 64, 104}) {
      for (const uint64_t count : {0, 1, 3, 64, 100}) {
        Bytes want(1000, kPoison);
        OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(want));
        const ost_ref_t ref{b->handle(), offset, count * width, 0, 0};
        const ost_command_t c = fill_command(&ref, kPattern, width);
        const std::string what =
            fmt::format("fill of {} times {} bytes at {}", count, width, offset);
        if (auto ok = lab.run({&c, 1}); !ok) return failed("{}: {}", what, ok.error().message);
        for (uint64_t i = 0; i < count * width; ++i)
          want[offset + i] = static_cast<uint8_t>(kPattern >> (8 * (i % width)));
        OST_TRY_ASSIGN(const Bytes got, lab.read(b));
        OST_TRY(same_bytes(got, want, what.c_str()));
      }
    }
  }
  return {};
}

// Each of these must fail, at the submit or through its signal, and change nothing.
Check refuses_commands(Lab& lab) {
  OST_TRY(needs_device(lab));
  const Bytes content = pattern(100, 7);
  OST_TRY_ASSIGN(const BufferPtr a, lab.buffer(content));
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(content));
  const ost_ref_t sizes_differ[] = {{a->handle(), 0, 10, 0, 0}, {b->handle(), 0, 11, 0, 0}};
  const ost_ref_t outside[] = {{a->handle(), 95, 10, 0, 0}, {b->handle(), 0, 10, 0, 0}};
  const ost_ref_t overflow[] = {{a->handle(), 0, 10, 0, 0},
                                {b->handle(), UINT64_MAX - 4, 10, 0, 0}};
  const ost_ref_t slot[] = {{nullptr, 0, 10, 1, 0}, {b->handle(), 0, 10, 0, 0}};
  const ost_ref_t ten{a->handle(), 0, 10, 0, 0};
  ost_command_t unknown = copy_command(outside);
  unknown.kind = 99;
  ost_command_t one_ref = copy_command(sizes_differ);
  one_ref.ref_count = 1;
  const std::pair<const char*, ost_command_t> wrong[] = {
      {"a copy between ranges of 10 and 11 bytes", copy_command(sizes_differ)},
      {"a copy to behind the end of its buffer", copy_command(outside)},
      {"a copy whose offset and size overflow", copy_command(overflow)},
      {"a copy to a slot outside of a command list", copy_command(slot)},
      {"a fill of 10 bytes with a pattern of 4", fill_command(&ten, 1, 4)},
      {"a fill with a pattern of 3 bytes", fill_command(&ten, 1, 3)},
      {"command kind 99", unknown},
      {"a copy with one ref", one_ref}};
  for (const auto& [what, command] : wrong) {
    CONFORM_EXPECT(!lab.run({&command, 1}), "{} is accepted", what);
  }
  for (const BufferPtr& buffer : {a, b}) {
    OST_TRY_ASSIGN(const Bytes got, lab.read(buffer));
    OST_TRY(same_bytes(got, content, "a buffer after refused commands"));
  }
  return {};
}

// Rule 2: an array of commands that are longer than this version has them.
Check longer_commands(Lab& lab) {
  OST_TRY(needs_device(lab));
  struct Longer {
    ost_command_t command;
    uint64_t tail[2];
  };
  OST_TRY_ASSIGN(const BufferPtr b, lab.buffer(Bytes(16, kPoison)));
  const ost_ref_t refs[] = {{b->handle(), 0, 8, 0, 0}, {b->handle(), 8, 8, 0, 0}};
  Longer commands[2] = {{fill_command(&refs[0], 1, 1), {}}, {fill_command(&refs[1], 2, 1), {}}};
  for (Longer& l : commands) l.command.size = sizeof l;
  const auto submit = [&]() -> Result<> {
    OST_TRY_ASSIGN(const auto queue, Queue::create(lab.device_ptr()));
    OST_TRY_ASSIGN(const auto timeline, Timeline::create(lab.device_ptr()));
    const ost_point_t done{timeline->handle(), 1};
    OST_TRY(queue->submit({}, {&commands[0].command, 2}, {&done, 1}));
    return timeline->wait(1, lab.limit_ns());
  };
  if (auto ok = submit(); !ok)
    return failed("commands with a tail of zeros are refused (rule 2): {}", ok.error().message);
  OST_TRY_ASSIGN(const Bytes got, lab.read(b));
  Bytes want(16, 1);
  std::fill_n(want.begin() + 8, 8, uint8_t{2});
  OST_TRY(same_bytes(got, want, "two longer commands"));
  commands[1].tail[1] = 1;
  CONFORM_EXPECT(!submit(), "a command with an unknown field that is set is accepted (rule 2)");
  return {};
}

}  // namespace

void add_memory_cases(std::vector<Case>& out) {
  const std::pair<const char*, Check (*)(Lab&)> kCases[] = {
      {"heaps", heaps},
      {"buffer.sizes", sizes},
      {"buffer.parts", parts},
      {"buffer.ranges", ranges},
      {"buffer.out_of_memory", out_of_memory},
      {"buffer.alignment", alignment},
      {"buffer.distinct", distinct},
      {"buffer.freed", freed},
      {"map", maps},
      {"import_host", imports},
      {"copy.offsets", copies},
      {"copy.inside", copies_inside},
      {"fill.patterns", fills},
      {"commands.refused", refuses_commands},
      {"commands.longer", longer_commands},
  };
  for (const auto& [name, run] : kCases) out.push_back({1, name, "", run});
}

}  // namespace ost::conform
