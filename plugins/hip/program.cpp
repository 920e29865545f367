#include "program.hpp"

#include "target.hpp"

namespace hip {

Executable::Executable(const DevicePtr& device, const Image& image)
    : device_(device), head_(image) {
  if (!runs_on(parse_target(image.target), parse_target(device->info().target)))
    fail(OST_INCOMPATIBLE, "the image is for ", image.target, ", the device is ",
         device->info().target);
  device_->use();
  device_->check(device_->api().hipModuleLoadData(&module_, image.code.data()),
                 "hipModuleLoadData");
  const Error code = device_->api().hipModuleGetFunction(&function_, module_, head_.entry.c_str());
  if (code == kSuccess) return;
  device_->api().hipModuleUnload(module_);
  device_->check(code, "hipModuleGetFunction");
}

Executable::~Executable() {
  device_->api().hipSetDevice(device_->index());
  device_->api().hipModuleUnload(module_);
}

void Executable::check(const Command& c) const {
  if (c.entry != 0) fail(OST_NOT_FOUND, "entry ", c.entry, " of an image with 1");
  if (c.refs.size() != head_.params || c.vars.size() != head_.vars)
    fail(OST_INVALID_ARGUMENT, c.refs.size(), " buffers and ", c.vars.size(),
         " variables, the kernel has ", head_.params, " and ", head_.vars);
  for (const Command::Ref& r : c.refs) check_home(*device_, *r.buffer);
  constexpr uint64_t kMost[] = {0x7fffffff, 0xffff, 0xffff};  // blocks of a grid
  uint64_t lanes = 1;
  for (int d = 0; d < 3; ++d) {
    const uint64_t groups = c.grid[d] / c.group[d];
    if (groups > kMost[d] || c.grid[d] > 0xffffffffu)
      fail(OST_INVALID_ARGUMENT, groups, " groups in dimension ", d, ", HIP has ", kMost[d],
           " and 2^32 work-items at most");
    lanes *= c.group[d];
  }
  if (lanes > device_->info().max_group)
    fail(OST_INVALID_ARGUMENT, "a group of ", lanes, " work-items, this device has ",
         device_->info().max_group);
}

Arguments::Arguments(const Command& c) : vars_(c.vars) {
  for (const Command::Ref& r : c.refs) params_.push_back(address_of(r));
  for (std::byte*& p : params_) pointers_.push_back(&p);
  for (int64_t& v : vars_) pointers_.push_back(&v);
  const auto blocks = [&](int d) { return static_cast<unsigned>(c.grid[d] / c.group[d]); };
  blocks_ = {blocks(0), blocks(1), blocks(2)};
}

void Executable::launch(Stream stream, const Command& c) const {
  if (c.grid[0] == 0 || c.grid[1] == 0 || c.grid[2] == 0) return;
  Arguments arguments(c);
  const Dim3 blocks = arguments.blocks();
  device_->check(device_->api().hipModuleLaunchKernel(function_, blocks.x, blocks.y, blocks.z,
                                                      c.group[0], c.group[1], c.group[2], 0, stream,
                                                      arguments.pointers(), nullptr),
                 "hipModuleLaunchKernel");
}

}  // namespace hip
