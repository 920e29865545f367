// L5: this device together with every other one that is here, both ways round.
#include "program.hpp"

namespace ost::conform {
namespace {

using runtime::Buffer;
using runtime::DevicePtr;

// Calls `body` with each other device; unsupported if there is none.
template <typename Body>
Check with_others(Lab& lab, Body&& body) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  runtime::OpenOptions options;
  options.self_test = false;
  int pairs = 0;
  for (const runtime::DeviceEntry& e : lab.registry().devices()) {
    if (!e.available || e.id == lab.device_id()) continue;
    auto other = lab.registry().get(e.id, options);
    if (!other) continue;  // a finding about the other one
    ++pairs;
    if (auto ok = body(*other); !ok) {
      ok.error().reason = fmt::format("with {}: {}", e.id, ok.error().reason);
      return ok;
    }
  }
  if (pairs == 0) return unsupported("there is no other device here");
  return {};
}

Check link_answer(const DevicePtr& a, const ost_device_info_t& b) {
  ost_link_t link = 99;
  OST_TRY(runtime::call(a->id(), "link_query", [&](ost_error_t* e) {
    return a->table().link_query(a->handle(), &b, &link, e);
  }));
  CONFORM_EXPECT(link <= OST_LINK_NATIVE, "link_query answers {} (rule 1)", link);
  return {};
}

Check links(Lab& lab) {
  CONFORM_EXPECT(lab.device_ptr() != nullptr, "the device does not open: {}", lab.why_no_device());
  if (!lab.driver()->features().has_link_query)
    return unsupported("the driver has no link_query: the host copies");
  ost_device_info_t unknown{};
  unknown.size = sizeof unknown;
  unknown.kind = OST_DEVICE_KIND_ACCELERATOR;
  OST_TRY(link_answer(lab.device_ptr(), unknown));
  OST_TRY(link_answer(lab.device_ptr(), lab.info()));
  return with_others(lab, [&](const DevicePtr& other) -> Check {
    OST_TRY(link_answer(lab.device_ptr(), other->info()));
    if (!other->driver().features().has_link_query) return {};
    return link_answer(other, lab.info());
  });
}

Check copy_one(const DevicePtr& from, const DevicePtr& to, uint32_t size, Random& random) {
  const Bytes content = values(DType::u8, uint64_t{size} + 20, Flavour::any, random);
  OST_TRY_ASSIGN(const BufferPtr a, Buffer::allocate(from, uint64_t{size} + 20));
  OST_TRY_ASSIGN(const BufferPtr b, Buffer::allocate(to, uint64_t{size} + 30));
  OST_TRY(a->write(0, content));
  OST_TRY(b->write(0, Bytes(uint64_t{size} + 30, kPoison)));
  std::vector<uint8_t> staging(100);  // smaller than what is copied
  OST_TRY(Buffer::copy(*b, 13, *a, 5, size, staging));
  Bytes want(uint64_t{size} + 30, kPoison);
  std::copy_n(content.begin() + 5, size, want.begin() + 13);
  Bytes got(uint64_t{size} + 30);
  OST_TRY(b->read(0, got));
  CONFORM_EXPECT(got == want, "a copy of {} bytes from {} to {} has other bytes", size, from->id(),
                 to->id());
  return {};
}

Check copies(Lab& lab) {
  Random random = lab.random("pairs");
  return with_others(lab, [&](const DevicePtr& other) -> Check {
    for (const uint32_t size : {0, 1, 99, 100, 101, 70000}) {
      OST_TRY(copy_one(lab.device_ptr(), other, size, random));
      OST_TRY(copy_one(other, lab.device_ptr(), size, random));
    }
    return {};
  });
}

Check shared_program(Lab& lab) {
  OST_TRY_ASSIGN(const auto program, small_network(2));
  return with_others(lab, [&](const DevicePtr& other) -> Check {
    OST_TRY(replay_program(lab, program, {lab.device_ptr(), other}, {0, 3, 16}));
    return replay_program(lab, program, {other, lab.device_ptr()}, {0, 3, 16});
  });
}

}  // namespace

void add_pair_cases(std::vector<Case>& out) {
  const std::pair<const char*, Check (*)(Lab&)> kCases[] = {
      {"link_query", links}, {"copies", copies}, {"shared_program", shared_program}};
  for (const auto& [name, run] : kCases) out.push_back({5, name, "", run});
}

}  // namespace ost::conform
