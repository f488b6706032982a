/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Thins the members of an archive that have device code, each like a separate file. */
#include "pack/check/check.h"
#include "pack/thin/zip/zip.h"
#include "support/base/error.h"
#include "tools/common/progress.h"

#include <stdlib.h>
#include <string.h>

/* What the members have for a device; without devices, for the SELECTs. */
typedef struct {
  bool is_served;
  const char *refusal; /* the first one, or NULL */
} device_service;

typedef struct {
  const thin_rules *rules;
  zip_archive *archive;
  thin_zip_visit *visit;
  void *user;
  kdl_arena *arena;
  thin_report *sum;
  device_service *services;
  double from, to; /* the shares of the whole between which the current member is */
} zip_thinner;

/* What a member takes: about a tenth of the time to inflate and read it, two to change and verify
 * it, seven to compress it again. */
static const double changed_from = 0.1, packed_from = 0.3;

static void begin_phase(const zip_thinner *work, double from, double to) {
  double size = work->to - work->from;
  cli_progress_part(work->from + from * size, work->from + to * size);
  cli_progress_within(0);
}

/* Why a member stays, without the name at the start of the message. */
static const char *failure_without_name(const char *name) {
  const char *message = kdl_error_message();
  size_t length = strlen(name);
  bool is_named = strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0;
  return is_named ? message + length + 2 : message;
}

static kdl_status select_for_devices(const zip_thinner *work, const cli_devices *devices,
                                     device_service *to, kdl_library *lib, const char *name,
                                     thin_selection *out_selection) {
  thin_rules rules = *work->rules;
  rules.devices = devices;
  kdl_status status = thin_select_images(&rules, lib, name, out_selection);
  if (status == KDL_NO_MATCH && devices->count < 2 && to && !to->refusal) {
    to->refusal = xarena_format(work->arena, "%s: %s", name + strlen(work->archive->name) + 1,
                                failure_without_name(name));
  }
  for (size_t i = 0; status == KDL_OK && to && i < (devices->count ? devices->count : 1); ++i)
    to[i].is_served = true;
  return status;
}

/* The devices of the rules that run something of a library: an archive may have libraries for
 * several vendors. */
static kdl_status select_for_member(const zip_thinner *work, kdl_library *lib, const char *name,
                                    thin_selection *out_selection) {
  const cli_devices *all = work->rules->devices;
  kdl_status status = select_for_devices(work, all, work->services, lib, name, out_selection);
  if (status != KDL_NO_MATCH || all->count < 2)
    return status;
  cli_device *items = xcalloc(all->count, sizeof *items);
  cli_devices some = {.items = items};
  for (size_t i = 0; i < all->count && (status == KDL_OK || status == KDL_NO_MATCH); ++i) {
    cli_devices one = {.items = &all->items[i], .count = 1};
    thin_selection_free(out_selection);
    status = select_for_devices(work, &one, &work->services[i], lib, name, out_selection);
    if (status == KDL_OK)
      items[some.count++] = all->items[i];
  }
  if (some.count) {
    thin_selection_free(out_selection);
    status = select_for_devices(work, &some, NULL, lib, name, out_selection);
  }
  free(items);
  return status;
}

/* Fails for a device for which no member has anything; for "native", only where no device has. */
static kdl_status check_services(const zip_thinner *work) {
  const cli_devices *devices = work->rules->devices;
  size_t count = devices->count ? devices->count : 1;
  bool serves_any = false;
  for (size_t i = 0; i < count; ++i)
    serves_any |= work->services[i].is_served;
  for (size_t i = 0; i < count; ++i) {
    const device_service *to = &work->services[i];
    bool may_pass = devices->count && devices->items[i].is_native && serves_any;
    if (to->refusal && !to->is_served && !may_pass)
      return kdl_fail(KDL_NO_MATCH, "%s: no member fits: %s", work->archive->name, to->refusal);
  }
  return KDL_OK;
}

static void add_to_report(thin_report *sum, const thin_report *report) {
  sum->containers += report->containers;
  sum->moved += report->moved;
  sum->unmoved += report->unmoved;
  for (size_t i = 0; i < THIN_RETAIN_REASON_COUNT; ++i) {
    sum->retained[i].images += report->retained[i].images;
    sum->retained[i].bytes += report->retained[i].bytes;
  }
  sum->zeroed_bytes += report->zeroed_bytes;
}

static kdl_status verify_thinned_member(const thin_input *input, const thin_selection *selection,
                                        const thin_report *report, const uint8_t *bytes,
                                        size_t size) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = input->name};
  KDL_TRY(kdl_open_memory(bytes, size, &opts, &lib));
  kdl_status status = thin_compare_images(input, report, selection->is_packed, lib, input->name);
  kdl_close(lib);
  return status;
}

