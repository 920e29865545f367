#include "module.hpp"

#include <level_zero/ze_ddi.h>

#include <cstring>
#include <sstream>
#include <stdexcept>

#include "memory.hpp"
#include "tables.hpp"

namespace standin {
namespace {

// A native binary is the SPIR-V, for the signatures, and what OpenCL made of it.
constexpr std::string_view kNative = "OSTZE-NATIVE-1\n";

std::string make_native(const Module& module) {
  std::string out(kNative);
  const uint64_t bytes = module.source.words.size() * sizeof(uint32_t);
  out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  out.append(reinterpret_cast<const char*>(module.source.words.data()), bytes);
  return out + module.native;
}

std::string build_options(const char* flags) {
  std::istringstream words(flags != nullptr ? flags : "");
  std::string out;
  for (std::string word; words >> word;) {
    if (word == "-ze-opt-disable")
      out += " -cl-opt-disable";
    else if (word == "-ze-fp32-correctly-rounded-divide-sqrt")
      ;  // OpenCL on a CPU has no other division
    else if (!word.starts_with("-ze-opt-"))
      throw std::runtime_error("unknown build flag " + word);
  }
  return out;
}

void build(Module& module, std::span<const uint8_t> input, ze_module_format_t format,
           const std::string& options) {
  Engine& engine = Engine::get();
  if (format == ZE_MODULE_FORMAT_IL_SPIRV) {
    module.source = parse_spirv(input, !engine.takes_spirv());
    if (module.source.fp64 && !settings().fp64)
      throw std::runtime_error("error: Double type is not supported on this platform.");
    module.program = engine.build(module.source, options, module.native);
    return;
  }
  std::string_view rest(reinterpret_cast<const char*>(input.data()), input.size());
  uint64_t bytes = 0;
  if (!rest.starts_with(kNative) || rest.size() < kNative.size() + sizeof bytes)
    throw std::runtime_error("not a native binary of this device");
  rest.remove_prefix(kNative.size());
  std::memcpy(&bytes, rest.data(), sizeof bytes);
  rest.remove_prefix(sizeof bytes);
  if (bytes > rest.size()) throw std::runtime_error("the native binary is cut off");
  module.source = parse_spirv({reinterpret_cast<const uint8_t*>(rest.data()), bytes}, false);
  rest.remove_prefix(bytes);
  module.native = rest;
  module.program = engine.build_native(rest, options);
}

ze_result_t module_create(ze_context_handle_t c, ze_device_handle_t d, const ze_module_desc_t* desc,
                          ze_module_handle_t* out, ze_module_build_log_handle_t* log) {
  return device_entry("zeModuleCreate", [&] {
    of<Context>(c), of<Device>(d);
    need_desc(desc, ZE_STRUCTURE_TYPE_MODULE_DESC);
    need(desc->pInputModule, "the module");
    need(out, "the out-parameter");
    if (desc->inputSize == 0) refuse(ZE_RESULT_ERROR_INVALID_SIZE, "the module has no bytes");
    if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV && desc->format != ZE_MODULE_FORMAT_NATIVE)
      refuse(ZE_RESULT_ERROR_INVALID_ENUMERATION, "format " + std::to_string(desc->format));
    auto module = std::make_unique<Module>();
    try {
      build(*module, {desc->pInputModule, desc->inputSize}, desc->format,
            build_options(desc->pBuildFlags));
    } catch (const std::exception& why) {
      if (log != nullptr) give(std::make_unique<BuildLog>(why.what()), log);
      return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    if (log != nullptr) give(std::make_unique<BuildLog>(""), log);
    give(std::move(module), out);
    return ZE_RESULT_SUCCESS;
  });
}
ze_result_t module_destroy(ze_module_handle_t h) {
  return entry("zeModuleDestroy", [&] { give_back<Module>(h); });
}
ze_result_t module_native(ze_module_handle_t h, size_t* size, uint8_t* out) {
  return entry("zeModuleGetNativeBinary", [&] {
    const std::string bytes = make_native(of<Module>(h));
    need(size, "the size");
    if (out != nullptr && *size < bytes.size())
      refuse(ZE_RESULT_ERROR_INVALID_SIZE, "a buffer that is too small");
    if (out != nullptr) std::memcpy(out, bytes.data(), bytes.size());
    *size = bytes.size();
  });
}
ze_result_t module_kernel_names(ze_module_handle_t h, uint32_t* count, const char** out) {
  return entry("zeModuleGetKernelNames", [&] {
    const auto& kernels = of<Module>(h).source.kernels;
    auto it = kernels.begin();
    put_array(count, static_cast<uint32_t>(kernels.size()), out,
              [&](uint32_t, const char*& name) { name = (it++)->first.c_str(); });
  });
}
ze_result_t module_properties(ze_module_handle_t h, ze_module_properties_t* out) {
  return entry("zeModuleGetProperties", [&] {
    of<Module>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_MODULE_PROPERTIES);
    out->flags = 0;
  });
}

ze_result_t put_text(const std::string& text, size_t* size, char* out) {
  need(size, "the size");
  if (out != nullptr) std::memcpy(out, text.c_str(), std::min(*size, text.size() + 1));
  *size = text.size() + 1;
  return ZE_RESULT_SUCCESS;
}
ze_result_t log_destroy(ze_module_build_log_handle_t h) {
  return entry("zeModuleBuildLogDestroy", [&] { give_back<BuildLog>(h); });
}
ze_result_t log_text(ze_module_build_log_handle_t h, size_t* size, char* out) {
  return entry("zeModuleBuildLogGetString",
               [&] { return put_text(of<BuildLog>(h).text, size, out); });
}

// --- kernels

ze_result_t kernel_create(ze_module_handle_t h, const ze_kernel_desc_t* desc,
                          ze_kernel_handle_t* out) {
  return device_entry("zeKernelCreate", [&] {
    Module& module = of<Module>(h);
    need_desc(desc, ZE_STRUCTURE_TYPE_KERNEL_DESC);
    need(desc->pKernelName, "the name");
    const auto it = module.source.kernels.find(desc->pKernelName);
    if (it == module.source.kernels.end())
      refuse(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
             std::string("the module has no kernel ") + desc->pKernelName);
    auto kernel = std::make_unique<Kernel>(module);
    cl_int error = CL_SUCCESS;
    kernel->handle = clCreateKernel(module.program, desc->pKernelName, &error);
    if (error != CL_SUCCESS)
      refuse(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "OpenCL error " + std::to_string(error));
    kernel->name = it->first;
    kernel->info = it->second;
    kernel->values.resize(it->second.arguments.size());
    give(std::move(kernel), out);
  });
}
ze_result_t kernel_destroy(ze_kernel_handle_t h) {
  return entry("zeKernelDestroy", [&] { give_back<Kernel>(h); });
}

ze_result_t kernel_set_group(ze_kernel_handle_t h, uint32_t x, uint32_t y, uint32_t z) {
  return entry("zeKernelSetGroupSize", [&] {
    Kernel& kernel = of<Kernel>(h);
    const std::array<uint32_t, 3> group{x, y, z};
    const uint64_t lanes = uint64_t{x} * y * z;
    const bool required = kernel.info.group[0] != 0;
    if (lanes == 0 || lanes > settings().group || (required && group != kernel.info.group))
      refuse(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
             std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z));
    kernel.group = group;
  });
}
ze_result_t kernel_suggest_group(ze_kernel_handle_t h, uint32_t gx, uint32_t gy, uint32_t gz,
                                 uint32_t* x, uint32_t* y, uint32_t* z) {
  return entry("zeKernelSuggestGroupSize", [&] {
    const Kernel& kernel = of<Kernel>(h);
    need(x, "x"), need(y, "y"), need(z, "z");
    uint32_t left = settings().group;
    const auto pick = [&](uint32_t size) {
      uint32_t n = 1;
      while (n * 2 <= left && size % (n * 2) == 0) n *= 2;
      left /= n;
      return n;
    };
    const bool required = kernel.info.group[0] != 0;
    *x = required ? kernel.info.group[0] : pick(gx);
    *y = required ? kernel.info.group[1] : pick(gy);
    *z = required ? kernel.info.group[2] : pick(gz);
  });
}

