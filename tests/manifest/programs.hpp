// Documents to try everything on: hand-made ones, and random graphs through the scheduler.
#pragma once

#include "core/base/sha256.hpp"
#include "core/manifest/manifest.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/hand_programs.hpp"
#include "tests/unit/schedule/random_graph.hpp"

namespace ost::test {

inline std::vector<std::pair<std::string, manifest::Document>> documents() {
  std::vector<std::pair<std::string, manifest::Document>> out;
  manifest::Document scaled{scaled_relu(), {}, {{"producer", "tests"}}};
  scaled.tests.push_back(
      {{{"n", 1}}, {floats({1, 4}, {1, -1, 2, -2})}, {floats({1, 4}, {1, 0, 1, 0})}});
  scaled.program.kernels[0].variants.push_back(
      {"cpu", "x86_64", "llvm", sha256_hex("image"), {'i', 'm', 'a', 'g', 'e'}});
  out.emplace_back("scaled_relu", std::move(scaled));
  out.emplace_back("accumulate", manifest::Document{accumulate(), {}, {}});
  out.emplace_back("empty", manifest::Document{});
  return out;
}

}  // namespace ost::test
