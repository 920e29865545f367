// Devices and what they say about themselves: a small discrete GPU.
#include "device.hpp"

#include <level_zero/ze_ddi.h>

#include <cstdio>
#include <cstring>

#include "engine.hpp"
#include "memory.hpp"
#include "tables.hpp"

namespace standin {
namespace {

struct Found {
  Driver driver;
  std::vector<std::unique_ptr<Device>> devices;
};
Found& found() {
  static Found* all = [] {
    auto* f = new Found;
    enlist(&f->driver);
    for (int i = 0; i < settings().devices; ++i) {
      f->devices.push_back(std::make_unique<Device>(i));
      enlist(f->devices.back().get());
    }
    return f;
  }();
  return *all;
}

// Everything of a struct but its head.
template <class T>
void clear(T* out) {
  const auto stype = out->stype;
  const auto next = out->pNext;
  std::memset(static_cast<void*>(out), 0, sizeof *out);
  out->stype = stype;
  out->pNext = next;
}

ze_result_t device_get(ze_driver_handle_t h, uint32_t* count, ze_device_handle_t* out) {
  return entry("zeDeviceGet", [&] {
    of<Driver>(h);
    put_array(count, static_cast<uint32_t>(the_devices().size()), out,
              [](uint32_t i, ze_device_handle_t& handle) {
                handle = reinterpret_cast<ze_device_handle_t>(
                    static_cast<Object*>(the_devices()[i].get()));
              });
  });
}
ze_result_t sub_devices(ze_device_handle_t h, uint32_t* count, ze_device_handle_t*) {
  return entry("zeDeviceGetSubDevices", [&] {
    of<Device>(h);
    need(count, "the count");
    *count = 0;
  });
}

ze_result_t properties(ze_device_handle_t h, ze_device_properties_t* out) {
  return entry("zeDeviceGetProperties", [&] {
    const Device& device = of<Device>(h);
    need(out, "the properties");
    const bool cycles = out->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    if (!cycles) need_desc(out, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
    clear(out);
    out->type = ZE_DEVICE_TYPE_GPU;
    out->vendorId = 0x8086;
    out->deviceId = 0xffff;
    out->coreClockRate = 1000;
    out->maxMemAllocSize = settings().max_alloc;
    out->maxHardwareContexts = 1024;
    out->numThreadsPerEU = 8;
    out->physicalEUSimdWidth = 8;
    out->numEUsPerSubslice = 1;
    out->numSubslicesPerSlice = Engine::get().units();
    out->numSlices = 1;
    // Since 1.2 in cycles a second, before in nanoseconds. A tick is 4 ns.
    out->timerResolution = cycles ? 1000000000 / kTickNs : kTickNs;
    out->timestampValidBits = 64;
    out->kernelTimestampValidBits = kTimestampBits;
    out->uuid.id[0] = 0x5a;
    out->uuid.id[1] = static_cast<uint8_t>(device.index);
    std::snprintf(out->name, sizeof out->name, "Level Zero test driver %d on %.180s", device.index,
                  Engine::get().name().c_str());
  });
}

ze_result_t compute_properties(ze_device_handle_t h, ze_device_compute_properties_t* out) {
  return entry("zeDeviceGetComputeProperties", [&] {
    of<Device>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
    clear(out);
    out->maxTotalGroupSize = out->maxGroupSizeX = out->maxGroupSizeY = out->maxGroupSizeZ =
        settings().group;
    out->maxGroupCountX = out->maxGroupCountY = out->maxGroupCountZ = UINT32_MAX;
    out->maxSharedLocalMemory = kLocalBytes;
    out->numSubGroupSizes = 3;
    for (uint32_t i = 0; i < 3; ++i) out->subGroupSizes[i] = 8u << i;
  });
}

ze_result_t module_properties(ze_device_handle_t h, ze_device_module_properties_t* out) {
  return entry("zeDeviceGetModuleProperties", [&] {
    of<Device>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
    clear(out);
    out->spirvVersionSupported = ZE_MAKE_VERSION(1, 2);
    out->flags = ZE_DEVICE_MODULE_FLAG_FP16 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    out->fp16flags = out->fp32flags = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
                                      ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_FMA;
    if (settings().fp64) {
      out->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
      out->fp64flags = out->fp32flags;
    }
    out->maxArgumentsSize = kMaxArgumentBytes;
    out->printfBufferSize = 1u << 20;
  });
}

ze_result_t queue_groups(ze_device_handle_t h, uint32_t* count,
                         ze_command_queue_group_properties_t* out) {
  return entry("zeDeviceGetCommandQueueGroupProperties", [&] {
    of<Device>(h);
    put_array(count, kGroups, out, [](uint32_t i, ze_command_queue_group_properties_t& g) {
      need_desc(&g, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
      g.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
      if (i == kComputeGroup) g.flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
      g.maxMemoryFillPatternSize = kFillPatternOf[i];
      g.numQueues = kQueuesOf[i];
    });
  });
}

ze_result_t memory_properties(ze_device_handle_t h, uint32_t* count,
                              ze_device_memory_properties_t* out) {
  return entry("zeDeviceGetMemoryProperties", [&] {
    of<Device>(h);
    put_array(count, 1, out, [](uint32_t, ze_device_memory_properties_t& m) {
      need_desc(&m, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
      clear(&m);
      m.maxClockRate = 1000;
      m.maxBusWidth = 64;
      m.totalSize = settings().memory;
      std::snprintf(m.name, sizeof m.name, "DDR");
    });
  });
}
ze_result_t memory_access(ze_device_handle_t h, ze_device_memory_access_properties_t* out) {
  return entry("zeDeviceGetMemoryAccessProperties", [&] {
    of<Device>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
    clear(out);
    out->hostAllocCapabilities = out->deviceAllocCapabilities =
        out->sharedSingleDeviceAllocCapabilities =
            ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  });
}
ze_result_t cache_properties(ze_device_handle_t h, uint32_t* count,
                             ze_device_cache_properties_t* out) {
  return entry("zeDeviceGetCacheProperties", [&] {
    of<Device>(h);
    put_array(count, 1, out, [](uint32_t, ze_device_cache_properties_t& c) {
      c.flags = 0;
      c.cacheSize = 1u << 20;
    });
  });
}
ze_result_t can_access_peer(ze_device_handle_t a, ze_device_handle_t b, ze_bool_t* out) {
  return entry("zeDeviceCanAccessPeer", [&] {
    need(out, "the out-parameter");
    *out = &of<Device>(a) == &of<Device>(b) ? 1 : 0;
  });
}
ze_result_t status(ze_device_handle_t h) {
  return device_entry("zeDeviceGetStatus", [&] { of<Device>(h); });
}
ze_result_t global_timestamps(ze_device_handle_t h, uint64_t* host, uint64_t* device) {
  return device_entry("zeDeviceGetGlobalTimestamps", [&] {
    of<Device>(h);
    need(host, "the host's time");
    need(device, "the device's time");
    *host = now_ns();
    *device = ticks_of(*host);
  });
}

}  // namespace

Driver& the_driver() { return found().driver; }
const std::vector<std::unique_ptr<Device>>& the_devices() { return found().devices; }

OST_ZE_TABLE(ze, Device, device, table->pfnGet = device_get; table->pfnGetSubDevices = sub_devices;
             table->pfnGetProperties = properties;
             table->pfnGetComputeProperties = compute_properties;
             table->pfnGetModuleProperties = module_properties;
             table->pfnGetCommandQueueGroupProperties = queue_groups;
             table->pfnGetMemoryProperties = memory_properties;
             table->pfnGetMemoryAccessProperties = memory_access;
             table->pfnGetCacheProperties = cache_properties;
             table->pfnCanAccessPeer = can_access_peer; table->pfnGetStatus = status;
             table->pfnGetGlobalTimestamps = global_timestamps)

}  // namespace standin
