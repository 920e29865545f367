// The example in docs/manifest.md is what the writer writes, and it loads.
#include "tests/manifest/programs.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

TEST(ManifestExample, DocumentationShowsTheWritersText) {
  const std::string page = test::read_file("docs/manifest.md");
  const std::string fence = "```json\n";
  const auto start = page.find(fence);
  ASSERT_NE(start, std::string::npos);
  const auto end = page.find("```", start + fence.size());
  ASSERT_NE(end, std::string::npos);
  const std::string example = page.substr(start + fence.size(), end - start - fence.size());
  const auto wanted = to_text({test::scaled_relu(), {}, {}});
  ASSERT_OK(wanted);
  EXPECT_EQ(example, *wanted) << "put this text into docs/manifest.md";
  EXPECT_TRUE(from_text(example).has_value());
}

// Manifests of released versions stay readable for ever, with the identity that they had.
TEST(ManifestExample, GoldenFilesLoad) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/manifest/golden")) {
    if (!entry.path().string().ends_with(".ost.json")) continue;
    ++files;
    const auto document = load(entry.path().string(), {.json = {}, .images = true});
    ASSERT_OK(document);
    const std::string text = test::read_file(entry.path());
    EXPECT_NE(text.find(program_id(document->program).value_or("?")), std::string::npos)
        << entry.path();
  }
  EXPECT_GE(files, 3u);
}

}  // namespace
}  // namespace ost::manifest
