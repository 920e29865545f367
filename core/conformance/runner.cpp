#include "runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "expect.hpp"

extern char** environ;

namespace ost::conform {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint32_t kMostEnds = 20;  // of one level's workers, before it is given up

// What crosses to the parent: one line of fields with a tab between them. First "D" and the
// description, or "E" and why there is nothing to test; then for each case its verdict, seconds,
// reason and detail.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c == '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      out += text[++i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out;
  for (;;) {
    const size_t end = line.find('\t');
    out.push_back(unescaped(line.substr(0, end)));
    if (end == std::string_view::npos) return out;
    line.remove_prefix(end + 1);
  }
}

std::string to_line(const Description& d) {
  std::string out = "D";
  for (const std::string* text : {&d.device, &d.name, &d.driver, &d.version, &d.target, &d.form})
    out += "\t" + escaped(*text);
  return out + "\n";
}

bool read_line(std::string_view line, Description& out) {
  std::vector<std::string> f = fields_of(line);
  if (f.size() != 7 || f[0] != "D") return false;
  out = {f[1], f[2], f[3], f[4], f[5], f[6]};
  return true;
}

std::string to_line(const Finding& f) {
  return fmt::format("{}\t{:.4f}\t{}\t{}\n", static_cast<int>(f.outcome.verdict), f.seconds,
                     escaped(f.outcome.reason), escaped(f.outcome.detail));
}

bool read_line(std::string_view line, Finding& out) {
  std::vector<std::string> f = fields_of(line);
  if (f.size() != 4 || f[0].size() != 1 || f[0][0] < '0' || f[0][0] > '2') return false;
  out.outcome.verdict = static_cast<Verdict>(f[0][0] - '0');
  out.seconds = std::strtod(f[1].c_str(), nullptr);
  out.outcome.reason = std::move(f[2]);
  out.outcome.detail = std::move(f[3]);
  return true;
}

Finding about(const Case& c) {
  Finding f;
  f.level = c.level;
  f.name = c.name;
  f.cell = c.cell;
  return f;
}

