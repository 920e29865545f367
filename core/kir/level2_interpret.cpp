// Runs a kernel of level 2: groups one after the other, all lanes of a group in step.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "core/kir/interpret_memory.hpp"
#include "core/kir/interpret_ops.hpp"
#include "core/kir/level2.hpp"
#include "core/kir/level2_race.hpp"
#include "core/kir/ops.hpp"

namespace ost::kir {
namespace {

using interp::BlockFn;

// Memory of a param, of the group or of each lane.
struct Array {
  std::byte* data = nullptr;
  uint64_t count = 0;
  uint32_t size = 0;  // of an element
  std::vector<std::byte> own;
  std::optional<RaceLog> races;
};

class Machine {
 public:
  Machine(const Kernel& kernel, const Level2Options& options)
      : k_(kernel), options_(options), lanes_(kernel.lanes), fns_(kernel.insts.size()) {
    values_.resize(kernel.insts.size());
    ends_.resize(kernel.insts.size(), 0);
    arrays_.resize(kernel.insts.size());
  }

  Result<> prepare(std::span<const int64_t> vars) {
    std::vector<Value> open;
    for (Value v = 0; v < k_.insts.size(); ++v) {
      const Op op = k_.op(v);
      values_[v].resize(size_t{lanes_} * 8);
      if (op == Op::loop || op == Op::if_true) open.push_back(v);
      if (op == Op::end) ends_[open.back()] = v, open.pop_back();
      if (op == Op::var) {
        const auto slot = k_.insts[v].imm;
        if (slot >= vars.size())
          return fail(OST_INVALID_ARGUMENT, "kir: {} variables were given, slot {} is used",
                      vars.size(), slot);
        fill(v, vars[slot]);
      }
      if (op == Op::constant) fill(v, k_.insts[v].imm);
      if (op == Op::lane)
        for (uint32_t l = 0; l < lanes_; ++l) at<int64_t>(v)[l] = l;
      if (op >= Op::neg && op <= Op::bitcast) {
        const DType operand = k_.dtype(k_.insts[v].src[0]);
        fns_[v] = interp::block_fn(op, k_.dtype(v), operand);
        if (!fns_[v])
          return fail(OST_INVALID_ARGUMENT, "kir record {}: no meaning for {} of {}", v,
                      info(op).name, name_of(operand));
      }
    }
    return {};
  }

  Result<> bind(std::span<const ParamData> params) {
    const std::vector<char> all(lanes_, 1);
    for (Value v = 0; v < k_.insts.size(); ++v) {
      const Op op = k_.op(v);
      Array& a = arrays_[v];
      a.size = size_of(k_.dtype(v));
      if (op == Op::param) {
        const auto slot = k_.insts[v].imm;
        if (slot >= params.size())
          return fail(OST_INVALID_ARGUMENT, "kir: {} params were given, slot {} is used",
                      params.size(), slot);
        a.data = static_cast<std::byte*>(params[slot].data);
        a.count = static_cast<uint64_t>(std::max<int64_t>(at<int64_t>(k_.insts[v].src[0])[0], 0));
        if (a.count * a.size > params[slot].bytes)
          return fail(OST_INVALID_ARGUMENT, "kir: param {} has {} bytes, wanted {}", slot,
                      params[slot].bytes, a.count * a.size);
        if (options_.find_races) a.races.emplace(a.count);
      } else if (op == Op::local_array || op == Op::private_array) {
        a.count = k_.insts[v].imm;
        a.own.resize(a.count * a.size * (op == Op::private_array ? lanes_ : 1));
        a.data = a.own.data();
      } else if (fns_[v] && host_ready(v)) {
        step(v);  // counts of params come before them
      }
    }
    return {};
  }

  Result<> run(const std::array<uint64_t, 3>& grid) {
    const uint64_t total = grid[0] * grid[1] * grid[2];
    for (uint64_t n = 0; n < total; ++n) {
      const uint64_t g = options_.reverse ? total - 1 - n : n;
      group_[0] = g % grid[0];
      group_[1] = g / grid[0] % grid[1];
      group_[2] = g / grid[0] / grid[1];
      who_ = {static_cast<uint32_t>(g), 0, 0};
      for (Array& a : arrays_) {
        if (a.own.empty()) continue;
        std::memset(a.own.data(), 0xa5, a.own.size());  // what nobody may rely on
        if (options_.find_races) a.races.emplace(a.own.size() / a.size);
      }
      const std::vector<char> all(lanes_, 1);
      if (!records(0, static_cast<Value>(k_.insts.size()), all)) return std::unexpected(error_);
    }
    return {};
  }

 private:
  template <class T>
  T* at(Value v) {
    return reinterpret_cast<T*>(values_[v].data());
  }
  template <class T>
  void fill(Value v, T bits) {
    const uint32_t size = size_of(k_.dtype(v));
    for (uint32_t l = 0; l < lanes_; ++l) std::memcpy(values_[v].data() + l * size, &bits, size);
  }
  bool host_ready(Value v) const {
    return std::ranges::none_of(k_.operands(v), [&](Value s) {
      return !fns_[s] && k_.op(s) != Op::constant && k_.op(s) != Op::var;
    });
  }
  void step(Value v) {
    const Inst& inst = k_.insts[v];
    const void* in[3] = {};
    for (uint32_t i = 0; i < inst.nsrc; ++i) in[i] = values_[inst.src[i]].data();
    fns_[v](lanes_, values_[v].data(), in[0], in[1], in[2]);
  }

