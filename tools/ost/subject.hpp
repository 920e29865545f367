// What a command works on: a program, from a manifest or an expression, and the data of its inputs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"

// Arrays from files, each file opened once. Views live as long as this.
class InputFiles {
 public:
  // "a.npy", "archive.npz:key", "weights.safetensors:key".
  ost_array_t read(const std::string& text);
  const ostinato::Archive& open(const std::string& path);

 private:
  std::map<std::string, std::unique_ptr<ostinato::Archive>> archives_;
};

// An expression as a graph: names in --weights become constants, names with --input or --shape
// inputs.
ostinato::Program compile_expression(const Options& options, const std::string& text,
                                     InputFiles& files);
ostinato::Program load_manifest(const Options& options, const std::string& path);
// A manifest if the text is the path of a file, else an expression.
ostinato::Program load_or_compile(const Options& options, InputFiles& files);

// Every input of a program with data: what --input gives, and pseudo-random numbers for the rest
// (which is said).
struct CallData {
  ostinato::Bindings inputs;
  ostinato::VarValues vars;
  std::deque<ostinato::Array> made;
};
CallData call_data(const Options& options, const ostinato::Program& program, InputFiles& files);

// The device of each logical device, from --map or --device, opened, so that an error is about
// devices.
std::vector<std::string> open_devices(const ostinato::Context& context, const Options& options,
                                      const ostinato::Program& program);
std::string open_device(const ostinato::Context& context, const std::string& device);

std::int64_t parse_integer(const std::string& text, const std::string& what);
void note(const Options& options, const std::string& message);  // on stderr, unless --quiet
std::vector<std::string> split_list(const std::string& text);   // at commas
