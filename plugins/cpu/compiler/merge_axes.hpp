// Two parallel axes that every index walks as one (i * N + j with j < N) become one axis: longer
// vectors, fewer loops.
#pragma once

#include <ostinato/kir.hpp>

namespace ost_cpu {

// The same kernel with fewer axes; what it computes and in which order it reduces is unchanged.
ostinato::kir::Kernel merge_axes(ostinato::kir::Kernel kernel);

}  // namespace ost_cpu
