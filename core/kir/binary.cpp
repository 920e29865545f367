// The binary form: ost_kir_header_t, then the records as they are in memory (little endian). The
// reader accepts only records whose fields are all known and whose unused fields are zero, so that
// one kernel has one encoding.
#include <bit>
#include <cstring>

#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

static_assert(sizeof(ost_kir_header_t) == 32 && sizeof(Inst) == 32,
              "the binary form has fixed layouts");
static_assert(std::endian::native == std::endian::little,
              "big-endian hosts would have to swap the fields here");

constexpr uint32_t kMaxRecords = 1u << 20;
constexpr uint64_t kMaxArray = 1u << 20;
constexpr uint32_t kMaxLanes = 1u << 16;

bool reduction_is_known(uint32_t aux) {
  const uint32_t combine = aux & 0xff;
  const uint32_t order = aux >> 8;
  return combine <= OST_KIR_COMBINE_XOR && order <= OST_KIR_ORDER_ATTN;
}

// What is wrong with aux or imm as an encoding, or nullptr.
const char* check_attr(const OpInfo& op, const Inst& r) {
  if (op.attr != Attr::bits && op.attr != Attr::access && op.attr != Attr::slot &&
      op.attr != Attr::role && op.attr != Attr::dimension && op.attr != Attr::count && r.imm != 0)
    return "imm is used, but this operation has none";
  switch (op.attr) {
    case Attr::none:
      return r.aux == 0 ? nullptr : "aux is used, but this operation has none";
    case Attr::bits: {
      if (r.aux != 0) return "aux is used, but this operation has none";
      const uint32_t width = bits_of(static_cast<DType>(r.dtype));
      if (width < 64 && (r.imm >> width) != 0)
        return "the constant has bits above the width of its type";
      return r.dtype == OST_DTYPE_BOOL && r.imm > 1 ? "a bool constant is neither 0 nor 1"
                                                    : nullptr;
    }
    case Attr::access:
      if (r.imm > UINT32_MAX) return "the slot is above 2^32 - 1";
      return r.aux >= 1 && r.aux <= 3 ? nullptr : "aux is not an access (1 read, 2 write, 3 both)";
    case Attr::slot:
      if (r.imm > UINT32_MAX) return "the slot is above 2^32 - 1";
      return r.aux == 0 ? nullptr : "aux is used, but this operation has none";
    case Attr::role:
      if (r.imm > UINT32_MAX) return "the axis id is above 2^32 - 1";
      return r.aux <= OST_KIR_AXIS_CARRY
                 ? nullptr
                 : "aux is not an axis role (0 parallel, 1 reduce, 2 carry)";
    case Attr::rare:
      return r.aux <= OST_KIR_WHERE_RARE ? nullptr : "aux is not 0 or the rare hint (1)";
    case Attr::rounding:
      return r.aux <= OST_KIR_CAST_SAT ? nullptr : "aux is not a rounding (0 wrap, 1 rne, 2 sat)";
    case Attr::reduction:
      if (op.op == Op::attn)
        return r.aux == OST_KIR_ORDER_ATTN << 8 ? nullptr : "aux is not the attn order (0x300)";
      return reduction_is_known(r.aux) && (r.aux & 0xff) != 0
                 ? nullptr
                 : "aux is not a combine (1..7) | order (0..3) << 8";
    case Attr::extreme:
      return r.aux == OST_KIR_COMBINE_MAX || r.aux == OST_KIR_COMBINE_MIN
                 ? nullptr
                 : "aux is not max (3) or min (4)";
    case Attr::dimension:
      if (r.aux != 0) return "aux is used, but this operation has none";
      return r.imm <= 2 ? nullptr : "the dimension is above 2";
    case Attr::count:
      if (r.aux != 0) return "aux is used, but this operation has none";
      return r.imm >= 1 && r.imm <= kMaxArray ? nullptr : "the count is not 1 to 2^20";
    case Attr::unroll:
      return r.aux <= OST_KIR_UNROLL ? nullptr : "aux is not 0 or the unroll hint (1)";
  }
  return "unknown kind of attribute";
}

}  // namespace

