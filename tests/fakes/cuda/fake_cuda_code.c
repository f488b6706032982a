/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Modules, libraries and kernels of the fake libcuda. Images are read by libkdl's own readers; what
 * is no cubin and no PTX is refused. */
#include "fake_cuda_state.h"

#include "lib/inspect/images.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

enum { cuda_machine = 190 };

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static kdl_image_kind kind_of(const uint8_t *data, size_t *out_size) {
  if (memcmp(data, ELFMAG, 4) == 0) {
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof header);
    if (header.e_machine != cuda_machine || header.e_shentsize != sizeof(Elf64_Shdr))
      return KDL_IMAGE_UNKNOWN;
    *out_size = fake_elf_size(data);
    return KDL_IMAGE_CUBIN;
  }
  *out_size = strlen((const char *)data);
  return kdl_image_sniff(data, *out_size) == KDL_IMAGE_PTX ? KDL_IMAGE_PTX : KDL_IMAGE_UNKNOWN;
}

static void say(char *buffer, size_t size, const char *text) {
  if (buffer && size)
    snprintf(buffer, size, "%s", text);
}

/* Compiles: a PTX that has the word "syntax_error" in it does not. */
static int compile(const char *ptx, const int *options, void *const *values, unsigned count) {
  char *errors = NULL, *remarks = NULL;
  size_t errors_size = 0, remarks_size = 0;
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
    case KDL_CUDA_JIT_ERROR_LOG_BUFFER:
      errors = values[i];
      break;
    case KDL_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      errors_size = (uintptr_t)values[i];
      break;
    case KDL_CUDA_JIT_INFO_LOG_BUFFER:
      remarks = values[i];
      break;
    case KDL_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      remarks_size = (uintptr_t)values[i];
      break;
    case KDL_CUDA_JIT_MAX_REGISTERS:
      say(remarks, remarks_size, "compiled with a limit of registers");
      break;
    default:
      break;
    }
  }
  if (!strstr(ptx, "syntax_error"))
    return KDL_CUDA_SUCCESS;
  say(errors, errors_size,
      "ptxas application ptx input, line 7; fatal   : Parsing error near 'syntax_error': syntax "
      "error\nptxas fatal   : Ptx assembly aborted due to errors\n");
  return invalid_ptx;
}

static int arch_number(const char *arch) {
  int number = 0;
  sscanf(arch, "sm_%d", &number);
  return number;
}

/* Machine code runs on its own generation, PTX on this and later ones. */
static int check_arch(const fake_object *code, const fake_object *context) {
  int device = arch_number(fake_device((size_t)context->device)->arch);
  bool fits =
      code->text ? device >= code->arch : device / 10 == code->arch / 10 && device >= code->arch;
  return fits ? KDL_CUDA_SUCCESS : no_binary_for_gpu;
}

static int load_code(fake_kind kind, const void *data, const int *options, void *const *values,
                     unsigned count, fake_object *context, void **out_code) {
  size_t size;
  kdl_image_kind image = kind_of(data, &size);
  if (image == KDL_IMAGE_UNKNOWN)
    return invalid_image;
  int error = image == KDL_IMAGE_PTX ? compile(data, options, values, count) : KDL_CUDA_SUCCESS;
  kdl_image_target target;
  if (error == KDL_CUDA_SUCCESS && kdl_image_read_target(image, data, size, &target) != KDL_OK)
    error = invalid_image;
  if (error != KDL_CUDA_SUCCESS)
    return error;
  fake_object *code = fake_new(kind, context);
  code->arch = arch_number(target.arch);
  code->per_item = 1;
  if (image == KDL_IMAGE_PTX) {
    code->text = strdup(data);
    const char *per_item = strstr(code->text, "per_item=");
    if (per_item)
      code->per_item = atoi(per_item + strlen("per_item="));
  }
  if (!fake_add_kernels(code, context ? FAKE_FUNCTION : FAKE_KERNEL, image, data, size))
    error = invalid_image;
  else if (context)
    error = check_arch(code, context);
  if (error != KDL_CUDA_SUCCESS)
    fake_delete_code(code);
  else
    *out_code = code;
  return error;
}

/* ------------------------------------------------------------------------------------------ */
/* What both ways share                                                                         */

/* How PTX declares a variable: ".u32 weight = 3" or ".b8 table[64]". */
static bool find_declaration(const char *ptx, const char *name, unsigned *out_size,
                             uint32_t *out_value) {
  char word[160], bytes[160];
  snprintf(word, sizeof word, ".u32 %s = ", name);
  snprintf(bytes, sizeof bytes, ".b8 %s[", name);
  const char *found = strstr(ptx, word);
  *out_value = found ? (uint32_t)strtoul(found + strlen(word), NULL, 0) : 0;
  *out_size = sizeof *out_value;
  if (found)
    return true;
  found = strstr(ptx, bytes);
  *out_size = found ? (unsigned)strtoul(found + strlen(bytes), NULL, 0) : 0;
  return *out_size != 0;
}

