// What the command line said, for the commands. Empty strings and lists mean "not given".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// "NAME=VALUE", split at the first '='.
struct NamedText {
  std::string name;
  std::string value;
};

struct Options {
  std::string command;

  // Every command.
  bool json = false;
  bool verbose = false;
  bool quiet = false;
  std::string cache;                 // folder, or "off"
  std::vector<std::string> plugins;  // files
  std::vector<NamedText> driver_options;

  // What to run, and with what.
  std::string subject;            // expression or manifest
  std::string other;              // diff: the second manifest
  std::vector<NamedText> inputs;  // x=file or x=file:key
  std::vector<NamedText> shapes;  // x=n:1..64,64
  std::vector<NamedText> vars;    // n=7
  std::vector<std::string> weights;
  std::uint64_t seed = 1;  // of the data that stands in for missing inputs

  // How to compile.
  std::string numerics = "strict";
  std::optional<std::int64_t> memory_budget;
  std::uint64_t arena_limit = 0;
  std::optional<std::uint32_t> tile_size;
  bool fuse = true;

  // Where to run.
  std::string device;
  std::string map;      // 0=cpu:0,1=ref:0
  std::string devices;  // verify: A,B
  std::optional<std::uint32_t> threads;
  std::optional<std::uint32_t> repeat;
  bool trust = false;
  bool accept_edited = false;

  // Where results go.
  std::vector<std::string> outputs;  // --output: file, or name=file
  std::string manifest;              // -o
  std::string dot, html;
  bool kir = false;
  std::string targets;          // link
  std::string cache_action;     // ls, prune, clear
  std::string plugin_action;    // new
  std::string folder;           // plugin new
  std::uint64_t max_bytes = 0;  // cache prune

  std::string trace_file;           // trace
  std::vector<std::string> traced;  // trace: the command and its arguments
};
