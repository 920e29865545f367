// Runs generated SPIR-V on an OpenCL device and compares every bit with the interpreter.
//
// usage: levelzero_run TRANSLATOR [--soft-divide] [--leave-out-barrier] [--lanes N] [PATTERN ...]
// --lanes: of the largest group, for all kernels; without it they differ.
// --leave-out-barrier: makes each kernel as often as it has barriers, each time without one of them,
// and says only that it ran: finding the mistake is the device's business (oclgrind).
// Exit codes: 0 all equal, 1 a difference, 2 usage, 77 no device.
#include <cstdio>
#include <cstring>

#include "opencl.hpp"

namespace ost::test {
namespace {

struct Wishes {
  std::string translator;
  SpirvOptions options;
  bool leave_out_barriers = false;
  uint32_t lanes = 0;
  std::vector<std::string> patterns;
};

Result<> run_one(OpenCl& device, const Subject& subject, const Wishes& wishes,
                 const SpirvOptions& options) {
  OST_TRY_ASSIGN(const Spirv spirv, make_spirv(subject, options));
  OpenCl::Program program;
  OST_TRY(device.build(spirv, program));
  for (const conform::Launch& launch : subject.trial.launches) {
    OST_TRY_ASSIGN(const auto got, device.run(spirv, program.kernel, launch));
    if (wishes.leave_out_barriers) continue;
    OST_TRY_ASSIGN(const auto want, conform::expected(subject.trial.kernel, launch));
    const std::string difference = conform::difference(subject.trial.kernel, want, got);
    if (!difference.empty())
      return fail(OST_INTERNAL, "{}\n{}", difference, kir::to_text(spirv.level2));
  }
  return {};
}

int run(const Wishes& wishes) {
  auto device = OpenCl::open(wishes.translator);
  if (!device) {
    std::printf("skipped: %s\n", device.error().message.c_str());
    return 77;
  }
  std::printf("device: %s\n", (*device)->name().c_str());
  size_t kernels = 0, failures = 0;
  const auto check = [&](const Subject& subject, const SpirvOptions& options) {
    std::printf("run %s lanes=%u barrier=%d\n", subject.name.c_str(), subject.max_lanes,
                options.leave_out_barrier);
    std::fflush(stdout);
    ++kernels;
    const auto done = run_one(**device, subject, wishes, options);
    if (done) return;
    ++failures;
    std::printf("FAILED %s: %s\n", subject.name.c_str(), done.error().message.c_str());
  };
  std::vector<Subject> subjects = grid_subjects(wishes.patterns);
  for (Subject& wide : wide_subjects())
    if (fits(wide, wishes.patterns)) subjects.push_back(std::move(wide));
  for (Subject& subject : subjects) {
    if (wishes.lanes != 0) subject.max_lanes = wishes.lanes;
    if (!wishes.leave_out_barriers) {
      check(subject, wishes.options);
      continue;
    }
    const auto whole = make_spirv(subject);
    const size_t barriers = whole ? count_barriers(whole->level2) : 0;
    for (size_t i = 0; i < barriers; ++i) {
      SpirvOptions options = wishes.options;
      options.leave_out_barrier = static_cast<int>(i);
      check(subject, options);
    }
  }
  std::printf("%zu kernels, %zu failures\n", kernels, failures);
  return failures > 0 || kernels == 0 ? 1 : 0;
}

}  // namespace
}  // namespace ost::test

int main(int argc, char** argv) {
  ost::test::Wishes wishes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--soft-divide")
      wishes.options.soft_divide = true;
    else if (word == "--leave-out-barrier")
      wishes.leave_out_barriers = true;
    else if (word == "--lanes" && i + 1 < argc)
      wishes.lanes = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    else if (wishes.translator.empty())
      wishes.translator = word;
    else
      wishes.patterns.push_back(word);
  }
  if (wishes.translator.empty()) {
    std::fprintf(stderr, "usage: levelzero_run TRANSLATOR [PATTERN ...]\n");
    return 2;
  }
  return ost::test::run(wishes);
}
