// The part of a program that computes the same in every run, apart from the rest.
#pragma once

#include <vector>

#include "core/schedule/schedule.hpp"

namespace ost {

struct PruneSplit {
  Program once;                   // no inputs, no variables; its outputs are what `rest` needs
  Program rest;                   // has a constant without data for each output of `once`
  std::vector<uint32_t> results;  // output of `once` -> constant of `rest`
};

// A step belongs to `once` if all that it reads are constants, states that are frozen (by state:
// nobody writes them any more) and intermediates of such steps, and if all that it writes are
// intermediates that no other step writes. Steps that read variables or write outputs stay. With
// nothing to prune, or nothing of it needed, `results` is empty and the programs are not set.
Result<PruneSplit> split_unchanging(const Program& program, const std::vector<bool>& frozen,
                                    const ScheduleOptions& options);

}  // namespace ost
