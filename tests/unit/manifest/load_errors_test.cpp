// What a loader says about each kind of bad manifest, and that it survives damaged ones.
#include <functional>

#include "core/manifest/manifest.hpp"
#include "core/manifest/writer.hpp"
#include "tests/unit/manifest/temp_folder.hpp"
#include "tests/unit/schedule/hand_programs.hpp"

namespace ost::manifest {
namespace {

using Edit = std::function<void(json::object&)>;

json::object document(const Program& program) {
  StoragePlan everything_inline;
  auto object = to_json({program, {}, {}}, everything_inline, "");
  EXPECT_TRUE(object.has_value());
  return std::move(*object);
}

// Edits and seals again, so that what is tested is the rule and not the id.
Result<Document> edited(const Edit& edit, const Program& program = test::scaled_relu()) {
  json::object object = document(program);
  edit(object);
  if (object.contains("program_id")) object["program_id"] = id_of(object);
  return from_text(to_pretty(object));
}

json::object& item(json::object& o, const char* list, std::size_t i) {
  return o[list].as_array().at(i).as_object();
}

TEST(LoadErrors, Header) {
  EXPECT_ERROR(edited([](auto& o) { o["format"] = "onnx"; }),
               "/format: found the string 'onnx', want 'ostinato'");
  EXPECT_ERROR(edited([](auto& o) { o.erase("format"); }), "/: the field 'format' is missing");
  EXPECT_ERROR(edited([](auto& o) { o["version"] = json::array{2, 0}; }),
               "/version: the manifest has format 2.0, this library reads 1.x");
  EXPECT_ERROR(edited([](auto& o) { o["version"] = json::array{1}; }),
               "/version: found 1 numbers, want [major, minor]");
  EXPECT_ERROR(edited([](auto& o) { o["version"] = "1.0"; }),
               "/version: found the string '1.0', want an array");
  EXPECT_ERROR(edited([](auto& o) { o["requires"].as_array().push_back("tensor-cores-9"); }),
               "/requires/1: the manifest needs a reader that knows 'tensor-cores-9'");
  EXPECT_ERROR(edited([](auto& o) { o["numerics"] = "loose"; }),
               "/numerics: found the string 'loose', want 'strict' or 'fast'");
  EXPECT_ERROR(edited([](auto& o) { o["devices"] = json::array{}; }),
               "/devices: no logical device");
  EXPECT_ERROR(edited([](auto& o) { item(o, "devices", 0)["needs"] = json::array{"f32"}; }),
               "/devices/0/needs: found [f32], the program needs [");
  EXPECT_ERROR(edited([](auto& o) { o["extra"] = 1; }),
               "/: unknown field 'extra'; known are format");
  EXPECT_ERROR(from_text("[]"), "/: found an array, want an object with the field 'format'");
}

TEST(LoadErrors, NewerMinorVersionsMayHaveMoreFields) {
  const auto newer = [](auto& o) {
    o["version"] = json::array{1, 7};
    o["extra"] = 1;
    item(o, "steps", 0)["hint"] = "x";
  };
  EXPECT_TRUE(edited(newer).has_value());
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["hint"] = "x"; }),
               "/steps/0: unknown field 'hint'");
}

TEST(LoadErrors, EditedWithoutSealing) {
  json::object o = document(test::scaled_relu());
  item(o, "steps", 1)["device"] = 0;
  EXPECT_TRUE(from_text(to_pretty(o)).has_value());  // the same value: nothing was edited
  o["numerics"] = "fast";
  const std::string text = to_pretty(o);
  EXPECT_ERROR(from_text(text), "was recorded, the content gives");
  EXPECT_ERROR(from_text(text), "/program_id: ");
  EXPECT_EQ(from_text(text).error().status, ost_status_t{OST_DATA_LOSS});
  EXPECT_TRUE(from_text(text, {.json = {}, .check_id = false}).has_value());
  o.erase("program_id");
  EXPECT_ERROR(from_text(to_pretty(o)), "/: the field 'program_id' is missing");
}

