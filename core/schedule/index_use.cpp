#include "core/schedule/index_use.hpp"

#include <algorithm>

#include "core/schedule/reshape_map.hpp"

namespace ost {

namespace {

using ir::Node;
using ir::Op;

constexpr uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9u;
  return (x ^ (x >> 31)) | 1;
}

uint64_t hash_sym(const Sym& s) {
  if (auto c = s.constant()) return mix(7, static_cast<uint64_t>(*c));
  return mix(11, std::hash<std::string>{}(s.str()));
}

bool is_one(const Sym& s) { return s == Sym(1); }

// All axes of a set decide together (a run of a reshape that does not keep its axes).
AxisUse combine(std::span<const AxisUse> axes, uint64_t salt) {
  AxisUse out;
  for (const AxisUse& a : axes) {
    out.axes |= a.axes;
    salt = mix(salt, a.hash);
  }
  out.hash = out.axes == 0 ? 0 : salt;
  return out;
}

void through_reshape(const Node& node, const Node& operand, const AxisMap& use, AxisMap& out) {
  for (const ReshapeRun& run : reshape_runs(operand.shape, node.shape)) {
    const size_t from = run.from_end - run.from_begin, to = run.to_end - run.to_begin;
    if (from == 1 && to == 1) {
      out[run.from_begin] = use[run.to_begin];
      continue;
    }
    std::span<const AxisUse> axes(use.data() + run.to_begin, to);
    for (size_t i = run.from_begin; i < run.from_end; ++i) {
      if (is_one(operand.shape[i])) continue;
      out[i] = combine(axes, mix(i - run.from_begin + 1, from * 64 + to));
    }
  }
}

// An axis that the node itself introduces and runs over.
AxisUse reduce_axis(ir::NodeId node, uint64_t which) {
  return {kReduceBit, mix(node + 1, which + 1)};
}

}  // namespace

IndexUse IndexUse::identity(std::span<const Sym> shape) {
  AxisMap map;
  for (size_t d = 0; d < shape.size(); ++d) {
    map.push_back(is_one(shape[d])
                      ? AxisUse{}
                      : AxisUse{uint64_t{1} << std::min<size_t>(d, 62), mix(d + 1, 0)});
  }
  IndexUse use;
  use.maps.push_back(std::move(map));
  return use;
}

bool IndexUse::is_identity() const {
  if (!is_single()) return false;
  for (size_t d = 0; d < maps[0].size(); ++d) {
    if (maps[0][d].hash != 0 && maps[0][d].hash != mix(d + 1, 0)) return false;
  }
  return true;
}

bool IndexUse::is_rearrangement(size_t last) const {
  if (!is_single() || !bijective) return false;
  const uint64_t columns = uint64_t{1} << std::min<size_t>(last, 62);
  return std::count_if(maps[0].begin(), maps[0].end(),
                       [&](const AxisUse& a) { return (a.axes & columns) != 0; }) <= 1;
}

uint64_t IndexUse::depends_on() const {
  uint64_t all = 0;
  for (const AxisMap& map : maps) {
    for (const AxisUse& a : map) all |= a.axes;
  }
  return all;
}

void IndexUse::add_map(AxisMap map) {
  if (std::find(maps.begin(), maps.end(), map) != maps.end()) return;
  if (maps.size() < kMaxMaps) {
    maps.push_back(std::move(map));
    return;
  }
  many = true;  // keep what the maps depend on
  for (size_t d = 0; d < map.size(); ++d) maps.back()[d].axes |= map[d].axes;
}

void IndexUse::merge(const IndexUse& other) {
  for (const AxisMap& map : other.maps) add_map(map);
  many |= other.many;
  contraction_operand |= other.contraction_operand;
  bijective &= other.bijective;
  budget = std::min(budget, other.budget);
}

