// Reductions over the rows of a large matrix for all of its columns (column sums, x * W): rows are
// read as they lie in memory, some thousand columns at a time, eight rows together, with the
// accumulators of the columns in scratch memory. The bits are those of a loop over the rows for
// each column.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plugins/cpu/compiler/eval.hpp"

namespace ost_cpu {

struct Stream {
  Id axis = kNone;                           // of the rows
  std::vector<Id> group;                     // the reductions
  static constexpr int64_t kColumns = 1024;  // of a task at most
};

// Can the reductions (all that the stores need) be done so, and is it worth it? `vector`: the axis
// of the columns.
std::optional<Stream> find_stream(const Facts& facts, Id vector, const std::vector<Id>& needed);

int64_t stream_scratch(const Facts& facts, const Stream& stream);
// For columns [lo, hi) of `vector`, at most kColumns: accumulates, then calls `finish(at, mask)`
// for every `width` columns in a scope where they are bound and the reductions are known; with
// width 1 for single columns.
struct StreamLoop {
  Id vector;
  unsigned width;
  bool masked_tail;
  Value *scratch, *lo, *hi;
};
void emit_stream(Eval& eval, const Stream& stream, const StreamLoop& loop,
                 const std::function<void()>& finish);

}  // namespace ost_cpu