TEST(LoadErrors, Fields) {
  EXPECT_ERROR(edited([](auto& o) { item(o, "vars", 0)["min"] = -1; }),
               "/vars/0/min: found -1, want an integer in [0, 9223372036854775807]");
  EXPECT_ERROR(edited([](auto& o) { item(o, "vars", 0)["max"] = 0; }),
               "/vars/0/max: found 0, want an integer in [1,");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["dtype"] = "f33"; }),
               "/inputs/0/dtype: unknown element type 'f33'; known are bool");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["shape"].as_array()[0] = "n +"; }),
               "/inputs/0/shape/0: ");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["shape"].as_array()[0] = "m"; }),
               "/inputs/0/shape/0: ");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["shape"].as_array()[1] = 4; }),
               "/inputs/0/shape/1: found the number 4, want a string");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "inputs", 0)["shape"].as_array()[1] = std::string(5000, '('); }),
      "/inputs/0/shape/1: found a string of 5000 bytes, at most 4096 are allowed");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "inputs", 0)["shape"].as_array()[1] = std::string(4096, '('); }),
      "/inputs/0/shape/1: ");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["device"] = 1; }),
               "/inputs/0/device: found device 1, there are 1");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["written"] = 1; }),
               "/inputs/0/written: found the number 1, want true or false");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["name"] = ""; }),
               "/inputs/0/name: an empty name");
  EXPECT_ERROR(edited([](auto& o) { item(o, "inputs", 0)["name"] = std::string("a\0b", 3); }),
               "/inputs/0/name: the string holds a NUL character");
  EXPECT_ERROR(edited([](auto& o) { item(o, "arenas", 0)["bytes"] = "1024"; }),
               "/arenas/0/bytes: found the string '1024', want an integer");
  EXPECT_ERROR(edited([](auto& o) { item(o, "arenas", 0)["bytes"] = int64_t{1} << 60; }),
               "want a decimal string for |x| > 2^53");
  EXPECT_ERROR(edited([](auto& o) { item(o, "arenas", 0)["bytes"] = "9223372036854775807"; }),
               "/arenas/0/bytes: found 9223372036854775807, want an integer in [0, ");
  EXPECT_TRUE(
      edited([](auto& o) { item(o, "arenas", 0)["bytes"] = "1152921504606846976"; }).has_value());
  EXPECT_ERROR(edited([](auto& o) { item(o, "buffers", 0)["kind"] = "heap"; }),
               "/buffers/0/kind: found the string 'heap', want input");
  EXPECT_ERROR(edited([](auto& o) { item(o, "buffers", 2)["arena"] = 1; }),
               "/buffers/2/arena: found arena 1, there are 1");
  EXPECT_ERROR(edited([](auto& o) { item(o, "buffers", 2).erase("offset"); }),
               "/buffers/2: the field 'offset' is missing");
  EXPECT_ERROR(edited([](auto& o) { o["groups"].as_array()[0].as_object()["kind"] = "gem"; }),
               "/groups/0/kind: found the string 'gem', want a kind of group");
  EXPECT_ERROR(edited([](auto& o) { o["groups"] = json::object{}; }),
               "/groups: found an object, want an array");
}

TEST(LoadErrors, Kernels) {
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "kernels", 1)["kir"].as_array()[1] = "%0 = addd f32 %0"; }),
      "/kernels/1/kir/1: ");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "kernels", 1)["kir"].as_array()[1] = "%0 = addd f32 %0"; }),
      "addd");
  EXPECT_ERROR(edited([](auto& o) { item(o, "kernels", 1)["kir"].as_array()[2] = "a\nb"; }),
               "/kernels/1/kir/2: a line break within an instruction");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "kernels", 1)["kir"].as_array()[0] = "kir 9.0 l1 strict"; }),
      "/kernels/1/kir/0: ");
  EXPECT_ERROR(edited([](auto& o) { item(o, "kernels", 1)["kir"] = item(o, "kernels", 0)["kir"]; }),
               "/kernels/1/id: ");
  EXPECT_ERROR(edited([](auto& o) { item(o, "kernels", 0)["id"] = "abc"; }),
               "/kernels/0/id: found the string 'abc', want a sha256");
  EXPECT_ERROR(edited([](auto& o) { item(o, "kernels", 0)["kir"] = "text"; }),
               "/kernels/0/kir: found the string 'text', want an array");
  EXPECT_ERROR(edited([](auto& o) {
                 item(o, "kernels", 0)["variants"] =
                     json::array{json::object{{"driver", "cpu"},
                                              {"target", "t"},
                                              {"compiler_key", "k"},
                                              {"sha256", std::string(64, '0')},
                                              {"bytes", 1},
                                              {"file", "../x"}}};
               }),
               "/kernels/0/variants/0/file: the path '../x' holds '..'");
}

TEST(LoadErrors, StepsAndWhatTheyMean) {
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["op"] = "jump"; }),
               "/steps/0/op: found the string 'jump', want 'launch' or 'copy'");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["kernel"] = "nothing"; }),
               "/steps/0/kernel: there is no kernel the string 'nothing'");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["args"].as_array()[0] = 4; }),
               "/steps/0/args/0: found buffer 4, there are 4");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["args"].as_array()[0] = -1; }),
               "/steps/0/args/0: found buffer -1, there are 4");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["vars"].as_array()[0] = "m"; }),
               "/steps/0/vars/0: there is no variable the string 'm'");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 0)["after"] = json::array{0}; }),
               "/steps/0/after/0: found earlier step 0, there are 0");
  EXPECT_ERROR(edited([](auto& o) { item(o, "steps", 1)["after"] = json::array{}; }),
               "/steps/1/args/0: buffer 2 is read, but step 0");
  EXPECT_ERROR(edited([](auto& o) { item(o, "arenas", 0)["bytes"] = 512; }),
               "/buffers/2/offset: bytes [0, 1024) are not inside arena 0 of 512 bytes");
}

