#include "lab.hpp"

#include <algorithm>
#include <filesystem>

#include "core/base/sha256.hpp"

namespace ost::conform {

using runtime::Buffer;
using runtime::Queue;
using runtime::Timeline;

Result<std::unique_ptr<Lab>> Lab::open(const Subject& subject) {
  std::unique_ptr<Lab> lab(new Lab);
  lab->seed_ = subject.seed;
  lab->limit_ns_ = subject.limit_ns;
  OST_TRY(lab->find(subject));
  runtime::OpenOptions options;
  options.self_test = false;  // its items are cases of level 2
  auto device = lab->driver_->open(lab->index_, options);
  if (device) {
    lab->device_ = *device;
  } else {
    lab->why_no_device_ = device.error().message;
  }
  return lab;
}

Result<> Lab::find(const Subject& subject) {
  namespace fs = std::filesystem;
  runtime::RegistryOptions options;
  options.cache = std::make_shared<runtime::CompileCache>("");
  options.driver_options = subject.options;
  std::error_code ignored;
  const bool is_file =
      subject.what.find('/') != std::string::npos || fs::exists(subject.what, ignored);
  if (is_file) {
    if (!fs::exists(subject.what, ignored))
      return fail(OST_NOT_FOUND, "{}: no such file", subject.what);
    options.loader.files = {fs::absolute(subject.what).lexically_normal()};
    options.loader.search = subject.with_others;
    options.loader.environment = subject.with_others;
  }
  registry_ = runtime::DeviceRegistry::create(options);
  std::string name;
  if (is_file) {
    const runtime::LoadRecord& record = registry_->report().front();
    index_ = subject.index;
    if (record.status != runtime::LoadStatus::loaded)
      return fail(OST_UNAVAILABLE, "{}", runtime::to_string(record));
    name = record.driver;
  } else {
    name = subject.what.substr(0, subject.what.find(':'));
    const std::string id = subject.what.find(':') != std::string::npos
                               ? subject.what
                               : fmt::format("{}:{}", name, subject.index);
    const auto devices = registry_->devices();
    const auto found = std::ranges::find(devices, id, &runtime::DeviceEntry::id);
    if (found == devices.end()) return std::unexpected(registry_->unknown_device(id));
    index_ = found->index;
  }
  OST_TRY_ASSIGN(auto driver, registry_->driver(name));
  if (index_ >= driver->devices().size()) {
    return fail(OST_UNAVAILABLE, "{} has {} devices, wanted number {}", name,
                driver->devices().size(), index_);
  }
  // A file stands for its devices; one that only compiles is tested where it is named.
  if (is_file && !driver->can_run())
    return fail(OST_UNAVAILABLE, "{}: {}", name, driver->no_device_reason());
  driver_ = std::move(driver);
  return {};
}

std::string Lab::device_id() const { return driver_ ? driver_->device_id(index_) : std::string(); }

std::mt19937_64 Lab::random(std::string_view check) const {
  const std::string text = fmt::format("{}/{}", seed_, check);
  const std::string hex = sha256_hex({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return std::mt19937_64(std::strtoull(hex.substr(0, 16).c_str(), nullptr, 16));
}

Result<kir::Kernel> Lab::small_kernel() {
  kir::Builder b;
  const kir::Value n = b.i64(5);
  const kir::Value i = b.axis(n, kir::Role::parallel);
  const kir::Value x = b.load(b.param(0, DType::f32, n, OST_KIR_READ), i);
  b.store(b.param(1, DType::f32, n, OST_KIR_WRITE), i, b.add(x, x));
  return b.build();
}

Result<BufferPtr> Lab::buffer(std::span<const uint8_t> content) const {
  OST_TRY_ASSIGN(BufferPtr out, Buffer::allocate(device_, content.size()));
  if (!content.empty()) OST_TRY(out->write(0, content));
  return out;
}

Result<Bytes> Lab::read(const BufferPtr& buffer) const {
  Bytes out(buffer->bytes());
  if (!out.empty()) OST_TRY(buffer->read(0, out));
  return out;
}

Result<Guarded> Lab::guarded(std::span<const uint8_t> content) const {
  Guarded out;
  out.pad = std::max<uint64_t>(info().min_align, 64);
  out.bytes = content.size();
  Bytes all(2 * out.pad + content.size(), kPoison);
  std::ranges::copy(content, all.begin() + static_cast<std::ptrdiff_t>(out.pad));
  OST_TRY_ASSIGN(out.buffer, buffer(all));
  return out;
}

Result<Bytes> Lab::read(const Guarded& memory) const {
  OST_TRY_ASSIGN(const Bytes all, read(memory.buffer));
  const auto inside = std::span(all).subspan(memory.pad, memory.bytes);
  for (size_t i = 0; i < all.size(); ++i) {
    const bool guard = i < memory.pad || i >= memory.pad + memory.bytes;
    if (!guard || all[i] == kPoison) continue;
    return fail(OST_INTERNAL, "byte {} of a range of {} bytes was written: outside of it",
                static_cast<int64_t>(i) - static_cast<int64_t>(memory.pad), memory.bytes);
  }
  return Bytes(inside.begin(), inside.end());
}

std::expected<Prepared, Outcome> Lab::prepare(const kir::Kernel& kernel) const {
  const auto judge = [](Error e) -> std::unexpected<Outcome> {
    if (e.status == OST_UNIMPLEMENTED && e.message.ends_with(": unimplemented"))
      return failed("{}: the driver gives no reason", e.message);
    if (e.status == OST_UNIMPLEMENTED) return unsupported("{}", e.message);
    return std::unexpected(Outcome(std::move(e)));
  };
  auto recipe = runtime::recipe_for(kernel, *driver_, info());
  if (!recipe) return judge(std::move(recipe.error()));
  auto image = runtime::compile(*recipe, *driver_);
  if (!image) return judge(std::move(image.error()));
  OST_TRY_ASSIGN(auto executable, device_->load(*image, "", recipe->entry));
  return Prepared{std::move(*recipe), std::move(executable)};
}

Result<ost_command_t> Lab::dispatch(const Prepared& kernel, std::span<const ost_ref_t> refs,
                                    std::span<const int64_t> vars) const {
  ost_command_t c{};
  c.size = sizeof c;
  c.kind = OST_CMD_DISPATCH;
  c.refs = refs.data();
  c.ref_count = static_cast<uint32_t>(refs.size());
  c.vars = vars.data();
  c.var_count = static_cast<uint32_t>(vars.size());
  c.executable = kernel.executable->handle();
  c.entry = kernel.executable->entry();
  if (kernel.recipe.launch) {
    codegen::Launch launch = *kernel.recipe.launch;
    runtime::set_launch(launch, vars, c);
  }
  return c;
}

Result<Recorded> Lab::record(const Prepared& kernel, std::span<const ost_ref_t> refs,
                             std::span<const uint32_t> var_map, uint32_t var_count) const {
  Recorded out;
  out.refs.assign(refs.begin(), refs.end());
  out.var_map.assign(var_map.begin(), var_map.end());
  OST_TRY_ASSIGN(out.command, dispatch(kernel, out.refs, {}));
  out.command.vars = nullptr;
  out.command.var_count = static_cast<uint32_t>(out.var_map.size());
  out.command.var_map = out.var_map.data();
  out.launch = kernel.recipe.launch;
  if (out.launch && !out.launch->grid.is_const())
    for (uint32_t d = 0; d < 3; ++d) out.command.grid_var[d] = var_count + d + 1;
  return out;
}

std::vector<int64_t> Recorded::vars_of(std::vector<int64_t> values) const {
  if (!launch || launch->grid.is_const()) return values;
  std::vector<int64_t> mine;
  for (const uint32_t v : var_map) mine.push_back(values[v]);
  ost_command_t c{};
  codegen::Launch own = *launch;
  runtime::set_launch(own, mine, c);
  for (const uint64_t items : c.grid) values.push_back(static_cast<int64_t>(items));
  return values;
}

Result<> Lab::run(std::span<const ost_command_t> commands) const {
  OST_TRY_ASSIGN(const auto queue, Queue::create(device_));
  OST_TRY_ASSIGN(const auto timeline, Timeline::create(device_));
  const ost_point_t done{timeline->handle(), 1};
  OST_TRY(queue->submit({}, commands, {&done, 1}));
  return timeline->wait(1, limit_ns_);
}

}  // namespace ost::conform
