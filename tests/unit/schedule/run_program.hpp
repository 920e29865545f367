// Runs a Program on host memory with the KIR interpreter: what the scheduler means, without any
// runtime.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/kir/kernel.hpp"
#include "core/schedule/program.hpp"

namespace ost::test {

using Bytes = std::vector<uint8_t>;

// `inputs` by argument position; written ones are updated. States start from their initial value
// and end in `states`.
struct HostRun {
  std::vector<Bytes> inputs;
  std::vector<Bytes> states;
  Bindings vars;
  std::vector<Bytes> outputs;
};

using RunKernel = std::function<Result<>(const kir::Kernel&, std::span<const kir::ParamData>,
                                          std::span<const int64_t>)>;

inline Result<> run_on_host(const Program& p, HostRun& run,
                            const RunKernel& run_kernel = kir::interpret) {
  std::vector<std::vector<uint8_t>> arenas;
  for (const Arena& a : p.arenas) arenas.emplace_back(a.bytes, uint8_t{0xcd});
  std::vector<Bytes> own(p.buffers.size());
  std::vector<kir::ParamData> data(p.buffers.size());
  run.states.resize(p.states.size());
  for (size_t b = 0; b < p.buffers.size(); ++b) {
    const BufferDesc& d = p.buffers[b];
    OST_TRY_ASSIGN(const int64_t elements, d.elements.eval(run.vars));
    const uint64_t bytes = static_cast<uint64_t>(elements) * size_of(d.dtype);
    Bytes* home = &own[b];
    if (d.kind == BufferKind::input) home = &run.inputs[d.slot];
    if (d.kind == BufferKind::state) home = &run.states[d.slot];
    if (d.kind == BufferKind::constant) *home = p.constants[d.slot].data->bytes;
    if (d.kind == BufferKind::state && home->empty()) {
      if (p.states[d.slot].initial) *home = p.states[d.slot].initial->bytes;
      home->resize(bytes);
    }
    if (d.kind == BufferKind::output) home->assign(bytes, 0xcd);
    if (d.kind == BufferKind::temp)
      data[b] = {arenas[d.arena].data() + d.offset, bytes};
    else if (home->size() < bytes)
      return fail(OST_INVALID_ARGUMENT, "buffer {} has {} bytes, wanted {}", b, home->size(),
                  bytes);
    else
      data[b] = {home->data(), bytes};
  }
  for (const Step& s : p.steps) {
    if (s.kind == StepKind::copy) {
      std::copy_n(static_cast<const uint8_t*>(data[s.args[1]].data), data[s.args[0]].bytes,
                  static_cast<uint8_t*>(data[s.args[0]].data));
      continue;
    }
    std::vector<kir::ParamData> params;
    for (uint32_t b : s.args) params.push_back(data[b]);
    std::vector<int64_t> vars;
    for (uint32_t v : s.vars) vars.push_back(run.vars.at(p.vars[v].name));
    OST_TRY(run_kernel(p.kernels[s.kernel].kir, params, vars));
  }
  run.outputs.clear();
  for (const OutputDesc& o : p.outputs) {
    const auto* at = static_cast<const uint8_t*>(data[o.buffer].data);
    run.outputs.emplace_back(at, at + data[o.buffer].bytes);
  }
  return {};
}

}  // namespace ost::test
