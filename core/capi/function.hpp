// Functions: a program of the expression language, compiled for the types of its inputs and a
// device, and kept by the context so that the same request gives the same function.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/capi/handles.hpp"

namespace ost::capi {

struct FunctionState {
  std::string device;
  std::shared_ptr<const ProgramState> program;
  std::unique_ptr<ost_instance_t> instance;
};

// What a context has compiled, by everything that decides the result; the oldest of more than
// kMostFunctions is dropped (handles keep it alive).
class FunctionCache {
 public:
  static constexpr size_t kMostFunctions = 256;

  std::shared_ptr<FunctionState> find(const std::string& key);
  void keep(std::string key, std::shared_ptr<FunctionState> function);
  void stats(uint64_t& compiled, uint64_t& reused, uint64_t& kept);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FunctionState>> functions_;
  std::list<std::string> by_age_;
  uint64_t compiled_ = 0, reused_ = 0;
};

}  // namespace ost::capi

struct ost_function_t {
  std::atomic<uint32_t> references{1};
  std::shared_ptr<ost::capi::ContextState> context;  // outlives the function
  std::shared_ptr<ost::capi::FunctionState> state;
};
