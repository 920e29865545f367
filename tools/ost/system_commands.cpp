// devices, plugins, doctor, env, version, cache: what this machine has.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "json.hpp"
#include "subject.hpp"

namespace {

// Columns as wide as their widest cell; the last one is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += fmt::format("{:<{}}  ", row[c], c + 1 < row.size() ? width[c] : 0);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

Json device_json(const ost_device_desc_t& d) {
  Json j = Json::object();
  j.add("id", d.id)
      .add("driver", d.driver)
      .add("name", d.name)
      .add("kind", d.kind)
      .add("available", d.available != 0);
  j.add("reason", d.reason).add("compile_only", d.compile_only != 0).add("target", d.target);
  return j;
}

Json candidates_json(const ostinato::Context& context) {
  Json list = Json::array();
  for (const ost_plugin_desc_t& p : context.plugins()) {
    Json j = Json::object();
    j.add("path", p.path)
        .add("library", p.library)
        .add("driver", p.driver)
        .add("status", p.status)
        .add("stage", p.stage);
    j.add("rule", p.rule == 0 ? Json() : Json(p.rule)).add("reason", p.reason);
    list.add(j);
  }
  return list;
}

void print_plugins(const ostinato::Context& context) {
  std::vector<std::vector<std::string>> rows{
      {"STATUS", "STAGE", "RULE", "DRIVER", "PATH", "REASON"}};
  for (const ost_plugin_desc_t& p : context.plugins()) {
    rows.push_back({p.status, p.stage, p.rule == 0 ? "-" : std::to_string(p.rule),
                    *p.driver == '\0' ? "-" : p.driver, p.path, p.reason});
  }
  print_table(rows);
}

std::vector<ost_env_desc_t> environment() {
  std::vector<ost_env_desc_t> out(ost_env_count(), ostinato::sized<ost_env_desc_t>());
  for (std::uint32_t i = 0; i < out.size(); ++i) ostinato::call(ost_env_at, i, &out[i]);
  return out;
}

// One thing that doctor looked at.
struct Finding {
  std::string what;
  bool ok;
  std::string text;
};

// One line a driver: there may be many.
std::vector<Finding> compile_only(const ostinato::Context& context) {
  std::vector<Finding> out;
  for (const ost_device_desc_t& d : context.devices()) {
    if (d.compile_only == 0) continue;
    const std::string what = fmt::format("targets of {}", d.driver);
    if (out.empty() || out.back().what != what)
      out.push_back({what, true, fmt::format("compiles only: {}", d.id)});
    else
      out.back().text += fmt::format(", {}", d.id);
  }
  return out;
}

std::vector<Finding> examine(const ostinato::Context& context) {
  std::vector<Finding> out;
  for (const ost_plugin_desc_t& p : context.plugins()) {
    const bool failed = std::strcmp(p.status, "failed") == 0;
    const std::string rule = p.rule == 0 ? "" : fmt::format(" (rule {})", p.rule);
    // Most machines lack the hardware of some plugin. A driver that breaks a rule names it.
    const bool no_device = failed && p.rule == 0 && std::strcmp(p.stage, "devices") == 0;
    out.push_back({fmt::format("plugin {}", p.path), !failed || no_device,
                   failed ? fmt::format("{} failed{}: {}", p.stage, rule, p.reason)
                          : fmt::format("{}: {}", p.status, p.reason)});
  }
  bool beside_ref = false;
  for (const Finding& f : compile_only(context)) out.push_back(f);
  for (const ost_device_desc_t& d : context.devices()) {
    if (d.compile_only != 0) continue;
    beside_ref = beside_ref || (d.available != 0 && std::strcmp(d.driver, "ref") != 0);
    const std::string what = fmt::format("device {}", d.id);
    if (d.available == 0) {
      out.push_back({what, false, fmt::format("not available: {}", d.reason)});
      continue;
    }
    try {
      const auto state = context.open(d.id);
      out.push_back({what, state.exact != 0,
                     state.exact != 0 ? "opened, the self-test passed"
                                      : fmt::format("the self-test failed: {}", state.reason)});
    } catch (const ostinato::Error& e) {
      out.push_back({what, false, e.what()});
    }
  }
  if (!beside_ref)
    out.push_back(
        {"devices", false, "only ref, the slow interpreter, can run; no plugin brought a device"});
  const std::string cache = context.cache_folder();
  out.push_back({"cache", true, cache.empty() ? "off" : cache});
  for (const ost_env_desc_t& e : environment()) {
    if (e.meaning == nullptr)
      out.push_back({fmt::format("environment {}", e.name), false,
                     "nothing reads this name; most likely misspelled"});
  }
  return out;
}

}  // namespace

