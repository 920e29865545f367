// What a replay costs beside its kernels: a chain of 100 dependent kernels of 16 elements that
// cannot fuse, replayed through ost_jit_call and through ost_instance_run; and the same for chains
// of other lengths, so that the cost of a kernel and that of a call come apart.
//
//   g++ -O2 -std=c++20 -I sdk/include bench/replay.cpp -L build/release/lib -lostinato
//       -Wl,-rpath,$PWD/build/release/lib -o build/replay && build/replay [DEVICE] [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ostinato/ostinato.hpp>

namespace {

using namespace ostinato;
using Clock = std::chrono::steady_clock;

template <typename Body>
double median_us(int rounds, Body&& body) {
  std::vector<double> all;
  for (int r = 0; r < rounds; ++r) {
    const auto start = Clock::now();
    for (int i = 0; i < 100; ++i) body();
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 100);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

struct Cost {
  double jit_us = 0, instance_us = 0;
  uint64_t launches = 0, allocations = 0;
};

Cost measure(const Context& context, const std::string& device, int length, int rounds) {
  auto options = sized<ost_compile_options_t>();
  options.no_fuse = 1;
  Session session(context, options);
  Jit jit(session, [&](const std::vector<Tensor>& in) {
    Tensor y = in[0];
    for (int i = 0; i < length; ++i) y = session.op("add", {y, in[1]});
    return std::vector<Tensor>{y};
  });
  const Array a = Array::of<float>({16}, std::vector<float>(16, 1));
  const std::vector<Tensor> in{session.tensor(a, device), session.tensor(a, device)};
  for (int i = 0; i < 3; ++i) jit(in);
  Cost cost;
  cost.jit_us = median_us(rounds, [&] { jit(in); });
  cost.launches = jit.stats().launches;
  cost.allocations = jit.stats().allocations;
  Instance instance(context, jit.program(), {device});
  instance.bind({{"arg0", a.view()}, {"arg1", a.view()}});
  cost.instance_us = median_us(rounds, [&] { instance.run(); });
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "cpu:0";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 200;
  try {
    ContextOptions options;
    options.driver_options = {{"threads", "1"}};
    const Context context(options);
    std::printf("%s, one thread, median of %d rounds of 100 replays\n", device.c_str(), rounds);
    std::printf(
        "| kernels | ost_jit_call us | ost_instance_run us | ns a kernel | allocations |\n"
        "|---|---|---|---|---|\n");
    for (const int length : {1, 10, 100, 1000}) {
      const Cost c = measure(context, device, length, rounds);
      std::printf("| %llu | %.2f | %.2f | %.1f | %llu |\n",
                  static_cast<unsigned long long>(c.launches), c.jit_us, c.instance_us,
                  1000 * c.instance_us / static_cast<double>(c.launches),
                  static_cast<unsigned long long>(c.allocations));
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
