#include "core/codegen/print.hpp"

#include <bit>
#include <cmath>

#include "core/kir/fold.hpp"
#include "core/kir/ops.hpp"

namespace ost::codegen {
namespace {

using kir::Inst;
using kir::Op;
using kir::Value;

// f16 and bf16 are their bits, a bool in memory is a byte.
std::string_view memory_type(DType t) {
  constexpr std::string_view kNames[] = {"?",   "u8",  "i8",  "i16", "i32", "i64", "u8",
                                         "u16", "u32", "u64", "u16", "u16", "f32", "f64"};
  return kNames[static_cast<uint32_t>(t)];
}
std::string_view value_type(DType t) { return t == DType::boolean ? "int" : memory_type(t); }
std::string_view unsigned_type(DType t) { return bits_of(t) == 64 ? "u64" : "u32"; }
bool is_signed(DType t) { return t >= DType::i8 && t <= DType::i64; }

class Printer {
 public:
  Printer(const kir::Kernel& kernel, Dialect dialect, std::string_view entry)
      : k_(kernel), dialect_(dialect), entry_(entry) {
    for (Value v = 0; v < k_.insts.size(); ++v) f64_ = f64_ || k_.dtype(v) == DType::f64;
  }

  Result<std::string> run() {
    if (dialect_ == Dialect::c99 && k_.lanes != 1)
      return fail(OST_INVALID_ARGUMENT, "codegen: c99 has one lane, the kernel has {}", k_.lanes);
    out_ = prelude(dialect_, f64_);
    signature();
    depth_ = 1;
    parameters();
    find_ends();
    records(0, static_cast<Value>(k_.insts.size()));
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void signature() {
    if (dialect_ == Dialect::c99) {
      out_ += fmt::format(
          "const u32 {0}_args[2] = {{{1}, {2}}};\n"
          "void {0}(void* const* ost_params, const i64* ost_vars, const u64* ost_group) {{\n"
          "  (void)ost_params;\n  (void)ost_vars;\n  (void)ost_group;\n",
          entry_, k_.param_count(), k_.var_count());
      return;
    }
    std::string arguments;
    const auto add = [&](const std::string& text) {
      arguments += arguments.empty() ? text : ", " + text;
    };
    const bool cl = dialect_ == Dialect::opencl_c;
    for (uint32_t p = 0; p < k_.param_count(); ++p)
      add(cl ? fmt::format("__global u8* ost_p{}, u64 ost_o{}", p, p)
             : fmt::format("u8* ost_p{}", p));
    for (uint32_t v = 0; v < k_.var_count(); ++v) add(fmt::format("i64 ost_v{}", v));
    if (cl) add("u32 ost_one");
    if (cl) {
      out_ +=
          fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1)))\nvoid {}({}) {{\n",
                      k_.lanes, entry_, arguments);
      out_ += "  const f32 ost_one32 = ost_from_u32(ost_one);\n";
      out_ += "  const f32 ost_nzero32 = -(ost_one32 - ost_one32);\n";
      if (f64_)
        out_ +=
            "  const f64 ost_one64 = (f64)ost_one32;\n"
            "  const f64 ost_nzero64 = -(ost_one64 - ost_one64);\n";
    } else {
      out_ += fmt::format("extern \"C\" __global__ __launch_bounds__({}) void {}({}) {{\n",
                          k_.lanes, entry_, arguments);
    }
  }

  void parameters() {
    for (Value v = 0; v < k_.insts.size(); ++v) {
      if (k_.op(v) != Op::param) continue;
      const Inst& inst = k_.insts[v];
      const std::string type =
          fmt::format("{}{}{}", dialect_ == Dialect::opencl_c ? "__global " : "",
                      inst.aux == OST_KIR_READ ? "const " : "", memory_type(k_.dtype(v)));
      const std::string from = dialect_ == Dialect::c99 ? fmt::format("ost_params[{}]", inst.imm)
                               : dialect_ == Dialect::opencl_c
                                   ? fmt::format("(ost_p{} + ost_o{})", inst.imm, inst.imm)
                                   : fmt::format("ost_p{}", inst.imm);
      line("{}* OST_RESTRICT p{} = ({}*){};", type, v, type, from);
    }
  }

