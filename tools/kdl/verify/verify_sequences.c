/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recorded sequences: whether they can be read, and whether the file has what they launch. */
#include "base/text.h"
#include "images/names.h"
#include "images/sequences.h"
#include "target/kernel_key.h"
#include "verify/verify.h"

#include <inttypes.h>
#include <stdio.h>

void cli_verify_sequence(cli_verification *verify, const cli_subject *image) {
  kdl_saved saved;
  kdl_status status = kdl_saved_read(image->data, image->size, &saved);
  verify->is_short |= status == KDL_NO_MEMORY;
  if (status == KDL_OK)
    kdl_saved_free(&saved);
  else if (status == KDL_UNSUPPORTED)
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index, "it cannot be read: %s",
                      kdl_error_message());
  else if (status != KDL_NO_MEMORY)
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "damaged sequence: %s",
                      kdl_error_message());
}

/* Whether an image's key for the kernel is of what was recorded. */
static void check_key(cli_verification *verify, size_t sequence, const kdl_saved_kernel *kernel,
                      const cli_subject *image) {
  static const char prefix[] = "kdl.kernel.";
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_pair *pair = &image->info.pairs[i];
    kdl_kernel_key key, recorded = {.sig = kernel->sig, .param_count = kernel->param_count};
    if (!kdl_text_starts(pair->key, prefix) ||
        !kdl_text_equal(kdl_text_from(pair->key, sizeof prefix - 1), kernel->name) ||
        !kdl_kernel_parse(pair->value, &key, NULL))
      continue;
    recorded.present = (kernel->sig.length ? 1u << KDL_KERNEL_SIG : 0) |
                       (kernel->rev != KDL_SAVED_UNKNOWN ? 1u << KDL_KERNEL_REV : 0);
    recorded.rev = kernel->rev;
    if (!kdl_kernel_is_variant(&recorded, &key))
      cli_verify_report(verify, CLI_LEVEL_ERROR, sequence,
                        "it was recorded with another %s than image %zu has: sig=%.*s",
                        kernel->name.data, image->info.index, (int)kernel->sig.length,
                        kernel->sig.data);
  }
}

static void check_kernel(cli_verification *verify, size_t sequence, bool has_code,
                         const kdl_saved_kernel *kernel) {
  bool is_held = false;
  for (size_t i = 0; i < verify->count; ++i) {
    const cli_subject *image = &verify->images[i];
    bool holds = image->kernels_known && cli_names_has(&image->kernels, kernel->name);
    is_held |= holds;
    if (holds)
      check_key(verify, sequence, kernel, image);
  }
  if (is_held)
    return;
  if (has_code || verify->verbose)
    cli_verify_report(verify, has_code ? CLI_LEVEL_WARNING : CLI_LEVEL_NOTE, sequence,
                      "no image of this file holds the kernel %.256s, which it launches",
                      kernel->name.data);
}

static bool is_code(const cli_subject *image) {
  return image->info.kind != KDL_IMAGE_SEQUENCE;
}

kdl_status cli_verify_sequences(cli_verification *verify) {
  cli_names names = {.count = 0};
  bool has_code = false;
  for (size_t i = 0; i < verify->count; ++i)
    has_code |= is_code(&verify->images[i]);
  kdl_status status = KDL_OK;
  for (size_t i = 0; status == KDL_OK && cli_sequence_next(verify->input->lib, &i); ++i) {
    cli_sequence sequence;
    status = cli_sequence_read(verify->input->lib, i, &sequence);
    if (status == KDL_NO_MEMORY)
      break;
    bool is_read = status == KDL_OK; /* what is wrong with it was said */
    status = KDL_OK;
    if (!is_read)
      continue;
    if (cli_names_has(&names, sequence.name))
      cli_verify_report(verify, CLI_LEVEL_WARNING, i,
                        "another sequence of this file is called %.256s too", sequence.name.data);
    verify->is_short |= !cli_names_add(&names, sequence.name.data, sequence.name.length);
    for (uint32_t k = 0; k < sequence.saved.kernel_count; ++k)
      check_kernel(verify, i, has_code, &sequence.saved.kernels[k]);
    cli_sequence_free(&sequence);
  }
  cli_names_free(&names);
  return status;
}