  bool records(Value first, Value end, const std::vector<char>& active) {
    for (Value v = first; v < end; ++v) {
      switch (k_.op(v)) {
        case Op::group:
          fill(v, static_cast<int64_t>(group_[k_.insts[v].imm]));
          break;
        case Op::load:
        case Op::store:
          if (!memory(v, active)) return false;
          break;
        case Op::loop:
          if (!loop(v, active)) return false;
          v = ends_[v];
          break;
        case Op::if_true: {
          std::vector<char> inside(active);
          for (uint32_t l = 0; l < lanes_; ++l) inside[l] &= at<bool>(k_.insts[v].src[0])[l];
          if (any(inside) && !records(v + 1, ends_[v], inside)) return false;
          v = ends_[v];
          break;
        }
        case Op::barrier:
          if (std::ranges::find(active, 0) != active.end())
            return stop(v, "a barrier that some lanes of group {} do not reach", who_.group);
          ++who_.epoch;
          break;
        default:
          if (fns_[v]) step(v);
      }
    }
    return true;
  }

  static bool any(const std::vector<char>& lanes) {
    return std::ranges::find(lanes, 1) != lanes.end();
  }

  bool loop(Value v, const std::vector<char>& active) {
    const Inst& inst = k_.insts[v];
    const auto by = static_cast<int64_t>(k_.insts[inst.src[2]].imm);
    const std::vector<std::byte> limits = values_[inst.src[1]];
    const auto* limit = reinterpret_cast<const int64_t*>(limits.data());
    std::memcpy(at<int64_t>(v), at<int64_t>(inst.src[0]), size_t{lanes_} * 8);
    std::vector<char> inside(active);
    for (;;) {
      for (uint32_t l = 0; l < lanes_; ++l) inside[l] &= at<int64_t>(v)[l] < limit[l];
      if (!any(inside)) return true;
      if (!records(v + 1, ends_[v], inside)) return false;
      for (uint32_t l = 0; l < lanes_; ++l) at<int64_t>(v)[l] += by;
    }
  }

  bool memory(Value v, const std::vector<char>& active) {
    const Inst& inst = k_.insts[v];
    const bool is_load = k_.op(v) == Op::load;
    Array& a = arrays_[inst.src[0]];
    const bool is_private = k_.op(inst.src[0]) == Op::private_array;
    const uint32_t mask_at = is_load ? 2 : 3;
    const bool* mask = inst.nsrc > mask_at ? at<bool>(inst.src[mask_at]) : nullptr;
    const auto* index = at<int64_t>(inst.src[1]);
    for (uint32_t n = 0; n < lanes_; ++n) {
      const uint32_t l = options_.reverse ? lanes_ - 1 - n : n;
      if (!active[l]) continue;
      std::byte* value = values_[is_load ? v : inst.src[2]].data() + size_t{l} * a.size;
      if (mask && !mask[l]) {
        if (is_load) std::memset(value, 0, a.size);
        continue;
      }
      if (static_cast<uint64_t>(index[l]) >= a.count)
        return stop(v, "{} of lane {} at index {} of %{}, which has {} elements",
                    info(k_.op(v)).name, l, index[l], inst.src[0], a.count);
      const auto element = static_cast<size_t>(index[l]) + (is_private ? l * a.count : 0);
      if (!is_private && a.races) {
        who_.lane = l;
        if (!(is_load ? a.races->read(element, who_) : a.races->write(element, who_)))
          return stop(v, "{} of element {} of %{} by lane {} of group {} races with another one",
                      info(k_.op(v)).name, element, inst.src[0], l, who_.group);
      }
      std::byte* place = a.data + element * a.size;
      std::memcpy(is_load ? value : place, is_load ? place : value, a.size);
      if (is_load && k_.dtype(v) == DType::boolean) *value = std::byte{*value != std::byte{0}};
    }
    return true;
  }

  template <typename... Args>
  bool stop(Value v, fmt::format_string<Args...> format, Args&&... args) {
    error_ = {OST_INTERNAL,
              fmt::format("kir record {}: {}", v, fmt::format(format, std::forward<Args>(args)...)),
              0, 0, 0};
    return false;
  }

  const Kernel& k_;
  const Level2Options& options_;
  uint32_t lanes_;
  std::vector<BlockFn> fns_;                    // by record
  std::vector<std::vector<std::byte>> values_;  // by record: one element a lane
  std::vector<Value> ends_;                     // by record that opens a region
  std::vector<Array> arrays_;                   // by record that is memory
  uint64_t group_[3] = {};
  WorkItem who_;
  Error error_;
};

}  // namespace

Result<> interpret_level2(const Kernel& kernel, std::span<const ParamData> params,
                          std::span<const int64_t> vars, const Level2Options& options) {
  Machine machine(kernel, options);
  OST_TRY(machine.prepare(vars));
  OST_TRY(machine.bind(params));
  return machine.run(LaunchGrid(kernel).eval(vars));
}

}  // namespace ost::kir
