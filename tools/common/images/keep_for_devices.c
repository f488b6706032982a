/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/keep_for_devices.h"

#include "lib/inspect/devices.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kernel_index.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an image does on the devices, the best outcome last. */
typedef enum { refused, not_known, passed_over, fallback, chosen } standing;

typedef struct {
  standing standing;
  const char *device; /* the device with that outcome */
  bool of_kernel;     /* among images that hold one of its kernels, not among all */
  size_t preferred;   /* the first image of its form, or ... */
  bool is_other_form; /* ... of all */
  char refusal[384];  /* the reason, for refused */
} image_outcome;

enum { form_count = 32, form_unverified = form_count - 1 };

typedef struct {
  const cli_input *input;
  kdl_catalog *catalog;
  const cli_device *device;
  cli_kernel_index kernel_index;
  image_outcome *outcomes;
  bool *kept;
  bool *has_condition; /* per image */
  /* The current ranking: */
  size_t fitting;
  size_t best;           /* the first of them */
  bool is_served;        /* the device admits an image with kernels */
  bool link_inputs_only; /* keep link inputs for the device */
  bool of_kernel;        /* it is that of one kernel */
  uint32_t forms;        /* seen so far */
  size_t first[form_count];
} keep_state;

/* ------------------------------------------------------------------------------------------ */
/* Keeping                                                                                      */

static unsigned image_form(const keep_state *k, const kdl_verdict *verdict) {
  const kdl_image_traits traits = kdl_catalog_traits(k->catalog, verdict->image);
  return kdl_image_kind_get((kdl_image_kind)traits.kind)->is_unverified
             ? (unsigned)form_unverified
             : (traits.tier * 2u + traits.needs_amx) % form_unverified;
}

static bool has_link_inputs_only(kdl_library *lib) {
  const kdl_stored_image *images = cli_stored_images(lib);
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    if (!images[i].is_link_input)
      return false;
  }
  return true;
}

static int keep_candidate(void *user, const kdl_verdict *verdict) {
  keep_state *k = user;
  if (!verdict->eligible && !k->link_inputs_only)
    return 1; /* the eligible ones come first */
  bool fits_once_linked =
      verdict->reason_count == 1 && strcmp(verdict->reasons[0].code, "relocatable") == 0;
  if (!verdict->eligible && !fits_once_linked)
    return 0;
  unsigned form = image_form(k, verdict);
  /* SPIR-V that would have to be translated is kept only where there is nothing else. */
  bool is_needless = k->fitting && strcmp(verdict->fit, "translated") == 0;
  bool is_first = !(k->forms >> form & 1) && !is_needless;
  if (k->fitting == 0)
    k->best = verdict->image;
  if (is_first) {
    /* An image with a condition is not for every launch: the next of its form is needed too. */
    k->forms |= k->has_condition[verdict->image] ? 0 : 1u << form;
    k->first[form] = verdict->image;
    k->kept[verdict->image] = true;
  }
  standing now = !is_first ? passed_over : k->fitting ? fallback : chosen;
  image_outcome *entry = &k->outcomes[verdict->image];
  if (now > entry->standing || (now == entry->standing && k->of_kernel > entry->of_kernel))
    *entry = (image_outcome){.standing = now,
                             .device = k->device->name,
                             .of_kernel = k->of_kernel,
                             .preferred = is_needless ? k->best : k->first[form],
                             .is_other_form = is_needless};
  ++k->fitting;
  k->is_served = k->is_served || cli_may_hold_kernels(k->catalog, verdict->image);
  return 0;
}

/* Ranks only the images with the kernel, or all where it is NULL. */
static kdl_status rank_for_kernel(keep_state *k, const cli_indexed_kernel *kernel) {
  k->forms = 0;
  k->fitting = 0;
  k->of_kernel = kernel != NULL;
  return kdl_library_explain(k->input->lib, k->device->device, kernel ? kernel->kernel.data : NULL,
                             NULL, kernel ? kernel->images : NULL, kernel ? kernel->count : 0,
                             keep_candidate, k);
}

static kdl_status keep_for_kernels(keep_state *k) {
  size_t missing = 0;
  const char *example = "";
  for (size_t i = 0; i < k->kernel_index.count; ++i) {
    KDL_TRY(rank_for_kernel(k, &k->kernel_index.kernels[i]));
    if (k->fitting == 0 && missing++ == 0)
      example = k->kernel_index.kernels[i].kernel.data;
  }
  if (missing)
    cli_warning("%s: %s takes no image for %zu of %zu kernels, such as '%s'", k->input->name,
                k->device->name, missing, k->kernel_index.count, example);
  return KDL_OK;
}

/* Code for this kind of CPU that may or may not run on this device. */
static void keep_unknown_level(keep_state *k) {
  kdl_target_family family = kdl_device_spec_family(kdl_device_route_spec(k->device->device, 0));
  for (size_t i = 0; i < kdl_image_count(k->input->lib); ++i) {
    const kdl_image_traits traits = kdl_catalog_traits(k->catalog, i);
    if (traits.family != family || traits.faults != KDL_REASON(UNKNOWN_LEVEL))
      continue;
    k->kept[i] = true;
    k->outcomes[i] = (image_outcome){.standing = not_known, .device = k->device->name};
  }
}

static kdl_status keep_for_device(keep_state *k) {
  k->is_served = false;
  KDL_TRY(rank_for_kernel(k, NULL));
  const char *kernel = k->kernel_index.count ? k->kernel_index.kernels[0].kernel.data : NULL;
  if (k->fitting == 0 || (kernel && !k->is_served))
    return cli_fail_unserved(k->input->lib, k->device, k->fitting ? kernel : NULL, k->input->name);
  keep_unknown_level(k);
  return keep_for_kernels(k);
}

