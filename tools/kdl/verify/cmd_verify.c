/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl verify: all checks that need no device, besides those of opening. */
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/ls_json.h"
#include "tools/common/images/name_set.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/input.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/sign/sign.h"
#include "tools/kdl/verify/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_finding(cli_json *json, const char *level, size_t index, kdl_string message) {
  cli_json_begin_object(json);
  cli_json_put_number(json, "image", index);
  cli_json_put_text(json, "level", level);
  cli_json_put_bytes(json, "message", message);
  cli_json_end_object(json);
}

void cli_verify_report(cli_verification *verify, cli_level level, size_t index, const char *format,
                       ...) {
  static const struct {
    const char *name, *colour;
  } levels[] = {{"error", "\033[1;31m"}, {"warning", "\033[1;35m"}, {"note", "\033[1;36m"}};
  verify->errors += level == CLI_LEVEL_ERROR;
  verify->warnings += level == CLI_LEVEL_WARNING;
  char message[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (verify->json) {
    put_finding(verify->json, levels[level].name, index, kdl_text_of(message));
    return;
  }
  bool coloured = cli_stream_has_colour(stdout);
  cli_text_print(kdl_text_of(verify->input->name), "");
  printf(": image %zu: %s%s:%s ", index, coloured ? levels[level].colour : "", levels[level].name,
         coloured ? "\033[0m" : "");
  cli_text_print(kdl_text_of(message), "\n");
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static kdl_image_kind sniff(const cli_verified_image *image) {
  return cli_image_kind_seen(image->info.kind, image->data, image->size);
}

static void check_kind(cli_verification *verify, const cli_verified_image *image) {
  uint16_t declared = image->info.declared_kind;
  if (!cli_image_format(&image->info) || declared == 0)
    return; /* LLVM writes 0 for kinds without a number */
  kdl_image_kind kind = sniff(image);
  if (kdl_llvm_image_kind(kind) != declared)
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                      "the header declares image kind %u (%s), the bytes are %s", declared,
                      *cli_declared_kind_name(declared) ? cli_declared_kind_name(declared)
                                                        : "no known kind",
                      kind == KDL_IMAGE_UNKNOWN ? "of no known kind" : kdl_image_kind_name(kind));
}

static void check_target(cli_verification *verify, const cli_verified_image *image) {
  kdl_image_target target;
  kdl_image_kind kind = sniff(image);
  kdl_status status =
      cli_verify_read(kdl_image_read_target(kind, image->data, image->size, &target));
  if (status == KDL_UNSUPPORTED)
    return;
  if (status != KDL_OK) {
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "damaged %s: %s",
                      kdl_image_kind_name(kind), kdl_error_message());
    return;
  }
  if (kind == KDL_IMAGE_HSACO && target.offload_kind == KDL_OFFLOAD_HIP &&
      kdl_amdgpu_check_symbols(image->data, image->size) != KDL_OK)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "%s", kdl_error_message());
  char reason[256];
  if (cli_target_contradicts(kind, &image->info, &target, reason, sizeof reason))
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "%s", reason);
}

/* Checks what the host backend would refuse. Objects that were not made for libkdl may need what
 * its images cannot have. */
static void verify_host_object(cli_verification *verify, const cli_verified_image *image) {
  if (sniff(image) != KDL_IMAGE_OBJECT)
    return;
  if (cli_verify_read(kdl_host_image_check_kernels(image->data, image->size)) != KDL_OK)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "it cannot be loaded: %s",
                      kdl_error_message());
}

/* An index is trusted where there is one, so it must be complete. */
static void verify_kernel_index(cli_verification *verify, const cli_verified_image *image) {
  cli_name_set indexed = {.count = 0};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    kdl_string name;
    if (!kdl_kernel_name(image->info.pairs[i].key, &name))
      continue;
    cli_name_set_add(&indexed, name.data, name.length);
    if (!cli_name_set_has(&image->kernels, name))
      cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index,
                        "the key " KDL_KERNEL_PREFIX "%s names a kernel the image does not define",
                        name.data);
  }
  for (size_t i = 0; indexed.count && i < image->kernels.count; ++i) {
    if (!cli_name_set_has(&indexed, image->kernels.items[i]))
      cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                        "it defines the kernel %s, which its index leaves out",
                        image->kernels.items[i].data);
  }
  cli_name_set_free(&indexed);
}

static void check_kernels(cli_verification *verify, cli_verified_image *image) {
  kdl_status status = cli_verify_read(
      cli_name_set_read_kernels(image->info.kind, image->data, image->size, &image->kernels));
  image->kernels_known = status == KDL_OK;
  if (status == KDL_OK)
    verify_kernel_index(verify, image);
  else if (status != KDL_UNSUPPORTED)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "kernel names cannot be read: %s",
                      kdl_error_message());
}

static void check_pairs(cli_verification *verify, const cli_verified_image *image) {
  cli_name_set keys = {.count = 0};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_string *key = &image->info.pairs[i].key;
    if (cli_name_set_has(&keys, *key))
      cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                        "the key '%s' is there twice; the last counts", key->data);
    cli_name_set_add(&keys, key->data, key->length);
  }
  cli_name_set_free(&keys);
  if (cli_image_format(&image->info) && !image->info.triple.length &&
      image->info.kind != KDL_IMAGE_SEQUENCE)
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index,
                      "it has no triple: no loader can tell its device");
}

static void report_failure(cli_verification *verify, size_t image, kdl_status status) {
  if (cli_verify_read(status) != KDL_OK)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image, "%s", kdl_error_message());
}

