// The parts of verify(Program), by topic. Each may rely on what the ones above it have checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/schedule/program.hpp"

namespace ost::verify_parts {

// Variables, signature, constants, states, arenas, guards, groups: names, types, ranges,
// expressions.
Result<> check_declarations(const Program& program);
// What each buffer stands for, and that a temp is inside its arena.
Result<> check_buffers(const Program& program);
// Outputs: each names a buffer that fits it.
Result<> check_outputs(const Program& program);
// Names, and each kernel verified and proved.
Result<> check_kernels(const Program& program);

// One use of a buffer by a step.
struct Access {
  uint32_t step = 0;
  uint32_t buffer = 0;
  uint32_t arg = 0;
  bool reads = false;
  bool writes = false;
};

// Counts, types, devices, sizes, access rights, edges and levels of each step; appends what the
// steps touch, in order.
Result<> check_steps(const Program& program, std::vector<Access>& accesses);
// Conflicting accesses are ordered by edges, nothing is read before it is written, and temps that
// share bytes do not live at the same time.
Result<> check_order(const Program& program, const std::vector<Access>& accesses);

// "/steps/3/args/1: ...".
template <typename... Args>
std::unexpected<Error> bad(std::string_view pointer, fmt::format_string<Args...> format,
                           Args&&... args) {
  return fail(OST_INVALID_ARGUMENT, "{}: {}", pointer,
              fmt::format(format, std::forward<Args>(args)...));
}

// The expression is valid and its variables are the program's.
Result<> check_sym(const Program& program, const Sym& sym, const std::string& pointer);
bool equal_for_all(const Sym& a, const Sym& b);
// Bytes of a buffer at the largest variable values; check_buffers has made sure that it exists.
uint64_t max_bytes(const BufferDesc& buffer);
std::string_view name_of(BufferKind kind);

}  // namespace ost::verify_parts
