#include "program.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace hip {
namespace {

using ost::plugin::cat;
using ost::plugin::view;

constexpr std::string_view kMagic = "OSTHIP1\n";

// strict: no contraction, and nothing that would flush denormals or approximate a division.
constexpr const char* kFlags[] = {"-O3", "-std=c++17", "-ffp-contract=off"};

// --- the image

void put_number(std::string& out, uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_text(std::string& out, std::string_view text) {
  put_number(out, static_cast<uint32_t>(text.size()));
  out += text;
}
std::string_view take(std::string_view& rest, size_t size) {
  if (rest.size() < size) fail(OST_DATA_LOSS, "the image is cut off");
  const std::string_view text = rest.substr(0, size);
  rest.remove_prefix(size);
  return text;
}
uint32_t take_number(std::string_view& rest) {
  uint32_t number = 0;
  std::memcpy(&number, take(rest, sizeof number).data(), sizeof number);
  return number;
}
std::string take_text(std::string_view& rest) {
  const uint32_t size = take_number(rest);
  return std::string(take(rest, size));
}

// --- the source

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The arguments of `... __global__ ... entry(u8* p0, ..., long long v0, ...)`: pointers, then
// integers.
void read_signature(std::string_view source, ImageHead& head) {
  for (size_t at = source.find("__global__"); at != std::string_view::npos;
       at = source.find("__global__", at + 1)) {
    const size_t name = source.find(head.entry + "(", at);
    if (name == std::string_view::npos) break;
    if (is_word(source[name - 1])) continue;
    const size_t open = name + head.entry.size();
    const size_t close = source.find(')', open);
    if (close == std::string_view::npos) break;
    const std::string_view list = source.substr(open + 1, close - open - 1);
    if (list.empty()) return;
    head.params = static_cast<uint32_t>(std::ranges::count(list, '*'));
    head.vars = static_cast<uint32_t>(std::ranges::count(list, ',')) + 1 - head.params;
    return;
  }
  fail(OST_COMPILE_FAILED, "the source has no kernel '", head.entry, "'");
}

// --- the compiler

void check_rtc(RtcError code, const char* call) {
  if (code != 0) throw ost::plugin::Failure(OST_INTERNAL, cat(call, " gives ", code), 0, code);
}

struct Program {
  Program(const Api& from, const std::string& source) : api(from) {
    check_rtc(api.hiprtcCreateProgram(&handle, source.c_str(), "kernel.hip", 0, nullptr, nullptr),
              "hiprtcCreateProgram");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { api.hiprtcDestroyProgram(&handle); }

  std::string log() const {
    size_t size = 0;
    check_rtc(api.hiprtcGetProgramLogSize(handle, &size), "hiprtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) check_rtc(api.hiprtcGetProgramLog(handle, text.data()), "hiprtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }
  std::string code() const {
    size_t size = 0;
    check_rtc(api.hiprtcGetCodeSize(handle, &size), "hiprtcGetCodeSize");
    std::string bytes(size, '\0');
    check_rtc(api.hiprtcGetCode(handle, bytes.data()), "hiprtcGetCode");
    return bytes;
  }

  const Api& api;
  RtcProgram handle = nullptr;
};

std::string compile(const Api& api, const std::string& source, const std::string& target,
                    const ost_sink_t& log) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  const Program program(api, source);
  const std::string arch = "--gpu-architecture=" + target;
  std::vector<const char*> options{arch.c_str()};
  options.insert(options.end(), std::begin(kFlags), std::end(kFlags));
  const RtcError code =
      api.hiprtcCompileProgram(program.handle, static_cast<int>(options.size()), options.data());
  const std::string said = program.log();
  ost::plugin::put(log, said);
  if (code != 0)
    throw ost::plugin::Failure(OST_COMPILE_FAILED,
                               cat("hipRTC gives ", code, " for ", target, ": ", said), 0, code);
  return program.code();
}

}  // namespace

Image parse_image(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!rest.starts_with(kMagic)) fail(OST_INCOMPATIBLE, "not an image of the hip driver");
  rest.remove_prefix(kMagic.size());
  Image image;
  image.target = take_text(rest);
  image.entry = take_text(rest);
  image.params = take_number(rest);
  image.vars = take_number(rest);
  image.code = take_text(rest);
  if (!rest.empty()) fail(OST_DATA_LOSS, rest.size(), " bytes behind the end of the image");
  return image;
}

std::string compiler_key(const Api& api) {
  if (!api.rtc_missing.empty()) fail(OST_UNAVAILABLE, api.rtc_missing);
  int major = 0, minor = 0, runtime = 0;
  check_rtc(api.hiprtcVersion(&major, &minor), "hiprtcVersion");
  if (api.hipRuntimeGetVersion != nullptr) api.hipRuntimeGetVersion(&runtime);
  std::string key = cat("hiprtc-", major, ".", minor, "/", runtime, "/1");
  for (const char* flag : kFlags) key += cat(" ", flag);
  return key;
}

std::string build_image(const Api& api, const ost_compile_t& job) {
  if (job.form != OST_FORM_HIP_CPP)
    fail(OST_UNIMPLEMENTED, "form ", job.form, ", this driver compiles hip-cpp");
  if (job.options.size != 0)
    fail(OST_INVALID_ARGUMENT, "unknown options \"", view(job.options), "\"");
  if (job.entry.size == 0) fail(OST_INVALID_ARGUMENT, "the kernel has no name");
  if (!api.rtc_missing.empty()) fail(OST_UNAVAILABLE, api.rtc_missing);
  const std::string source(static_cast<const char*>(job.code.data), job.code.size);
  ImageHead head;
  head.target = view(job.target);
  head.entry = view(job.entry);
  read_signature(source, head);
  const std::string code = compile(api, source, head.target, job.log);
  std::string image(kMagic);
  put_text(image, head.target);
  put_text(image, head.entry);
  put_number(image, head.params);
  put_number(image, head.vars);
  put_text(image, code);
  return image;
}

// --- executables

Executable::Executable(const DevicePtr& device, const Image& image)
    : device_(device), head_(image) {
  if (image.target != device->info().target)
    fail(OST_INCOMPATIBLE, "the image is for ", image.target, ", the device is ",
         device->info().target);
  device_->use();
  device_->check(device_->api().hipModuleLoadData(&module_, image.code.data()),
                 "hipModuleLoadData");
  const Error code = device_->api().hipModuleGetFunction(&function_, module_, head_.entry.c_str());
  if (code == kSuccess) return;
  device_->api().hipModuleUnload(module_);
  device_->check(code, "hipModuleGetFunction");
}

Executable::~Executable() {
  device_->api().hipSetDevice(device_->index());
  device_->api().hipModuleUnload(module_);
}

void Executable::check(const Command& c) const {
  if (c.entry != 0) fail(OST_NOT_FOUND, "entry ", c.entry, " of an image with 1");
  if (c.refs.size() != head_.params || c.vars.size() != head_.vars)
    fail(OST_INVALID_ARGUMENT, c.refs.size(), " buffers and ", c.vars.size(),
         " variables, the kernel has ", head_.params, " and ", head_.vars);
  constexpr uint64_t kMost[] = {0x7fffffff, 0xffff, 0xffff};  // blocks of a grid
  uint64_t lanes = 1;
  for (int d = 0; d < 3; ++d) {
    const uint64_t groups = c.grid[d] / c.group[d];
    if (groups > kMost[d] || c.grid[d] > 0xffffffffu)
      fail(OST_INVALID_ARGUMENT, groups, " groups in dimension ", d, ", HIP has ", kMost[d],
           " and 2^32 work-items at most");
    lanes *= c.group[d];
  }
  if (lanes > device_->info().max_group)
    fail(OST_INVALID_ARGUMENT, "a group of ", lanes, " work-items, this device has ",
         device_->info().max_group);
}

void Executable::launch(Stream stream, const Command& c) const {
  if (c.grid[0] == 0 || c.grid[1] == 0 || c.grid[2] == 0) return;
  std::vector<std::byte*> params;
  for (const Command::Ref& r : c.refs) params.push_back(r.buffer->memory->data() + r.offset);
  std::vector<int64_t> vars(c.vars);
  std::vector<void*> arguments;
  for (std::byte*& p : params) arguments.push_back(&p);
  for (int64_t& v : vars) arguments.push_back(&v);
  const auto blocks = [&](int d) { return static_cast<unsigned>(c.grid[d] / c.group[d]); };
  device_->check(device_->api().hipModuleLaunchKernel(function_, blocks(0), blocks(1), blocks(2),
                                                      c.group[0], c.group[1], c.group[2], 0, stream,
                                                      arguments.data(), nullptr),
                 "hipModuleLaunchKernel");
}

}  // namespace hip
