#include "timer.hpp"

#include <algorithm>

namespace levelzero {

using ost::plugin::fail;

constexpr uint32_t kPoolEvents = 64;

Timer::~Timer() {
  for (ze::EventHandle event : events_) device_.api().zeEventDestroy(event);
  for (ze::PoolHandle pool : pools_) device_.api().zeEventPoolDestroy(pool);
}

void Timer::grow() {
  const Api& api = device_.api();
  auto desc = typed<ze::PoolDesc>(ze::kPoolDesc);
  desc.flags = ze::kPoolHostVisible | ze::kPoolTimestamps;
  desc.count = kPoolEvents;
  ze::PoolHandle pool = nullptr;
  ze::DeviceHandle device = device_.handle();
  device_.check(api.zeEventPoolCreate(device_.context(), &desc, 1, &device, &pool),
                "zeEventPoolCreate");
  pools_.push_back(pool);
  for (uint32_t i = 0; i < kPoolEvents; ++i) {
    auto event_desc = typed<ze::EventDesc>(ze::kEventDesc);
    event_desc.index = i;
    event_desc.signal = event_desc.wait = ze::kScopeHost;
    ze::EventHandle event = nullptr;
    device_.check(api.zeEventCreate(pool, &event_desc, &event), "zeEventCreate");
    events_.push_back(event);
  }
}

ze::EventHandle Timer::start(uint32_t command) {
  if (commands_.size() == events_.size()) grow();
  commands_.push_back(command);
  return events_[commands_.size() - 1];
}

void Timer::cancel() noexcept {
  for (size_t i = 0; i < commands_.size(); ++i) device_.api().zeEventHostReset(events_[i]);
  commands_.clear();
}

// Kernel timestamps are ticks of the device's clock, cut to some bits. Both clocks are read at once;
// what ended lies behind that, by less than the time in which the ticks wrap.
std::vector<ost_profile_record_t> Timer::read() {
  const Api& api = device_.api();
  const ze::DeviceProperties& p = device_.candidate().properties;
  if (api.zeDeviceGetGlobalTimestamps == nullptr || p.timer_resolution == 0)
    fail(OST_UNIMPLEMENTED, api.path, " has no timestamps");
  const double tick_ns = device_.candidate().ticks_are_cycles
                             ? 1e9 / static_cast<double>(p.timer_resolution)
                             : static_cast<double>(p.timer_resolution);
  const uint32_t bits = std::clamp(std::min(p.kernel_timestamp_bits, p.timestamp_bits), 1u, 64u);
  const uint64_t mask = UINT64_MAX >> (64 - bits);
  uint64_t host_ticks = 0, base = 0;
  device_.check(api.zeDeviceGetGlobalTimestamps(device_.handle(), &host_ticks, &base),
                "zeDeviceGetGlobalTimestamps");
  const uint64_t now = ost::plugin::now_ns();
  const auto time_of = [&](uint64_t ticks) {
    return now - static_cast<uint64_t>(static_cast<double>((base - ticks) & mask) * tick_ns);
  };
  std::vector<ost_profile_record_t> out;
  for (size_t i = 0; i < commands_.size(); ++i) {
    ze::TimestampResult time{};
    device_.check(api.zeEventQueryKernelTimestamp(events_[i], &time),
                  "zeEventQueryKernelTimestamp");
    device_.check(api.zeEventHostReset(events_[i]), "zeEventHostReset");
    const uint64_t start = time_of(time.global.start);
    const uint64_t length = static_cast<uint64_t>(
        static_cast<double>((time.global.end - time.global.start) & mask) * tick_ns);
    out.push_back({sizeof(ost_profile_record_t), commands_[i], start, start + length});
  }
  commands_.clear();
  return out;
}

}  // namespace levelzero
