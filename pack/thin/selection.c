/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/selection.h"

#include "lib/inspect/devices.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "pack/thin/containers.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/select.h"

#include <stdlib.h>
#include <string.h>

/* How an image does on the devices, the best outcome last. */
typedef enum {
  refused,
  behind,
  behind_code,
  kept_more,
  kept_ptx,
  kept_unverified,
  kept_link,
  kept_mode,
  kept_level,
  chosen
} image_status;

typedef struct {
  uint32_t forms;  /* forms of images that run, seen so far for the current device */
  uint32_t linked; /* the same for link inputs */
  uint32_t modes;  /* the same for images of another mode of the device */
  bool has_code;   /* there is machine code among them */
  uint32_t first;  /* image; the best for the current device */
} module_state;

typedef struct {
  const thin_rules *rules;
  const char *name;
  thin_selection *selection;
  kdl_catalog *catalog;
  const kdl_stored_image *images;
  const cli_device *device;
  module_state *modules;
  uint32_t *module_of; /* per image */
  uint8_t *image_statuses;
  bool is_to_be_linked; /* all of the file is link input */
  bool is_served;       /* the current device admits an image with kernels */
  uint32_t *better;     /* for an image that ranks behind another: that one */
  const char **devices; /* the device that last selected or refused it */
} selector;

/* ------------------------------------------------------------------------------------------ */
/* One device                                                                                   */

static bool is_unverified(kdl_image_traits traits) {
  return kdl_image_kind_get((kdl_image_kind)traits.kind)->is_unverified;
}

static unsigned image_form(kdl_image_traits traits) {
  enum { form_unverified = 31 };
  return is_unverified(traits) ? form_unverified
                               : (traits.tier * 2u + traits.needs_amx) % form_unverified;
}

static bool is_link_input(const kdl_stored_image *image) {
  return image->is_link_input || kdl_image_kind_get(image->kind)->holds == KDL_HOLDS_LINK_INPUT;
}

/* Whether the image would run after it was linked. */
static bool is_for_linker(const kdl_stored_image *image, uint64_t reasons) {
  const uint64_t linkers = KDL_REASON(RELOCATABLE) | KDL_REASON(KIND_NOT_LOADABLE);
  return is_link_input(image) && !(reasons & ~linkers);
}

static bool has_link_inputs_only(const kdl_stored_image *images, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_link_input(&images[i]) && !cli_image_kind_is_container(images[i].kind))
      return false;
  }
  return true;
}

static void set_image_status(selector *c, size_t image, image_status now, uint32_t better) {
  if (now < c->image_statuses[image])
    return;
  c->image_statuses[image] = (uint8_t)now;
  c->better[image] = better;
  c->devices[image] = c->device->name;
  if (now > behind_code)
    c->selection->kept[image] = true;
}

static void keep_runnable(selector *c, const kdl_candidate *candidate, module_state *module) {
  size_t index = candidate->image;
  const kdl_image_traits traits = kdl_catalog_traits(c->catalog, index);
  uint8_t tier = traits.tier;
  uint32_t form = (uint32_t)1 << image_form(traits);
  bool is_code = tier >= KDL_TIER_GENERIC;
  bool is_first = !module->forms;
  bool is_best = !(module->forms & form);
  if (is_first)
    module->first = (uint32_t)index;
  /* SPIR-V that would have to be translated is kept only where there is nothing else. */
  if (candidate->is_translated && !is_first) {
    set_image_status(c, index, behind, module->first);
    return;
  }
  /* An image with a condition is not for every launch: the next of its form is needed too. */
  if (is_best && cli_image_has_condition(c->selection->lib, index)) {
    set_image_status(c, index, chosen, module->first);
    return;
  }
  module->forms |= form;
  /* Generic code for a group of processors is kept only where there is no specific code. */
  if (is_best && (is_first || (is_code && tier > KDL_TIER_GENERIC)))
    set_image_status(c, index, chosen, module->first);
  else if (is_unverified(traits)) /* which of the two a driver takes is not documented */
    set_image_status(c, index, kept_unverified, module->first);
  else if (is_best && !is_code && c->rules->keep_ptx)
    set_image_status(c, index, kept_ptx, module->first);
  else
    set_image_status(c, index, is_code ? behind_code : behind, module->first);
  module->has_code |= is_code;
}

