#include "isa.hpp"

#include <cpuid.h>

#include <cstring>
#include <ostinato/plugin/error.hpp>

namespace ost_cpu {

using ost::plugin::fail;

FeatureSet host_features() {
  __builtin_cpu_init();
  FeatureSet set = 0;
  // The builtin takes literals only; it also asks xgetbv whether the system saves the registers.
#define OST_CPU_FEATURE(name) \
  if (__builtin_cpu_supports(name)) set |= feature(name)
  OST_CPU_FEATURE("avx");
  OST_CPU_FEATURE("avx2");
  OST_CPU_FEATURE("avx512bw");
  OST_CPU_FEATURE("avx512cd");
  OST_CPU_FEATURE("avx512dq");
  OST_CPU_FEATURE("avx512f");
  OST_CPU_FEATURE("avx512vl");
  OST_CPU_FEATURE("bmi");
  OST_CPU_FEATURE("bmi2");
  OST_CPU_FEATURE("f16c");
  OST_CPU_FEATURE("fma");
  OST_CPU_FEATURE("lzcnt");
  OST_CPU_FEATURE("popcnt");
  OST_CPU_FEATURE("sse3");
  OST_CPU_FEATURE("sse4.1");
  OST_CPU_FEATURE("sse4.2");
  OST_CPU_FEATURE("ssse3");
#undef OST_CPU_FEATURE
  // A hypervisor may mask one feature and leave what builds on it: keep those whose needs are all
  // there.
  FeatureSet usable = 0;
  for (unsigned i = 0; i < kFeatureCount; ++i) {
    const FeatureSet needs = closed(FeatureSet{1} << i);
    if ((needs & ~set) == 0) usable |= needs;
  }
  return usable;
}

FeatureSet restrict_features(FeatureSet host, std::string_view option) {
  if (option.empty() || option == "native") return host;
  if (option == "baseline") return kBaseline;
  if (option == "avx2") return host & kAvx2Level;
  if (option == "avx512") return host & kAvx512Level;
  const auto wanted = from_key(option);
  if (!wanted) {
    fail(OST_INVALID_ARGUMENT, "option isa is '", option,
         "', wanted native, baseline, avx2, avx512 or a target key such as '", to_key(host), "'");
  }
  if ((*wanted & ~host) != 0) {
    fail(OST_INVALID_ARGUMENT, "option isa asks for ", feature_list(*wanted & ~host),
         ", which this processor has not");
  }
  return *wanted;
}

std::string feature_list(FeatureSet set) {
  std::string text;
  for (unsigned i = 0; i < kFeatureCount; ++i) {
    if ((set >> i & 1) == 0) continue;
    if (!text.empty()) text += ", ";
    text += kFeatures[i];
  }
  return text;
}

std::string processor_name() {
  unsigned words[12] = {};
  unsigned highest = 0;
  unsigned unused = 0;
  if (__get_cpuid(0x80000000u, &highest, &unused, &unused, &unused) == 0 || highest < 0x80000004u)
    return "x86-64";
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* w = words + 4 * i;
    __get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3]);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  std::string_view name(text);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return name.empty() ? "x86-64" : std::string(name);
}

}  // namespace ost_cpu
