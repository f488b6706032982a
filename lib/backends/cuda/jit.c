/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The driver's PTX compiler: its options from the environment, and its messages. */
#include "lib/backends/common/services.h"
#include "lib/backends/cuda/objects.h"
#include "support/system/variables.h"

#include <stdlib.h>
#include <string.h>

enum { log_size = 8192, log_options = 4 };

static const struct {
  kdl_variable variable;
  int option;
  long least, most;
} settings[] = {
    {KDL_VARIABLE_CUDA_JIT_MAX_REGISTERS, KDL_CUDA_JIT_MAX_REGISTERS, 1, 255},
    {KDL_VARIABLE_CUDA_JIT_OPTIMIZATION_LEVEL, KDL_CUDA_JIT_OPTIMIZATION_LEVEL, 0, 4},
    {KDL_VARIABLE_CUDA_JIT_DEBUG_INFO, KDL_CUDA_JIT_GENERATE_DEBUG_INFO, 0, 1},
    {KDL_VARIABLE_CUDA_JIT_LINE_INFO, KDL_CUDA_JIT_GENERATE_LINE_INFO, 0, 1},
    {KDL_VARIABLE_CUDA_JIT_VERBOSE, KDL_CUDA_JIT_LOG_VERBOSE, 0, 1},
};
enum { setting_count = sizeof settings / sizeof *settings };

struct kdl_cuda_jit {
  unsigned count;
  int options[log_options + setting_count];
  void *values[log_options + setting_count];
  char info[log_size];
  char errors[log_size];
  char text[]; /* the PTX with a final NUL, which the driver needs */
};

static void cuda_jit_add_option(kdl_cuda_jit *jit, int option, void *value) {
  jit->options[jit->count] = option;
  jit->values[jit->count++] = value;
}

static kdl_status cuda_jit_add_setting(kdl_cuda_jit *jit, size_t index) {
  const char *text = kdl_environment(settings[index].variable);
  if (!text)
    return KDL_OK;
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || value < settings[index].least || value > settings[index].most)
    return kdl_core_services.fail(KDL_BAD_CALL, 0, "%s: found \"%s\", expected %ld to %ld",
                                  kdl_variable_name(settings[index].variable), text,
                                  settings[index].least, settings[index].most);
  cuda_jit_add_option(jit, settings[index].option, (void *)(intptr_t)value);
  return KDL_OK;
}

static kdl_status cuda_jit_create(const kdl_backend_image *image, kdl_cuda_jit **out_jit) {
  kdl_cuda_jit *jit = calloc(1, sizeof *jit + image->data_size + 1);
  if (!jit)
    return kdl_core_services.fail(KDL_NO_MEMORY, 0, "%s: no memory to compile it", image->name);
  memcpy(jit->text, image->data, image->data_size);
  void *size = (void *)(intptr_t)(log_size - 1);
  cuda_jit_add_option(jit, KDL_CUDA_JIT_INFO_LOG_BUFFER, jit->info);
  cuda_jit_add_option(jit, KDL_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES, size);
  cuda_jit_add_option(jit, KDL_CUDA_JIT_ERROR_LOG_BUFFER, jit->errors);
  cuda_jit_add_option(jit, KDL_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, size);
  for (size_t i = 0; i < setting_count; ++i) {
    kdl_status status = cuda_jit_add_setting(jit, i);
    if (status != KDL_OK) {
      free(jit);
      return status;
    }
  }
  *out_jit = jit;
  return KDL_OK;
}

void kdl_cuda_jit_destroy(kdl_cuda_jit *jit) {
  free(jit);
}

kdl_status kdl_cuda_jit_begin(const kdl_backend_image *image, kdl_cuda_jit **jit,
                              kdl_cuda_jit_input *out_input) {
  if (image->kind != KDL_IMAGE_PTX) {
    *out_input = (kdl_cuda_jit_input){.data = image->data};
    return KDL_OK;
  }
  kdl_status status = *jit ? KDL_OK : cuda_jit_create(image, jit);
  if (*jit)
    *out_input = (kdl_cuda_jit_input){(*jit)->text, (*jit)->count, (*jit)->options, (*jit)->values};
  return status;
}

void kdl_cuda_jit_errors(const kdl_cuda_jit *jit, char *text, size_t size) {
  kdl_join_lines(jit ? jit->errors : "", text, size);
}

void kdl_cuda_jit_log(const kdl_cuda_jit *jit, const char *image) {
  if (jit && jit->info[0])
    kdl_core_services.log("%s: compiled by the driver: %s", image, jit->info);
}
