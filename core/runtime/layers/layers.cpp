#include "core/runtime/layers/layers.hpp"

#include <deque>
#include <map>
#include <mutex>

#include "core/runtime/env.hpp"
#include "core/runtime/layers/layer.hpp"

namespace ost::runtime {
namespace {

using layers::Layer;
using layers::Stack;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<> add_layers(std::string_view spec, std::string_view fault, Stack& stack) {
  for (const std::string_view name : words_of(spec)) {
    if (name == "validate") {
      stack.layers.push_back(layers::make_validate(stack));
    } else if (name == "trace") {
      stack.layers.push_back(layers::make_trace(stack));
    } else if (name == "fault") {
      OST_TRY_ASSIGN(auto layer, layers::make_fault(stack, fault));
      stack.layers.push_back(std::move(layer));
    } else {
      return fail(OST_INVALID_ARGUMENT,
                  "OSTINATO_LAYERS: unknown layer \"{}\", wanted validate, trace or fault", name);
    }
  }
  return {};
}

// Stacks live for ever, as plugins do: handles may be used while the process ends.
struct Stacks {
  std::mutex mutex;
  std::map<std::pair<void*, std::string>, PluginPtr> layered;
  std::deque<Stack> all;
};

Stacks& stacks() {
  static Stacks* const instance = new Stacks;
  return *instance;
}

}  // namespace

Result<PluginPtr> with_layers(const PluginPtr& plugin) {
  const auto spec = env("OSTINATO_LAYERS");
  if (!spec) return plugin;
  const std::string fault = env("OSTINATO_FAULT").value_or("");
  Stacks& s = stacks();
  const std::scoped_lock lock(s.mutex);
  const std::pair key(reinterpret_cast<void*>(plugin->table.entries.driver_create),
                      *spec + "\n" + fault);
  if (const auto known = s.layered.find(key); known != s.layered.end()) return known->second;
  if (s.all.size() == layers::kSlots)
    return fail(OST_UNAVAILABLE, "layers: {} drivers have some, which is the most", layers::kSlots);
  Stack& stack = s.all.emplace_back();
  stack.driver = plugin->name;
  stack.inner = plugin->table;
  if (auto ok = add_layers(*spec, fault, stack); !ok) {
    s.all.pop_back();
    return std::unexpected(ok.error());
  }
  Plugin out = *plugin;
  out.table = layers::layered_table(stack, s.all.size() - 1);
  auto made = std::make_shared<const Plugin>(std::move(out));
  s.layered.emplace(key, made);
  return made;
}

}  // namespace ost::runtime