fake_object *fake_variable(fake_object *code, fake_object *context, const char *name) {
  unsigned size;
  uint32_t value;
  if (!code->text || !find_declaration(code->text, name, &size, &value))
    return NULL;
  fake_object *variable = fake_find_variable(code, context, name);
  return variable ? variable : fake_add_variable(code, context, name, size, &value, sizeof value);
}

static int find_global(fake_object *code, fake_object *context, const char *name,
                       uint64_t *out_address, size_t *out_size) {
  fake_object *variable = fake_variable(code, context, name);
  if (!variable)
    return KDL_CUDA_ERROR_NOT_FOUND;
  *out_address = variable->address;
  *out_size = variable->size;
  return KDL_CUDA_SUCCESS;
}

enum { max_threads_per_block = 0 }; /* what liboffload asks of a kernel */

static int get_attribute(const fake_object *kernel, int attribute, int *value) {
  *value = 0;
  if (attribute == KDL_CUDA_FUNC_SHARED_SIZE_BYTES)
    *value = strcmp(kernel->name, "static_shared") == 0 ? 1024 : 0;
  else if (attribute == KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    *value = fake_cuda_max_shared(kernel);
  else if (attribute == max_threads_per_block)
    *value = 1024;
  else
    return KDL_CUDA_ERROR_INVALID_VALUE;
  return KDL_CUDA_SUCCESS;
}

static int set_attribute(fake_object *kernel, int attribute, int value, int ordinal) {
  if (attribute == KDL_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value < 0 || (uint64_t)value > fake_device((size_t)ordinal)->shared_optin)
      return KDL_CUDA_ERROR_INVALID_VALUE;
    kernel->max_shared = value;
  } else if (attribute == KDL_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel->wide_clusters = value != 0;
  } else {
    return KDL_CUDA_ERROR_INVALID_VALUE;
  }
  return KDL_CUDA_SUCCESS;
}

/* ------------------------------------------------------------------------------------------ */
/* Modules                                                                                      */

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values) {
  FAKE_ENTER();
  fake_object *current = fake_current();
  if (!current)
    return fake_leave(KDL_CUDA_ERROR_INVALID_CONTEXT);
  int error = current->sticky ? current->sticky : fake_unsafe();
  if (!error)
    error = load_code(FAKE_MODULE, image, options, values, count, current, module);
  return fake_leave(error);
}

int cuModuleUnload(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module || !fake_current())
    return fake_leave(module ? KDL_CUDA_ERROR_INVALID_CONTEXT : KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_delete_code(module);
  return fake_leave(fault);
}

int cuModuleGetFunction(void **function, void *handle, const char *name) {
  FAKE_ENTER();
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module || module->context != fake_current())
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  *function = fake_find_kernel(FAKE_FUNCTION, module, name);
  return fake_leave(*function ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_NOT_FOUND);
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *size, void *handle, const char *name) {
  FAKE_ENTER();
  fake_object *module = fake_live(handle, FAKE_MODULE);
  if (!module)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  return fake_leave(find_global(module, module->context, name, address, size));
}

