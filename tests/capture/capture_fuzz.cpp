// Differential test of capture: a random function called eagerly, captured, replayed, and replayed
// from its manifest in another process gives the same bits each time.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "fuzz_cases.hpp"
#include "fuzz_recipe.hpp"
#include "lab.hpp"

namespace capture_fuzz {

namespace fs = std::filesystem;

constexpr size_t kCalls = 5;

uint64_t programs() {
  const char* text = std::getenv("OSTINATO_FUZZ_PROGRAMS");
  return text == nullptr ? 1000 : std::strtoull(text, nullptr, 10);
}

struct CallInputs {
  int64_t n, p;
  std::vector<Array> arrays;  // [4], [3, 4], [n, 4]
};

Array random_array(std::mt19937_64& rng, std::vector<int64_t> shape) {
  Array a(OST_DTYPE_F32, std::move(shape));
  for (size_t i = 0; i < a.count(); ++i) {
    const float v = static_cast<float>(static_cast<int64_t>(rng() % 33) - 16) / 4;
    std::memcpy(a.bytes.data() + 4 * i, &v, 4);
  }
  return a;
}

std::vector<CallInputs> random_calls(std::mt19937_64& rng) {
  std::vector<CallInputs> out;
  for (size_t k = 0; k < kCalls; ++k) {
    const auto n = static_cast<int64_t>(rng() % 7), p = static_cast<int64_t>(rng() % 6);
    out.push_back(
        {n, p, {random_array(rng, {4}), random_array(rng, {3, 4}), random_array(rng, {n, 4})}});
  }
  return out;
}

// What can be seen of one call.
struct Seen {
  std::vector<Array> given, outputs, kept, inputs, states;
};

// A recipe in a session of its own, eager or captured.
class Runner {
 public:
  Runner(const Context& context, const Recipe& recipe, const std::string& device,
         const std::string& other, bool eager)
      : session_(context),
        recipe_(recipe),
        device_(device),
        program_(session_, recipe, device, other),
        jit_(
            session_, [this](const Tensors& in) { return program_.body(in); },
            options(recipe, eager)) {}

  Seen call(const CallInputs& in, size_t number) {
    session_.bind("n", 0, 6, in.n);
    session_.bind("p", 0, 5, in.p);
    Tensors tensors{session_.tensor(in.arrays[0], device_), session_.tensor(in.arrays[1], device_),
                    session_.tensor(in.arrays[2], device_, dims_of(3))};
    if (last_ && (recipe_.feed >> number & 1)) tensors[0] = *last_;
    Seen seen;
    for (const Tensor& t : tensors) seen.given.push_back(t.read());
    Arguments arguments;
    for (const Tensor& t : tensors) arguments.add(t);
    arguments.add(var("n", 0, 6, in.n)).add(var("p", 0, 5, in.p));
    const Tensors out = jit_(arguments);
    for (const Tensor& t : out) seen.outputs.push_back(canonical(t.read()));
    for (const Tensor& t : program_.kept()) seen.kept.push_back(canonical(t.read()));
    for (const Tensor& t : program_.states()) seen.states.push_back(canonical(t.read()));
    if (recipe_.mode != OST_JIT_DONATE) {
      for (const Tensor& t : tensors) seen.inputs.push_back(canonical(t.read()));
    }
    last_ = out.back();
    return seen;
  }
  const Jit& jit() const { return jit_; }

 private:
  static JitOptions options(const Recipe& recipe, bool eager) {
    JitOptions o;
    o.outputs = recipe.mode;
    o.disabled = eager;
    return o;
  }
  Session session_;
  const Recipe& recipe_;
  const std::string device_;
  Execution program_;
  Jit jit_;
  std::optional<Tensor> last_;
};

std::string difference(const std::vector<Array>& a, const std::vector<Array>& b, const char* what) {
  if (a.size() != b.size()) return std::string(what) + ": another number of them";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape != b[i].shape || a[i].bytes != b[i].bytes)
      return std::string(what) + " " + std::to_string(i) + " differs";
  }
  return "";
}

