// Text and files of a manifest: round trips, identity, size of a diff, data beside it.
#include "core/manifest/manifest.hpp"

#include <algorithm>

#include "core/base/sha256.hpp"
#include "core/manifest/inspect.hpp"
#include "core/manifest/safetensors.hpp"
#include "tests/unit/manifest/temp_folder.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::manifest {
namespace {

std::string text_of(const Program& program) {
  const auto text = to_text({program, {}, {}});
  EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().message);
  return text.value_or("");
}

Document with_test() {
  Document d{test::scaled_relu(), {}, {{"producer", "manifest_test"}}};
  d.tests.push_back({{{"n", 2}},
                     {test::floats({2, 4}, {1, -1, 2, -2, 3, -3, 4, -4})},
                     {test::floats({2, 4}, {1, 0, 1, 0, 3, 0, 2, 0})}});
  return d;
}

TEST(Manifest, TextRoundTrip) {
  for (const Program& program : {test::scaled_relu(), test::accumulate(), Program{}}) {
    const std::string text = text_of(program);
    const auto back = from_text(text);
    ASSERT_OK(back);
    EXPECT_EQ(text_of(back->program), text);
    EXPECT_EQ(program_id(back->program).value(), program_id(program).value());
  }
}

TEST(Manifest, GroupsKeepTheirKindAndTiles) {
  Program p = test::scaled_relu();
  p.groups[0].kind = GroupKind::gemm_epilogue;
  p.groups[0].tiles = {"100 as 4 x 32", "n as floordiv(n + 31, 32) x 32"};
  const auto back = from_text(text_of(p));
  ASSERT_OK(back);
  EXPECT_EQ(back->program.groups[0].kind, GroupKind::gemm_epilogue);
  EXPECT_EQ(back->program.groups[0].tiles, p.groups[0].tiles);
  EXPECT_EQ(back->program.groups[1].kind, GroupKind::other);  // as older manifests have it
  EXPECT_EQ(program_id(back->program).value(), program_id(p).value());
}

TEST(Manifest, ProgramSurvivesWithEveryField) {
  const Program p = test::accumulate();
  const auto back = from_text(text_of(p));
  ASSERT_OK(back);
  const Program& q = back->program;
  EXPECT_EQ(q.device_count, 2u);
  ASSERT_EQ(q.inputs.size(), 2u);
  EXPECT_FALSE(q.inputs[0].written);
  EXPECT_TRUE(q.inputs[1].written);
  EXPECT_EQ(q.outputs[1].buffer, 0u);
  EXPECT_EQ(q.states[0].initial->bytes, p.states[0].initial->bytes);
  EXPECT_EQ(q.kernels[0].kir, p.kernels[0].kir);
  EXPECT_EQ(q.steps[1].kind, StepKind::copy);
  EXPECT_EQ(q.steps[1].args, p.steps[1].args);
  EXPECT_EQ(q.steps[1].level, 1u);
  const Program s = from_text(text_of(test::scaled_relu()))->program;
  EXPECT_EQ(s.groups[1].bytes_saved.str(), "16*n");
  EXPECT_EQ(s.groups[1].why, "pointwise");
  EXPECT_EQ(s.guards[0].why, "at least one row");
  EXPECT_EQ(s.arenas[0].bytes, 1024u);
  EXPECT_EQ(s.constants[0].data->bytes,
            test::scaled_relu().constants[0].data->bytes);  // -0 among them
}

TEST(Manifest, TestsAndProvenanceSurvive) {
  const Document d = with_test();
  const auto text = to_text(d);
  ASSERT_OK(text);
  const auto back = from_text(*text);
  ASSERT_OK(back);
  EXPECT_EQ(back->provenance, d.provenance);
  ASSERT_EQ(back->tests.size(), 1u);
  EXPECT_EQ(back->tests[0].vars, d.tests[0].vars);
  EXPECT_EQ(back->tests[0].outputs[0]->bytes, d.tests[0].outputs[0]->bytes);
}