int cuFuncGetAttribute(int *value, int attribute, void *handle) {
  FAKE_ENTER();
  fake_object *function = fake_live(handle, FAKE_FUNCTION);
  return fake_leave(function ? get_attribute(function, attribute, value)
                             : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuFuncSetAttribute(void *handle, int attribute, int value) {
  FAKE_ENTER();
  fake_object *function = fake_live(handle, FAKE_FUNCTION);
  return fake_leave(function ? set_attribute(function, attribute, value, function->context->device)
                             : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *handle,
                                     size_t (*shared_of_block)(int), size_t shared,
                                     int block_limit) {
  (void)shared_of_block, (void)shared, (void)block_limit;
  FAKE_ENTER();
  if (!fake_live(handle, FAKE_FUNCTION) && !fake_live(handle, FAKE_KERNEL))
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  *grid = 1;
  *block = 512;
  return fake_leave(KDL_CUDA_SUCCESS);
}

#ifndef FAKE_OLD

static int get_param(const fake_object *kernel, size_t index, size_t *offset, size_t *size) {
  if (!kernel || index >= kernel->param_count)
    return kernel ? KDL_CUDA_ERROR_INVALID_VALUE : KDL_CUDA_ERROR_INVALID_HANDLE;
  *offset = kernel->param_offsets[index];
  *size = kernel->param_sizes[index];
  return KDL_CUDA_SUCCESS;
}

int cuFuncGetParamInfo(void *handle, size_t index, size_t *offset, size_t *size) {
  FAKE_ENTER();
  return fake_leave(get_param(fake_live(handle, FAKE_FUNCTION), index, offset, size));
}

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

/* NOLINTBEGIN(readability-non-const-parameter): the driver's own signature */
int cuLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values,
                      unsigned jit_count, int *options, void **values, unsigned count) {
  /* NOLINTEND(readability-non-const-parameter) */
  FAKE_ENTER();
  if (count && (options[0] != KDL_CUDA_LIBRARY_BINARY_IS_PRESERVED || !values[0]))
    return fake_leave(KDL_CUDA_ERROR_INVALID_VALUE);
  int error = fake_unsafe();
  if (!error)
    error = load_code(FAKE_LIBRARY, code, jit_options, jit_values, jit_count, NULL, library);
  return fake_leave(error);
}

int cuLibraryUnload(void *handle) {
  int fault = fake_enter(__func__);
  pthread_mutex_lock(&fake_lock);
  fake_object *library = fake_live(handle, FAKE_LIBRARY);
  if (!library)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  fake_delete_code(library);
  return fake_leave(fault);
}

int cuLibraryGetKernel(void **kernel, void *handle, const char *name) {
  FAKE_ENTER();
  fake_object *library = fake_live(handle, FAKE_LIBRARY);
  if (!library)
    return fake_leave(KDL_CUDA_ERROR_INVALID_HANDLE);
  *kernel = fake_find_kernel(FAKE_KERNEL, library, name);
  return fake_leave(*kernel ? KDL_CUDA_SUCCESS : KDL_CUDA_ERROR_NOT_FOUND);
}

int cuLibraryGetGlobal(uint64_t *address, size_t *size, void *handle, const char *name) {
  FAKE_ENTER();
  fake_object *library = fake_live(handle, FAKE_LIBRARY);
  fake_object *current = fake_current();
  if (!library || !current)
    return fake_leave(library ? KDL_CUDA_ERROR_INVALID_CONTEXT : KDL_CUDA_ERROR_INVALID_HANDLE);
  return fake_leave(find_global(library, current, name, address, size));
}

/* The kernel as a function of one context, with attributes of its own. */
static fake_object *function_of(const fake_object *kernel, fake_object *context) {
  fake_object *f = fake_next(NULL, FAKE_FUNCTION);
  while (f &&
         (f->owner != kernel->owner || f->context != context || strcmp(f->name, kernel->name) != 0))
    f = fake_next(f, FAKE_FUNCTION);
  if (f)
    return f;
  f = fake_new(FAKE_FUNCTION, context);
  f->owner = kernel->owner;
  f->program = kernel->program;
  f->max_shared = kernel->max_shared;
  f->param_count = kernel->param_count;
  memcpy(f->name, kernel->name, sizeof f->name);
  memcpy(f->param_offsets, kernel->param_offsets, sizeof f->param_offsets);
  memcpy(f->param_sizes, kernel->param_sizes, sizeof f->param_sizes);
  return f;
}

/* Loads the kernel into the current context. */
int cuKernelGetFunction(void **function, void *handle) {
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  fake_object *current = fake_current();
  if (!kernel || !current)
    return fake_leave(kernel ? KDL_CUDA_ERROR_INVALID_CONTEXT : KDL_CUDA_ERROR_INVALID_HANDLE);
  int error = current->sticky ? current->sticky : fake_unsafe();
  if (!error)
    error = check_arch(kernel->owner, current);
  if (error)
    return fake_leave(error);
  size_t i = 0;
  while (i + 1 < most_loaded_contexts && kernel->loaded[i] && kernel->loaded[i] != current)
    ++i;
  kernel->loaded[i] = current;
  *function = function_of(kernel, current);
  return fake_leave(KDL_CUDA_SUCCESS);
}

int cuKernelGetAttribute(int *value, int attribute, void *handle, int device) {
  (void)device;
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  return fake_leave(kernel ? get_attribute(kernel, attribute, value)
                           : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuKernelSetAttribute(int attribute, int value, void *handle, int device) {
  FAKE_ENTER();
  fake_object *kernel = fake_live(handle, FAKE_KERNEL);
  return fake_leave(kernel ? set_attribute(kernel, attribute, value, device - 100)
                           : KDL_CUDA_ERROR_INVALID_HANDLE);
}

int cuKernelGetParamInfo(void *handle, size_t index, size_t *offset, size_t *size) {
  FAKE_ENTER();
  return fake_leave(get_param(fake_live(handle, FAKE_KERNEL), index, offset, size));
}

#endif
