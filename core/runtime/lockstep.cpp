#include "core/runtime/lockstep.hpp"

#include <algorithm>
#include <cstring>

namespace ost::runtime {
namespace {

struct FloatFormat {
  uint64_t sign, infinity;  // the exponent of infinity; larger magnitudes are NaN
};
FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f16:
      return {0x8000, 0x7c00};
    case DType::bf16:
      return {0x8000, 0x7f80};
    case DType::f32:
      return {0x80000000u, 0x7f800000u};
    default:
      return {uint64_t{1} << 63, uint64_t{0x7ff} << 52};
  }
}

using Image = std::vector<uint8_t>;  // contents of one buffer of the program

class Lockstep {
 public:
  Lockstep(const std::shared_ptr<const Program>& program,
           const std::array<std::vector<DevicePtr>, 2>& devices, Compiler& compiler,
           const LockstepCall& call, const InstanceOptions& options)
      : program_(program),
        p_(*program),
        devices_(devices),
        compiler_(compiler),
        call_(call),
        options_(options) {}

  Result<LockstepResult> run() {
    OST_TRY(fill_images());
    for (uint32_t s = 0; s < p_.steps.size(); ++s) {
      const Step& step = p_.steps[s];
      if (step.kind == StepKind::copy) {
        images_[step.args[0]] = images_[step.args[1]];
        continue;
      }
      OST_TRY(compare_launch(s));
      ++result_.compared;
      if (result_.first) return result_;
    }
    OST_TRY(compare_whole());
    return result_;
  }

 private:
  // What each buffer holds before the first step. Temps and outputs start as zeros: the same on
  // both sides is enough.
  Result<> fill_images() {
    for (size_t i = 0; i < p_.vars.size(); ++i) bindings_[p_.vars[i].name] = call_.vars[i];
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) {
      const BufferDesc& desc = p_.buffers[b];
      OST_TRY_ASSIGN(const int64_t count, desc.elements.eval(bindings_));
      Image& image =
          images_.emplace_back(static_cast<size_t>(count) * size_of(desc.dtype), uint8_t{0});
      std::span<const uint8_t> from;
      if (desc.kind == BufferKind::input) from = call_.inputs[desc.slot];
      if (desc.kind == BufferKind::constant) from = p_.constants[desc.slot].data->bytes;
      if (desc.kind == BufferKind::state && p_.states[desc.slot].initial)
        from = p_.states[desc.slot].initial->bytes;
      if (!from.empty())
        std::memcpy(image.data(), from.data(), std::min(image.size(), from.size()));
    }
    return {};
  }

  // The launch as a program of its own: all its buffers are inputs, since what it does not write
  // must stay as it was.
  Program alone(const Step& step, std::vector<uint32_t>& buffers) const {
    Program m;
    m.numerics = p_.numerics;
    m.vars = p_.vars;
    m.kernels = {p_.kernels[step.kernel]};
    Step only = step;
    only.device = 0;
    only.kernel = 0;
    only.after.clear();
    only.level = 0;
    for (uint32_t& arg : only.args) {
      const auto it = std::ranges::find(buffers, arg);
      const auto slot = static_cast<uint32_t>(it - buffers.begin());
      if (it == buffers.end()) {
        BufferDesc desc = p_.buffers[arg];
        desc.kind = BufferKind::input;
        desc.slot = slot;
        desc.device = 0;
        desc.arena = kNoIndex;
        m.inputs.push_back({fmt::format("b{}", arg), desc.dtype, {desc.elements}, 0, false});
        m.buffers.push_back(std::move(desc));
        buffers.push_back(arg);
      }
      arg = slot;
    }
    for (const kir::Inst& inst : m.kernels[0].kir.insts) {
      if (inst.op == OST_KIR_OP_PARAM && (inst.aux & OST_KIR_WRITE) != 0)
        m.inputs[only.args[inst.imm]].written = true;
    }
    m.steps.push_back(std::move(only));
    return m;
  }

  Result<> compare_launch(uint32_t s) {
    std::vector<uint32_t> buffers;
    const auto mini = std::make_shared<const Program>(alone(p_.steps[s], buffers));
    std::array<std::vector<Image>, 2> after;
    for (size_t side = 0; side < 2; ++side) {
      OST_TRY_ASSIGN(after[side], run_alone(mini, buffers, devices_[side][p_.steps[s].device]));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!mini->inputs[i].written) continue;
      if (!result_.first) compare(s, buffers[i], after[0][i], after[1][i]);
      images_[buffers[i]] = std::move(after[0][i]);
    }
    return {};
  }

  Result<std::vector<Image>> run_alone(const std::shared_ptr<const Program>& mini,
                                       std::span<const uint32_t> buffers, const DevicePtr& device) {
    OST_TRY_ASSIGN(auto instance, Instance::create(mini, {device}, compiler_, options_));
    std::vector<BufferRef> memory;
    for (const uint32_t b : buffers) {
      const Image& image = images_[b];
      OST_TRY_ASSIGN(auto buffer, Buffer::allocate(device, image.size()));
      if (!image.empty()) OST_TRY(buffer->write(0, image));
      memory.push_back({std::move(buffer), 0, image.size()});
    }
    OST_TRY(instance->run(memory, {}, call_.vars));
    std::vector<Image> after;
    for (const BufferRef& m : memory) {
      Image& image = after.emplace_back(m.bytes);
      if (!image.empty()) OST_TRY(m.buffer->read(0, image));
    }
    return after;
  }

  Result<> compare_whole() {
    std::array<std::vector<Image>, 2> outputs;
    for (size_t side = 0; side < 2; ++side) {
      OST_TRY_ASSIGN(outputs[side], run_whole(devices_[side]));
    }
    for (uint32_t o = 0; o < p_.outputs.size(); ++o) {
      const uint32_t b = p_.outputs[o].buffer;
      for (const auto& side : outputs) {  // each against what the kernels gave one by one
        if (!result_.first) compare(kNoIndex, b, images_[b], side[o]);
      }
    }
    return {};
  }

  Result<std::vector<Image>> run_whole(const std::vector<DevicePtr>& devices) {
    OST_TRY_ASSIGN(auto instance, Instance::create(program_, devices, compiler_, options_));
    std::vector<BufferRef> in;
    for (uint32_t i = 0; i < p_.inputs.size(); ++i) {
      const std::span<const uint8_t> data = call_.inputs[i];
      OST_TRY_ASSIGN(auto buffer, Buffer::allocate(devices[p_.inputs[i].device], data.size()));
      if (!data.empty()) OST_TRY(buffer->write(0, data));
      in.push_back({std::move(buffer), 0, data.size()});
    }
    std::vector<BufferRef> out(p_.outputs.size());
    for (uint32_t o = 0; o < p_.outputs.size(); ++o) {
      if (!instance->output_is_written(o)) continue;
      const uint32_t first = p_.buffers[p_.outputs[o].buffer].slot;
      if (first != o) {
        out[o] = out[first];
        continue;
      }
      OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, call_.vars));
      OST_TRY_ASSIGN(auto buffer, Buffer::allocate(devices[p_.outputs[o].device], bytes));
      out[o] = {std::move(buffer), 0, bytes};
    }
    OST_TRY(instance->run(in, out, call_.vars));
    std::vector<Image> images;
    for (uint32_t o = 0; o < p_.outputs.size(); ++o) {
      const BufferRef from =
          instance->output_is_written(o) ? out[o] : instance->output_alias(o, in);
      OST_TRY_ASSIGN(const uint64_t bytes, instance->output_bytes(o, call_.vars));
      Image& image = images.emplace_back(bytes);
      if (bytes > 0) OST_TRY(from.buffer->read(from.offset, image));
    }
    return images;
  }

  void compare(uint32_t step, uint32_t buffer, const Image& a, const Image& b) {
    const DType type = p_.buffers[buffer].dtype;
    const size_t size = size_of(type);
    const size_t bytes = std::min(a.size(), b.size());  // an output may be smaller than its buffer
    if (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0) return;
    LockstepDifference d{step, buffer, 0, 0, {}, 0};
    for (size_t at = 0; at < bytes; at += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, a.data() + at, size);
      std::memcpy(&y, b.data() + at, size);
      const uint64_t distance = x == y ? 0 : bit_distance(type, x, y);
      if (distance == 0) continue;
      if (d.different++ > 0) continue;
      d.index = at / size;
      d.bits = {x, y};
      d.ulp = distance;
    }
    if (d.different > 0) result_.first = d;
  }

  const std::shared_ptr<const Program>& program_;
  const Program& p_;
  const std::array<std::vector<DevicePtr>, 2>& devices_;
  Compiler& compiler_;
  const LockstepCall& call_;
  const InstanceOptions& options_;
  Bindings bindings_;
  std::vector<Image> images_;
  LockstepResult result_;
};

}  // namespace

