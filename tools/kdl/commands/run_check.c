/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/commands/run.h"

#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { pointer_size = 8 };

typedef struct {
  kdl_string sig;                        /* "": none, only sizes are known */
  uint32_t sizes[KDL_HOST_LIMIT_PARAMS]; /* 0: unknown */
  uint32_t count;
  uint64_t shared; /* bytes of dynamic group memory */
} expectation;

static bool read_kernel_key(const kdl_image_info *info, const char *kernel, expectation *out) {
  kdl_kernel_key key;
  kdl_string name;
  for (size_t i = 0; i < info->pair_count; ++i) {
    const kdl_pair *pair = &info->pairs[i];
    if (!kdl_kernel_name(pair->key, &name) || !kdl_text_is(name, kernel) ||
        !kdl_kernel_parse(pair->value, &key, NULL) || !kdl_kernel_has(&key, KDL_KERNEL_SIG))
      continue;
    *out = (expectation){.sig = key.sig, .count = key.param_count, .shared = key.shared};
    return true;
  }
  return false;
}

static bool read_host_object(const kdl_selection *choice, const char *kernel, expectation *out) {
  return choice->kind == KDL_IMAGE_OBJECT &&
         kdl_host_image_read_params(choice->data, choice->data_size, kernel, out->sizes,
                                    &out->count);
}

/* ------------------------------------------------------------------------------------------ */
/* Types                                                                                        */

static bool is_integer(const kdl_param *type) {
  return type->kind == KDL_PARAM_INT || type->kind == KDL_PARAM_UINT;
}

/* Whether --arg has a name for the type: not for f8, 128 bits, structures and pointers to
 * pointers. */
static bool is_nameable(const kdl_param *type) {
  return (is_integer(type) && type->size <= 8) || (type->kind == KDL_PARAM_FLOAT && type->size > 1);
}

/* Integers of one size are interchangeable: compilers of other languages may not know their
 * signs. */
static bool is_same_type(const kdl_param *a, const kdl_param *b) {
  return is_integer(a) ? is_integer(b) && a->size == b->size : kdl_text_equal(a->text, b->text);
}

/* The type that a pointer points to; false for void. */
static bool read_element(const kdl_param *pointer, kdl_param *out_element) {
  size_t at = 0, before = strlen("ptr<");
  kdl_string text = {pointer->text.data + before, pointer->text.length - before - 1};
  return kdl_signature_next(text, &at, out_element, NULL);
}

bool cli_run_type_fits(const kdl_param *expected, const cli_run_arg *arg) {
  kdl_param found, element;
  size_t at = 0;
  if (cli_run_arg_is_bytes(arg))
    return expected->kind == KDL_PARAM_BYTES && expected->size == cli_run_arg_size(arg);
  if (!kdl_signature_next(kdl_text_of(cli_run_arg_type(arg)), &at, &found, NULL))
    return false;
  if (arg->is_buffer)
    return expected->kind == KDL_PARAM_PTR &&
           (!read_element(expected, &element) || !is_nameable(&element) ||
            is_same_type(&element, &found));
  if (!is_nameable(expected))
    return expected->kind != KDL_PARAM_PTR && expected->size == found.size;
  return is_same_type(expected, &found) &&
         (expected->kind != KDL_PARAM_UINT || !cli_run_arg_is_negative(arg));
}

const char *cli_run_type_words(const cli_run_arg *arg, char room[CLI_RUN_TYPE_ROOM]) {
  if (cli_run_arg_is_bytes(arg))
    snprintf(room, CLI_RUN_TYPE_ROOM, "%zu bytes", cli_run_arg_size(arg));
  else
    snprintf(room, CLI_RUN_TYPE_ROOM, "%s%s",
             arg->is_buffer                 ? "buf:"
             : cli_run_arg_is_negative(arg) ? "a negative "
                                            : "",
             cli_run_arg_type(arg));
  return room;
}