  // --- operands
  std::string use(Value v) const {
    if (k_.op(v) == Op::constant) return literal(k_.dtype(v), k_.insts[v].imm);
    return fmt::format("v{}", v);
  }
  static std::string literal(DType t, uint64_t bits) {
    switch (t) {
      case DType::boolean:
        return bits ? "1" : "0";
      case DType::f16:
      case DType::bf16:
        return fmt::format("((u16){}u)", bits);
      case DType::f32: {
        const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
        return std::isfinite(x) ? fmt::format("{:a}f", x)
                                : fmt::format("ost_from_u32({:#x}u)", bits);
      }
      case DType::f64: {
        const auto x = std::bit_cast<double>(bits);
        return std::isfinite(x) ? fmt::format("{:a}", x)
                                : fmt::format("ost_from_u64(((u64){:#x}u << 32) | {:#x}u)",
                                              bits >> 32, bits & 0xffffffffu);
      }
      case DType::u64:
        return fmt::format("(((u64){:#x}u << 32) | {:#x}u)", bits >> 32, bits & 0xffffffffu);
      case DType::i64: {
        const auto x = static_cast<int64_t>(bits);
        return x == INT64_MIN ? "(-OST_L(9223372036854775807) - 1)"
               : x < 0        ? fmt::format("(-OST_L({}))", -x)
                              : fmt::format("OST_L({})", x);
      }
      default: {
        const int64_t x = kir::sign_value(t, bits);
        if (t == DType::u32) return fmt::format("{}u", x);
        if (x == INT32_MIN) return "((i32)(-2147483647 - 1))";
        return fmt::format("(({}){})", value_type(t), x);
      }
    }
  }

  // --- records
  void find_ends() {
    ends_.assign(k_.insts.size(), 0);
    for (Value v = 0; v < k_.insts.size(); ++v)
      if (k_.op(v) == Op::end) ends_[k_.insts[v].src[0]] = v;
  }

  void records(Value first, Value end) {
    for (Value v = first; v < end; ++v) {
      if (k_.op(v) == Op::loop && k_.insts[v].aux && unroll(v))
        v = ends_[v];
      else
        record(v);
    }
  }

  // OpenCL C has no pragma for it that all versions know: the turns are written out.
  bool unroll(Value v) {
    const Inst& inst = k_.insts[v];
    const auto fixed = [&](Value x) { return k_.op(x) == Op::constant; };
    if (dialect_ != Dialect::opencl_c || !fixed(inst.src[0]) || !fixed(inst.src[1])) return false;
    const auto number = [&](uint32_t i) { return static_cast<int64_t>(k_.insts[inst.src[i]].imm); };
    for (int64_t i = number(0); i < number(1); i += number(2)) {
      line("{{");
      ++depth_;
      define(v, literal(DType::i64, static_cast<uint64_t>(i)));
      records(v + 1, ends_[v]);
      --depth_;
      line("}}");
    }
    return true;
  }

  void record(Value v) {
    const Inst& inst = k_.insts[v];
    switch (k_.op(v)) {
      case Op::constant:
      case Op::param:
      case Op::grid:
        return;
      case Op::var:
        return define(v, dialect_ == Dialect::c99 ? fmt::format("ost_vars[{}]", inst.imm)
                                                  : fmt::format("ost_v{}", inst.imm));
      case Op::group:
        return define(v, group_index(inst.imm));
      case Op::lane:
        return define(v,
                      dialect_ == Dialect::opencl_c ? "(i64)get_local_id(0)" : "(i64)threadIdx.x");
      case Op::local_array:
        return line("{}{} a{}[{}];", dialect_ == Dialect::c99 ? "" : "OST_LOCAL ",
                    memory_type(k_.dtype(v)), v, inst.imm);
      case Op::private_array:
        return inst.imm == 1 ? line("{} a{};", memory_type(k_.dtype(v)), v)
                             : line("{} a{}[{}];", memory_type(k_.dtype(v)), v, inst.imm);
      case Op::loop:
        if (inst.aux) pragma_unroll();
        line("for (i64 v{} = {}; v{} < {}; v{} += {}) {{", v, use(inst.src[0]), v, use(inst.src[1]),
             v, use(inst.src[2]));
        ++depth_;
        return;
      case Op::if_true:
        line("if ({}) {{", use(inst.src[0]));
        ++depth_;
        return;
      case Op::end:
        --depth_;
        return line("}}");
      case Op::barrier:
        return line("OST_BARRIER;");
      case Op::load:
        return load(v);
      case Op::store:
        return store(v);
      default:
        return define(v, expression(v));
    }
  }

  void define(Value v, const std::string& text) {
    line("const {} v{} = {};", value_type(k_.dtype(v)), v, text);
  }

