/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whatever OpenCL platforms are installed. A platform that fails leaves the others alone. */
#include "lib/backends/opencl/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_text = 16384, most_subgroup_sizes = 16 };

/* A device, and the text that most questions about it are answered from. */
typedef struct {
  void *id;
  char *extensions; /* with a blank before and behind each */
} subject;

/* ------------------------------------------------------------------------------------------ */
/* Asking                                                                                       */

/* A number of 1, 4 or 8 bytes, as the device gives it; 0 where it does not. */
static uint64_t ask_number(const subject *device, uint32_t what) {
  uint64_t number = 0;
  size_t size = 0;
  if (kdl_opencl.device_info(device->id, what, sizeof number, &number, &size) != KDL_CL_SUCCESS)
    return 0;
  return size == 4 ? (uint32_t)number : number;
}

/* Whether the device gave exactly `size` bytes. */
static bool ask_bytes(const subject *device, uint32_t what, void *value, size_t size) {
  size_t given = 0;
  return kdl_opencl.device_info(device->id, what, size, value, &given) == KDL_CL_SUCCESS &&
         given == size;
}

/* Text in `room`, always terminated; "" where there is none or it does not fit. */
static const char *ask_text(const subject *device, uint32_t what, char *room, size_t size) {
  size_t given = 0;
  if (kdl_opencl.device_info(device->id, what, size - 1, room, &given) != KDL_CL_SUCCESS ||
      given >= size)
    given = 0;
  room[given] = '\0';
  return room;
}

static bool has_extension(const subject *device, const char *name) {
  char word[96];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(device->extensions, word) != NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Describing                                                                                   */

/* "1.2"; 0 where there is none. */
static uint32_t version_at(kdl_string text, size_t at) {
  uint32_t major = 0;
  uint32_t minor = 0;
  if (!kdl_text_number(text, &at, &major) || at >= text.length || text.data[at] != '.')
    return 0;
  ++at;
  if (!kdl_text_number(text, &at, &minor) || major > 0xff || minor > 0xff)
    return 0;
  return KDL_VERSION_OF(major, minor);
}

/* The newest of "SPIR-V_1.2 SPIR-V_1.0 ..."; 0 where there is none: PoCL and NVIDIA take OpenCL C
 * only. */
static uint32_t newest_il(const subject *device) {
  static const char language[] = "SPIR-V_";
  char room[1024];
  kdl_string text = kdl_text_of(ask_text(device, KDL_CL_DEVICE_IL_VERSION, room, sizeof room));
  uint32_t newest = 0;
  for (const char *word = strstr(room, language); word; word = strstr(word + 1, language)) {
    uint32_t version = version_at(text, (size_t)(word - room) + strlen(language));
    newest = version > newest ? version : newest;
  }
  return newest;
}

static void describe_features(const subject *device, kdl_device_spec *spec) {
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
    if (has_extension(device, tokens[i].extension))
      kdl_spec_add_token(features, size, tokens[i].token);
  }
  if (ask_number(device, KDL_CL_DEVICE_MAX_NUM_SUB_GROUPS))
    kdl_spec_add_token(features, size, "subgroups");
  if (ask_number(device, KDL_CL_DEVICE_IMAGE_SUPPORT))
    kdl_spec_add_token(features, size, "images");
  char version[128];
  ask_text(device, KDL_CL_DEVICE_VERSION, version, sizeof version);
  /* Part of OpenCL 2, a choice in OpenCL 3. */
  if (strncmp(version, "OpenCL 2.", 9) == 0 ||
      ask_number(device, KDL_CL_DEVICE_GENERIC_ADDRESS_SPACE))
    kdl_spec_add_token(features, size, "generic_pointer");
  char profile[64];
  ask_text(device, KDL_CL_DEVICE_PROFILE, profile, sizeof profile);
  if (strcmp(profile, "EMBEDDED_PROFILE") != 0 || has_extension(device, "cles_khr_int64"))
    kdl_spec_add_token(features, size, "int64");
}

