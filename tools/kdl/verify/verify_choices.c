/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images can be selected: applies the rules for every possible device.
 */
#include "lib/inspect/images.h"
#include "lib/inspect/metadata.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kernel_index.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most images to compare with one, so that the time stays linear in the size of the file. */
enum { max_compared = 1000 };

typedef struct {
  cli_verification *verify;
  kdl_catalog *catalog;
  bool *possible; /* per image: kdl_catalog_possible */
  cli_kernel_index kernel_index;
  size_t natives[max_compared];
  size_t native_count;
} examination;

static kdl_image_traits traits_of(const examination *e, size_t index) {
  return kdl_catalog_traits(e->catalog, index);
}

/* "cubin sm_90" */
static void name_image(const examination *e, size_t index, char *out, size_t room) {
  const kdl_image_info *info = &e->verify->images[index].info;
  snprintf(out, room, "%s%s%.64s", kdl_image_kind_name(info->kind), info->arch.length ? " " : "",
           info->arch.data);
}

/* ------------------------------------------------------------------------------------------ */
/* Images that no device admits                                                                 */

/* Faults that other checks report, and images that are linked rather than run. */
static const uint64_t said_elsewhere =
    KDL_REASON(MALFORMED_KEY) | KDL_REASON(UNKNOWN_FEATURE) | KDL_REASON(RELOCATABLE);

/* "arch=sm_75 and min_sm=90 have no device in common" */
static void report_contradiction(const examination *e, size_t index, kdl_out *out) {
  static const char *const keys[] = {"arch", "min_sm", "min_gfx", "requires_features"};
  const char *other_minimum =
      traits_of(e, index).family == KDL_FAMILY_NVPTX ? "min_gfx" : "min_sm"; /* has no effect */
  const char *claims[sizeof keys / sizeof *keys];
  size_t count = 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    if (strcmp(keys[i], other_minimum) != 0 &&
        kdl_image_value(e->verify->input->lib, index, keys[i]))
      claims[count++] = keys[i];
  }
  for (size_t i = 0; i < count; ++i)
    kdl_out_format(out, "%s%s=%.64s",
                   i == 0          ? ""
                   : i + 1 < count ? ", "
                                   : " and ",
                   claims[i], kdl_image_value(e->verify->input->lib, index, claims[i])->data);
  kdl_out_format(out, count > 1 ? " have no device in common" : " names no device");
}

static void report_impossible(const examination *e, size_t index, char *text, size_t room) {
  if (!kdl_catalog_fault_words(e->catalog, index, text, room))
    report_contradiction(e, index, &(kdl_out){text, room, 0});
}

