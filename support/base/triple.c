/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/triple.h"

#include "support/base/text.h"

#include <stdio.h>

bool kdl_triple_is_amd(kdl_string triple) {
  return kdl_text_starts(triple, "amdgcn") || kdl_text_starts(triple, "amdgpu");
}

void kdl_triple_processor(kdl_string triple, char out_name[KDL_TRIPLE_PROCESSOR]) {
  enum { before = sizeof "amdgpu" - 1 };
  size_t end = kdl_text_find(triple, 0, "-");
  size_t dot = kdl_text_find((kdl_string){triple.data, end}, 0, ".");
  out_name[0] = '\0';
  if (!kdl_text_starts(triple, "amdgpu") || dot == before || end > before + 8)
    return;
  int major = (int)(dot - before);
  kdl_string minor = kdl_text_substr((kdl_string){triple.data, end}, dot < end ? dot + 1 : end);
  snprintf(out_name, KDL_TRIPLE_PROCESSOR,
           minor.length == 0   ? "gfx%.*s%.*s-generic"
           : minor.length == 1 ? "gfx%.*s-%.*s-generic"
                               : "gfx%.*s%.*s",
           major, triple.data + before, (int)minor.length, minor.data);
}
