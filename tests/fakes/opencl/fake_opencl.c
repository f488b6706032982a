/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libOpenCL.so.1: the loader and all platforms behind it; devices with the same `platform` are of
 * one. */
#include "fake_opencl_state.h"

#include <inttypes.h>
#include <stdio.h>

static char handles[64];

size_t fake_opencl_device(const void *handle) {
  size_t index = (size_t)((uintptr_t)handle - (uintptr_t)handles);
  return index < fake_device_count() && fake_device(index) ? index : SIZE_MAX;
}

void *fake_opencl_device_handle(size_t index) {
  return &handles[index];
}

void *fake_opencl_device_id(unsigned index) {
  return fake_opencl_device_handle(index);
}

static size_t index_of(const void *handle) {
  return (size_t)((const char *)handle - handles);
}

/* A platform's handle is that of its first device. */
static bool is_first(size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (fake_device(i) && strcmp(fake_device(i)->platform, fake_device(index)->platform) == 0)
      return false;
  }
  return true;
}

int32_t clGetPlatformIDs(uint32_t room, void **platforms, uint32_t *count) {
  int error = fake_init(KDL_BACKEND_OPENCL, "clGetPlatformIDs");
  if (error)
    return error;
  uint32_t used = 0;
  for (size_t i = 0; i < fake_device_count(); ++i) {
    if (fake_device(i) && !is_first(i))
      continue;
    if (used < room)
      platforms[used] = &handles[i];
    ++used;
  }
  *count = used;
  return used ? KDL_CL_SUCCESS : KDL_CL_PLATFORM_NOT_FOUND;
}

int32_t fake_opencl_give(const void *bytes, size_t length, size_t room, void *value, size_t *size) {
  if (value && room < length)
    return KDL_CL_INVALID_VALUE;
  if (value)
    memcpy(value, bytes, length);
  if (size)
    *size = length;
  return KDL_CL_SUCCESS;
}

static int32_t give_text(const char *text, size_t room, void *value, size_t *size) {
  return fake_opencl_give(text, strlen(text) + 1, room, value, size);
}

#ifndef FAKE_INCOMPLETE
int32_t clGetPlatformInfo(void *platform, uint32_t what, size_t room, void *value, size_t *size) {
  fake_call("clGetPlatformInfo");
  const kdl_device_spec *first = fake_device(index_of(platform));
  if (!first || what != KDL_CL_PLATFORM_NAME)
    return KDL_CL_INVALID_PLATFORM;
  return give_text(first->platform, room, value, size);
}
#endif

int32_t clGetDeviceIDs(void *platform, uint64_t types, uint32_t room, void **devices,
                       uint32_t *count) {
  fake_call("clGetDeviceIDs");
  int fault = fake_setting_number("count");
  const kdl_device_spec *first = fake_device(index_of(platform));
  if (fault || !first || !types)
    return fault ? fault : KDL_CL_INVALID_PLATFORM;
  uint32_t used = 0;
  for (size_t i = 0; i < fake_device_count(); ++i) {
    const kdl_device_spec *spec = fake_device(i);
    if (!spec || strcmp(spec->platform, first->platform) == 0) {
      if (used < room)
        devices[used] = &handles[i];
      ++used;
    }
  }
  *count = used;
  return used ? KDL_CL_SUCCESS : KDL_CL_DEVICE_NOT_FOUND;
}

#ifdef FAKE_OLD
static const char version[] = "1.2";
#else
static const char version[] = "3.0";
#endif

/* "sm_120" has the compute capability 12.0. */
static unsigned capability(const kdl_device_spec *spec) {
  unsigned number = 0;
  sscanf(spec->arch, "sm_%u", &number);
  return number;
}

static void list_extensions(const kdl_device_spec *spec, kdl_out *out) {
  static const struct {
    const char *token;
    const char *extension;
  } known[] = {
      {"fp16", "cl_khr_fp16"},
      {"fp64", "cl_khr_fp64"},
      {"int64_atomics", "cl_khr_int64_base_atomics"},
      {"int8_dot", "cl_khr_integer_dot_product"},
      {"xmx_intel", "cl_intel_subgroup_matrix_multiply_accumulate"},
  };
  kdl_out_format(out, "cl_khr_byte_addressable_store cl_khr_il_program");
#ifndef FAKE_OLD
  kdl_out_format(out, " cl_khr_priority_hints cl_intel_unified_shared_memory");
#endif
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (strstr(spec->features, known[i].token))
      kdl_out_format(out, " %s", known[i].extension);
  }
  const char *vendor = fake_setting("vendor");
  if (vendor)
    kdl_out_format(out, " cl_%s_device_attribute_query", vendor);
  else if (spec->subgroups)
    kdl_out_format(out, " cl_intel_required_subgroup_size");
  if (!vendor && spec->pci.known)
    kdl_out_format(out, " cl_khr_pci_bus_info");
  if (!vendor && spec->uuid.known)
    kdl_out_format(out, " cl_khr_device_uuid");
}

