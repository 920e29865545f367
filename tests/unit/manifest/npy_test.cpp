#include "core/manifest/npy.hpp"

#include <cstring>

#include "core/manifest/zip.hpp"
#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

std::string npy(std::string_view header, std::string_view data = "", char major = 1) {
  std::string out = "\x93NUMPY";
  out += major;
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i));
  return out + std::string(header) + std::string(data);
}

Result<Literal> parse(std::string_view bytes) { return parse_npy(test::bytes_of(bytes)); }

TEST(Npy, RoundTripOfEveryTypeThatItHas) {
  const test::TempFolder folder;
  for (const DType t : kAllDTypes) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {0}, {5}, {2, 3}, {2, 0, 3}}) {
      int64_t n = 1;
      for (const int64_t d : shape) n *= d;
      Literal literal{t, shape, std::vector<uint8_t>(static_cast<std::size_t>(n) * size_of(t))};
      for (std::size_t i = 0; i < literal.bytes.size(); ++i)
        literal.bytes[i] = static_cast<uint8_t>(t == DType::boolean ? i % 2 : 3 * i + 1);
      const auto written = write_npy(folder / "a.npy", literal);
      if (t == DType::bf16) {
        EXPECT_ERROR(written,
                     "a.npy: .npy has no type for bf16; write a .safetensors file or cast to f32");
        continue;
      }
      ASSERT_OK(written);
      EXPECT_EQ(test::read_file(folder / "a.npy").find('\n') % 64,
                63u);  // the data starts at a multiple of 64
      const auto back = read_npy(folder / "a.npy");
      ASSERT_OK(back);
      EXPECT_EQ(back->dtype, t);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->bytes, literal.bytes);
    }
  }
}

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const auto header = npy_header({DType::f32, {3}, std::vector<uint8_t>(12)});
  ASSERT_OK(header);
  EXPECT_EQ(header->size(), 128u);
  EXPECT_EQ(std::string(header->begin() + 10, header->begin() + 10 + 58),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } ");
}

TEST(Npy, Versions) {
  for (const char major : {'\1', '\2', '\3'}) {
    const auto a = parse(
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", "\x05\x06", major));
    ASSERT_OK(a);
    EXPECT_EQ(a->bytes, (std::vector<uint8_t>{5, 6}));
  }
  EXPECT_ERROR(parse(npy("{}", "", 4)), ".npy format 4.0, 1.0 to 3.0 are known");
}

TEST(Npy, BigEndianAndFortranOrder) {
  const auto big = parse(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}",
                             std::string("\0\0\0\x01\x01\x02\x03\x04", 8)));
  ASSERT_OK(big);
  EXPECT_EQ(big->bytes, (std::vector<uint8_t>{1, 0, 0, 0, 4, 3, 2, 1}));
  // [[1, 2, 3], [4, 5, 6]], column by column
  const auto columns = parse(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                 std::string("\1\0\4\0\2\0\5\0\3\0\6\0", 12)));
  ASSERT_OK(columns);
  EXPECT_EQ(columns->bytes, (std::vector<uint8_t>{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}));
  // element [i][j][k] = 100 i + 10 j + k
  std::string data, wanted;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data += static_cast<char>(100 * i + 10 * j + k);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) wanted += static_cast<char>(100 * i + 10 * j + k);
  const auto three =
      parse(npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 4), }", data));
  ASSERT_OK(three);
  EXPECT_EQ(std::string(three->bytes.begin(), three->bytes.end()), wanted);
  EXPECT_TRUE(parse(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (0, 3), }")).has_value());
}

TEST(Npy, UnsupportedTypesSayWhatToDo) {
  const auto with = [](std::string_view descr) {
    return parse(
        npy(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (0,), }}", descr)));
  };
  EXPECT_ERROR(with("|O"), "the array has element type '|O': Python objects are never loaded");
  EXPECT_ERROR(with("<V2"), "keep bf16 in a .safetensors file");
  EXPECT_ERROR(with("<c8"), "complex numbers are not supported");
  EXPECT_ERROR(with("<U3"), "known are bool, signed and unsigned integers");
  EXPECT_ERROR(with("|f4"), "the array has element type '|f4'");
  EXPECT_ERROR(with(""), "the array has element type ''");
  EXPECT_ERROR(parse(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }")),
               "structured element type");
}

TEST(Npy, BadHeaders) {
  EXPECT_ERROR(parse("hello"), "not a .npy file");
  EXPECT_ERROR(parse(npy("{'descr': '<f4'}")),
               "want the keys 'descr', 'fortran_order' and 'shape'");
  EXPECT_ERROR(parse(npy("{'descr': '<f4', 'descr': '<f4'}")), "key 'descr' occurs twice");
  EXPECT_ERROR(parse(npy("{'x': 1}")), "unknown key 'x'");
  EXPECT_ERROR(parse(npy("{'shape': (-1,)}")), "want a dimension");
  EXPECT_ERROR(parse(npy("{'shape': (99999999999999999999,)}")), "want a dimension");
  EXPECT_ERROR(parse(npy("{'fortran_order': Maybe}")), "want True or False");
  EXPECT_ERROR(parse(npy("{'descr': '<f4")), "the string does not end");
  EXPECT_ERROR(parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x")),
               "something follows the dictionary");
  EXPECT_ERROR(parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234567")),
               "shape [2] of '<f4' needs 8 bytes after the header, found 7: the file is truncated");
  EXPECT_ERROR(parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345")),
               "needs 4 bytes after the header, found 5");
  EXPECT_ERROR(
      parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}")),
      "more than 2^62 bytes");
  EXPECT_ERROR(parse(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\x02")),
               "element 0 of a bool tensor is 2");
  std::string claims = npy("{}");
  claims[9] = '\x7f';
  EXPECT_ERROR(parse(claims),
               "the .npy header claims 32514 bytes, the file has 2 more: it is truncated");
}

