#include "core/schedule/fit_arena.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/schedule/memory_plan.hpp"

namespace ost {

namespace {

constexpr size_t kMaxPlans = 200000;  // times steps
constexpr size_t kMaxCandidates = 24;

// The order of steps and the buffers they use, without anything that is large to copy.
struct Draft {
  struct Item {
    uint32_t origin;  // step of the program
    std::vector<uint32_t> args;
  };
  std::vector<Item> items;
  std::vector<uint32_t> origin_of_buffer;  // buffers of the program, then those of repeated steps
};

struct Span {
  uint32_t first = kNoIndex, last = 0;
};

class Fitter {
 public:
  Fitter(const Program& p, const std::vector<std::vector<uint32_t>>& access,
         const ScheduleOptions& options)
      : p_(p), access_(access), options_(options) {
    for (const BufferDesc& b : p.buffers) {
      const bool temp = b.kind == BufferKind::temp;
      const Sym bytes = b.elements * Sym(size_of(b.dtype));
      sizes_.push_back(!temp ? 0 : static_cast<uint64_t>(std::max<int64_t>(bytes.upper(), 0)));
    }
    plans_left_ = std::max<size_t>(64, kMaxPlans / std::max<size_t>(p.steps.size(), 1));
  }

  // The first draft that fits, or nothing; `smallest` is what the best one needs.
  std::optional<Draft> run(uint64_t& smallest) {
    Draft draft = as_it_is();
    smallest = need(draft);
    if (smallest <= options_.arena_limit) return draft;
    Draft other = reordered(draft);
    if (const uint64_t bytes = need(other); bytes < smallest) {
      smallest = bytes;
      draft = std::move(other);
      if (smallest <= options_.arena_limit) return draft;
    }
    while (auto better = with_one_more_repeat(draft, smallest)) {
      draft = std::move(*better);
      if (smallest <= options_.arena_limit) return draft;
    }
    return std::nullopt;
  }

 private:
  Draft as_it_is() const {
    Draft d;
    for (uint32_t s = 0; s < p_.steps.size(); ++s) d.items.push_back({s, p_.steps[s].args});
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) d.origin_of_buffer.push_back(b);
    return d;
  }

  uint64_t size(const Draft& d, uint32_t buffer) const {
    return sizes_[d.origin_of_buffer[buffer]];
  }
  bool is_temp(const Draft& d, uint32_t buffer) const {
    return p_.buffers[d.origin_of_buffer[buffer]].kind == BufferKind::temp;
  }
  bool writes(const Draft::Item& item, size_t arg) const {
    return (access_[item.origin][arg] & OST_KIR_WRITE) != 0;
  }

  std::vector<Span> spans(const Draft& d) const {
    std::vector<Span> out(d.origin_of_buffer.size());
    for (uint32_t s = 0; s < d.items.size(); ++s) {
      for (const uint32_t b : d.items[s].args) {
        if (out[b].first == kNoIndex) out[b].first = s;
        out[b].last = s;
      }
    }
    return out;
  }

  // The largest arena.
  uint64_t need(const Draft& d) const {
    const std::vector<Span> live = spans(d);
    std::map<uint32_t, std::vector<Lifetime>> by_device;
    for (uint32_t b = 0; b < live.size(); ++b) {
      if (is_temp(d, b) && live[b].first != kNoIndex)
        by_device[p_.buffers[d.origin_of_buffer[b]].device].push_back(
            {size(d, b), live[b].first, live[b].last});
    }
    uint64_t most = 0;
    for (const auto& [device, lifetimes] : by_device)
      most = std::max(most, plan_memory(lifetimes, options_.arena_alignment).bytes);
    return most;
  }

  // List scheduling: of the steps that may run, the one after which least is live.
  Draft reordered(const Draft& d) const {
    const size_t count = d.items.size();
    std::vector<std::vector<uint32_t>> next(count);
    std::vector<uint32_t> waits(count, 0);
    for (uint32_t s = 0; s < count; ++s) {
      for (const uint32_t before : p_.steps[s].after) {
        next[before].push_back(s);
        ++waits[s];
      }
    }
    std::vector<uint32_t> users(d.origin_of_buffer.size(), 0);
    for (const auto& item : d.items)
      for (const uint32_t b : std::set<uint32_t>(item.args.begin(), item.args.end())) ++users[b];
    std::vector<bool> live(users.size(), false);
    std::set<uint32_t> ready;
    for (uint32_t s = 0; s < count; ++s)
      if (waits[s] == 0) ready.insert(s);
    Draft out;
    out.origin_of_buffer = d.origin_of_buffer;
    while (!ready.empty()) {
      uint32_t best = *ready.begin();
      int64_t least = INT64_MAX;
      for (const uint32_t s : ready) {
        int64_t change = 0;
        const auto& args = d.items[s].args;
        for (const uint32_t b : std::set<uint32_t>(args.begin(), args.end())) {
          if (!is_temp(d, b)) continue;
          if (!live[b]) change += static_cast<int64_t>(size(d, b));
          if (users[b] == 1) change -= static_cast<int64_t>(size(d, b));
        }
        if (change < least) least = change, best = s;
      }
      ready.erase(best);
      out.items.push_back(d.items[best]);
      const auto& args = d.items[best].args;
      for (const uint32_t b : std::set<uint32_t>(args.begin(), args.end())) {
        live[b] = true;
        --users[b];
      }
      for (const uint32_t s : next[best])
        if (--waits[s] == 0) ready.insert(s);
    }
    return out;
  }

