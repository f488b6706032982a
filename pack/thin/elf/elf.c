/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/libraries.h"
#include "pack/thin/elf/elf_plan.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/images/kinds.h"
#include "tools/common/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

elf_unit *elf_plan_unit_before(const elf_plan *plan, uint64_t address) {
  size_t low = 0, high = plan->unit_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (plan->units[middle].address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low ? &plan->units[low - 1] : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Units                                                                                        */

/* The section that contains all of the bytes and may be laid out again, or 0: not code, and not
 * SYCL's table of images, which is read from start to end. */
static size_t find_rewritable_section(const elf_image *image, uint64_t offset, uint64_t size) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    bool may_hold = section->type == SHT_PROGBITS || section->type == KDL_SHT_LLVM_OFFLOADING;
    if (may_hold && section->flags & SHF_ALLOC && !(section->flags & SHF_EXECINSTR) &&
        offset >= section->offset && kdl_in_range(offset - section->offset, size, section->size))
      return strcmp(elf_image_section_name(image, section), ".tgtimg") == 0 ? 0 : i;
  }
  return 0;
}

static void add_unit(elf_plan *plan, const thin_container *container, uint64_t address,
                     size_t section) {
  plan->units =
      xgrow(plan->units, plan->unit_count, &plan->unit_capacity, 256, sizeof *plan->units);
  plan->units[plan->unit_count++] =
      (elf_unit){.container = *container,
                 .address = address,
                 .size = container->size,
                 .section = section,
                 .mobility = container->is_fixed ? ELF_FROZEN : ELF_MOVABLE};
}

/* Fatbins without an image, left by an earlier thinning, in bytes that belong to no container: they
 * move like others. */
static void add_empty_units(elf_plan *plan, size_t section, uint64_t start, uint64_t end) {
  enum { size = 16 };
  const kdl_elf_section *header = &plan->image.sections[section];
  for (uint64_t at = (start + 7) & ~(uint64_t)7; at + size <= end; at += 8) {
    const uint8_t *bytes = plan->image.data + header->offset + (at - header->address);
    if (kdl_load_u64(bytes) != KDL_MAGIC_FATBIN_HEADER || kdl_load_u64(bytes + 8) != 0)
      continue;
    thin_container empty = {
        .kind = THIN_FATBIN, .offset = (uint64_t)(bytes - plan->image.data), .size = size};
    add_unit(plan, &empty, at, section);
    at += size - 8;
  }
}

static kdl_status collect_units(elf_plan *plan, const thin_container_list *list) {
  size_t section = 0;
  uint64_t seen = 0;
  for (size_t i = 0; i < list->count; ++i) {
    const thin_container *container = &list->items[i];
    size_t last = section;
    const kdl_elf_section *header = &plan->image.sections[section];
    uint64_t address;
    if (!section || container->offset < header->offset ||
        !kdl_in_range(container->offset - header->offset, container->size, header->size))
      section = find_rewritable_section(&plan->image, container->offset, container->size);
    if (last && section != last)
      add_empty_units(plan, last, seen, header->address + header->size);
    header = &plan->image.sections[section];
    if (!section ||
        !elf_image_address_of_offset(&plan->image, container->offset, container->size, &address))
      continue;
    if (section != last)
      seen = header->address;
    if (address < seen)
      return kdl_fail(KDL_BAD_FILE,
                      "%s: found containers on top of one another at address 0x%" PRIx64,
                      plan->input->name, address);
    add_empty_units(plan, section, seen, address);
    add_unit(plan, container, address, section);
    seen = address + container->size;
  }
  const kdl_elf_section *header = &plan->image.sections[section];
  if (section)
    add_empty_units(plan, section, seen, header->address + header->size);
  return KDL_OK;
}

/* Nothing else may use bytes of a section that is laid out again; overlaps of sections and headers
 * were already excluded. */