TEST(Npy, ReadsTheDigitsImages) {
  const auto x = read_npy("examples/digits/x_test.npy");
  ASSERT_OK(x);
  EXPECT_EQ(x->dtype, DType::f32);
  EXPECT_EQ(x->shape.size(), 2u);
}

// numpy.savez_compressed(a=numpy.arange(5, dtype="f4"), b=numpy.array(True)) and
// numpy.savez(a=numpy.arange(3))
const std::string kDeflated = from_hex(
    "504b03042d00000008000000210055cc4fcdffffffffffffffff05001400612e6e7079010010009400000000000000"
    "50000000000000009bec17ea1b10c9c8"
    "50c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402"
    "f91aa63a9a3a0ab50a14002e063068b0"
    "07120e4004c40d0e00504b03042d000000080000002100822df8d3ffffffffffffffff05001400622e6e7079010010"
    "0081000000000000004300000000000000"
    "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e9364a8aea3a09e965f54529498179f5f94920a12774bcc294e"
    "058a17672416a402f91a9a3a0ab50a14"
    "012e4600504b01022d032d00000008000000210055cc4fcd5000000094000000050000000000000000000000800100"
    "000000612e6e7079504b01022d032d0000"
    "00080000002100822df8d34300000081000000050000000000000000000000800187000000622e6e7079504b050600"
    "00000002000200660000000101000000"
    "00");

Result<std::map<std::string, Literal>> read_bytes(const std::string& bytes) {
  static const test::TempFolder folder;
  test::write_file(folder / "a.npz", bytes);
  return read_npz(folder / "a.npz");
}

TEST(Npz, ReadsWhatNumpyDeflated) {
  const auto arrays = read_bytes(kDeflated);
  ASSERT_OK(arrays);
  ASSERT_EQ(arrays->size(), 2u);
  float values[5];
  ASSERT_EQ(arrays->at("a").bytes.size(), sizeof values);
  std::memcpy(values, arrays->at("a").bytes.data(), sizeof values);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(values[i], static_cast<float>(i));
  EXPECT_EQ(arrays->at("b").dtype, DType::boolean);
  EXPECT_EQ(arrays->at("b").bytes, std::vector<uint8_t>{1});
}

TEST(Npz, RoundTrip) {
  const test::TempFolder folder;
  const Literal a{DType::i64, {2}, std::vector<uint8_t>(16, 7)}, b{DType::f32, {0}, {}},
      c{DType::u8, {}, {9}};
  ASSERT_OK(write_npz(folder / "a.npz", {{"a", &a}, {"b", &b}, {"c c", &c}}));
  const auto back = read_npz(folder / "a.npz");
  ASSERT_OK(back);
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ(back->at("a").bytes, a.bytes);
  EXPECT_EQ(back->at("b").shape, b.shape);
  EXPECT_EQ(back->at("c c").bytes, c.bytes);
  const std::string first = test::read_file(folder / "a.npz");
  ASSERT_OK(write_npz(folder / "a.npz", {{"a", &a}, {"b", &b}, {"c c", &c}}));
  EXPECT_EQ(test::read_file(folder / "a.npz"), first);
  const Literal half{DType::bf16, {}, {0, 0}};
  EXPECT_ERROR(write_npz(folder / "b.npz", {{"h", &half}}), "h: .npy has no type for bf16");
}

TEST(Npz, BadFiles) {
  EXPECT_ERROR(read_bytes("PK"), "a.npz: no zip directory at the end of the file");
  EXPECT_ERROR(read_bytes(kDeflated.substr(0, kDeflated.size() - 1)),
               "no zip directory at the end of the file");
  const auto changed = [](std::size_t at, char to) {
    std::string bytes = kDeflated;
    bytes.at(at) = to;
    return read_bytes(bytes);
  };
  const std::size_t central = kDeflated.find("PK\x01\x02");
  EXPECT_ERROR(changed(central, 'Q'), "entry 0 of the zip's directory is damaged");
  EXPECT_ERROR(changed(central + 8, 1), "zip entry 'a.npy' is encrypted");
  EXPECT_ERROR(
      changed(central + 10, 12),
      "zip entry 'a.npy' has compression method 12; stored (0) and deflated (8) are known");
  EXPECT_ERROR(changed(central + 27, 0x7f),
               "zip entry 'a.npy' claims 2130706580 bytes out of 80, which is impossible");
  EXPECT_ERROR(changed(central + 23, 0x7f), "zip entry 'a.npy' lies beyond the end of the file");
  EXPECT_ERROR(changed(central + 16, 0), "zip entry 'a.npy': its checksum is wrong");
  EXPECT_ERROR(changed(central + 46, 'b'), "the zip has two entries 'b.npy'");
  EXPECT_ERROR(changed(central + 50, 'x'), "zip entry 'a.npx' is no .npy file");
  EXPECT_ERROR(changed(0, 'Q'), "zip entry 'a.npy': its header at byte 0 is damaged");
  EXPECT_ERROR(changed(60, '\x55'), "zip entry 'a.npy'");
}

TEST(Npz, FlippedBytesNeverCrash) {
  for (std::size_t at = 0; at < kDeflated.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bytes = kDeflated;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      const auto result = read_bytes(bytes);
      if (!result) {
        EXPECT_FALSE(result.error().message.empty());
      }
    }
  }
}

}  // namespace
}  // namespace ost::manifest
