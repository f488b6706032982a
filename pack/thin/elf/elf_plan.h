/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How a linked ELF file becomes smaller.
 *
 * Every address stays, except for containers that move, whose pointers are changed. A section with
 * containers is laid out again from its start. Its units (containers) keep their order. Movable
 * ones go as low as they fit where units were; the others, and all other bytes, stay at their
 * addresses. Free space becomes zeros; whole pages of it are left out of the file, as holes that
 * the loader fills with zeros. For that the segment is split around them.
 *
 *     before   | text | A A A B B B B C C C | data |      file and memory
 *     after    | text | A B C | zeros       | data |      memory: same addresses of text and data
 *              | text | A B C | data |                    file
 *
 * More segments need more program headers, but other bytes follow their table. What follows it
 * directly (notes, hash tables: found only through the program headers and the dynamic section)
 * moves into the free space.
 */
#ifndef KDL_PACK_THIN_ELF_ELF_PLAN_H
#define KDL_PACK_THIN_ELF_ELF_PLAN_H

#include "pack/thin/elf/elf_code.h"
#include "pack/thin/elf/elf_image.h"
#include "pack/thin/thin.h"

typedef enum elf_mobility {
  ELF_MOVABLE,
  ELF_PINNED, /* something other than a relocation may refer to its start */
  ELF_FROZEN, /* its bytes must not change either: something may refer to its contents */
} elf_mobility;

typedef struct elf_unit {
  thin_container container;
  uint64_t address;
  uint64_t size;
  uint64_t new_address;
  uint64_t new_size;
  uint64_t tail;           /* zeros after it that move with it */
  uint64_t trailing_space; /* usable space after it: the tail, and padding */
  uint64_t content;        /* its offset in elf_plan.contents */
  uint64_t listed_size;    /* its size in SYCL's table, if its images change */
  size_t section;
  elf_mobility mobility;
  bool is_referenced; /* by a relocation, to its start */
} elf_unit;

/* Contents of a section that is laid out again, in order. */
typedef struct elf_item {
  uint64_t address;
  uint64_t size;
  size_t
      unit; /* ELF_NO_UNIT: other bytes, at their old address; ELF_MOVED_BLOCK: the moved block */
} elf_item;
#define ELF_NO_UNIT SIZE_MAX
#define ELF_MOVED_BLOCK (SIZE_MAX - 1)

typedef struct elf_hole {
  uint64_t start; /* addresses */
  uint64_t end;
  size_t zone;
  size_t item;  /* the item before it; ELF_NO_UNIT: before the first */
  bool is_tail; /* extends to the end of the segment's bytes in the file */
  bool is_taken;
} elf_hole;

/* A section that is laid out again. */
typedef struct elf_zone {
  size_t section;
  uint64_t address;
  uint64_t size;
  uint64_t offset;
  size_t first_item, item_count;
  const kdl_elf_segment *segment;
} elf_zone;

/* Replacement bytes; offsets are those of the input. */
typedef struct elf_patch {
  uint64_t offset;
  uint64_t size;
  const uint8_t *bytes;
} elf_patch;

/* The bytes that moved to make room for program headers. */
typedef struct elf_moved_block {
  uint64_t address; /* old */
  uint64_t size;    /* 0: nothing moved */
  uint64_t delta;   /* added to addresses in it */
} elf_moved_block;

/* A reference to an image: two adjacent pointers to its start and end, in an OffloadBinary or
 * SYCL's section; or an entry of SYCL's table. */
typedef struct elf_image_ref {
  uint64_t place; /* address of the first */
  size_t unit;
  bool has_end;  /* has the second pointer */
  bool is_table; /* has the image's size */
  bool is_empty; /* both pointers lead to the start: a removed image */
} elf_image_ref;

/* An entry of SYCL's table. */
typedef struct elf_sycl {
  uint64_t address;
  uint64_t listed_size; /* the size */
  uint64_t end;         /* from pairs of pointers; 0: none */
  size_t first, count;  /* listed images */
  bool is_unsupported;
} elf_sycl;

/* A pointer to the start of such an image, and the pointer after it. */
typedef struct elf_pair {
  uint64_t place;
  uint64_t start;
  uint64_t end;  /* 0: none follows it */
  bool is_table; /* an entry of the table */
} elf_pair;

