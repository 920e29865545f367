// The data of a manifest: constants, test vectors; and its provenance.
#include "core/manifest/loader.hpp"

namespace ost::manifest {
namespace {

constexpr uint64_t kMaxList = 1u << 20;

// "" if the data has the type and, at these variables, the shape that the program declares.
std::string misfit(const Literal& data, DType dtype, const Shape& shape, const Bindings& vars) {
  std::vector<int64_t> wanted;
  for (const Sym& d : shape) wanted.push_back(d.eval(vars).value_or(-1));
  if (data.dtype == dtype && data.shape == wanted) return "";
  return fmt::format("found {} [{}], the program has {} [{}]", name_of(data.dtype),
                     fmt::join(data.shape, ", "), name_of(dtype), fmt::join(wanted, ", "));
}

}  // namespace

Result<> Loader::constants() {
  std::vector<std::string_view> fields = kDataFields;
  fields.push_back("name");
  OST_TRY_ASSIGN(const auto items, list("constants", fields));
  for (const Cursor& at : items) {
    ConstantDesc constant;
    OST_TRY_ASSIGN(constant.name, name(at));
    Place place;
    OST_TRY_ASSIGN(constant.data, data_.literal(at, &place));
    constant.file = std::move(place.file);
    constant.tensor = std::move(place.tensor);
    document_.program.constants.push_back(std::move(constant));
  }
  return {};
}

template <typename T>
Result<> Loader::test_data(const Cursor& at, std::string_view key, const std::vector<T>& signature,
                           const Bindings& vars, std::vector<LiteralPtr>& out) {
  OST_TRY_ASSIGN(const Cursor field, at.at(key));
  OST_TRY_ASSIGN(const auto elements, field.elements(kMaxList));
  if (elements.size() != signature.size())
    return field.bad("found {} {}, the program has {}", elements.size(), key, signature.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    OST_TRY(only(elements[i], kDataFields));
    OST_TRY_ASSIGN(LiteralPtr data, data_.literal(elements[i], nullptr));
    const std::string problem = misfit(*data, signature[i].dtype, signature[i].shape, vars);
    if (!problem.empty()) return elements[i].bad("{}", problem);
    out.push_back(std::move(data));
  }
  return {};
}

Result<> Loader::tests() {
  static constexpr std::string_view kFields[] = {"vars", "inputs", "outputs"};
  OST_TRY_ASSIGN(const auto section, root_.find("tests"));
  if (!section) return {};
  OST_TRY_ASSIGN(const auto items, list("tests", kFields));
  const Program& program = document_.program;
  for (const Cursor& at : items) {
    TestVector test;
    OST_TRY_ASSIGN(const Cursor values, at.at("vars"));
    std::vector<std::string_view> known;
    for (const Var& v : program.vars) known.push_back(v.name);
    OST_TRY(values.only(known));
    for (const Var& v : program.vars) {
      OST_TRY_ASSIGN(const Cursor value, values.at(v.name));
      OST_TRY_ASSIGN(test.vars[v.name], value.integer(v.min, v.max));
    }
    OST_TRY(test_data(at, "inputs", program.inputs, test.vars, test.inputs));
    OST_TRY(test_data(at, "outputs", program.outputs, test.vars, test.outputs));
    document_.tests.push_back(std::move(test));
  }
  return {};
}

Result<> Loader::provenance() {
  OST_TRY_ASSIGN(const auto at, root_.find("provenance"));
  if (!at) return {};
  if (!at->value().is_object()) return at->bad("found {}, want an object of strings", at->found());
  for (const auto& m : at->value().get_object()) {
    const std::string key(m.key());
    OST_TRY_ASSIGN(const Cursor field, at->at(key));
    OST_TRY_ASSIGN(document_.provenance[key], field.string(kMaxText));
  }
  return {};
}

}  // namespace ost::manifest
