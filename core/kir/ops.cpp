#include "core/kir/ops.hpp"

#include <array>

namespace ost::kir {
namespace {

constexpr OpInfo kOps[] = {
    {Op::constant, "const", 0, 0, Attr::bits},
    {Op::param, "param", 1, 1, Attr::access},
    {Op::var, "var", 2, 2, Attr::slot},
    {Op::axis, "axis", 1, 1, Attr::role, 1},
    {Op::load, "load", 2, 3, Attr::none},
    {Op::store, "store", 3, 4, Attr::none},
    {Op::neg, "neg", 1, 1, Attr::none},
    {Op::abs, "abs", 1, 1, Attr::none},
    {Op::sqrt, "sqrt", 1, 1, Attr::none},
    {Op::floor, "floor", 1, 1, Attr::none},
    {Op::ceil, "ceil", 1, 1, Attr::none},
    {Op::trunc, "trunc", 1, 1, Attr::none},
    {Op::rint, "rint", 1, 1, Attr::none},
    {Op::bit_not, "not", 1, 1, Attr::none},
    {Op::add, "add", 2, 2, Attr::none},
    {Op::sub, "sub", 2, 2, Attr::none},
    {Op::mul, "mul", 2, 2, Attr::none},
    {Op::div, "div", 2, 2, Attr::none},
    {Op::rem, "rem", 2, 2, Attr::none},
    {Op::min, "min", 2, 2, Attr::none},
    {Op::max, "max", 2, 2, Attr::none},
    {Op::bit_and, "and", 2, 2, Attr::none},
    {Op::bit_or, "or", 2, 2, Attr::none},
    {Op::bit_xor, "xor", 2, 2, Attr::none},
    {Op::shl, "shl", 2, 2, Attr::none},
    {Op::shr, "shr", 2, 2, Attr::none},
    {Op::eq, "eq", 2, 2, Attr::none},
    {Op::ne, "ne", 2, 2, Attr::none},
    {Op::lt, "lt", 2, 2, Attr::none},
    {Op::le, "le", 2, 2, Attr::none},
    {Op::where, "where", 3, 3, Attr::rare},
    {Op::fma, "fma", 3, 3, Attr::none},
    {Op::ldexp, "ldexp", 2, 2, Attr::none},
    {Op::cast, "cast", 1, 1, Attr::rounding},
    {Op::bitcast, "bitcast", 1, 1, Attr::none},
    {Op::reduce, "reduce", 2, 2, Attr::reduction, 1},
    {Op::contract, "contract", 3, 3, Attr::reduction, 1},
    {Op::argreduce, "argreduce", 2, 2, Attr::extreme, 1},
    {Op::attn, "attn", 4, 4, Attr::reduction, 1},
    {Op::grid, "grid", 1, 1, Attr::dimension, 2},
    {Op::group, "group", 0, 0, Attr::dimension, 2},
    {Op::lane, "lane", 0, 0, Attr::none, 2},
    {Op::local_array, "local", 0, 0, Attr::count, 2},
    {Op::private_array, "private", 0, 0, Attr::count, 2},
    {Op::loop, "loop", 3, 3, Attr::unroll, 2},
    {Op::if_true, "if", 1, 1, Attr::none, 2},
    {Op::end, "end", 1, 1, Attr::none, 2},
    {Op::barrier, "barrier", 0, 0, Attr::none, 2},
};

constexpr uint16_t kMaxOp = OST_KIR_OP_BARRIER;

// Position in kOps by opcode, 0xff where there is none.
constexpr auto kByCode = [] {
  std::array<uint8_t, kMaxOp + 1> table{};
  table.fill(0xff);
  for (size_t i = 0; i < std::size(kOps); ++i)
    table[static_cast<uint16_t>(kOps[i].op)] = static_cast<uint8_t>(i);
  return table;
}();

constexpr std::string_view kRoles[] = {"parallel", "reduce", "carry"};
constexpr std::string_view kCombines[] = {"", "sum", "prod", "max", "min", "and", "or", "xor"};
constexpr std::string_view kOrders[] = {"any", "tree", "blk256", "attn"};
constexpr std::string_view kRoundings[] = {"wrap", "rne", "sat"};

template <size_t N>
std::optional<uint32_t> index_of(const std::string_view (&names)[N], std::string_view name) {
  for (uint32_t i = 0; i < N; ++i) {
    if (!name.empty() && names[i] == name) return i;
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> as(std::optional<uint32_t> index) {
  if (!index) return std::nullopt;
  return static_cast<T>(*index);
}

}  // namespace

std::span<const OpInfo> all_ops() { return kOps; }

const OpInfo* find_op(uint16_t op) {
  return op <= kMaxOp && kByCode[op] != 0xff ? &kOps[kByCode[op]] : nullptr;
}

const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& op : kOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

const OpInfo& info(Op op) { return kOps[kByCode[static_cast<uint16_t>(op)]]; }

std::string_view name_of(Role role) { return kRoles[static_cast<uint32_t>(role)]; }
std::string_view name_of(Combine combine) { return kCombines[static_cast<uint32_t>(combine)]; }
std::string_view name_of(Order order) { return kOrders[static_cast<uint32_t>(order)]; }
std::string_view rounding_name(uint32_t rounding) { return kRoundings[rounding]; }
std::optional<Role> role_from_name(std::string_view name) {
  return as<Role>(index_of(kRoles, name));
}
std::optional<Combine> combine_from_name(std::string_view name) {
  return as<Combine>(index_of(kCombines, name));
}
std::optional<Order> order_from_name(std::string_view name) {
  return as<Order>(index_of(kOrders, name));
}
std::optional<uint32_t> rounding_from_name(std::string_view name) {
  return index_of(kRoundings, name);
}

std::optional<uint32_t> cast_rounding(DType to, DType from) {
  if (to == from || to == DType::boolean || from == DType::boolean) return OST_KIR_CAST_WRAP;
  if (is_float(to)) return OST_KIR_CAST_RNE;
  return is_float(from) ? OST_KIR_CAST_SAT : OST_KIR_CAST_WRAP;
}

}  // namespace ost::kir
