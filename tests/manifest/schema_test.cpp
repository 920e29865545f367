// Everything that the writer makes fits the published schema, and the schema is not so loose that
// anything fits.
#include <functional>
#include <memory>
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "core/manifest/manifest.hpp"
#include "tests/manifest/programs.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

using Adapter = valijson::adapters::BoostJsonAdapter;

const valijson::Schema& schema() {
  static const json::value text = json::parse(test::read_file("schemas/manifest.schema.json"));
  static const std::unique_ptr<valijson::Schema> loaded = [] {
    auto s = std::make_unique<valijson::Schema>();
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(text), *s);
    return s;
  }();
  return *loaded;
}

// "" if the document fits, else what is wrong and where.
std::string problems(const json::value& document) {
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(schema(), Adapter(document), &results)) return "";
  std::string out = "?";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    out += "\n";
    for (const std::string& c : error.context) out += c;
    out += ": " + error.description;
  }
  return out;
}

TEST(ManifestSchema, WriterOutputFits) {
  for (const auto& [name, document] : test::documents()) {
    const auto text = to_text(document);
    ASSERT_OK(text);
    EXPECT_EQ(problems(json::parse(*text)), "") << name;
  }
}

TEST(ManifestSchema, SavedFilesFit) {
  const test::TempFolder folder;
  for (const auto& [name, document] : test::documents()) {
    ASSERT_OK(save(document, folder / "m.ost.json", {.inline_bytes = 0}));
    EXPECT_EQ(problems(json::parse(test::read_file(folder / "m.ost.json"))), "") << name;
  }
}

TEST(ManifestSchema, RefusesWhatTheLoaderRefuses) {
  const json::value good = json::parse(to_text(test::documents().front().second).value());
  ASSERT_EQ(problems(good), "");
  const auto refused = [&](const std::function<void(json::object&)>& edit) {
    json::value bad = good;
    edit(bad.as_object());
    return !problems(bad).empty() &&
           !from_text(json::serialize(bad), {.json = {}, .check_id = false}).has_value();
  };
  EXPECT_TRUE(refused([](auto& o) { o["format"] = "x"; }));
  EXPECT_TRUE(refused([](auto& o) { o["version"] = json::array{2, 0}; }));
  EXPECT_TRUE(refused([](auto& o) { o["extra"] = 1; }));
  EXPECT_TRUE(refused([](auto& o) { o.erase("steps"); }));
  EXPECT_TRUE(refused([](auto& o) { o["inputs"].as_array()[0].as_object()["dtype"] = "f31"; }));
  EXPECT_TRUE(
      refused([](auto& o) { o["inputs"].as_array()[0].as_object()["shape"] = json::array{1}; }));
  EXPECT_TRUE(refused([](auto& o) { o["buffers"].as_array()[0].as_object().erase("slot"); }));
  EXPECT_TRUE(refused([](auto& o) { o["steps"].as_array()[0].as_object()["op"] = "jump"; }));
  EXPECT_TRUE(refused([](auto& o) { o["kernels"].as_array()[0].as_object()["id"] = "12"; }));
  EXPECT_TRUE(refused([](auto& o) { o["constants"].as_array()[0].as_object().erase("data"); }));
}

}  // namespace
}  // namespace ost::manifest
