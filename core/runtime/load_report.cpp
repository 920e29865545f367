#include "core/runtime/load_report.hpp"

#include <fmt/format.h>

namespace ost::runtime {

std::string_view name_of(LoadStatus status) {
  switch (status) {
    case LoadStatus::loaded:
      return "loaded";
    case LoadStatus::skipped:
      return "skipped";
    case LoadStatus::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view name_of(LoadStage stage) {
  switch (stage) {
    case LoadStage::discover:
      return "discover";
    case LoadStage::manifest:
      return "manifest";
    case LoadStage::filter:
      return "filter";
    case LoadStage::open:
      return "open";
    case LoadStage::entry:
      return "entry";
    case LoadStage::negotiate:
      return "negotiate";
    case LoadStage::table:
      return "table";
    case LoadStage::driver:
      return "driver";
    case LoadStage::devices:
      return "devices";
  }
  return "unknown";
}

std::string to_string(const LoadRecord& r) {
  std::string where = fmt::format("{}: {}", r.path, name_of(r.status));
  if (r.status != LoadStatus::loaded) where += fmt::format(" at {}", name_of(r.stage));
  if (r.rule != 0) where += fmt::format(" (rule {})", r.rule);
  return r.reason.empty() ? where : fmt::format("{}: {}", where, r.reason);
}

}  // namespace ost::runtime
