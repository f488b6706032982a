/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report as JSON; docs/cli.md has the fields. */
#include "pack/diff/diff.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/output.h"

#include <stdio.h>
#include <stdlib.h>

static void write_side(cli_json *json, const diff *d, int side) {
  const diff_side *of = &d->sides[side];
  cli_json_put_object(json, side == DIFF_OLD ? "old" : "new");
  cli_json_put_text(json, "path", of->path);
  cli_json_put_number(json, "libraries", of->library_count);
  cli_json_put_number(json, "images", of->images);
  cli_json_put_number(json, "unreadable", of->unreadable);
  cli_json_put_number(json, "code_bytes", of->code_bytes);
  cli_json_put_array(json, "only");
  for (size_t i = 0; i < of->library_count; ++i) {
    if (!of->libraries[i].is_matched)
      cli_json_text(json, of->libraries[i].place);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
}

static void write_counts(cli_json *json, const size_t counts[DIFF_CHANGES]) {
  for (int change = 0; change < DIFF_CHANGES; ++change)
    cli_json_put_number(json, diff_change_name((diff_change)change), counts[change]);
}

static void write_targets(cli_json *json, const diff *d) {
  cli_json_put_array(json, "targets");
  for (size_t i = 0; i < d->target_count; ++i) {
    if (!d->kernels[i][DIFF_OLD] && !d->kernels[i][DIFF_NEW])
      continue;
    cli_json_begin_object(json);
    cli_json_put_text(json, "target", d->targets[i].label);
    cli_json_put_number(json, "old", d->kernels[i][DIFF_OLD]);
    cli_json_put_number(json, "new", d->kernels[i][DIFF_NEW]);
    write_counts(json, d->counts[i]);
    cli_json_put_number(json, "equal", d->is_compared[i] ? d->equal[i] : 0);
    cli_json_put_bool(json, "compared", d->is_compared[i]);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

static void write_devices(cli_json *json, const diff *d) {
  cli_json_put_array(json, "devices");
  for (size_t i = 0; i < d->walk.devices.count; ++i) {
    const diff_device *device = &d->devices[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "device", d->walk.devices.items[i].name);
    cli_json_put_number(json, "old", device->kernels[DIFF_OLD]);
    cli_json_put_number(json, "new", device->kernels[DIFF_NEW]);
    cli_json_put_number(json, "old_native", device->native[DIFF_OLD]);
    cli_json_put_number(json, "new_native", device->native[DIFF_NEW]);
    cli_json_put_number(json, "lost", device->lost);
    cli_json_put_number(json, "gained", device->gained);
    cli_json_put_number(json, "jit", device->jit);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

static void write_kernel(cli_json *json, const diff *d, int side, const diff_kernel *kernel) {
  static const char *const effects[] = {"unknown", "some", "nothing", "stops"};
  kdl_occupancy occupancy;
  char digest[40];
  cli_json_put_object(json, side == DIFF_OLD ? "old" : "new");
  cli_json_put_bytes(json, "kernel", diff_kernel_name(d, kernel));
  cli_json_put_text(json, "library", d->sides[side].libraries[kernel->library].path);
  cli_json_put_number(json, "image", kernel->image);
  for (size_t i = 0; i < DIFF_FIELDS; ++i) {
    uint32_t value = diff_field_value(&kernel->uses, i);
    cli_json_put_known(json, diff_fields[i].key, value != KDL_NO_RESOURCE, value);
  }
  bool has_occupancy = diff_occupancy(d, kernel, &occupancy);
  cli_json_put_known(json, "occupancy", has_occupancy, has_occupancy ? occupancy.subgroups : 0);
  snprintf(digest, sizeof digest, "%016llx%016llx", (unsigned long long)kernel->digest.code[0],
           (unsigned long long)kernel->digest.code[1]);
  cli_json_put_text(json, "digest", kernel->digest.code[0] ? digest : NULL);
  cli_json_put_text(json, "effect", effects[kernel->effect]);
  cli_json_end_object(json);
}

static void write_change_names(cli_json *json, const char *key, uint32_t changes) {
  cli_json_put_array(json, key);
  for (int change = 0; change < DIFF_CHANGES; ++change) {
    if (changes >> change & 1)
      cli_json_text(json, diff_change_name((diff_change)change));
  }
  cli_json_end_array(json);
}

static void write_changes(cli_json *json, const diff *d) {
  size_t count;
  diff_item *items = diff_list(d, DIFF_BIT(DIFF_CHANGES) - 1, &count);
  cli_json_put_array(json, "changes");
  for (size_t i = 0; i < count; ++i) {
    const diff_item *item = &items[i];
    const diff_kernel *partner = diff_partner(d, item->side, item->kernel);
    cli_json_begin_object(json);
    cli_json_put_bytes(json, "kernel", diff_kernel_name(d, item->kernel));
    cli_json_put_text(json, "target", diff_kernel_target(d, item->kernel)->label);
    write_change_names(json, "changes", item->kernel->changes);
    if (partner)
      write_kernel(json, d, !item->side, partner);
    write_kernel(json, d, item->side, item->kernel);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  free(items);
}

static void write_excesses(cli_json *json, const diff *d) {
  cli_json_put_array(json, "budget");
  for (size_t i = 0; i < d->excess_count; ++i) {
    const diff_excess *excess = &d->excesses[i];
    cli_json_begin_object(json);
    cli_json_put_number(json, "line", diff_budget_line(d->budget, excess->limit));
    cli_json_put_text(json, "limit", diff_budget_limit(d->budget, excess->limit));
    cli_json_put_number(json, "found", excess->found);
    if (excess->kernel) {
      cli_json_put_bytes(json, "kernel", diff_kernel_name(d, excess->kernel));
      cli_json_put_text(json, "target", diff_kernel_target(d, excess->kernel)->label);
    }
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
}

/* null where the operands are no files. */
static void write_bytes(cli_json *json, const diff *d) {
  const diff_bytes *bytes = &d->bytes;
  if (!bytes->is_compared) {
    cli_json_put_text(json, "bytes", NULL);
    return;
  }
  cli_json_put_object(json, "bytes");
  cli_json_put_bool(json, "equal", bytes->is_equal);
  cli_json_put_known(json, "offset", !bytes->is_equal, bytes->offset);
  cli_json_put_array(json, "differences");
  for (size_t i = 0; i < bytes->line_count; ++i)
    cli_json_text(json, bytes->lines[i]);
  cli_json_end_array(json);
  cli_json_end_object(json);
}

kdl_status diff_print_json(diff *d) {
  cli_json json = {.file = stdout};
  cli_json_begin_object(&json);
  write_side(&json, d, DIFF_OLD);
  write_side(&json, d, DIFF_NEW);
  cli_json_put_object(&json, "totals");
  write_counts(&json, d->totals);
  cli_json_end_object(&json);
  write_targets(&json, d);
  write_devices(&json, d);
  write_changes(&json, d);
  write_bytes(&json, d);
  write_excesses(&json, d);
  write_change_names(&json, "fails", diff_failures(d));
  cli_json_put_array(&json, "errors");
  for (size_t i = 0; i < d->walk.error_count; ++i) {
    cli_json_begin_object(&json);
    cli_json_put_text(&json, "path", d->walk.errors[i].path);
    cli_json_put_text(&json, "message", d->walk.errors[i].message);
    cli_json_end_object(&json);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  putchar('\n');
  return cli_output_flush();
}