/* An image that does not run as it is: the first of its form is kept, for the reason `kept`. */
static void keep_first_of_form(selector *c, size_t index, uint32_t *seen, image_status kept,
                               uint32_t better) {
  uint32_t form = (uint32_t)1 << image_form(kdl_catalog_traits(c->catalog, index));
  set_image_status(c, index, *seen & form ? behind : kept, better);
  *seen |= form;
}

/* Whether the image is for the other setting of xnack, which HSA_XNACK decides when a program
 * starts. False where the user names the setting. */
static bool is_for_mode(const selector *c, uint64_t reasons) {
  return reasons == KDL_REASON(XNACK_MISMATCH) && !strstr(c->device->name, "xnack");
}

static void note_device_refusal(selector *c, const kdl_ranking *ranking,
                                const kdl_candidate *candidate) {
  uint32_t index = candidate->image;
  uint64_t reasons = candidate->reasons;
  if (!c->rules->explain || c->image_statuses[index] != refused || c->selection->why[index])
    return;
  kdl_explanation why;
  kdl_explain_candidate(ranking, candidate, &why);
  c->selection->why[index] = xarena_format(
      &c->selection->arena, "%s%s",
      reasons & KDL_REASONS_UNKNOWN ? "" : "nothing asked for takes it: ", why.reasons[0].words);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

/* The kernels of an image whose metadata has them, which need not be inflated and read. */
static kdl_kernel_names listed_kernels(const selector *c, size_t image) {
  kdl_image_info info = cli_image_at(c->selection->lib, image);
  kdl_string name;
  bool is_listed = false;
  for (size_t i = 0; i < info.pair_count && !is_listed; ++i)
    is_listed = kdl_kernel_name(info.pairs[i].key, &name);
  return is_listed ? kdl_catalog_kernels(c->catalog, image) : (kdl_kernel_names){.count = 0};
}

/* Whether the image stays and holds the kernel, as code of that module. */
static bool is_holder(const selector *c, size_t image, uint32_t module, kdl_string kernel) {
  return c->module_of[image] == module && c->image_statuses[image] >= kept_more &&
         kdl_catalog_find(c->catalog, image, kernel, NULL) == KDL_KERNEL_PRESENT;
}

/* Whether the device runs a better image of the module with the kernel, which stays. */
static bool is_held(const selector *c, const kdl_ranking *ranking, size_t place,
                    kdl_string kernel) {
  uint32_t module = c->module_of[kdl_ranking_at(ranking, place)->image];
  for (size_t i = 0; i < place; ++i) {
    const kdl_candidate *better = kdl_ranking_at(ranking, i);
    if (!better->reasons && is_holder(c, better->image, module, kernel))
      return true;
  }
  return false;
}

/* Keeps what runs and ranks behind, if it has kernels that the better images lack: those of one
 * module in an OffloadBinary need not hold the same ones. */
static void keep_lone_listed(selector *c, const kdl_ranking *ranking) {
  const kdl_candidate *candidate;
  for (size_t place = 0; (candidate = kdl_ranking_at(ranking, place)); ++place) {
    if (candidate->reasons || c->image_statuses[candidate->image] != behind)
      continue;
    const kdl_kernel_names names = listed_kernels(c, candidate->image);
    bool is_needed = false;
    for (size_t n = 0; n < names.count && !is_needed; ++n)
      is_needed = !is_held(c, ranking, place, names.items[n]);
    if (is_needed)
      set_image_status(c, candidate->image, kept_more, c->better[candidate->image]);
  }
}

/* The image that is preferred: one with the same kernel, where kernels are listed. */
static uint32_t preferred_image(const selector *c, size_t image) {
  const kdl_kernel_names names = listed_kernels(c, image);
  if (!names.count || is_holder(c, c->better[image], c->module_of[image], names.items[0]))
    return c->better[image];
  for (size_t i = 0; i < c->selection->count; ++i) {
    if (is_holder(c, i, c->module_of[image], names.items[0]))
      return (uint32_t)i;
  }
  return c->better[image];
}

/* Reads images until one that the device admits has kernels. *takes_any is set where it admits
 * one. */
static kdl_status select_on_route(selector *c, size_t route, bool *takes_any) {
  const kdl_query query = {.scope = KDL_RANK_RULES};
  kdl_ranking *ranking;
  KDL_TRY(kdl_rank_on_route(c->catalog, c->device->device, route, &query, &ranking));
  const kdl_candidate *candidate;
  for (size_t place = 0; (candidate = kdl_ranking_at(ranking, place)); ++place) {
    uint32_t index = candidate->image;
    uint64_t reasons = candidate->reasons;
    module_state *module = &c->modules[c->module_of[index]];
    bool is_linked = reasons && is_for_linker(&c->images[index], reasons);
    /* In a file that was linked, what is left over of the linker's input runs nowhere. */
    if (!reasons || (is_linked && c->is_to_be_linked)) {
      *takes_any = true;
      c->is_served = c->is_served || cli_may_hold_kernels(c->catalog, index);
    }
    if (!reasons)
      keep_runnable(c, candidate, module);
    else if (is_linked)
      keep_first_of_form(c, index, &module->linked, kept_link, module->first);
    else if (is_for_mode(c, reasons))
      keep_first_of_form(c, index, &module->modes, kept_mode, module->first);
    else if (reasons ==
             KDL_REASON(UNKNOWN_LEVEL)) /* for this kind of CPU, perhaps not for this one */
      set_image_status(c, index, kept_level, 0);
    else
      note_device_refusal(c, ranking, candidate);
  }
  keep_lone_listed(c, ranking);
  free(ranking);
  return KDL_OK;
}

/* Selects on the first route that runs something. Modules without kernels count only where the file
 * has no kernels. */
static kdl_status select_for_device(selector *c, size_t module_count) {
  bool takes_any = false;
  kdl_device_info info = {.size = sizeof info};
  KDL_TRY(kdl_device_get(c->device->device, &info));
  c->is_served = false;
  for (size_t i = 0; i < info.route_count && !c->is_served; ++i) {
    memset(c->modules, 0, module_count * sizeof *c->modules);
    KDL_TRY(select_on_route(c, i, &takes_any));
  }
  const char *kernel = c->is_served ? NULL : cli_any_kernel(c->selection->lib);
  if (c->is_served || (takes_any && !kernel))
    return KDL_OK;
  return cli_fail_unserved(c->selection->lib, c->device, takes_any ? kernel : NULL, c->name);
}

/* ------------------------------------------------------------------------------------------ */
/* All devices                                                                                  */

static bool lacks_kernel(const selector *c, size_t first, size_t end, kdl_string kernel) {
  for (size_t i = first; i < end; ++i) {
    if (is_holder(c, i, c->module_of[first], kernel))
      return false;
  }
  return true;
}

/* Keeps machine code that ranks behind better code of its form, if it has kernels that the better
 * code lacks: a driver skips it, but libkdl selects by kernel. */
static void keep_lone_kernels(selector *c) {
  size_t count = c->selection->count;
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && c->module_of[end] == c->module_of[first];)
      ++end;
    for (size_t i = first; i < end; ++i) {
      if (c->image_statuses[i] != behind_code)
        continue;
      const kdl_kernel_names names = kdl_catalog_kernels(c->catalog, i);
      bool is_needed = !names.count;
      for (size_t n = 0; n < names.count && !is_needed; ++n)
        is_needed = lacks_kernel(c, first, end, names.items[n]);
      if (is_needed) {
        c->image_statuses[i] = kept_more;
        c->selection->kept[i] = true;
      }
    }
  }
}