  void pragma_unroll() {
    if (dialect_ == Dialect::hip_cpp || dialect_ == Dialect::cuda_cpp) line("#pragma unroll");
  }

  std::string group_index(uint64_t dimension) const {
    if (dialect_ == Dialect::c99) return fmt::format("(i64)ost_group[{}]", dimension);
    if (dialect_ == Dialect::opencl_c) return fmt::format("(i64)get_group_id({})", dimension);
    return fmt::format("(i64)blockIdx.{}", "xyz"[dimension]);
  }

  std::string place(Value memory, Value index) const {
    if (k_.op(memory) == Op::param) return fmt::format("p{}[{}]", memory, use(index));
    if (k_.op(memory) == Op::private_array && k_.insts[memory].imm == 1)
      return fmt::format("a{}", memory);
    return fmt::format("a{}[{}]", memory, use(index));
  }

  void load(Value v) {
    const Inst& inst = k_.insts[v];
    std::string text = place(inst.src[0], inst.src[1]);
    if (k_.dtype(v) == DType::boolean) text = "(" + text + " != 0)";
    if (inst.nsrc > 2)
      text = fmt::format("{} ? {} : {}", use(inst.src[2]), text, literal(k_.dtype(v), 0));
    define(v, text);
  }

  void store(Value v) {
    const Inst& inst = k_.insts[v];
    const std::string mask = inst.nsrc > 3 ? fmt::format("if ({}) ", use(inst.src[3])) : "";
    const std::string cast = k_.dtype(v) == DType::boolean ? "(u8)" : "";
    line("{}{} = {}{};", mask, place(inst.src[0], inst.src[1]), cast, use(inst.src[2]));
  }

  // --- scalar operations
  std::string expression(Value v) const {
    const Inst& inst = k_.insts[v];
    const Op op = k_.op(v);
    const DType t = k_.dtype(v);
    const auto x = [&](uint32_t i) { return use(inst.src[i]); };
    const DType operand = inst.nsrc > 0 ? k_.dtype(inst.src[0]) : t;
    if (op == Op::cast) return cast(t, operand, x(0));
    if (op == Op::bitcast) return bitcast(t, operand, x(0));
    if (op == Op::where) return fmt::format("{} ? {} : {}", x(0), x(1), x(2));
    if (op == Op::fma) return fmt::format("ost_fma_{}({}, {}, {})", name_of(t), x(0), x(1), x(2));
    if (op == Op::ldexp) return fmt::format("ost_ldexp_{}({}, {})", name_of(t), x(0), x(1));
    if (op >= Op::eq && op <= Op::le) {
      constexpr std::string_view kCompare[] = {"==", "!=", "<", "<="};
      return fmt::format("{} {} {}", x(0),
                         kCompare[static_cast<int>(op) - static_cast<int>(Op::eq)], x(1));
    }
    if (t == DType::boolean) return logical(op, inst);
    return is_float(t) ? real(op, t, inst) : integer(op, t, inst);
  }

  std::string logical(Op op, const Inst& inst) const {
    const std::string a = use(inst.src[0]), b = inst.nsrc > 1 ? use(inst.src[1]) : "";
    switch (op) {
      case Op::bit_not:
        return fmt::format("!{}", a);
      case Op::bit_and:
      case Op::min:
        return fmt::format("{} & {}", a, b);
      case Op::bit_or:
      case Op::max:
        return fmt::format("{} | {}", a, b);
      default:
        return fmt::format("{} ^ {}", a, b);
    }
  }

  bool is_accumulator(Value v) const {
    return k_.op(v) == Op::load && k_.op(k_.insts[v].src[0]) != Op::param;
  }

  std::string real(Op op, DType t, const Inst& inst) const {
    const std::string a = use(inst.src[0]), b = inst.nsrc > 1 ? use(inst.src[1]) : "";
    switch (op) {
      case Op::add:
        if (is_accumulator(inst.src[0])) return fmt::format("ost_sum_{}({}, {})", name_of(t), a, b);
        return fmt::format("{} + {}", a, b);
      case Op::sub:
        return fmt::format("{} - {}", a, b);
      case Op::mul:
        if (is_accumulator(inst.src[0]))
          return fmt::format("ost_prod_{}({}, {})", name_of(t), a, b);
        return fmt::format("{} * {}", a, b);
      case Op::div:
        return fmt::format("{} / {}", a, b);
      case Op::min:
      case Op::max:
        return fmt::format("ost_{}_{}({}, {})", kir::info(op).name, name_of(t), a, b);
      default:  // neg, abs, sqrt, floor, ceil, trunc, rint
        return fmt::format("ost_{}_{}({})", kir::info(op).name, name_of(t), a);
    }
  }