std::string difference(const Seen& a, const Seen& b) {
  for (const auto& [x, y, what] :
       {std::tuple(&a.given, &b.given, "given input"), std::tuple(&a.outputs, &b.outputs, "output"),
        std::tuple(&a.kept, &b.kept, "kept tensor"), std::tuple(&a.inputs, &b.inputs, "input"),
        std::tuple(&a.states, &b.states, "closed-over tensor")}) {
    const std::string wrong = difference(*x, *y, what);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

class CaptureFuzz : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ostinato-fuzz-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ContextOptions options;
    options.cache_folder = (folder_ / "cache").string();
    context_.emplace(options);
    if (!opens(GetParam())) GTEST_SKIP() << "needs " << GetParam();
    other_ = GetParam() == "ref:0" ? "cpu:0" : "ref:0";
    if (!opens(other_)) other_.clear();
  }
  void TearDown() override {
    context_.reset();
    fs::remove_all(folder_);
  }
  bool opens(const std::string& device) const {
    return capture_test::raised([&] { context_->open(device); }).message.empty();
  }

  // Runs one program; "" if all agrees.
  std::string run(uint64_t number, uint64_t seed, CaseWriter& cases) {
    std::mt19937_64 rng(seed ^ (number * 0x9e3779b97f4a7c15));
    const Recipe recipe = random_recipe(rng, !other_.empty());
    const auto calls = random_calls(rng);
    try {
      Runner eager(*context_, recipe, GetParam(), other_, true);
      Runner captured(*context_, recipe, GetParam(), other_, false);
      Case c{number, {}, {}};
      for (size_t k = 0; k < kCalls; ++k) {
        const Seen want = eager.call(calls[k], k), got = captured.call(calls[k], k);
        const std::string wrong = difference(got, want);
        if (!wrong.empty())
          return "call " + std::to_string(k + 1) + ": " + wrong + "\n" + recipe.text();
        if (k == 1) c.manifest = captured.jit().program().inspect(OST_FORMAT_MANIFEST);
        if (k > 1) c.calls.push_back(case_call(calls[k], want, captured.jit().program()));
      }
      cases.add(c);
    } catch (const std::exception& e) {
      return std::string(e.what()) + "\n" + recipe.text();
    }
    return "";
  }

  static CaseCall case_call(const CallInputs& in, const Seen& seen, const Program& program) {
    CaseCall call;
    for (const ost_var_t& v : program.vars())
      call.vars.push_back({v.name, std::string(v.name) == "n" ? in.n : in.p});
    call.inputs = seen.given;
    call.outputs = seen.outputs;
    call.outputs.insert(call.outputs.end(), seen.kept.begin(), seen.kept.end());
    call.written = seen.inputs;
    return call;
  }

  int replay_in_another_process(const std::string& file) const {
    const std::string tool =
        std::string(std::getenv("OSTINATO_BUILD_DIR") ? std::getenv("OSTINATO_BUILD_DIR")
                                                      : "build/dev") +
        "/tests/capture_replayer";
    const std::string cache = (folder_ / "cache").string();
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl(tool.c_str(), tool.c_str(), file.c_str(), cache.c_str(), GetParam().c_str(),
              other_.empty() ? nullptr : other_.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path folder_;
  std::optional<Context> context_;
  std::string other_;
};
INSTANTIATE_ON_DEVICES(CaptureFuzz);

TEST_P(CaptureFuzz, EagerCapturedReplayedAndReloadedAreEqual) {
  const uint64_t seed = capture_test::seed(), count = programs();
  std::printf("seed %llu, %llu programs (OSTINATO_TEST_SEED, OSTINATO_FUZZ_PROGRAMS)\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(count));
  const std::string file = (folder_ / "cases").string();
  CaseWriter cases(file);
  int wrong = 0;
  for (uint64_t i = 0; i < count && wrong < 5; ++i) {
    const std::string text = run(i, seed, cases);
    if (text.empty()) continue;
    ++wrong;
    ADD_FAILURE() << "seed " << seed << ", program " << i << ": " << text;
  }
  ASSERT_TRUE(cases.finish());
  if (wrong > 0) return;
  EXPECT_EQ(replay_in_another_process(file), 0) << "see the lines above";
}

}  // namespace capture_fuzz
