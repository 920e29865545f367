// ost-conform: one command that says what is wrong with a device plugin.
#include <cstdio>
#include <fstream>
#include <set>

#include "core/runtime/log.hpp"
#include "expect.hpp"
#include "options.hpp"
#include "runner.hpp"

namespace ost::conform {
namespace {

int say(int code, const std::string& text) {
  fmt::print(stderr, "ost-conform: {}\n", text);
  return code;
}

void print_case(const Finding& f) {
  constexpr const char* kWords[] = {"passed", "FAILED", "unsupported"};
  fmt::print(stderr, "L{} {} {} ({:.3f} s){}{}\n", f.level, f.name,
             kWords[static_cast<size_t>(f.outcome.verdict)], f.seconds,
             f.outcome.reason.empty() ? "" : ": ", f.outcome.reason);
  if (f.outcome.verdict == Verdict::failed && !f.outcome.detail.empty())
    fmt::print(stderr, "{}\n", f.outcome.detail);
}

void count_cells(std::span<const Case> all, Report& r) {
  std::set<std::string> cells, tried;
  for (const Case& c : all) {
    if (!c.cell.empty()) cells.insert(c.cell);
  }
  for (const Finding& f : r.findings) {
    if (!f.cell.empty() && f.outcome.verdict != Verdict::unsupported) tried.insert(f.cell);
  }
  r.cells = cells.size();
  r.cells_tried = tried.size();
}

Result<> run_cases(const Options& options, std::span<const Case> cases, Report& report) {
  const Listener listener{[&](Description d) { report.what = std::move(d); },
                          [&](Finding f) {
                            if (options.verbose) print_case(f);
                            report.findings.push_back(std::move(f));
                          }};
  if (!options.in_process) return run_in_workers(options, cases, listener);
  OST_TRY_ASSIGN(const auto lab, Lab::open(subject_of(options, cases.back().level)));
  listener.described(describe(*lab));
  for (const Case& c : cases) listener.found(run_case(c, *lab));
  return {};
}

int run(const Options& options) {
  const std::vector<Case> cases = selected_cases(options);
  if (options.list) {
    for (const Case& c : cases) fmt::print("{} {}\n", c.level, c.name);
    return kOk;
  }
  if (cases.empty()) return say(kUsage, fmt::format("no case fits \"{}\"", options.only));
  std::vector<Expectation> expectations;
  if (!options.expect_file.empty()) {
    auto read = read_expectations(options.expect_file);
    if (!read) return say(kBadInput, read.error().message);
    expectations = std::move(*read);
  }
  Report report{};
  report.subject = options.subject;
  report.seed = options.seed;
  for (const Case& c : cases) {
    if (report.levels.empty() || report.levels.back() != c.level) report.levels.push_back(c.level);
  }
  if (auto ok = run_cases(options, cases, report); !ok) {
    const bool nothing = ok.error().status == OST_UNAVAILABLE || ok.error().status == OST_NOT_FOUND;
    return say(nothing ? kUnavailable : kInternal, ok.error().message);
  }
  mark_expected(expectations, report);
  if (!options.only.empty()) report.stale.clear();  // a part says nothing about the whole list
  count_cells(cases, report);
  if (!options.junit_file.empty()) {
    std::ofstream out(options.junit_file);
    out << to_junit(report);
    if (!out.flush()) return say(kBadInput, options.junit_file + ": cannot be written");
  }
  const std::string text = options.json ? to_json(report) : to_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) return say(kBadInput, "stdout cannot be written");
  return report.succeeded() ? kOk : kFindings;
}

int real_main(int argc, char** argv) {
  Options options;
  if (const auto code = parse_options(argc, argv, options)) return *code;
  runtime::set_log_hook(
      [](runtime::LogLevel level, std::string_view text) {
        fmt::print(stderr, "ost-conform: {}: {}\n", runtime::name_of(level), text);
      },
      options.verbose ? runtime::LogLevel::info : runtime::LogLevel::error);
  if (options.worker_from) return run_worker(options);
  return run(options);
}

}  // namespace
}  // namespace ost::conform

int main(int argc, char** argv) {
  try {
    return ost::conform::real_main(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "ost-conform: {}\n", e.what());
    return ost::conform::kInternal;
  }
}
