/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What choosing will make of the images: the same rules, asked of every device there could be.
 */
#include "lib/inspect/gpu_targets.h"
#include "lib/inspect/images.h"
#include "lib/inspect/match.h"
#include "lib/inspect/metadata.h"
#include "lib/select/catalog.h"
#include "support/base/error.h"
#include "tools/common/images/holdings.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is compared with one image at most, so that a file of many takes no longer than its size
 * allows. */
enum { most_compared = 1000 };

typedef struct {
  cli_verification *verify;
  kdl_catalog *catalog;
  kdl_device_rule *devices; /* every NVIDIA and AMD device there could be */
  size_t device_count;
  cli_holdings holdings;
  size_t natives[most_compared];
  size_t native_count;
} examination;

static const kdl_image_rule *rule_of(const examination *e, size_t index) {
  return kdl_catalog_rule(e->catalog, index);
}

/* "cubin sm_90" */
static void name_image(const examination *e, size_t index, char *out, size_t room) {
  const kdl_image_info *info = &e->verify->images[index].info;
  snprintf(out, room, "%s%s%.64s", kdl_image_kind_name(info->kind), info->arch.length ? " " : "",
           info->arch.data);
}

/* ------------------------------------------------------------------------------------------ */
/* Images no device could take                                                                  */

enum { most_devices = 4096, last_capability = 2559 };

static void add_device(examination *e, kdl_target_family family, const char *arch) {
  kdl_device_desc desc = {
      .family = family, .arch = kdl_text_of(arch), .loads = (1u << KDL_IMAGE_KIND_COUNT) - 1};
  if (e->device_count < most_devices &&
      kdl_device_compile(&desc, &e->devices[e->device_count], NULL))
    ++e->device_count;
}

/* Any compute capability, made or not, with a driver that knows everything; every AMD processor
 * with every setting. SPIR-V drivers and CPUs may have any features, and are not listed. */
static void list_devices(examination *e) {
  static const char *const settings[] = {"",
                                         ":xnack+",
                                         ":sramecc+",
                                         ":xnack-",
                                         ":sramecc-",
                                         ":sramecc+:xnack+",
                                         ":sramecc+:xnack-",
                                         ":sramecc-:xnack+",
                                         ":sramecc-:xnack-"};
  char arch[64];
  e->devices = xcalloc(most_devices, sizeof *e->devices);
  for (int number = 10; number <= last_capability; ++number) {
    snprintf(arch, sizeof arch, "sm_%d", number);
    add_device(e, KDL_FAMILY_NVPTX, arch);
  }
  const kdl_amdgcn_processor *processor;
  for (size_t i = 0; (processor = kdl_amdgcn_at(i)) && !kdl_amdgcn_is_generic(processor); ++i) {
    for (size_t k = 0; k < sizeof settings / sizeof *settings; ++k) {
      snprintf(arch, sizeof arch, "%s%s", processor->name, settings[k]);
      add_device(e, KDL_FAMILY_AMDGCN, arch);
    }
  }
}

static bool some_device_takes(const examination *e, const kdl_image_rule *rule) {
  for (size_t i = 0; i < e->device_count; ++i) {
    if (kdl_match_admits(rule, &e->devices[i]))
      return true;
  }
  return rule->family != KDL_FAMILY_NVPTX && rule->family != KDL_FAMILY_AMDGCN;
}

/* Faults that other checks report, and what is there to be linked and not to run. */
static const uint64_t said_elsewhere =
    KDL_REASON(MALFORMED_KEY) | KDL_REASON(UNKNOWN_FEATURE) | KDL_REASON(RELOCATABLE);

