/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The recorded sequences in a file. */
#ifndef KDL_TOOLS_COMMON_IMAGES_SEQUENCES_H
#define KDL_TOOLS_COMMON_IMAGES_SEQUENCES_H

#include "lib/inspect/sequences.h"

#include <kdl/sequence.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_sequence {
  size_t image;
  kdl_string name;
  kdl_seqfile saved;
} cli_sequence;

/* Advances *image to the next recorded sequence, starting at *image; false where none is left. */
bool cli_sequence_next(const kdl_library *lib, size_t *image);

/* Reads the sequence in that image. The caller frees *out_sequence. */
kdl_status cli_sequence_read(kdl_library *lib, size_t image, cli_sequence *out_sequence);
void cli_sequence_free(cli_sequence *sequence);

/* "x", or "#3" for a slot without a name. Characters that would end a quoted string or a line are
 * shown as <22>. */
enum { CLI_SLOT_ROOM = KDL_SEQFILE_SLOT_NAME * 4 + 1 };
const char *cli_slot_name(const kdl_seqfile *saved, kdl_slot slot, char room[CLI_SLOT_ROOM]);

#endif
