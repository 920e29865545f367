// The text form: a header line, then one record a line, `%position = op type attributes operands`.
// Everything that a well-encoded kernel holds is written, so that from_text(to_text(k)) == k; '#'
// starts a comment.
#include <bit>

#include "core/base/half.hpp"
#include "core/kir/fold.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

// Integers in decimal, floats as bits with the value as a comment.
std::string constant_text(DType type, uint64_t bits) {
  switch (type) {
    case DType::boolean:
      return bits ? "true" : "false";
    case DType::u64:
      return fmt::format("{}", bits);
    case DType::f16:
      return fmt::format("{:#06x} # {}", bits, f16_to_f32(static_cast<uint16_t>(bits)));
    case DType::bf16:
      return fmt::format("{:#06x} # {}", bits, bf16_to_f32(static_cast<uint16_t>(bits)));
    case DType::f32:
      return fmt::format("{:#010x} # {}", bits, std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::f64:
      return fmt::format("{:#018x} # {}", bits, std::bit_cast<double>(bits));
    default:
      return fmt::format("{}", sign_value(type, bits));
  }
}

std::string access_text(uint32_t access) {
  std::string text;
  if (access & OST_KIR_READ) text += 'r';
  if (access & OST_KIR_WRITE) text += 'w';
  return text;
}

// The attributes, each followed by a space. `axes` is the number of axes before this record.
std::string attributes(const OpInfo& op, const Inst& inst, uint64_t axes) {
  switch (op.attr) {
    case Attr::none:
      return "";
    case Attr::bits:
      return constant_text(static_cast<DType>(inst.dtype), inst.imm);
    case Attr::access:
      return fmt::format("slot={} {} ", inst.imm, access_text(inst.aux));
    case Attr::slot:
      return fmt::format("slot={} ", inst.imm);
    case Attr::role: {
      const std::string id = inst.imm == axes ? "" : fmt::format("id={} ", inst.imm);
      return fmt::format("{} {}", name_of(static_cast<Role>(inst.aux)), id);
    }
    case Attr::rare:
      return inst.aux ? "rare " : "";
    case Attr::rounding:
      return fmt::format("{} ", rounding_name(inst.aux));
    case Attr::extreme:
      return fmt::format("{} ", name_of(static_cast<Combine>(inst.aux)));
    case Attr::dimension:
    case Attr::count:
      return fmt::format("{} ", inst.imm);
    case Attr::unroll:
      return inst.aux ? "unroll " : "";
    case Attr::reduction: {
      const auto order = name_of(static_cast<Order>(inst.aux >> 8));
      if (op.op == Op::attn) return fmt::format("{} ", order);
      return fmt::format("{} {} ", name_of(static_cast<Combine>(inst.aux & 0xff)), order);
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> to_lines(const Kernel& kernel) {
  std::vector<std::string> lines;
  lines.reserve(kernel.insts.size() + 1);
  lines.push_back(fmt::format("kir {}.{} l{} {}", OST_KIR_VERSION_MAJOR, OST_KIR_VERSION_MINOR,
                              kernel.level,
                              kernel.numerics == Numerics::strict ? "strict" : "fast"));
  if (kernel.level == 2) lines.back() += fmt::format(" lanes={}", kernel.lanes);
  uint64_t axes = 0;
  for (Value v = 0; v < kernel.insts.size(); ++v) {
    const Inst& inst = kernel.insts[v];
    const OpInfo& op = info(kernel.op(v));
    std::string line = fmt::format("%{} = {} {} {}", v, op.name, name_of(kernel.dtype(v)),
                                   attributes(op, inst, axes));
    for (uint32_t k = 0; k < inst.nsrc; ++k)
      line += fmt::format("{}%{}", k ? ", " : "", inst.src[k]);
    axes += op.op == Op::axis;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string to_text(const Kernel& kernel) {
  std::string text;
  for (const std::string& line : to_lines(kernel)) {
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace ost::kir
