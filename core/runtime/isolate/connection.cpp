#include "core/runtime/isolate/connection.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "core/runtime/env.hpp"

extern char** environ;

namespace ost::runtime::isolate {
namespace {

namespace fs = std::filesystem;
constexpr const char* kProgram = "ost-plugin-host";
constexpr int kChildFd = 3;

// Beside the executable or the library that this is part of, or in bin beside their folder.
Result<std::string> host_program() {
  static const char marker = 0;
  Dl_info info{};
  std::error_code ec;
  std::vector<fs::path> folders;
  if (dladdr(&marker, &info) != 0 && info.dli_fname != nullptr)
    folders.push_back(fs::canonical(info.dli_fname, ec).parent_path());
  folders.push_back(fs::canonical("/proc/self/exe", ec).parent_path());
  std::string tried;
  for (const fs::path& folder : folders) {
    for (const fs::path& at :
         {folder / kProgram, folder / "../bin" / kProgram, folder / "../../bin" / kProgram}) {
      if (fs::exists(at, ec)) return at.lexically_normal().string();
      tried += (tried.empty() ? "" : ", ") + at.lexically_normal().string();
    }
  }
  return fail(OST_NOT_FOUND, "{} was not found (tried {})", kProgram, tried);
}

std::string how_it_ended(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return "ended";
  }
  if (!WIFSIGNALED(status))
    return fmt::format("ended with exit code {} (rule 5)", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("was killed by SIG{}", name != nullptr ? name : "?");
}

}  // namespace

uint64_t time_limit_ms() {
  const auto text = env("OSTINATO_ISOLATE_TIMEOUT");
  const double seconds = text ? std::strtod(text->c_str(), nullptr) : 0;
  return seconds > 0 ? static_cast<uint64_t>(seconds * 1000) : 60'000;
}

Result<std::shared_ptr<Connection>> Connection::start(const std::string& library) {
  OST_TRY_ASSIGN(std::string program, host_program());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(OST_INTERNAL, "socketpair: {}", std::strerror(errno));
  std::shared_ptr<Connection> c(new Connection);
  c->fd_ = ends[0];
  std::string path = library, fd = std::to_string(kChildFd);
  char* argv[] = {program.data(), path.data(), fd.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kChildFd);
  const int error = posix_spawn(&c->pid_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    c->pid_ = -1;
    return fail(OST_INTERNAL, "{} does not start: {}", program, std::strerror(error));
  }
  c->reader_ = std::thread([raw = c.get()] { raw->read_frames(); });
  std::unique_lock lock(c->mutex_);
  const auto limit = std::chrono::milliseconds(time_limit_ms());
  const bool said =
      c->changed_.wait_for(lock, limit, [&] { return !c->hello_.empty() || !c->death_.empty(); });
  if (!said) {
    c->blame_ = fmt::format("gave no answer in {} ms and was ended", limit.count());
    ::kill(c->pid_, SIGKILL);
    c->changed_.wait(lock, [&] { return !c->death_.empty(); });
  }
  if (c->hello_.empty()) return fail(OST_UNAVAILABLE, "the driver's process {}", c->death_);
  return c;
}

Connection::~Connection() {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);  // the child ends when it reads that
  {
    std::unique_lock lock(mutex_);
    if (pid_ > 0 &&
        !changed_.wait_for(lock, std::chrono::seconds(3), [&] { return !death_.empty(); }))
      ::kill(pid_, SIGKILL);
  }
  if (reader_.joinable()) reader_.join();
  if (fd_ >= 0) ::close(fd_);
}

bool Connection::is_alive() {
  const std::scoped_lock lock(mutex_);
  return death_.empty();
}

void Connection::set_host(const ost_host_table_t* host) {
  const std::scoped_lock lock(mutex_);
  host_ = host;
}

void Connection::read_frames() {
  Frame frame;
  while (read_frame(fd_, frame)) serve(std::move(frame));
  // Whatever it still does, it does alone: without its socket it has nobody to do it for.
  ::shutdown(fd_, SHUT_RDWR);
  std::string how;
  for (int i = 0; i < 200 && how.empty(); ++i) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    how = how_it_ended(pid_);
  }
  if (how.empty()) {
    ::kill(pid_, SIGKILL);
    how = how_it_ended(pid_);
  }
  end(std::move(how));
}

void Connection::end(std::string why) {
  const std::scoped_lock lock(mutex_);
  death_ = blame_.empty() ? std::move(why) : blame_;
  changed_.notify_all();
}

void Connection::serve(Frame frame) {
  std::unique_lock lock(mutex_);
  Reader in(std::move(frame.data));
  switch (frame.kind) {
    case FrameKind::hello:
      hello_ = in.bytes();
      changed_.notify_all();
      return;
    case FrameKind::reply: {
      const auto w = waiting_.find(frame.number);
      if (w == waiting_.end()) return;
      w->second.reply.status = in.get<ost_status_t>();
      if (w->second.reply.status != OST_OK) w->second.reply.error = in.get<ost_error_t>();
      w->second.reply.data = std::move(in);
      w->second.done = true;
      changed_.notify_all();
      return;
    }
    case FrameKind::option: {
      const std::string name = in.text();
      const char* value = host_ != nullptr && host_->option != nullptr
                              ? host_->option(host_->context, name.c_str())
                              : nullptr;
      Writer out;
      out.put(value != nullptr).text(value != nullptr ? value : "");
      lock.unlock();
      const std::scoped_lock writing(write_);
      write_frame(fd_, FrameKind::option_answer, frame.number, out.data());
      return;
    }
    case FrameKind::log: {
      const auto level = in.get<uint32_t>();
      const std::string text = in.text();
      const ost_host_table_t* host = host_;
      lock.unlock();
      if (host != nullptr && host->log != nullptr)
        host->log(host->context, level, {text.data(), text.size()});
      return;
    }
    default:
      return;
  }
}

Reply Connection::lost_reply() {
  Reply out;
  out.status = OST_DEVICE_LOST;
  out.error.size = sizeof out.error;
  out.error.status = OST_DEVICE_LOST;
  out.error.flags = OST_ERROR_FLAG_DEVICE_LOST;
  out.error.rule = 7;
  const std::string text = fmt::format("the driver's process {}", death_);
  std::memcpy(out.error.message, text.data(), std::min(text.size(), sizeof out.error.message - 1));
  return out;
}

Reply Connection::call(Op op, const Writer& arguments, uint64_t limit_ms) {
  std::unique_lock lock(mutex_);
  if (!death_.empty()) return lost_reply();
  const uint64_t number = next_++;
  Waiting& mine = waiting_[number];
  lock.unlock();
  Writer out;
  out.put(op).bytes(arguments.data().data(), arguments.data().size());
  {
    const std::scoped_lock writing(write_);
    write_frame(fd_, FrameKind::request, number, out.data());  // a failure ends in end()
  }
  lock.lock();
  const auto over = [&] { return mine.done || !death_.empty(); };
  if (limit_ms == kNoLimit) {
    changed_.wait(lock, over);
  } else if (!changed_.wait_for(lock, std::chrono::milliseconds(limit_ms), over)) {
    blame_ = fmt::format("hangs: no answer in {} ms; it was ended", limit_ms);
    ::kill(pid_, SIGKILL);
    changed_.wait(lock, [&] { return !death_.empty(); });
  }
  // A reply that came before the end is one all the same.
  Reply reply = mine.done ? std::move(mine.reply) : lost_reply();
  waiting_.erase(number);
  return reply;
}

}  // namespace ost::runtime::isolate
