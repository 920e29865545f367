#include "core/kir/typing.hpp"

#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

// Types by class, as sets, so that a rule is one line and its message can name what was wanted.
enum Class : uint32_t { kBool = 1, kInt = 2, kHalf = 4, kFloat = 8, kI32 = 16, kI64 = 32 };

bool in_class(DType t, uint32_t classes) {
  return ((classes & kBool) && t == DType::boolean) || ((classes & kInt) && is_int(t)) ||
         ((classes & kHalf) && is_half(t)) || ((classes & kFloat) && is_float(t) && !is_half(t)) ||
         ((classes & kI32) && t == DType::i32) || ((classes & kI64) && t == DType::i64);
}

std::string class_name(uint32_t classes) {
  std::string text;
  const auto add = [&](uint32_t bit, const char* name) {
    if (!(classes & bit)) return;
    if (!text.empty()) text += " or ";
    text += name;
  };
  add(kBool, "bool");
  add(kInt, "an integer");
  add(kI32, "i32");
  add(kI64, "i64");
  add(kHalf, "f16 or bf16");
  add(kFloat, "f32 or f64");
  return text;
}

class Checker {
 public:
  Checker(const Kernel& kernel, const Inst& inst)
      : kernel_(kernel), inst_(inst), op_(static_cast<Op>(inst.op)) {}

  Result<> run() {
    OST_TRY(operand_classes());
    switch (op_) {
      case Op::constant:
        return {};
      case Op::param:
        OST_TRY(operand(0, kI64));
        return access();
      case Op::var:
        OST_TRY(result(kI64));
        OST_TRY(const_operand(0));
        return const_operand(1);
      case Op::axis:
        OST_TRY(result(kI64));
        return operand(0, kI64);
      case Op::load:
      case Op::store:
        return memory();
      case Op::neg:
      case Op::abs:
        return uniform(kInt | kFloat);
      case Op::sqrt:
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::rint:
      case Op::fma:
        return uniform(kFloat);
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::div:
        return uniform(kInt | kFloat);
      case Op::rem:
      case Op::shl:
      case Op::shr:
        return uniform(kInt);
      case Op::min:
      case Op::max:
        return uniform(kBool | kInt | kFloat);
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
      case Op::bit_not:
        return uniform(kBool | kInt);
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
        return compare();
      case Op::where:
        OST_TRY(operand(0, kBool));
        OST_TRY(same(1));
        return same(2);
      case Op::ldexp:
        OST_TRY(result(kFloat));
        OST_TRY(same(0));
        return operand(1, kI32);
      case Op::cast:
        return cast();
      case Op::bitcast:
        return bitcast();
      case Op::reduce:
        OST_TRY(same(0));
        OST_TRY(reduced_axis(1));
        return reduction();
      case Op::contract:
        return contract();
      case Op::argreduce:
        return argreduce();
      case Op::attn:
        return attn();
      case Op::grid:
        OST_TRY(result(kI64));
        return operand(0, kI64);
      case Op::group:
      case Op::lane:
        return result(kI64);
      case Op::local_array:
      case Op::private_array:
        return {};
      case Op::loop:
        OST_TRY(result(kI64));
        OST_TRY(operand(0, kI64));
        OST_TRY(operand(1, kI64));
        return positive_const(2);
      case Op::if_true:
        OST_TRY(result(kBool));
        return operand(0, kBool);
      case Op::end:
      case Op::barrier:
        return result(kBool);
    }
    return fail(OST_INVALID_ARGUMENT, "opcode {} is unknown", inst_.op);
  }

