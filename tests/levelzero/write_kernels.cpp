// Writes SPIR-V of a wide set of kernels for checkers that read files.
//
// usage: levelzero_write FOLDER [PATTERN ...]
// NAME.spv, or NAME.fp64.spv where the kernel has f64; without patterns kernels of random graphs too.
// The last line on stdout: how many, their bytes, and how long the compiler took for the middle one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "spirv_lab.hpp"

int main(int argc, char** argv) {
  using namespace ost::test;
  if (argc < 2) {
    std::fprintf(stderr, "usage: levelzero_write FOLDER [PATTERN ...]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::vector<std::string> patterns(argv + 2, argv + argc);
  std::vector<Subject> subjects = grid_subjects(patterns);
  if (patterns.empty()) std::ranges::move(graph_subjects(1, 60), std::back_inserter(subjects));
  std::vector<double> ms;
  std::vector<size_t> sizes;
  for (const Subject& subject : subjects) {
    const auto start = std::chrono::steady_clock::now();
    const auto spirv = make_spirv(subject);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                     .count());
    if (!spirv) {
      std::printf("FAILED %s: %s\n", subject.name.c_str(), spirv.error().message.c_str());
      return 1;
    }
    sizes.push_back(spirv->words.size());
    std::ofstream(folder / (spirv->entry + (spirv->fp64 ? ".fp64.spv" : ".spv")), std::ios::binary)
        << spirv->words;
  }
  std::ranges::sort(ms);
  std::ranges::sort(sizes);
  if (ms.empty()) return 1;
  std::printf("%zu kernels; median %zu bytes, largest %zu; median %.1f ms, slowest %.1f\n",
              ms.size(), sizes[sizes.size() / 2], sizes.back(), ms[ms.size() / 2], ms.back());
  return 0;
}
