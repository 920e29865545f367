// What a run gave: for people, as JSON, into files.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "json.hpp"

struct Result {
  std::string name;
  ostinato::Array array;
};

std::vector<Result> read_results(const ostinato::Instance& instance);
Json results_json(const std::vector<Result>& results);   // name, dtype, shape, sha256
void print_results(const std::vector<Result>& results);  // with the values of small ones
// --output: FILE (all results) or NAME=FILE.
void write_results(const std::vector<Result>& results, const std::vector<std::string>& outputs);
