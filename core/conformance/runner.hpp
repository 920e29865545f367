// Runs the cases in a process of its own, which is started again behind a case that killed it: a
// driver that crashes or hangs is a finding, not the end of the kit.
#pragma once

#include <span>

#include "lab.hpp"
#include "options.hpp"
#include "report.hpp"

namespace ost::conform {

// The cases that the options ask for.
std::vector<Case> selected_cases(const Options& options);

Subject subject_of(const Options& options, uint32_t level);

// In this process.
Finding run_case(const Case& c, Lab& lab);

Description describe(const Lab& lab);

// Told in this order: what it is, once for each process, then its findings.
struct Listener {
  std::function<void(Description)> described;
  std::function<void(Finding)> found;
};

// In workers. An error if there is nothing to test: OST_UNAVAILABLE, with what the loader says.
Result<> run_in_workers(const Options& options, std::span<const Case> cases,
                        const Listener& listener);
// main() of a worker.
int run_worker(const Options& options);

}  // namespace ost::conform
