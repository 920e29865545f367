// Tables that stay empty. The loader of spec 1.4 refuses a driver that lacks one of them.
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "tables.hpp"

#define EMPTY(prefix, Name, type) OST_ZE_TABLE(prefix, Name, type, (void)0)

EMPTY(ze, DeviceExp, device_exp)
EMPTY(ze, Image, image)
EMPTY(ze, ImageExp, image_exp)
EMPTY(ze, EventExp, event_exp)
EMPTY(ze, KernelExp, kernel_exp)
EMPTY(ze, Sampler, sampler)
EMPTY(ze, PhysicalMem, physical_mem)
EMPTY(ze, VirtualMem, virtual_mem)
EMPTY(ze, FabricVertexExp, fabric_vertex_exp)
EMPTY(ze, FabricEdgeExp, fabric_edge_exp)

EMPTY(zet, Device, device)
EMPTY(zet, Context, context)
EMPTY(zet, CommandList, command_list)
EMPTY(zet, Module, module)
EMPTY(zet, Kernel, kernel)
EMPTY(zet, MetricGroup, metric_group)
EMPTY(zet, MetricGroupExp, metric_group_exp)
EMPTY(zet, Metric, metric)
EMPTY(zet, MetricStreamer, metric_streamer)
EMPTY(zet, MetricQueryPool, metric_query_pool)
EMPTY(zet, MetricQuery, metric_query)
EMPTY(zet, TracerExp, tracer_exp)
EMPTY(zet, Debug, debug)

EMPTY(zes, Driver, driver)
EMPTY(zes, Device, device)
EMPTY(zes, Scheduler, scheduler)
EMPTY(zes, PerformanceFactor, performance_factor)
EMPTY(zes, Power, power)
EMPTY(zes, Frequency, frequency)
EMPTY(zes, Engine, engine)
EMPTY(zes, Standby, standby)
EMPTY(zes, Firmware, firmware)
EMPTY(zes, Memory, memory)
EMPTY(zes, FabricPort, fabric_port)
EMPTY(zes, Temperature, temperature)
EMPTY(zes, Psu, psu)
EMPTY(zes, Fan, fan)
EMPTY(zes, Led, led)
EMPTY(zes, Ras, ras)
EMPTY(zes, Diagnostics, diagnostics)
