#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "case.hpp"

namespace ost::conform {

std::optional<LevelRange> parse_levels(std::string_view text) {
  const auto level_of = [](std::string_view digit) -> std::optional<uint32_t> {
    if (digit.size() != 1 || digit[0] < '0' || digit[0] >= '0' + static_cast<int>(kLevels))
      return std::nullopt;
    return static_cast<uint32_t>(digit[0] - '0');
  };
  const size_t dash = text.find('-');
  const auto first = level_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : level_of(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return LevelRange{*first, *last};
}

std::optional<int> parse_options(int argc, char** argv, Options& out) {
  CLI::App app(
      "Holds a device plugin to the rules of its ABI and to the bits of the interpreter.\n"
      "Levels: 0 load and rules, 1 memory, 2 compile and run, 3 queues and timelines,\n"
      "4 command lists and capture, 5 pairs of devices. Exit codes: 0 all is as it should be,\n"
      "1 there are findings, 2 usage, 3 bad input, 4 nothing to test or it does not load,\n"
      "70 internal error.",
      "ost-conform");
  app.footer(
      "Examples:\n  ost-conform ./libmine.so\n  ost-conform cpu:0 --level 2 --only 'add.*' --json");
  app.add_option("SUBJECT", out.subject,
                 "a plugin's library or discovery file, or a device (cpu:0)")
      ->required();
  app.add_option("--device", out.device, "number of the plugin's device")->type_name("N");
  app.add_option_function<std::string>(
         "--level",
         [&out](const std::string& text) {
           out.levels = parse_levels(text);
           if (!out.levels) {
             throw CLI::ValidationError(
                 "--level", fmt::format("found \"{}\", wanted a level from 0 to {} or a range of "
                                        "them, as 0-2",
                                        text, kLevels - 1));
           }
         },
         "this level only, or these: 0-2")
      ->type_name("N|N-M");
  app.add_option("--only", out.only, "the cases whose name fits")->type_name("GLOB");
  app.add_option("--option", out.driver_options, "an option of the driver; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--expect", out.expect_file, "failures that are known; see docs/conformance.md")
      ->type_name("FILE");
  app.add_option("--junit", out.junit_file, "write a JUnit report too")->type_name("FILE");
  app.add_flag("--json", out.json, "one JSON object on stdout");
  app.add_option("--seed", out.seed, "of the random contents")->type_name("N");
  app.add_option("--timeout", out.timeout_s, "seconds that one case may take")->type_name("S");
  app.add_flag("--list", out.list, "print the cases and run none");
  app.add_flag("-v,--verbose", out.verbose, "say each case, and what the driver logs");
  app.add_flag("--in-process", out.in_process,
               "run in this process, for a debugger: a crash ends the kit");
  app.add_option("--worker-from", out.worker_from)->group("");
  app.add_option("--worker-fd", out.worker_fd)->group("");
  const char* seed = std::getenv("OSTINATO_TEST_SEED");
  out.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 20261130;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace ost::conform
