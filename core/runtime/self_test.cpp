#include "core/runtime/self_test.hpp"

#include <bit>
#include <cstring>

#include "core/kir/selftest.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/call.hpp"
#include "core/runtime/recipe.hpp"

namespace ost::runtime {
namespace {

// The bits of element i; every NaN gives the same answer, since its payload is not specified.
uint64_t element(std::span<const uint8_t> data, DType type, size_t i) {
  uint64_t bits = 0;
  const uint32_t size = size_of(type);
  std::memcpy(&bits, data.data() + i * size, size);
  const auto is_nan = [&](uint64_t exponent) {
    return (bits & exponent) == exponent && (bits & ((exponent & -exponent) - 1)) != 0;
  };
  const bool nan = (type == DType::f64 && is_nan(0x7ff0000000000000u)) ||
                   (type == DType::f32 && is_nan(0x7f800000u)) ||
                   (type == DType::f16 && is_nan(0x7c00u)) ||
                   (type == DType::bf16 && is_nan(0x7f80u));
  return nan ? ~uint64_t{0} : bits;
}

Result<> compare(const kir::SelfTest& test, std::span<const uint8_t> got) {
  const size_t count = got.size() / size_of(test.output_type);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t found = element(got, test.output_type, i);
    const uint64_t wanted = element(test.expected, test.output_type, i);
    if (found == wanted) continue;
    return fail(OST_INTERNAL, "element {} is {:#x}, wanted {:#x}", i, found, wanted);
  }
  return {};
}

Result<ExecutablePtr> load(const Recipe& recipe, const DevicePtr& device, CompileCache* cache) {
  if (cache != nullptr) {
    // An image that does not load is compiled again, like one that is not there.
    if (const auto found = cache->find(recipe.key)) {
      if (auto loaded = device->load(found->bytes, found->path, recipe.entry)) return loaded;
    }
  }
  OST_TRY_ASSIGN(std::vector<uint8_t> image, compile(recipe, device->driver()));
  CachedImage kept{std::move(image), ""};
  if (cache != nullptr) kept = cache->store(recipe.key, std::move(kept.bytes));
  return device->load(kept.bytes, kept.path, recipe.entry);
}

Result<> run(const kir::SelfTest& test, const DevicePtr& device, CompileCache* cache) {
  OST_TRY_ASSIGN(Recipe recipe, recipe_for(test.kernel, device->driver(), device->info()));
  OST_TRY_ASSIGN(const ExecutablePtr executable, load(recipe, device, cache));
  std::vector<BufferPtr> buffers;
  std::vector<ost_ref_t> refs;
  for (size_t i = 0; i <= test.inputs.size(); ++i) {
    const std::vector<uint8_t>& content = i < test.inputs.size() ? test.inputs[i] : test.expected;
    OST_TRY_ASSIGN(BufferPtr buffer, Buffer::allocate(device, content.size()));
    if (i < test.inputs.size()) OST_TRY(buffer->write(0, content));
    refs.push_back({buffer->handle(), 0, content.size(), 0, 0});
    buffers.push_back(std::move(buffer));
  }
  OST_TRY_ASSIGN(const auto queue, Queue::create(device));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(device));
  ost_command_t command{};
  command.size = sizeof command;
  command.kind = OST_CMD_DISPATCH;
  command.refs = refs.data();
  command.ref_count = static_cast<uint32_t>(refs.size());
  command.executable = executable->handle();
  command.entry = executable->entry();
  if (recipe.launch) set_launch(*recipe.launch, {}, command);
  const ost_point_t done{timeline->handle(), 1};
  OST_TRY(queue->submit({}, {&command, 1}, {&done, 1}));
  OST_TRY(timeline->wait(1));
  std::vector<uint8_t> got(test.expected.size());
  OST_TRY(buffers.back()->read(0, got));
  return compare(test, got);
}

}  // namespace

SelfTestResult run_self_tests(const DevicePtr& device, CompileCache* cache) {
  SelfTestResult out;
  out.ran = true;
  const auto tests = kir::self_tests();
  if (!tests) {
    out.reason = tests.error().message;
    return out;
  }
  for (const kir::SelfTest& test : *tests) {
    if (auto ok = run(test, device, cache); !ok) {
      out.reason = fmt::format("self-test \"{}\": {}", test.name, ok.error().message);
      return out;
    }
  }
  out.exact = true;
  return out;
}

}  // namespace ost::runtime
