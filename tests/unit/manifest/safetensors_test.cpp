#include "core/manifest/safetensors.hpp"

#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

std::string file_with(std::string_view header, std::string_view data) {
  std::string out(8, '\0');
  for (int i = 0; i < 8; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i));
  return out + std::string(header) + std::string(data);
}

Result<std::map<std::string, Literal>> read(const test::TempFolder& folder, std::string_view header,
                                            std::string_view data = "") {
  test::write_file(folder / "t", file_with(header, data));
  return read_safetensors(folder / "t");
}

TEST(Safetensors, RoundTripOfEveryType) {
  const test::TempFolder folder;
  std::map<std::string, Literal> tensors;
  for (const DType t : kAllDTypes) {
    Literal literal{t, {3, 1}, std::vector<uint8_t>(3 * size_of(t))};
    for (std::size_t i = 0; i < literal.bytes.size(); ++i)
      literal.bytes[i] = static_cast<uint8_t>(t == DType::boolean ? i % 2 : 7 * i + 1);
    tensors[std::string(name_of(t))] = literal;
  }
  tensors["scalar"] = {DType::i8, {}, {42}};
  tensors["empty"] = {DType::f64, {4, 0, 2}, {}};
  tensors["odd \"name\" \xc3\xa9"] = {DType::u8, {1}, {1}};
  TensorRefs refs;
  for (const auto& [name, literal] : tensors) refs[name] = &literal;
  ASSERT_OK(write_safetensors(folder / "t", refs, {{"format", "pt"}}));
  const auto back = read_safetensors(folder / "t");
  ASSERT_OK(back);
  ASSERT_EQ(back->size(), tensors.size());
  for (const auto& [name, literal] : tensors) {
    const Literal& other = back->at(name);
    EXPECT_EQ(other.dtype, literal.dtype) << name;
    EXPECT_EQ(other.shape, literal.shape) << name;
    EXPECT_EQ(other.bytes, literal.bytes) << name;
  }
  auto file = File::open(folder / "t");
  ASSERT_OK(file);
  const auto opened = SafetensorsFile::open(std::move(*file));
  ASSERT_OK(opened);
  EXPECT_EQ(opened->metadata().at("format"), "pt");
  for (const auto& [name, entry] : opened->entries())
    if (const auto t = dtype_from_name(name)) {
      EXPECT_EQ(entry.offset % size_of(*t), 0u) << name;
    }
}

TEST(Safetensors, ReadsTheDigitsWeights) {
  const auto tensors = read_safetensors("examples/digits/weights.safetensors");
  ASSERT_OK(tensors);
  EXPECT_FALSE(tensors->empty());
  for (const auto& [name, literal] : *tensors) EXPECT_EQ(literal.dtype, DType::f32) << name;
}

TEST(Safetensors, BadFiles) {
  const test::TempFolder folder;
  test::write_file(folder / "t", "1234567");
  EXPECT_ERROR(read_safetensors(folder / "t"), "t: 7 bytes: too short for a safetensors file");
  test::write_file(folder / "t", std::string(8, '\xff'));
  EXPECT_ERROR(read_safetensors(folder / "t"),
               "the header claims 18446744073709551615 bytes, the file has 0 after byte 8");
  EXPECT_ERROR(read(folder, " {}"), "the header does not start with '{' at byte 8");
  EXPECT_ERROR(read(folder, "{\"a\":"), "header: /a: the JSON text ends too early");
  EXPECT_ERROR(read(folder, R"({"a":1})"), "/a: found the number 1, want an object");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"F32","shape":[1]}})"),
               "/a: the field 'data_offsets' is missing");
  EXPECT_ERROR(
      read(folder, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", "1234"),
      "/a: unknown field 'x'");
  EXPECT_ERROR(
      read(folder, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}})", "1234"),
      "/a: this key occurs twice");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "123"),
               "/a/data_offsets/1: found 4, want an integer in [0, 3]");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
               "/a/data_offsets: 4 bytes, but its shape and type F32 need 8");
  EXPECT_ERROR(
      read(folder,
           R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})"),
      "/a: the shape has more than 2^62 bytes");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", "12"),
               "begin 2 is after end 1");
  EXPECT_ERROR(
      read(
          folder,
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          "123"),
      ": tensors overlap");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "12"),
               "tensors leave a hole");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "12"),
               "the tensors end at byte");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "1"),
               "tensor 'a' has the element type F8_E4M3, which is not supported");
  EXPECT_ERROR(read(folder, R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\x02"),
               "element 0 of a bool tensor is 2");
  EXPECT_ERROR(read(folder, R"({"__metadata__":{"a":1}})"),
               "/__metadata__/a: found the number 1, want a string");
  EXPECT_ERROR(read_safetensors(folder / "none"), "none: cannot open: No such file or directory");
}

TEST(Safetensors, OverlapMessageCountsFromTheFile) {
  const test::TempFolder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})";
  EXPECT_ERROR(read(folder, header, "123"),
               fmt::format("tensor 'b' starts at byte {}, want {}", 8 + header.size() + 1,
                           8 + header.size() + 2));
}

TEST(Safetensors, MissingTensorListsWhatThereIs) {
  const test::TempFolder folder;
  test::write_file(folder / "t",
                   file_with(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1"));
  auto file = File::open(folder / "t");
  ASSERT_OK(file);
  const auto opened = SafetensorsFile::open(std::move(*file));
  ASSERT_OK(opened);
  EXPECT_ERROR(opened->read("v"), "no tensor 'v' in the file; it has w");
}

TEST(Safetensors, TruncatedAnywhereIsAnError) {
  const test::TempFolder folder;
  const Literal a{DType::f32, {2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  ASSERT_OK(write_safetensors(folder / "t", {{"a", &a}}));
  const std::string whole = test::read_file(folder / "t");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    test::write_file(folder / "t", whole.substr(0, n));
    EXPECT_FALSE(read_safetensors(folder / "t").has_value()) << n;
  }
}

}  // namespace
}  // namespace ost::manifest
