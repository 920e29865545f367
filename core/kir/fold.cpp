#include "core/kir/fold.hpp"

#include <bit>
#include <cmath>

#include "core/base/half.hpp"

namespace ost::kir {
namespace {

bool is_integral(DType t) { return is_int(t) || t == DType::boolean; }

uint64_t divide(DType t, uint64_t a, uint64_t b) {
  if (b == 0) return 0;
  if (!is_signed_int(t)) return a / b;
  const int64_t x = sign_value(t, a);
  const int64_t y = sign_value(t, b);
  return y == -1 ? 0 - static_cast<uint64_t>(x)
                 : static_cast<uint64_t>(x / y);  // MIN / -1 wraps to MIN
}

uint64_t shift(Op op, DType t, uint64_t a, uint64_t amount) {
  if (amount >= bits_of(t)) return 0;
  if (op == Op::shl) return a << amount;
  return is_signed_int(t) ? static_cast<uint64_t>(sign_value(t, a) >> amount) : a >> amount;
}

bool less(DType t, uint64_t a, uint64_t b) {
  return is_signed_int(t) ? sign_value(t, a) < sign_value(t, b) : a < b;
}

// A float constant as a double, exactly.
double to_double(DType t, uint64_t bits) {
  switch (t) {
    case DType::f16:
      return f16_to_f32(static_cast<uint16_t>(bits));
    case DType::bf16:
      return bf16_to_f32(static_cast<uint16_t>(bits));
    case DType::f32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

uint64_t from_double(DType t, double v) {
  switch (t) {
    case DType::f16:
      return f64_to_f16(v);
    case DType::bf16:
      return f64_to_bf16(v);
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(v));
    default:
      return std::bit_cast<uint64_t>(v);
  }
}

std::optional<uint64_t> int_to_float(DType to, DType from, uint64_t a) {
  const int64_t v = sign_value(from, a);
  if (!is_signed_int(from) && v < 0) return std::nullopt;  // u64 above 2^63
  if (v > (int64_t{1} << 53) || v < -(int64_t{1} << 53)) return std::nullopt;
  const auto exact = static_cast<double>(v);
  const uint64_t bits = from_double(to, exact);
  if (to_double(to, bits) != exact) return std::nullopt;
  return bits;
}

std::optional<uint64_t> float_to_int(DType to, double v) {
  if (!(std::fabs(v) < 0x1p53) || v != std::trunc(v)) return std::nullopt;
  const auto whole = static_cast<int64_t>(v);
  const uint64_t bits = truncate_bits(to, static_cast<uint64_t>(whole));
  if (sign_value(to, bits) != whole) return std::nullopt;  // saturates: left to run time
  return bits;
}

}  // namespace

int64_t sign_value(DType t, uint64_t bits) {
  switch (t) {
    case DType::i8:
      return static_cast<int8_t>(bits);
    case DType::i16:
      return static_cast<int16_t>(bits);
    case DType::i32:
      return static_cast<int32_t>(bits);
    default:
      return static_cast<int64_t>(truncate_bits(t, bits));
  }
}

uint64_t truncate_bits(DType t, uint64_t value) {
  const uint32_t width = bits_of(t);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

std::optional<uint64_t> fold_unary(Op op, DType t, uint64_t a) {
  if (!is_integral(t)) return std::nullopt;
  switch (op) {
    case Op::neg:
      return truncate_bits(t, 0 - a);
    case Op::abs:
      return truncate_bits(t, is_signed_int(t) && sign_value(t, a) < 0 ? 0 - a : a);
    case Op::bit_not:
      return t == DType::boolean ? a ^ 1 : truncate_bits(t, ~a);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> fold_binary(Op op, DType t, uint64_t a, uint64_t b) {
  if (!is_integral(t)) return std::nullopt;
  switch (op) {
    case Op::add:
      return truncate_bits(t, a + b);
    case Op::sub:
      return truncate_bits(t, a - b);
    case Op::mul:
      return truncate_bits(t, a * b);
    case Op::div:
      return truncate_bits(t, divide(t, a, b));
    case Op::rem:
      return b == 0 ? 0 : truncate_bits(t, a - divide(t, a, b) * b);
    case Op::min:
      return less(t, b, a) ? b : a;
    case Op::max:
      return less(t, a, b) ? b : a;
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::shl:
    case Op::shr:
      return truncate_bits(t, shift(op, t, a, b));
    default:
      return std::nullopt;
  }
}

std::optional<bool> fold_compare(Op op, DType t, uint64_t a, uint64_t b) {
  if (!is_integral(t)) return std::nullopt;
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return less(t, a, b);
    case Op::le:
      return !less(t, b, a);
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> fold_cast(DType to, DType from, uint64_t a) {
  if (to == from) return a;
  if (is_integral(from)) {
    if (to == DType::boolean) return a != 0;
    if (is_int(to)) return truncate_bits(to, static_cast<uint64_t>(sign_value(from, a)));
    return int_to_float(to, from, a);
  }
  const double v = to_double(from, a);
  if (v != v) return std::nullopt;
  if (to == DType::boolean) return v != 0;
  if (is_int(to)) return float_to_int(to, v);
  if (!std::isinf(v) && std::fabs(v) > 0x1p126 && to != DType::f64) return std::nullopt;
  const uint64_t bits = from_double(to, v);
  if (to_double(to, bits) != v) return std::nullopt;
  return bits;
}

}  // namespace ost::kir