TEST(Manifest, IdIsWhatTheProgramDoes) {
  const Program p = test::scaled_relu();
  const std::string id = program_id(p).value();
  EXPECT_EQ(id.size(), 64u);
  Program moved = p;
  moved.constants[0].file = "elsewhere.safetensors";
  moved.constants[0].tensor = "t";
  moved.kernels[0].variants.push_back(
      {"cpu", "x86_64", "key", sha256_hex("image"), {'i', 'm', 'a', 'g', 'e'}});
  EXPECT_EQ(program_id(moved).value(), id);
  Program other = p;
  other.constants[0].data = test::floats({4}, {1.0f, 0.0f, 0.5f, 3.0f});  // +0 for -0
  EXPECT_NE(program_id(other).value(), id);
  EXPECT_NE(program_id(test::scaled_relu(kir::Op::neg)).value(), id);
}

TEST(Manifest, TwoProgramsThatDifferInOneOpDifferInFewLines) {
  const auto lines = [](const std::string& text) {
    std::multiset<std::string> out;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      out.insert(text.substr(at, end - at));
    return out;
  };
  Program a = test::scaled_relu(kir::Op::neg), b = test::scaled_relu(kir::Op::abs);
  const auto x = lines(text_of(a)), y = lines(text_of(b));
  std::vector<std::string> only_x;
  std::ranges::set_difference(x, y, std::back_inserter(only_x));
  EXPECT_EQ(x.size(), y.size());
  EXPECT_EQ(only_x.size(), 3u) << fmt::format(
      "{}", fmt::join(only_x, "\n"));  // the instruction, the kernel's id, the program's
}

