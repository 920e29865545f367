// The driver object: what its entries in driver.cpp and runtime/ share.
#pragma once

#include "compiler/compiler.hpp"
#include "runtime/runtime.hpp"

namespace levelzero {

struct Driver {
  explicit Driver(const ost::plugin::Host& host);

  Compiler compiler;
  Runtime runtime;
  // The devices that Level Zero has, by their index there, then the targets that images can be made
  // for.
  std::vector<ost_device_info_t> infos;
};

}  // namespace levelzero
