/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/arguments/arguments.h"

#include "lib/inspect/images.h"
#include "lib/target/kernel_key.h"
#include "support/base/text.h"

#include <stdio.h>

enum { address_size = 8 };

/* ------------------------------------------------------------------------------------------ */
/* The image                                                                                    */

static kdl_argument_kind argument_kind_of(kdl_image_param_kind kind) {
  switch (kind) {
  case KDL_IMAGE_PARAM_POINTER:
    return KDL_ARGUMENT_MEMORY;
  case KDL_IMAGE_PARAM_GROUP:
    return KDL_ARGUMENT_GROUP;
  case KDL_IMAGE_PARAM_VALUE:
  case KDL_IMAGE_PARAM_INTEGER:
  case KDL_IMAGE_PARAM_FLOAT:
    return KDL_ARGUMENT_VALUE;
  case KDL_IMAGE_PARAM_BYTES:
  case KDL_IMAGE_PARAM_OPAQUE:
    break;
  }
  return KDL_ARGUMENT_UNKNOWN;
}

/* Numbers are aligned to their size; structures may be less aligned. */
static int apply_image_param(void *user, const kdl_image_param *param) {
  kdl_arguments *arguments = user;
  if (param->index >= arguments->count)
    return 1;
  kdl_argument *argument = &arguments->list[param->index];
  bool is_number = param->kind == KDL_IMAGE_PARAM_INTEGER || param->kind == KDL_IMAGE_PARAM_FLOAT;
  if (argument->kind == KDL_ARGUMENT_UNKNOWN) {
    /* PTX without .ptr: the driver treats it as a number, even if the kernel uses it as a
     * pointer. */
    bool is_bytes = param->kind == KDL_IMAGE_PARAM_BYTES;
    argument->undeclared = is_bytes && param->size == address_size;
    argument->kind =
        is_bytes && !argument->undeclared ? KDL_ARGUMENT_VALUE : argument_kind_of(param->kind);
  }
  if (argument->kind == KDL_ARGUMENT_GROUP)
    return 0;
  if (!argument->size) {
    argument->size = param->size;
    argument->is_rounded = param->is_rounded;
  }
  if (is_number)
    argument->alignment = param->size;
  return 0;
}

void kdl_arguments_read_image(kdl_arguments *arguments, const kdl_image_reference *image,
                              const char *kernel) {
  (void)kdl_image_read_params(image->kind, image->data, image->size, kdl_text_of(kernel),
                              apply_image_param, arguments);
}

/* ------------------------------------------------------------------------------------------ */
/* The signature                                                                                */

/* A signature omits group memory. Hidden pointers may follow it. */
void kdl_arguments_read_signature(kdl_arguments *arguments, const kdl_kernel_request *request) {
  size_t at = 0;
  kdl_param said;
  for (uint32_t i = 0; i < arguments->count; ++i) {
    kdl_argument *argument = &arguments->list[i];
    if (argument->kind == KDL_ARGUMENT_GROUP)
      continue;
    if (!request->sig.data || !kdl_signature_next(request->sig, &at, &said, NULL)) {
      if (!request->hidden)
        return;
      said = (kdl_param){.kind = KDL_PARAM_PTR};
    }
    kdl_argument_kind kind = said.kind == KDL_PARAM_PTR ? KDL_ARGUMENT_MEMORY : KDL_ARGUMENT_VALUE;
    if (argument->kind == KDL_ARGUMENT_UNKNOWN)
      argument->kind = argument->undeclared ? KDL_ARGUMENT_VALUE : kind;
    argument->contradicted = argument->kind != kind;
    if (!argument->size || (argument->is_rounded && said.size < argument->size))
      argument->size = said.size;
    if (!argument->alignment)
      argument->alignment = said.align;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All sources together                                                                         */

bool kdl_arguments_resolve(kdl_arguments *arguments, char *out_fault, size_t fault_size) {
  uint32_t kept = 0;
  arguments->group_index = KDL_NO_GROUP_MEMORY;
  for (uint32_t i = 0; i < arguments->count; ++i) {
    kdl_argument *argument = &arguments->list[i];
    argument->index = i;
    if (argument->kind == KDL_ARGUMENT_UNKNOWN) {
      snprintf(out_fault, fault_size,
               "parameter %u: neither the driver, the image nor a signature tells whether it is "
               "memory or a value, or it is an image or a sampler",
               i);
      return false;
    }
    if (argument->contradicted) {
      bool is_memory = argument->kind == KDL_ARGUMENT_MEMORY;
      snprintf(out_fault, fault_size, "parameter %u is %s by the signature and %s by the image", i,
               is_memory ? "a value" : "memory", is_memory ? "memory" : "a value");
      return false;
    }
    if (argument->kind == KDL_ARGUMENT_GROUP) {
      if (arguments->group_index != KDL_NO_GROUP_MEMORY) {
        snprintf(out_fault, fault_size,
                 "parameters %u and %u are both group memory, expected one at most: a launch has "
                 "one size for it",
                 arguments->group_index, i);
        return false;
      }
      arguments->group_index = i;
      continue;
    }
    if (argument->kind == KDL_ARGUMENT_MEMORY)
      argument->size = argument->alignment = address_size;
    arguments->list[kept++] = *argument;
  }
  arguments->count = kept;
  return true;
}

bool kdl_arguments_lay_out(const kdl_arguments *arguments, kdl_params *out_params) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < arguments->count; ++i) {
    if (arguments->list[i].size == 0)
      return true;
  }
  bool has_memory = kdl_params_begin(out_params);
  for (uint32_t i = 0; has_memory && i < arguments->count; ++i) {
    uint32_t size = arguments->list[i].size, alignment = arguments->list[i].alignment;
    uint32_t offset = end == KDL_NO_OFFSET || !alignment
                          ? KDL_NO_OFFSET
                          : (end + alignment - 1) / alignment * alignment;
    end = offset == KDL_NO_OFFSET ? KDL_NO_OFFSET : offset + size;
    has_memory = kdl_params_add(out_params, offset, size);
  }
  return has_memory;
}
