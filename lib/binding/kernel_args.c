/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters of a kernel: from its signature in the metadata, from the image, or both. */
#include "lib/binding/kernel.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>

enum { address_size = 8 }; /* of all supported devices */

static uint32_t param_size(const kdl_param *param) {
  return param->kind == KDL_PARAM_PTR ? address_size : param->size;
}

/* If signature and image both give a size, they must agree. */
static kdl_status learn_sizes(kdl_kernel *kernel, uint32_t *out_sizes, size_t count) {
  const kdl_param_info *params = kernel->loaded.params;
  kdl_parse_error error;
  kdl_param param;
  size_t at = 0;
  bool has_sig = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG);
  for (size_t i = 0; i < count; ++i) {
    out_sizes[i] = params ? params[i].size : 0;
    if (!has_sig || !kdl_signature_next(kernel->key.sig, &at, &param, &error))
      continue;
    if (params && params[i].size != param_size(&param))
      return kdl_fail(KDL_BAD_FILE,
                      "metadata says that parameter %zu is %.*s of %u bytes, the image itself that "
                      "it has %u",
                      i, (int)param.text.length, param.text.data, (unsigned)param_size(&param),
                      (unsigned)params[i].size);
    out_sizes[i] = param_size(&param);
    if (param.kind != KDL_PARAM_PTR && param.kind != KDL_PARAM_BYTES && i < 64)
      kernel->scalar_params |= UINT64_C(1) << i;
  }
  return KDL_OK;
}

void kdl_kernel_args_reset(kdl_kernel *kernel) {
  if (kernel->param_sizes != kernel->inline_sizes)
    free(kernel->param_sizes);
  kernel->param_sizes = NULL;
}

kdl_status kdl_kernel_args_resolve(kdl_kernel *kernel) {
  const kdl_backend_kernel *loaded = &kernel->loaded;
  bool has_sig = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG);
  uint64_t hidden = kernel->key.hidden;
  kernel->param_count = -1;
  kernel->scalar_params = 0;
  if (!has_sig && !loaded->params)
    return KDL_OK;
  uint64_t shown = loaded->param_count > hidden ? loaded->param_count - hidden : 0;
  uint64_t count = has_sig ? kernel->key.param_count : shown;
  if (loaded->params && loaded->param_count != count + hidden)
    return kdl_fail(KDL_BAD_FILE,
                    "metadata says %" PRIu64 " parameters and %" PRIu64
                    " hidden ones, the image itself %u",
                    count, hidden, (unsigned)loaded->param_count);
  kdl_kernel_args_reset(kernel);
  kernel->param_sizes = count <= sizeof kernel->inline_sizes / sizeof *kernel->inline_sizes
                            ? kernel->inline_sizes
                            : malloc(count * sizeof *kernel->param_sizes);
  if (!kernel->param_sizes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %" PRIu64 " parameters", count);
  kernel->param_count = (int64_t)count;
  return learn_sizes(kernel, kernel->param_sizes, count);
}

/* ------------------------------------------------------------------------------------------ */
/* Arguments of a launch                                                                        */

kdl_status kdl_kernel_fail_wrong_queue(const kdl_kernel *kernel, const kdl_queue *queue) {
  return kdl_fail(KDL_BAD_CALL, "%s: found a queue of %s, expected one of %s", kernel->name,
                  queue->runtime->label, kernel->runtime->label);
}

/* A kdl_buffer is passed by its first member, the address. */
static bool is_buffer(uint32_t expected, size_t found) {
  return expected == address_size && found == sizeof(kdl_buffer);
}

static bool is_size_right(uint32_t expected, size_t found) {
  return expected == 0 || expected == found || is_buffer(expected, found);
}

/* A buffer of size 0 is a null pointer and belongs to no device. */
static kdl_status check_buffer(const kdl_kernel *kernel, size_t index, const kdl_buffer *buffer) {
  if (index < 64 && kernel->scalar_params >> index & 1)
    return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: found a buffer, expected a number (%.*s)",
                    kernel->name, index, (int)kernel->key.sig.length, kernel->key.sig.data);
  if (buffer->address == 0 || buffer->device == kernel->runtime->device)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: found a buffer of %s, expected one of %s",
                  kernel->name, index, buffer->device ? buffer->device->spec_lines[0] : "no device",
                  kernel->runtime->label);
}

/* Not inlined, so that launches without sizes, as in programs built with NDEBUG, stay short. */
static __attribute__((noinline)) kdl_status check_sizes(const kdl_kernel *kernel,
                                                        const kdl_args *args) {
  bool has_sig = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG);
  kdl_string sig = has_sig ? kernel->key.sig : (kdl_string){"", 0};
  for (size_t i = 0; i < args->count; ++i) {
    uint32_t expected = kernel->param_sizes[i];
    if (!is_size_right(expected, args->sizes[i]))
      return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: found %zu bytes, expected %u%s%.*s%s",
                      kernel->name, i, args->sizes[i], (unsigned)expected, sig.length ? " (" : "",
                      (int)sig.length, sig.data, sig.length ? ")" : "");
    kdl_status status =
        is_buffer(expected, args->sizes[i]) ? check_buffer(kernel, i, args->pointers[i]) : KDL_OK;
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

kdl_status kdl_kernel_args_check(const kdl_kernel *kernel, const kdl_args *args) {
  if (kernel->param_count < 0)
    return KDL_OK;
  const char *sig = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG) ? kernel->key.sig.data : "";
  int sig_length = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG) ? (int)kernel->key.sig.length : 0;
  if (args->count != (uint64_t)kernel->param_count)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu arguments, expected %" PRId64 "%s%.*s%s",
                    kernel->name, args->count, kernel->param_count, sig_length ? " (" : "",
                    sig_length, sig, sig_length ? ")" : "");
  if (args->count && !args->pointers)
    return kdl_fail(KDL_BAD_CALL, "%s: found NULL for args.pointers, expected %zu pointers",
                    kernel->name, args->count);
  for (size_t i = 0; i < args->count; ++i) {
    if (!args->pointers[i])
      return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: found NULL, expected a pointer to its value",
                      kernel->name, i);
  }
  return args->sizes ? check_sizes(kernel, args) : KDL_OK;
}
