// The candidates of a load, in order; for plugin_loader.cpp.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/plugin_loader.hpp"

namespace ost::runtime {

struct SearchResult {
  std::vector<std::string> candidates;  // absolute: discovery files and libraries
  std::vector<LoadRecord> records;      // what could not be searched
};

SearchResult search_plugins(const LoaderOptions& options);
std::string active_filter(const LoaderOptions& options);

}  // namespace ost::runtime