static int32_t give_text_of(const kdl_device_spec *spec, uint32_t what, size_t room, void *value,
                            size_t *size) {
  char text[1024] = "";
  kdl_out out = {text, sizeof text, 0};
  if (what == KDL_CL_DEVICE_EXTENSIONS)
    list_extensions(spec, &out);
  else if (what == KDL_CL_DEVICE_IL_VERSION && spec->il)
    kdl_out_format(&out, "SPIR-V_1.0 SPIR-V_%" PRIu32 ".%" PRIu32, spec->il >> 16,
                   spec->il & 0xffff);
  else if (what == KDL_CL_DEVICE_VERSION)
    kdl_out_format(&out, "OpenCL %s fake", version);
  else if (what == KDL_CL_DEVICE_PROFILE)
    kdl_out_format(&out, "FULL_PROFILE");
  else if (what == KDL_CL_DRIVER_VERSION)
    kdl_out_format(&out, "%s", spec->driver);
  else if (what != KDL_CL_DEVICE_IL_VERSION)
    kdl_out_format(&out, "%s", spec->name);
  return give_text(text, room, value, size);
}

static int32_t give_identity(const kdl_device_spec *spec, uint32_t what, size_t room, void *value,
                             size_t *size) {
  const kdl_spec_pci *pci = &spec->pci;
  if (what == KDL_CL_DEVICE_UUID)
    return fake_opencl_give(spec->uuid.bytes, 16, room, value, size);
  if (what == KDL_CL_DEVICE_PCI_BUS_INFO)
    return fake_opencl_give(
        &(kdl_cl_pci_bus_info){pci->domain, pci->bus, pci->device, pci->function},
        sizeof(kdl_cl_pci_bus_info), room, value, size);
  kdl_cl_topology_amd topology = {
      .type = 1, .bus = pci->bus, .device = pci->device, .function = pci->function};
  return fake_opencl_give(&topology, sizeof topology, room, value, size);
}

static int32_t give_sizes(const kdl_device_spec *spec, size_t room, void *value, size_t *size) {
  size_t sizes[8];
  size_t used = 0;
  for (uint32_t one = 1; one <= 128; one *= 2) {
    if (spec->subgroups & one)
      sizes[used++] = one;
  }
  return fake_opencl_give(sizes, used * sizeof *sizes, room, value, size);
}