/* Keeps recorded sequences, which are for every device, and unknown images, which may be for
 * any. */
static void keep_device_independent(const selector *c) {
  for (size_t i = 0; i < c->selection->count; ++i)
    c->selection->kept[i] |= c->images[i].kind == KDL_IMAGE_SEQUENCE ||
                             kdl_catalog_traits(c->catalog, i).faults & KDL_REASONS_UNKNOWN;
}

/* Keeps the newest PTX of each module, for future devices. */
static void keep_newest_ptx(selector *c, size_t module_count) {
  memset(c->modules, 0, module_count * sizeof *c->modules);
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < c->selection->count; ++i) {
      const kdl_image_traits traits = kdl_catalog_traits(c->catalog, i);
      module_state *module = &c->modules[c->module_of[i]];
      if (traits.kind != KDL_IMAGE_PTX || traits.suffix)
        continue;
      bool is_newer =
          !module->has_code || traits.rank > kdl_catalog_traits(c->catalog, module->first).rank;
      if (pass == 0 && is_newer) {
        module->has_code = true;
        module->first = (uint32_t)i;
      }
      if (pass == 1 && module->first == i && !c->selection->kept[i]) {
        c->image_statuses[i] = kept_ptx;
        c->selection->kept[i] = true;
      }
    }
  }
}

