/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compares the output with the input, both as a loader maps them. Every byte of memory outside of
 * containers must be the same at the same address, except for what the plan changed: pointers to
 * moved containers, the program headers, and what moved out of their way. Containers must be where
 * the pointers lead, with zeros where they were. The output's headers are parsed again, and its
 * relocations and section headers are checked separately.
 */
#include "pack/thin/elf/elf_check.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { smallest_page = 4096, most_padding = 4096 };

#define WRONG elf_check_fail

kdl_status elf_check_fail(const elf_checker *c, const char *what, uint64_t address) {
  return kdl_fail(KDL_UNSUPPORTED,
                  "%s: the thinned file would not load as the old one does (%s at 0x%" PRIx64
                  "), nothing was written; this is a bug",
                  c->plan->input->name, what, address);
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

bool elf_check_view_old(const elf_checker *c, uint64_t address, const uint8_t **bytes,
                        uint64_t *size) {
  const elf_image *image = &c->plan->image;
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *load = &image->segments[i];
    uint64_t into = address - load->address;
    if (load->type != PT_LOAD || into >= load->memory_size)
      continue;
    bool is_file = into < load->file_size;
    *bytes = is_file ? image->data + load->offset + into : NULL;
    *size = (is_file ? load->file_size : load->memory_size) - into;
    return true;
  }
  return false;
}

bool elf_check_view_new(const elf_checker *c, uint64_t address, const uint8_t **bytes,
                        uint64_t *size) {
  for (size_t i = 0; i < c->count; ++i) {
    const kdl_elf_segment *load = &c->segments[i];
    uint64_t into = address - load->address;
    if (load->type != PT_LOAD || into >= load->memory_size)
      continue;
    *bytes = NULL;
    *size = load->memory_size - into;
    if (into < load->file_size) {
      *bytes = thin_output_view(c->out, load->offset + into, size);
      if (*size > load->file_size - into)
        *size = load->file_size - into;
    }
    return true;
  }
  return false;
}

static bool is_zero(const uint8_t *bytes, uint64_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, (size_t)size - 1) == 0);
}

bool elf_check_is_same(const uint8_t *left, const uint8_t *right, uint64_t size) {
  if (left == right)
    return true;
  if (left && right)
    return memcmp(left, right, (size_t)size) == 0;
  return is_zero(left ? left : right, size);
}