namespace {

AxisMap map_of_operand(const ir::Graph& graph, ir::NodeId id, size_t k, const AxisMap& use) {
  const Node& node = graph.node(id);
  const Node& operand = graph.node(node.inputs[k]);
  const size_t rank = operand.shape.size();
  AxisMap axes(rank);
  switch (node.op) {
    case Op::reshape:
      through_reshape(node, operand, use, axes);
      break;
    case Op::permute:
      for (size_t d = 0; d < node.shape.size(); ++d)
        axes[static_cast<size_t>(node.ints[d])] = use[d];
      break;
    case Op::expand:
      for (size_t d = 0; d < rank; ++d) {
        if (!is_one(operand.shape[d])) axes[d] = use[d];
      }
      break;
    case Op::shrink:
      for (size_t d = 0; d < rank; ++d) {
        const bool plain = node.syms[d] == Sym(0) && (node.ints.empty() || node.ints[d] == 1);
        axes[d] = use[d];
        if (!plain && axes[d].hash != 0) {
          axes[d].hash = mix(mix(axes[d].hash, hash_sym(node.syms[d])),
                             node.ints.empty() ? 1 : static_cast<uint64_t>(node.ints[d]));
        }
      }
      break;
    case Op::pad:
      for (size_t d = 0; d < rank; ++d) {
        axes[d] = use[d];
        if (!(node.syms[d] == Sym(0)) && axes[d].hash != 0)
          axes[d].hash = mix(axes[d].hash, mix(3, hash_sym(node.syms[d])));
      }
      break;
    case Op::flip:
      axes = use;
      for (int64_t d : node.ints) {
        if (axes[static_cast<size_t>(d)].hash != 0)
          axes[static_cast<size_t>(d)].hash = mix(axes[static_cast<size_t>(d)].hash, 5);
      }
      break;
    case Op::window: {
      const auto axis = static_cast<size_t>(node.ints[0]);
      for (size_t d = 0; d < rank; ++d) axes[d] = use[d <= axis ? d : d + 1];
      const bool plain = node.ints[1] == 1 && node.ints[2] == 1;
      if (!plain)
        axes[axis] = combine({use.data() + axis, 2},
                             mix(static_cast<uint64_t>(node.ints[2]) << 32 |
                                     static_cast<uint64_t>(node.ints[3] & 0xffffffff),
                                 static_cast<uint64_t>(node.ints[1])));
      break;
    }
    case Op::contract: {  // [.., M, K], [.., N, K] -> [.., M, N]
      for (size_t d = 0; d + 2 < rank; ++d) axes[d] = use[d];
      axes[rank - 2] = use[node.shape.size() - (k == 0 ? 2 : 1)];
      axes[rank - 1] = reduce_axis(id, 0);
      break;
    }
    case Op::attention: {  // q[.., M, D], k[.., T, D], v[.., T, C], mask and bias[.., M, T] -> [..,
                           // M, C]
      const size_t r = node.shape.size();
      for (size_t d = 0; d + 2 < rank; ++d) axes[d] = use[d];
      const AxisUse key = reduce_axis(id, 0), depth = reduce_axis(id, 1);
      axes[rank - 2] = k == 0 || k >= 3 ? use[r - 2] : key;
      axes[rank - 1] = k == 2 ? use[r - 1] : k >= 3 ? key : depth;
      break;
    }
    case Op::gather: {
      const auto axis = static_cast<size_t>(node.ints[0]);
      const size_t index_rank = graph.node(node.inputs[1]).shape.size();
      if (k == 1) {
        for (size_t d = 0; d < rank; ++d) axes[d] = use[axis + d];
        break;
      }
      for (size_t d = 0; d < axis; ++d) axes[d] = use[d];
      axes[axis] = combine({use.data() + axis, index_rank}, mix(id, 9));
      for (size_t d = axis + 1; d < rank; ++d) axes[d] = use[d - 1 + index_rank];
      break;
    }
    default:
      if (ir::is_reduction(node.op)) {
        axes = use;
        for (int64_t d : node.ints)
          axes[static_cast<size_t>(d)] = reduce_axis(id, static_cast<uint64_t>(d));
      } else if (rank == use.size()) {
        axes = use;  // elementwise
      }
      break;
  }
  return axes;
}

}  // namespace

IndexUse use_of_operand(const ir::Graph& graph, ir::NodeId node, size_t operand,
                        const IndexUse& use) {
  IndexUse out = use;
  out.maps.clear();
  const Op op = graph.node(node).op;
  out.bijective = use.bijective && (op == Op::reshape || op == Op::permute || op == Op::flip ||
                                    ir::is_elementwise(op));
  for (const AxisMap& map : use.maps) out.add_map(map_of_operand(graph, node, operand, map));
  return out;
}

}  // namespace ost
