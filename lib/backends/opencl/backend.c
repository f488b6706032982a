/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The devices of all OpenCL platforms through the loader, which is opened at the first query for
 * devices, never linked, never closed. A platform that fails does not affect the others. */
#include "lib/backends/common/built_in.h"
#include "lib/backends/opencl/driver.h"
#include "lib/backends/opencl/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_text = 16384, max_subgroup_sizes = 16 };

/* A device, and its list of extensions. */
typedef struct {
  void *id;
  char *extensions; /* with a blank before and after each */
} queried_device;

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

/* A number of 1, 4 or 8 bytes; 0 where the device has none. */
static uint64_t opencl_query_number(const queried_device *device, uint32_t what) {
  uint64_t number = 0;
  size_t size = 0;
  if (kdl_opencl.device_info(device->id, what, sizeof number, &number, &size) != KDL_CL_SUCCESS)
    return 0;
  return size == 4 ? (uint32_t)number : number;
}

/* Whether the device returned exactly `size` bytes. */
static bool opencl_query_bytes(const queried_device *device, uint32_t what, void *value,
                               size_t size) {
  size_t given = 0;
  return kdl_opencl.device_info(device->id, what, size, value, &given) == KDL_CL_SUCCESS &&
         given == size;
}

/* Text in `room`, always terminated; "" where there is none or it does not fit. */
static const char *opencl_query_text(const queried_device *device, uint32_t what, char *room,
                                     size_t size) {
  size_t given = 0;
  if (kdl_opencl.device_info(device->id, what, size - 1, room, &given) != KDL_CL_SUCCESS ||
      given >= size)
    given = 0;
  room[given] = '\0';
  return room;
}

static bool opencl_has_extension(const queried_device *device, const char *name) {
  char word[96];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(device->extensions, word) != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Describing                                                                                   */

/* "1.2"; 0 where there is none. */
static uint32_t opencl_parse_version(kdl_string text, size_t at) {
  uint32_t major = 0;
  uint32_t minor = 0;
  if (!kdl_text_parse_number(text, &at, &major) || at >= text.length || text.data[at] != '.')
    return 0;
  ++at;
  if (!kdl_text_parse_number(text, &at, &minor) || major > 0xff || minor > 0xff)
    return 0;
  return KDL_VERSION_OF(major, minor);
}

/* The newest of "SPIR-V_1.2 SPIR-V_1.0 ..."; 0 without any: PoCL and NVIDIA take OpenCL C only. */
static uint32_t opencl_newest_il(const queried_device *device) {
  static const char language[] = "SPIR-V_";
  char room[1024];
  kdl_string text =
      kdl_text_of(opencl_query_text(device, KDL_CL_DEVICE_IL_VERSION, room, sizeof room));
  uint32_t newest = 0;
  for (const char *word = strstr(room, language); word; word = strstr(word + 1, language)) {
    uint32_t version = opencl_parse_version(text, (size_t)(word - room) + strlen(language));
    newest = version > newest ? version : newest;
  }
  return newest;
}

static void opencl_describe_features(const queried_device *device, kdl_device_spec *spec) {
  static const struct {
    const char *extension;
    const char *token;
  } tokens[] = {
      {"cl_khr_fp16", "fp16"},
      {"cl_khr_fp64", "fp64"},
      {"cl_khr_int64_base_atomics", "int64_atomics"},
      {"cl_khr_integer_dot_product", "int8_dot"},
      {"cl_khr_subgroups", "subgroups"},
      {"cl_intel_subgroups", "subgroups"},
      {"cl_intel_subgroup_matrix_multiply_accumulate", "xmx_intel"},
  };
  char *features = spec->features;
  size_t size = sizeof spec->features;
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; ++i) {
    if (opencl_has_extension(device, tokens[i].extension))
      kdl_spec_add_token(features, size, tokens[i].token);
  }
  if (opencl_query_number(device, KDL_CL_DEVICE_MAX_NUM_SUB_GROUPS))
    kdl_spec_add_token(features, size, "subgroups");
  if (opencl_query_number(device, KDL_CL_DEVICE_IMAGE_SUPPORT))
    kdl_spec_add_token(features, size, "images");
  char version[128];
  opencl_query_text(device, KDL_CL_DEVICE_VERSION, version, sizeof version);
  /* Mandatory in OpenCL 2, optional in OpenCL 3. */
  if (strncmp(version, "OpenCL 2.", 9) == 0 ||
      opencl_query_number(device, KDL_CL_DEVICE_GENERIC_ADDRESS_SPACE))
    kdl_spec_add_token(features, size, "generic_pointer");
  char profile[64];
  opencl_query_text(device, KDL_CL_DEVICE_PROFILE, profile, sizeof profile);
  if (strcmp(profile, "EMBEDDED_PROFILE") != 0 || opencl_has_extension(device, "cles_khr_int64"))
    kdl_spec_add_token(features, size, "int64");
}

