// ost: the command line of Ostinato, on ostinato.hpp only.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "command_line.hpp"
#include "commands.hpp"
#include "interrupt.hpp"

namespace {

constexpr std::pair<const char*, int (*)(const Options&)> kCommands[] = {
    {"devices", run_devices}, {"plugins", run_plugins}, {"doctor", run_doctor},
    {"env", run_env},         {"version", run_version}, {"cache", run_cache},
    {"run", run_run},         {"capture", run_capture}, {"replay", run_replay},
    {"bench", run_bench},     {"verify", run_verify},   {"inspect", run_inspect},
    {"explain", run_explain}, {"diff", run_diff},       {"link", run_link},
    {"plugin", run_plugin},
};

void print_log(void*, uint32_t level, const char* message) {
  constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
  fmt::print(stderr, "ost: {}: {}\n", kNames[level], message);
}

int run_trace(const Options& options);

int dispatch(const Options& options) {
  if (options.command == "trace") return run_trace(options);
  if (!options.quiet)
    ost_log_set(print_log, nullptr, options.verbose ? OST_LOG_INFO : OST_LOG_WARNING);
  for (const auto& [name, run] : kCommands) {
    if (options.command == name) return run(options);
  }
  throw Failure(kInternal, fmt::format("command '{}' is not implemented", options.command));
}

// The layer `trace` over whatever the rest of the command line does.
int run_trace(const Options& options) {
  if (options.traced.empty()) throw Failure(kUsage, "trace: no command was given");
  const char* layers = std::getenv("OSTINATO_LAYERS");
  const std::string with =
      layers != nullptr && *layers != '\0' ? fmt::format("{},trace", layers) : "trace";
  setenv("OSTINATO_LAYERS", with.c_str(), 1);
  if (!options.trace_file.empty()) setenv("OSTINATO_TRACE_FILE", options.trace_file.c_str(), 1);
  std::string program = "ost";
  std::vector<std::string> words = options.traced;
  std::vector<char*> argv = {program.data()};
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  Options inner;
  if (const auto code = parse_command_line(static_cast<int>(argv.size()) - 1, argv.data(), inner))
    return *code;
  if (inner.command == "trace") throw Failure(kUsage, "trace: a trace of a trace");
  return dispatch(inner);
}

int fail(int code, const char* message) {
  std::fflush(stdout);
  fmt::print(stderr, "ost: {}\n", message);
  return code;
}

}  // namespace

ExitCode exit_code_of(ost_status_t status) {
  switch (status) {
    case OST_OK:
      return kOk;
    case OST_INVALID_ARGUMENT:
    case OST_NOT_FOUND:
    case OST_INCOMPATIBLE:
    case OST_DATA_LOSS:
    case OST_JIT_ERROR:
    case OST_IO_ERROR:
      return kBadInput;
    case OST_UNAVAILABLE:
    case OST_UNIMPLEMENTED:
    case OST_OUT_OF_MEMORY:
    case OST_TIMEOUT:
    case OST_BUSY:
    case OST_DEVICE_LOST:
      return kUnavailable;
    case OST_COMPILE_FAILED:
      return kCompileError;
    case OST_CANCELLED:
      return kInterrupted;
    default:
      return kInternal;
  }
}

ostinato::Context make_context(const Options& options) {
  ostinato::ContextOptions in;
  in.plugin_files = options.plugins;
  in.cache_folder = options.cache;
  for (const NamedText& o : options.driver_options) in.driver_options.emplace_back(o.name, o.value);
  if (options.threads) in.driver_options.emplace_back("threads", std::to_string(*options.threads));
  return ostinato::Context(in);
}

int main(int argc, char** argv) {
  install_interrupt_handler();
  try {
    Options options;
    if (const auto code = parse_command_line(argc, argv, options)) return *code;
    const int code = dispatch(options);
    if (std::fflush(stdout) != 0) return fail(kBadInput, "stdout cannot be written");
    return code;
  } catch (const ostinato::Error& e) {
    return fail(exit_code_of(e.status()), e.what());
  } catch (const Failure& e) {
    return fail(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(kUnavailable, "out of memory");
  } catch (const std::exception& e) {
    return fail(kInternal, e.what());
  }
}