/* False where no device can admit the image, as reported here or by another check. */
static bool check_possible(examination *e, size_t index) {
  const uint64_t faults = traits_of(e, index).faults;
  bool has_triple = e->verify->images[index].info.triple.length;
  if ((faults & said_elsewhere) || (faults & KDL_REASON(UNKNOWN_ARCH) && !has_triple))
    return false;
  if (!faults && e->possible[index])
    return true;
  char why[256];
  report_impossible(e, index, why, sizeof why);
  cli_verify_report(e->verify, CLI_LEVEL_WARNING, index, "no device takes it: %s", why);
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Images that are never selected                                                               */

/* Whether `a` ranks before `b` under the default policy. */
static bool goes_before(const examination *e, size_t a, size_t b) {
  const kdl_image_traits left = traits_of(e, a), right = traits_of(e, b);
  if (left.priority != right.priority)
    return left.priority > right.priority;
  return left.rank != right.rank ? left.rank > right.rank : a < b;
}

/* A program can ask for a tag, and the image with that tag then ranks first. */
static bool tag_is_covered(const examination *e, size_t a, size_t b) {
  const kdl_string *left = kdl_image_value(e->verify->input->lib, a, "variant_tag");
  const kdl_string *right = kdl_image_value(e->verify->input->lib, b, "variant_tag");
  return !right || !right->length || (left && kdl_text_equal(*left, *right));
}

/* Launch limits may exclude an image for one kernel: `a` must have none, or those of `b`. */
static bool limits_are_covered(const examination *e, size_t a, size_t b, kdl_string kernel) {
  const unsigned limits = 1u << KDL_KERNEL_BLOCK | 1u << KDL_KERNEL_SHARED | 1u << KDL_KERNEL_COOP |
                          1u << KDL_KERNEL_CLUSTER | 1u << KDL_KERNEL_SUBGROUP |
                          1u << KDL_KERNEL_MIN_MEMORY | 1u << KDL_KERNEL_WHEN;
  kdl_string left, right;
  kdl_kernel_key key;
  kdl_catalog_find(e->catalog, a, kernel, &left);
  kdl_catalog_find(e->catalog, b, kernel, &right);
  if (!left.data || (right.data && kdl_text_equal(left, right)))
    return true;
  return kdl_kernel_parse(left, &key, NULL) && !(key.present & limits);
}

static bool kernels_are_covered(const examination *e, size_t a, size_t b) {
  const cli_verified_image *left = &e->verify->images[a];
  const cli_verified_image *right = &e->verify->images[b];
  if (!left->kernels_known || !right->kernels_known)
    return false;
  for (size_t i = 0; i < right->kernels.count; ++i) {
    kdl_string kernel = right->kernels.items[i];
    if (!cli_name_set_has(&left->kernels, kernel) || !limits_are_covered(e, a, b, kernel))
      return false;
  }
  return true;
}

/* Images that may have all kernels of this one: those with its rarest kernel. All images, without a
 * list, where it has no kernel. */
static cli_indexed_kernel possible_rivals(const examination *e, const cli_verified_image *image) {
  cli_indexed_kernel fewest = {.count = e->verify->count + 1};
  for (size_t i = 0; i < image->kernels.count; ++i) {
    const cli_indexed_kernel *held =
        cli_kernel_index_find(&e->kernel_index, image->kernels.items[i]);
    if (held && held->count < fewest.count)
      fewest = *held;
  }
  fewest.count -= !fewest.images;
  return fewest;
}

static bool covers(const examination *e, size_t a, size_t b) {
  return kdl_catalog_compare(e->catalog, a, b) & KDL_IMAGE_COVERS;
}

static bool shadows(const examination *e, size_t i, size_t index) {
  return i != index && !traits_of(e, i).faults && covers(e, i, index) && goes_before(e, i, index) &&
         cli_verify_is_alternative(&e->verify->images[i]) && tag_is_covered(e, i, index) &&
         kernels_are_covered(e, i, index);
}

static void check_shadowed(examination *e, size_t index) {
  const cli_verified_image *image = &e->verify->images[index];
  if (!image->kernels_known)
    return;
  cli_indexed_kernel rivals = possible_rivals(e, image);
  for (size_t at = 0; at < rivals.count && at < max_compared; ++at) {
    size_t i = rivals.images ? rivals.images[at] : at;
    if (!shadows(e, i, index))
      continue;
    char name[128];
    name_image(e, i, name, sizeof name);
    if (!cli_verify_are_duplicates(&e->verify->images[i], image))
      cli_verify_report(e->verify, CLI_LEVEL_WARNING, index,
                        "it is never chosen: image %zu (%s) has all its kernels, runs wherever it "
                        "does, and goes before it",
                        i, name);
    return;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Conditions                                                                                   */

static bool has_condition(const examination *e, size_t index, kdl_string kernel) {
  kdl_string text;
  kdl_kernel_key key;
  kdl_catalog_find(e->catalog, index, kernel, &text);
  return text.data && kdl_kernel_parse(text, &key, NULL) && kdl_kernel_has(&key, KDL_KERNEL_WHEN);
}

/* Whether an image without a condition has the kernel and runs wherever this one does. */
static bool has_general_image(const examination *e, size_t index, kdl_string kernel) {
  const cli_indexed_kernel *held = cli_kernel_index_find(&e->kernel_index, kernel);
  for (size_t at = 0; held && at < held->count && at < max_compared; ++at) {
    size_t i = held->images[at];
    if (i != index && !traits_of(e, i).faults && covers(e, i, index) &&
        !has_condition(e, i, kernel))
      return true;
  }
  return false;
}

static void check_conditions(examination *e, size_t index) {
  const cli_verified_image *image = &e->verify->images[index];
  if (!image->kernels_known || !cli_image_has_condition(e->verify->input->lib, index))
    return;
  for (size_t i = 0; i < image->kernels.count; ++i) {
    kdl_string kernel = image->kernels.items[i];
    if (has_condition(e, index, kernel) && !has_general_image(e, index, kernel)) {
      cli_verify_report(e->verify, CLI_LEVEL_WARNING, index,
                        "%.*s has a condition (when), and no image without one runs wherever this "
                        "one does: other launches fail there",
                        (int)kernel.length, kernel.data);
      return;
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* IR before machine code                                                                       */

static bool is_ir(unsigned tier) {
  return tier == KDL_TIER_PORTABLE || tier == KDL_TIER_BITCODE || tier == KDL_TIER_PORTABLE_IR ||
         tier == KDL_TIER_DRIVER_IR;
}

static bool share_a_kernel(const cli_verified_image *a, const cli_verified_image *b) {
  for (size_t i = 0; a->kernels_known && b->kernels_known && i < a->kernels.count; ++i) {
    if (cli_name_set_has(&b->kernels, a->kernels.items[i]))
      return true;
  }
  return !a->kernels_known || !b->kernels_known;
}

static void check_priority(examination *e, size_t index) {
  const kdl_image_traits traits = traits_of(e, index);
  if (!traits.priority || traits.faults || !is_ir(traits.tier))
    return;
  for (size_t at = 0; at < e->native_count; ++at) {
    size_t i = e->natives[at];
    if (traits_of(e, i).priority >= traits.priority ||
        !(kdl_catalog_compare(e->catalog, index, i) & KDL_IMAGE_OVERLAPS) ||
        !share_a_kernel(&e->verify->images[index], &e->verify->images[i]))
      continue;
    char name[128];
    name_image(e, i, name, sizeof name);
    cli_verify_report(e->verify, CLI_LEVEL_WARNING, index,
                      "variant_priority=%u puts this %s before image %zu (%s), which is machine "
                      "code",
                      traits.priority, kdl_image_kind_name((kdl_image_kind)traits.kind), i, name);
    return;
  }
}

kdl_status cli_verify_choices(cli_verification *verify) {
  examination e = {.verify = verify};
  KDL_TRY(kdl_library_catalog(verify->input->lib, &e.catalog));
  e.possible = kdl_catalog_possible(e.catalog);
  if (!e.possible)
    cli_out_of_memory();
  for (size_t i = 0; i < verify->count; ++i) {
    const cli_name_set *kernels = &verify->images[i].kernels;
    for (size_t n = 0; n < kernels->count; ++n)
      cli_kernel_index_add(&e.kernel_index, kernels->items[n], i);
  }
  cli_kernel_index_finish(&e.kernel_index);
  /* Machine code, for check_priority: if there is much, only the first. */
  for (size_t i = 0; i < verify->count && e.native_count < max_compared; ++i) {
    if (!traits_of(&e, i).faults && !is_ir(traits_of(&e, i).tier))
      e.natives[e.native_count++] = i;
  }
  for (size_t i = 0; i < verify->count; ++i) {
    kdl_image_kind kind = verify->images[i].info.kind;
    if (cli_image_kind_is_container(kind) || kind == KDL_IMAGE_SEQUENCE || !check_possible(&e, i))
      continue;
    if (cli_verify_is_alternative(&verify->images[i]))
      check_shadowed(&e, i);
    check_conditions(&e, i);
    check_priority(&e, i);
  }
  free(e.possible);
  cli_kernel_index_free(&e.kernel_index);
  return KDL_OK;
}
