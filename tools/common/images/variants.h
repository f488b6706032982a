/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checks that the images with a kernel agree on it: on `sig` and `rev` of their kdl.kernel.NAME
 * keys, where both have them. */
#ifndef KDL_TOOLS_COMMON_IMAGES_VARIANTS_H
#define KDL_TOOLS_COMMON_IMAGES_VARIANTS_H

#include <kdl/kdl.h>

#include <stddef.h>

/* The kernel keys of some images; starts as {0}. */
typedef struct cli_variants {
  struct cli_variant *items;
  size_t count;
  size_t capacity;
} cli_variants;

void cli_variants_free(cli_variants *variants);

/* Adds the keys of an image. `where`, such as "image 3" or "a.cubin", is for messages; it and the
 * pairs must outlive the list. Values that cannot be parsed are skipped. */
void cli_variants_add(cli_variants *variants, const char *where, size_t image,
                      const kdl_pair *pairs, size_t count);

/* Calls `visit` for each image that disagrees with an earlier one: "kdl.kernel.saxpy: image 0 says
 * rev=1 and image 2 says rev=2, ...". */
typedef void cli_visit_disagreement(void *user, size_t image, const char *words);
void cli_variants_compare(cli_variants *variants, cli_visit_disagreement *visit, void *user);

/* KDL_BAD_CALL with the first disagreement, if any. */
kdl_status cli_variants_check(cli_variants *variants);

#endif