static kdl_status replace_member_bytes(const zip_thinner *work, zip_member *member,
                                       const thin_input *input, const thin_selection *selection,
                                       const thin_report *report, const thin_output *out) {
  uint8_t *bytes = thin_output_bytes(out);
  kdl_status status = verify_thinned_member(input, selection, report, bytes, (size_t)out->size);
  begin_phase(work, packed_from, 1);
  if (status == KDL_OK)
    status = zip_replace(work->archive, member, bytes, (size_t)out->size, work->arena);
  free(bytes);
  return status;
}

static kdl_status thin_library(const zip_thinner *work, zip_member *member, const char *name,
                               const thin_input *input) {
  thin_selection selection;
  thin_report report = {.old_size = input->size};
  thin_output out = {.count = 0};
  const char *shown = name + strlen(work->archive->name) + 1;
  kdl_status status = select_for_member(work, input->lib, name, &selection);
  if (status == KDL_NO_MATCH) {
    work->visit(work->user, shown, NULL, NULL, failure_without_name(name));
    status = KDL_OK;
  } else if (status == KDL_OK) {
    begin_phase(work, changed_from, packed_from);
    status = thin_file(input, &selection, &(thin_layout_opts){.sparse = false}, &report, &out);
    if (status == KDL_OK && report.is_changed)
      status = replace_member_bytes(work, member, input, &selection, &report, &out);
    if (status == KDL_UNSUPPORTED) {
      work->visit(work->user, shown, NULL, NULL, failure_without_name(name));
      status = KDL_OK;
    } else if (status == KDL_OK) {
      work->visit(work->user, shown, &selection, &report, NULL);
      add_to_report(work->sum, &report);
    }
  }
  free(report.is_removed);
  thin_output_free(&out);
  thin_selection_free(&selection);
  return status;
}

static kdl_status thin_member(const zip_thinner *work, zip_member *member) {
  uint8_t head[THIN_SNIFF_SIZE];
  size_t size;
  KDL_TRY(zip_peek(work->archive, member, head, sizeof head, &size));
  if (!check_may_have_device_code(head, size))
    return KDL_OK;
  zip_bytes bytes;
  KDL_TRY(zip_inflate(work->archive, member, &bytes));
  char *name = xasprintf("%s!%.*s", work->archive->name, (int)member->entry.name.length,
                         member->entry.name.data);
  thin_input input = {.data = bytes.data, .size = bytes.size, .name = name, .fd = -1};
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  kdl_status status = kdl_open_memory(bytes.data, bytes.size, &opts, &input.lib);
  if (status == KDL_OK) {
    if (kdl_image_count(input.lib) && thin_has_device_code(&input))
      status = thin_library(work, member, name, &input);
    kdl_close(input.lib);
  } else if (check_is_no_device_code_error(status)) {
    status = KDL_OK;
  }
  free(name);
  zip_release(&bytes);
  return status;
}

kdl_status thin_zip(const thin_rules *rules, const thin_input *input, thin_zip_visit *visit,
                    void *user, thin_report *out_report, thin_output *out) {
  zip_archive archive;
  *out_report = (thin_report){.old_size = input->size};
  KDL_TRY(zip_read(input->data, input->size, input->name, &archive));
  device_service *services = xcalloc(rules->devices->count + 1, sizeof *services);
  zip_thinner work = {rules, &archive, visit, user, &out->arena, out_report, services, 0, 1};
  kdl_status status = KDL_OK;
  uint64_t done = 0; /* bytes: a few members have most of them, and take most of the time */
  for (size_t i = 0; i < archive.count && status == KDL_OK; ++i) {
    work.from = (double)done / (double)input->size;
    cli_progress_step(work.from, "%zu of %zu members", i, archive.count);
    done += archive.order[i]->entry.compressed_size;
    work.to = (double)done / (double)input->size;
    status = thin_member(&work, archive.order[i]);
    out_report->is_changed |= archive.order[i]->is_changed;
  }
  if (status == KDL_OK)
    status = check_services(&work);
  free(services);
  if (status == KDL_OK && out_report->is_changed) {
    status = zip_update_record(&archive, &out->arena);
    if (status == KDL_OK)
      status = zip_write(&archive, out);
  } else if (status == KDL_OK) {
    thin_output_add(out, input->data, input->size);
  }
  out_report->new_size = out->size;
  zip_free(&archive);
  return status;
}
