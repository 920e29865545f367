// Initialisation, the driver, contexts.
#include <level_zero/ze_ddi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device.hpp"
#include "engine.hpp"
#include "memory.hpp"
#include "tables.hpp"

namespace standin {
namespace {

void look_for_leaks() {
  if (report_leaks() + report_memory_leaks() == 0) return;
  std::fflush(nullptr);
  std::_Exit(86);
}

// The loader calls it once to try the driver and once more for each call of the program.
ze_result_t init(ze_init_flags_t flags) {
  return entry("zeInit", [&] {
    if ((flags & ~3u) != 0) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (flags == ZE_INIT_FLAG_VPU_ONLY || settings().devices == 0)
      return ZE_RESULT_ERROR_UNINITIALIZED;
    if (!Engine::get().found()) {
      say("zeInit", "no OpenCL device of kind CPU: is PoCL installed?");
      return ZE_RESULT_ERROR_UNINITIALIZED;
    }
    [[maybe_unused]] static const int once = settings().leaks ? std::atexit(look_for_leaks) : 0;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t driver_get(uint32_t* count, ze_driver_handle_t* out) {
  return entry("zeDriverGet", [&] {
    put_array(count, 1, out, [](uint32_t, ze_driver_handle_t& handle) {
      handle = reinterpret_cast<ze_driver_handle_t>(static_cast<Object*>(&the_driver()));
    });
  });
}
ze_result_t driver_api_version(ze_driver_handle_t h, ze_api_version_t* out) {
  return entry("zeDriverGetApiVersion", [&] {
    of<Driver>(h);
    need(out, "the version");
    *out = ZE_API_VERSION_1_3;
  });
}
ze_result_t driver_properties(ze_driver_handle_t h, ze_driver_properties_t* out) {
  return entry("zeDriverGetProperties", [&] {
    of<Driver>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
    std::memset(&out->uuid, 0x5a, sizeof out->uuid);
    out->driverVersion = 1;
  });
}
ze_result_t driver_ipc_properties(ze_driver_handle_t h, ze_driver_ipc_properties_t* out) {
  return entry("zeDriverGetIpcProperties", [&] {
    of<Driver>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES);
    out->flags = 0;
  });
}
ze_result_t driver_extensions(ze_driver_handle_t h, uint32_t* count,
                              ze_driver_extension_properties_t* out) {
  return entry("zeDriverGetExtensionProperties", [&] {
    of<Driver>(h);
    put_array(count, 1, out, [](uint32_t, ze_driver_extension_properties_t& e) {
      std::snprintf(e.name, sizeof e.name, "%s", ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME);
      e.version = ZE_RELAXED_ALLOCATION_LIMITS_EXP_VERSION_CURRENT;
    });
  });
}

// Intel's functions for host memory that the program has already.
ze_result_t import_pointer(ze_driver_handle_t h, void* pointer, size_t bytes) {
  return entry("zexDriverImportExternalPointer", [&] {
    of<Driver>(h);
    import_memory(pointer, bytes);
  });
}
ze_result_t release_pointer(ze_driver_handle_t h, void* pointer) {
  return entry("zexDriverReleaseImportedPointer", [&] {
    of<Driver>(h);
    release_imported(pointer);
  });
}
ze_result_t driver_extension_function(ze_driver_handle_t h, const char* name, void** out) {
  return entry("zeDriverGetExtensionFunctionAddress", [&] {
    of<Driver>(h);
    need(name, "the name");
    need(out, "the out-parameter");
    *out = nullptr;
    const std::string_view wanted = name;
    if (settings().import && wanted == "zexDriverImportExternalPointer")
      *out = reinterpret_cast<void*>(import_pointer);
    if (settings().import && wanted == "zexDriverReleaseImportedPointer")
      *out = reinterpret_cast<void*>(release_pointer);
    return *out != nullptr ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
  });
}

// --- contexts

ze_result_t context_create(ze_driver_handle_t h, const ze_context_desc_t* desc,
                           ze_context_handle_t* out) {
  return device_entry("zeContextCreate", [&] {
    of<Driver>(h);
    need_desc(desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
    give(std::make_unique<Context>(), out);
  });
}
ze_result_t context_create_ex(ze_driver_handle_t h, const ze_context_desc_t* desc, uint32_t,
                              ze_device_handle_t*, ze_context_handle_t* out) {
  return context_create(h, desc, out);
}
ze_result_t context_destroy(ze_context_handle_t h) {
  return entry("zeContextDestroy", [&] { give_back<Context>(h); });
}
ze_result_t context_status(ze_context_handle_t h) {
  return device_entry("zeContextGetStatus", [&] { of<Context>(h); });
}
ze_result_t make_resident(ze_context_handle_t c, ze_device_handle_t d, void* pointer, size_t size) {
  return device_entry("zeContextMakeMemoryResident", [&] {
    of<Context>(c), of<Device>(d);
    find_memory(pointer, size);
  });
}

}  // namespace

OST_ZE_TABLE(ze, Global, global, table->pfnInit = init)
OST_ZE_TABLE(ze, Driver, driver, table->pfnGet = driver_get;
             table->pfnGetApiVersion = driver_api_version;
             table->pfnGetProperties = driver_properties;
             table->pfnGetIpcProperties = driver_ipc_properties;
             table->pfnGetExtensionProperties = driver_extensions;
             table->pfnGetExtensionFunctionAddress = driver_extension_function)
OST_ZE_TABLE(ze, Context, context, table->pfnCreate = context_create;
             table->pfnCreateEx = context_create_ex; table->pfnDestroy = context_destroy;
             table->pfnGetStatus = context_status; table->pfnMakeMemoryResident = make_resident;
             table->pfnEvictMemory = make_resident)

}  // namespace standin