/* "arch=sm_75 and min_sm=90 have no device in common" */
static void say_contradiction(const examination *e, size_t index, kdl_out *out) {
  static const char *const keys[] = {"arch", "min_sm", "min_gfx", "requires_features"};
  const char *other_minimum =
      rule_of(e, index)->family == KDL_FAMILY_NVPTX ? "min_gfx" : "min_sm"; /* says nothing */
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

static void say_impossible(const examination *e, size_t index, char *text, size_t room) {
  kdl_image_desc image = kdl_catalog_desc(e->catalog, index);
  if (!kdl_image_fault_words(&image, rule_of(e, index), text, room))
    say_contradiction(e, index, &(kdl_out){text, room, 0});
}

/* False where it was found impossible, here or before. */
static bool check_possible(examination *e, size_t index) {
  const kdl_image_rule *rule = rule_of(e, index);
  bool has_triple = e->verify->images[index].info.triple.length;
  if ((rule->faults & said_elsewhere) || (rule->faults & KDL_REASON(UNKNOWN_ARCH) && !has_triple))
    return false;
  if (!rule->faults && some_device_takes(e, rule))
    return true;
  char why[256];
  say_impossible(e, index, why, sizeof why);
  cli_verify_report(e->verify, CLI_LEVEL_WARNING, index, "no device takes it: %s", why);
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Images always passed over                                                                    */

/* Whether every device that takes `b` takes `a`. */
static bool admits_all_of(const kdl_image_rule *a, const kdl_image_rule *b) {
  return a->lo <= b->lo && (uint64_t)a->lo + a->span >= (uint64_t)b->lo + b->span &&
         !(a->needs.word[0] & ~b->needs.word[0]) && !(a->needs.word[1] & ~b->needs.word[1]);
}

/* Whether `a` goes before `b` under the default policy. */
static bool goes_before(const examination *e, size_t a, size_t b) {
  const kdl_image_rule *left = rule_of(e, a);
  const kdl_image_rule *right = rule_of(e, b);
  if (left->priority != right->priority)
    return left->priority > right->priority;
  return left->rank != right->rank ? left->rank > right->rank : a < b;
}

/* A tag can be asked for, and then its image goes first. */
static bool tag_is_covered(const examination *e, size_t a, size_t b) {
  const kdl_string *left = kdl_image_value(e->verify->input->lib, a, "variant_tag");
  const kdl_string *right = kdl_image_value(e->verify->input->lib, b, "variant_tag");
  return !right || !right->length || (left && kdl_text_equal(*left, *right));
}

/* Launch limits may refuse an image for one kernel: those of `a` must be none, or those of `b`. */
static bool limits_are_covered(const examination *e, size_t a, size_t b, kdl_string kernel) {
  const unsigned limits = 1u << KDL_KERNEL_BLOCK | 1u << KDL_KERNEL_SHARED | 1u << KDL_KERNEL_COOP |
                          1u << KDL_KERNEL_CLUSTER | 1u << KDL_KERNEL_SUBGROUP |
                          1u << KDL_KERNEL_MIN_MEMORY;
  kdl_string left = kdl_catalog_kernel_key(e->catalog, a, kernel);
  kdl_string right = kdl_catalog_kernel_key(e->catalog, b, kernel);
  kdl_kernel_key key;
  if (!left.data || (right.data && kdl_text_equal(left, right)))
    return true;
  return kdl_kernel_parse(left, &key, NULL) && !(key.present & limits);
}

static bool kernels_are_covered(const examination *e, size_t a, size_t b) {
  const cli_subject *left = &e->verify->images[a];
  const cli_subject *right = &e->verify->images[b];
  if (!left->kernels_known || !right->kernels_known)
    return false;
  for (size_t i = 0; i < right->kernels.count; ++i) {
    kdl_string kernel = right->kernels.items[i];
    if (!cli_names_has(&left->kernels, kernel) || !limits_are_covered(e, a, b, kernel))
      return false;
  }
  return true;
}

/* Images that may have all kernels of this one: those that hold the one that the fewest hold; all,
 * and no list of them, where it has none. */
static cli_held possible_rivals(const examination *e, const cli_subject *image) {
  cli_held fewest = {.count = e->verify->count + 1};
  for (size_t i = 0; i < image->kernels.count; ++i) {
    const cli_held *held = cli_holdings_find(&e->holdings, image->kernels.items[i]);
    if (held && held->count < fewest.count)
      fewest = *held;
  }
  fewest.count -= !fewest.images;
  return fewest;
}

static bool shadows(const examination *e, size_t i, size_t index) {
  const kdl_image_rule *rule = rule_of(e, index);
  return i != index && !rule_of(e, i)->faults && admits_all_of(rule_of(e, i), rule) &&
         goes_before(e, i, index) && cli_verify_is_rival(&e->verify->images[i]) &&
         tag_is_covered(e, i, index) && kernels_are_covered(e, i, index);
}

static void check_shadowed(examination *e, size_t index) {
  const cli_subject *image = &e->verify->images[index];
  if (!image->kernels_known)
    return;
  cli_held rivals = possible_rivals(e, image);
  for (size_t at = 0; at < rivals.count && at < most_compared; ++at) {
    size_t i = rivals.images ? rivals.images[at] : at;
    if (!shadows(e, i, index))
      continue;
    char name[128];
    name_image(e, i, name, sizeof name);
    if (!cli_verify_are_twins(&e->verify->images[i], image))
      cli_verify_report(e->verify, CLI_LEVEL_WARNING, index,
                        "it is never chosen: image %zu (%s) has all its kernels, runs wherever it "
                        "does, and goes before it",
                        i, name);
    return;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* IR before machine code                                                                       */

static bool is_ir(kdl_tier tier) {
  return tier == KDL_TIER_BITCODE || tier == KDL_TIER_PORTABLE_IR || tier == KDL_TIER_DRIVER_IR;
}

static bool may_meet(const kdl_image_rule *a, const kdl_image_rule *b) {
  uint64_t a_end = (uint64_t)a->lo + a->span;
  uint64_t b_end = (uint64_t)b->lo + b->span;
  return a->lo <= b_end && b->lo <= a_end;
}

static bool share_a_kernel(const cli_subject *a, const cli_subject *b) {
  for (size_t i = 0; a->kernels_known && b->kernels_known && i < a->kernels.count; ++i) {
    if (cli_names_has(&b->kernels, a->kernels.items[i]))
      return true;
  }
  return !a->kernels_known || !b->kernels_known;
}

static void check_priority(examination *e, size_t index) {
  const kdl_image_rule *rule = rule_of(e, index);
  if (!rule->priority || rule->faults || !is_ir(kdl_rank_tier(rule->rank)))
    return;
  for (size_t at = 0; at < e->native_count; ++at) {
    size_t i = e->natives[at];
    if (rule_of(e, i)->priority >= rule->priority || !may_meet(rule, rule_of(e, i)) ||
        !share_a_kernel(&e->verify->images[index], &e->verify->images[i]))
      continue;
    char name[128];
    name_image(e, i, name, sizeof name);
    cli_verify_report(e->verify, CLI_LEVEL_WARNING, index,
                      "variant_priority=%u puts this %s before image %zu (%s), which is machine "
                      "code",
                      rule->priority, kdl_image_kind_name((kdl_image_kind)rule->kind), i, name);
    return;
  }
}

kdl_status cli_verify_choices(cli_verification *verify) {
  examination e = {.verify = verify};
  KDL_TRY(kdl_library_catalog(verify->input->lib, &e.catalog));
  list_devices(&e);
  for (size_t i = 0; i < verify->count; ++i) {
    const cli_names *kernels = &verify->images[i].kernels;
    for (size_t n = 0; n < kernels->count; ++n)
      cli_holdings_add(&e.holdings, kernels->items[n], i);
  }
  cli_holdings_finish(&e.holdings);
  /* Machine code, for check_priority: of files with much of it the first alone. */
  for (size_t i = 0; i < verify->count && e.native_count < most_compared; ++i) {
    if (!rule_of(&e, i)->faults && !is_ir(kdl_rank_tier(rule_of(&e, i)->rank)))
      e.natives[e.native_count++] = i;
  }
  for (size_t i = 0; i < verify->count; ++i) {
    kdl_image_kind kind = verify->images[i].info.kind;
    if (cli_image_kind_is_container(kind) || kind == KDL_IMAGE_SEQUENCE || !check_possible(&e, i))
      continue;
    if (cli_verify_is_rival(&verify->images[i]))
      check_shadowed(&e, i);
    check_priority(&e, i);
  }
  free(e.devices);
  cli_holdings_free(&e.holdings);
  return KDL_OK;
}
