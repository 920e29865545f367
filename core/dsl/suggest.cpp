// Distance is Damerau-Levenshtein's restricted form (insert, delete, replace, swap neighbours),
// case ignored.
#include "core/dsl/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ost::dsl {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.size() > 64) return {};
  size_t best = std::min<size_t>(3, (name.size() + 2) / 3 + 1);  // not farther than this
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    const size_t d = distance(name, candidate);
    if (d < best) {
      best = d;
      found = candidate;
    }
  }
  return found.empty() ? std::string() : fmt::format("; did you mean '{}'?", found);
}

}  // namespace ost::dsl
