// usage: random_kernels FOLDER COUNT
// Writes the kernels of COUNT random graphs as HIP source, NAME.hip each, as a GPU of AMD's gets them.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "core/codegen/form.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 20261130;
  ost_device_info_t info{};
  info.size = sizeof info;
  info.form_count = 1;
  info.forms[0] = OST_FORM_HIP_CPP;
  info.max_group = 1024;
  info.local_bytes = 65536;
  info.subgroup = 64;
  for (uint64_t i = 0; i < std::strtoull(argv[2], nullptr, 10); ++i) {
    const auto r = ost::test::random_graph(
        seed + i, {.max_elements = i % 4 == 0 ? 20000 : 2000, .symbolic = i % 2 == 1});
    const auto program = ost::schedule(r.graph);
    if (!program) return fmt::print(stderr, "{}\n", program.error().message), 1;
    for (const ost::KernelDesc& k : program->kernels) {
      const std::string name = "k_" + ost::kir::hash_of(k.kir).substr(0, 16);
      const auto formed = ost::codegen::form_for(k.kir, info, name);
      if (!formed) return fmt::print(stderr, "{}\n", formed.error().message), 1;
      std::ofstream(fmt::format("{}/{}.hip", argv[1], name), std::ios::binary)
          .write(reinterpret_cast<const char*>(formed->code.data()),
                 static_cast<std::streamsize>(formed->code.size()));
    }
  }
  return 0;
}