Result<> check_encoding(const Inst& r, uint32_t position) {
  const OpInfo* op = find_op(r.op);
  if (!op)
    return fail(OST_INCOMPATIBLE,
                "kir record {}: opcode {} is unknown; is the kernel from a newer version?",
                position, r.op);
  if (!is_valid(static_cast<DType>(r.dtype)))
    return fail(OST_INCOMPATIBLE, "kir record {}: dtype {} is unknown, wanted 1..13", position,
                r.dtype);
  if (r.nsrc < op->min_src || r.nsrc > op->max_src) {
    return fail(OST_DATA_LOSS, "kir record {}: {} has {} operands, wanted {}..{}", position,
                op->name, r.nsrc, op->min_src, op->max_src);
  }
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < r.nsrc && r.src[k] >= position) {
      return fail(OST_DATA_LOSS, "kir record {}: operand {} names record {}, wanted an earlier one",
                  position, k, r.src[k]);
    }
    if (k >= r.nsrc && r.src[k] != kNone)
      return fail(OST_DATA_LOSS, "kir record {}: unused operand {} is {:#x}, wanted 0xffffffff",
                  position, k, r.src[k]);
  }
  if (const char* wrong = check_attr(*op, r))
    return fail(OST_DATA_LOSS, "kir record {}: {}: {}", position, op->name, wrong);
  return {};
}

namespace {

Result<ost_kir_header_t> read_header(std::span<const uint8_t> bytes) {
  ost_kir_header_t h;
  if (bytes.size() < sizeof h)
    return fail(OST_DATA_LOSS, "kir: {} bytes are too few for the 32-byte header", bytes.size());
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != OST_KIR_MAGIC)
    return fail(OST_DATA_LOSS, "kir: magic is {:#010x}, wanted {:#010x}", h.magic, OST_KIR_MAGIC);
  if (h.version_major != OST_KIR_VERSION_MAJOR || h.version_minor > OST_KIR_VERSION_MINOR) {
    return fail(OST_INCOMPATIBLE, "kir: version is {}.{}, this reader knows {}.0 to {}.{}",
                h.version_major, h.version_minor, OST_KIR_VERSION_MAJOR, OST_KIR_VERSION_MAJOR,
                OST_KIR_VERSION_MINOR);
  }
  if (h.level != 1 && h.level != 2)
    return fail(OST_INCOMPATIBLE, "kir: level is {}, wanted 1 or 2", h.level);
  if (h.numerics > OST_KIR_FAST)
    return fail(OST_INCOMPATIBLE, "kir: numerics is {}, wanted 0 (strict) or 1 (fast)", h.numerics);
  if (h.level == 1 ? h.lanes != 0 : h.lanes == 0 || h.lanes > kMaxLanes)
    return fail(OST_DATA_LOSS, "kir: {} lanes in a kernel of level {}, wanted {}", h.lanes, h.level,
                h.level == 1 ? "0" : "1 to 65536");
  if (h.inst_count > kMaxRecords)
    return fail(OST_DATA_LOSS, "kir: {} records are above the limit of {}", h.inst_count,
                kMaxRecords);
  const uint64_t wanted = sizeof h + uint64_t{h.inst_count} * sizeof(Inst);
  if (bytes.size() != wanted)
    return fail(OST_DATA_LOSS, "kir: {} bytes for {} records, wanted {}", bytes.size(),
                h.inst_count, wanted);
  return h;
}

}  // namespace

std::vector<uint8_t> to_binary(const Kernel& kernel) {
  ost_kir_header_t h{};
  h.magic = OST_KIR_MAGIC;
  h.version_major = OST_KIR_VERSION_MAJOR;
  h.version_minor = OST_KIR_VERSION_MINOR;
  h.level = kernel.level;
  h.lanes = kernel.lanes;
  h.numerics = static_cast<uint32_t>(kernel.numerics);
  h.inst_count = static_cast<uint32_t>(kernel.insts.size());
  h.param_count = kernel.param_count();
  h.var_count = kernel.var_count();
  std::vector<uint8_t> bytes(sizeof h + kernel.insts.size() * sizeof(Inst));
  std::memcpy(bytes.data(), &h, sizeof h);
  if (!kernel.insts.empty())
    std::memcpy(bytes.data() + sizeof h, kernel.insts.data(), kernel.insts.size() * sizeof(Inst));
  return bytes;
}

Result<Kernel> from_binary(std::span<const uint8_t> bytes) {
  OST_TRY_ASSIGN(const ost_kir_header_t h, read_header(bytes));
  Kernel kernel;
  kernel.numerics = static_cast<Numerics>(h.numerics);
  kernel.level = h.level;
  kernel.lanes = h.lanes;
  kernel.insts.resize(h.inst_count);
  if (h.inst_count > 0)
    std::memcpy(kernel.insts.data(), bytes.data() + sizeof h, h.inst_count * sizeof(Inst));
  for (uint32_t i = 0; i < h.inst_count; ++i) OST_TRY(check_encoding(kernel.insts[i], i));
  if (h.param_count != kernel.param_count())
    return fail(OST_DATA_LOSS, "kir: the header says {} parameters, the records declare {}",
                h.param_count, kernel.param_count());
  if (h.var_count != kernel.var_count())
    return fail(OST_DATA_LOSS, "kir: the header says {} variables, the records declare {}",
                h.var_count, kernel.var_count());
  return kernel;
}

}  // namespace ost::kir
