#include "translate.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace standin {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// FNV-1a, twice with different starts.
std::string hash(std::span<const uint32_t> words, const std::string& translator) {
  std::string out;
  for (uint64_t h : {0xcbf29ce484222325ull, 0x9e3779b97f4a7c15ull}) {
    const auto add = [&](uint64_t x) { h = (h ^ x) * 0x100000001b3ull; };
    for (const char c : translator) add(static_cast<unsigned char>(c));
    for (const uint32_t w : words) add(w);
    static constexpr char kDigits[] = "0123456789abcdef";
    for (int i = 60; i >= 0; i -= 4) out += kDigits[(h >> i) & 15];
  }
  return out;
}

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "ost-ze-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder " + name);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

int run(std::vector<std::string> words, const fs::path& log) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error(words[0] + " does not start: " + std::to_string(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string translate(std::span<const uint32_t> words, const std::string& translator,
                      const std::string& cache) {
  const fs::path kept =
      cache.empty() ? fs::path() : fs::path(cache) / (hash(words, translator) + ".bc");
  if (!kept.empty())
    if (std::string found = read(kept); !found.empty()) return found;
  const Folder folder;
  const fs::path in = folder.path / "module.spv", out = folder.path / "module.bc",
                 log = folder.path / "log";
  std::ofstream(in, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size_bytes()));
  const int status = run({translator, "-r", in, "-o", out}, log);
  std::string bitcode = read(out);
  if (status != 0 || bitcode.empty())
    throw std::runtime_error(translator + " ended with status " + std::to_string(status) + ": " +
                             read(log));
  if (!kept.empty()) {  // by a rename, so that processes may race
    std::error_code ignored;
    fs::create_directories(kept.parent_path(), ignored);
    const fs::path part = kept.string() + "." + folder.path.filename().string();
    std::ofstream(part, std::ios::binary) << bitcode;
    fs::rename(part, kept, ignored);
  }
  return bitcode;
}

}  // namespace standin