static void opencl_describe_subgroups(const queried_device *device, kdl_device_spec *spec) {
  if (opencl_has_extension(device, "cl_nv_device_attribute_query"))
    spec->subgroups |= (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_WARP_SIZE_NV);
  if (opencl_has_extension(device, "cl_amd_device_attribute_query"))
    spec->subgroups |= (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  if (!opencl_has_extension(device, "cl_intel_required_subgroup_size"))
    return;
  size_t sizes[max_subgroup_sizes] = {0};
  size_t given = 0;
  if (kdl_opencl.device_info(device->id, KDL_CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes,
                             &given) != KDL_CL_SUCCESS)
    return;
  for (size_t i = 0; i < max_subgroup_sizes && i < given / sizeof *sizes; ++i) {
    if (sizes[i] <= UINT32_MAX && (sizes[i] & (sizes[i] - 1)) == 0)
      spec->subgroups |= (uint32_t)sizes[i];
  }
}

/* The identity, by which another driver's route to the same device is found. */
static void opencl_describe_identity(const queried_device *device, kdl_device_spec *spec) {
  uint8_t uuid[16];
  if (opencl_has_extension(device, "cl_khr_device_uuid") &&
      opencl_query_bytes(device, KDL_CL_DEVICE_UUID, uuid, sizeof uuid))
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_cl_pci_bus_info pci;
  kdl_cl_topology_amd topology;
  if (opencl_has_extension(device, "cl_khr_pci_bus_info") &&
      opencl_query_bytes(device, KDL_CL_DEVICE_PCI_BUS_INFO, &pci, sizeof pci)) {
    kdl_spec_set_pci(&spec->pci, pci.domain, pci.bus, pci.device, pci.function);
  } else if (opencl_has_extension(device, "cl_nv_device_attribute_query")) {
    uint32_t slot = (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_PCI_SLOT_NV);
    kdl_spec_set_pci(&spec->pci, (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_PCI_DOMAIN_NV),
                     (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_PCI_BUS_NV), slot >> 3,
                     slot & 7);
  } else if (opencl_has_extension(device, "cl_amd_device_attribute_query") &&
             opencl_query_bytes(device, KDL_CL_DEVICE_TOPOLOGY_AMD, &topology, sizeof topology) &&
             topology.type == 1) {
    kdl_spec_set_pci(&spec->pci, 0, topology.bus, topology.device, topology.function);
  }
}

static kdl_device_class opencl_device_class(const queried_device *device) {
  uint64_t type = opencl_query_number(device, KDL_CL_DEVICE_TYPE);
  if (type & KDL_CL_TYPE_CPU)
    return KDL_DEVICE_CPU;
  if (type & KDL_CL_TYPE_ACCELERATOR)
    return KDL_DEVICE_ACCELERATOR;
  bool shares_memory = opencl_has_extension(device, "cl_nv_device_attribute_query")
                           ? opencl_query_number(device, KDL_CL_DEVICE_INTEGRATED_NV)
                           : opencl_query_number(device, KDL_CL_DEVICE_HOST_UNIFIED_MEMORY);
  return shares_memory ? KDL_DEVICE_INTEGRATED : KDL_DEVICE_DISCRETE;
}

static void opencl_describe_name(const queried_device *device, kdl_device_spec *spec) {
  char text[256];
  opencl_query_text(device, KDL_CL_DEVICE_NAME, text, sizeof text);
  /* AMD's device name is the arch; the board has the product name. */
  char board[256] = "";
  if (opencl_has_extension(device, "cl_amd_device_attribute_query"))
    opencl_query_text(device, KDL_CL_DEVICE_BOARD_NAME_AMD, board, sizeof board);
  const char *name = board[0] ? board : text;
  kdl_spec_set_text(spec->name, sizeof spec->name, name, strlen(name));
  opencl_query_text(device, KDL_CL_DRIVER_VERSION, text, sizeof text);
  kdl_spec_set_text(spec->driver, sizeof spec->driver, text, strlen(text));
}

/* NVIDIA's platform takes PTX as a binary, so the arch is the compute capability. */
static void opencl_describe_arch(const queried_device *device, kdl_device_spec *spec) {
  uint64_t major = 0, minor = 0;
  if (opencl_has_extension(device, "cl_nv_device_attribute_query")) {
    major = opencl_query_number(device, KDL_CL_DEVICE_CAPABILITY_MAJOR_NV);
    minor = opencl_query_number(device, KDL_CL_DEVICE_CAPABILITY_MINOR_NV);
  }
  if (major && major < 100 && minor < 10)
    snprintf(spec->arch, sizeof spec->arch, "sm_%u%u", (unsigned)major, (unsigned)minor);
  else
    snprintf(spec->arch, sizeof spec->arch, "spirv%d",
             opencl_query_number(device, KDL_CL_DEVICE_ADDRESS_BITS) == 32 ? 32 : 64);
}

static void opencl_describe_device(const queried_device *device, kdl_device_spec *spec) {
  opencl_describe_arch(device, spec);
  spec->il = opencl_newest_il(device);
  spec->device_class = opencl_device_class(device);
  spec->memory = opencl_query_number(device, KDL_CL_DEVICE_GLOBAL_MEM_SIZE);
  spec->units = (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_MAX_COMPUTE_UNITS);
  spec->max_block = (uint32_t)opencl_query_number(device, KDL_CL_DEVICE_MAX_WORK_GROUP_SIZE);
  spec->shared = opencl_query_number(device, KDL_CL_DEVICE_LOCAL_MEM_SIZE);
  opencl_describe_name(device, spec);
  opencl_describe_features(device, spec);
  opencl_describe_subgroups(device, spec);
  opencl_describe_identity(device, spec);
}

/* ------------------------------------------------------------------------------------------ */
/* Platforms and devices                                                                        */

typedef struct {
  queried_device device;
  kdl_spec_list *list;
} listing;

static bool opencl_add_device(void *user, uint32_t ordinal, void *platform, void *id,
                              const char *platform_name) {
  (void)platform;
  listing *to = user;
  queried_device *device = &to->device;
  kdl_device_spec *spec = kdl_spec_list_add(to->list);
  if (!spec)
    return true;
  device->id = id;
  spec->ordinal.value = ordinal;
  kdl_spec_set_text(spec->platform, sizeof spec->platform, platform_name, strlen(platform_name));
  if (!opencl_query_number(device, KDL_CL_DEVICE_AVAILABLE)) {
    kdl_spec_list_drop_last(to->list, "device %u is not available", ordinal);
    return true;
  }
  device->extensions[0] = ' ';
  opencl_query_text(device, KDL_CL_DEVICE_EXTENSIONS, device->extensions + 1, max_text - 2);
  memcpy(device->extensions + strlen(device->extensions), " ", 2);
  opencl_describe_device(device, spec);
  return true;
}

static void opencl_report_skipped(void *user, const char *platform, const char *why) {
  listing *to = user;
  kdl_driver_report_set(&to->list->report, KDL_DRIVER_FAILED, "%s was not asked: %s", platform,
                        why);
}

void kdl_opencl_open_platforms(void) {
  const char *call;
  (void)kdl_driver_start(&kdl_opencl_driver, true, &call);
}

/* A platform that fails or was skipped does not affect the others. */
static void list_opencl_devices(kdl_spec_list *list) {
  kdl_driver_report *report = &list->report;
  const char *call;
  int32_t error = kdl_driver_start(&kdl_opencl_driver, false, &call);
  if (error == KDL_CL_PLATFORM_NOT_FOUND) {
    kdl_driver_report_set(report, KDL_DRIVER_NO_DEVICE, "no OpenCL platform is installed");
    return;
  }
  if (error != KDL_CL_SUCCESS) {
    kdl_driver_report_set(report, KDL_DRIVER_FAILED, "%s: error %d", call, error);
    return;
  }
  char *text = malloc(max_text);
  if (!text) {
    list->out_of_memory = true;
    return;
  }
  listing to = {{NULL, text}, list};
  kdl_opencl_walk(opencl_add_device, opencl_report_skipped, &to);
  free(text);
  if (list->count)
    report->state = KDL_DRIVER_USABLE;
  kdl_spec_list_finish(list);
}

/* ------------------------------------------------------------------------------------------ */
/* The backend                                                                                  */

static const kdl_backend_table opencl_table = {
    .size = sizeof opencl_table,
    .abi = KDL_BACKEND_ABI,
    .flags = KDL_BACKEND_BINDS_SEQUENCES,
    .name = "opencl",
#define KDL_BACKEND_FUNCTION(result, slot, parameters) .slot = kdl_opencl_##slot,
#define KDL_BACKEND_ADDRESSES(result, name, parameters)
#include "lib/backends/common/functions.def"
    .address_at = kdl_opencl_address_at,
};

static const kdl_variable limits[] = {KDL_VARIABLE_OCL_ICD_VENDORS, KDL_VARIABLE_OCL_ICD_FILENAMES,
                                      KDL_VARIABLE_POCL_DEVICES, KDL_VARIABLE_CUDA_VISIBLE_DEVICES,
                                      KDL_VARIABLE_GPU_DEVICE_ORDINAL};

const kdl_built_in kdl_built_in_opencl = {
    .table = &opencl_table,
    .driver = &kdl_opencl_driver,
    .variables = limits,
    .variable_count = sizeof limits / sizeof *limits,
    .enumerate_last = true, /* PoCL calls setenv when it is loaded */
    .open_dependencies = kdl_opencl_open_platforms,
    .list = list_opencl_devices,
};
