// A tensor as an eager program holds it: either storage on a device or a node of its session's lazy
// graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/base/sym.hpp"
#include "core/ir/graph.hpp"
#include "core/runtime/buffer.hpp"

namespace ost::capture {

class Session;

// Outputs of a captured program whose storage is reused by later calls: a tensor of an older
// generation is stale.
struct Generation {
  uint64_t current = 0;
};

class Tensor {
 public:
  uint64_t id() const { return id_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  uint32_t device() const { return device_; }  // index into Session::devices()
  bool is_realized() const { return storage_.buffer != nullptr; }
  const runtime::BufferRef& storage() const { return storage_; }
  // Concrete sizes of what is in the storage; empty as long as it is not realized.
  const std::vector<int64_t>& dims() const { return dims_; }
  bool is_frozen() const { return is_frozen_; }

  // OST_JIT_ERROR if a later call of a captured program has overwritten the storage, or the tensor
  // only stood for a value while a function was captured.
  Result<> check_fresh() const;

 private:
  friend class Session;
  friend class Jit;
  friend class Captured;
  uint64_t id_ = 0;
  DType dtype_ = DType::f32;
  Shape shape_;
  uint32_t device_ = 0;
  ir::NodeId node_ = 0;    // in the session's graph; meaningful while not realized
  uint64_t graph_id_ = 0;  // which graph that was
  runtime::BufferRef storage_;
  std::vector<int64_t> dims_;
  bool is_frozen_ = false;  // never written again: kernels that read no other data can be pruned
  bool is_traced_ = false;  // stands for an argument of the function that is being captured
  const char* dead_because_ =
      nullptr;  // it was made while a function was captured, or was given away
  std::shared_ptr<const Generation> generation_;
  uint64_t born_ = 0;  // generation_->current when the storage was written
};

using TensorPtr = std::shared_ptr<Tensor>;

}  // namespace ost::capture