  // The step where the most bytes are live.
  uint32_t peak_of(const Draft& d, const std::vector<Span>& live) const {
    std::vector<int64_t> change(d.items.size() + 1, 0);
    for (uint32_t b = 0; b < live.size(); ++b) {
      if (!is_temp(d, b) || live[b].first == kNoIndex) continue;
      change[live[b].first] += static_cast<int64_t>(size(d, b));
      change[live[b].last + 1] -= static_cast<int64_t>(size(d, b));
    }
    int64_t now = 0, most = -1;
    uint32_t at = 0;
    for (uint32_t s = 0; s < d.items.size(); ++s) {
      now += change[s];
      if (now > most) most = now, at = s;
    }
    return at;
  }

  // The step that computes the temp, if it may run once more later: nothing else comes of it, and
  // nobody overwrites what it reads.
  std::optional<uint32_t> writer_of(const Draft& d, uint32_t buffer) const {
    std::optional<uint32_t> writer;
    for (uint32_t s = 0; s < d.items.size(); ++s) {
      for (size_t i = 0; i < d.items[s].args.size(); ++i) {
        if (d.items[s].args[i] != buffer || !writes(d.items[s], i)) continue;
        if (writer) return std::nullopt;
        writer = s;
      }
    }
    if (!writer || p_.steps[d.items[*writer].origin].kind != StepKind::launch) return std::nullopt;
    const Draft::Item& item = d.items[*writer];
    for (size_t i = 0; i < item.args.size(); ++i) {
      if (writes(item, i) ? item.args[i] != buffer || (access_[item.origin][i] & OST_KIR_READ) != 0
                          : is_overwritten(d, item.args[i]))
        return std::nullopt;
    }
    return writer;
  }

  // Written more than by the one step that makes a temp.
  bool is_overwritten(const Draft& d, uint32_t buffer) const {
    size_t count = 0;
    for (const auto& item : d.items)
      for (size_t i = 0; i < item.args.size(); ++i)
        count += item.args[i] == buffer && writes(item, i);
    return count > (is_temp(d, buffer) ? 1 : 0);
  }

  // `buffer` ends at its last use up to `peak`, and is computed again for the first one behind.
  Draft repeated(const Draft& d, uint32_t buffer, uint32_t writer, uint32_t peak) const {
    Draft out = d;
    const auto again = static_cast<uint32_t>(out.origin_of_buffer.size());
    out.origin_of_buffer.push_back(d.origin_of_buffer[buffer]);
    std::optional<uint32_t> first;
    for (uint32_t s = peak + 1; s < out.items.size(); ++s) {
      for (uint32_t& b : out.items[s].args) {
        if (b != buffer) continue;
        b = again;
        if (!first) first = s;
      }
    }
    Draft::Item item = d.items[writer];
    std::replace(item.args.begin(), item.args.end(), buffer, again);
    out.items.insert(out.items.begin() + *first, std::move(item));
    return out;
  }

  std::optional<Draft> with_one_more_repeat(const Draft& d, uint64_t& smallest) {
    const std::vector<Span> live = spans(d);
    const uint32_t peak = peak_of(d, live);
    const auto& used = d.items[peak].args;
    std::vector<uint32_t> idle;  // live across the peak
    for (uint32_t b = 0; b < live.size(); ++b) {
      if (is_temp(d, b) && live[b].first < peak && live[b].last > peak &&
          std::find(used.begin(), used.end(), b) == used.end())
        idle.push_back(b);
    }
    std::stable_sort(idle.begin(), idle.end(),
                     [&](uint32_t a, uint32_t b) { return size(d, a) > size(d, b); });
    if (idle.size() > kMaxCandidates) idle.resize(kMaxCandidates);
    std::optional<Draft> best;
    for (const uint32_t b : idle) {
      const auto writer = writer_of(d, b);
      if (!writer || plans_left_ == 0) continue;
      --plans_left_;
      Draft next = repeated(d, b, *writer, peak);
      const uint64_t bytes = need(next);
      if (bytes < smallest) {
        smallest = bytes;
        best = std::move(next);
      }
    }
    return best;
  }

  const Program& p_;
  const std::vector<std::vector<uint32_t>>& access_;
  const ScheduleOptions& options_;
  std::vector<uint64_t> sizes_;  // of the buffers of the program, for the largest variables
  size_t plans_left_;
};

void apply(const Draft& d, Program& p, std::vector<std::vector<uint32_t>>& access) {
  for (size_t b = p.buffers.size(); b < d.origin_of_buffer.size(); ++b)
    p.buffers.push_back(p.buffers[d.origin_of_buffer[b]]);
  std::vector<Step> steps;
  std::vector<std::vector<uint32_t>> new_access;
  std::vector<Group> groups;
  std::set<uint32_t> seen;
  std::map<uint32_t, const Group*> group_of;
  for (const Group& g : p.groups) group_of.emplace(g.step, &g);
  for (const auto& item : d.items) {
    if (const auto it = group_of.find(item.origin); it != group_of.end()) {
      groups.push_back(*it->second);
      groups.back().step = static_cast<uint32_t>(steps.size());
      if (!seen.insert(item.origin).second) {
        groups.back().why = "computed again, so that the arena fits its limit";
        groups.back().bytes_saved = 0;
      }
    }
    steps.push_back(p.steps[item.origin]);
    steps.back().args = item.args;
    steps.back().after.clear();
    new_access.push_back(access[item.origin]);
  }
  p.steps = std::move(steps);
  p.groups = std::move(groups);
  access = std::move(new_access);
}

}  // namespace

uint64_t fit_arena(Program& p, std::vector<std::vector<uint32_t>>& access,
                   const ScheduleOptions& options) {
  uint64_t smallest = 0;
  if (const auto draft = Fitter(p, access, options).run(smallest)) apply(*draft, p, access);
  return smallest;
}

}  // namespace ost
