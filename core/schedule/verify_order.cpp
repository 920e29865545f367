// Order by edges: the run keeps no other, so every pair of conflicting steps must be connected.
//
// Steps touch a buffer in a chain: each write comes after the reads and the write before it, each
// read after the last write. By induction it is enough to look at neighbours of the chain.
#include <algorithm>
#include <map>
#include <set>

#include "core/schedule/verify_parts.hpp"

namespace ost::verify_parts {
namespace {

constexpr std::size_t kMaxSteps = 32768;  // the triangle of ancestor bits is 64 MiB then

// ancestor(a, b): b runs only after a has ended.
class Ancestors {
 public:
  explicit Ancestors(const std::vector<Step>& steps) {
    rows_.reserve(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::vector<uint64_t> row((i + 63) / 64, 0);
      for (const uint32_t a : steps[i].after) {
        for (std::size_t w = 0; w < rows_[a].size(); ++w) row[w] |= rows_[a][w];
        row[a / 64] |= uint64_t{1} << (a % 64);
      }
      rows_.push_back(std::move(row));
    }
  }
  bool operator()(uint32_t a, uint32_t b) const {
    return a < b && (rows_[b][a / 64] >> (a % 64) & 1) != 0;
  }

 private:
  std::vector<std::vector<uint64_t>> rows_;
};

struct Chain {
  std::vector<const Access*> readers;  // since the last write
  const Access* writer = nullptr;
};

class Order {
 public:
  Order(const Program& program, const std::vector<Access>& accesses)
      : p_(program), accesses_(accesses), before_(program.steps) {}

  Result<> chains() const {
    std::vector<Chain> chains(p_.buffers.size());
    for (const Access& x : accesses_) {
      Chain& chain = chains[x.buffer];
      if (x.reads) OST_TRY(read(x, chain));
      if (x.writes) OST_TRY(write(x, chain));
    }
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const uint32_t buffer = p_.outputs[i].buffer;
      if (must_be_written(buffer) && !chains[buffer].writer)
        return bad(fmt::format("/outputs/{}/buffer", i), "no step writes buffer {}", buffer);
    }
    return {};
  }

  // Temps by their first use, in an interval map of each arena: whoever owns a byte before must
  // have ended.
  Result<> arenas() const {
    std::vector<std::vector<const Access*>> uses(p_.buffers.size());
    std::vector<uint32_t> order;
    for (const Access& x : accesses_) {
      const BufferDesc& b = p_.buffers[x.buffer];
      if (b.kind != BufferKind::temp || max_bytes(b) == 0) continue;
      if (uses[x.buffer].empty()) order.push_back(x.buffer);
      uses[x.buffer].push_back(&x);
    }
    std::set<uint32_t> kept;
    for (const OutputDesc& o : p_.outputs) kept.insert(o.buffer);
    std::vector<Owners> owners(p_.arenas.size());
    for (const uint32_t b : order) {
      const BufferDesc& desc = p_.buffers[b];
      for (const uint32_t old :
           take(owners[desc.arena], desc.offset, desc.offset + max_bytes(desc), b)) {
        if (kept.contains(old))
          return bad(fmt::format("/buffers/{}/offset", b),
                     "shares bytes with buffer {}, which is an output and lives to the end", old);
        for (const Access* x : uses[old])
          if (!before_(x->step, uses[b].front()->step))
            return bad(
                fmt::format("/buffers/{}/offset", b),
                "shares bytes with buffer {}, which step {} uses and step {} does not wait for",
                old, x->step, uses[b].front()->step);
      }
    }
    return {};
  }

 private:
  struct Range {
    uint64_t end;
    uint32_t buffer;
  };
  using Owners = std::map<uint64_t, Range>;  // by start; ranges do not overlap

  // Makes `buffer` the owner of [low, high) and returns who owned parts of it.
  static std::set<uint32_t> take(Owners& owners, uint64_t low, uint64_t high, uint32_t buffer) {
    std::set<uint32_t> old;
    auto it = owners.upper_bound(low);
    if (it != owners.begin()) --it;
    while (it != owners.end() && it->first < high) {
      const uint64_t start = it->first;
      const Range range = it->second;
      if (range.end <= low) {
        ++it;
        continue;
      }
      old.insert(range.buffer);
      it = owners.erase(it);
      if (start < low) owners.emplace(start, Range{low, range.buffer});
      if (range.end > high) it = owners.emplace(high, range).first;
    }
    owners.emplace(low, Range{high, buffer});
    return old;
  }

  // Storage that the program itself fills; anything else has a value before the first step.
  bool must_be_written(uint32_t buffer) const {
    const BufferDesc& b = p_.buffers[buffer];
    return (b.kind == BufferKind::temp || b.kind == BufferKind::output) && max_bytes(b) > 0;
  }

  Result<> read(const Access& x, Chain& chain) const {
    if (!chain.writer && must_be_written(x.buffer))
      return bad(pointer(x), "buffer {} is read, but no earlier step writes it", x.buffer);
    if (chain.writer && !before_(chain.writer->step, x.step))
      return bad(pointer(x), "buffer {} is read, but step {}, which writes it, is not waited for",
                 x.buffer, chain.writer->step);
    chain.readers.push_back(&x);
    return {};
  }

  Result<> write(const Access& x, Chain& chain) const {
    for (const Access* r : chain.readers)
      if (r != &x && !before_(r->step, x.step))
        return bad(pointer(x),
                   "buffer {} is written, but step {}, which reads it, is not waited for", x.buffer,
                   r->step);
    if (chain.writer && !before_(chain.writer->step, x.step))
      return bad(pointer(x),
                 "buffer {} is written, but step {}, which writes it too, is not waited for",
                 x.buffer, chain.writer->step);
    chain.writer = &x;
    chain.readers.clear();
    return {};
  }

  std::string pointer(const Access& x) const {
    return fmt::format("/steps/{}/args/{}", x.step, x.arg);
  }

  const Program& p_;
  const std::vector<Access>& accesses_;
  Ancestors before_;
};

}  // namespace

Result<> check_order(const Program& program, const std::vector<Access>& accesses) {
  if (program.steps.size() > kMaxSteps)
    return bad("/steps", "{} steps, at most {} can be checked", program.steps.size(), kMaxSteps);
  const Order order(program, accesses);
  OST_TRY(order.chains());
  return order.arenas();
}

}  // namespace ost::verify_parts
