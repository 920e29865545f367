// The parts of the layer `validate`: what a call's arguments must satisfy, and what is in flight.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "core/runtime/layers/layer.hpp"

namespace ost::runtime::layers {

struct Broken {
  uint32_t rule;
  std::string text;
};

void report_finding(const Stack& stack, uint32_t rule, std::string text);

std::optional<Broken> check_struct(const Call& call);    // rule 2: sizes
std::optional<Broken> check_range(const Call& call);     // rules 7 and 8: values and ranges
std::optional<Broken> check_commands(const Call& call);  // of a submit and of a command list

// Submits whose signals have not been reached: their buffers may not be freed.
class Flights {
 public:
  explicit Flights(const Stack& stack) : stack_(stack) {}
  void add(const Call& submit);
  void forget(const Call& submit);  // it failed
  bool uses(uint64_t buffer);

 private:
  struct Flight {
    uint64_t timeline = 0, value = 0;
    std::set<uint64_t> buffers;
  };
  void drop_ended();

  const Stack& stack_;
  std::mutex mutex_;
  std::vector<Flight> flights_;
};

}  // namespace ost::runtime::layers
