// Ostinato for applications in C++17 and later: ostinato.h with handles that clean up after
// themselves and errors that are exceptions. Header-only; every object is a handle of the C ABI and
// get() gives it back.
//
//   app/error.hpp      Error, call()
//   app/context.hpp    Context, devices, plugin records, compile cache
//   app/values.hpp     Array, Type, Dim, Var
//   app/graph.hpp      Graph, attributes of operations
//   app/program.hpp    Program, reports
//   app/instance.hpp   Instance, Buffer, verify
//   app/function.hpp   compile(), evaluate(), Function: expressions as callables
//   app/archive.hpp    Archive: .npy, .npz, .safetensors
//   app/tensor.hpp     Session, Tensor, Jit
#ifndef OSTINATO_OSTINATO_HPP_
#define OSTINATO_OSTINATO_HPP_

#include "app/archive.hpp"
#include "app/context.hpp"
#include "app/error.hpp"
#include "app/function.hpp"
#include "app/graph.hpp"
#include "app/instance.hpp"
#include "app/program.hpp"
#include "app/tensor.hpp"
#include "app/values.hpp"

#endif  // OSTINATO_OSTINATO_HPP_
