#include "report.hpp"

#include <algorithm>
#include <boost/json.hpp>

namespace ost::conform {
namespace {

size_t count(const Report& r, uint32_t level, Verdict verdict) {
  return static_cast<size_t>(std::ranges::count_if(r.findings, [&](const Finding& f) {
    return f.level == level && f.outcome.verdict == verdict;
  }));
}

double percent(const Report& r) {
  return r.cells == 0 ? 0
                      : 100.0 * static_cast<double>(r.cells_tried) / static_cast<double>(r.cells);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (u < 0x20 && c != '\n' && c != '\t') {
      out += '?';  // XML 1.0 has no way to say it
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

bool Report::succeeded() const {
  return stale.empty() && std::ranges::none_of(findings, &Finding::is_surprise);
}

std::vector<Reason> unsupported_reasons(const Report& report, uint32_t level) {
  std::vector<Reason> out;
  for (const Finding& f : report.findings) {
    if (f.level != level || f.outcome.verdict != Verdict::unsupported) continue;
    const auto known = std::ranges::find(out, f.outcome.reason, &Reason::reason);
    if (known != out.end()) {
      ++known->cases;
      continue;
    }
    out.push_back({f.name, f.outcome.reason, 1});
  }
  for (Reason& r : out) {
    if (r.cases > 1) r.what += fmt::format(" and {} more", r.cases - 1);
  }
  return out;
}

std::string to_text(const Report& r) {
  std::string out = fmt::format("{} ({}), driver {} {}, form {}, seed {}\n", r.what.device,
                                r.what.name, r.what.driver, r.what.version, r.what.form, r.seed);
  for (const Finding& f : r.findings) {
    if (f.is_surprise() && f.outcome.verdict == Verdict::passed) {
      out += fmt::format("L{} {}: passed, and was expected to fail: {}\n", f.level, f.name,
                         f.expected);
    } else if (f.is_surprise()) {
      out += fmt::format("L{} {}: FAILED: {}\n", f.level, f.name, f.outcome.reason);
    }
  }
  for (const std::string& line : r.stale)
    out += fmt::format("--expect: no case fits \"{}\"\n", line);
  for (const uint32_t level : r.levels) {
    const size_t expected =
        static_cast<size_t>(std::ranges::count_if(r.findings, [&](const Finding& f) {
          return f.level == level && !f.expected.empty() && f.outcome.verdict == Verdict::failed;
        }));
    out += fmt::format("L{} {:<22} passed {:>4}  failed {:>3}{}  unsupported {}\n", level,
                       level_name(level), count(r, level, Verdict::passed),
                       count(r, level, Verdict::failed) - expected,
                       expected > 0 ? fmt::format(" (and {} as expected)", expected) : "",
                       count(r, level, Verdict::unsupported));
    for (const Reason& u : unsupported_reasons(r, level))
      out += fmt::format("   unsupported {}: {}\n", u.what, u.reason);
  }
  if (r.cells > 0) {
    out += fmt::format("coverage: {} of {} cells (operation x element type), {:.1f} %\n",
                       r.cells_tried, r.cells, percent(r));
  }
  return out;
}

std::string to_json(const Report& r) {
  boost::json::array levels;
  for (const uint32_t level : r.levels) {
    boost::json::array unsupported, failures, expected;
    for (const Reason& u : unsupported_reasons(r, level))
      unsupported.push_back({{"what", u.what}, {"reason", u.reason}, {"cases", u.cases}});
    for (const Finding& f : r.findings) {
      if (f.level != level) continue;
      if (f.is_surprise() && f.outcome.verdict == Verdict::failed) {
        failures.push_back(
            {{"what", f.name}, {"reason", f.outcome.reason}, {"kernel", f.outcome.detail}});
      }
      if (f.is_surprise() && f.outcome.verdict == Verdict::passed) {
        failures.push_back({{"what", f.name},
                            {"reason", "passed, and was expected to fail: " + f.expected},
                            {"kernel", ""}});
      }
      if (!f.expected.empty() && !f.is_surprise())
        expected.push_back({{"what", f.name}, {"reason", f.expected}});
    }
    levels.push_back({{"level", level},
                      {"title", level_name(level)},
                      {"passed", count(r, level, Verdict::passed)},
                      {"failed", failures.size()},
                      {"unsupported", unsupported},
                      {"seed", r.seed},
                      {"failures", failures},
                      {"expected_failures", expected}});
  }
  boost::json::array stale;
  for (const std::string& line : r.stale) stale.emplace_back(line);
  const boost::json::object root = {
      {"schema_version", 1},
      {"subject", r.subject},
      {"device", r.what.device},
      {"name", r.what.name},
      {"driver", r.what.driver},
      {"driver_version", r.what.version},
      {"target", r.what.target},
      {"form", r.what.form},
      {"ok", r.succeeded()},
      {"seed", r.seed},
      {"coverage", {{"cells", r.cells}, {"tried", r.cells_tried}, {"percent", percent(r)}}},
      {"stale_expectations", stale},
      {"levels", levels}};
  return boost::json::serialize(root) + "\n";
}

std::string to_junit(const Report& r) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const uint32_t level : r.levels) {
    std::string cases;
    size_t total = 0, failures = 0, skipped = 0;
    for (const Finding& f : r.findings) {
      if (f.level != level) continue;
      ++total;
      cases += fmt::format("    <testcase classname=\"{}.L{}\" name=\"{}\" time=\"{:.3f}\">",
                           escaped(r.what.device), level, escaped(f.name), f.seconds);
      if (f.is_surprise()) {
        ++failures;
        const std::string why = f.outcome.verdict == Verdict::passed
                                    ? "passed, and was expected to fail: " + f.expected
                                    : f.outcome.reason;
        cases += fmt::format("<failure message=\"{}\">{}</failure>", escaped(why),
                             escaped(f.outcome.detail));
      } else if (f.outcome.verdict != Verdict::passed) {
        ++skipped;
        cases += fmt::format("<skipped message=\"{}\"/>",
                             escaped(f.expected.empty() ? f.outcome.reason : f.expected));
      }
      cases += "</testcase>\n";
    }
    out += fmt::format(
        "  <testsuite name=\"{} L{} {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n"
        "    <properties><property name=\"seed\" value=\"{}\"/></properties>\n{}  </testsuite>\n",
        escaped(r.what.device), level, level_name(level), total, failures, skipped, r.seed, cases);
  }
  return out + "</testsuites>\n";
}

}  // namespace ost::conform
