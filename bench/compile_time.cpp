// Time of fusion and scheduling for random graphs of 1,000 and 10,000 nodes: what ost_graph_compile
// takes, lowering to KIR, the proof of bounds, the memory plan and the program id included.
//   g++ -std=c++23 -O2 -Isdk/include bench/compile_time.cpp -Lbuild/release/lib -lostinato
//       -Wl,-rpath,build/release/lib -o compile_time && ./compile_time
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ostinato/ostinato.hpp>
#include <random>

namespace {

using ostinato::Attrs;
using ostinato::Node;

struct Counted {
  ostinato::Graph graph;
  size_t nodes = 0;
};

// Elementwise operations, products, reductions, softmax and movement over matrices, each of recent
// operands as a rule; what nothing reads is an output.
void grow(Counted& c, size_t count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(rng() % n); };
  const char* unary[] = {"relu", "exp", "tanh", "abs", "sqrt", "sigmoid", "neg", "silu"};
  const char* binary[] = {"add", "mul", "sub", "maximum", "div", "minimum"};
  std::vector<Node> values;
  for (int i = 0; i < 6; ++i)
    values.push_back(c.graph.input("x" + std::to_string(i), OST_DTYPE_F32, {64, 64}));
  std::vector<bool> read(count * 2 + 16, false);
  const auto pick = [&] {
    const size_t near = std::min<size_t>(values.size(), 12);
    const size_t at = below(4) != 0 ? values.size() - 1 - below(near) : below(values.size());
    return values[at];
  };
  while (values.size() < count) {
    const Node a = pick(), b = pick();
    Node made = 0;
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        made = c.graph.op(unary[below(8)], {a});
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        made = c.graph.op(binary[below(6)], {a, b});
        break;
      case 7:
        made = c.graph.op("matmul", {a, b});
        break;
      case 8:
        made = c.graph.op("softmax", {a});
        break;
      case 9:
        made = c.graph.op(
            "add",
            {a, c.graph.op("sum", {b}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", 1}})});
        break;
      case 10:
        made = c.graph.op("transpose", {a});
        break;
      default:
        made = c.graph.op("where", {c.graph.op("lt", {a, b}), a, b});
    }
    if (read.size() <= std::max({a, b, made})) read.resize(std::max({a, b, made}) * 2 + 1, false);
    read[a] = read[b] = true;
    if (std::find(values.end() - static_cast<long>(std::min<size_t>(values.size(), 64)),
                  values.end(), made) == values.end())
      values.push_back(made);
  }
  size_t outputs = 0;
  for (const Node v : values)
    if (!read[v]) c.graph.output("y" + std::to_string(outputs++), v);
  c.nodes = values.back() + 1;
}

double milliseconds(const Counted& c, uint32_t& kernels) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const ostinato::Program program = c.graph.compile();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::milli>(end - begin).count());
    kernels = program.describe().launches;
  }
  return best;
}

}  // namespace

int main() {
  double small = 0;
  for (const size_t nodes : {1000, 10000}) {
    for (const uint64_t seed : {1, 2, 3}) {
      Counted c;
      // Composite operations are several nodes: grow to the number wanted.
      grow(c, nodes * 6 / 10, seed);
      uint32_t launches = 0;
      const double ms = milliseconds(c, launches);
      std::printf("seed %llu: %zu nodes, %u launches, %.1f ms, %.1f us a node\n",
                  static_cast<unsigned long long>(seed), c.nodes, launches, ms,
                  1000 * ms / static_cast<double>(c.nodes));
      if (seed == 1 && small == 0) small = ms;
      if (seed == 1 && nodes == 10000) std::printf("growth: %.1f\n", ms / small);
    }
  }
}
