#include "jit.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/half.hpp"
#include "plugins/cpu/abi/image.hpp"

namespace ost::cpu_test {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> t{{"x86-64", ost_cpu::kBaseline}};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      t.push_back({"avx2", ost_cpu::kAvx2Level});
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
      t.push_back({"avx512", ost_cpu::kAvx512Level});
    return t;
  }();
  return all;
}

const ost_cpu_compiler_t& compiler() {
  static const ost_cpu_compiler_t* table = [] {
    void* library = dlopen(OST_CPU_COMPILER, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<ost_cpu_compiler_fn>(dlsym(library, OST_CPU_COMPILER_SYMBOL))();
  }();
  return *table;
}

Result<std::string> compile_image(const Kernel& kernel, const std::string& target,
                                  const std::string& options) {
  const std::vector<uint8_t> bytes = to_binary(kernel);
  std::string image;
  const auto write = [](void* to, const void* data, uint64_t size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
  };
  const ost_cpu_compile_t job{{bytes.data(), bytes.size()},
                              {"kernel", 6},
                              {target.data(), target.size()},
                              {options.data(), options.size()},
                              {&image, write},
                              {},
                              nullptr,
                              nullptr};
  ost_error_t error{};
  error.size = sizeof error;
  if (compiler().compile(&job, &error) != OST_OK)
    return std::unexpected(Error{error.status, error.message, 0, 0, 0});
  return image;
}

Result<std::unique_ptr<Code>> Code::make(const Kernel& kernel, ost_cpu::FeatureSet features) {
  const char* dump = std::getenv("OST_CPU_DUMP");
  OST_TRY_ASSIGN(const std::string image,
                 compile_image(kernel, ost_cpu::to_key(features),
                               dump ? std::string("dump=") + dump : std::string()));
  Elf64_Ehdr head;
  std::memcpy(&head, image.data(), sizeof head);
  Elf64_Phdr segment;
  std::memcpy(&segment, image.data() + head.e_phoff, sizeof segment);
  std::unique_ptr<Code> code(new Code);
  code->size_ = segment.p_filesz;
  code->text_ =
      mmap(nullptr, code->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code->text_ == MAP_FAILED) return fail(OST_OUT_OF_MEMORY, "mmap failed");
  std::memcpy(code->text_, image.data() + segment.p_offset, code->size_);
  mprotect(code->text_, code->size_, PROT_READ | PROT_EXEC);
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  std::memcpy(sections.data(), image.data() + head.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_SYMTAB) continue;
    for (uint64_t at = s.sh_offset; at < s.sh_offset + s.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + at, sizeof symbol);
      if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL) continue;
      code->fn_ = reinterpret_cast<ost_cpu_kernel_fn>(static_cast<char*>(code->text_) +
                                                      symbol.st_value - segment.p_vaddr);
    }
  }
  if (!code->fn_) return fail(OST_INTERNAL, "the image has no kernel");
  return code;
}

Code::~Code() { munmap(text_, size_); }

ost_cpu_plan_t Code::plan(const std::vector<int64_t>& vars) const {
  const ost_cpu_call_t call{nullptr, vars.data(), nullptr};
  ost_cpu_plan_t plan{};
  fn_(&call, &plan, OST_CPU_PHASE_PLAN, 0, 0);
  return plan;
}

void Code::run(const std::vector<void*>& params, const std::vector<int64_t>& vars,
               uint64_t seed) const {
  const ost_cpu_plan_t p = plan(vars);
  const auto aligned = [](std::vector<std::byte>& storage, uint64_t bytes) -> void* {
    storage.assign(bytes + 64, std::byte{0xcd});
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) &
                                   ~uintptr_t{63});
  };
  std::vector<std::byte> scratch, shared;
  void* s = aligned(scratch, p.scratch_bytes);
  const ost_cpu_call_t call{params.data(), vars.data(), aligned(shared, p.shared_bytes)};
  Random random(seed + 1);
  for (uint32_t phase = 0; phase < p.phase_count; ++phase) {
    const int64_t tasks = p.phases[phase].tasks;
    if (seed == 0) {
      fn_(&call, s, phase, 0, tasks);
      continue;
    }
    std::vector<std::pair<int64_t, int64_t>> pieces;
    for (int64_t lo = 0; lo < tasks;) {
      const int64_t hi = std::min<int64_t>(tasks, lo + 1 + static_cast<int64_t>(random.below(3)));
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size() + 1)),
                    {lo, hi});
      lo = hi;
    }
    for (const auto& [lo, hi] : pieces) fn_(&call, s, phase, lo, hi);
  }
}

Buffer::Buffer(std::vector<uint8_t> contents)
    : bytes_(contents.size() + 2 * kMargin, uint8_t{0xa5}) {
  std::copy(contents.begin(), contents.end(), bytes_.begin() + kMargin);
}

bool Buffer::margins_intact() const {
  const auto intact = [](uint8_t x) { return x == 0xa5; };
  return std::all_of(bytes_.begin(), bytes_.begin() + kMargin, intact) &&
         std::all_of(bytes_.end() - kMargin, bytes_.end(), intact);
}

namespace {

template <class T>
void append(std::vector<uint8_t>& out, T value) {
  const auto* p = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), p, p + sizeof value);
}

