#include "core/runtime/isolate/isolated.hpp"

#include <fnmatch.h>

#include <deque>
#include <utility>

#include "core/runtime/env.hpp"
#include "core/runtime/isolate/remote.hpp"

namespace ost::runtime {
namespace {

using isolate::Connection;
using isolate::Spec;

constexpr size_t kMostPlugins = 32;

// driver_create has no argument that says whose it is, so each plugin has a function of its own.
Spec* specs[kMostPlugins];
using CreateEntry = decltype(ost_driver_table_t::driver_create);
template <size_t Slot>
ost_status_t create_of(const ost_host_table_t* host, ost_driver_t** out, ost_error_t* error) {
  return isolate::create_remote_driver(*specs[Slot], host, out, error);
}
template <size_t... Slots>
CreateEntry create_entry(size_t slot, std::index_sequence<Slots...>) {
  constexpr CreateEntry kEntries[] = {&create_of<Slots>...};
  return kEntries[slot];
}

std::unexpected<Rejection> reject(LoadStage stage, uint32_t rule, std::string reason) {
  return std::unexpected(Rejection{stage, rule, std::move(reason)});
}

// What the library's file says: libostinato_NAME.so, libNAME.so, NAME.so.
std::string name_from_file(const std::string& library) {
  std::string name = library.substr(library.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  for (const std::string_view prefix : {"lib", "ostinato_"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  return name;
}

struct Known {
  std::string library;
  Plugin plugin;
  Spec spec;
};

std::deque<Known>& known_plugins() {
  static auto* const all = new std::deque<Known>;
  return *all;
}
std::mutex known_mutex;

DriverTable table_of(size_t slot, bool lists, bool profiling, bool links) {
  DriverTable out;
  ost_driver_table_t& t = out.entries;
  t.size = sizeof t;
  isolate::set_remote_driver(t);
  isolate::set_remote_memory(t);
  isolate::set_remote_queue(t);
  t.driver_create = create_entry(slot, std::make_index_sequence<kMostPlugins>());
  if (!lists) t.cmdlist_create = nullptr, t.cmdlist_destroy = nullptr;
  if (!profiling) t.profile_enable = nullptr, t.profile_drain = nullptr;
  if (!links) t.link_query = nullptr;
  return *complete_table(&t);
}

}  // namespace

bool wants_isolation(const std::string& driver, const std::string& library) {
  const auto wanted = env("OSTINATO_ISOLATE");
  if (!wanted) return false;
  const std::string name = driver.empty() ? name_from_file(library) : driver;
  for (size_t start = 0; start <= wanted->size();) {
    const size_t end = std::min(wanted->find(',', start), wanted->size());
    if (fnmatch(wanted->substr(start, end - start).c_str(), name.c_str(), 0) == 0) return true;
    start = end + 1;
  }
  return false;
}

std::expected<Plugin, Rejection> load_isolated(const std::string& library) {
  const std::scoped_lock lock(known_mutex);
  std::deque<Known>& all = known_plugins();
  for (const Known& k : all) {
    if (k.library == library) return k.plugin;
  }
  if (all.size() == kMostPlugins)
    return reject(LoadStage::open, 0, "too many isolated drivers, which are at most 32");
  auto connection = Connection::start(library);
  if (!connection) return reject(LoadStage::negotiate, 5, connection.error().message);
  isolate::Reader hello = (*connection)->hello();
  if (!hello.get<bool>()) {
    const auto stage = hello.get<LoadStage>();
    const auto rule = hello.get<uint32_t>();
    return reject(stage, rule, hello.text());
  }
  Known& k = all.emplace_back();
  k.library = library;
  k.spec.library = library;
  k.spec.spare = std::move(*connection);
  k.plugin.abi = hello.get<uint32_t>();
  k.plugin.name = hello.text();
  k.plugin.version = hello.text();
  k.plugin.vendor = hello.text();
  const auto lists = hello.get<bool>(), profiling = hello.get<bool>(), links = hello.get<bool>();
  specs[all.size() - 1] = &k.spec;
  k.plugin.table = table_of(all.size() - 1, lists, profiling, links);
  return k.plugin;
}

int isolated_process(const ost_driver_t* driver) {
  return reinterpret_cast<const isolate::RemoteDriver*>(driver)->c->process();
}

}  // namespace ost::runtime
