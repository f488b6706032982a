/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state of `kdl verify`, and its checks, one file each. */
#ifndef KDL_TOOLS_KDL_VERIFY_VERIFY_H
#define KDL_TOOLS_KDL_VERIFY_VERIFY_H

#include "lib/inspect/images.h"
#include "lib/inspect/trust.h"
#include "tools/common/images/name_set.h"
#include "tools/common/input.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* What is known of an image after it was read. */
typedef struct cli_verified_image {
  kdl_image_info info;
  cli_name_set kernels;
  bool kernels_known;
  const void *data; /* NULL where the bytes cannot be read */
  size_t size;
} cli_verified_image;

typedef struct cli_verification {
  const cli_input *input;
  cli_verified_image *images;
  size_t count;
  size_t errors;
  size_t warnings;
  bool verbose;
  const kdl_public_key *key; /* NULL: signatures are not checked */
  const char *signature;     /* a detached signature of all images; NULL: each image has its own */
  cli_json *json;            /* NULL: lines of text */
} cli_verification;

typedef enum cli_level { CLI_LEVEL_ERROR, CLI_LEVEL_WARNING, CLI_LEVEL_NOTE } cli_level;

/* Prints and counts one finding: "FILE: image N: warning: ...", or an object. */
void cli_verify_report(cli_verification *verify, cli_level level, size_t index, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* Passes a reader's status on. Ends the program when memory ran out, which is not the file's
 * fault. */
static inline kdl_status cli_verify_read(kdl_status status) {
  if (status == KDL_NO_MEMORY)
    cli_out_of_memory();
  return status;
}

/* The form of a portable image, by kdl-ld. */
void cli_verify_portable(cli_verification *verify, const cli_verified_image *image);

/* Whether an image competes with others of its file. Objects and archives have one image per
 * translation unit for the same target, which a linker joins; in an OffloadBinary such images
 * compete. */
bool cli_verify_is_alternative(const cli_verified_image *image);

/* Whether target and metadata are equal, so that only the order distinguishes the images. */
bool cli_verify_are_duplicates(const cli_verified_image *a, const cli_verified_image *b);

/* One image: compares triple, arch and required features of the metadata with the image's own. A
 * narrower claim is fine: sm_90a for code that runs on any sm_90, gfx90a:xnack+ for code that runs
 * with either setting. True where they contradict, with the reason in `out_reason`. */
bool cli_target_contradicts(kdl_image_kind kind, const kdl_image_info *claim,
                            const kdl_image_target *image, char *out_reason, size_t room);

/* One image: values that cannot be parsed, unknown tokens. */
void cli_verify_vocabulary(cli_verification *verify, const cli_verified_image *image);

/* One image: a `sig` that contradicts the image. */
void cli_verify_signatures(cli_verification *verify, const cli_verified_image *image);

/* One recorded sequence: whether it can be read. */
void cli_verify_sequence(cli_verification *verify, const cli_verified_image *image);

/* All sequences: kernels that the file lacks, or has with another signature. */
void cli_verify_sequences(cli_verification *verify);

/* All images: duplicates with the same kernel. */
void cli_verify_duplicates(cli_verification *verify);

/* All images: those that no device admits, those that are never selected, and IR that ranks before
 * machine code. */
kdl_status cli_verify_choices(cli_verification *verify);

/* All images: kernels whose `sig` or `rev` differ. */
void cli_verify_variants(cli_verification *verify);

#endif