  std::string integer(Op op, DType t, const Inst& inst) const {
    const std::string a = use(inst.src[0]), b = inst.nsrc > 1 ? use(inst.src[1]) : "";
    const auto wrapped = [&](std::string_view sign) {
      return fmt::format("({})(({}){} {} ({}){})", value_type(t), unsigned_type(t), a, sign,
                         unsigned_type(t), b);
    };
    switch (op) {
      case Op::add:
        return wrapped("+");
      case Op::sub:
        return wrapped("-");
      case Op::mul:
        return wrapped("*");
      case Op::neg:
        return fmt::format("({})(0u - ({}){})", value_type(t), unsigned_type(t), a);
      case Op::abs:
        return is_signed(t) ? fmt::format("ost_abs_{}({})", name_of(t), a) : a;
      case Op::bit_not:
        return fmt::format("({})~{}", value_type(t), a);
      case Op::bit_and:
        return fmt::format("({})({} & {})", value_type(t), a, b);
      case Op::bit_or:
        return fmt::format("({})({} | {})", value_type(t), a, b);
      case Op::bit_xor:
        return fmt::format("({})({} ^ {})", value_type(t), a, b);
      case Op::min:
        return fmt::format("{} < {} ? {} : {}", b, a, b, a);
      case Op::max:
        return fmt::format("{} < {} ? {} : {}", a, b, b, a);
      case Op::div:
      case Op::rem:
        if (is_plain_divisor(inst.src[1]))
          return fmt::format("({})({} {} {})", value_type(t), a, op == Op::div ? '/' : '%', b);
        [[fallthrough]];
      default:  // shl, shr
        return fmt::format("ost_{}_{}({}, {})", kir::info(op).name, name_of(t), a, b);
    }
  }

  bool is_plain_divisor(Value v) const {
    return k_.op(v) == Op::constant && k_.insts[v].imm != 0 &&
           kir::sign_value(k_.dtype(v), k_.insts[v].imm) > 0;
  }

  static std::string cast(DType to, DType from, const std::string& x) {
    if (to == from) return x;
    if (from == DType::f16 || from == DType::bf16) {
      const std::string wide = fmt::format("ost_f32_of_{}({})", name_of(from), x);
      return to == DType::f32 ? wide : cast(to, DType::f32, wide);
    }
    if (to == DType::boolean) return fmt::format("{} != 0", x);
    if (to == DType::f16 || to == DType::bf16)
      return fmt::format("ost_{}_of_f32({})", name_of(to), to_f32_once(from, x));
    if (is_float(from) && is_int(to))
      return fmt::format("ost_{}_of_{}({})", name_of(to), name_of(from), x);
    return fmt::format("({}){}", value_type(to), x);
  }

  // An f32 whose rounding to a half type is that of x: exact, or rounded to odd.
  static std::string to_f32_once(DType from, const std::string& x) {
    if (from == DType::f32) return x;
    if (from == DType::f64) return fmt::format("ost_odd_f64({})", x);
    if (from == DType::boolean || bits_of(from) <= 16) return fmt::format("(f32){}", x);
    const std::string_view kind = is_signed(from) ? "i64" : "u64";
    return fmt::format("ost_odd_{}(({}){})", kind, kind, x);
  }

  static std::string bitcast(DType to, DType from, const std::string& x) {
    const bool into = to == DType::f32 || to == DType::f64;
    const bool out = from == DType::f32 || from == DType::f64;
    if (into && out) return x;
    if (into)
      return to == DType::f32 ? fmt::format("ost_from_u32((u32){})", x)
                              : fmt::format("ost_from_u64((u64){})", x);
    if (out) return fmt::format("({})ost_bits_{}({})", value_type(to), name_of(from), x);
    return fmt::format("({}){}", value_type(to), x);
  }

  const kir::Kernel& k_;
  Dialect dialect_;
  std::string entry_;
  std::string out_;
  std::vector<Value> ends_;  // by record that opens a region
  bool f64_ = false;
  size_t depth_ = 0;
};

}  // namespace

Result<std::string> print(const kir::Kernel& kernel, Dialect dialect, std::string_view entry) {
  if (kernel.level != 2)
    return fail(OST_INVALID_ARGUMENT, "codegen: a kernel of level {}, wanted level 2",
                kernel.level);
  return Printer(kernel, dialect, entry).run();
}

}  // namespace ost::codegen
