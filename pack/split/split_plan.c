/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plans which pieces are cut out of a file, and into which bundle each goes. */
#include "pack/split/split.h"

#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <string.h>

static const char mixed_arch[] = "several";

/* The range of an image's bytes in the file: its own, or that of the stream that contains it. */
static void find_stored_range(const kdl_stored_image *image, uint64_t *out_at, uint64_t *out_size,
                              bool *out_packed) {
  kdl_source_info source = kdl_source_read(image->source);
  *out_at = image->offset;
  *out_size = image->stored_size;
  *out_packed = image->is_packed;
  for (; source.outer; source = kdl_source_read(source.outer)) {
    *out_at = source.packed_offset;
    *out_size = source.packed_size;
  }
}

/* The range of a compressed fatbin entry: its header, and its payload with padding, which together
 * form a separate fatbin. False for other images. */
static bool find_fatbin_entry(const kdl_stored_image *image, const cli_bytes *bytes,
                              split_unit *unit) {
  enum { entry_size = 64 };
  const uint8_t *data = bytes->data;
  if (image->codec == KDL_CODEC_NONE || image->is_packed ||
      strncmp(image->label, "cuda-fatbin", strlen("cuda-fatbin")) != 0 ||
      !kdl_in_range(image->header_offset, entry_size, bytes->size))
    return false;
  uint64_t header = kdl_load_u32(data + image->header_offset + 4);
  uint64_t payload = kdl_load_u64(data + image->header_offset + 8);
  if (image->header_offset + header != image->offset ||
      !kdl_in_range(image->offset, payload, bytes->size))
    return false;
  unit->head = header;
  unit->size = payload;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Parts                                                                                        */

/* Replaces characters that are not safe in a file name with '.'. */
static void sanitize_file_name(char *name, size_t room, const char *arch) {
  static const char others[] = "_.+-";
  size_t used = 0;
  for (; *arch && used + 1 < room; ++arch) {
    bool fits = (*arch >= '0' && *arch <= '9') || (*arch >= 'a' && *arch <= 'z') ||
                (*arch >= 'A' && *arch <= 'Z') || strchr(others, *arch);
    name[used++] = fits ? *arch : '.';
  }
  name[used] = '\0';
}

static bool is_part_name_used(const split_plan *plan, const char *file) {
  for (size_t i = 0; i < plan->part_count; ++i) {
    if (strcmp(plan->parts[i].file, file) == 0)
      return true;
  }
  return false;
}

/* Two architectures may have the same sanitized name. */
static const char *name_part(split_plan *plan, const char *file, const char *arch) {
  char name[128];
  sanitize_file_name(name, sizeof name, arch);
  const char *made = xarena_format(&plan->arena, "%s.%s.offload", file, name);
  for (unsigned i = 2; is_part_name_used(plan, made); ++i)
    made = xarena_format(&plan->arena, "%s.%s-%u.offload", file, name, i);
  return made;
}

enum { most_parts = 4096, slot_count = 4 * most_parts };

/* The slot of an architecture's part in the hash table, or a free one. */
static uint32_t *find_part_slot(const split_plan *plan, const char *arch) {
  uint32_t hash = 2166136261;
  for (const char *at = arch; *at; ++at)
    hash = (hash ^ (uint8_t)*at) * 16777619;
  size_t slot = hash % slot_count;
  while (plan->slots[slot] && strcmp(plan->parts[plan->slots[slot] - 1].key, arch) != 0)
    slot = (slot + 1) % slot_count;
  return &plan->slots[slot];
}

kdl_status split_plan_get_part(split_plan *plan, const char *file, const char *arch,
                               uint32_t *out_part) {
  uint32_t *slot = find_part_slot(plan, arch);
  if (*slot) {
    *out_part = *slot - 1;
    return KDL_OK;
  }
  if (plan->part_count == most_parts)
    return kdl_fail(KDL_UNSUPPORTED, "%s: found more than %d architectures, expected fewer", file,
                    most_parts);
  plan->parts = xgrow(plan->parts, plan->part_count, &plan->part_capacity, 16, sizeof *plan->parts);
  const char *name = name_part(plan, file, arch);
  enum { longest_shown = 256 };
  char *shown = xarena_alloc(&plan->arena, longest_shown + 1);
  size_t length = 0;
  for (; arch[length] && length < longest_shown; ++length)
    shown[length] = arch[length] >= ' ' && arch[length] <= '~' ? arch[length] : '?';
  shown[length] = '\0';
  *out_part = (uint32_t)plan->part_count;
  *slot = *out_part + 1;
  plan->parts[plan->part_count++] = (split_part){.key = arch, .arch = shown, .file = name};
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Units                                                                                        */

const char *split_image_arch(const kdl_stored_image *image) {
  return image->arch.length ? image->arch.data : kdl_image_kind_name(image->kind);
}

static int compare_unit_offsets(const void *a, const void *b) {
  const split_unit *x = a, *y = b;
  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  return x->image < y->image ? -1 : x->image > y->image;
}

static void collect_split_units(split_plan *plan, kdl_library *lib, const cli_bytes *bytes) {
  const kdl_stored_image *images = cli_stored_images(lib);
  size_t count = kdl_image_count(lib);
  bool *is_parent = xcalloc(count, sizeof *is_parent);
  plan->units = xcalloc(count, sizeof *plan->units);
  /* A container is not cut out itself, unless its images are compressed in it. */
  for (uint32_t i = 0; i < count; ++i) {
    const kdl_stored_image *image = &images[i];
    if (image->parent != KDL_NO_PARENT && image->source == images[image->parent].source)
      is_parent[image->parent] = true;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const kdl_stored_image *image = &images[i];
    split_unit unit = {.image = i};
    bool is_packed;
    find_stored_range(image, &unit.at, &unit.size, &is_packed);
    plan->packed += is_packed;
    find_fatbin_entry(image, bytes, &unit);
    if (!is_parent[i] && unit.size && kdl_in_range(unit.at, unit.size, bytes->size))
      plan->units[plan->unit_count++] = unit;
  }
  free(is_parent);
}

/* Merges units that share bytes; units for several architectures are marked as such. */
static kdl_status join_overlapping_units(split_plan *plan, const kdl_stored_image *images,
                                         const char *file) {
  size_t kept = 0;
  qsort(plan->units, plan->unit_count, sizeof *plan->units, compare_unit_offsets);
  for (size_t i = 0; i < plan->unit_count;) {
    split_unit unit = plan->units[i];
    const char *arch = split_image_arch(&images[unit.image]);
    size_t next = i + 1;
    for (; next < plan->unit_count && plan->units[next].at < unit.at + unit.size; ++next) {
      const split_unit *other = &plan->units[next];
      uint64_t end = other->at + other->size;
      if (end > unit.at + unit.size) {
        unit.size = end - unit.at;
        unit.head = 0;
      }
      if (strcmp(arch, split_image_arch(&images[other->image])) != 0)
        arch = mixed_arch;
    }
    KDL_TRY(split_plan_get_part(plan, file, arch, &unit.part));
    plan->parts[unit.part].is_mixed |= arch == mixed_arch;
    plan->parts[unit.part].is_needed |= arch == mixed_arch;
    plan->parts[unit.part].images += next - i;
    plan->parts[unit.part].bytes += unit.size;
    plan->units[kept++] = unit;
    i = next;
  }
  plan->unit_count = kept;
  return KDL_OK;
}

kdl_status split_plan_make(kdl_library *lib, const cli_bytes *bytes, const char *file,
                           split_plan *out_plan) {
  *out_plan = (split_plan){.slots = xcalloc(slot_count, sizeof *out_plan->slots)};
  collect_split_units(out_plan, lib, bytes);
  kdl_status status = join_overlapping_units(out_plan, cli_stored_images(lib), file);
  if (status == KDL_OK)
    status = split_plan_find_streams(out_plan, lib, bytes, file);
  free(out_plan->slots);
  out_plan->slots = NULL;
  if (status != KDL_OK)
    split_plan_free(out_plan);
  return status;
}

void split_plan_free(split_plan *plan) {
  free(plan->units);
  free(plan->parts);
  free(plan->streams);
  free(plan->copies);
  kdl_arena_free(&plan->arena);
  *plan = (split_plan){.units = NULL};
}