static void check_bytes(cli_verification *verify, cli_verified_image *image) {
  bool metadata_only = cli_image_format(&image->info) > 1 && (image->info.flags & 1);
  if (image->size == 0) {
    if (!metadata_only)
      cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index, "it has no bytes");
    return;
  }
  if (verify->verbose && (uintptr_t)image->data % 8)
    cli_verify_report(verify, CLI_LEVEL_NOTE, image->info.index,
                      "it is not aligned to 8 bytes; a loader that needs that copies it");
  report_failure(
      verify, image->info.index,
      kdl_digest_check(image->info.pairs, image->info.pair_count, image->data, image->size));
  if (image->info.kind == KDL_IMAGE_SEQUENCE) {
    cli_verify_sequence(verify, image);
    return;
  }
  check_kind(verify, image);
  check_target(verify, image);
  verify_host_object(verify, image);
  cli_verify_portable(verify, image);
  check_kernels(verify, image);
  cli_verify_signatures(verify, image);
}

/* Bytes are acquired for the time of the checks. An image that is valid but cannot be read by this
 * build is no fault of the file, nor is a lack of memory. */
static void check_image(cli_verification *verify, cli_verified_image *image) {
  if (image->info.problem.length) {
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "it is damaged: %s",
                      image->info.problem.data);
    return;
  }
  check_pairs(verify, image);
  /* A nested image is covered by the signature of its container. */
  if (verify->key && !verify->signature && image->info.parent == KDL_NO_PARENT)
    report_failure(verify, image->info.index,
                   cli_sign_check(verify->input, image->info.index, verify->key));
  cli_verify_vocabulary(verify, image);
  kdl_library *lib = verify->input->lib;
  kdl_status status = cli_verify_read(
      kdl_library_acquire_bytes(lib, image->info.index, &image->data, &image->size));
  if (status != KDL_OK) {
    cli_verify_report(verify, status == KDL_UNSUPPORTED ? CLI_LEVEL_WARNING : CLI_LEVEL_ERROR,
                      image->info.index, "its bytes cannot be had: %s", kdl_error_message());
    return;
  }
  check_bytes(verify, image);
  kdl_library_release_bytes(lib, image->info.index);
  image->data = NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status check_all(cli_verification *verify) {
  if (verify->signature)
    report_failure(verify, 0,
                   cli_sign_check_detached(verify->input, verify->signature, verify->key));
  verify->count = kdl_image_count(verify->input->lib);
  verify->images = xcalloc(verify->count, sizeof *verify->images);
  for (size_t i = 0; i < verify->count; ++i) {
    cli_verified_image *image = &verify->images[i];
    image->info = cli_image_at(verify->input->lib, i);
    check_image(verify, image);
  }
  cli_verify_duplicates(verify);
  cli_verify_variants(verify);
  cli_verify_sequences(verify);
  return cli_verify_choices(verify);
}

/* Prints findings as they are made, then their number; `error` where the check could not finish. */
static kdl_status check_json(cli_verification *verify) {
  cli_json *json = verify->json;
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", verify->input->name);
  cli_json_put_array(json, "findings");
  kdl_status status = check_all(verify);
  cli_json_end_array(json);
  cli_json_put_number(json, "images", verify->count);
  cli_json_put_number(json, "errors", verify->errors);
  cli_json_put_number(json, "warnings", verify->warnings);
  if (status != KDL_OK)
    cli_json_put_text(json, "error", kdl_error_message());
  cli_json_end_object(json);
  return status;
}

static kdl_status check_text(cli_verification *verify) {
  KDL_TRY(check_all(verify));
  cli_text_print(kdl_text_of(verify->input->name), "");
  printf(": %zu image%s, %zu error%s, %zu warning%s\n", verify->count,
         verify->count == 1 ? "" : "s", verify->errors, verify->errors == 1 ? "" : "s",
         verify->warnings, verify->warnings == 1 ? "" : "s");
  return KDL_OK;
}

static int verify_file(const char *path, const cli_args *args, const kdl_public_key *key,
                       cli_json *json) {
  cli_input input;
  kdl_status status = cli_input_open(path, &input);
  if (status != KDL_OK && json)
    cli_ls_json_error(json, path, kdl_error_message());
  if (status != KDL_OK)
    return cli_report_status(status);
  cli_verification verify = {.input = &input,
                             .verbose = cli_args_has(args, "verbose"),
                             .key = key,
                             .signature = cli_args_value(args, "signature"),
                             .json = json};
  status = json ? check_json(&verify) : check_text(&verify);
  for (size_t i = 0; verify.images && i < verify.count; ++i)
    cli_name_set_free(&verify.images[i].kernels);
  free(verify.images);
  int code = cli_report_status(status);
  cli_input_close(&input);
  return verify.errors ? CLI_EXIT_BAD_INPUT : code;
}

int cli_run_verify(const cli_args *args) {
  int worst = CLI_EXIT_SUCCESS;
  cli_json json = {.file = stdout};
  bool as_json = cli_args_has(args, "json"), several = args->operand_count > 1;
  const char *key_path = cli_args_value(args, "key");
  kdl_public_key key;
  kdl_status status = key_path ? cli_public_key_open(key_path, &key)
                      : cli_args_has(args, "signature")
                          ? kdl_fail(KDL_BAD_CALL, "--signature: missing key: use --key=PUBKEY")
                          : KDL_OK;
  if (status == KDL_OK && key_path)
    status = kdl_sodium_open();
  if (status != KDL_OK)
    return cli_report_status(status);
  if (as_json && several)
    cli_json_begin_array(&json);
  for (size_t i = 0; i < args->operand_count; ++i) {
    int code = verify_file(args->operands[i], args, key_path ? &key : NULL, as_json ? &json : NULL);
    worst = code > worst ? code : worst;
  }
  if (as_json && several)
    cli_json_end_array(&json);
  return worst;
}
