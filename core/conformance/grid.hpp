// The kernels of level 2: each operation with each element type that KIR allows it, in several
// shapes. A cell of the grid is an operation with the type of its record; "cast" and "bitcast" have
// a case for each source type too.
#pragma once

#include <functional>

#include "oracle.hpp"

namespace ost::conform {

struct GridCase {
  std::string cell;  // "add.f32"
  std::string name;  // "add.f32.fixed"; begins with the cell
  std::function<Result<Trial>(Random&)> make;
};

void add_elementwise(std::vector<GridCase>& out);
void add_reductions(std::vector<GridCase>& out);
void add_contractions(std::vector<GridCase>& out);
// Kernels for what is no operation: loops, memory, several statements. Their cell is "".
void add_structures(std::vector<GridCase>& out);

std::vector<GridCase> grid();

}  // namespace ost::conform
