// LLVM's part: a module becomes the bytes of an object file. No optimiser pipeline runs; the IR is
// written as it is to be.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "plugins/cpu/abi/target.hpp"

namespace ost_cpu {

const char* llvm_version();

class Codegen {
 public:
  explicit Codegen(FeatureSet isa);
  ~Codegen();
  Codegen(const Codegen&) = delete;
  Codegen& operator=(const Codegen&) = delete;

  void prepare(llvm::Module& module) const;  // data layout and triple
  std::string object(llvm::Module& module);
  std::string assembly(llvm::Module& module);

 private:
  struct State;
  std::string emit(llvm::Module& module, int file_type);
  State* state_;
};

}  // namespace ost_cpu