typedef struct elf_plan {
  const thin_input *input;
  const thin_selection *selection;
  thin_layout_opts layout_opts;
  elf_image image;
  elf_unit *units; /* by address */
  size_t unit_count, unit_capacity;
  elf_image_ref *image_refs; /* by place */
  size_t image_ref_count, image_ref_capacity;
  elf_span *used; /* targets of code: units, and the bytes after the program headers */
  size_t used_count, used_capacity;
  elf_sycl *sycl; /* by address */
  size_t sycl_count, sycl_capacity;
  elf_pair *pairs; /* by place */
  size_t pair_count, pair_capacity;
  thin_output contents; /* of all units, concatenated */
  elf_zone *zones;
  size_t zone_count;
  elf_item *items;
  size_t item_count, item_capacity;
  elf_hole *holes; /* by address; after elf_plan_make_segments only those in use */
  size_t hole_count, hole_capacity;
  elf_moved_block block;
  kdl_elf_segment *segments; /* of the output */
  size_t segment_count;
  elf_patch *patches;
  size_t patch_count, patch_capacity;
  kdl_arena arena;
  size_t mappings; /* additional mappings */
} elf_plan;

/* The last unit at or before an address, or NULL. */
elf_unit *elf_plan_unit_before(const elf_plan *plan, uint64_t address);

/* elf.c: plans and writes the output, unchecked. `plan` has the input, the selection and the
 * options. Where nothing becomes smaller, the output is the input. The caller frees the plan, the
 * list and the output, also after a failure. */
kdl_status elf_plan_make(elf_plan *plan, thin_container_list *list, thin_output *out,
                         bool *out_changed);
void elf_plan_free(elf_plan *plan);

/* elf_offload.c: adds OffloadBinaries to the list of containers; finds their records; and freezes
 * a section completely where one of its units is frozen. */
void elf_offload_find(const elf_plan *plan, thin_container_list *list);
kdl_status elf_offload_find_image_refs(elf_plan *plan);
void elf_offload_freeze_sections(elf_plan *plan);

/* Adds a record; sorts records by place; finds the record at a place, or NULL. */
void elf_image_refs_add(elf_plan *plan, const elf_image_ref *record);
void elf_image_refs_sort(elf_plan *plan);
elf_image_ref *elf_image_ref_at(const elf_plan *plan, uint64_t place);

/* elf_sycl.c: SYCL's table of images, or NULL; adds its images to the list of containers; adds the
 * records of these. */
const kdl_elf_section *elf_sycl_table(const elf_image *image);
kdl_status elf_sycl_find(elf_plan *plan, thin_container_list *list);
void elf_sycl_find_image_refs(elf_plan *plan);

/* elf_refs.c: decides which units may move. */
kdl_status elf_plan_find_references(elf_plan *plan);

/* elf_layout.c: assigns new addresses. */
void elf_plan_lay_out(elf_plan *plan);

/* elf_segments.c: the segments of the output, and room for their headers. */
kdl_status elf_plan_make_segments(elf_plan *plan);

/* The output offset of an input byte that stays; and the offset of an address. */
uint64_t elf_plan_new_offset(const elf_plan *plan, uint64_t old_offset);
uint64_t elf_plan_new_offset_of_address(const elf_plan *plan, uint64_t address);

/* Whether an address is in the block that moved to make room for program headers. */
bool elf_plan_is_in_moved_block(const elf_plan *plan, uint64_t address);

/* The zone of a section, or NULL. */
const elf_zone *elf_plan_zone(const elf_plan *plan, size_t section);

/* The output address of an input address: it differs at the start of moved units. */
uint64_t elf_plan_new_address(const elf_plan *plan, uint64_t address);

/* The same for the target of a pointer at `place`, which may be within an OffloadBinary, or its
 * end. */
uint64_t elf_plan_new_pointer(const elf_plan *plan, uint64_t place, uint64_t target);

/* elf_write.c: writes pointers, tables and pieces. */
kdl_status elf_plan_write(elf_plan *plan, thin_output *out);

/* elf_check.c: compares the output with the input as a loader maps both, and as tools read them. */
kdl_status elf_plan_check(const elf_plan *plan, const thin_output *out);

#endif