static kdl_status select_for_devices(selector *c) {
  size_t count = c->selection->count, module_count = 0;
  KDL_TRY(kdl_library_catalog(c->selection->lib, &c->catalog));
  c->images = cli_stored_images(c->selection->lib);
  c->is_to_be_linked = has_link_inputs_only(c->images, count);
  c->module_of = xcalloc(count, sizeof *c->module_of);
  c->image_statuses = xcalloc(count, sizeof *c->image_statuses);
  c->better = xcalloc(count, sizeof *c->better);
  c->devices = xcalloc(count, sizeof *c->devices);
  for (size_t i = 0; i < count; ++i) {
    c->module_of[i] = (uint32_t)c->images[i].module;
    if (c->module_of[i] >= module_count)
      module_count = (size_t)c->module_of[i] + 1;
  }
  c->modules = xcalloc(module_count, sizeof *c->modules);
  for (size_t i = 0, served = 0; i < c->rules->devices->count; ++i) {
    c->device = &c->rules->devices->items[i];
    kdl_status status = select_for_device(c, module_count);
    served += status == KDL_OK;
    if (status != KDL_NO_MATCH || !cli_devices_may_skip(c->rules->devices, i, served))
      KDL_TRY(status);
  }
  keep_lone_kernels(c);
  keep_device_independent(c);
  if (c->rules->keep_ptx)
    keep_newest_ptx(c, module_count);
  if (kdl_catalog_memory_failures(c->catalog))
    cli_out_of_memory();
  return KDL_OK;
}

static const char *explain_image_status(const selector *c, size_t i) {
  kdl_arena *arena = &c->selection->arena;
  if (c->images[i].kind == KDL_IMAGE_SEQUENCE)
    return "it is a recorded sequence, for any device";
  switch ((image_status)c->image_statuses[i]) {
  case chosen:
    return xarena_format(arena, "%s chooses it", c->devices[i]);
  case kept_link:
    return xarena_format(arena, "a linker may take it for %s", c->devices[i]);
  case kept_mode:
    return xarena_format(arena, "%s chooses it with the other setting of xnack", c->devices[i]);
  case kept_level:
    return xarena_format(arena, "it is not known whether %s runs it", c->devices[i]);
  case kept_ptx:
    return "--keep-ptx asks for it";
  case kept_unverified:
    return xarena_format(arena, "it is not known whether %s takes it or image %u", c->devices[i],
                         c->better[i]);
  case kept_more:
    return xarena_format(arena, "holds kernels that image %u lacks", c->better[i]);
  case behind:
  case behind_code:
    return xarena_format(arena, "%s prefers image %u", c->devices[i], preferred_image(c, i));
  case refused:
    break;
  }
  return c->selection->why[i] ? c->selection->why[i] : "nothing asked for takes it";
}

/* ------------------------------------------------------------------------------------------ */
/* SELECTs                                                                                      */

static kdl_status select_by_patterns(const thin_rules *rules, const char *option, const char *name,
                                     thin_selection *selection) {
  if (!cli_args_has(rules->args, option))
    return KDL_OK;
  bool is_limit = strcmp(option, "strip-to") == 0;
  bool is_alone =
      rules->devices->count == 0 && (is_limit ? !cli_args_has(rules->args, "keep") : true);
  bool *fits;
  KDL_TRY(cli_select_images(rules->args, option, selection->lib, name, &fits));
  for (size_t i = 0; i < selection->count; ++i) {
    if (is_limit && !is_alone && selection->kept[i] && !fits[i])
      selection->why[i] = "--strip-to does not ask for it";
    else if (fits[i] && (!is_limit || is_alone) && !selection->kept[i])
      selection->why[i] = is_limit ? "--strip-to asks for it" : "--keep asks for it";
    else if (is_alone && !fits[i])
      selection->why[i] =
          is_limit ? "--strip-to does not ask for it" : "--keep does not ask for it";
    selection->kept[i] =
        is_limit && !is_alone ? selection->kept[i] && fits[i] : selection->kept[i] || fits[i];
  }
  free(fits);
  return KDL_OK;
}