static void describe_subgroups(const subject *device, kdl_device_spec *spec) {
  if (has_extension(device, "cl_nv_device_attribute_query"))
    spec->subgroups |= (uint32_t)ask_number(device, KDL_CL_DEVICE_WARP_SIZE_NV);
  if (has_extension(device, "cl_amd_device_attribute_query"))
    spec->subgroups |= (uint32_t)ask_number(device, KDL_CL_DEVICE_WAVEFRONT_WIDTH_AMD);
  if (!has_extension(device, "cl_intel_required_subgroup_size"))
    return;
  size_t sizes[most_subgroup_sizes] = {0};
  size_t given = 0;
  if (kdl_opencl.device_info(device->id, KDL_CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes,
                             &given) != KDL_CL_SUCCESS)
    return;
  for (size_t i = 0; i < most_subgroup_sizes && i < given / sizeof *sizes; ++i) {
    if (sizes[i] <= UINT32_MAX && (sizes[i] & (sizes[i] - 1)) == 0)
      spec->subgroups |= (uint32_t)sizes[i];
  }
}

/* What tells that another driver shows the same device. */
static void describe_identity(const subject *device, kdl_device_spec *spec) {
  uint8_t uuid[16];
  if (has_extension(device, "cl_khr_device_uuid") &&
      ask_bytes(device, KDL_CL_DEVICE_UUID, uuid, sizeof uuid))
    kdl_spec_set_uuid(&spec->uuid, uuid);
  kdl_cl_pci_bus_info pci;
  kdl_cl_topology_amd topology;
  if (has_extension(device, "cl_khr_pci_bus_info") &&
      ask_bytes(device, KDL_CL_DEVICE_PCI_BUS_INFO, &pci, sizeof pci)) {
    kdl_spec_set_pci(&spec->pci, pci.domain, pci.bus, pci.device, pci.function);
  } else if (has_extension(device, "cl_nv_device_attribute_query")) {
    uint32_t slot = (uint32_t)ask_number(device, KDL_CL_DEVICE_PCI_SLOT_NV);
    kdl_spec_set_pci(&spec->pci, (uint32_t)ask_number(device, KDL_CL_DEVICE_PCI_DOMAIN_NV),
                     (uint32_t)ask_number(device, KDL_CL_DEVICE_PCI_BUS_NV), slot >> 3, slot & 7);
  } else if (has_extension(device, "cl_amd_device_attribute_query") &&
             ask_bytes(device, KDL_CL_DEVICE_TOPOLOGY_AMD, &topology, sizeof topology) &&
             topology.type == 1) {
    kdl_spec_set_pci(&spec->pci, 0, topology.bus, topology.device, topology.function);
  }
}

static kdl_device_class class_of(const subject *device) {
  uint64_t type = ask_number(device, KDL_CL_DEVICE_TYPE);
  if (type & KDL_CL_TYPE_CPU)
    return KDL_DEVICE_CPU;
  if (type & KDL_CL_TYPE_ACCELERATOR)
    return KDL_DEVICE_ACCELERATOR;
  bool shares_memory = has_extension(device, "cl_nv_device_attribute_query")
                           ? ask_number(device, KDL_CL_DEVICE_INTEGRATED_NV)
                           : ask_number(device, KDL_CL_DEVICE_HOST_UNIFIED_MEMORY);
  return shares_memory ? KDL_DEVICE_INTEGRATED : KDL_DEVICE_DISCRETE;
}

static void describe_name(const subject *device, kdl_device_spec *spec) {
  char text[256];
  ask_text(device, KDL_CL_DEVICE_NAME, text, sizeof text);
  /* AMD's name is the arch; the board has the name people know. */
  char board[256] = "";
  if (has_extension(device, "cl_amd_device_attribute_query"))
    ask_text(device, KDL_CL_DEVICE_BOARD_NAME_AMD, board, sizeof board);
  const char *name = board[0] ? board : text;
  kdl_spec_set_text(spec->name, sizeof spec->name, name, strlen(name));
  ask_text(device, KDL_CL_DRIVER_VERSION, text, sizeof text);
  kdl_spec_set_text(spec->driver, sizeof spec->driver, text, strlen(text));
}

