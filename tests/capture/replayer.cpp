// A process that has only manifests: replays each case of a file and compares the results bit for
// bit. Usage: capture_replayer CASES CACHE-FOLDER DEVICE [OTHER-DEVICE]
#include <cstdio>

#include "fuzz_cases.hpp"

namespace {

using namespace ostinato;
using namespace capture_fuzz;

std::string compare(const Array& got, const Array& want, const std::string& what) {
  if (got.shape != want.shape) return what + " has another shape";
  if (canonical(got).bytes != want.bytes) return what + " has other bits";
  return "";
}

std::string replay(const Context& context, const Case& c, const std::vector<std::string>& devices) {
  const Program program = Program::parse(c.manifest);
  std::vector<std::string> used(devices.begin(), devices.begin() + program.describe().devices);
  Instance instance(context, program, used);
  for (size_t k = 0; k < c.calls.size(); ++k) {
    const CaseCall& call = c.calls[k];
    Bindings bindings;
    for (size_t i = 0; i < call.inputs.size(); ++i)
      bindings.push_back({"arg" + std::to_string(i), call.inputs[i].view()});
    instance.bind(bindings, call.vars);
    instance.run();
    const std::string place = "call " + std::to_string(k) + ": ";
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      const std::string wrong = compare(instance.output(static_cast<uint32_t>(o)), call.outputs[o],
                                        place + "output " + std::to_string(o));
      if (!wrong.empty()) return wrong;
    }
    for (size_t i = 0; i < call.written.size(); ++i) {
      Array after = call.inputs[i];
      ostinato::call(ost_instance_read_input, instance.get(), size32(i), after.bytes.data(),
                     after.bytes.size());
      const std::string wrong =
          compare(after, call.written[i], place + "input " + std::to_string(i));
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  ContextOptions options;
  options.cache_folder = argv[2];
  int failed = 0, count = 0;
  try {
    const Context context(options);
    const std::vector<std::string> devices(argv + 3, argv + argc);
    CaseReader reader(argv[1]);
    for (Case c; reader.next(c); ++count) {
      std::string wrong;
      try {
        wrong = replay(context, c, devices);
      } catch (const Error& e) {
        wrong = e.what();
      }
      if (wrong.empty()) continue;
      ++failed;
      std::printf("program %llu: %s\n", static_cast<unsigned long long>(c.number), wrong.c_str());
    }
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf("%d programs replayed, %d of them wrong\n", count, failed);
  return failed == 0 && count > 0 ? 0 : 1;
}
