/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/opencl/commands.h"

#include "support/system/variables.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Versions                                                                                     */

/* The versions of both extensions whose functions match commands.def. */
static const struct {
  const char *name;
  uint32_t first, last;
} known[] = {
    {"cl_khr_command_buffer", KDL_CL_VERSION(0, 9, 1), KDL_CL_VERSION(0, 9, 8)},
    {"cl_khr_command_buffer_mutable_dispatch", KDL_CL_VERSION(0, 9, 2), KDL_CL_VERSION(0, 9, 5)},
};
enum { of_buffers, of_updates, extension_count };

/* 0 where the device lacks the extension. */
static kdl_status opencl_query_versions(const kdl_opencl_device *device,
                                        uint32_t out_versions[extension_count]) {
  size_t size = 0;
  memset(out_versions, 0, extension_count * sizeof *out_versions);
  if (kdl_opencl.device_info(device->id, KDL_CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, NULL, &size) !=
      KDL_CL_SUCCESS)
    return KDL_OK;
  kdl_cl_name_version *list = calloc(1, size + 1);
  if (!list)
    return kdl_opencl_no_memory(device->ordinal);
  if (kdl_opencl.device_info(device->id, KDL_CL_DEVICE_EXTENSIONS_WITH_VERSION, size, list, NULL) !=
      KDL_CL_SUCCESS)
    size = 0;
  for (size_t i = 0; i < size / sizeof *list; ++i) {
    for (size_t k = 0; k < extension_count; ++k) {
      if (strncmp(list[i].name, known[k].name, sizeof list[i].name) == 0)
        out_versions[k] = list[i].version;
    }
  }
  free(list);
  return KDL_OK;
}

static bool opencl_is_known_version(size_t extension, uint32_t version) {
  return version >= known[extension].first && version <= known[extension].last;
}

/* PoCL 3.1, which has 0.9.0, takes longer for a command buffer than for its launches: a quarter for
 * 100 of them. KDL_OPENCL_COMMANDS=1 uses it anyway, and 0 uses none. */
static kdl_status opencl_check_buffer_version(const kdl_opencl_device *device, uint32_t version) {
  const char *wanted = kdl_environment(KDL_VARIABLE_OPENCL_COMMANDS);
  bool is_none = wanted && strcmp(wanted, "0") == 0, is_any = wanted && strcmp(wanted, "1") == 0;
  if (wanted && !is_none && !is_any)
    return kdl_core_services.fail(KDL_BAD_CALL, 0,
                                  "opencl:%u: KDL_OPENCL_COMMANDS: found \"%s\", expected 0 or 1",
                                  device->ordinal, wanted);
  if (is_none || !version)
    return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "opencl:%u: %s", device->ordinal,
                                  is_none ? "KDL_OPENCL_COMMANDS=0"
                                          : "the driver has no cl_khr_command_buffer");
  if (opencl_is_known_version(of_buffers, version) ||
      (is_any && version == KDL_CL_VERSION(0, 9, 0)))
    return KDL_OK;
  return kdl_core_services.fail(
      KDL_UNSUPPORTED, 0,
      "opencl:%u: found cl_khr_command_buffer %u.%u.%u, expected 0.9.1 to 0.9.8", device->ordinal,
      version >> 22, version >> 12 & 0x3ff, version & 0xfff);
}

