/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The note of <kdl/host_abi.h>, for those who compile images. */
#ifndef KDL_IMAGE_HOST_HOST_NOTE_H
#define KDL_IMAGE_HOST_HOST_NOTE_H

#include "lib/inspect/images.h"
#include "support/base/text.h"

/* Assembly that puts the note into an object, in lines. Linkers keep it: it is loaded along with
 * the code, and none drops a note's section for not being used. `features` are tokens that the code
 * needs beyond the arch, joined by '+'; "" for none. */
void kdl_out_host_note(kdl_out *out, const char *arch, const char *features);

/* Room for it, where the text is no longer than a reader takes. */
enum { KDL_HOST_NOTE_ROOM = KDL_TARGET_ARCH + 256 };

#endif
