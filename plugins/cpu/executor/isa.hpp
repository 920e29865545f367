// What this machine's processor can do, as the features that target keys name, and what the user
// allows of it.
#pragma once

#include <string>
#include <string_view>

#include "../abi/target.hpp"

namespace ost_cpu {

// Features that processor and operating system both support; closed under what each needs.
FeatureSet host_features();

// Option "isa": "" or "native" (all), "baseline", "avx2", "avx512", or a target key. Returns the
// part of `host` that is allowed; throws ost::plugin::Failure for an unknown word and for a feature
// that the host has not.
FeatureSet restrict_features(FeatureSet host, std::string_view option);

// "avx512f, avx512bw": for messages.
std::string feature_list(FeatureSet set);

std::string processor_name();

}  // namespace ost_cpu
