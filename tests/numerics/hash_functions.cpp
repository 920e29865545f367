// Prints the lines of hashes.txt: the hash of each elementary function over 2^bits inputs, by the
// interpreter. usage: numerics_hash TYPE BITS [FUNCTION...]      numerics_hash f32 32   (all
// inputs: some minutes each)
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/numerics/function_kernel.hpp"
#include "tests/numerics/stratified.hpp"

namespace {

using namespace ost;

template <class Float>
Result<uint64_t> hash_of(kir::Fn fn, int bits) {
  const uint64_t total = uint64_t{1} << bits;
  const size_t n = std::min<uint64_t>(total, 1 << 18);
  OST_TRY_ASSIGN(auto function, numerics::Evaluator<Float>::create(fn, n));
  std::vector<Float> x(n), y(n), out(n);
  numerics::Hash<Float> hash;
  for (uint64_t first = 0; first < total; first += n) {
    for (size_t i = 0; i < n; ++i) {
      x[i] = numerics::input<Float>(first + i, bits);
      if (fn == kir::Fn::pow) y[i] = numerics::partner(x[i]);
    }
    OST_TRY(function.run(x.data(), y.data(), out.data()));
    hash.add(first, out.data(), n);
  }
  return hash.value();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string type = argc > 1 ? argv[1] : "";
  const int bits = argc > 2 ? std::atoi(argv[2]) : 0;
  if ((type != "f32" && type != "f64") || bits < 1 || bits > 32) {
    std::fprintf(stderr, "usage: numerics_hash f32|f64 BITS [FUNCTION...], BITS from 1 to 32\n");
    return 2;
  }
  for (const kir::Fn fn : numerics::kFunctions) {
    bool wanted = argc == 3;
    for (int i = 3; i < argc; ++i) wanted = wanted || std::string(argv[i]) == kir::name_of(fn);
    if (!wanted) continue;
    const auto hash = type == "f32" ? hash_of<float>(fn, bits) : hash_of<double>(fn, bits);
    if (!hash) {
      std::fprintf(stderr, "%s: %s\n", kir::name_of(fn), hash.error().message.c_str());
      return 70;
    }
    std::printf("%s %s %d %016llx\n", type.c_str(), kir::name_of(fn), bits,
                static_cast<unsigned long long>(*hash));
    std::fflush(stdout);
  }
}