/* Whether the output has the bytes at `address`. */
static bool output_has_bytes(const elf_checker *c, uint64_t address, const uint8_t *bytes,
                             uint64_t size) {
  while (size) {
    const uint8_t *found;
    uint64_t there;
    if (!elf_check_view_new(c, address, &found, &there))
      return false;
    uint64_t part = there < size ? there : size;
    if (!elf_check_is_same(bytes, found, part))
      return false;
    bytes = bytes ? bytes + part : NULL;
    address += part;
    size -= part;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

static kdl_status read_headers(elf_checker *c) {
  uint8_t raw[sizeof(Elf64_Ehdr)];
  if (c->out->size < sizeof raw)
    return WRONG(c, "no header", 0);
  thin_output_read(c->out, 0, raw, sizeof raw);
  kdl_elf elf = kdl_elf_load_header(raw);
  c->count = (size_t)elf.segment_count;
  c->section_count = (size_t)elf.section_count;
  if (!kdl_in_range(elf.segment_table, c->count * sizeof(Elf64_Phdr), c->out->size) ||
      !kdl_in_range(elf.section_table, c->section_count * sizeof(Elf64_Shdr), c->out->size))
    return WRONG(c, "tables beyond the file", elf.segment_table);
  c->segments = xcalloc(c->count, sizeof *c->segments);
  c->sections = xcalloc(c->section_count, sizeof *c->sections);
  for (size_t i = 0; i < c->count; ++i) {
    thin_output_read(c->out, elf.segment_table + i * sizeof(Elf64_Phdr), raw, sizeof(Elf64_Phdr));
    c->segments[i] = kdl_elf_load_segment(&c->plan->image.header, raw);
  }
  for (size_t i = 0; i < c->section_count; ++i) {
    thin_output_read(c->out, elf.section_table + i * sizeof(Elf64_Shdr), raw, sizeof(Elf64_Shdr));
    c->sections[i] = kdl_elf_load_section(&c->plan->image.header, raw);
  }
  return KDL_OK;
}

static kdl_status check_loads(const elf_checker *c) {
  const kdl_elf_segment *before = NULL;
  for (size_t i = 0; i < c->count; ++i) {
    const kdl_elf_segment *segment = &c->segments[i];
    if (segment->type != PT_LOAD)
      continue;
    uint64_t unit = segment->alignment > smallest_page ? segment->alignment : smallest_page;
    if (segment->file_size > segment->memory_size ||
        !kdl_in_range(segment->offset, segment->file_size, c->out->size))
      return WRONG(c, "a segment beyond the file", segment->address);
    if ((segment->address - segment->offset) & (unit - 1))
      return WRONG(c, "a segment out of step", segment->address);
    if (before && segment->address < before->address + before->memory_size)
      return WRONG(c, "segments on top of one another", segment->address);
    before = segment;
  }
  return KDL_OK;
}

const kdl_elf_segment *elf_check_loaded(const elf_checker *c, uint64_t address, uint64_t size) {
  for (size_t i = 0; i < c->count; ++i) {
    const kdl_elf_segment *load = &c->segments[i];
    if (load->type == PT_LOAD && address - load->address < load->file_size &&
        size <= load->file_size - (address - load->address))
      return load;
  }
  return NULL;
}

/* Whether a segment of the output loads that offset to that address. */
static bool is_loaded_at(const elf_checker *c, uint64_t address, uint64_t offset) {
  const kdl_elf_segment *load = elf_check_loaded(c, address, 1);
  return load && offset - load->offset == address - load->address;
}

/* What a program header describes must be unchanged, wherever it is now. */
static kdl_status check_described(const elf_checker *c) {
  const elf_image *image = &c->plan->image;
  size_t at = 0;
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *old = &image->segments[i];
    if (old->type == PT_LOAD)
      continue;
    while (at < c->count && c->segments[at].type == PT_LOAD)
      ++at;
    const kdl_elf_segment *now = at < c->count ? &c->segments[at++] : NULL;
    if (!now || now->type != old->type || now->flags != old->flags ||
        (old->type != PT_PHDR &&
         (now->file_size != old->file_size || now->memory_size != old->memory_size)))
      return WRONG(c, "another program header", old->address);
    uint8_t first[16], again[16];
    uint64_t size = old->file_size < sizeof first ? old->file_size : sizeof first;
    if (old->type == PT_PHDR || !kdl_in_range(old->offset, old->file_size, image->size))
      continue;
    if (!kdl_in_range(now->offset, now->file_size, c->out->size))
      return WRONG(c, "a program header beyond the file", now->address);
    memcpy(first, image->data + old->offset, (size_t)size);
    thin_output_read(c->out, now->offset, again, (size_t)size);
    uint64_t address;
    bool is_loaded = elf_image_address_of_offset(image, old->offset, old->file_size, &address) &&
                     address == old->address && old->file_size;
    bool is_moved = now->address != old->address;
    if (is_moved && (!is_loaded || now->address - old->address != c->plan->block.delta))
      return WRONG(c, "a program header elsewhere", now->address);
    /* Unmoved parts are compared with all memory. */
    if (is_moved && !output_has_bytes(c, now->address, image->data + old->offset, old->file_size))
      return WRONG(c, "something else behind a program header", now->address);
    if (is_loaded && !is_loaded_at(c, now->address, now->offset))
      return WRONG(c, "a program header with another offset", now->address);
    if (!is_loaded && memcmp(first, again, (size_t)size) != 0)
      return WRONG(c, "something else behind a program header", now->address);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Exempt ranges                                                                                */

/* Old positions of units, and loaded patches. */
static kdl_status collect_exempt_ranges(elf_checker *c) {
  const elf_plan *plan = c->plan;
  c->exempt_ranges = xcalloc(plan->unit_count + plan->patch_count, sizeof *c->exempt_ranges);
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const elf_unit *unit = &plan->units[i];
    uint64_t end = unit->address + unit->size, room = unit->trailing_space;
    const uint8_t *behind = elf_image_at(&plan->image, end, room);
    if (room && (room > most_padding || !behind || !is_zero(behind, room)))
      return WRONG(c, "more than padding taken", end);
    c->exempt_ranges[c->exempt_count++] = (elf_exempt_range){unit->address, end + room};
  }
  for (size_t i = 0; i < plan->patch_count; ++i) {
    uint64_t address;
    if (elf_image_address_of_offset(&plan->image, plan->patches[i].offset, plan->patches[i].size,
                                    &address))
      c->exempt_ranges[c->exempt_count++] =
          (elf_exempt_range){address, address + plan->patches[i].size};
  }
  kdl_array_sort(c->exempt_ranges, c->exempt_count, sizeof *c->exempt_ranges,
                 offsetof(elf_exempt_range, start));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Comparing                                                                                    */

static kdl_status compare_memory_range(const elf_checker *c, uint64_t address, uint64_t end) {
  while (address < end) {
    const uint8_t *old, *now;
    uint64_t old_size, new_size;
    if (!elf_check_view_old(c, address, &old, &old_size) ||
        !elf_check_view_new(c, address, &now, &new_size))
      return WRONG(c, "nothing", address);
    uint64_t part = old_size < new_size ? old_size : new_size;
    if (part > end - address)
      part = end - address;
    if (!elf_check_is_same(old, now, part))
      return WRONG(c, "other bytes", address);
    address += part;
  }
  return KDL_OK;
}

static kdl_status compare_loads(const elf_checker *c) {
  const elf_image *image = &c->plan->image;
  size_t next = 0;
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *load = &image->segments[i];
    if (load->type != PT_LOAD)
      continue;
    uint64_t at = load->address, end = load->address + load->memory_size;
    for (; next < c->exempt_count && c->exempt_ranges[next].start < end; ++next) {
      KDL_TRY(compare_memory_range(c, at, c->exempt_ranges[next].start));
      if (c->exempt_ranges[next].end > at)
        at = c->exempt_ranges[next].end;
    }
    KDL_TRY(compare_memory_range(c, at, end));
  }
  return KDL_OK;
}

/* Units must be at their new positions, with zeros elsewhere; other bytes were already compared. */
static kdl_status check_zone_contents(const elf_checker *c, const elf_zone *zone) {
  const elf_plan *plan = c->plan;
  uint64_t at = zone->address;
  for (size_t i = zone->first_item; i < zone->first_item + zone->item_count; ++i) {
    const elf_item *item = &plan->items[i];
    if (item->address < at || item->address + item->size > zone->address + zone->size)
      return WRONG(c, "containers on top of one another", item->address);
    if (!output_has_bytes(c, at, NULL, item->address - at))
      return WRONG(c, "no zeros", at);
    at = item->address + item->size;
    if (item->unit == ELF_MOVED_BLOCK) {
      if (!output_has_bytes(c, item->address,
                            elf_image_at(&plan->image, plan->block.address, item->size),
                            item->size))
        return WRONG(c, "another table", item->address);
      continue;
    }
    bool is_old = item->unit == ELF_NO_UNIT || plan->units[item->unit].mobility == ELF_FROZEN;
    for (uint64_t done = 0, part; done < item->size && !is_old; done += part) {
      const uint8_t *bytes =
          thin_output_view(&plan->contents, plan->units[item->unit].content + done, &part);
      if (part > item->size - done)
        part = item->size - done;
      if (!output_has_bytes(c, item->address + done, bytes, part))
        return WRONG(c, "another container", item->address);
    }
  }
  return output_has_bytes(c, at, NULL, zone->address + zone->size - at) ? KDL_OK
                                                                        : WRONG(c, "no zeros", at);
}

/* The dynamic section must be unchanged, except for addresses of what moved. */
static kdl_status check_dynamic_entries(const elf_checker *c) {
  const elf_image *image = &c->plan->image;
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(image, &count);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t *entry = table + i * sizeof(Elf64_Dyn);
    uint64_t tag = kdl_load_u64(entry), value = kdl_load_u64(entry + 8), address;
    bool is_moved = elf_tag_is_address(tag) && elf_plan_is_in_moved_block(c->plan, value);
    uint8_t wanted[sizeof(Elf64_Dyn)];
    kdl_store_u64(wanted, tag);
    kdl_store_u64(wanted + 8, is_moved ? value + c->plan->block.delta : value);
    if (!elf_image_address_of_offset(image, (uint64_t)(entry - image->data), sizeof wanted,
                                     &address) ||
        !output_has_bytes(c, address, wanted, sizeof wanted))
      return WRONG(c, "another dynamic section", value);
  }
  return KDL_OK;
}

/* SYCL's table must have the new sizes of its images, and no other changes. */
static kdl_status check_sycl_sizes(const elf_checker *c) {
  const elf_plan *plan = c->plan;
  for (size_t i = 0; i < plan->image_ref_count; ++i) {
    const elf_image_ref *record = &plan->image_refs[i];
    const elf_unit *unit = &plan->units[record->unit];
    const uint8_t *old = elf_image_at(&plan->image, record->place + 8, 8);
    uint8_t now[8];
    if (!record->is_table || !old)
      continue;
    kdl_store_u64(now, unit->new_size != unit->size ? unit->listed_size : kdl_load_u64(old));
    if (!output_has_bytes(c, record->place + 8, now, sizeof now))
      return WRONG(c, "another size in the table of images", record->place);
  }
  return KDL_OK;
}

static kdl_status check_output(elf_checker *c) {
  KDL_TRY(read_headers(c));
  KDL_TRY(check_loads(c));
  KDL_TRY(check_described(c));
  KDL_TRY(collect_exempt_ranges(c));
  KDL_TRY(compare_loads(c));
  for (size_t i = 0; i < c->plan->zone_count; ++i)
    KDL_TRY(check_zone_contents(c, &c->plan->zones[i]));
  KDL_TRY(check_dynamic_entries(c));
  KDL_TRY(check_sycl_sizes(c));
  KDL_TRY(elf_check_relocations(c));
  return elf_check_sections(c);
}

kdl_status elf_plan_check(const elf_plan *plan, const thin_output *out) {
  elf_checker c = {.plan = plan, .out = out};
  kdl_status status = check_output(&c);
  free(c.segments);
  free(c.sections);
  free(c.exempt_ranges);
  return status;
}