int run_devices(const Options& options) {
  const ostinato::Context context = make_context(options);
  if (options.json) {
    Json list = Json::array();
    for (const auto& d : context.devices()) list.add(device_json(d));
    print_json(answer().add("devices", list));
    return kOk;
  }
  std::vector<std::vector<std::string>> rows{{"DEVICE", "STATE", "TARGET", "NAME"}};
  for (const auto& d : context.devices()) {
    const std::string state = d.available != 0      ? "available"
                              : d.compile_only != 0 ? "compiles only"
                                                    : "not available";
    rows.push_back({d.id, state, d.target,
                    *d.reason == '\0' ? d.name : fmt::format("{} ({})", d.name, d.reason)});
  }
  print_table(rows);
  return kOk;
}

int run_plugins(const Options& options) {
  const ostinato::Context context = make_context(options);
  if (options.json)
    print_json(answer().add("candidates", candidates_json(context)));
  else
    print_plugins(context);
  return kOk;
}

int run_doctor(const Options& options) {
  const ostinato::Context context = make_context(options);
  const auto findings = examine(context);
  const bool ok = std::ranges::all_of(findings, &Finding::ok);
  if (options.json) {
    Json list = Json::array(), folders = Json::array();
    for (const Finding& f : findings)
      list.add(Json::object().add("what", f.what).add("ok", f.ok).add("text", f.text));
    for (const std::string& f : context.plugin_folders()) folders.add(f);
    Json j = answer();
    j.add("ok", ok)
        .add("candidates", candidates_json(context))
        .add("folders", folders)
        .add("findings", list);
    print_json(j);
  } else {
    for (const std::string& f : context.plugin_folders()) {
      std::error_code ec;
      fmt::print("searched  {}{}\n", f,
                 std::filesystem::is_directory(f, ec) ? "" : " (no such folder)");
    }
    for (const Finding& f : findings)
      fmt::print("{}  {}: {}\n", f.ok ? "ok      " : "problem ", f.what, f.text);
  }
  return ok ? kOk : kDiffers;
}

int run_env(const Options& options) {
  if (options.json) {
    Json list = Json::array();
    for (const ost_env_desc_t& e : environment()) {
      Json j = Json::object();
      j.add("name", e.name)
          .add("value", e.value)
          .add("origin", e.origin)
          .add("meaning", e.meaning == nullptr ? Json() : Json(e.meaning));
      list.add(j);
    }
    print_json(answer().add("variables", list));
    return kOk;
  }
  for (const ost_env_desc_t& e : environment()) {
    fmt::print(
        "{}={}\n  {}; {}\n", e.name, e.value, e.origin,
        e.meaning == nullptr ? "nothing reads this name, most likely misspelled" : e.meaning);
  }
  return kOk;
}

int run_version(const Options& options) {
  if (options.json)
    print_json(answer().add("version", ost_version_text()).add("abi", ost_version()));
  else
    fmt::print("ost {}\n", ost_version_text());
  return kOk;
}

int run_cache(const Options& options) {
  constexpr std::uint64_t kDefaultMax = std::uint64_t{1} << 30;
  const ostinato::Context context = make_context(options);
  const bool removes = options.cache_action != "ls";
  const std::uint64_t keep = options.cache_action == "clear" ? 0
                             : options.max_bytes == 0        ? kDefaultMax
                                                             : options.max_bytes;
  const auto entries = removes ? context.prune_cache(keep) : context.cache_entries();
  std::uint64_t bytes = 0;
  for (const auto& e : entries) bytes += e.bytes;
  if (options.json) {
    Json list = Json::array();
    for (const auto& e : entries)
      list.add(Json::object()
                   .add("key", e.key)
                   .add("bytes", e.bytes)
                   .add("used_ns", e.used_ns)
                   .add("path", e.path));
    print_json(answer()
                   .add("folder", context.cache_folder())
                   .add(removes ? "removed" : "entries", list)
                   .add("bytes", bytes));
    return kOk;
  }
  for (const auto& e : entries)
    fmt::print("{}  {:>10}  {}\n", e.key.substr(0, 16), e.bytes, removes ? "removed" : e.path);
  note(options,
       fmt::format("{} {}, {} bytes, in {}", entries.size(), removes ? "removed" : "entries", bytes,
                   context.cache_folder().empty() ? "no folder (the cache is off)"
                                                  : context.cache_folder()));
  return kOk;
}
