/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images that only their order distinguishes. */
#include "lib/inspect/libraries.h"
#include "tools/common/images/rewrite.h"
#include "tools/kdl/verify/verify.h"

#include <stdlib.h>
#include <string.h>

bool cli_verify_is_alternative(const cli_verified_image *image) {
  return image->info.parent == KDL_NO_PARENT && cli_image_is_bare(&image->info);
}

static kdl_string metadata_value(const kdl_image_info *info, const char *key) {
  const kdl_string *value = kdl_find_value(info->pairs, info->pair_count, key);
  return value ? *value : (kdl_string){"", 0};
}

/* Compares everything that selection depends on. */
static int compare_targets(const cli_verified_image *a, const cli_verified_image *b) {
  static const char *const keys[] = {"variant_tag", "variant_priority", "requires_features",
                                     "min_sm", "min_gfx"};
  int order = strcmp(a->info.triple.data, b->info.triple.data);
  if (!order)
    order = strcmp(a->info.arch.data, b->info.arch.data);
  if (!order)
    order = (a->info.offload_kind > b->info.offload_kind) -
            (a->info.offload_kind < b->info.offload_kind);
  if (!order) /* PTX and the machine code made from it are not duplicates */
    order = (a->info.kind > b->info.kind) - (a->info.kind < b->info.kind);
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !order; ++i)
    order = strcmp(metadata_value(&a->info, keys[i]).data, metadata_value(&b->info, keys[i]).data);
  return order;
}

bool cli_verify_are_duplicates(const cli_verified_image *a, const cli_verified_image *b) {
  return cli_verify_is_alternative(a) && cli_verify_is_alternative(b) && compare_targets(a, b) == 0;
}

static int compare_subjects(const void *left, const void *right) {
  const cli_verified_image *a = *(const cli_verified_image *const *)left;
  const cli_verified_image *b = *(const cli_verified_image *const *)right;
  int order = compare_targets(a, b);
  return order ? order : (a->info.index > b->info.index) - (a->info.index < b->info.index);
}

static const cli_verified_image *first_with(const cli_verified_image *const *group,
                                            kdl_string kernel) {
  while (!cli_name_set_has(&(*group)->kernels, kernel))
    ++group;
  return *group;
}

/* Reports each image of a group that has a kernel of an earlier one; `seen` has their kernels. */
static void check_duplicate(cli_verification *verify, const cli_verified_image *const *group,
                            const cli_verified_image *image, cli_name_set *seen) {
  bool reported = false;
  for (size_t i = 0; i < image->kernels.count; ++i) {
    kdl_string kernel = image->kernels.items[i];
    if (!reported && cli_name_set_has(seen, kernel)) {
      cli_verify_report(
          verify, CLI_LEVEL_WARNING, image->info.index,
          "image %zu has the same triple, arch, kinds and variant_tag and also defines %s: only "
          "the order of the file tells them apart",
          first_with(group, kernel)->info.index, kernel.data);
      reported = true;
    }
    cli_name_set_add(seen, kernel.data, kernel.length);
  }
}

static void check_group(cli_verification *verify, const cli_verified_image *const *group,
                        size_t count) {
  cli_name_set seen = {.count = 0};
  const cli_verified_image *opaque = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (group[i]->kernels_known)
      check_duplicate(verify, group, group[i], &seen);
    else if (opaque)
      cli_verify_report(
          verify, CLI_LEVEL_WARNING, group[i]->info.index,
          "image %zu has the same triple, arch, kinds and variant_tag, and neither tells its "
          "kernels",
          opaque->info.index);
    else
      opaque = group[i];
  }
  cli_name_set_free(&seen);
}

void cli_verify_duplicates(cli_verification *verify) {
  const cli_verified_image **rivals = xcalloc(verify->count, sizeof *rivals);
  size_t count = 0;
  for (size_t i = 0; i < verify->count; ++i) {
    if (cli_verify_is_alternative(&verify->images[i]))
      rivals[count++] = &verify->images[i];
  }
  qsort(rivals, count, sizeof *rivals, compare_subjects);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && compare_targets(rivals[start], rivals[end]) == 0; ++end)
      continue;
    check_group(verify, rivals + start, end - start);
  }
  free(rivals);
}