/* ------------------------------------------------------------------------------------------ */
/* Reporting                                                                                    */

static int record_refusal(void *user, const kdl_verdict *verdict) {
  keep_state *k = user;
  image_outcome *entry = &k->outcomes[verdict->image];
  bool is_translatable = cli_would_be_translated(k->input->lib, verdict);
  if (!verdict->eligible && entry->standing == refused && !entry->refusal[0])
    snprintf(entry->refusal, sizeof entry->refusal, "%s%s", verdict->reasons[0].words,
             is_translatable
                 ? "; tools=kdl-ld+llvm-spirv describes one for which libkdl translates it"
                 : "");
  return 0;
}

static void format_keep_reason(const keep_state *k, size_t index, kdl_out *out) {
  const image_outcome *entry = &k->outcomes[index];
  if (entry->standing == chosen)
    kdl_out_format(out, "%s chooses it", entry->device);
  else if (entry->standing == fallback)
    kdl_out_format(out, "%s may fall back on it", entry->device);
  else if (entry->standing == not_known)
    kdl_out_format(out, "it is not known whether %s runs it", entry->device);
  else if (cli_image_at(k->input->lib, index).kind == KDL_IMAGE_SEQUENCE)
    kdl_out_format(out, "it is a recorded sequence, for any device");
  else if (kdl_catalog_traits(k->catalog, index).faults & KDL_REASONS_UNKNOWN)
    kdl_out_format(out, "%s", entry->refusal);
  else if (k->kept[index])
    kdl_out_format(out, "--keep asks for it");
  else if (entry->standing == passed_over)
    kdl_out_format(out, "%s prefers image %zu%s", entry->device, entry->preferred,
                   entry->is_other_form ? "" : ", of the same form");
  else
    kdl_out_format(out, "nothing asked for takes it: %s", entry->refusal);
}

static kdl_status report_images(keep_state *k, const cli_devices *devices, cli_keep_report *report,
                                void *user) {
  for (size_t i = 0; i < devices->count; ++i)
    KDL_TRY(kdl_explain(k->input->lib, devices->items[i].device, NULL, NULL, record_refusal, k));
  for (size_t i = 0; i < kdl_image_count(k->input->lib); ++i) {
    kdl_image_info image = cli_image_at(k->input->lib, i);
    if (cli_image_kind_is_container(image.kind))
      continue;
    char why[512] = "";
    format_keep_reason(k, i, &(kdl_out){why, sizeof why, 0});
    report(user, i, why);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* All devices                                                                                  */

/* Images that do not list their kernels are ranked where no kernel is asked for. If memory runs out
 * while kernels are read, the program ends: wrong images would be kept. */
static void collect_kernels(keep_state *k) {
  for (size_t i = 0; i < kdl_image_count(k->input->lib); ++i) {
    const kdl_kernel_names names = kdl_catalog_kernels(k->catalog, i);
    for (size_t n = 0; n < names.count; ++n)
      cli_kernel_index_add(&k->kernel_index, names.items[n], i);
    /* A sequence is valid for every device. */
    k->kept[i] |= cli_image_at(k->input->lib, i).kind == KDL_IMAGE_SEQUENCE;
    k->has_condition[i] = cli_image_has_condition(k->input->lib, i);
  }
  if (kdl_catalog_memory_failures(k->catalog))
    cli_out_of_memory();
  cli_kernel_index_finish(&k->kernel_index);
}

static kdl_status keep_for_all(keep_state *k, const cli_devices *devices) {
  size_t served = 0;
  for (size_t i = 0; i < devices->count; ++i) {
    k->device = &devices->items[i];
    kdl_status status = keep_for_device(k);
    served += status == KDL_OK;
    if (status != KDL_NO_MATCH || !cli_devices_may_skip(devices, i, served))
      KDL_TRY(status);
  }
  return KDL_OK;
}

static kdl_status keep_images(keep_state *k, const cli_args *args, cli_devices *devices,
                              cli_keep_report *report, void *user) {
  KDL_TRY(kdl_library_catalog(k->input->lib, &k->catalog));
  k->link_inputs_only = has_link_inputs_only(k->input->lib);
  KDL_TRY(cli_devices_given(args, "for", ',', devices));
  collect_kernels(k);
  KDL_TRY(keep_for_all(k, devices));
  return report ? report_images(k, devices, report, user) : KDL_OK;
}

kdl_status cli_keep_for_devices(const cli_args *args, const cli_input *input,
                                cli_keep_report *report, void *user, bool *kept) {
  keep_state k = {.input = input,
                  .kept = kept,
                  .has_condition = xcalloc(kdl_image_count(input->lib), sizeof *k.has_condition),
                  .outcomes = xcalloc(kdl_image_count(input->lib), sizeof *k.outcomes)};
  cli_devices devices = {.count = 0};
  kdl_status status = keep_images(&k, args, &devices, report, user);
  cli_devices_free(&devices);
  cli_kernel_index_free(&k.kernel_index);
  free(k.outcomes);
  free(k.has_condition);
  return status;
}

kdl_status cli_choose_image_for_device(const cli_args *args, const cli_input *input,
                                       const char *kernel, size_t *out_index) {
  cli_devices devices;
  kdl_selection choice = {.size = sizeof choice};
  kdl_status status = cli_devices_given(args, "for", '\0', &devices);
  if (status == KDL_OK) {
    status = kdl_select(input->lib, devices.items[0].device, kernel, NULL, &choice);
    if (status != KDL_OK)
      kdl_error_prefix("%s", input->name);
  }
  if (status == KDL_OK)
    *out_index = choice.image;
  cli_devices_free(&devices);
  return status;
}
