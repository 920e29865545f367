#include "core/capi/bind.hpp"

#include <fmt/ranges.h>

namespace ost::capi {
namespace {

// Where the value of a variable came from, for errors.
struct Source {
  int64_t value;
  std::string text;  // "dimension 0 of input x is 7"
};

class CallBinder {
 public:
  explicit CallBinder(const Program& program) : p_(program) {}

  Result<> take_inputs(std::span<const ost_binding_t> bindings) {
    given_.resize(p_.inputs.size(), nullptr);
    for (size_t i = 0; i < bindings.size(); ++i) {
      OST_TRY_ASSIGN(const size_t slot, slot_of(bindings[i], i));
      if (given_[slot] != nullptr)
        return fail(OST_INVALID_ARGUMENT, "input '{}' is given twice", p_.inputs[slot].name);
      given_[slot] = &bindings[i];
    }
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i] == nullptr)
        return fail(OST_INVALID_ARGUMENT, "input '{}' is missing, wanted {}", p_.inputs[i].name,
                    type_of(i));
    }
    return {};
  }

  Result<> take_vars(std::span<const ost_var_value_t> values) {
    for (const ost_var_value_t& v : values) {
      OST_TRY(require(v.name, "the name of a variable"));
      const auto it = std::ranges::find(p_.vars, std::string_view(v.name), &Var::name);
      if (it == p_.vars.end()) {
        return fail(OST_NOT_FOUND, "the program has no variable '{}'; it has: {}", v.name,
                    names(p_.vars));
      }
      OST_TRY(set(*it, v.value, fmt::format("{} = {} was given", v.name, v.value)));
    }
    return {};
  }

  // Lone variables first, so that an expression with one unknown can be solved afterwards.
  Result<> check_shapes() {
    for (size_t i = 0; i < given_.size(); ++i) {
      const InputDesc& want = p_.inputs[i];
      OST_TRY_ASSIGN(const ArrayView got,
                     to_array(&given_[i]->array, fmt::format("input '{}'", want.name), false));
      if (got.dtype != want.dtype || got.shape.size() != want.shape.size()) return mismatch(i, got);
      shapes_.push_back(got.shape);
    }
    OST_TRY(derive([](const Sym& dim) { return dim.as_var().has_value(); }));
    OST_TRY(derive([](const Sym& dim) { return !dim.as_var().has_value(); }));
    for (size_t i = 0; i < given_.size(); ++i) {
      for (size_t d = 0; d < shapes_[i].size(); ++d) OST_TRY(check_dim(i, d));
    }
    return {};
  }

  Result<BoundCall> finish() {
    BoundCall call{std::move(given_), {}};
    for (const Var& var : p_.vars) {
      const auto it = sources_.find(var.name);
      if (it == sources_.end()) {
        return fail(
            OST_INVALID_ARGUMENT,
            "variable '{}' ({}..{}) does not follow from the inputs' shapes; give its value",
            var.name, var.min, var.max);
      }
      call.vars.push_back(it->second.value);
    }
    return call;
  }

 private:
  template <typename Items>
  static std::string names(const Items& items) {
    if (items.empty()) return "none";
    std::string out;
    for (const auto& item : items) out += (out.empty() ? "" : ", ") + item.name;
    return out;
  }
  std::string type_of(size_t input) const {
    return fmt::format("{}{}", name_of(p_.inputs[input].dtype), to_string(p_.inputs[input].shape));
  }

  Result<size_t> slot_of(const ost_binding_t& binding, size_t position) const {
    if (binding.name == nullptr) {
      if (position < p_.inputs.size()) return position;
      return fail(OST_INVALID_ARGUMENT, "{} inputs are given, the program has {}: {}", position + 1,
                  p_.inputs.size(), names(p_.inputs));
    }
    const auto it = std::ranges::find(p_.inputs, std::string_view(binding.name), &InputDesc::name);
    if (it != p_.inputs.end()) return static_cast<size_t>(it - p_.inputs.begin());
    return fail(OST_NOT_FOUND, "the program has no input '{}'; it has: {}", binding.name,
                names(p_.inputs));
  }

  std::unexpected<Error> mismatch(size_t input, const ArrayView& got) const {
    return fail(OST_INVALID_ARGUMENT, "input '{}' is {}[{}], wanted {}", p_.inputs[input].name,
                name_of(got.dtype), fmt::join(got.shape, ", "), type_of(input));
  }

  Result<> set(const Var& var, int64_t value, std::string why) {
    if (value < var.min || value > var.max) {
      return fail(OST_INVALID_ARGUMENT, "{}, but '{}' is {} to {} in this program", why, var.name,
                  var.min, var.max);
    }
    if (const auto it = sources_.find(var.name); it == sources_.end()) {
      sources_.emplace(var.name, Source{value, std::move(why)});
      bindings_.emplace(var.name, value);
    } else if (it->second.value != value) {
      return fail(OST_INVALID_ARGUMENT, "variable '{}' has two values: {} ({}) and {} ({})",
                  var.name, it->second.value, it->second.text, value, why);
    }
    return {};
  }

  std::string dim_text(size_t input, size_t dim) const {
    return fmt::format("dimension {} of input '{}' is {}", dim, p_.inputs[input].name,
                       shapes_[input][dim]);
  }

  Result<> derive(auto&& wanted) {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      for (size_t d = 0; d < shapes_[i].size(); ++d) {
        if (wanted(p_.inputs[i].shape[d])) OST_TRY(solve(i, d));
      }
    }
    return {};
  }

  // coefficient * v + rest = found, where v is the only variable without a value.
  Result<> solve(size_t input, size_t dim) {
    const Sym& want = p_.inputs[input].shape[dim];
    const int64_t found = shapes_[input][dim];
    std::optional<Var> unknown;
    int64_t coefficient = 0;
    int64_t rest = 0;
    for (const Sym::Term& term : want.terms()) {
      if (term.factors.empty()) {
        rest = term.coefficient;
        continue;
      }
      if (term.factors.size() != 1 || term.factors[0]->kind != Sym::AtomKind::var) return {};
      const Var& var = term.factors[0]->variable;
      const auto known = bindings_.find(var.name);
      if (known != bindings_.end() && unknown == std::nullopt && want.as_var()) {
        return set(var, found, dim_text(input, dim));  // checks that both agree
      }
      if (known != bindings_.end()) {
        int64_t value = 0;
        if (__builtin_mul_overflow(term.coefficient, known->second, &value) ||
            __builtin_add_overflow(rest, value, &rest))
          return {};
        continue;
      }
      if (unknown) return {};  // two unknowns: another dimension or the caller has to say
      unknown = var;
      coefficient = term.coefficient;
    }
    int64_t left = 0;
    if (!unknown || __builtin_sub_overflow(found, rest, &left) || left % coefficient != 0)
      return {};  // check_dim says why
    return set(*unknown, left / coefficient, dim_text(input, dim));
  }

  Result<> check_dim(size_t input, size_t dim) const {
    const Sym& want = p_.inputs[input].shape[dim];
    std::map<std::string, Var, std::less<>> used;
    want.collect_vars(used);
    for (const auto& [name, var] : used) {
      if (!bindings_.contains(name)) return {};  // finish() asks for it
    }
    OST_TRY_ASSIGN(const int64_t value, want.eval(bindings_));
    if (value == shapes_[input][dim]) return {};
    std::string why = fmt::format("wanted {}", value);
    if (!want.is_const()) why += fmt::format(", which is {}", want.str());
    for (const auto& [name, var] : used)
      why += fmt::format(" ({})", sources_.find(name)->second.text);
    return fail(OST_INVALID_ARGUMENT, "{}, {}; the input is declared as {}", dim_text(input, dim),
                why, type_of(input));
  }

  const Program& p_;
  std::vector<const ost_binding_t*> given_;
  std::vector<std::vector<int64_t>> shapes_;
  Bindings bindings_;
  std::map<std::string, Source, std::less<>> sources_;
};

}  // namespace

Result<BoundCall> bind_call(const ProgramState& program, const ost_binding_t* inputs,
                            uint32_t input_count, const ost_var_value_t* vars, uint32_t var_count) {
  OST_TRY_ASSIGN(const auto bindings, list(inputs, input_count, "inputs"));
  OST_TRY_ASSIGN(const auto values, list(vars, var_count, "vars"));
  CallBinder binder(program.document.program);
  OST_TRY(binder.take_inputs(bindings));
  OST_TRY(binder.take_vars(values));
  OST_TRY(binder.check_shapes());
  return binder.finish();
}

}  // namespace ost::capi
