/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl verify` looks at, and the checks it is made of, one file each. */
#ifndef KDL_TOOL_VERIFY_H
#define KDL_TOOL_VERIFY_H

#include "lib/inspect/images.h"
#include "lib/inspect/trust.h"
#include "tools/common/images/name_set.h"
#include "tools/common/input.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>

/* What is known of one image once it was looked at. */
typedef struct cli_verified_image {
  kdl_image_info info;
  cli_name_set kernels;
  bool kernels_known;
  const void *data; /* NULL where the bytes cannot be had */
  size_t size;
} cli_verified_image;

typedef struct cli_verification {
  const cli_input *input;
  cli_verified_image *images;
  size_t count;
  size_t errors;
  size_t warnings;
  bool verbose;
  const kdl_public_key *key; /* NULL where signatures are not asked about */
  const char *signature;     /* a file with one of all images; NULL where each has its own */
  cli_json *json;            /* NULL: lines of text */
} cli_verification;

typedef enum cli_level { CLI_LEVEL_ERROR, CLI_LEVEL_WARNING, CLI_LEVEL_NOTE } cli_level;

/* One line, "FILE: image N: warning: ...", or one object; counted. */
void cli_verify_report(cli_verification *verify, cli_level level, size_t index, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* The status of a reader: where there is no memory the program ends, which says nothing of the
 * file. */
static inline kdl_status cli_verify_read(kdl_status status) {
  if (status == KDL_NO_MEMORY)
    cli_out_of_memory();
  return status;
}

/* Whether an image competes with others of its file. Objects and archives carry one image per
 * translation unit, all for one target, which a linker joins; in an OffloadBinary file such images
 * are rivals. */
bool cli_verify_is_alternative(const cli_verified_image *image);

/* The same target and metadata: nothing but the order tells such images apart. */
bool cli_verify_are_duplicates(const cli_verified_image *a, const cli_verified_image *b);

/* Of one image: triple, arch and required features of the metadata against what the image says of
 * itself. A narrower claim is fine: sm_90a for code that runs on any sm_90, gfx90a:xnack+ for code
 * that runs either way. True where they contradict, with the reason in `out_reason`. */
bool cli_target_contradicts(kdl_image_kind kind, const kdl_image_info *claim,
                            const kdl_image_target *image, char *out_reason, size_t room);

/* Of one image: values that the vocabulary cannot read, tokens it does not know. */
void cli_verify_vocabulary(cli_verification *verify, const cli_verified_image *image);

/* Of one image: a `sig` that contradicts what the image itself shows. */
void cli_verify_signatures(cli_verification *verify, const cli_verified_image *image);

/* Of a recorded sequence: whether it can be read. */
void cli_verify_sequence(cli_verification *verify, const cli_verified_image *image);

/* Of all sequences: kernels that the file does not hold, or holds with another signature. */
void cli_verify_sequences(cli_verification *verify);

/* Of all images: twins that hold the same kernel. */
void cli_verify_duplicates(cli_verification *verify);

/* Of all images: those no device could take, those always passed over, and IR that goes before
 * machine code. */
kdl_status cli_verify_choices(cli_verification *verify);

/* Of all images: kernels whose `sig` or `rev` differ. */
void cli_verify_variants(cli_verification *verify);

#endif
