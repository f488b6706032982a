/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Properties of rules for other components, which do not see how rules are stored. */
#include "lib/inspect/kinds.h"
#include "lib/inspect/targets.h"
#include "lib/select/catalog.h"
#include "lib/target/explain/explain.h"
#include "lib/target/families/cpu.h"
#include "lib/target/families/gpu.h"
#include "lib/target/target.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>

kdl_image_traits kdl_catalog_traits(const kdl_catalog *catalog, size_t index) {
  const kdl_image_rule *rule = kdl_catalog_rule(catalog, index);
  const kdl_image_desc desc = kdl_catalog_desc(catalog, index);
  return (kdl_image_traits){
      .rank = rule->rank,
      .faults = rule->faults,
      .priority = rule->priority,
      .capabilities = desc.capabilities,
      .version = {desc.version_major, desc.version_minor},
      .generic_version = desc.generic_version,
      .family = rule->family,
      .kind = rule->kind,
      .tier = (uint8_t)kdl_rank_tier(rule->rank),
      .suffix = rule->suffix,
      .needs_amx = rule->family == KDL_FAMILY_X86_64 && kdl_x86_needs_amx(rule->needs),
      .is_link_input = desc.is_link_input,
  };
}

unsigned kdl_catalog_compare(const kdl_catalog *catalog, size_t a, size_t b) {
  const kdl_image_rule *left = kdl_catalog_rule(catalog, a), *right = kdl_catalog_rule(catalog, b);
  uint64_t left_end = (uint64_t)left->lo + left->span,
           right_end = (uint64_t)right->lo + right->span;
  bool covers = left->lo <= right->lo && left_end >= right_end &&
                !(left->needs.word[0] & ~right->needs.word[0]) &&
                !(left->needs.word[1] & ~right->needs.word[1]);
  bool overlaps = left->lo <= right_end && right->lo <= left_end;
  return (covers ? KDL_IMAGE_COVERS : 0u) | (overlaps ? KDL_IMAGE_OVERLAPS : 0u);
}

bool kdl_catalog_fault_words(const kdl_catalog *catalog, size_t index, char *buffer, size_t size) {
  const kdl_image_desc desc = kdl_catalog_desc(catalog, index);
  return kdl_image_fault_words(&desc, kdl_catalog_rule(catalog, index), buffer, size);
}

/* ------------------------------------------------------------------------------------------ */
/* Any device                                                                                   */

enum { most_devices = 4096, last_capability = 2559 };

typedef struct {
  size_t count;
  kdl_device_rule rules[most_devices];
} possible_devices;
static void add_possible_device(possible_devices *devices, kdl_target_family family,
                                const char *arch) {
  kdl_device_desc desc = {
      .family = family, .arch = kdl_text_of(arch), .loads = (1u << KDL_IMAGE_KIND_COUNT) - 1};
  if (devices->count < most_devices &&
      kdl_device_compile(&desc, &devices->rules[devices->count], NULL))
    ++devices->count;
}

static void list_possible_devices(possible_devices *devices) {
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
  for (int number = 10; number <= last_capability; ++number) {
    snprintf(arch, sizeof arch, "sm_%d", number);
    add_possible_device(devices, KDL_FAMILY_NVPTX, arch);
  }
  const kdl_amdgcn_processor *processor;
  for (size_t i = 0; (processor = kdl_amdgcn_at(i)) && !kdl_amdgcn_is_generic(processor); ++i) {
    for (size_t k = 0; k < sizeof settings / sizeof *settings; ++k) {
      snprintf(arch, sizeof arch, "%s%s", processor->name, settings[k]);
      add_possible_device(devices, KDL_FAMILY_AMDGCN, arch);
    }
  }
}

static bool is_possible(const possible_devices *devices, const kdl_image_rule *rule) {
  for (size_t i = 0; i < devices->count; ++i) {
    if (kdl_match_admits(rule, &devices->rules[i]))
      return true;
  }
  return rule->family != KDL_FAMILY_NVPTX && rule->family != KDL_FAMILY_AMDGCN;
}

bool *kdl_catalog_possible(const kdl_catalog *catalog) {
  size_t count = kdl_catalog_count(catalog);
  bool *possible = malloc(count + 1);
  possible_devices *devices = calloc(1, sizeof *devices);
  if (possible && devices) {
    list_possible_devices(devices);
    for (size_t i = 0; i < count; ++i)
      possible[i] = is_possible(devices, kdl_catalog_rule(catalog, i));
  } else {
    free(possible);
    possible = NULL;
  }
  free(devices);
  return possible;
}