static kdl_status compare_types(const char *kernel, kdl_string sig, const cli_run_arg *args) {
  kdl_param expected;
  char found[CLI_RUN_TYPE_ROOM];
  size_t at = 0;
  for (size_t i = 0; kdl_signature_next(sig, &at, &expected, NULL); ++i) {
    if (!cli_run_type_fits(&expected, &args[i]))
      return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: bad type '%s': use %.*s%s (%.*s)", kernel, i,
                      cli_run_type_words(&args[i], found), (int)expected.text.length,
                      expected.text.data,
                      expected.kind == KDL_PARAM_BYTES ? ", given by bytes:@FILE" : "",
                      (int)sig.length, sig.data);
  }
  return KDL_OK;
}

static kdl_status compare_sizes(const char *kernel, const expectation *expected,
                                const cli_run_arg *args) {
  for (size_t i = 0; i < expected->count; ++i) {
    size_t found = args[i].is_buffer ? pointer_size : cli_run_arg_size(&args[i]);
    if (expected->sizes[i] && found != expected->sizes[i])
      return kdl_fail(KDL_BAD_CALL, "%s: argument %zu: bad size %zu: use %" PRIu32 " bytes", kernel,
                      i, found, expected->sizes[i]);
  }
  return KDL_OK;
}

static kdl_status compare_arguments(const char *kernel, const expectation *expected,
                                    const cli_run_arg *args, size_t count) {
  kdl_string sig = expected->sig;
  if (count != expected->count)
    return kdl_fail(KDL_BAD_CALL, "%s: bad number of arguments %zu: use %" PRIu32 "%s%.*s%s",
                    kernel, count, expected->count, sig.length ? " (" : "", (int)sig.length,
                    sig.data, sig.length ? ")" : "");
  return sig.length ? compare_types(kernel, sig, args) : compare_sizes(kernel, expected, args);
}

/* The same check as in the host backend. */
static kdl_status check_host_block(const kdl_selection *choice, const char *kernel,
                                   const uint32_t found[3]) {
  if (choice->kind != KDL_IMAGE_OBJECT)
    return KDL_OK;
  kdl_image_geometry geometry =
      kdl_image_read_geometry(choice->kind, choice->data, choice->data_size, kdl_text_of(kernel));
  const uint32_t *expected = geometry.block;
  if (!expected[0] && !found[0])
    return kdl_fail(KDL_BAD_CALL,
                    "%s: --grid needs --block: this image leaves the block to the launch", kernel);
  if (expected[0] && found[0] && memcmp(expected, found, sizeof geometry.block) != 0)
    return kdl_fail(KDL_BAD_CALL,
                    "%s: --block: bad value '%ux%ux%u': use %ux%ux%u, as the image has it", kernel,
                    found[0], found[1], found[2], expected[0], expected[1], expected[2]);
  return KDL_OK;
}

kdl_status cli_run_check_args(kdl_library *lib, kdl_device *device, const char *kernel,
                              const kdl_select_opts *opts, kdl_launch_desc *grid,
                              const cli_run_arg *args, size_t count) {
  expectation expected = {.sig = {"", 0}};
  kdl_selection choice = {.size = sizeof choice};
  kdl_status status = kdl_select(lib, device, kernel, opts, &choice);
  /* Loading reports what is wrong with the image, and tries the next; kdl_sym has found an image,
   * so that each has a condition if none is selected. */
  if (status == KDL_BAD_FILE || status == KDL_NO_MATCH)
    return KDL_OK;
  KDL_TRY(status);
  kdl_image_info info = cli_image_at(lib, choice.image);
  if (!read_kernel_key(&info, kernel, &expected) && !read_host_object(&choice, kernel, &expected))
    return KDL_OK;
  if (grid && !grid->shared && expected.shared <= UINT32_MAX)
    grid->shared = (uint32_t)expected.shared;
  KDL_TRY(compare_arguments(kernel, &expected, args, count));
  return grid ? check_host_block(&choice, kernel, grid->block) : KDL_OK;
}
