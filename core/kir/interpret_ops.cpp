// Choosing the block function of an element-wise operation.
#include "core/kir/interpret_ops.hpp"

#include <cmath>

#include "core/kir/interpret_types.hpp"

namespace ost::kir::interp {
namespace {

using namespace scalar;

template <class R, class A, class F>
void map1(size_t n, void* out, const void* a, const void*, const void*) {
  R* __restrict r = static_cast<R*>(out);
  const A* __restrict x = static_cast<const A*>(a);
  for (size_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::of(x[i]));
}
template <class R, class A, class B, class F>
void map2(size_t n, void* out, const void* a, const void* b, const void*) {
  R* __restrict r = static_cast<R*>(out);
  const A* __restrict x = static_cast<const A*>(a);
  const B* __restrict y = static_cast<const B*>(b);
  for (size_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::of(x[i], y[i]));
}

#define OST_UNARY(Name, ...)              \
  struct Name {                           \
    template <class T>                    \
    static T of(T x) {                    \
      return static_cast<T>(__VA_ARGS__); \
    }                                     \
  };
#define OST_BINARY(Name, ...)  \
  struct Name {                \
    template <class T>         \
    static auto of(T x, T y) { \
      return __VA_ARGS__;      \
    }                          \
  };
OST_UNARY(Neg, scalar::neg(x))
OST_UNARY(Abs, scalar::abs(x))
OST_UNARY(Sqrt, std::sqrt(x))
OST_UNARY(Floor, std::floor(x))
OST_UNARY(Ceil, std::ceil(x))
OST_UNARY(Trunc, std::trunc(x))
OST_UNARY(Rint, std::nearbyint(x))
OST_UNARY(BitNot, ~x)
OST_UNARY(LogicalNot, !x)
OST_BINARY(Add, scalar::add(x, y))
OST_BINARY(Sub, scalar::sub(x, y))
OST_BINARY(Mul, scalar::mul(x, y))
OST_BINARY(Div, scalar::div(x, y))
OST_BINARY(Rem, scalar::rem(x, y))
OST_BINARY(Min, scalar::min(x, y))
OST_BINARY(Max, scalar::max(x, y))
OST_BINARY(And, x& y)
OST_BINARY(Or, x | y)
OST_BINARY(Xor, x ^ y)
OST_BINARY(Shl, scalar::shl(x, y))
OST_BINARY(Shr, scalar::shr(x, y))
OST_BINARY(Eq, x == y)
OST_BINARY(Ne, x != y)
OST_BINARY(Lt, x < y)
OST_BINARY(Le, x <= y)
struct Ldexp {
  template <class T>
  static T of(T x, int32_t n) {
    return scalar::ldexp(x, n);
  }
};
#undef OST_UNARY
#undef OST_BINARY

template <class T>
void select(size_t n, void* out, const void* cond, const void* a, const void* b) {
  T* __restrict r = static_cast<T*>(out);
  const bool* __restrict c = static_cast<const bool*>(cond);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  for (size_t i = 0; i < n; ++i) r[i] = c[i] ? x[i] : y[i];
}
template <class T>
void copy(size_t n, void* out, const void* a, const void*, const void*) {
  T* __restrict r = static_cast<T*>(out);
  const T* __restrict x = static_cast<const T*>(a);
  for (size_t i = 0; i < n; ++i) r[i] = x[i];
}
template <class T>
void broadcast(size_t n, void* out, const void* a, const void*, const void*) {
  T* __restrict r = static_cast<T*>(out);
  const T x = *static_cast<const T*>(a);
  for (size_t i = 0; i < n; ++i) r[i] = x;
}

template <class T>
BlockFn comparison(Op op) {
  switch (op) {
    case Op::eq:
      return map2<bool, T, T, Eq>;
    case Op::ne:
      return map2<bool, T, T, Ne>;
    case Op::lt:
      return map2<bool, T, T, Lt>;
    case Op::le:
      return map2<bool, T, T, Le>;
    default:
      return nullptr;
  }
}
template <class T>
BlockFn arithmetic(Op op) {  // floats and integers
  switch (op) {
    case Op::neg:
      return map1<T, T, Neg>;
    case Op::abs:
      return map1<T, T, Abs>;
    case Op::add:
      return map2<T, T, T, Add>;
    case Op::sub:
      return map2<T, T, T, Sub>;
    case Op::mul:
      return map2<T, T, T, Mul>;
    case Op::div:
      return map2<T, T, T, Div>;
    case Op::min:
      return map2<T, T, T, Min>;
    case Op::max:
      return map2<T, T, T, Max>;
    default:
      return comparison<T>(op);
  }
}
template <class T>
BlockFn bitwise(Op op) {  // integers and bool
  switch (op) {
    case Op::bit_and:
      return map2<T, T, T, And>;
    case Op::bit_or:
      return map2<T, T, T, Or>;
    case Op::bit_xor:
      return map2<T, T, T, Xor>;
    default:
      return nullptr;
  }
}

template <class T>
BlockFn select_for(Op op) {
  if constexpr (Float<T>) {
    switch (op) {
      case Op::sqrt:
        return map1<T, T, Sqrt>;
      case Op::floor:
        return map1<T, T, Floor>;
      case Op::ceil:
        return map1<T, T, Ceil>;
      case Op::trunc:
        return map1<T, T, Trunc>;
      case Op::rint:
        return map1<T, T, Rint>;
      case Op::ldexp:
        return map2<T, T, int32_t, Ldexp>;
      default:
        return arithmetic<T>(op);
    }
  } else if constexpr (Int<T>) {
    switch (op) {
      case Op::bit_not:
        return map1<T, T, BitNot>;
      case Op::rem:
        return map2<T, T, T, Rem>;
      case Op::shl:
        return map2<T, T, T, Shl>;
      case Op::shr:
        return map2<T, T, T, Shr>;
      default:
        break;
    }
    if (BlockFn f = bitwise<T>(op)) return f;
    return arithmetic<T>(op);
  } else if constexpr (std::same_as<T, bool>) {
    switch (op) {
      case Op::bit_not:
        return map1<T, T, LogicalNot>;
      case Op::min:
        return map2<T, T, T, And>;
      case Op::max:
        return map2<T, T, T, Or>;
      default:
        break;
    }
    if (BlockFn f = bitwise<T>(op)) return f;
    return comparison<T>(op);
  }
  return nullptr;  // f16 and bf16 are storage types
}

template <class To, class From>
void convert(size_t n, void* out, const void* a, const void*, const void*) {
  To* __restrict r = static_cast<To*>(out);
  const From* __restrict x = static_cast<const From*>(a);
  for (size_t i = 0; i < n; ++i) r[i] = cast<To>(x[i]);
}

template <template <class> class Table>
BlockFn by_size(uint32_t size) {
  switch (size) {
    case 1:
      return Table<uint8_t>::fn;
    case 2:
      return Table<uint16_t>::fn;
    case 4:
      return Table<uint32_t>::fn;
    default:
      return Table<uint64_t>::fn;
  }
}
template <class T>
struct Select {
  static constexpr BlockFn fn = select<T>;
};
template <class T>
struct Copy {
  static constexpr BlockFn fn = copy<T>;
};
template <class T>
struct Broadcast {
  static constexpr BlockFn fn = broadcast<T>;
};

}  // namespace

BlockFn elementwise_fn(Op op, DType operand) {
  if (op == Op::where) return by_size<Select>(size_of(operand));
  if (op == Op::bitcast) return by_size<Copy>(size_of(operand));
  if (op == Op::fma) return fma_fn(operand);
  return with_type(operand,
                   [op](auto tag) { return select_for<typename decltype(tag)::type>(op); });
}

BlockFn cast_fn(DType to, DType from) {
  return with_type(to, [from](auto to_tag) {
    return with_type(from, [](auto from_tag) -> BlockFn {
      return convert<typename decltype(to_tag)::type, typename decltype(from_tag)::type>;
    });
  });
}

BlockFn block_fn(Op op, DType type, DType operand) {
  if (op == Op::cast) return cast_fn(type, operand);
  return elementwise_fn(op, op == Op::where ? type : operand);
}

BlockFn broadcast_fn(uint32_t size) { return by_size<Broadcast>(size); }

}  // namespace ost::kir::interp