ze_result_t kernel_set_argument(ze_kernel_handle_t h, uint32_t index, size_t size,
                                const void* value) {
  return entry("zeKernelSetArgumentValue", [&] {
    Kernel& kernel = of<Kernel>(h);
    const auto& arguments = kernel.info.arguments;
    if (index >= arguments.size())
      refuse(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
             "argument " + std::to_string(index) + " of " + std::to_string(arguments.size()));
    const Argument& argument = arguments[index];
    const bool local = argument.kind == ArgumentKind::kLocal;
    if (local ? size == 0 || value != nullptr : size != argument.size)
      refuse(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
             "argument " + std::to_string(index) + " with " + std::to_string(size) +
                 " bytes, wanted " + std::to_string(argument.size));
    Value set{true, size, {}};
    if (!local) {
      need(value, "the value");
      const auto* bytes = static_cast<const std::byte*>(value);
      set.bytes.assign(bytes, bytes + size);
    }
    if (argument.kind == ArgumentKind::kGlobal) {
      const void* pointer = nullptr;
      std::memcpy(&pointer, value, sizeof pointer);
      find_memory(pointer, 0);
    }
    kernel.values[index] = std::move(set);
  });
}

ze_result_t kernel_properties(ze_kernel_handle_t h, ze_kernel_properties_t* out) {
  return entry("zeKernelGetProperties", [&] {
    const Kernel& kernel = of<Kernel>(h);
    need_desc(out, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
    out->numKernelArgs = static_cast<uint32_t>(kernel.info.arguments.size());
    out->requiredGroupSizeX = kernel.info.group[0];
    out->requiredGroupSizeY = kernel.info.group[1];
    out->requiredGroupSizeZ = kernel.info.group[2];
    out->requiredNumSubGroups = out->requiredSubgroupSize = 0;
    out->maxSubgroupSize = 16;
    out->maxNumSubgroups = settings().group / 8;
    out->localMemSize = out->privateMemSize = out->spillMemSize = 0;
    std::memset(&out->uuid, 0, sizeof out->uuid);
  });
}
ze_result_t kernel_name(ze_kernel_handle_t h, size_t* size, char* out) {
  return entry("zeKernelGetName", [&] { return put_text(of<Kernel>(h).name, size, out); });
}
ze_result_t kernel_set_indirect(ze_kernel_handle_t h, ze_kernel_indirect_access_flags_t) {
  return entry("zeKernelSetIndirectAccess", [&] { of<Kernel>(h); });
}

}  // namespace

OST_ZE_TABLE(ze, Module, module, table->pfnCreate = module_create;
             table->pfnDestroy = module_destroy; table->pfnGetNativeBinary = module_native;
             table->pfnGetKernelNames = module_kernel_names;
             table->pfnGetProperties = module_properties)
OST_ZE_TABLE(ze, ModuleBuildLog, module_build_log, table->pfnDestroy = log_destroy;
             table->pfnGetString = log_text)
OST_ZE_TABLE(ze, Kernel, kernel, table->pfnCreate = kernel_create;
             table->pfnDestroy = kernel_destroy; table->pfnSetGroupSize = kernel_set_group;
             table->pfnSuggestGroupSize = kernel_suggest_group;
             table->pfnSetArgumentValue = kernel_set_argument;
             table->pfnSetIndirectAccess = kernel_set_indirect;
             table->pfnGetProperties = kernel_properties; table->pfnGetName = kernel_name)

}  // namespace standin
