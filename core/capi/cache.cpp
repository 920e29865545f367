// The compile cache of a context, and what its compilers did.
#include "core/capi/handles.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

void report(const std::vector<runtime::CacheEntry>& entries, ost_cache_entry_fn each, void* user) {
  if (each == nullptr) return;
  for (const runtime::CacheEntry& e : entries) {
    const ost_cache_entry_t out{
        sizeof(ost_cache_entry_t), 0, e.key.c_str(), e.path.c_str(), e.bytes, e.used_ns};
    each(user, &out);
  }
}

}  // namespace

extern "C" {

ost_status_t ost_context_compile_stats(const ost_context_t* context, ost_compile_stats_t* out_stats,
                                       ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    const runtime::CompileStats compiler = context->state->compiler->stats();
    const runtime::CacheStats cache = context->state->compiler->cache().stats();
    ost_compile_stats_t stats{};
    stats.compiles = compiler.compiles;
    stats.compile_ns = compiler.compile_ns;
    stats.images_used = compiler.images_used;
    stats.cache_hits = cache.hits;
    stats.cache_misses = cache.misses;
    stats.cache_damaged = cache.damaged;
    stats.cache_stores = cache.stores;
    return write_struct(out_stats, stats, "out_stats");
  });
}

const char* ost_context_cache_folder(const ost_context_t* context) {
  return context == nullptr ? "" : context->state->compiler->cache().folder().c_str();
}

ost_status_t ost_context_cache_list(ost_context_t* context, ost_cache_entry_fn each, void* user,
                                    ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    OST_TRY_ASSIGN(const auto entries, context->state->compiler->cache().list());
    report(entries, each, user);
    return {};
  });
}

ost_status_t ost_context_cache_prune(ost_context_t* context, uint64_t max_bytes,
                                     ost_cache_entry_fn each, void* user, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(context, "context"));
    runtime::CompileCache& cache = context->state->compiler->cache();
    OST_TRY_ASSIGN(const auto removed, max_bytes == 0 ? cache.clear() : cache.prune(max_bytes));
    report(removed, each, user);
    return {};
  });
}

}  // extern "C"
