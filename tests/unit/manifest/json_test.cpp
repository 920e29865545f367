#include "core/manifest/json.hpp"

#include "tests/unit/manifest/temp_folder.hpp"

namespace ost::manifest {
namespace {

TEST(Json, PrettyPutsFlatContainersOnOneLine) {
  const auto value = parse_json(
      R"({"b":[1,2,3],"a":{"y":1,"x":[true,"s"]},"kir":["one","two"],"deep":[{"q":{"r":{}}}],"e":[]})");
  ASSERT_OK(value);
  EXPECT_EQ(to_pretty(*value), R"({
  "a": {"x": [true, "s"], "y": 1},
  "b": [1, 2, 3],
  "deep": [
    {
      "q": {
        "r": {}
      }
    }
  ],
  "e": [],
  "kir": [
    "one",
    "two"
  ]
}
)");
}

TEST(Json, PrettyBreaksWhatIsWiderThan100Columns) {
  json::object o;
  o["list"] = json::array(40, 1000);
  const std::string text = to_pretty(o);
  EXPECT_NE(text.find("\"list\": [\n    1000,\n"), std::string::npos) << text;
  for (std::size_t n = 80; n < 110; ++n) {  // the limit is on the column, not on the value
    json::object wide;
    wide["k"] = json::array{std::string(n, 'x')};
    for (std::size_t start = 0, end; (end = to_pretty(wide).find('\n', start)) != std::string::npos;
         start = end + 1) {
      if (to_pretty(wide).substr(start, end - start).find('[') != std::string::npos) {
        EXPECT_LE(end - start, 100u);
      }
    }
  }
}

TEST(Json, CanonicalHasSortedKeysAndNoSpace) {
  const auto value =
      parse_json("{ \"b\" : [ 1 , -2 ] , \"a\" : { \"z\":null, \"\\u0041\":\"\\u00e9\\n\" } }");
  ASSERT_OK(value);
  EXPECT_EQ(to_canonical(*value), "{\"a\":{\"A\":\"\xc3\xa9\\n\",\"z\":null},\"b\":[1,-2]}");
  EXPECT_EQ(to_canonical(*parse_json(to_pretty(*value))), to_canonical(*value));
}

TEST(Json, ErrorsSayWhereAndWhat) {
  EXPECT_ERROR(parse_json("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}"),
               "/b/c: this key occurs twice in one object, near byte");
  EXPECT_ERROR(parse_json("{\"a\": 1, \"\\u0061\": 2}"), "/a: this key occurs twice");
  EXPECT_ERROR(parse_json("{\"a\": [0, 1.5]}"),
               "/a/1: a number with a fraction, an exponent or more than 64 bits");
  EXPECT_ERROR(parse_json("[1e3]"), "/0: a number with a fraction");
  EXPECT_ERROR(parse_json("[18446744073709551616]"),
               "/0: a number with a fraction, an exponent or more than 64 bits");
  EXPECT_ERROR(parse_json("{\"a\": [1, 2"),
               "the JSON text ends too early, at byte 11: the file is truncated");
  EXPECT_ERROR(parse_json(""), "ends too early, at byte 0");
  EXPECT_ERROR(parse_json("{\"a\": tru}"), "/a: not JSON at byte 6");
  EXPECT_ERROR(parse_json("{} {}"), "not JSON at byte 3: something follows");
  EXPECT_ERROR(parse_json("// no\n{}"), "not JSON at byte 0");
  EXPECT_ERROR(parse_json("[1,]"), "not JSON at byte 3");
  EXPECT_ERROR(parse_json("\"\xff\xfe\""), "not JSON at byte");
}

TEST(Json, Limits) {
  EXPECT_ERROR(parse_json(std::string(17, '[') + std::string(17, ']')),
               "nested deeper than 16 levels");
  EXPECT_TRUE(parse_json(std::string(16, '[') + std::string(16, ']')).has_value());
  EXPECT_ERROR(parse_json(std::string(1000000, '[')), "nested deeper than 16 levels");
  EXPECT_ERROR(parse_json("[1,2,3,4]", {.max_bytes = 8, .max_depth = 4, .max_values = 8}),
               "9 bytes of JSON, at most 8 are read");
  EXPECT_ERROR(parse_json("[1,2,3,4]", {.max_bytes = 80, .max_depth = 4, .max_values = 4}),
               "more than 4 values");
  EXPECT_ERROR(parse_json("[[],{},{},[]]", {.max_bytes = 80, .max_depth = 4, .max_values = 4}),
               "more than 4 values");
}

TEST(Json, IntegersBeyond53BitsAreStrings) {
  EXPECT_EQ(to_canonical(json_int(kMaxJsonInt)), "9007199254740992");
  EXPECT_EQ(to_canonical(json_int(kMaxJsonInt + 1)), "\"9007199254740993\"");
  EXPECT_EQ(to_canonical(json_int(INT64_MIN)), "\"-9223372036854775808\"");
  EXPECT_EQ(to_canonical(json_uint(UINT64_MAX)), "\"18446744073709551615\"");
}

TEST(Json, PointerTokensAreEscaped) { EXPECT_EQ(pointer_token("a/b~c"), "a~1b~0c"); }

}  // namespace
}  // namespace ost::manifest
