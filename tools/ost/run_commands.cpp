// run, capture, replay, bench: the commands that make a program and run it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interrupt.hpp"
#include "results.hpp"
#include "subject.hpp"

namespace {

struct Timing {
  std::vector<double> wall_us;
  std::vector<ost_kernel_time_t> kernels;  // of the last run; empty if no device can tell
  bool profiled = false;

  double min() const { return *std::ranges::min_element(wall_us); }
  double median() const {
    std::vector<double> sorted = wall_us;
    std::ranges::sort(sorted);
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }
};

// The last run is the one whose kernels are timed; its wall time counts only if there is no other.
Timing run_repeatedly(ostinato::Instance& instance, std::uint32_t repeat) {
  Timing timing;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    check_interrupt();
    const bool is_last = i + 1 == repeat;
    if (is_last) {
      try {
        instance.profile(true);
        timing.profiled = true;
      } catch (const ostinato::Error& e) {
        if (e.status() != OST_UNIMPLEMENTED) throw;
      }
    }
    instance.run();
    if (!is_last || !timing.profiled || repeat == 1)
      timing.wall_us.push_back(static_cast<double>(instance.stats().wall_ns) / 1000);
  }
  if (timing.profiled) timing.kernels = instance.times();
  return timing;
}

Json timing_json(const Timing& timing) {
  return Json::object().add("min", timing.min()).add("median", timing.median());
}

Json kernels_json(const ostinato::Program& program, const Timing& timing) {
  Json list = Json::array();
  for (const ost_kernel_time_t& t : timing.kernels) {
    list.add(Json::object()
                 .add("name", program.kernel_name(t.kernel))
                 .add("us", static_cast<double>(t.ns) / 1000));
  }
  return list;
}

void print_timing(const ostinato::Program& program, const Timing& timing) {
  fmt::print("{} run{}: min {:.3f} us, median {:.3f} us\n", timing.wall_us.size(),
             timing.wall_us.size() == 1 ? "" : "s", timing.min(), timing.median());
  for (const ost_kernel_time_t& t : timing.kernels) {
    fmt::print("  {:>12.3f} us  {}\n", static_cast<double>(t.ns) / 1000,
               program.kernel_name(t.kernel));
  }
}

Json vars_json(const ostinato::Program& program, const ostinato::Instance& instance) {
  Json vars = Json::object();
  for (const ost_var_t& v : program.vars()) vars.add(v.name, instance.var(v.name));
  return vars;
}

Json devices_json(const std::vector<std::string>& devices) {
  Json list = Json::array();
  for (const std::string& d : devices) list.add(d);
  return list;
}

// replay and bench share all but the number of runs and what is shown.
int replay(const Options& options, const ostinato::Program& program, InputFiles& files,
           std::uint32_t repeat) {
  const ostinato::Context context = make_context(options);
  const auto devices = open_devices(context, options, program);
  CallData data = call_data(options, program, files);
  ostinato::Instance instance(context, program, devices);
  instance.bind(data.inputs, data.vars);
  const Timing timing = run_repeatedly(instance, repeat);
  const auto results = read_results(instance);
  write_results(results, options.outputs);
  const auto desc = program.describe();
  const auto stats = instance.stats();
  const auto compiles = context.compile_stats().compiles;
  if (options.json) {
    Json j = answer();
    j.add("program_id", desc.id)
        .add("devices", devices_json(devices))
        .add("vars", vars_json(program, instance));
    j.add("compiles", compiles)
        .add("kernels", desc.kernels)
        .add("launches", stats.launches)
        .add("copies", stats.copies);
    j.add("allocations", stats.allocations)
        .add("repeat", repeat)
        .add("wall_us", timing_json(timing));
    j.add("arena_bytes", stats.arena_bytes)
        .add("cache_hits", stats.build_cache_hits)
        .add("images_used", stats.build_images_used);
    j.add("per_kernel", kernels_json(program, timing)).add("outputs", results_json(results));
    print_json(j);
    return kOk;
  }
  print_results(results);
  fmt::print("{} on {}: {} launches, {} compiles, {} allocations\n", desc.summary,
             fmt::join(devices, ", "), stats.launches, compiles, stats.allocations);
  print_timing(program, timing);
  return kOk;
}

}  // namespace

int run_run(const Options& options) {
  InputFiles files;
  const ostinato::Program program = compile_expression(options, options.subject, files);
  const ostinato::Context context = make_context(options);
  const auto devices = open_devices(context, options, program);
  CallData data = call_data(options, program, files);
  ostinato::Instance instance(context, program, devices);
  instance.bind(data.inputs, data.vars);
  check_interrupt();
  instance.run();
  const auto results = read_results(instance);
  write_results(results, options.outputs);
  const auto desc = program.describe();
  if (options.json) {
    Json j = answer();
    j.add("groups", desc.groups)
        .add("kernels", desc.kernels)
        .add("compiles", context.compile_stats().compiles);
    j.add("summary", Json::raw(desc.counts))
        .add("devices", devices_json(devices))
        .add("vars", vars_json(program, instance));
    j.add("arena_bytes", desc.arena_bytes).add("outputs", results_json(results));
    print_json(j);
    return kOk;
  }
  print_results(results);
  note(options, fmt::format("{} on {}", desc.summary, fmt::join(devices, ", ")));
  return kOk;
}

int run_capture(const Options& options) {
  InputFiles files;
  const ostinato::Program program = compile_expression(options, options.subject, files);
  std::uint64_t compiles = 0;
  std::vector<std::string> devices;
  if (!options.device.empty()) {
    const ostinato::Context context = make_context(options);
    devices = open_devices(context, options, program);
    const ostinato::Instance instance(context, program, devices);  // fills the cache
    compiles = context.compile_stats().compiles;
  }
  check_interrupt();
  program.save(options.manifest);
  const auto desc = program.describe();
  if (options.json) {
    Json j = answer();
    j.add("program_id", desc.id)
        .add("manifest", options.manifest)
        .add("kernels", desc.kernels)
        .add("arena_bytes", desc.arena_bytes);
    j.add("groups", desc.groups)
        .add("summary", Json::raw(desc.counts))
        .add("constant_bytes", desc.constant_bytes);
    j.add("devices", devices_json(devices)).add("compiles", compiles);
    print_json(j);
    return kOk;
  }
  fmt::print("{}\nprogram {}\n{} kernels, {} bytes of arenas, {} bytes of constants\n",
             options.manifest, desc.id, desc.kernels, desc.arena_bytes, desc.constant_bytes);
  note(options, desc.summary);
  return kOk;
}

int run_replay(const Options& options) {
  InputFiles files;
  return replay(options, load_manifest(options, options.subject), files,
                options.repeat.value_or(1));
}

int run_bench(const Options& options) {
  InputFiles files;
  return replay(options, load_or_compile(options, files), files, options.repeat.value_or(100));
}
