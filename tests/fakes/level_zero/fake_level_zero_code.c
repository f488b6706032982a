/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Modules and kernels of the fake Level Zero. */
#include "fake_level_zero_state.h"

#include "lib/inspect/images.h"
#include "lib/target/families/gpu.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

/* The number of the product family (igfxfmid.h), which is all that older zebins name. */
static uint32_t family_of(kdl_intel_ip ip) {
  static const struct {
    uint8_t architecture, first, last;
    uint32_t family;
  } families[] = {{12, 55, 57, 1270 /* DG2 */}, {12, 60, 61, 1271 /* PVC */}};
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    if (ip.architecture == families[i].architecture && ip.release >= families[i].first &&
        ip.release <= families[i].last)
      return families[i].family;
  }
  return 0;
}

/* Of the note PRODUCT_FAMILY: a header of 12 bytes, "IntelGT", the number. */
static uint32_t named_family(const void *data, size_t size) {
  static const char head[] = "\x08\0\0\0\x04\0\0\0\x01\0\0\0IntelGT";
  const char *note = memmem(data, size, head, sizeof head);
  uint32_t family = 0;
  if (note && (size_t)((const char *)data + size - note) >= sizeof head + sizeof family)
    memcpy(&family, note + sizeof head, sizeof family);
  return family;
}

/* Machine code for exactly this device, or for its family. */
static bool is_for_device(const void *data, size_t size, const kdl_device_spec *spec) {
  kdl_image_target target;
  kdl_intel_ip image, device;
  if (kdl_image_sniff(data, size) != KDL_IMAGE_ZEBIN ||
      kdl_image_read_target(KDL_IMAGE_ZEBIN, data, size, &target) != KDL_OK ||
      !kdl_intel_parse(kdl_text_of(spec->arch), &device, NULL))
    return false;
  if (!target.arch[0])
    return family_of(device) && named_family(data, size) == family_of(device);
  return kdl_intel_parse(kdl_text_of(target.arch), &image, NULL) &&
         kdl_intel_number(image) == kdl_intel_number(device);
}

static int build(fake_object *module, const kdl_ze_module_desc *desc, const kdl_device_spec *spec,
                 char *log, size_t log_size) {
  bool is_spirv = desc->format == KDL_ZE_FORMAT_SPIRV;
  kdl_image_kind kind = is_spirv ? KDL_IMAGE_SPIRV : KDL_IMAGE_ZEBIN;
  if (!is_spirv && !is_for_device(desc->input, desc->size, spec))
    return invalid_native_binary;
  if (is_spirv && kdl_image_sniff(desc->input, desc->size) != KDL_IMAGE_SPIRV) {
    snprintf(log, log_size, "error: no SPIR-V\n");
    return build_failure;
  }
  if (!fake_add_kernels(module, FAKE_FUNCTION, kind, desc->input, desc->size)) {
    snprintf(log, log_size, "error: it cannot be read\n");
    return is_spirv ? build_failure : invalid_native_binary;
  }
  if (is_spirv)
    fake_spirv_check(module, desc->input, desc->size, spec->il, log, log_size);
  if (*log)
    return build_failure;
  if (desc->build_flags)
    snprintf(log, log_size, "warning: built with %s\n", desc->build_flags);
  module->text = malloc(desc->size);
  if (!module->text)
    abort();
  memcpy(module->text, desc->input, desc->size);
  module->size = desc->size;
  return KDL_ZE_SUCCESS;
}

static fake_object *make_log(const char *words) {
  fake_object *log = fake_new(FAKE_GRAPH, NULL);
  log->text = strdup(words);
  return log;
}

int zeModuleCreate(void *context_handle, void *device, const kdl_ze_module_desc *desc,
                   void **module, void **log) {
  ZE_ENTER();
  fake_object *context = fake_live(context_handle, FAKE_CONTEXT);
  const kdl_device_spec *spec = fake_ze_spec(device);
  if (!context || !spec)
    return fake_leave(invalid_handle);
  if (desc->type != KDL_ZE_MODULE_DESC || desc->format > KDL_ZE_FORMAT_NATIVE)
    return fake_leave(invalid_enumeration);
  if (!desc->input || !desc->size)
    return fake_leave(desc->input ? invalid_size : null_pointer);
  if ((uintptr_t)desc->input % 8 != 0) {
    fprintf(stderr, "zeModuleCreate: reads words, and the image is not aligned for them\n");
    abort();
  }
  int sticky = fake_ze_lost(fake_ze_ordinal(device));
  if (sticky)
    return fake_leave(sticky);
  char words[256] = "";
  fake_object *made = fake_new(FAKE_MODULE, context);
  made->per_item = 1;
  made->device = fake_ze_ordinal(device);
  int error = build(made, desc, spec, words, sizeof words);
  *log = make_log(words);
  if (error)
    fake_delete_code(made);
  else
    *module = made;
  return fake_leave(error);
}

int zeModuleBuildLogGetString(void *handle, size_t *size, char *text) {
  ZE_ENTER();
  fake_object *log = fake_live(handle, FAKE_GRAPH);
  if (!log)
    return fake_leave(invalid_handle);
  if (text)
    snprintf(text, *size, "%s", log->text);
  *size = strlen(log->text) + 1;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeModuleBuildLogDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *log = fake_live(handle, FAKE_GRAPH);
  if (!log)
    return fake_leave(invalid_handle);
  fake_delete(log);
  return fake_leave(fault);
}

/* Kernels go first. */
int zeModuleDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module)
    return fake_leave(invalid_handle);
  for (fake_object *k = fake_next(NULL, FAKE_KERNEL); k; k = fake_next(k, FAKE_KERNEL)) {
    if (k->owner == module)
      return fake_leave(object_in_use);
  }
  fake_delete_code(module);
  return fake_leave(fault);
}

