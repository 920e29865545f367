// The spelling of graph operations, as the text form and error messages have it.
#include <array>
#include <utility>

#include "core/ir/graph.hpp"

namespace ost::ir {
namespace {

constexpr auto kNames = std::to_array<std::pair<Op, std::string_view>>({
    {Op::input, "input"},
    {Op::full, "full"},
    {Op::iota, "iota"},
    {Op::size, "size"},
    {Op::reshape, "reshape"},
    {Op::permute, "permute"},
    {Op::expand, "expand"},
    {Op::shrink, "shrink"},
    {Op::pad, "pad"},
    {Op::flip, "flip"},
    {Op::window, "window"},
    {Op::neg, "neg"},
    {Op::abs, "abs"},
    {Op::sign, "sign"},
    {Op::sqrt, "sqrt"},
    {Op::floor, "floor"},
    {Op::ceil, "ceil"},
    {Op::trunc, "trunc"},
    {Op::round, "round"},
    {Op::bit_not, "bit_not"},
    {Op::exp, "exp"},
    {Op::exp2, "exp2"},
    {Op::expm1, "expm1"},
    {Op::log, "log"},
    {Op::log2, "log2"},
    {Op::log1p, "log1p"},
    {Op::sin, "sin"},
    {Op::cos, "cos"},
    {Op::tanh, "tanh"},
    {Op::sigmoid, "sigmoid"},
    {Op::silu, "silu"},
    {Op::erf, "erf"},
    {Op::gelu, "gelu"},
    {Op::rsqrt, "rsqrt"},
    {Op::relu, "relu"},
    {Op::cast, "cast"},
    {Op::bitcast, "bitcast"},
    {Op::add, "add"},
    {Op::sub, "sub"},
    {Op::mul, "mul"},
    {Op::div, "div"},
    {Op::rem, "rem"},
    {Op::pow, "pow"},
    {Op::minimum, "minimum"},
    {Op::maximum, "maximum"},
    {Op::bit_and, "bit_and"},
    {Op::bit_or, "bit_or"},
    {Op::bit_xor, "bit_xor"},
    {Op::shl, "shl"},
    {Op::shr, "shr"},
    {Op::eq, "eq"},
    {Op::ne, "ne"},
    {Op::lt, "lt"},
    {Op::le, "le"},
    {Op::where, "where"},
    {Op::fma, "fma"},
    {Op::sum, "sum"},
    {Op::prod, "prod"},
    {Op::max, "max"},
    {Op::min, "min"},
    {Op::bit_and_reduce, "bit_and_reduce"},
    {Op::bit_or_reduce, "bit_or_reduce"},
    {Op::bit_xor_reduce, "bit_xor_reduce"},
    {Op::argmax, "argmax"},
    {Op::argmin, "argmin"},
    {Op::contract, "contract"},
    {Op::attention, "attention"},
    {Op::gather, "gather"},
    {Op::scatter, "scatter"},
    {Op::scatter_add, "scatter_add"},
    {Op::assign, "assign"},
    {Op::copy, "copy"},
});

// The table is indexed by the enumerator's value, so an operation that is added must be added here
// too.
constexpr bool in_order() {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (static_cast<size_t>(kNames[i].first) != i) return false;
  return kNames.size() == static_cast<size_t>(Op::copy) + 1;
}
static_assert(in_order());

}  // namespace

std::string_view name_of(Op op) { return kNames[static_cast<size_t>(op)].second; }

std::optional<Op> op_from_name(std::string_view name) {
  for (const auto& [op, spelling] : kNames)
    if (spelling == name) return op;
  return std::nullopt;
}

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::argument:
      return "argument";
    case InputKind::state:
      return "state";
    case InputKind::constant:
      return "constant";
  }
  return "unknown";
}

}  // namespace ost::ir
