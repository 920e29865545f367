#include "program.hpp"

#include "core/ir/ops.hpp"
#include "core/schedule/schedule.hpp"

namespace ost::conform {
namespace {

using runtime::Buffer;
using runtime::BufferRef;
using runtime::DevicePtr;
using runtime::Instance;

constexpr int64_t kIn = 24, kHidden = 33, kOut = 10, kMostRows = 16;

Result<ir::NodeId> argument(ir::Graph& g, const char* name, Shape shape) {
  return g.add_input({name, ir::InputKind::argument, DType::f32, std::move(shape), 0, nullptr});
}

Result<std::unique_ptr<Instance>> build(const std::shared_ptr<const Program>& program,
                                        const std::vector<DevicePtr>& devices) {
  runtime::Compiler compiler(std::make_shared<runtime::CompileCache>(""));
  return Instance::create(program, devices, compiler);
}

Result<BufferRef> upload(const DevicePtr& device, const Bytes& content) {
  OST_TRY_ASSIGN(BufferPtr b, Buffer::allocate(device, content.size()));
  if (!content.empty()) OST_TRY(b->write(0, content));
  return BufferRef{std::move(b), 0, content.size()};
}

// The bytes of output 0.
Result<Bytes> run(Instance& instance, std::span<const Bytes> inputs, int64_t n) {
  const Program& program = instance.program();
  std::vector<BufferRef> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    OST_TRY_ASSIGN(BufferRef ref, upload(instance.devices()[program.inputs[i].device], inputs[i]));
    in.push_back(std::move(ref));
  }
  const int64_t vars[] = {n};
  OST_TRY_ASSIGN(const uint64_t bytes, instance.output_bytes(0, vars));
  OST_TRY_ASSIGN(BufferRef out,
                 upload(instance.devices()[program.outputs[0].device], Bytes(bytes, kPoison)));
  OST_TRY(instance.run(in, {&out, 1}, vars));
  Bytes got(bytes);
  if (bytes > 0) OST_TRY(out.buffer->read(0, got));
  return got;
}

}  // namespace

Result<std::shared_ptr<const Program>> small_network(uint32_t devices) {
  ir::Graph g;
  OST_TRY_ASSIGN(const ir::NodeId x, argument(g, "x", {Sym::var({"n", 0, kMostRows}), Sym(kIn)}));
  OST_TRY_ASSIGN(const ir::NodeId w1, argument(g, "w1", {Sym(kIn), Sym(kHidden)}));
  OST_TRY_ASSIGN(ir::NodeId w2, argument(g, "w2", {Sym(kHidden), Sym(kOut)}));
  OST_TRY_ASSIGN(const ir::NodeId product, ir::matmul(g, x, w1));
  OST_TRY_ASSIGN(const ir::NodeId zero, ir::full(g, DType::f32, {}, 0));
  OST_TRY_ASSIGN(ir::NodeId hidden, ir::binary(g, ir::Op::maximum, product, zero));
  if (devices > 1) {
    OST_TRY_ASSIGN(hidden, ir::copy_to(g, hidden, 1));
    OST_TRY_ASSIGN(w2, ir::copy_to(g, w2, 1));
  }
  OST_TRY_ASSIGN(const ir::NodeId logits, ir::matmul(g, hidden, w2));
  OST_TRY_ASSIGN(const ir::NodeId y, ir::softmax(g, logits, -1));
  g.add_output("y", y);
  OST_TRY_ASSIGN(Program program, schedule(g));
  return std::make_shared<const Program>(std::move(program));
}

Check replay_program(Lab& lab, const std::shared_ptr<const Program>& program,
                     const std::vector<DevicePtr>& devices, const std::vector<int64_t>& sizes) {
  runtime::OpenOptions options;
  options.self_test = false;
  OST_TRY_ASSIGN(const DevicePtr ref, lab.registry().get("ref:0", options));
  OST_TRY_ASSIGN(const auto tested, build(program, devices));
  OST_TRY_ASSIGN(const auto oracle, build(program, std::vector(devices.size(), ref)));
  Random random = lab.random("program");
  for (const int64_t n : sizes) {
    const auto floats = [&](int64_t count) {
      return values(DType::f32, static_cast<uint64_t>(count), Flavour::moderate, random);
    };
    const Bytes inputs[] = {floats(n * kIn), floats(kIn * kHidden), floats(kHidden * kOut)};
    OST_TRY_ASSIGN(const Bytes want, run(*oracle, inputs, n));
    for (int round = 0; round < 2; ++round) {
      OST_TRY_ASSIGN(const Bytes got, run(*tested, inputs, n));
      CONFORM_EXPECT(got == want, "run {} of a program with n = {} has other bits", round, n);
      CONFORM_EXPECT(tested->last_run().allocations == 0, "a run allocated {} buffers",
                     tested->last_run().allocations);
    }
  }
  return {};
}

}  // namespace ost::conform