fake_object *fake_variable(fake_object *code, fake_object *context, const char *name) {
  return fake_spirv_variable(code, context, name);
}

int zeModuleGetGlobalPointer(void *handle, const char *name, size_t *size, void **address) {
  ZE_ENTER();
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module)
    return fake_leave(invalid_handle);
  fake_object *variable = fake_variable(module, module->context, name);
  if (!variable)
    return fake_leave(KDL_ZE_INVALID_GLOBAL_NAME);
  variable->device = module->device;
  *size = variable->size;
  *address = (void *)(uintptr_t)variable->address;
  return fake_leave(KDL_ZE_SUCCESS);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

int zeKernelCreate(void *handle, const kdl_ze_kernel_desc *desc, void **kernel) {
  ZE_ENTER();
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module)
    return fake_leave(invalid_handle);
  if (desc->type != KDL_ZE_KERNEL_DESC || desc->flags > 3)
    return fake_leave(invalid_enumeration);
  const fake_object *defined = fake_find_kernel(FAKE_FUNCTION, module, desc->name);
  if (!defined)
    return fake_leave(KDL_ZE_INVALID_KERNEL_NAME);
  fake_object *made = fake_new(FAKE_KERNEL, module->context);
  made->owner = module;
  made->program = defined->program;
  made->param_count = defined->param_count;
  memcpy(made->param_sizes, defined->param_sizes, sizeof made->param_sizes);
  memcpy(made->param_is_value, defined->param_is_value, sizeof made->param_is_value);
  memcpy(made->required, defined->required, sizeof made->required);
  memcpy(made->name, defined->name, sizeof made->name);
  made->state = calloc(1, sizeof(fake_ze_arguments));
  if (!made->state)
    abort();
  *kernel = made;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeKernelDestroy(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel)
    return fake_leave(invalid_handle);
  fake_delete(kernel);
  return fake_leave(fault);
}

int zeKernelGetProperties(void *handle, kdl_ze_kernel_properties *properties) {
  ZE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel || properties->type != KDL_ZE_KERNEL_PROPERTIES)
    return fake_leave(kernel ? invalid_argument : invalid_handle);
  properties->argument_count = kernel->param_count;
  memcpy(properties->group_size, kernel->required, sizeof properties->group_size);
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeKernelSuggestGroupSize(void *handle, uint32_t global_x, uint32_t global_y, uint32_t global_z,
                             uint32_t *x, uint32_t *y, uint32_t *z) {
  ZE_ENTER();
  if (!fake_live(handle, FAKE_KERNEL))
    return fake_leave(invalid_handle);
  *x = global_x < 512 ? global_x : 512;
  *y = global_y > 1 ? 2 : 1;
  *z = global_z > 1 ? 2 : 1;
  return fake_leave(KDL_ZE_SUCCESS);
}

int zeKernelSetIndirectAccess(void *handle, uint32_t flags) {
  ZE_ENTER_ALONE(handle);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel || flags > 7)
    return ze_leave_alone(handle, kernel ? invalid_enumeration : invalid_handle);
  ((fake_ze_arguments *)kernel->state)->has_access = flags == KDL_ZE_ACCESS_ANY;
  return ze_leave_alone(handle, KDL_ZE_SUCCESS);
}

int zeKernelSetGroupSize(void *handle, uint32_t x, uint32_t y, uint32_t z) {
  ZE_ENTER_ALONE(handle);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  if (!kernel)
    return ze_leave_alone(handle, invalid_handle);
  const kdl_device_spec *spec = fake_device((size_t)kernel->owner->device);
  unsigned group[3] = {x, y, z};
  uint64_t all = (uint64_t)x * y * z;
  bool is_required = kernel->required[0] && memcmp(kernel->required, group, sizeof group) != 0;
  if (!all || (spec && spec->max_block && all > spec->max_block) || is_required)
    return ze_leave_alone(handle, invalid_group_size);
  memcpy(((fake_ze_arguments *)kernel->state)->group, group, sizeof group);
  return ze_leave_alone(handle, KDL_ZE_SUCCESS);
}

/* Group memory has no size of its own in the image, and is passed as a size alone. A pointer is
 * looked up now, and what it points to is kept. */
int fake_ze_set_argument(const fake_object *kernel, fake_ze_arguments *arguments, uint32_t index,
                         size_t size, const void *value) {
  if (index >= kernel->param_count)
    return invalid_argument_index;
  size_t expected = kernel->param_sizes[index];
  if (expected ? size != expected : !size || value != NULL) {
    fake_ze_say("argument %u has %zu bytes, expected %zu", index, size, expected);
    return invalid_argument_size;
  }
  arguments->memory[index] = 0;
  arguments->shared[index] = expected ? 0 : size;
  if (expected == 8 && value && !kernel->param_is_value[index]) {
    uint64_t address;
    memcpy(&address, value, sizeof address);
    fake_object *memory = fake_memory_at(address, 1);
    arguments->memory[index] = memory ? memory->serial : 0;
    if (address && !memory) {
      fake_ze_say("argument %u points to no memory of the driver's", index);
      return invalid_argument;
    }
  }
  if (value)
    memcpy(arguments->values[index], value, size < 64 ? size : 64);
  arguments->is_set[index] = true;
  return KDL_ZE_SUCCESS;
}

int zeKernelSetArgumentValue(void *handle, uint32_t index, size_t size, const void *value) {
  ZE_ENTER_ALONE(handle);
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  int error =
      kernel ? fake_ze_set_argument(kernel, kernel->state, index, size, value) : invalid_handle;
  return ze_leave_alone(handle, error);
}