static int32_t give_versions(size_t room, void *value, size_t *size) {
  kdl_cl_name_version list[3] = {{KDL_CL_VERSION(1, 0, 0), "cl_khr_byte_addressable_store"}};
  size_t count = 1;
  if (fake_opencl_version("commands"))
    list[count++] = (kdl_cl_name_version){fake_opencl_version("commands"), "cl_khr_command_buffer"};
  if (fake_opencl_version("mutable"))
    list[count++] = (kdl_cl_name_version){fake_opencl_version("mutable"),
                                          "cl_khr_command_buffer_mutable_dispatch"};
  return fake_opencl_give(list, count * sizeof *list, room, value, size);
}

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t room, void *value, size_t *size) {
  fake_call("clGetDeviceInfo");
  const kdl_device_spec *spec = fake_device(index_of(device));
  if (!spec)
    return KDL_CL_INVALID_DEVICE;
  const struct {
    uint32_t what;
    size_t bytes;
    uint64_t value;
  } numbers[] = {
      {KDL_CL_DEVICE_TYPE, 8,
       spec->device_class == KDL_DEVICE_CPU           ? KDL_CL_TYPE_CPU
       : spec->device_class == KDL_DEVICE_ACCELERATOR ? KDL_CL_TYPE_ACCELERATOR
                                                      : KDL_CL_TYPE_GPU},
      {KDL_CL_DEVICE_MAX_COMPUTE_UNITS, 4, spec->units},
      {KDL_CL_DEVICE_MAX_WORK_GROUP_SIZE, 8, spec->max_block},
      {KDL_CL_DEVICE_ADDRESS_BITS, 4, strcmp(spec->arch, "spirv32") == 0 ? 32 : 64},
      {KDL_CL_DEVICE_IMAGE_SUPPORT, 4, strstr(spec->features, "images") != NULL},
      {KDL_CL_DEVICE_GLOBAL_MEM_SIZE, 8, spec->memory},
      {KDL_CL_DEVICE_LOCAL_MEM_SIZE, 8, spec->shared},
      {KDL_CL_DEVICE_AVAILABLE, 4, 1},
      {KDL_CL_DEVICE_HOST_UNIFIED_MEMORY, 4, spec->device_class == KDL_DEVICE_INTEGRATED},
      {KDL_CL_DEVICE_INTEGRATED_NV, 4, spec->device_class == KDL_DEVICE_INTEGRATED},
      {KDL_CL_DEVICE_MAX_NUM_SUB_GROUPS, 4, strstr(spec->features, "subgroups") ? 64 : 0},
      {KDL_CL_DEVICE_GENERIC_ADDRESS_SPACE, 4, strstr(spec->features, "generic_pointer") != NULL},
#ifndef FAKE_OLD
      {KDL_CL_DEVICE_SVM_CAPABILITIES, 8, KDL_CL_SVM_COARSE_GRAIN_BUFFER},
      {KDL_CL_DEVICE_USM_CAPABILITIES, 8, KDL_CL_USM_ACCESS},
#endif
      {KDL_CL_DEVICE_COMMAND_BUFFER_CAPABILITIES, 8,
       fake_setting_number("unrepeated") ? 0 : KDL_CL_COMMAND_BUFFER_REPEATED},
      {KDL_CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES, 8,
       fake_opencl_version("mutable")
           ? KDL_CL_MUTABLE_GLOBAL_SIZE | KDL_CL_MUTABLE_LOCAL_SIZE | KDL_CL_MUTABLE_ARGUMENTS
           : 0},
      {KDL_CL_DEVICE_CAPABILITY_MAJOR_NV, 4, capability(spec) / 10},
      {KDL_CL_DEVICE_CAPABILITY_MINOR_NV, 4, capability(spec) % 10},
      {KDL_CL_DEVICE_WARP_SIZE_NV, 4, spec->subgroups},
      {KDL_CL_DEVICE_WAVEFRONT_WIDTH_AMD, 4, spec->subgroups},
      {KDL_CL_DEVICE_PCI_DOMAIN_NV, 4, spec->pci.domain},
      {KDL_CL_DEVICE_PCI_BUS_NV, 4, spec->pci.bus},
      {KDL_CL_DEVICE_PCI_SLOT_NV, 4, (uint64_t)spec->pci.device << 3 | spec->pci.function},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (numbers[i].what == what) /* little-endian, as everything here */
      return fake_opencl_give(&numbers[i].value, numbers[i].bytes, room, value, size);
  }
  if (what == KDL_CL_DEVICE_EXTENSIONS_WITH_VERSION)
    return fake_setting("commands") ? give_versions(room, value, size) : KDL_CL_INVALID_VALUE;
  if (what == KDL_CL_DEVICE_SUB_GROUP_SIZES_INTEL)
    return give_sizes(spec, room, value, size);
  if (what == KDL_CL_DEVICE_UUID || what == KDL_CL_DEVICE_PCI_BUS_INFO ||
      what == KDL_CL_DEVICE_TOPOLOGY_AMD)
    return give_identity(spec, what, room, value, size);
  return give_text_of(spec, what, room, value, size);
}

void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) {
  static const struct {
    const char *name;
    void (*function)(void);
  } functions[] = {
#define KDL_DRIVER_SYMBOL(extension, field, name, result, parameters) {#name, (void (*)(void))name},
#include "lib/backends/opencl/extensions.def"
#undef KDL_DRIVER_SYMBOL
  };
  fake_call(__func__);
  for (size_t i = 0; fake_device(index_of(platform)) && i < sizeof functions / sizeof *functions;
       ++i) {
    if (strcmp(functions[i].name, name) == 0) {
      void *symbol;
      memcpy(&symbol, &functions[i].function, sizeof symbol);
      return symbol;
    }
  }
  return fake_opencl_command(name);
}
