#include "core/schedule/fit_arena.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/schedule/draft.hpp"
#include "core/schedule/memory_plan.hpp"
#include "core/schedule/slice.hpp"

namespace ost {

namespace {

constexpr size_t kMaxPlans = 200000;  // times steps
constexpr size_t kMaxCandidates = 24;
constexpr uint32_t kMaxParts = 32;
constexpr size_t kMaxCutWork = 20000;  // steps times parts

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
    while (auto better = draft.items.empty() ? std::nullopt : with_one_change(draft, smallest)) {
      draft = std::move(*better);
      if (smallest <= options_.arena_limit) return draft;
    }
    return std::nullopt;
  }

  std::vector<kir::Kernel> take_kernels() { return std::move(kernels_); }

 private:
  Draft as_it_is() const {
    Draft d;
    for (uint32_t s = 0; s < p_.steps.size(); ++s) d.items.push_back({s, p_.steps[s].args});
    for (uint32_t b = 0; b < p_.buffers.size(); ++b) d.origin_of_buffer.push_back(b);
    d.parts_of_buffer.assign(p_.buffers.size(), 1);
    return d;
  }

  uint64_t size(const Draft& d, uint32_t buffer) const {
    return sizes_[d.origin_of_buffer[buffer]] / d.parts_of_buffer[buffer];
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
    out.parts_of_buffer = d.parts_of_buffer;
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

  // Bytes of temps that live at each step.
  std::vector<int64_t> live_bytes(const Draft& d, const std::vector<Span>& live) const {
    std::vector<int64_t> bytes(d.items.size() + 1, 0);
    for (uint32_t b = 0; b < live.size(); ++b) {
      if (!is_temp(d, b) || live[b].first == kNoIndex) continue;
      bytes[live[b].first] += static_cast<int64_t>(size(d, b));
      bytes[live[b].last + 1] -= static_cast<int64_t>(size(d, b));
    }
    for (size_t s = 1; s < bytes.size(); ++s) bytes[s] += bytes[s - 1];
    bytes.pop_back();
    return bytes;
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
    if (!writer || !is_whole_launch(d, *writer)) return std::nullopt;
    const Draft::Item& item = d.items[*writer];
    for (size_t i = 0; i < item.args.size(); ++i) {
      if (writes(item, i) ? item.args[i] != buffer || (access_[item.origin][i] & OST_KIR_READ) != 0
                          : is_overwritten(d, item.args[i]))
        return std::nullopt;
    }
    return writer;
  }

  bool is_whole_launch(const Draft& d, uint32_t item) const {
    return p_.steps[d.items[item].origin].kind == StepKind::launch &&
           d.items[item].kernel == kNoIndex;
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
    out.parts_of_buffer.push_back(1);
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

  // The bytes that a draft needs, and how far it is from needing less: a program of twelve layers
  // has twelve places like the worst one.
  struct Measure {
    uint64_t bytes = 0;
    int64_t most_live = 0;
    size_t places = 0;  // steps where as much lives
    auto operator<=>(const Measure&) const = default;
  };
  Measure measure(const Draft& d) const {
    const std::vector<int64_t> live = live_bytes(d, spans(d));
    Measure m{need(d), 0, 0};
    for (const int64_t bytes : live) m.most_live = std::max(m.most_live, bytes);
    m.places = static_cast<size_t>(std::count(live.begin(), live.end(), m.most_live));
    return m;
  }

  // Of the values that live where most does, the largest first: the first one that helps to
  // compute again or in parts, in the way that helps most.
  std::optional<Draft> with_one_change(const Draft& d, uint64_t& smallest) {
    const std::vector<Span> live = spans(d);
    const std::vector<int64_t> profile = live_bytes(d, live);
    const auto peak =
        static_cast<uint32_t>(std::max_element(profile.begin(), profile.end()) - profile.begin());
    std::vector<uint32_t> around;
    for (uint32_t b = 0; b < live.size(); ++b)
      if (is_temp(d, b) && live[b].first <= peak && live[b].last >= peak) around.push_back(b);
    std::stable_sort(around.begin(), around.end(),
                     [&](uint32_t a, uint32_t b) { return size(d, a) > size(d, b); });
    if (around.size() > kMaxCandidates) around.resize(kMaxCandidates);
    Measure least = measure(d);
    std::optional<Draft> best;
    const auto consider = [&](Draft next) {
      if (plans_left_ == 0) return;
      --plans_left_;
      const Measure m = measure(next);
      if (m >= least) return;
      least = m;
      best = std::move(next);
    };
    const auto& used = d.items[peak].args;
    for (const uint32_t b : around) {
      const auto writer = writer_of(d, b);
      if (!writer) continue;
      if (live[b].first < peak && live[b].last > peak &&
          std::find(used.begin(), used.end(), b) == used.end())
        consider(repeated(d, b, *writer, peak));
      for (uint32_t parts = 2; parts <= kMaxParts; parts *= 2)
        if (auto next = cut(d, b, *writer, parts)) consider(std::move(*next));
      if (best) break;
    }
    if (best) smallest = least.bytes;
    return best;
  }

  // --- values that are computed and used part by part

  // The only other step that uses a temp, if it may run part by part: it writes nothing that the
  // writer reads or that it reads itself.
  std::optional<uint32_t> only_reader_of(const Draft& d, uint32_t buffer, uint32_t writer) const {
    std::optional<uint32_t> reader;
    for (uint32_t s = 0; s < d.items.size(); ++s) {
      const auto& args = d.items[s].args;
      if (s == writer || std::find(args.begin(), args.end(), buffer) == args.end()) continue;
      if (reader) return std::nullopt;
      reader = s;
    }
    if (!reader || *reader < writer || !is_whole_launch(d, *reader)) return std::nullopt;
    const Draft::Item& item = d.items[*reader];
    const auto& inputs = d.items[writer].args;
    for (size_t i = 0; i < item.args.size(); ++i) {
      if (!writes(item, i)) continue;
      if ((access_[item.origin][i] & OST_KIR_READ) != 0 ||
          std::count(item.args.begin(), item.args.end(), item.args[i]) > 1 ||
          std::find(inputs.begin(), inputs.end(), item.args[i]) != inputs.end())
        return std::nullopt;
    }
    return reader;
  }

  // A kernel in parts: the first of its axes that keeps every part within its part of the temp.
  std::vector<uint32_t> in_parts(const Draft::Item& item, uint32_t buffer, int64_t parts) {
    const kir::Kernel& kernel = p_.kernels[p_.steps[item.origin].kernel].kir;
    const auto slot = static_cast<uint32_t>(std::find(item.args.begin(), item.args.end(), buffer) -
                                            item.args.begin());
    const auto elements = p_.buffers[buffer].elements.constant();
    for (const SliceAxis& axis : slice_axes(kernel)) {
      std::vector<kir::Kernel> made;
      for (int64_t part = 0; part < parts; ++part) {
        auto slice = slice_of(kernel, axis, parts, part, slot, *elements);
        if (!slice) break;
        made.push_back(std::move(*slice));
      }
      if (made.size() != static_cast<size_t>(parts)) continue;
      std::vector<uint32_t> numbers;
      for (kir::Kernel& k : made) {
        numbers.push_back(static_cast<uint32_t>(kernels_.size()));
        kernels_.push_back(std::move(k));
      }
      return numbers;
    }
    return {};
  }

  // The writer moves to the reader, and both run part by part with a temp for one part.
  std::optional<Draft> cut(const Draft& d, uint32_t buffer, uint32_t writer, uint32_t parts) {
    if (buffer >= p_.buffers.size() || !p_.buffers[buffer].elements.constant() ||
        d.items.size() * parts > kMaxCutWork)
      return std::nullopt;
    const auto reader = only_reader_of(d, buffer, writer);
    if (!reader) return std::nullopt;
    Slices& slices = slices_[{buffer, d.items[*reader].origin, parts}];
    if (!slices.tried) {
      slices.tried = true;
      slices.first = in_parts(d.items[writer], buffer, parts);
      if (!slices.first.empty()) slices.second = in_parts(d.items[*reader], buffer, parts);
    }
    if (slices.second.empty()) return std::nullopt;
    Draft out = d;
    const auto part_buffer = static_cast<uint32_t>(out.origin_of_buffer.size());
    out.origin_of_buffer.push_back(buffer);
    out.parts_of_buffer.push_back(parts);
    std::vector<Draft::Item> pairs;
    for (uint32_t part = 0; part < parts; ++part) {
      for (const auto& [from, numbers] :
           {std::pair(writer, &slices.first), std::pair(*reader, &slices.second)}) {
        Draft::Item item = d.items[from];
        item.kernel = (*numbers)[part];
        std::replace(item.args.begin(), item.args.end(), buffer, part_buffer);
        pairs.push_back(std::move(item));
      }
    }
    out.items.erase(out.items.begin() + *reader);
    out.items.insert(out.items.begin() + *reader, pairs.begin(), pairs.end());
    out.items.erase(out.items.begin() + writer);
    return out;
  }

  const Program& p_;
  const std::vector<std::vector<uint32_t>>& access_;
  const ScheduleOptions& options_;
  struct Slices {
    bool tried = false;
    std::vector<uint32_t> first, second;  // kernels of the writer's and the reader's parts
  };
  std::map<std::array<uint32_t, 3>, Slices> slices_;  // by buffer, reader and number of parts
  std::vector<kir::Kernel> kernels_;                  // that were made here
  std::vector<uint64_t> sizes_;  // of the buffers of the program, for the largest variables
  size_t plans_left_;
};

}  // namespace

uint64_t fit_arena(Program& p, std::vector<std::vector<uint32_t>>& access,
                   const ScheduleOptions& options) {
  uint64_t smallest = 0;
  Fitter fitter(p, access, options);
  const auto draft = fitter.run(smallest);
  if (draft) apply(*draft, fitter.take_kernels(), p, access);
  return smallest;
}

}  // namespace ost
