// A run makes no allocation on the host either. Counted in this binary's operator new, on a driver
// that only signals, so that what is counted is the runtime's own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "core/runtime/discovery_file.hpp"
#include "core/runtime/instance.hpp"
#include "tests/unit/runtime/changed_ref.hpp"
#include "tests/unit/runtime/support.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace {
thread_local uint64_t host_allocations = 0;
}

// The sanitizers bring an operator new of their own, which sees more than this one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // both are here, and both are malloc's
void* operator new(std::size_t bytes) {
  ++host_allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace ost::runtime {
namespace {

decltype(ost_driver_table_t::timeline_signal) signal_from_host;

DevicePtr signalling_ref() {
  struct Signalling {};
  return test::changed_ref<Signalling>("signalling", [](ost_driver_table_t& t) {
    signal_from_host = t.timeline_signal;
    t.queue_submit = [](ost_queue_t*, const ost_point_t*, uint32_t, const ost_command_t*, uint32_t,
                        const ost_point_t* signals, uint32_t count,
                        ost_error_t* error) -> ost_status_t {
      for (uint32_t i = 0; i < count; ++i) {
        const ost_status_t status = signal_from_host(signals[i].timeline, signals[i].value, error);
        if (status != OST_OK) return status;
      }
      return OST_OK;
    };
  });
}

TEST(Instance, ARunAllocatesNothingOnTheHost) {
  if (host_sanitizer() != OST_SANITIZER_NONE) GTEST_SKIP() << "needs a build without sanitizers";
  const DevicePtr device = signalling_ref();
  Compiler compiler(std::make_shared<CompileCache>(""));
  for (Program program : {test::scaled_relu(), test::accumulate()}) {
    const std::vector<DevicePtr> devices(program.device_count, device);
    auto made =
        Instance::create(std::make_shared<const Program>(std::move(program)), devices, compiler);
    ASSERT_OK(made);
    Instance& instance = **made;
    const Program& p = instance.program();
    std::vector<BufferRef> inputs, outputs;
    for (size_t i = 0; i < p.inputs.size(); ++i)
      inputs.push_back(test::on_device(device, std::vector<uint8_t>(1024)));
    for (size_t i = 0; i < p.outputs.size(); ++i)
      outputs.push_back(test::on_device(device, std::vector<uint8_t>(1024)));
    std::vector<int64_t> vars(p.vars.size(), 1);
    ASSERT_OK(instance.run(inputs, outputs, vars));
    const uint64_t before = host_allocations;
    EXPECT_GT(before, 0u) << "the counter counts";
    for (int64_t n = 1; n <= 64; ++n) {
      if (!vars.empty()) vars[0] = n;
      if (!instance.run(inputs, outputs, vars)) break;
    }
    EXPECT_EQ(host_allocations, before);
    EXPECT_EQ(instance.last_run().allocations, 0u);
  }
}

}  // namespace
}  // namespace ost::runtime
