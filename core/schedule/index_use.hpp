// How a node is indexed from inside a kernel: for each of its axes, which axes of the kernel's root
// decide the index.
//
// A use is a summary, not an index expression: equal hashes mean equal index maps, different ones
// may still be equal.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.hpp"

namespace ost {

struct AxisUse {
  uint64_t axes = 0;  // bit d: depends on axis d of the root; kReduceBit: on an axis that a
                      // reduction introduced
  uint64_t hash = 0;  // of the map; 0 for the constant index 0
  friend bool operator==(const AxisUse&, const AxisUse&) = default;
};
inline constexpr uint64_t kReduceBit = uint64_t{1} << 63;

using AxisMap = std::vector<AxisUse>;  // per axis of the node

struct IndexUse {
  std::vector<AxisMap> maps;  // the different index maps of all uses seen so far, at most kMaxMaps
  bool many = false;          // there were more than kMaxMaps
  bool contraction_operand = false;
  bool bijective = true;  // on the way lie only reshapes, permutations and flips
  int budget =
      1 << 20;  // operations that may still be inlined here (small for operands of contractions)

  static constexpr size_t kMaxMaps = 4;

  // The identity on a shape: axis d depends on axis d.
  static IndexUse identity(std::span<const Sym> shape);
  bool is_single() const { return !many && maps.size() == 1; }
  bool is_identity() const;
  // Every element of the node belongs to one element of the root, and no axis of the root decides
  // two axes of the node, unless another axis than `last` does: what a kernel may compute beside a
  // contraction without computing any of it twice, and with the root's last axis as its columns.
  bool is_rearrangement(size_t last) const;
  uint64_t depends_on() const;  // union over all maps and axes
  void add_map(AxisMap map);
  void merge(const IndexUse& other);
};

// The use of operand `operand` of `node` that follows from a use of the node itself.
IndexUse use_of_operand(const ir::Graph& graph, ir::NodeId node, size_t operand,
                        const IndexUse& use);

}  // namespace ost