 private:
  template <typename... Args>
  std::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(OST_INVALID_ARGUMENT, "{}: {}", info(op_).name,
                fmt::format(format, std::forward<Args>(args)...));
  }

  DType type() const { return static_cast<DType>(inst_.dtype); }
  Value src(uint32_t k) const { return inst_.src[k]; }
  DType type(uint32_t k) const { return kernel_.dtype(src(k)); }

  static bool is_memory(Op op) {
    return op == Op::param || op == Op::local_array || op == Op::private_array;
  }

  // Memory may only be operand 0 of a load or store, and what has no result is nobody's operand.
  Result<> operand_classes() const {
    const OpInfo& op = info(op_);
    if (inst_.nsrc < op.min_src || inst_.nsrc > op.max_src)
      return wrong("{} operands, wanted {}..{}", inst_.nsrc, op.min_src, op.max_src);
    for (uint32_t k = 0; k < inst_.nsrc; ++k) {
      const Op source = kernel_.op(src(k));
      const bool wants_memory = k == 0 && (op_ == Op::load || op_ == Op::store);
      const bool closes = op_ == Op::end && (source == Op::loop || source == Op::if_true);
      if (op_ == Op::end && !closes)
        return wrong("operand {} is a {}, wanted a loop or an if", k, info(source).name);
      if (!closes && (source == Op::store || source == Op::end || source == Op::barrier ||
                      source == Op::if_true || source == Op::grid))
        return wrong("operand {} is a {}, which has no result", k, info(source).name);
      if (wants_memory && !is_memory(source))
        return wrong("operand 0 is a {}, wanted a param", info(source).name);
      if (!wants_memory && is_memory(source))
        return wrong("operand {} is a {}, which only load and store may use", k, info(source).name);
    }
    return {};
  }

  Result<> result(uint32_t classes) const {
    if (in_class(type(), classes)) return {};
    return wrong("the type is {}, wanted {}", name_of(type()), class_name(classes));
  }
  Result<> operand(uint32_t k, uint32_t classes) const {
    if (in_class(type(k), classes)) return {};
    return wrong("operand {} is {}, wanted {}", k, name_of(type(k)), class_name(classes));
  }
  Result<> same(uint32_t k) const {
    if (type(k) == type()) return {};
    return wrong("operand {} is {}, wanted the type of the result, {}", k, name_of(type(k)),
                 name_of(type()));
  }
  Result<> const_operand(uint32_t k) const {
    OST_TRY(operand(k, kI64));
    if (kernel_.op(src(k)) == Op::constant) return {};
    return wrong("operand {} is a {}, wanted a const", k, info(kernel_.op(src(k))).name);
  }
  Result<> positive_const(uint32_t k) const {
    OST_TRY(const_operand(k));
    if (static_cast<int64_t>(kernel_.insts[src(k)].imm) > 0) return {};
    return wrong("operand {} is {}, wanted a number above 0", k,
                 static_cast<int64_t>(kernel_.insts[src(k)].imm));
  }
  // Result and all operands have one type, out of these classes.
  Result<> uniform(uint32_t classes) const {
    OST_TRY(result(classes));
    for (uint32_t k = 0; k < inst_.nsrc; ++k) OST_TRY(same(k));
    return {};
  }

  Result<> access() const {
    return inst_.aux >= 1 && inst_.aux <= 3
               ? Result<>{}
               : wrong("access is {}, wanted 1 (read), 2 (write) or 3", inst_.aux);
  }

  Result<> memory() const {
    const bool is_load = op_ == Op::load;
    const uint32_t need = is_load ? OST_KIR_READ : OST_KIR_WRITE;
    OST_TRY(same(0));
    if (kernel_.op(src(0)) == Op::param && !(kernel_.insts[src(0)].aux & need))
      return wrong("the param is not declared for {}", is_load ? "reading" : "writing");
    OST_TRY(operand(1, kI64));
    if (!is_load) OST_TRY(same(2));
    const uint32_t mask = is_load ? 2 : 3;
    return inst_.nsrc > mask ? operand(mask, kBool) : Result<>{};
  }

  Result<> compare() const {
    OST_TRY(result(kBool));
    OST_TRY(operand(0, kBool | kInt | kFloat));
    if (type(0) == type(1)) return {};
    return wrong("the operands are {} and {}, wanted one type", name_of(type(0)), name_of(type(1)));
  }

  Result<> cast() const {
    const auto rounding = cast_rounding(type(), type(0));
    if (inst_.aux == *rounding) return {};
    return wrong("rounding is {}, wanted {} from {} to {}", inst_.aux, rounding_name(*rounding),
                 name_of(type(0)), name_of(type()));
  }

  Result<> bitcast() const {
    OST_TRY(result(kInt | kHalf | kFloat));
    OST_TRY(operand(0, kInt | kHalf | kFloat));
    if (bits_of(type()) == bits_of(type(0))) return {};
    return wrong("from {} to {}, wanted equal widths", name_of(type(0)), name_of(type()));
  }

  Result<> reduced_axis(uint32_t k) const {
    const Inst& axis = kernel_.insts[src(k)];
    if (static_cast<Op>(axis.op) != Op::axis)
      return wrong("operand {} is a {}, wanted an axis", k, info(static_cast<Op>(axis.op)).name);
    if (axis.aux == OST_KIR_AXIS_REDUCE) return {};
    return wrong("axis %{} has role {}, wanted reduce", src(k),
                 name_of(static_cast<Role>(axis.aux)));
  }

  // Which combines exist for the type, and which order they must have.
  Result<> reduction() const {
    const auto combine = static_cast<Combine>(inst_.aux & 0xff);
    const uint32_t order = inst_.aux >> 8;
    const bool arithmetic = combine == Combine::sum || combine == Combine::prod;
    const bool extreme = combine == Combine::max || combine == Combine::min;
    OST_TRY(result(arithmetic ? kInt | kFloat : extreme ? kBool | kInt | kFloat : kBool | kInt));
    const bool ordered = arithmetic && is_float(type());
    const bool fits = ordered ? order == OST_KIR_ORDER_TREE || order == OST_KIR_ORDER_BLK256
                              : order == OST_KIR_ORDER_ANY;
    if (fits) return {};
    return wrong("order is {}, wanted {} for a {} of {}", name_of(static_cast<Order>(order)),
                 ordered ? "tree or blk256" : "any", name_of(combine), name_of(type()));
  }

  Result<> contract() const {
    OST_TRY(same(0));
    OST_TRY(same(1));
    OST_TRY(reduced_axis(2));
    if ((inst_.aux & 0xff) != OST_KIR_COMBINE_SUM)
      return wrong("combine is {}, wanted sum", name_of(static_cast<Combine>(inst_.aux & 0xff)));
    return reduction();
  }

  Result<> argreduce() const {
    OST_TRY(result(kI64));
    OST_TRY(operand(0, kBool | kInt | kFloat));
    OST_TRY(reduced_axis(1));
    const bool extreme = inst_.aux == OST_KIR_COMBINE_MAX || inst_.aux == OST_KIR_COMBINE_MIN;
    return extreme ? Result<>{} : wrong("combine is {}, wanted 3 (max) or 4 (min)", inst_.aux);
  }

  Result<> attn() const {
    if (type() != DType::f32) return wrong("the type is {}, wanted f32", name_of(type()));
    OST_TRY(same(0));
    OST_TRY(operand(1, kBool));
    OST_TRY(same(2));
    OST_TRY(reduced_axis(3));
    return inst_.aux == OST_KIR_ORDER_ATTN << 8 ? Result<>{}
                                                : wrong("order is {}, wanted attn", inst_.aux >> 8);
  }

  const Kernel& kernel_;
  const Inst& inst_;
  Op op_;
};

}  // namespace

Result<> check_types(const Kernel& kernel, const Inst& inst) { return Checker(kernel, inst).run(); }

}  // namespace ost::kir