double random_real(Random& r) {
  const double mantissa = static_cast<double>(static_cast<int64_t>(r.next())) * 0x1p-63;
  switch (r.below(8)) {
    case 0:
      return std::ldexp(mantissa, static_cast<int>(r.below(300)) - 150);
    case 1:
      return static_cast<double>(static_cast<int64_t>(r.below(41)) - 20);
    default:
      return mantissa * 8;
  }
}

uint64_t random_bits(Random& r, uint32_t width) {
  const uint64_t all = ~uint64_t{0} >> (64 - width);
  switch (r.below(8)) {
    case 0:
      return 0;
    case 1:
      return all;
    case 2:
      return uint64_t{1} << (width - 1);
    case 3:
      return (all >> 1);
    case 4:
      return r.next() & all;
    default:
      return (r.below(41) - 20) & all;
  }
}

}  // namespace

std::vector<uint8_t> random_data(Random& r, DType type, size_t count) {
  std::vector<uint8_t> out;
  static const std::vector<double> specials = {0.0,     -0.0,    INFINITY, -INFINITY, NAN,   1e-42,
                                               -1e-310, 1.5e300, 0.5,      65504,     65520, -1};
  for (size_t i = 0; i < count; ++i) {
    const double x = r.one_in(12) ? r.pick(specials) : random_real(r);
    switch (type) {
      case DType::boolean:
        out.push_back(r.below(2) != 0);
        break;
      case DType::f16:
        append(out, f32_to_f16(static_cast<float>(x)));
        break;
      case DType::bf16:
        append(out, f32_to_bf16(static_cast<float>(x)));
        break;
      case DType::f32:
        append(out, static_cast<float>(x));
        break;
      case DType::f64:
        append(out, x);
        break;
      default: {
        const uint64_t bits = random_bits(r, bits_of(type));
        const auto* p = reinterpret_cast<const uint8_t*>(&bits);
        out.insert(out.end(), p, p + size_of(type));
      }
    }
  }
  return out;
}

::testing::AssertionResult same_contents(DType type, const std::vector<uint8_t>& got,
                                         const std::vector<uint8_t>& want) {
  const size_t size = size_of(type);
  const auto element = [&](const std::vector<uint8_t>& v, size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, v.data() + i * size, size);
    return bits;
  };
  const auto is_nan = [&](uint64_t bits) {
    switch (type) {
      case DType::f16:
        return (bits & 0x7fff) > 0x7c00;
      case DType::bf16:
        return (bits & 0x7fff) > 0x7f80;
      case DType::f32:
        return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      case DType::f64:
        return std::isnan(std::bit_cast<double>(bits));
      default:
        return false;
    }
  };
  for (size_t i = 0; i * size < want.size(); ++i) {
    const uint64_t g = element(got, i), w = element(want, i);
    if (g == w || (is_nan(g) && is_nan(w))) continue;
    return ::testing::AssertionFailure()
           << name_of(type) << " element " << i << " of " << want.size() / size << ": got 0x"
           << std::hex << g << ", want 0x" << w;
  }
  return ::testing::AssertionSuccess();
}

void expect_equal(const Kernel& kernel, const std::vector<std::vector<uint8_t>>& data,
                  const std::vector<int64_t>& vars, uint64_t seed) {
  std::vector<DType> types(data.size());
  for (const auto& inst : kernel.insts)
    if (static_cast<Op>(inst.op) == Op::param) types[inst.imm] = static_cast<DType>(inst.dtype);
  std::vector<std::vector<uint8_t>> want = data;
  std::vector<kir::ParamData> params;
  for (auto& d : want) params.push_back({d.data(), d.size()});
  const Result<> ran = interpret(kernel, params, vars);
  ASSERT_TRUE(ran) << ran.error().message;
  for (const Target& target : targets()) {
    const auto code = Code::make(kernel, target.features);
    ASSERT_TRUE(code) << target.name << ": " << code.error().message << "\n" << to_text(kernel);
    std::vector<Buffer> buffers;
    std::vector<void*> pointers;
    for (const auto& d : data) buffers.emplace_back(d);
    for (Buffer& buffer : buffers) pointers.push_back(buffer.data());
    (*code)->run(pointers, vars, seed);
    for (size_t i = 0; i < data.size(); ++i) {
      ASSERT_TRUE(buffers[i].margins_intact())
          << target.name << ": wrote outside of slot " << i << "\n"
          << to_text(kernel);
      ASSERT_TRUE(same_contents(types[i], buffers[i].contents(), want[i]))
          << target.name << ", slot " << i << "\n"
          << to_text(kernel);
    }
  }
}

Value Case::smooth_input(DType type, int64_t n) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(static_cast<int64_t>(random.next())) * 0x1p-62;
    if (type == DType::f32)
      append(bytes, static_cast<float>(x));
    else if (type == DType::f64)
      append(bytes, x);
    else if (type == DType::f16)
      append(bytes, f32_to_f16(static_cast<float>(x)));
    else
      append(bytes, f32_to_bf16(static_cast<float>(x)));
  }
  data.push_back(std::move(bytes));
  return b.param(static_cast<uint32_t>(data.size() - 1), type, b.i64(n), OST_KIR_READ);
}

void Case::check(const std::vector<int64_t>& vars) {
  const auto kernel = b.build();
  ASSERT_TRUE(kernel) << kernel.error().message;
  expect_equal(*kernel, data, vars, random.below(3));
}

}  // namespace ost::cpu_test
