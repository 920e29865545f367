// Reads the text form back. The grammar is fixed per operation by the table in ops.cpp, so a line
// is read left to right with no look-ahead; errors name the line.
#include <charconv>

#include "core/kir/fold.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

constexpr size_t kMaxRecords = size_t{1} << 20;
constexpr uint32_t kMaxLanes = 1u << 16;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// One line, read word by word. Words end at spaces, commas and '='.
class Line {
 public:
  Line(std::string_view text, size_t number)
      : text_(text.substr(0, text.find('#'))), number_(number) {}

  template <typename... Args>
  std::unexpected<Error> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(OST_DATA_LOSS, "kir text, line {}: {}", number_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  void skip_spaces() {
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }
  bool accept(char c) {
    if (at_end() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  Result<> expect(char c) {
    if (accept(c)) return {};
    return text_.empty() ? wrong("the line ends, wanted '{}'", c)
                         : wrong("found '{}', wanted '{}'", text_.front(), c);
  }

  std::string_view peek() {
    skip_spaces();
    size_t n = 0;
    while (n < text_.size() && !is_space(text_[n]) && text_[n] != ',' && text_[n] != '=') ++n;
    return text_.substr(0, n);
  }
  std::string_view word() {
    const std::string_view result = peek();
    text_.remove_prefix(result.size());
    return result;
  }
  bool accept_word(std::string_view wanted) {
    if (peek() != wanted) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }

  // A decimal number; for constants also 0x and hex digits.
  template <typename T>
  Result<T> number(const char* what, int base = 10) {
    const std::string_view text = word();
    T value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (code != std::errc{} || end != text.data() + text.size() || text.empty())
      return wrong("found '{}', wanted {}", text, what);
    return value;
  }

  Result<Value> value(const char* what) {
    OST_TRY(expect('%'));
    return number<uint32_t>(what);
  }

  // One of a set of words, by the set's look-up function.
  template <typename Lookup>
  auto name(Lookup lookup, const char* what)
      -> Result<typename decltype(lookup(std::string_view()))::value_type> {
    const std::string_view text = word();
    if (const auto found = lookup(text)) return *found;
    return wrong("found '{}', wanted {}", text, what);
  }

 private:
  std::string_view text_;
  size_t number_;
};

class Parser {
 public:
  Result<Kernel> run(std::string_view text) {
    bool has_header = false;
    for (size_t number = 1; !text.empty(); ++number) {
      const size_t end = std::min(text.find('\n'), text.size());
      Line line(text.substr(0, end), number);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.at_end()) continue;
      OST_TRY(has_header ? record(line) : header(line));
      has_header = true;
      if (!line.at_end()) return line.wrong("unexpected '{}' at the end", line.peek());
    }
    if (!has_header)
      return fail(OST_DATA_LOSS, "kir text: no header line, wanted 'kir 1.0 l1 strict'");
    return std::move(kernel_);
  }

 private:
  Result<> header(Line& line) {
    if (!line.accept_word("kir"))
      return line.wrong("found '{}', wanted the header 'kir 1.0 l1 strict'", line.peek());
    const std::string_view version = line.word();
    if (version != "1.0")
      return fail(OST_INCOMPATIBLE, "kir text: version is '{}', this reader knows 1.0", version);
    if (line.accept_word("l2"))
      kernel_.level = 2;
    else if (!line.accept_word("l1"))
      return line.wrong("level is '{}', wanted 'l1' or 'l2'", line.peek());
    if (line.accept_word("fast"))
      kernel_.numerics = Numerics::fast;
    else if (!line.accept_word("strict"))
      return line.wrong("numerics is '{}', wanted 'strict' or 'fast'", line.peek());
    if (kernel_.level == 1) return {};
    if (!line.accept_word("lanes")) return line.wrong("found '{}', wanted 'lanes='", line.peek());
    OST_TRY(line.expect('='));
    OST_TRY_ASSIGN(kernel_.lanes, line.number<uint32_t>("a number of lanes"));
    if (kernel_.lanes == 0 || kernel_.lanes > kMaxLanes)
      return line.wrong("{} lanes, wanted 1 to {}", kernel_.lanes, kMaxLanes);
    return {};
  }

  Result<> record(Line& line) {
    const auto position = static_cast<uint32_t>(kernel_.insts.size());
    if (position >= kMaxRecords) return line.wrong("more than {} records", kMaxRecords);
    OST_TRY_ASSIGN(const Value number, line.value("the number of the record"));
    if (number != position)
      return line.wrong("record %{}, wanted %{}: records are numbered in order", number, position);
    OST_TRY(line.expect('='));
    const std::string_view name = line.word();
    const OpInfo* op = find_op(name);
    if (!op) return line.wrong("operation '{}' is unknown", name);
    Inst inst{};
    inst.op = static_cast<uint16_t>(op->op);
    OST_TRY_ASSIGN(const DType type,
                   line.name(dtype_from_name, "a type (bool, i8 .. u64, f16, bf16, f32, f64)"));
    inst.dtype = static_cast<uint8_t>(type);
    OST_TRY(attributes(line, *op, type, inst));
    OST_TRY(operands(line, inst));
    if (Result<> encoding = check_encoding(inst, position); !encoding)
      return line.wrong("{}", encoding.error().message);
    axes_ += op->op == Op::axis;
    kernel_.insts.push_back(inst);
    return {};
  }

  static Result<> operands(Line& line, Inst& inst) {
    for (uint32_t& source : inst.src) source = kNone;
    while (!line.at_end()) {
      if (inst.nsrc > 0) OST_TRY(line.expect(','));
      if (inst.nsrc == 4) return line.wrong("more than 4 operands");
      OST_TRY_ASSIGN(inst.src[inst.nsrc], line.value("the number of an operand"));
      ++inst.nsrc;
    }
    return {};
  }

  Result<> attributes(Line& line, const OpInfo& op, DType type, Inst& inst) const {
    switch (op.attr) {
      case Attr::none:
        return {};
      case Attr::bits:
        return constant(line, type, inst);
      case Attr::access:
        OST_TRY(keyed(line, "slot", inst));
        return access(line, inst);
      case Attr::slot:
        return keyed(line, "slot", inst);
      case Attr::role:
        return role(line, inst);
      case Attr::rare:
        inst.aux = line.accept_word("rare") ? OST_KIR_WHERE_RARE : 0;
        return {};
      case Attr::rounding: {
        OST_TRY_ASSIGN(inst.aux, line.name(rounding_from_name, "a rounding (wrap, rne, sat)"));
        return {};
      }
      case Attr::extreme:
        return combine(line, inst);
      case Attr::dimension:
      case Attr::count: {
        OST_TRY_ASSIGN(inst.imm, line.number<uint32_t>("a number below 2^32"));
        return {};
      }
      case Attr::unroll:
        inst.aux = line.accept_word("unroll") ? OST_KIR_UNROLL : 0;
        return {};
      case Attr::reduction: {
        if (op.op != Op::attn) OST_TRY(combine(line, inst));
        OST_TRY_ASSIGN(const Order order,
                       line.name(order_from_name, "an order (any, tree, blk256, attn)"));
        inst.aux |= static_cast<uint32_t>(order) << 8;
        return {};
      }
    }
    return line.wrong("operation '{}' has an unknown kind of attribute", op.name);
  }

  static Result<> combine(Line& line, Inst& inst) {
    OST_TRY_ASSIGN(const Combine c,
                   line.name(combine_from_name, "a combine (sum, prod, max, min, and, or, xor)"));
    inst.aux = static_cast<uint32_t>(c);
    return {};
  }

  static Result<> keyed(Line& line, std::string_view key, Inst& inst) {
    if (!line.accept_word(key)) return line.wrong("found '{}', wanted '{}='", line.peek(), key);
    OST_TRY(line.expect('='));
    OST_TRY_ASSIGN(inst.imm, line.number<uint32_t>("a number below 2^32"));
    return {};
  }

  static Result<> access(Line& line, Inst& inst) {
    const std::string_view text = line.word();
    inst.aux = text == "r" ? 1 : text == "w" ? 2 : text == "rw" ? 3 : 0;
    return inst.aux ? Result<>{} : line.wrong("access is '{}', wanted r, w or rw", text);
  }

  Result<> role(Line& line, Inst& inst) const {
    OST_TRY_ASSIGN(const Role role,
                   line.name(role_from_name, "an axis role (parallel, reduce, carry)"));
    inst.aux = static_cast<uint32_t>(role);
    inst.imm = axes_;
    return line.peek() == "id" ? keyed(line, "id", inst) : Result<>{};
  }

  static Result<> constant(Line& line, DType type, Inst& inst) {
    if (type == DType::boolean) {
      const std::string_view text = line.word();
      inst.imm = text == "true";
      return inst.imm || text == "false" ? Result<>{}
                                         : line.wrong("found '{}', wanted true or false", text);
    }
    if (is_float(type)) {
      if (line.peek().substr(0, 2) != "0x")
        return line.wrong("found '{}', wanted the bits of the float in hex, as in 0x3f800000",
                          line.peek());
      return hex(line, inst);
    }
    if (type == DType::u64) {
      OST_TRY_ASSIGN(inst.imm, line.number<uint64_t>("an unsigned number of 64 bits"));
      return {};
    }
    OST_TRY_ASSIGN(const int64_t value, line.number<int64_t>("an integer"));
    inst.imm = truncate_bits(type, static_cast<uint64_t>(value));
    if (sign_value(type, inst.imm) != value)
      return line.wrong("{} does not fit into {}", value, name_of(type));
    return {};
  }

  static Result<> hex(Line& line, Inst& inst) {
    const std::string_view text = line.word().substr(2);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), inst.imm, 16);
    if (code == std::errc{} && end == text.data() + text.size() && !text.empty()) return {};
    return line.wrong("found '0x{}', wanted hex digits of at most 64 bits", text);
  }

  Kernel kernel_;
  uint64_t axes_ = 0;
};

}  // namespace

Result<Kernel> from_text(std::string_view text) { return Parser().run(text); }

}  // namespace ost::kir
