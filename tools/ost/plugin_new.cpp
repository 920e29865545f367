// ost plugin new: the template of the SDK in a folder of its own, under another name.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "commands.hpp"
#include "json.hpp"
#include "plugin_template.hpp"
#include "subject.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlaceholder = "mydevice";

bool is_driver_name(std::string_view name) {
  if (name.empty() || name.size() > 24 || name[0] < 'a' || name[0] > 'z') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::string renamed(std::string_view text, const std::string& name) {
  std::string out(text);
  for (size_t at = out.find(kPlaceholder); at != std::string::npos;
       at = out.find(kPlaceholder, at + name.size()))
    out.replace(at, kPlaceholder.size(), name);
  return out;
}

}  // namespace

int run_plugin(const Options& options) {
  const std::string& name = options.subject;
  if (!is_driver_name(name)) {
    throw Failure(kUsage, fmt::format("'{}' is no name of a driver: wanted up to 24 of a-z, 0-9 "
                                      "and _, a letter first",
                                      name));
  }
  const fs::path folder = options.folder.empty() ? name + "-plugin" : options.folder;
  std::error_code code;
  if (fs::exists(folder, code) && !fs::is_empty(folder, code))
    throw Failure(kBadInput, fmt::format("{} exists and is not empty; give another one with --dir",
                                         folder.string()));
  fs::create_directories(folder, code);
  if (code)
    throw Failure(kBadInput, fmt::format("{} cannot be made: {}", folder.string(), code.message()));
  std::vector<std::string> files;
  for (const TemplateFile& file : plugin_template()) {
    const fs::path path = folder / renamed(file.name, name);
    std::ofstream out(path, std::ios::binary);
    out << renamed(file.text, name);
    if (!out.flush()) throw Failure(kBadInput, fmt::format("{} cannot be written", path.string()));
    files.push_back(path.string());
  }
  if (options.json) {
    Json list = Json::array();
    for (const std::string& file : files) list.add(file);
    print_json(answer().add("name", name).add("files", std::move(list)));
    return kOk;
  }
  for (const std::string& file : files) fmt::print("{}\n", file);
  note(options, fmt::format("next: cmake -S {0} -B {0}/build && cmake --build {0}/build && "
                            "ost-conform {0}/build/libostinato_{1}.so --level 2",
                            folder.string(), name));
  return kOk;
}
