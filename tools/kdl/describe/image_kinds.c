/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names of image kinds, in their order for people. */
#include "tools/kdl/describe/describe.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define KDL_IMAGE_KIND(id, name, ...) name,
#include "lib/inspect/kinds.def"
#undef KDL_IMAGE_KIND
};
enum { name_count = sizeof names / sizeof *names };

void describe_image_kinds(void) {
  for (size_t i = 0; i < name_count; ++i)
    printf("  %s\n", names[i]);
}

/* All but the last, which is "unknown". */
void describe_man_image_kinds(void) {
  printf(".Cm");
  for (size_t i = 0; i + 1 < name_count; ++i)
    printf("%s %s", i ? " ," : "", names[i]);
  putchar('\n');
}

void describe_image_kind_term(void) {
  printf("- `image_kind` is the image kind: ");
  for (size_t i = 0; i < name_count; ++i)
    printf("`%s`, ", names[i]);
  puts("or LLVM's `o`, `bc`, `s`, `spv`.");
}