/* Removes images that hold kernels, but none of the list. Input of a linker may be needed for its
 * functions, and an image that cannot be read for anything. */
static kdl_status select_by_kernels(const thin_rules *rules, thin_selection *selection) {
  const kdl_stored_image *images = cli_stored_images(selection->lib);
  bool is_alone = rules->devices->count == 0 && !cli_args_has(rules->args, "keep") &&
                  !cli_args_has(rules->args, "strip-to");
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(selection->lib, &catalog));
  for (size_t i = 0; i < selection->count; ++i) {
    if (is_alone)
      selection->kept[i] = !cli_image_kind_is_container(images[i].kind) || images[i].problem;
    if (!selection->kept[i])
      continue;
    size_t found = 0;
    const kdl_kernel_names names = kdl_catalog_kernels(catalog, i);
    for (size_t k = 0; k < names.count; ++k)
      found += cli_kernel_list_find(rules->only, names.items[k]);
    bool is_linked = is_link_input(&images[i]);
    if (names.count && !found && !is_linked) {
      selection->kept[i] = false;
      selection->why[i] = "--only names none of its kernels";
    } else if (is_alone) {
      selection->why[i] = found       ? "--only names one of its kernels"
                          : is_linked ? "a linker may need it"
                                      : "it has no kernels that can be read";
    }
  }
  if (kdl_catalog_memory_failures(catalog))
    cli_out_of_memory();
  return KDL_OK;
}

kdl_status thin_check_only(const thin_rules *rules, const char *name) {
  if (!rules->only || cli_kernel_list_found_any(rules->only))
    return KDL_OK;
  return kdl_fail(KDL_NO_MATCH, "%s: no image that would stay holds a kernel of %s", name,
                  rules->only->path);
}

/* A SELECT that names a container also names its images; a container is kept if one of its images
 * is. Nested images come after their container in the list. */
static void propagate_to_containers(thin_selection *selection) {
  const kdl_stored_image *images = cli_stored_images(selection->lib);
  for (size_t i = 0; i < selection->count; ++i)
    selection->kept[i] |= images[i].parent != KDL_NO_PARENT && selection->kept[images[i].parent];
  for (size_t i = selection->count; i-- > 0;) {
    if (selection->kept[i] && images[i].parent != KDL_NO_PARENT)
      selection->kept[images[i].parent] = true;
  }
}

kdl_status thin_select_images(const thin_rules *rules, kdl_library *lib, const char *name,
                              thin_selection *out_selection) {
  size_t count = kdl_image_count(lib);
  *out_selection = (thin_selection){.lib = lib,
                                    .count = count,
                                    .kept = xcalloc(count, sizeof *out_selection->kept),
                                    .why = xcalloc(count, sizeof *out_selection->why),
                                    .is_packed = rules->compress,
                                    .compression = thin_compression_for_devices(rules->devices)};
  selector c = {.rules = rules, .name = name, .selection = out_selection};
  kdl_status status = rules->devices->count ? select_for_devices(&c) : KDL_OK;
  for (size_t i = 0; i < count && status == KDL_OK && c.image_statuses && rules->explain; ++i)
    out_selection->why[i] = explain_image_status(&c, i);
  if (status == KDL_OK)
    status = select_by_patterns(rules, "keep", name, out_selection);
  if (status == KDL_OK)
    status = select_by_patterns(rules, "strip-to", name, out_selection);
  if (status == KDL_OK && rules->only)
    status = select_by_kernels(rules, out_selection);
  if (status == KDL_OK)
    propagate_to_containers(out_selection);
  free(c.modules);
  free(c.module_of);
  free(c.image_statuses);
  free(c.better);
  free(c.devices);
  return status;
}

void thin_selection_free(thin_selection *selection) {
  free(selection->kept);
  free(selection->why);
  kdl_arena_free(&selection->arena);
}