TEST(Manifest, TextIsReadable) {
  const std::string text = text_of(test::scaled_relu());
  for (const char* line :
       {"  \"format\": \"ostinato\",\n", "    {\"max\": 64, \"min\": 1, \"name\": \"n\"}\n",
        "    {\"device\": 0, \"dtype\": \"f32\", \"name\": \"x\", \"shape\": [\"n\", \"4\"]}\n",
        "  \"version\": [1, 0]\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 110u);
}

// --- files

Program with_large_constant() {
  Program p = test::scaled_relu();
  p.constants.push_back({.name = "w",
                         .data = test::floats({300}, std::vector<float>(300, 2.5f)),
                         .file = {},
                         .tensor = {}});
  return p;
}

TEST(ManifestFiles, SmallDataIsInlineLargeDataBeside) {
  const test::TempFolder folder;
  const Document d{with_large_constant(), {}, {}};
  ASSERT_OK(save(d, folder / "a.ost.json"));
  const std::string text = test::read_file(folder / "a.ost.json");
  EXPECT_NE(text.find("\"file\": \"a.safetensors\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"data\": [\"0000803f00000080"), std::string::npos) << text;
  EXPECT_EQ(read_safetensors(folder / "a.safetensors")->size(), 1u);
  const auto back = load(folder / "a.ost.json");
  ASSERT_OK(back);
  EXPECT_EQ(back->program.constants[1].data->bytes, d.program.constants[1].data->bytes);
  EXPECT_EQ(back->program.constants[1].file, "a.safetensors");
  EXPECT_EQ(back->program.constants[1].tensor, "w");
  EXPECT_EQ(program_id(back->program).value(), program_id(d.program).value());
  // Saving what was loaded, over itself and elsewhere, gives the same files.
  ASSERT_OK(save(*back, folder / "a.ost.json"));
  EXPECT_EQ(test::read_file(folder / "a.ost.json"), text);
  const test::TempFolder other;
  ASSERT_OK(save(*back, other / "a.ost.json"));
  EXPECT_EQ(test::read_file(other / "a.ost.json"), text);
  EXPECT_EQ(test::read_file(other / "a.safetensors"), test::read_file(folder / "a.safetensors"));
}

TEST(ManifestFiles, ExistingWeightsAreReferredTo) {
  const test::TempFolder folder;
  Document d{with_large_constant(), {}, {}};
  d.program.constants[1].file = "weights.safetensors";
  d.program.constants[1].tensor = "layer.w";
  ASSERT_OK(write_safetensors(folder / "weights.safetensors",
                              {{"layer.w", d.program.constants[1].data.get()}}));
  ASSERT_OK(save(d, folder / "a.ost.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.safetensors"));
  ASSERT_OK(load(folder / "a.ost.json"));
  // Other bytes under that name: the data is kept in the manifest's own file.
  const auto other = test::floats({300}, std::vector<float>(300, 1.0f));
  ASSERT_OK(write_safetensors(folder / "weights.safetensors", {{"layer.w", other.get()}}));
  EXPECT_ERROR(load(folder / "a.ost.json"), "/constants/1: the data has sha256");
  ASSERT_OK(save(d, folder / "a.ost.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "a.safetensors"));
  ASSERT_OK(load(folder / "a.ost.json"));
}

TEST(ManifestFiles, ImagesOnlyForCallersThatTrust) {
  const test::TempFolder folder;
  Document d{test::scaled_relu(), {}, {}};
  const std::vector<uint8_t> image = {'i', 'm', 'a', 'g', 'e'};
  const std::string hash = sha256_hex(image);
  for (KernelDesc& k : d.program.kernels)
    k.variants.push_back({"cpu", "x86_64-v4", "llvm-22", hash, image});
  ASSERT_OK(save(d, folder / "a.ost.json"));
  const std::string file = "a.images/" + hash + ".img";
  EXPECT_EQ(test::read_file(folder / file), "image");
  const auto untrusted = load(folder / "a.ost.json");
  ASSERT_OK(untrusted);
  ASSERT_EQ(untrusted->program.kernels[0].variants.size(), 1u);
  EXPECT_TRUE(untrusted->program.kernels[0].variants[0].image.empty());
  EXPECT_EQ(untrusted->program.kernels[0].variants[0].target, "x86_64-v4");
  const auto trusted = load(folder / "a.ost.json", {.json = {}, .images = true});
  ASSERT_OK(trusted);
  EXPECT_EQ(trusted->program.kernels[1].variants[0].image, image);
  test::write_file(folder / file, "imagf");
  EXPECT_TRUE(load(folder / "a.ost.json").has_value());
  EXPECT_ERROR(load(folder / "a.ost.json", {.json = {}, .images = true}),
               "/kernels/0/variants/0/file: " + file + " has sha256");
  test::write_file(folder / file, "image, longer");
  EXPECT_ERROR(load(folder / "a.ost.json", {.json = {}, .images = true}),
               file + " has 13 bytes, 5 were recorded");
  std::filesystem::remove(folder / file);
  EXPECT_ERROR(load(folder / "a.ost.json", {.json = {}, .images = true}),
               "cannot open: No such file or directory");
  d.program.kernels[0].variants[0].image[0] = 'X';
  EXPECT_ERROR(save(d, folder / "a.ost.json"),
               "kernel 'scale' for x86_64-v4: the image has sha256");
}

TEST(ManifestFiles, LinksAndMissingFiles) {
  const test::TempFolder folder, outside;
  ASSERT_OK(save({with_large_constant(), {}, {}}, folder / "a.ost.json"));
  std::filesystem::rename(folder / "a.safetensors", outside / "a.safetensors");
  EXPECT_ERROR(load(folder / "a.ost.json"),
               "/constants/1/file: a.safetensors: cannot open: No such file or directory");
  std::filesystem::create_symlink(outside / "a.safetensors", folder / "a.safetensors");
  EXPECT_ERROR(load(folder / "a.ost.json"),
               "/constants/1/file: a.safetensors: a symbolic link, which is not followed");
  std::filesystem::remove(folder / "a.safetensors");
  test::write_file(folder / "a.safetensors", "short");
  EXPECT_ERROR(load(folder / "a.ost.json"),
               "/constants/1/file: a.safetensors: 5 bytes: too short for a safetensors file");
  EXPECT_ERROR(load(folder / "none.ost.json"),
               "none.ost.json: cannot open: No such file or directory");
  EXPECT_ERROR(load(folder.path()), "not a regular file");
  EXPECT_ERROR(save({Program{}, {}, {}}, folder / "no/where/a.ost.json"), "cannot open the folder");
}

TEST(ManifestFiles, DataBeyondTheLimitIsNotRead) {
  const test::TempFolder folder;
  ASSERT_OK(save({with_large_constant(), {}, {}}, folder / "a.ost.json"));
  EXPECT_ERROR(load(folder / "a.ost.json", {.json = {}, .max_data_bytes = 1000}),
               "/constants/1: 1200 bytes of data, 984 more may be read");
}

TEST(ManifestFiles, OnlyGoodProgramsAreSaved) {
  const test::TempFolder folder;
  Program p = test::scaled_relu();
  p.steps[1].args[0] = 99;
  EXPECT_ERROR(save({p, {}, {}}, folder / "a.ost.json"),
               "a.ost.json: /steps/1/args/0: buffer 99, there are 4");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.ost.json"));
}

}  // namespace
}  // namespace ost::manifest