static kdl_status check_section_exclusive(const elf_plan *plan, const kdl_elf_section *section) {
  const elf_image *image = &plan->image;
  bool is_shared = elf_image_has_table_in(image, section->offset, section->size);
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *other = &image->segments[i];
    is_shared |= other->type != PT_LOAD && other->file_size &&
                 elf_overlap(section->offset, section->size, other->offset, other->file_size);
  }
  return is_shared
             ? kdl_fail(KDL_BAD_FILE,
                        "%s: found section '%s' on top of relocations, names or what a program "
                        "header describes, expected it alone",
                        plan->input->name, elf_image_section_name(image, section))
             : KDL_OK;
}

static kdl_status check_sections(const elf_plan *plan) {
  size_t last = 0;
  for (size_t i = 0; i < plan->unit_count; ++i) {
    if (plan->units[i].section != last)
      KDL_TRY(check_section_exclusive(plan, &plan->image.sections[plan->units[i].section]));
    last = plan->units[i].section;
  }
  return KDL_OK;
}

static kdl_status make_contents(elf_plan *plan) {
  for (size_t i = 0; i < plan->unit_count; ++i) {
    elf_unit *unit = &plan->units[i];
    unit->content = plan->contents.size;
    if (plan->input->fd >= 0) /* no member of an archive, whose members are counted */
      cli_progress_step((double)i / (double)plan->unit_count, "%zu of %zu containers", i,
                        plan->unit_count);
    else
      cli_progress_within((double)i / (double)plan->unit_count);
    bool is_gone = unit->container.kind == THIN_OFFLOAD && !unit->container.kept;
    if (is_gone && unit->mobility != ELF_FROZEN)
      continue;
    if (unit->mobility == ELF_FROZEN || !thin_container_changes(&unit->container))
      thin_output_add(&plan->contents, plan->input->data + unit->container.offset, unit->size);
    else if (unit->container.kind == THIN_SYCL)
      KDL_TRY(thin_sycl_rewrite(plan->input, plan->selection, &unit->container, &plan->contents,
                                &unit->listed_size));
    else
      KDL_TRY(
          thin_container_rewrite(plan->input, plan->selection, &unit->container, &plan->contents));
    unit->new_size = plan->contents.size - unit->content;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The plan                                                                                     */

static bool has_smaller_content(const elf_plan *plan) {
  for (size_t i = 0; i < plan->unit_count; ++i) {
    if (plan->units[i].new_size < plan->units[i].size)
      return true;
  }
  return false;
}

static void mark_removed(const elf_plan *plan, bool *is_removed) {
  bool *kept = xmalloc(plan->selection->count);
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const elf_unit *unit = &plan->units[i];
    if (unit->new_size == unit->size)
      continue;
    thin_container_kept_images(plan->input, plan->selection, &unit->container, kept);
    for (size_t k = 0; k < unit->container.count; ++k)
      is_removed[unit->container.first + k] = !kept[k];
  }
  free(kept);
}

/* Why an image stays that nothing selected; `unit` contains it, or is NULL. */
static thin_retain_reason unit_retain_reason(const elf_unit *unit, const kdl_stored_image *image) {
  bool is_sycl = image->offload_kind == KDL_OFFLOAD_SYCL ||
                 strstr(image->label, " in " KDL_MAGIC_BUNDLE "sycl");
  bool is_offload = strncmp(image->label, "offload-binary", 14) == 0;
  if (!unit)
    return is_offload         ? THIN_RETAINED_OFFLOAD
           : is_sycl          ? THIN_RETAINED_SYCL
           : image->is_packed ? THIN_RETAINED_COMPRESSED
                              : THIN_RETAINED_BARE;
  if (unit->mobility != ELF_FROZEN)
    return THIN_RETAINED_LAST;
  return unit->container.kind == THIN_SYCL      ? THIN_RETAINED_SYCL
         : unit->container.kind == THIN_OFFLOAD ? THIN_RETAINED_OFFLOAD
                                                : THIN_RETAINED_POINTERS;
}

static void report_retained(const elf_plan *plan, thin_report *report) {
  const kdl_stored_image *images = cli_stored_images(plan->input->lib);
  const elf_unit **unit_of = xcalloc(plan->selection->count, sizeof *unit_of);
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const thin_container *container = &plan->units[i].container;
    for (size_t k = 0; k < container->count; ++k)
      unit_of[container->first + k] = &plan->units[i];
  }
  for (size_t i = 0; i < plan->selection->count; ++i) {
    if (images[i].parent == KDL_NO_PARENT && !report->is_removed[i] && !plan->selection->kept[i])
      thin_report_add_retained(report, plan->input, i, unit_retain_reason(unit_of[i], &images[i]));
  }
  free(unit_of);
}

