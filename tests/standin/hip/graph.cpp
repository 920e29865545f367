// Graphs: linear ones, captured from one stream. What a node does may be changed in a graph that can
// be launched; launches that were given before are not touched by it.
#include <cstring>
#include <map>
#include <mutex>

#include "standin.hpp"

namespace standin {
namespace {

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct Exec {
  int device = 0;
  std::vector<const Node*> origins;
  std::vector<Node> nodes;
};
struct Capture {
  std::unique_ptr<Graph> graph;
  bool valid = true;
  const void* last = nullptr;  // what a caller is told that the next node depends on
};

std::mutex mutex;
std::map<void*, Capture> captures;  // by stream

Node* node_of(Exec& exec, void* handle) {
  for (size_t i = 0; i < exec.nodes.size(); ++i)
    if (exec.origins[i] == handle) return &exec.nodes[i];
  return nullptr;
}

// hipKernelNodeParams
struct KernelParams {
  Dim block;
  void** extra;
  void* function;
  Dim grid;
  void** arguments;
  unsigned shared_bytes;
};

}  // namespace

Error give(void* stream, Node node) {
  {
    const std::scoped_lock lock(mutex);
    const auto it = captures.find(stream);
    if (it != captures.end()) {
      Capture& capture = it->second;
      if (!capture.valid) return kCaptureInvalidated;
      capture.graph->nodes.push_back(std::make_unique<Node>(std::move(node)));
      capture.last = capture.graph->nodes.back().get();
      return kSuccess;
    }
  }
  return enqueue(stream, std::move(node.task));
}

bool capture_refuses(void* stream) {
  const std::scoped_lock lock(mutex);
  const auto it = captures.find(stream);
  if (it == captures.end()) return false;
  it->second.valid = false;
  return true;
}

}  // namespace standin

using namespace standin;

STANDIN_API int hipStreamBeginCapture(void* stream, int mode) {
  if (const Error e = entered("hipStreamBeginCapture")) return e;
  if (device_of(stream) < 0 || mode < 0 || mode > 2) return kInvalidValue;
  const std::scoped_lock lock(mutex);
  if (captures.contains(stream)) return kInvalidValue;
  captures[stream].graph = std::make_unique<Graph>();
  return kSuccess;
}
STANDIN_API int hipStreamEndCapture(void* stream, void** out) {
  const std::scoped_lock lock(mutex);
  const auto it = captures.find(stream);
  *out = nullptr;
  if (it == captures.end()) return kInvalidValue;
  Capture capture = std::move(it->second);
  captures.erase(it);
  if (!capture.valid) return kCaptureInvalidated;
  *out = capture.graph.release();
  return entered("hipStreamEndCapture");
}
STANDIN_API int hipStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id,
                                           void** graph, const void*** dependencies,
                                           size_t* count) {
  const std::scoped_lock lock(mutex);
  const auto it = captures.find(stream);
  *status = it == captures.end() ? 0 : it->second.valid ? 1 : 2;
  if (it == captures.end()) return kSuccess;
  if (id != nullptr) *id = 1;
  if (graph != nullptr) *graph = it->second.graph.get();
  *dependencies = &it->second.last;
  *count = it->second.last != nullptr ? 1 : 0;
  return kSuccess;
}

STANDIN_API int hipGraphInstantiate(void** out, void* handle, void**, char*, size_t) {
  if (const Error e = entered("hipGraphInstantiate")) return e;
  auto exec = std::make_unique<Exec>();
  for (const auto& node : static_cast<Graph*>(handle)->nodes) {
    exec->origins.push_back(node.get());
    exec->nodes.push_back(*node);
  }
  *out = exec.release();
  return kSuccess;
}
STANDIN_API int hipGraphLaunch(void* handle, void* stream) {
  if (const Error e = entered("hipGraphLaunch")) return e;
  for (const Node& node : static_cast<Exec*>(handle)->nodes)
    if (const Error e = give(stream, node)) return e;
  return kSuccess;
}
STANDIN_API int hipGraphDestroy(void* handle) {
  delete static_cast<Graph*>(handle);
  return kSuccess;
}
STANDIN_API int hipGraphExecDestroy(void* handle) {
  delete static_cast<Exec*>(handle);
  return kSuccess;
}
STANDIN_API int hipGraphKernelNodeGetParams(void* handle, KernelParams* out) {
  const Node& node = *static_cast<Node*>(handle);
  if (node.type != Node::kKernel) return kInvalidValue;
  *out = {node.block, nullptr, node.function, {}, nullptr, 0};
  return entered("hipGraphKernelNodeGetParams");
}
STANDIN_API int hipGraphExecKernelNodeSetParams(void* handle, void* which,
                                                const KernelParams* params) {
  if (const Error e = entered("hipGraphExecKernelNodeSetParams")) return e;
  Node* node = node_of(*static_cast<Exec*>(handle), which);
  if (node == nullptr || node->type != Node::kKernel || node->function != params->function ||
      params->extra != nullptr || params->shared_bytes != 0)
    return kInvalidValue;
  return make_launch(*node, params->function, params->grid, params->block, params->arguments);
}
STANDIN_API int hipGraphExecMemcpyNodeSetParams1D(void* handle, void* which, void* to,
                                                  const void* from, size_t bytes, int) {
  if (const Error e = entered("hipGraphExecMemcpyNodeSetParams1D")) return e;
  Node* node = node_of(*static_cast<Exec*>(handle), which);
  bool to_crosses, from_crosses;
  side_of(to, bytes, to_crosses);
  side_of(from, bytes, from_crosses);
  if (node == nullptr || node->type != Node::kMemcpy || to_crosses || from_crosses)
    return kInvalidValue;
  node->task = [=] { std::memcpy(to, from, bytes); };
  return kSuccess;
}