TEST(LoadErrors, Data) {
  EXPECT_ERROR(edited([](auto& o) { item(o, "constants", 0)["data"].as_array()[0] = "00"; }),
               "/constants/0/data: found 1 bytes of data, its shape and type need 16");
  EXPECT_ERROR(edited([](auto& o) {
                 item(o, "constants", 0)["data"].as_array()[0] = "0000803f000000800000003f0000404G";
               }),
               "/constants/0/data/0: not a lower-case hex digit at character 31");
  EXPECT_ERROR(edited([](auto& o) {
                 item(o, "constants", 0)["data"].as_array()[0] = "0000803f000000800000003f00004041";
               }),
               "/constants/0: the data has sha256");
  EXPECT_ERROR(edited([](auto& o) {
                 item(o, "constants", 0)["shape"] = json::array{int64_t{1} << 40, int64_t{1} << 40};
               }),
               "/constants/0/shape: the shape has more than 2^62 bytes");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "constants", 0)["shape"] = json::array{int64_t{1} << 50}; }),
      "bytes of data, 68719476736 more may be read");
  EXPECT_ERROR(
      edited([](auto& o) { item(o, "constants", 0)["shape"] = json::array{int64_t{1} << 30}; }),
      "/constants/0/data: found 16 bytes");
  const auto to_file = [](const char* name) {
    return [name](json::object& o) {
      json::object& c = item(o, "constants", 0);
      c.erase("data");
      c["file"] = name;
      c["tensor"] = "t";
    };
  };
  EXPECT_ERROR(edited(to_file("../w.safetensors")),
               "/constants/0/file: the path '../w.safetensors' holds '..'");
  EXPECT_ERROR(edited(to_file("/etc/passwd")),
               "/constants/0/file: the path '/etc/passwd' is absolute");
  EXPECT_ERROR(
      edited(to_file("w.safetensors")),
      "/constants/0/file: found the file 'w.safetensors', but this text was read without a folder");
}

TEST(LoadErrors, Tests) {
  Document d{test::scaled_relu(), {}, {}};
  d.tests.push_back(
      {{{"n", 1}}, {test::floats({1, 4}, {1, 2, 3, 4})}, {test::floats({1, 4}, {1, 0, 1, 12})}});
  StoragePlan everything_inline;
  const json::object good = to_json(d, everything_inline, "").value();
  const auto with = [&](const Edit& edit) {
    json::object o = good;
    edit(item(o, "tests", 0));
    return from_text(to_pretty(o));  // tests are not part of the id
  };
  EXPECT_TRUE(with([](auto&) {}).has_value());
  EXPECT_ERROR(with([](auto& t) { t["vars"].as_object()["n"] = 65; }),
               "/tests/0/vars/n: found 65, want an integer in [1, 64]");
  EXPECT_ERROR(with([](auto& t) { t["vars"].as_object().erase("n"); }),
               "/tests/0/vars: the field 'n' is missing");
  EXPECT_ERROR(with([](auto& t) { t["vars"].as_object()["q"] = 1; }),
               "/tests/0/vars: unknown field 'q'");
  EXPECT_ERROR(with([](auto& t) { t["inputs"].as_array().clear(); }),
               "/tests/0/inputs: found 0 inputs, the program has 1");
  EXPECT_ERROR(with([](auto& t) { t["vars"].as_object()["n"] = 2; }),
               "/tests/0/inputs/0: found f32 [1, 4], the program has f32 [2, 4]");
}

TEST(LoadErrors, TruncatedAtEveryByte) {
  const std::string text = to_pretty(document(test::scaled_relu()));
  for (std::size_t n = 0; n + 2 < text.size(); ++n) {
    const auto result = from_text(std::string_view(text).substr(0, n));
    ASSERT_FALSE(result.has_value()) << n;
    ASSERT_NE(result.error().message.find(fmt::format("at byte {}: the file is truncated", n)),
              std::string::npos)
        << result.error().message;
  }
}

// Without the id the damage reaches the later stages; whatever loads has been verified.
TEST(LoadErrors, FlippedBitsNeverCrash) {
  const std::string text = to_pretty(document(test::accumulate()));
  std::size_t detected = 0, harmless = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 7)));
    const auto with_id = from_text(damaged);
    if (with_id) {  // white space for white space
      EXPECT_TRUE(std::isspace(static_cast<unsigned char>(text[at])))
          << at << ": " << text.substr(at, 20);
      ++harmless;
    } else {
      ++detected;
    }
    const auto without_id = from_text(damaged, {.json = {}, .check_id = false});
    if (!without_id) {
      EXPECT_FALSE(without_id.error().message.empty());
    }
  }
  EXPECT_GT(detected, 10 * harmless);
}

}  // namespace
}  // namespace ost::manifest