/* NVIDIA's platform takes PTX as a binary, so what counts is the compute capability. */
static void describe_arch(const subject *device, kdl_device_spec *spec) {
  uint64_t major = 0, minor = 0;
  if (has_extension(device, "cl_nv_device_attribute_query")) {
    major = ask_number(device, KDL_CL_DEVICE_CAPABILITY_MAJOR_NV);
    minor = ask_number(device, KDL_CL_DEVICE_CAPABILITY_MINOR_NV);
  }
  if (major && major < 100 && minor < 10)
    snprintf(spec->arch, sizeof spec->arch, "sm_%u%u", (unsigned)major, (unsigned)minor);
  else
    snprintf(spec->arch, sizeof spec->arch, "spirv%d",
             ask_number(device, KDL_CL_DEVICE_ADDRESS_BITS) == 32 ? 32 : 64);
}

static void describe(const subject *device, kdl_device_spec *spec) {
  describe_arch(device, spec);
  spec->il = newest_il(device);
  spec->device_class = class_of(device);
  spec->memory = ask_number(device, KDL_CL_DEVICE_GLOBAL_MEM_SIZE);
  spec->units = (uint32_t)ask_number(device, KDL_CL_DEVICE_MAX_COMPUTE_UNITS);
  spec->max_block = (uint32_t)ask_number(device, KDL_CL_DEVICE_MAX_WORK_GROUP_SIZE);
  spec->shared = ask_number(device, KDL_CL_DEVICE_LOCAL_MEM_SIZE);
  describe_name(device, spec);
  describe_features(device, spec);
  describe_subgroups(device, spec);
  describe_identity(device, spec);
}

/* ------------------------------------------------------------------------------------------ */
/* Platforms and devices                                                                        */

typedef struct {
  subject device;
  kdl_found_list *list;
} listing;

static bool add_device(void *user, uint32_t ordinal, void *platform, void *id,
                       const char *platform_name) {
  (void)platform;
  listing *to = user;
  subject *device = &to->device;
  kdl_device_spec *spec = kdl_found_add(to->list);
  if (!spec)
    return true;
  device->id = id;
  spec->ordinal.value = ordinal;
  kdl_spec_set_text(spec->platform, sizeof spec->platform, platform_name, strlen(platform_name));
  if (!ask_number(device, KDL_CL_DEVICE_AVAILABLE)) {
    kdl_found_drop(to->list, "device %u is not available", ordinal);
    return true;
  }
  device->extensions[0] = ' ';
  ask_text(device, KDL_CL_DEVICE_EXTENSIONS, device->extensions + 1, most_text - 2);
  memcpy(device->extensions + strlen(device->extensions), " ", 2);
  describe(device, spec);
  return true;
}

static void leave_out(void *user, const char *platform, const char *why) {
  listing *to = user;
  kdl_driver_say(&to->list->report, KDL_DRIVER_FAILED, "%s was not asked: %s", platform, why);
}

void kdl_opencl_open_platforms(void) {
  const char *call;
  (void)kdl_driver_start(&kdl_opencl_driver, true, &call);
}

/* A platform that fails or was not asked leaves the others usable. */
void kdl_opencl_list(kdl_found_list *list) {
  kdl_driver_report *report = &list->report;
  const char *call;
  int32_t error = kdl_driver_start(&kdl_opencl_driver, false, &call);
  if (error == KDL_CL_PLATFORM_NOT_FOUND) {
    kdl_driver_say(report, KDL_DRIVER_NO_DEVICE, "no OpenCL platform is installed");
    return;
  }
  if (error != KDL_CL_SUCCESS) {
    kdl_driver_say(report, KDL_DRIVER_FAILED, "%s: error %d", call, error);
    return;
  }
  char *text = malloc(most_text);
  if (!text) {
    list->is_short = true;
    return;
  }
  listing to = {{NULL, text}, list};
  kdl_opencl_walk(add_device, leave_out, &to);
  free(text);
  if (list->count)
    report->state = KDL_DRIVER_USABLE;
  kdl_found_finish(list);
}
