// The printed C of every kernel of random graphs, compiled by the system's compiler, against the
// interpreter.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/codegen/lower.hpp"
#include "core/codegen/print.hpp"
#include "core/kir/level2.hpp"
#include "core/schedule/schedule.hpp"
#include "tests/unit/schedule/random_graph.hpp"
#include "tests/unit/schedule/run_program.hpp"

namespace ost {
namespace {

using Function = void (*)(void* const*, const int64_t*, const uint64_t*);

// All kernels of some programs in one library.
class Library {
 public:
  void add(const kir::Kernel& kernel) {
    const std::string name = "k_" + kir::hash_of(kernel).substr(0, 16);
    if (kernels_.contains(name)) return;
    auto lowered = codegen::lower(kernel, codegen::Target{});
    ASSERT_TRUE(lowered.has_value()) << lowered.error().message;
    auto text = codegen::print(*lowered, codegen::Dialect::c99, name);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    // One prelude serves all of them.
    const bool f64 = text->starts_with(codegen::prelude(codegen::Dialect::c99, true));
    source_ += text->substr(codegen::prelude(codegen::Dialect::c99, f64).size());
    kernels_[name] = {kir::LaunchGrid(*lowered), nullptr};
  }

  void compile() {
    const auto folder = std::filesystem::temp_directory_path() /
                        fmt::format("ostinato-c99-{}", static_cast<unsigned>(::getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "k.c") << codegen::prelude(codegen::Dialect::c99, true) << source_;
    const std::string command = fmt::format(
        "cc -std=c99 -O1 -march=native -ffp-contract=off -fPIC -shared -w -o {0}/k.so {0}/k.c -lm",
        folder.string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    void* library = dlopen((folder / "k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    for (auto& [name, k] : kernels_) {
      k.function = reinterpret_cast<Function>(dlsym(library, name.c_str()));
      ASSERT_NE(k.function, nullptr) << name;
    }
    std::filesystem::remove_all(folder);
  }

  Result<> run(const kir::Kernel& kernel, std::span<const kir::ParamData> params,
               std::span<const int64_t> vars) {
    auto& k = kernels_.at("k_" + kir::hash_of(kernel).substr(0, 16));
    std::vector<void*> pointers;
    for (const kir::ParamData& p : params) pointers.push_back(p.data);
    const auto grid = k.grid.eval(vars);
    for (uint64_t g = 0; g < grid[0]; ++g) {
      const uint64_t group[3] = {g, 0, 0};
      k.function(pointers.data(), vars.data(), group);
    }
    return {};
  }

 private:
  struct Entry {
    kir::LaunchGrid grid;
    Function function;
  };
  std::string source_;
  std::map<std::string, Entry> kernels_;
};

TEST(PrintC99, RandomGraphsHaveTheBitsOfTheInterpreter) {
  const char* text = std::getenv("OSTINATO_TEST_SEED");
  const uint64_t seed = text ? std::strtoull(text, nullptr, 10) : 20261130;
  struct Case {
    test::RandomGraph graph;
    Program program;
  };
  std::vector<Case> cases;
  Library library;
  for (uint64_t i = 0; i < 160 && !HasFatalFailure(); ++i) {
    test::RandomGraph r = test::random_graph(
        seed + i, {.max_elements = i % 8 == 0 ? 20000 : 2000, .symbolic = i % 2 == 1});
    auto program = schedule(r.graph);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    for (const KernelDesc& k : program->kernels) library.add(k.kir);
    cases.push_back({std::move(r), std::move(*program)});
  }
  library.compile();
  if (HasFatalFailure()) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    test::HostRun want{c.graph.inputs, {}, c.graph.vars, {}}, got = want;
    ASSERT_TRUE(test::run_on_host(c.program, want).has_value());
    const auto done =
        test::run_on_host(c.program, got,
                          [&](const kir::Kernel& k, std::span<const kir::ParamData> p,
                              std::span<const int64_t> v) { return library.run(k, p, v); });
    ASSERT_TRUE(done.has_value()) << done.error().message;
    for (size_t o = 0; o < want.outputs.size(); ++o)
      ASSERT_TRUE(test::same_bits(c.program.outputs[o].dtype, want.outputs[o], got.outputs[o]))
          << "OSTINATO_TEST_SEED=" << seed + i << " output " << o << "\n"
          << ir::to_text(c.graph.graph);
  }
}

}  // namespace
}  // namespace ost
