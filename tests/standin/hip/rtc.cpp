// hipRTC: the source of a kernel, compiled for the host by a C++ compiler, is the code object.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "standin.hpp"

extern char** environ;

namespace standin {
namespace {

namespace fs = std::filesystem;

// hiprtcResult
enum Result : int {
  kOk = 0,
  kRtcOutOfMemory = 1,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kCompilation = 6,
};

struct Program {
  std::string source, log, code;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// One STANDIN_KERNEL for each `__global__ ... void NAME(`. Kernels that a macro names are not seen.
std::string trampolines(const std::string& source) {
  static const std::regex kernel(
      R"(__global__\s+(?:__launch_bounds__\s*\(\s*(\d+)\s*\)\s*)?void\s+(\w+)\s*\()");
  std::string out = "\n";
  for (std::sregex_iterator it(source.begin(), source.end(), kernel), end; it != end; ++it)
    out += "STANDIN_KERNEL(" + (*it)[2].str() + ", " +
           ((*it)[1].matched ? (*it)[1].str() : std::string("0")) + ")\n";
  return out;
}

// That of the device and two that no device has.
const std::vector<std::string>& architectures() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out{settings().arch.substr(0, settings().arch.find(':'))};
    for (const char* other : {"gfx001", "gfx002"})
      if (out[0] != other) out.emplace_back(other);
    return out;
  }();
  return all;
}

// 0 if the compiler says so; what it prints goes to a file.
int run(const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> words;
  for (const std::string& w : command) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int code = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    std::ofstream(output) << words[0] << ": " << std::strerror(code) << "\n";
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Options of hipRTC that a host compiler has under the same name; false for one that it has not.
bool take_options(int count, const char* const* options, std::vector<std::string>& command,
                  std::string& log) {
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    if (option.starts_with("--gpu-architecture=")) {
      const std::string arch(option.substr(option.find('=') + 1));
      if (std::ranges::any_of(architectures(), [&](const std::string& known) {
            return arch == known || arch.starts_with(known + ":");
          }))
        continue;
      log = "error: unknown target '" + std::string(option) + "'";
      return false;
    }
    if (option.starts_with("-O")) continue;  // compiling takes longer than running
    if (!option.starts_with("-D") && !option.starts_with("-std=") &&
        !option.starts_with("-ffp-contract=")) {
      log = "error: unsupported option '" + std::string(option) + "'";
      return false;
    }
    command.emplace_back(option);
  }
  return true;
}

Result compile(Program& program, int count, const char* const* options) {
  std::string folder = fs::temp_directory_path() / "hip-standin-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return kRtcOutOfMemory;
  const fs::path dir = folder;
  std::ofstream(dir / "kernel.cpp")
      << "#include \"" OST_STANDIN_PRELUDE "\"\n#line 1 \"kernel.hip\"\n"
      << program.source << trampolines(program.source);
  std::vector<std::string> command{
      settings().compiler, "-O1",      "-w", "-fPIC", "-shared", "-s", "-fvisibility=hidden",
      "-fno-exceptions",   "-fno-rtti"};
  Result result = kCompilation;
  if (take_options(count, options, command, program.log)) {
    for (const char* word : {"-o", "kernel.so", "kernel.cpp", "-lm"}) {
      const bool file = std::strchr(word, '.') != nullptr;
      command.push_back(file ? (dir / word).string() : word);
    }
    const int code = run(command, dir / "log");
    program.log = contents(dir / "log");
    program.code = code == 0 ? contents(dir / "kernel.so") : "";
    if (code == 0) result = kOk;
  }
  std::error_code ignored;
  fs::remove_all(dir, ignored);
  return result;
}

void copy_out(char* out, const std::string& text, bool terminated) {
  std::memcpy(out, text.c_str(), text.size() + terminated);
}

}  // namespace
}  // namespace standin

using namespace standin;

STANDIN_API int hiprtcVersion(int* major, int* minor) {
  *major = 0;  // no hipRTC has this one: nothing that is cached by it is taken for AMD's
  *minor = 1;
  return kOk;
}
STANDIN_API int hiprtcCreateProgram(void** out, const char* source, const char*, int headers,
                                    const char* const*, const char* const*) {
  if (out == nullptr || source == nullptr || headers != 0) return kInvalidInput;
  *out = new Program{source, "", ""};
  return kOk;
}
STANDIN_API int hiprtcDestroyProgram(void** program) {
  if (program == nullptr) return kInvalidProgram;
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kOk;
}
STANDIN_API int hiprtcCompileProgram(void* program, int count, const char* const* options) {
  if (program == nullptr) return kInvalidProgram;
  return compile(*static_cast<Program*>(program), count, options);
}
STANDIN_API int hiprtcGetProgramLogSize(void* program, size_t* out) {
  const std::string& log = static_cast<Program*>(program)->log;
  *out = log.empty() ? 0 : log.size() + 1;
  return kOk;
}
STANDIN_API int hiprtcGetProgramLog(void* program, char* out) {
  copy_out(out, static_cast<Program*>(program)->log, true);
  return kOk;
}
STANDIN_API int hiprtcGetCodeSize(void* program, size_t* out) {
  *out = static_cast<Program*>(program)->code.size();
  return kOk;
}
STANDIN_API int hiprtcGetCode(void* program, char* out) {
  copy_out(out, static_cast<Program*>(program)->code, false);
  return kOk;
}

// comgr's: what the compiler knows.
STANDIN_API int amd_comgr_get_isa_count(size_t* out) {
  *out = architectures().size();
  return 0;
}
STANDIN_API int amd_comgr_get_isa_name(size_t index, const char** out) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = architectures();
    for (std::string& name : all) name = "amdgcn-amd-amdhsa--" + name;
    return all;
  }();
  if (index >= names.size()) return 1;
  *out = names[index].c_str();
  return 0;
}
