// Many numbers through the operations whose meaning is easy to get almost right: casts at ties and
// at the ends of types, division, square root, ldexp. One kernel has several of them.
#include <bit>
#include <cmath>
#include <functional>

#include "core/base/half.hpp"
#include "spirv_lab.hpp"

namespace ost::test {
namespace {

using conform::Bytes;
using conform::Random;
using kir::Builder;
using kir::Op;
using kir::Role;
using kir::Value;

constexpr int64_t kCount = 1 << 17;

// A neighbour of x, or x.
template <class Float, class Bits>
Float near(Float x, Random& random) {
  return std::bit_cast<Float>(static_cast<Bits>(std::bit_cast<Bits>(x) + random() % 3 - 1));
}

float hard_f32(Random& random) {
  const auto bits = static_cast<uint32_t>(random());
  const auto half = static_cast<uint16_t>(bits);
  switch (random() % 6) {
    case 0: {  // between two f16, or next to it
      const double sum = double{f16_to_f32(half)} + f16_to_f32(static_cast<uint16_t>(half + 1));
      return near<float, uint32_t>(static_cast<float>(sum / 2), random);
    }
    case 1:  // between two bf16
      return near<float, uint32_t>(std::bit_cast<float>((uint32_t{half} << 16) + 0x8000), random);
    case 2:  // powers of two, where integer types end
      return near<float, uint32_t>(
          std::ldexp(bits & 1 ? -1.0f : 1.0f, static_cast<int>(bits >> 1) % 70), random);
    case 3:  // subnormal
      return std::bit_cast<float>(bits & 0x807fffff);
    case 4:
      return static_cast<float>(static_cast<int32_t>(bits) % 4000) / 8;
    default:
      return std::bit_cast<float>(bits);
  }
}

double hard_f64(Random& random) {
  const double x = hard_f32(random);
  switch (random() % 4) {
    case 0:
      return std::bit_cast<double>(random());
    case 1: {  // between two f32
      const float up = std::nextafter(static_cast<float>(x), INFINITY);
      return near<double, uint64_t>((x + double{up}) / 2, random);
    }
    case 2:
      return near<double, uint64_t>(x, random);
    default:
      return x;
  }
}

// A few bits at the top, and one far below: halfway and next to it.
uint64_t hard_whole(Random& random) {
  const uint64_t top = random() % 4096, place = random() % 52;
  const uint64_t x =
      (top << place) + (place > 0 ? uint64_t{1} << random() % place : 0) + random() % 3 - 1;
  const uint64_t any = random() >> random() % 64;
  const uint64_t chosen = random() % 2 == 0 ? x : any;
  return random() % 2 == 0 ? chosen : uint64_t{0} - chosen;
}

Bytes contents(DType t, Random& random) {
  Bytes out(static_cast<size_t>(kCount) * size_of(t));
  for (int64_t i = 0; i < kCount; ++i) {
    uint64_t bits = t == DType::f32   ? std::bit_cast<uint32_t>(hard_f32(random))
                    : t == DType::f64 ? std::bit_cast<uint64_t>(hard_f64(random))
                    : is_half(t)      ? static_cast<uint64_t>(i)
                                      : hard_whole(random);
    std::memcpy(&out[static_cast<size_t>(i) * size_of(t)], &bits, size_of(t));
  }
  return out;
}

struct Results {
  DType type;
  std::function<Value(Builder&, std::span<const Value>)> make;
};

Result<conform::Trial> trial(const std::vector<DType>& operands,
                             const std::vector<Results>& results, uint64_t seed) {
  Random random(seed);
  Builder b;
  conform::Trial out;
  conform::Launch launch;
  const Value count = b.i64(kCount);
  const Value i = b.axis(count, Role::parallel);
  std::vector<Value> loaded;
  uint32_t slot = 0;
  for (const DType t : operands) {
    loaded.push_back(b.load(b.param(slot++, t, count, OST_KIR_READ), i));
    launch.params.push_back(contents(t, random));
  }
  for (const Results& r : results) {
    b.store(b.param(slot++, r.type, count, OST_KIR_WRITE), i, r.make(b, loaded));
    launch.params.emplace_back(static_cast<size_t>(kCount) * size_of(r.type), uint8_t{0x5a});
  }
  OST_TRY_ASSIGN(out.kernel, b.build());
  out.launches.push_back(std::move(launch));
  return out;
}

}  // namespace

std::vector<Subject> wide_subjects() {
  std::vector<Subject> out;
  const auto add = [&](std::string name, const std::vector<DType>& operands,
                       const std::vector<Results>& results) {
    auto made = trial(operands, results, out.size() + 1);
    if (made) out.push_back({std::move(name), std::move(*made), 256});
  };
  for (const DType from : kAllDTypes) {
    std::vector<Results> results;
    for (const DType to : kAllDTypes)
      if (to != from && from != DType::boolean)
        results.push_back({to, [to](Builder& b, auto v) { return b.cast(to, v[0]); }});
    if (!results.empty()) add(fmt::format("wide.cast.{}", name_of(from)), {from}, results);
  }
  for (const DType t : {DType::f32, DType::f64}) {
    std::vector<Results> results;
    for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max})
      results.push_back({t, [op](Builder& b, auto v) { return b.binary(op, v[0], v[1]); }});
    for (const Op op : {Op::sqrt, Op::floor, Op::ceil, Op::trunc, Op::rint})
      results.push_back({t, [op](Builder& b, auto v) { return b.unary(op, v[0]); }});
    results.push_back({t, [](Builder& b, auto v) { return b.fma(v[0], v[1], v[2]); }});
    add(fmt::format("wide.math.{}", name_of(t)), {t, t, t}, results);
    add(fmt::format("wide.ldexp.{}", name_of(t)), {t, DType::i32},
        {{t, [](Builder& b, auto v) { return b.ldexp(v[0], v[1]); }},
         {t, [](Builder& b, auto v) {  // amounts that matter
            return b.ldexp(v[0], b.binary(Op::rem, v[1], b.constant(DType::i32, 400)));
          }}});
  }
  for (const DType t : {DType::i8, DType::i64, DType::u16, DType::u64}) {
    std::vector<Results> results;
    for (const Op op : {Op::div, Op::rem, Op::shl, Op::shr, Op::mul, Op::min, Op::max})
      results.push_back({t, [op](Builder& b, auto v) { return b.binary(op, v[0], v[1]); }});
    add(fmt::format("wide.math.{}", name_of(t)), {t, t}, results);
  }
  return out;
}

}  // namespace ost::test
