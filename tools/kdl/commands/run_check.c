/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "commands/run_check.h"

#include "base/error.h"
#include "base/text.h"
#include "image/geometry.h"
#include "image/host/host_object.h"
#include "target/kernel_key.h"

#include <inttypes.h>
#include <string.h>

enum { pointer_size = 8 };

typedef struct {
  uint32_t sizes[KDL_HOST_LIMIT_PARAMS];
  uint32_t count;
  kdl_string sig;  /* "" where there is none */
  uint64_t shared; /* bytes of dynamic group memory */
} expectation;

static bool read_key(const kdl_image_info *info, const char *kernel, expectation *out) {
  kdl_kernel_key key;
  kdl_string name;
  kdl_param param;
  for (size_t i = 0; i < info->pair_count; ++i) {
    const kdl_pair *pair = &info->pairs[i];
    if (!kdl_kernel_name(pair->key, &name) || !kdl_text_is(name, kernel) ||
        !kdl_kernel_parse(pair->value, &key, NULL) || !kdl_kernel_has(&key, KDL_KERNEL_SIG))
      continue;
    out->sig = key.sig;
    out->shared = key.shared;
    for (size_t at = 0;
         out->count < KDL_HOST_LIMIT_PARAMS && kdl_signature_next(key.sig, &at, &param, NULL);)
      out->sizes[out->count++] = param.kind == KDL_PARAM_PTR ? pointer_size : param.size;
    return out->count == key.param_count;
  }
  return false;
}

static bool read_object(const kdl_choice *choice, const char *kernel, expectation *out) {
  kdl_host_object object;
  return choice->kind == KDL_IMAGE_OBJECT &&
         kdl_host_object_open(choice->data, choice->data_size, &object) == KDL_OK &&
         kdl_host_object_read_params(&object, kernel, out->sizes, &out->count);
}

static kdl_status compare(const char *kernel, const expectation *expected, const cli_run_arg *args,
                          size_t count) {
  const char *open = expected->sig.length ? " (" : "", *close = expected->sig.length ? ")" : "";
  int length = (int)expected->sig.length;
  if (count != expected->count)
    return kdl_fail(KDL_BAD_CALL, "%s: found %zu arguments, expected %" PRIu32 "%s%.*s%s", kernel,
                    count, expected->count, open, length, expected->sig.data, close);
  for (size_t i = 0; i < count; ++i) {
    size_t found = args[i].is_buffer ? pointer_size : cli_run_arg_size(&args[i]);
    if (expected->sizes[i] && found != expected->sizes[i])
      return kdl_fail(KDL_BAD_CALL,
                      "%s: argument %zu: found %zu bytes, expected %" PRIu32 "%s%.*s%s", kernel, i,
                      found, expected->sizes[i], open, length, expected->sig.data, close);
  }
  return KDL_OK;
}

/* As the host backend has it. */
static kdl_status check_block(const kdl_choice *choice, const char *kernel,
                              const uint32_t found[3]) {
  if (choice->kind != KDL_IMAGE_OBJECT)
    return KDL_OK;
  kdl_image_geometry geometry =
      kdl_image_read_geometry(choice->kind, choice->data, choice->data_size, kdl_text_of(kernel));
  const uint32_t *expected = geometry.block;
  if (!expected[0] && !found[0])
    return kdl_fail(KDL_BAD_CALL,
                    "%s: found no --block with --grid, which this image leaves to the launch",
                    kernel);
  if (expected[0] && found[0] && memcmp(expected, found, sizeof geometry.block) != 0)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: found a block of %ux%ux%u, expected %ux%ux%u as the image has it", kernel,
                    found[0], found[1], found[2], expected[0], expected[1], expected[2]);
  return KDL_OK;
}

kdl_status cli_run_checked(kdl_library *lib, kdl_device *device, const char *kernel,
                           const kdl_select_opts *opts, kdl_launch_desc *grid,
                           const cli_run_arg *args, size_t count) {
  expectation expected = {.count = 0, .sig = {"", 0}};
  kdl_choice choice = {.size = sizeof choice};
  kdl_image_info info = {.size = sizeof info};
  kdl_status status = kdl_select(lib, device, kernel, opts, &choice);
  if (status == KDL_BAD_FILE)
    return KDL_OK; /* loading says what is wrong with the image, and goes on to the next */
  if (status == KDL_OK)
    status = kdl_image_get(lib, choice.image, &info);
  if (status != KDL_OK)
    return status;
  if (!read_key(&info, kernel, &expected)) {
    expected.count = 0;
    expected.sig = (kdl_string){"", 0};
    if (!read_object(&choice, kernel, &expected))
      return KDL_OK;
  }
  if (grid && !grid->shared && expected.shared <= UINT32_MAX)
    grid->shared = (uint32_t)expected.shared;
  status = compare(kernel, &expected, args, count);
  return status == KDL_OK && grid ? check_block(&choice, kernel, grid->block) : status;
}