static void opencl_find_functions(const kdl_opencl_device *device, kdl_opencl_commands *commands) {
  void *symbol;
#define KDL_DRIVER_SYMBOL(field, name, result, parameters)                                         \
  symbol = kdl_opencl.extension(device->platform, #name);                                          \
  memcpy(&commands->field, &symbol, sizeof symbol);
#include "lib/backends/opencl/commands.def"
#undef KDL_DRIVER_SYMBOL
}

static kdl_status opencl_fail_unsupported(const kdl_opencl_device *device, const char *what) {
  return kdl_core_services.fail(KDL_UNSUPPORTED, 0, "opencl:%u: %s", device->ordinal, what);
}

/* Runs of one command buffer follow each other without a wait, which needs "simultaneous use"
 * before 0.9.8. */
static kdl_status opencl_init_commands(const kdl_opencl_device *device, const uint32_t *versions,
                                       kdl_opencl_commands *commands) {
  uint64_t capabilities =
      kdl_opencl_device_number(device, KDL_CL_DEVICE_COMMAND_BUFFER_CAPABILITIES);
  bool may_repeat = capabilities & KDL_CL_COMMAND_BUFFER_REPEATED;
  if (!commands->create || !commands->finalize || !commands->release || !commands->enqueue ||
      !commands->launch)
    return opencl_fail_unsupported(device, "the driver lacks functions of cl_khr_command_buffer");
  if (!may_repeat && versions[of_buffers] < KDL_CL_VERSION(0, 9, 8))
    return opencl_fail_unsupported(
        device, "a command buffer of the driver has to be waited for before it is run "
                "again");
  commands->keeps_arguments = versions[of_buffers] > KDL_CL_VERSION(0, 9, 0);
  commands->has_svm = versions[of_buffers] >= KDL_CL_VERSION(0, 9, 4);
  commands->has_properties = versions[of_buffers] >= KDL_CL_VERSION(0, 9, 5);
  commands->flags = may_repeat ? KDL_CL_COMMAND_BUFFER_SIMULTANEOUS_USE : 0;
  if (may_repeat && commands->update && opencl_is_known_version(of_updates, versions[of_updates])) {
    commands->mutable_fields =
        kdl_opencl_device_number(device, KDL_CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES) &
        (KDL_CL_MUTABLE_GLOBAL_SIZE | KDL_CL_MUTABLE_LOCAL_SIZE | KDL_CL_MUTABLE_ARGUMENTS);
    if (commands->mutable_fields & KDL_CL_MUTABLE_ARGUMENTS)
      commands->flags |= KDL_CL_COMMAND_BUFFER_MUTABLE;
    else
      commands->mutable_fields = 0;
  }
  return KDL_OK;
}

kdl_status kdl_opencl_commands_find(const kdl_opencl_device *device,
                                    kdl_opencl_commands *out_commands) {
  uint32_t versions[extension_count];
  KDL_TRY(opencl_query_versions(device, versions));
  KDL_TRY(opencl_check_buffer_version(device, versions[of_buffers]));
  *out_commands = (kdl_opencl_commands){0};
  opencl_find_functions(device, out_commands);
  return opencl_init_commands(device, versions, out_commands);
}

/* ------------------------------------------------------------------------------------------ */
/* Copies and fills                                                                             */

static bool opencl_has_addresses(const kdl_opencl_device *device) {
  return strcmp(device->memory->name, "buffer") != 0;
}

bool kdl_opencl_commands_have(const kdl_opencl_commands *commands, const kdl_opencl_device *device,
                              const kdl_backend_node *node) {
  bool is_fill = node->kind == KDL_NODE_FILL;
  if (strcmp(device->memory->name, "svm") == 0)
    return commands->has_svm && (is_fill ? (bool)commands->svm_fill : (bool)commands->svm_copy);
  if (opencl_has_addresses(device) || node->kind == KDL_NODE_WRITE || node->kind == KDL_NODE_READ)
    return false;
  return is_fill ? (bool)commands->buffer_fill : (bool)commands->buffer_copy;
}

static void *opencl_pointer(uint64_t word, uint64_t offset) {
  return (void *)(uintptr_t)(word + offset);
}

int32_t kdl_opencl_commands_copy(const kdl_opencl_commands *commands,
                                 const kdl_opencl_device *device, void *buffer,
                                 const kdl_backend_node *node, const char **out_call) {
  size_t bytes = (size_t)node->bytes;
  if (opencl_has_addresses(device)) {
    void *to = node->kind == KDL_NODE_READ ? node->host : opencl_pointer(node->to, node->to_offset);
    const void *from =
        node->kind == KDL_NODE_WRITE ? node->host : opencl_pointer(node->from, node->from_offset);
    *out_call = "clCommandSVMMemcpyKHR";
    return commands->has_properties
               ? commands->svm_copy(buffer, NULL, NULL, to, from, bytes, 0, NULL, NULL, NULL)
               : commands->svm_copy_early(buffer, NULL, to, from, bytes, 0, NULL, NULL, NULL);
  }
  *out_call = "clCommandCopyBufferKHR";
  return commands->has_properties
             ? commands->buffer_copy(buffer, NULL, NULL, opencl_pointer(node->from, 0),
                                     opencl_pointer(node->to, 0), node->from_offset,
                                     node->to_offset, bytes, 0, NULL, NULL, NULL)
             : commands->buffer_copy_early(buffer, NULL, opencl_pointer(node->from, 0),
                                           opencl_pointer(node->to, 0), node->from_offset,
                                           node->to_offset, bytes, 0, NULL, NULL, NULL);
}

int32_t kdl_opencl_commands_fill(const kdl_opencl_commands *commands,
                                 const kdl_opencl_device *device, void *buffer,
                                 const kdl_backend_node *node, const char **out_call) {
  const void *pattern = node->pattern;
  size_t size = node->pattern_size, bytes = (size_t)node->bytes;
  if (opencl_has_addresses(device)) {
    void *to = opencl_pointer(node->to, node->to_offset);
    *out_call = "clCommandSVMMemFillKHR";
    return commands->has_properties ? commands->svm_fill(buffer, NULL, NULL, to, pattern, size,
                                                         bytes, 0, NULL, NULL, NULL)
                                    : commands->svm_fill_early(buffer, NULL, to, pattern, size,
                                                               bytes, 0, NULL, NULL, NULL);
  }
  *out_call = "clCommandFillBufferKHR";
  return commands->has_properties
             ? commands->buffer_fill(buffer, NULL, NULL, opencl_pointer(node->to, 0), pattern, size,
                                     node->to_offset, bytes, 0, NULL, NULL, NULL)
             : commands->buffer_fill_early(buffer, NULL, opencl_pointer(node->to, 0), pattern, size,
                                           node->to_offset, bytes, 0, NULL, NULL, NULL);
}
