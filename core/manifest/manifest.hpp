// The manifest: a Program as canonical, readable JSON with its data beside it (docs/manifest.md is
// normative).
//
//   NAME.ost.json      the program; written last
//   NAME.safetensors   constants, initial states and test data of more than
//   SaveOptions::inline_bytes NAME.images/*.img  compiled kernels, one file each, named by sha256,
//   so that a driver can map them
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/literal.hpp"
#include "core/base/result.hpp"
#include "core/manifest/json.hpp"
#include "core/schedule/program.hpp"

namespace ost::manifest {

inline constexpr uint32_t kVersionMajor = 1;
inline constexpr uint32_t kVersionMinor = 0;

// A run whose result is known, for `ost verify`: bits, not tolerances.
struct TestVector {
  Bindings vars;
  std::vector<LiteralPtr> inputs;   // by position
  std::vector<LiteralPtr> outputs;  // by position
};

struct Document {
  Program program;
  std::vector<TestVector> tests;
  std::map<std::string, std::string> provenance;  // free text; not part of the program's identity
};

struct SaveOptions {
  uint64_t inline_bytes = 1024;  // data up to this size is written into the JSON
  bool images = true;            // write the variants that have an image
};

// The three steps of saving, each usable alone. save() creates or replaces files, atomically each,
// the manifest last; a constant whose `file` exists beside the manifest and holds the same bytes is
// referred to, not copied.
Result<> save(const Document& document, const std::string& path, const SaveOptions& options = {});

// The text with all data inline and no images: needs no files.
Result<std::string> to_text(const Document& document);

// sha256 of the canonical form: what the program computes, and how. It does not depend on where
// data is kept, on images, tests or provenance.
Result<std::string> program_id(const Program& program);

struct LoadOptions {
  JsonLimits json;
  uint64_t max_data_bytes = uint64_t{64} << 30;  // constants, states and tests together
  bool images =
      false;  // trust: take native code that the manifest's author compiled (still checked by hash)
  bool check_id = true;  // false: accept an edited manifest (it is verified all the same)
};

// Parses, checks, reads the data that it refers to, and verifies. Errors: "digits.ost.json:
// /kernels/2/kir/7: ...".
Result<Document> load(const std::string& path, const LoadOptions& options = {});
// The same for a text without files beside it; a reference to one is an error.
Result<Document> from_text(std::string_view text, const LoadOptions& options = {});

}  // namespace ost::manifest
