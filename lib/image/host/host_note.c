/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/host_objects.h"

#include "lib/inspect/images.h"

#include <kdl/host_abi.h>

_Static_assert((int)KDL_HOST_NOTE_TEXT == (int)KDL_TARGET_ARCH, "a reader takes every text");

void kdl_out_host_note(kdl_out *out, const char *arch, const char *features) {
  const char *plus = *features ? "+" : "";
  kdl_out_format(out,
                 ".pushsection .note.kdl,\"a\",@note\n"
                 ".p2align 2\n"
                 ".long %zu, %zu, %d\n"
                 ".asciz \"" KDL_HOST_NOTE_OWNER "\"\n"
                 ".p2align 2\n"
                 ".asciz \"%s%s%s\"\n"
                 ".p2align 2\n"
                 ".popsection\n",
                 sizeof KDL_HOST_NOTE_OWNER, strlen(arch) + strlen(plus) + strlen(features) + 1,
                 KDL_HOST_NOTE_CPU, arch, plus, features);
}
