// Contexts: plugins, devices, and the compiler that all programs of a context share.
#include "core/capi/function.hpp"

using namespace ost;
using namespace ost::capi;

namespace ost::capi {

Result<runtime::DevicePtr> ContextState::open(const char* device) {
  OST_TRY_ASSIGN(auto opened, registry->get(device == nullptr ? "auto" : device));
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(opened_, opened) == opened_.end()) opened_.push_back(opened);
  return opened;
}

Result<std::vector<runtime::DevicePtr>> ContextState::open_all(const char* const* devices,
                                                               uint32_t count, uint32_t wanted) {
  OST_TRY_ASSIGN(const auto names, list(devices, count, "devices"));
  if (count != wanted && count != 1) {
    return fail(
        OST_INVALID_ARGUMENT,
        "the program has {} logical devices, {} were given; give one for each, or one for all",
        wanted, count);
  }
  std::vector<runtime::DevicePtr> out;
  for (uint32_t i = 0; i < wanted; ++i) {
    OST_TRY_ASSIGN(out.emplace_back(), open(names[count == 1 ? 0 : i]));
  }
  return out;
}

}  // namespace ost::capi

namespace {

Result<std::vector<std::string>> texts(const char* const* items, uint32_t count,
                                       std::string_view what) {
  OST_TRY_ASSIGN(const auto in, list(items, count, what));
  std::vector<std::string> out;
  for (const char* item : in) {
    OST_TRY(require(item, what));
    out.emplace_back(item);
  }
  return out;
}

Result<std::shared_ptr<ContextState>> make_context(const ost_context_options_t& in) {
  runtime::RegistryOptions options;
  OST_TRY_ASSIGN(options.loader.files,
                 texts(in.plugin_files, in.plugin_file_count, "plugin_files"));
  OST_TRY_ASSIGN(options.loader.folders,
                 texts(in.plugin_folders, in.plugin_folder_count, "plugin_folders"));
  options.loader.search = (in.flags & OST_CONTEXT_NO_PLUGIN_SEARCH) == 0;
  options.loader.environment = (in.flags & OST_CONTEXT_IGNORE_ENVIRONMENT) == 0;
  if (in.plugin_filter != nullptr) options.loader.filter = in.plugin_filter;
  OST_TRY_ASSIGN(const auto driver_options,
                 list(in.driver_options, in.driver_option_count, "driver_options"));
  for (const ost_option_t& o : driver_options) {
    OST_TRY(require(o.name, "the name of a driver option"));
    OST_TRY(require(o.value, "the value of a driver option"));
    options.driver_options[o.name] = o.value;
  }
  std::shared_ptr<runtime::CompileCache> cache;
  if (in.cache_folder == nullptr) {
    cache = runtime::CompileCache::open_default();
  } else {
    const std::string folder = in.cache_folder;
    cache = std::make_shared<runtime::CompileCache>(folder == "off" ? std::string() : folder);
  }
  auto state = std::make_shared<ContextState>();
  options.cache = cache;
  state->registry = runtime::DeviceRegistry::create(options);
  state->functions = std::make_shared<FunctionCache>();
  state->compiler = std::make_shared<runtime::Compiler>(std::move(cache));
  if (options.loader.search) state->folders = runtime::plugin_folders(options.loader);
  return state;
}

}  // namespace

extern "C" {

ost_status_t ost_context_create(const ost_context_options_t* options, ost_context_t** out_context,
                                ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_context, "out_context"));
    *out_context = nullptr;
    OST_TRY_ASSIGN(const auto in, read_options(options, "options"));
    OST_TRY_ASSIGN(auto state, make_context(in));
    *out_context = new ost_context_t{std::move(state)};
    return {};
  });
}

void ost_context_destroy(ost_context_t* context) { delete context; }

uint32_t ost_context_device_count(const ost_context_t* context) {
  return context == nullptr ? 0 : static_cast<uint32_t>(context->state->registry->devices().size());
}

ost_status_t ost_context_device_at(const ost_context_t* context, uint32_t index,
                                   ost_device_desc_t* out_desc, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    const auto devices = context->state->registry->devices();
    OST_TRY(check_index(index, devices.size(), "device"));
    const runtime::DeviceEntry& entry = devices[index];
    ost_device_desc_t desc{};
    desc.available = entry.available;
    desc.compile_only = entry.compile_only;
    desc.id = entry.id.c_str();
    desc.driver = entry.driver.c_str();
    desc.name = entry.info.name;
    desc.kind = runtime::device_kind_name(entry.info.kind).data();
    desc.target = entry.info.target;
    desc.reason = entry.reason.c_str();
    return write_struct(out_desc, desc, "out_desc");
  });
}

ost_status_t ost_context_open_device(ost_context_t* context, const char* device,
                                     ost_device_state_t* out_state, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    OST_TRY_ASSIGN(const auto opened, context->state->open(device));
    const runtime::DeviceCounters& counters = opened->counters();
    ost_device_state_t state{};
    state.exact = opened->self_test().exact;
    state.id = opened->id().c_str();
    state.reason = opened->self_test().reason.c_str();
    state.allocations = counters.allocations;
    state.allocated_bytes = counters.allocated_bytes;
    state.live_bytes = counters.live_bytes;
    state.submits = counters.submits;
    return write_struct(out_state, state, "out_state");
  });
}

uint32_t ost_context_plugin_count(const ost_context_t* context) {
  return context == nullptr ? 0 : static_cast<uint32_t>(context->state->registry->report().size());
}

ost_status_t ost_context_plugin_at(const ost_context_t* context, uint32_t index,
                                   ost_plugin_desc_t* out_desc, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    const auto records = context->state->registry->report();
    OST_TRY(check_index(index, records.size(), "plugin record"));
    const runtime::LoadRecord& r = records[index];
    ost_plugin_desc_t desc{};
    desc.rule = r.rule;
    desc.path = r.path.c_str();
    desc.library = r.library.c_str();
    desc.driver = r.driver.c_str();
    desc.status = runtime::name_of(r.status).data();
    desc.stage = runtime::name_of(r.stage).data();
    desc.reason = r.reason.c_str();
    return write_struct(out_desc, desc, "out_desc");
  });
}

uint32_t ost_context_plugin_folder_count(const ost_context_t* context) {
  return context == nullptr ? 0 : static_cast<uint32_t>(context->state->folders.size());
}

const char* ost_context_plugin_folder_at(const ost_context_t* context, uint32_t index) {
  if (context == nullptr || index >= context->state->folders.size()) return nullptr;
  return context->state->folders[index].c_str();
}

}  // extern "C"
