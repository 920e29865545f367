// Target keys: "x86_64" or "x86_64:" + the sorted, comma-separated instruction set extensions that
// code may use. Names are LLVM's feature names, so both sides map a key without a table of
// synonyms. Header-only: executor and compiler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ost_cpu {

// Bit i of a FeatureSet is kFeatures[i]; sorted by name, so a key that is written from low to high
// bit is canonical.
using FeatureSet = uint32_t;
inline constexpr std::string_view kFeatures[] = {
    "avx",  "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "bmi",   "bmi2",
    "f16c", "fma",  "lzcnt",    "popcnt",   "sse3",     "sse4.1",  "sse4.2",   "ssse3",
};
inline constexpr unsigned kFeatureCount = sizeof kFeatures / sizeof *kFeatures;
inline constexpr std::string_view kArchitecture = "x86_64";

constexpr FeatureSet feature(std::string_view name) {
  for (unsigned i = 0; i < kFeatureCount; ++i)
    if (kFeatures[i] == name) return FeatureSet{1} << i;
  return 0;
}
constexpr bool has(FeatureSet set, std::string_view name) { return (set & feature(name)) != 0; }

// What each extension needs below it. A set is used closed under this, as LLVM closes it too.
constexpr FeatureSet closed(FeatureSet set) {
  auto rule = [&set](std::string_view name, FeatureSet needs) {
    if (has(set, name)) set |= needs;
  };
  for (auto name : {"avx512bw", "avx512cd", "avx512dq", "avx512vl"}) rule(name, feature("avx512f"));
  rule("avx512f", feature("avx2") | feature("f16c") | feature("fma"));
  for (auto name : {"avx2", "f16c", "fma"}) rule(name, feature("avx"));
  rule("avx", feature("sse4.2"));
  rule("sse4.2", feature("sse4.1"));
  rule("sse4.1", feature("ssse3"));
  rule("ssse3", feature("sse3"));
  return set;
}

// The sets that are worth naming; tests compile for all three.
inline constexpr FeatureSet kBaseline = 0;
inline constexpr FeatureSet kAvx2Level =
    closed(feature("avx2") | feature("fma") | feature("f16c") | feature("bmi") | feature("bmi2") |
           feature("lzcnt") | feature("popcnt"));
inline constexpr FeatureSet kAvx512Level =
    kAvx2Level | closed(feature("avx512f") | feature("avx512bw") | feature("avx512cd") |
                        feature("avx512dq") | feature("avx512vl"));

inline std::string to_key(FeatureSet set) {
  std::string key(kArchitecture);
  char separator = ':';
  for (unsigned i = 0; i < kFeatureCount; ++i) {
    if (!(set >> i & 1)) continue;
    key += separator;
    key += kFeatures[i];
    separator = ',';
  }
  return key;
}

// Nothing for another architecture or an unknown extension. Any order is read; the result is
// closed.
inline std::optional<FeatureSet> from_key(std::string_view key) {
  if (!key.starts_with(kArchitecture)) return std::nullopt;
  key.remove_prefix(kArchitecture.size());
  if (key.empty()) return kBaseline;
  if (key.front() != ':') return std::nullopt;
  FeatureSet set = 0;
  while (!key.empty()) {
    key.remove_prefix(1);
    const auto name = key.substr(0, key.find(','));
    if (!feature(name)) return std::nullopt;
    set |= feature(name);
    key.remove_prefix(name.size());
  }
  return closed(set);
}

// "+avx,+avx2,...", for LLVM's target-features.
inline std::string to_llvm_features(FeatureSet set) {
  std::string text;
  for (unsigned i = 0; i < kFeatureCount; ++i) {
    if (!(set >> i & 1)) continue;
    if (!text.empty()) text += ',';
    text += '+';
    text += kFeatures[i];
  }
  return text;
}

}  // namespace ost_cpu
