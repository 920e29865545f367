// Another way to run the steps of a program: their order, some of them repeated or cut into parts,
// without anything that is large to copy.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/program.hpp"

namespace ost {

struct Draft {
  struct Item {
    uint32_t origin;  // step of the program
    std::vector<uint32_t> args;
    uint32_t kernel = kNoIndex;  // of those that were made for the draft; kNoIndex: the step's
  };
  std::vector<Item> items;
  std::vector<uint32_t> origin_of_buffer;  // buffers of the program, then those that were added
  std::vector<uint32_t> parts_of_buffer;   // it holds 1 / parts of the elements
};

// Makes the program what the draft says. `access` (per step and argument) follows the steps; their
// edges are empty afterwards.
void apply(const Draft& draft, const std::vector<kir::Kernel>& made, Program& program,
           std::vector<std::vector<uint32_t>>& access);

}  // namespace ost
