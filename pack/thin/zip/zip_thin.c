/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The members of an archive that hold device code, each thinned as a file by itself would be. */
#include "pack/check/check.h"
#include "pack/thin/zip/zip.h"
#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

/* What the members have for a device; without devices, for the SELECTs. */
typedef struct {
  bool is_served;
  const char *refusal; /* the first one, or NULL */
} service;

typedef struct {
  const thin_rules *rules;
  zip_archive *archive;
  thin_zip_visit *visit;
  void *user;
  kdl_arena *arena;
  thin_report *sum;
  service *services;
} thinning;

/* Why a member stays, without the name that the message begins with. */
static const char *reason(const char *name) {
  const char *message = kdl_error_message();
  size_t length = strlen(name);
  bool is_named = strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0;
  return is_named ? message + length + 2 : message;
}

static kdl_status choose_for(const thinning *work, const cli_devices *devices, service *to,
                             kdl_library *lib, const char *name, thin_choice *out_choice) {
  thin_rules rules = *work->rules;
  rules.devices = devices;
  kdl_status status = thin_choose(&rules, lib, name, out_choice);
  if (status == KDL_NO_MATCH && devices->count < 2 && to && !to->refusal) {
    to->refusal =
        xarena_format(work->arena, "%s: %s", name + strlen(work->archive->name) + 1, reason(name));
  }
  for (size_t i = 0; status == KDL_OK && to && i < (devices->count ? devices->count : 1); ++i)
    to[i].is_served = true;
  return status;
}

/* The devices of the rules that run something of a library: an archive may hold libraries for
 * several vendors. */
static kdl_status choose(const thinning *work, kdl_library *lib, const char *name,
                         thin_choice *out_choice) {
  const cli_devices *all = work->rules->devices;
  kdl_status status = choose_for(work, all, work->services, lib, name, out_choice);
  if (status != KDL_NO_MATCH || all->count < 2)
    return status;
  cli_device *items = xcalloc(all->count, sizeof *items);
  cli_devices some = {.items = items};
  for (size_t i = 0; i < all->count && (status == KDL_OK || status == KDL_NO_MATCH); ++i) {
    cli_devices one = {.items = &all->items[i], .count = 1};
    thin_choice_free(out_choice);
    status = choose_for(work, &one, &work->services[i], lib, name, out_choice);
    if (status == KDL_OK)
      items[some.count++] = all->items[i];
  }
  if (some.count) {
    thin_choice_free(out_choice);
    status = choose_for(work, &some, NULL, lib, name, out_choice);
  }
  free(items);
  return status;
}

/* A device that no member has anything for is an error; one of "native" where no device has. */
static kdl_status check_services(const thinning *work) {
  const cli_devices *devices = work->rules->devices;
  size_t count = devices->count ? devices->count : 1;
  bool serves_any = false;
  for (size_t i = 0; i < count; ++i)
    serves_any |= work->services[i].is_served;
  for (size_t i = 0; i < count; ++i) {
    const service *to = &work->services[i];
    bool may_pass = devices->count && devices->items[i].is_native && serves_any;
    if (to->refusal && !to->is_served && !may_pass)
      return kdl_fail(KDL_NO_MATCH, "%s: no member fits: %s", work->archive->name, to->refusal);
  }
  return KDL_OK;
}

static void add_up(thin_report *sum, const thin_report *report) {
  sum->containers += report->containers;
  sum->moved += report->moved;
  sum->stayed += report->stayed;
  for (size_t i = 0; i < THIN_LEFT_WHYS; ++i) {
    sum->left[i].images += report->left[i].images;
    sum->left[i].bytes += report->left[i].bytes;
  }
  sum->zeroed_bytes += report->zeroed_bytes;
}

static kdl_status read_again(const thin_input *input, const thin_choice *choice,
                             const thin_report *report, const uint8_t *bytes, size_t size) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = input->name};
  KDL_TRY(kdl_open_memory(bytes, size, &opts, &lib));
  kdl_status status = thin_compare_images(input, report, choice->is_packed, lib, input->name);
  kdl_close(lib);
  return status;
}

static kdl_status replace(const thinning *work, zip_member *member, const thin_input *input,
                          const thin_choice *choice, const thin_report *report,
                          const thin_output *out) {
  uint8_t *bytes = thin_output_bytes(out);
  kdl_status status = read_again(input, choice, report, bytes, (size_t)out->size);
  if (status == KDL_OK)
    status = zip_replace(work->archive, member, bytes, (size_t)out->size, work->arena);
  free(bytes);
  return status;
}

static kdl_status thin_library(const thinning *work, zip_member *member, const char *name,
                               const thin_input *input) {
  thin_choice choice;
  thin_report report = {.old_size = input->size};
  thin_output out = {.count = 0};
  const char *shown = name + strlen(work->archive->name) + 1;
  kdl_status status = choose(work, input->lib, name, &choice);
  if (status == KDL_NO_MATCH) {
    work->visit(work->user, shown, NULL, NULL, reason(name));
    status = KDL_OK;
  } else if (status == KDL_OK) {
    status = thin_file(input, &choice, &(thin_shape){.sparse = false}, &report, &out);
    if (status == KDL_OK && report.is_changed)
      status = replace(work, member, input, &choice, &report, &out);
    if (status == KDL_UNSUPPORTED) {
      work->visit(work->user, shown, NULL, NULL, reason(name));
      status = KDL_OK;
    } else if (status == KDL_OK) {
      work->visit(work->user, shown, &choice, &report, NULL);
      add_up(work->sum, &report);
    }
  }
  free(report.went);
  thin_output_free(&out);
  thin_choice_free(&choice);
  return status;
}

static kdl_status thin_member(const thinning *work, zip_member *member) {
  uint8_t head[THIN_SNIFF_SIZE];
  size_t size;
  KDL_TRY(zip_peek(work->archive, member, head, sizeof head, &size));
  if (!check_is_code(head, size))
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
  } else if (check_has_none(status)) {
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
  service *services = xcalloc(rules->devices->count + 1, sizeof *services);
  thinning work = {rules, &archive, visit, user, &out->arena, out_report, services};
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < archive.count && status == KDL_OK; ++i) {
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
