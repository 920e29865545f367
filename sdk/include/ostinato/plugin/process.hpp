// A compiler that is a program: found in PATH, run without a shell in a folder that goes away
// afterwards. A crash of it is an error of that compile and no more.
#ifndef OSTINATO_PLUGIN_PROCESS_HPP_
#define OSTINATO_PLUGIN_PROCESS_HPP_

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "error.hpp"

namespace ost::plugin {

// The absolute path of a program in PATH, "" if there is none.
inline std::string program_in_path(std::string_view name) {
  const char* path = secure_getenv("PATH");
  std::stringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = cat(folder, "/", name);
    if (folder.starts_with('/') && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// "" if it cannot be read.
inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A new folder, and nothing of it afterwards.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view purpose)
      : path_((std::filesystem::temp_directory_path() / cat("ostinato-", purpose, "-XXXXXX"))
                  .string()) {
    if (mkdtemp(path_.data()) == nullptr)
      fail(OST_IO_ERROR, "cannot make a temporary folder ", path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return cat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct ProgramResult {
  bool ok;
  std::string said;  // on stdout and stderr
};

// Runs it in the folder; what it says goes to a file there.
inline ProgramResult run_program(const std::string& program, std::vector<std::string> arguments,
                                 const TemporaryFolder& folder) {
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

}  // namespace ost::plugin

#endif  // OSTINATO_PLUGIN_PROCESS_HPP_