static void make_report(const elf_plan *plan, size_t containers, const thin_output *out,
                        bool is_changed, thin_report *out_report) {
  uint64_t less = 0;
  *out_report =
      (thin_report){.is_changed = is_changed,
                    .old_size = plan->input->size,
                    .new_size = out->size,
                    .mappings = plan->mappings,
                    .containers = containers,
                    .is_removed = xcalloc(plan->selection->count, sizeof *out_report->is_removed)};
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const elf_unit *unit = &plan->units[i];
    less += unit->size - unit->new_size;
    out_report->moved += is_changed && unit->new_address != unit->address;
    out_report->unmoved += unit->mobility != ELF_MOVABLE;
  }
  uint64_t gone = plan->input->size > out->size ? plan->input->size - out->size : 0;
  out_report->zeroed_bytes = less > gone ? less - gone : 0;
  mark_removed(plan, out_report->is_removed);
  report_retained(plan, out_report);
}

kdl_status elf_plan_make(elf_plan *plan, thin_container_list *list, thin_output *out,
                         bool *out_changed) {
  const thin_input *input = plan->input;
  *out_changed = false;
  KDL_TRY(elf_image_read(input->data, input->size, input->name, &plan->image));
  KDL_TRY(thin_containers_find(input, plan->selection, list));
  elf_offload_find(plan, list);
  KDL_TRY(elf_sycl_find(plan, list));
  KDL_TRY(collect_units(plan, list));
  KDL_TRY(check_sections(plan));
  if (plan->unit_count)
    KDL_TRY(elf_plan_find_references(plan));
  KDL_TRY(make_contents(plan));
  if (!has_smaller_content(plan)) {
    thin_output_add(out, input->data, input->size);
    return KDL_OK;
  }
  *out_changed = true;
  elf_plan_lay_out(plan);
  KDL_TRY(elf_plan_make_segments(plan));
  return elf_plan_write(plan, out);
}

void elf_plan_free(elf_plan *plan) {
  elf_image_free(&plan->image);
  thin_output_free(&plan->contents);
  kdl_arena_free(&plan->arena);
  free(plan->units);
  free(plan->image_refs);
  free(plan->used);
  free(plan->sycl);
  free(plan->pairs);
  free(plan->zones);
  free(plan->items);
  free(plan->holes);
  free(plan->segments);
  free(plan->patches);
}

kdl_status thin_elf(const thin_input *input, const thin_selection *selection,
                    const thin_layout_opts *layout_opts, thin_report *out_report,
                    thin_output *out) {
  elf_plan plan = {.input = input, .selection = selection, .layout_opts = *layout_opts};
  thin_container_list list = {.count = 0};
  bool is_changed;
  kdl_status status = elf_plan_make(&plan, &list, out, &is_changed);
  if (status == KDL_OK && is_changed)
    status = elf_plan_check(&plan, out);
  if (status == KDL_OK) {
    make_report(&plan, list.count, out, is_changed, out_report);
    thin_output_adopt(out, &plan.arena); /* memory of the plan that the output points to */
    thin_output_adopt(out, &plan.contents.arena);
  }
  thin_containers_free(&list);
  elf_plan_free(&plan);
  return status;
}
