#include "ocloc.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostinato/plugin/error.hpp>
#include <sstream>
#include <vector>

#include "native_binary.hpp"

namespace levelzero {
namespace {

using ost::plugin::cat;
using ost::plugin::fail;

namespace fs = std::filesystem;

// Of divisions and square roots; what else strict numerics need is in the module.
constexpr const char* kOptions = "-cl-fp32-correctly-rounded-divide-sqrt";

std::string in_path(const char* name) {
  const char* path = secure_getenv("PATH");
  std::stringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (folder.starts_with('/') && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// A new folder, and nothing of it afterwards.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "ostinato-ocloc-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      fail(OST_IO_ERROR, "cannot make a temporary folder ", path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return cat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Outcome {
  bool ok;
  std::string said;
};

// Runs it in the folder; what it says goes to a file there.
Outcome run(const std::string& program, std::vector<std::string> arguments, const Folder& folder) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  const std::string log = folder.file("log");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.path().c_str());
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(OST_UNAVAILABLE, "cannot run ", program, ": errno ", error);
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  // Who ignores SIGCHLD has no status to wait for; what was made decides then.
  const bool ok = ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::string said = read_file(log);
  while (!said.empty() && (said.back() == '\n' || said.back() == '\0')) said.pop_back();
  return {ok, std::move(said)};
}

}  // namespace

Ocloc::Ocloc(std::string_view setting) {
  if (setting == "off") {
    missing_ = "the option ocloc is off";
  } else if (setting.empty()) {
    path_ = in_path("ocloc");
    if (path_.empty()) missing_ = "there is no ocloc in PATH";
  } else {
    path_ = setting;
    if (access(path_.c_str(), X_OK) == 0) return;
    missing_ = cat(path_, " cannot be run");
    path_.clear();
  }
}

std::string Ocloc::version() {
  const std::scoped_lock lock(mutex_);
  if (!version_.empty()) return version_;
  const Folder folder;
  const Outcome asked = run(path_, {"query", "OCL_DRIVER_VERSION"}, folder);
  std::string text = read_file(folder.file("OCL_DRIVER_VERSION"));
  while (!text.empty() && (text.back() <= ' ')) text.pop_back();
  if (text.empty()) fail(OST_UNAVAILABLE, path_, " does not say its version: ", asked.said);
  return version_ = text;
}

std::string Ocloc::build(std::string_view device, std::string_view entry, std::string_view spirv,
                         ost_sink_t log) {
  const Folder folder;
  std::ofstream(folder.file("k.spv"), std::ios::binary) << spirv;
  const Outcome made =
      run(path_,
          {"compile", "-file", "k.spv", "-spirv_input", "-device", std::string(device), "-output",
           "k", "-output_no_suffix", "-options", kOptions},
          folder);
  ost::plugin::put(log, made.said);
  if (!made.ok) fail(OST_COMPILE_FAILED, "ocloc for ", device, ": ", made.said);
  std::string binary;
  for (const char* name : {"k", "k.bin"})
    if (binary.empty()) binary = read_file(folder.file(name));
  const uint64_t code = instructions_of(binary, entry);
  if (code == 0)
    fail(OST_COMPILE_FAILED, "ocloc for ", device, " says that it succeeded, but its ",
         binary.size(), " bytes have no instructions of ", entry, ": ", made.said);
  return binary;
}

}  // namespace levelzero
