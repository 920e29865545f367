#include "spirv_lab.hpp"

#include <fnmatch.h>
#include <llvm/IR/LLVMContext.h>

#include <cstring>
#include <map>
#include <ostinato/llvm/spirv.hpp>

#include "core/codegen/lower.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost::test {
namespace {

constexpr uint32_t kLanes[] = {256, 64, 1};
constexpr uint32_t kLocalBytes = 64 << 10;

std::string identifier(std::string_view name) {
  std::string out = "k_";
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

bool is_f64(const kir::Kernel& kernel) {
  for (kir::Value v = 0; v < kernel.insts.size(); ++v)
    if (kernel.dtype(v) == DType::f64) return true;
  return false;
}

}  // namespace

bool fits(const Subject& subject, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& p) {
           return fnmatch(p.c_str(), subject.name.c_str(), 0) == 0;
         });
}

std::vector<Subject> grid_subjects(const std::vector<std::string>& patterns) {
  std::vector<Subject> out;
  size_t position = 0;
  for (const conform::GridCase& c : conform::grid()) {
    const uint32_t lanes = kLanes[position++ % std::size(kLanes)];
    if (!fits({c.name, {}, lanes}, patterns)) continue;
    conform::Random random(std::hash<std::string>()(c.name));
    auto trial = c.make(random);
    if (trial) out.push_back({c.name, std::move(*trial), lanes});
  }
  return out;
}

std::vector<Subject> graph_subjects(uint64_t first_seed, size_t graphs) {
  std::vector<Subject> out;
  for (size_t g = 0; g < graphs; ++g) {
    const RandomGraph random = random_graph(first_seed + g, {.symbolic = g % 2 == 1});
    const auto program = schedule(random.graph);
    if (!program) continue;
    for (size_t k = 0; k < program->kernels.size(); ++k)
      out.push_back({fmt::format("graph.{}.{}", first_seed + g, k),
                     {program->kernels[k].kir, {}},
                     kLanes[out.size() % std::size(kLanes)]});
  }
  return out;
}

size_t count_barriers(const kir::Kernel& level2) {
  size_t count = 0;
  for (kir::Value v = 0; v < level2.insts.size(); ++v) count += level2.op(v) == kir::Op::barrier;
  return count;
}

// The record stays, as a constant that nobody uses, so that no position changes.
kir::Kernel without_barrier(const kir::Kernel& level2, size_t which) {
  kir::Kernel out = level2;
  for (kir::Value v = 0; v < out.insts.size(); ++v) {
    if (out.op(v) != kir::Op::barrier || which-- != 0) continue;
    out.insts[v].op = OST_KIR_OP_CONST;
    break;
  }
  return out;
}

Result<Spirv> make_spirv(const Subject& subject, const SpirvOptions& options) {
  OST_TRY_ASSIGN(const kir::Kernel lowered,
                 codegen::lower(subject.trial.kernel, {subject.max_lanes, kLocalBytes}));
  return make_spirv(lowered, identifier(subject.name), options);
}

Result<Spirv> make_spirv(const kir::Kernel& level2, const std::string& entry,
                         const SpirvOptions& options) {
  Spirv out;
  out.entry = entry;
  out.level2 = options.leave_out_barrier < 0
                   ? level2
                   : without_barrier(level2, static_cast<size_t>(options.leave_out_barrier));
  out.fp64 = is_f64(level2);
  const std::vector<uint8_t> binary = kir::to_binary(out.level2);
  llvm::LLVMContext context;
  const ostinato::kir::SpirvTarget target;
  ostinato::kir::LlvmOptions lowering;
  lowering.fp64 = out.fp64;
  lowering.soft_divide = options.soft_divide;
  auto made = ostinato::kir::lower_to_llvm({binary.data(), binary.size()}, entry, target, lowering,
                                           context);
  if (!made) return fail(OST_COMPILE_FAILED, "{}: {}", entry, llvm::toString(made.takeError()));
  out.local_bytes = made->local_bytes;
  auto words = target.emit(*made->module);
  if (!words) return fail(OST_COMPILE_FAILED, "{}: {}", entry, llvm::toString(words.takeError()));
  out.words = std::move(*words);
  const std::string bad = ostinato::kir::check_spirv(out.words, out.fp64);
  if (!bad.empty()) return fail(OST_INTERNAL, "{}: the SPIR-V has {}", entry, bad);
  return out;
}

std::string without_scalar_nulls(const std::string& words) {
  constexpr uint32_t kBool = 20, kInt = 21, kFloat = 22, kNull = 46, kConstant = 43,
                     kFalse = 41 + 1;
  std::vector<uint32_t> in(words.size() / 4), out;
  std::memcpy(in.data(), words.data(), words.size());
  std::map<uint32_t, uint32_t> scalar;  // by id of the type: words of a literal, 0 for a bool
  out.assign(in.begin(), in.begin() + 5);
  for (size_t at = 5; at < in.size(); at += in[at] >> 16) {
    const uint32_t opcode = in[at] & 0xffff, count = in[at] >> 16;
    if (opcode == kBool) scalar[in[at + 1]] = 0;
    if (opcode == kInt || opcode == kFloat) scalar[in[at + 1]] = in[at + 2] == 64 ? 2 : 1;
    if (opcode == kNull && scalar.contains(in[at + 1])) {
      const uint32_t literal = scalar[in[at + 1]];
      out.push_back((3 + literal) << 16 | (literal == 0 ? kFalse : kConstant));
      out.insert(out.end(), {in[at + 1], in[at + 2]});
      out.insert(out.end(), literal, 0);
    } else {
      out.insert(out.end(), in.begin() + static_cast<ptrdiff_t>(at),
                 in.begin() + static_cast<ptrdiff_t>(at + count));
    }
  }
  return {reinterpret_cast<const char*>(out.data()), out.size() * 4};
}

}  // namespace ost::test