class Worker {
 public:
  ~Worker() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (fd_ >= 0) ::close(fd_);
  }

  Result<> start(const Options& o, uint32_t level, size_t from) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail(OST_INTERNAL, "pipe: {}", std::strerror(errno));
    fd_ = ends[0];
    constexpr int kChildFd = 3;
    std::vector<std::string> words = {"ost-conform",   o.subject,
                                      "--device",      std::to_string(o.device),
                                      "--level",       std::to_string(level),
                                      "--seed",        std::to_string(o.seed),
                                      "--worker-from", std::to_string(from),
                                      "--worker-fd",   std::to_string(kChildFd)};
    words.insert(words.end(), {"--timeout", std::to_string(o.timeout_s)});
    for (const std::string& option : o.driver_options)
      words.insert(words.end(), {"--option", option});
    if (!o.only.empty()) words.insert(words.end(), {"--only", o.only});
    if (o.verbose) words.emplace_back("--verbose");
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kChildFd);
    const int error = posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
      pid_ = -1;
      return fail(OST_INTERNAL, "a worker does not start: {}", std::strerror(error));
    }
    return {};
  }

  enum class Got : uint8_t { line, end, late };
  Got line(std::string& out, Clock::time_point deadline) {
    for (;;) {
      if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
        out = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return Got::line;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Got::late;
      pollfd p{fd_, POLLIN, 0};
      if (::poll(&p, 1, static_cast<int>(std::min<int64_t>(left, 60'000))) <= 0) continue;
      char chunk[4096];
      const ssize_t n = ::read(fd_, chunk, sizeof chunk);
      if (n > 0) {
        buffer_.append(chunk, static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        return Got::end;
      }
    }
  }

  // Of a worker whose pipe has ended.
  std::string how_it_ended() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      const char* name = sigabbrev_np(number);
      return fmt::format("the driver killed the process with SIG{} ({})",
                         name != nullptr ? name : "?", strsignal(number));
    }
    return fmt::format("the driver ended the process with exit code {} (rule 5)",
                       WEXITSTATUS(status));
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffer_;
};

// One level. Cases behind a crash go to the next worker.
class LevelRun {
 public:
  LevelRun(const Options& options, std::span<const Case> cases, const Listener& listener)
      : options_(options), cases_(cases), listener_(listener) {}

  Result<> run() {
    while (next_ < cases_.size()) {
      Worker worker;
      OST_TRY(worker.start(options_, cases_[0].level, next_));
      OST_TRY(follow(worker));
      if (ends_ >= kMostEnds) give_up();
    }
    return {};
  }

 private:
  Clock::time_point deadline() const {
    return Clock::now() + std::chrono::seconds(options_.timeout_s);
  }

  Result<> follow(Worker& worker) {
    std::string line;
    auto got = worker.line(line, deadline());
    Description description;
    if (got == Worker::Got::line && line.starts_with("E\t"))
      return fail(OST_UNAVAILABLE, "{}", fields_of(line)[1]);
    if (got != Worker::Got::line || !read_line(line, description)) {
      end_case(worker, got, "while it was loaded or opened: ");
      ends_ = kMostEnds;  // the next one would fare the same
      return {};
    }
    listener_.described(std::move(description));
    while (next_ < cases_.size()) {
      start_ = Clock::now();
      got = worker.line(line, deadline());
      Finding f = about(cases_[next_]);
      if (got != Worker::Got::line || !read_line(line, f)) {
        end_case(worker, got, "");
        return {};
      }
      listener_.found(std::move(f));
      ++next_;
    }
    return {};
  }

  void end_case(Worker& worker, Worker::Got got, const char* when) {
    ++ends_;
    Finding f = about(cases_[next_++]);
    const std::string how =
        got == Worker::Got::late
            ? fmt::format("the driver hangs: no answer in {} s", options_.timeout_s)
            : worker.how_it_ended();
    f.outcome = {Verdict::failed, when + how};
    f.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    listener_.found(std::move(f));
  }

  void give_up() {
    for (; next_ < cases_.size(); ++next_) {
      Finding f = about(cases_[next_]);
      f.outcome = {Verdict::failed, "not run: the driver ended the process before"};
      listener_.found(std::move(f));
    }
  }

  const Options& options_;
  std::span<const Case> cases_;
  const Listener& listener_;
  size_t next_ = 0;
  uint32_t ends_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::vector<Case> selected_cases(const Options& options) {
  std::vector<Case> out = all_cases();
  std::erase_if(out, [&](const Case& c) {
    return (options.levels && !options.levels->has(c.level)) ||
           (!options.only.empty() && !glob_fits(options.only, c.name));
  });
  return out;
}

Subject subject_of(const Options& options, uint32_t level) {
  Subject out;
  out.what = options.subject;
  out.index = options.device;
  out.seed = options.seed;
  out.limit_ns = uint64_t{options.timeout_s} * 250'000'000;  // a case waits a few times at most
  for (const std::string& text : options.driver_options) {
    const size_t equals = text.find('=');
    out.options[text.substr(0, equals)] =
        equals == std::string::npos ? std::string() : text.substr(equals + 1);
  }
  out.with_others = level == 5;
  return out;
}

Finding run_case(const Case& c, Lab& lab) {
  Finding f = about(c);
  const Clock::time_point start = Clock::now();
  try {
    const bool idle = c.level > 0 && (lab.info().flags & OST_DEVICE_COMPILE_ONLY) != 0;
    Check verdict = idle ? unsupported("the device only compiles") : c.run(lab);
    if (!verdict) f.outcome = std::move(verdict.error());
  } catch (const std::exception& e) {
    f.outcome = {Verdict::failed, fmt::format("an exception reached the kit: {}", e.what())};
  }
  if (f.outcome.verdict != Verdict::passed && f.outcome.reason.empty())
    f.outcome = {Verdict::failed, "there is no reason given"};
  f.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return f;
}

Result<> run_in_workers(const Options& options, std::span<const Case> cases,
                        const Listener& listener) {
  for (size_t first = 0; first < cases.size();) {
    size_t last = first;
    while (last < cases.size() && cases[last].level == cases[first].level) ++last;
    OST_TRY(LevelRun(options, cases.subspan(first, last - first), listener).run());
    first = last;
  }
  return {};
}

Description describe(const Lab& lab) {
  const ost_device_info_t& info = lab.info();
  std::string form = "none";
  if (const auto kernel = Lab::small_kernel()) {
    if (const auto recipe = runtime::recipe_for(*kernel, *lab.driver(), info))
      form = codegen::form_name(recipe->form);
  }
  return {lab.device_id(), info.name, lab.driver()->name(), lab.driver()->plugin().version,
          info.target,     form};
}

namespace {

bool write_all(int fd, std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = ::write(fd, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;  // nobody listens any more
    line.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

int run_worker(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<Case> cases = selected_cases(options);
  auto lab = Lab::open(subject_of(options, options.levels->first));  // a worker has one level
  if (!lab) {
    write_all(options.worker_fd, "E\t" + escaped(lab.error().message) + "\n");
    return kUnavailable;
  }
  if (!write_all(options.worker_fd, to_line(describe(**lab)))) return kInternal;
  for (size_t i = *options.worker_from; i < cases.size(); ++i) {
    if (!write_all(options.worker_fd, to_line(run_case(cases[i], **lab)))) return kInternal;
  }
  return kOk;
}

}  // namespace ost::conform