uint64_t bit_distance(DType type, uint64_t a, uint64_t b) {
  if (a == b) return 0;
  if (!is_float(type)) {
    const unsigned unused =
        64 - bits_of(type);  // sign-extends, so that the difference is that of the numbers
    if (is_signed_int(type)) {
      const auto x = static_cast<int64_t>(a << unused) >> unused;
      const auto y = static_cast<int64_t>(b << unused) >> unused;
      return x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
                   : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
    }
    return a < b ? b - a : a - b;
  }
  const FloatFormat f = format_of(type);
  const bool a_is_nan = (a & ~f.sign) > f.infinity;
  const bool b_is_nan = (b & ~f.sign) > f.infinity;
  if (a_is_nan && b_is_nan) return 0;
  if (a_is_nan || b_is_nan) return UINT64_MAX;
  // Steps from -0 downward are negative, and -0 is one step below +0: signed zeros are different
  // bits.
  const auto place = [&](uint64_t v) {
    return (v & f.sign) != 0 ? -static_cast<int64_t>(v & ~f.sign) - 1 : static_cast<int64_t>(v);
  };
  const int64_t x = place(a), y = place(b);
  return x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
               : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
}

Result<LockstepResult> lockstep(const std::shared_ptr<const Program>& program,
                                const std::array<std::vector<DevicePtr>, 2>& devices,
                                Compiler& compiler, const LockstepCall& call,
                                const InstanceOptions& options) {
  return Lockstep(program, devices, compiler, call, options).run();
}

}  // namespace ost::runtime
