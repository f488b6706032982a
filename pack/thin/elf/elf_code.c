/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * References that no relocation describes. A linker resolves references within a file, so that they
 * exist only in instructions and data:
 *
 *   x86-64    a 32-bit distance from the end of the instruction; with larger code models a 64-bit
 *             immediate, a distance from the global offset table
 *   AArch64   adr; ldr of a literal, which may be a distance; adrp, which computes a page
 *   RISC-V    auipc, which computes an address to which the next instruction adds up to 2 KB
 *   data      a 32- or 64-bit distance from its own address to the start of an object. Writable
 * data has pointers instead, and unwind frames refer to code
 *
 * Any bytes of x86-64 code may look like an instruction with a distance. .eh_frame has the bounds
 * of functions: where a function decodes completely between them, only its own instructions count.
 * Elsewhere, possible instructions at every byte count.
 */
#include "pack/thin/elf/elf_code.h"

#include "support/base/array.h"
#include "support/base/bytes.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

enum { longest_immediate = 4, longest_literal = 16, not_sure = 2, near = 64 };

static bool is_in_scanned_span(const elf_reference_scan *scan, uint64_t start, uint64_t size) {
  uint64_t end = start + size + scan->reach;
  size_t low = 0, high = scan->count;
  while (low < high) { /* the first span that ends after the start */
    size_t middle = low + (high - low) / 2;
    if (scan->spans[middle].end <= start)
      low = middle + 1;
    else
      high = middle;
  }
  return low < scan->count && scan->spans[low].start < end;
}

static void report_reference(const elf_reference_scan *scan, uint64_t start, uint64_t size) {
  if (is_in_scanned_span(scan, start, size))
    scan->on_reference(scan->user, &(elf_span){start, start + size}, false);
}

static uint64_t distance32(const uint8_t *at) {
  return (uint64_t)(int64_t)(int32_t)kdl_load_u32(at);
}

/* ------------------------------------------------------------------------------------------ */
/* Function bounds                                                                              */

typedef struct {
  elf_span *items;
  size_t count, capacity;
} span_list;

/* The pointer encoding of a CIE's frames, or -1. */
static int frame_encoding(const uint8_t *entry, const uint8_t *end) {
  const uint8_t *at = entry + 9, *text = at;
  at = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
  if (!at || text[0] != 'z' || (entry[8] != 1 && entry[8] != 3))
    return -1;
  ++at;
  for (int i = 0; i < 4; ++i) { /* alignments, return address register, length of the data */
    while (at < end && *at & 0x80)
      ++at;
    ++at;
  }
  for (++text; at < end; ++text) {
    switch (*text) {
    case 'R':
      return *at;
    case 'L':
      ++at;
      break;
    case 'P':
      switch (*at & 7) {
      case 0:
      case 4:
        at += 9;
        break;
      case 3:
        at += 5;
        break;
      default:
        return -1;
      }
      break;
    case 'S':
    case 'B':
      break;
    default:
      return -1;
    }
  }
  return -1;
}

static void add_frame(span_list *list, uint64_t start, uint64_t size) {
  list->items = xgrow(list->items, list->count, &list->capacity, 1024, sizeof *list->items);
  list->items[list->count++] = (elf_span){start, start + size};
}

/* Skips frames with another encoding of their function. */
static void read_frames(const elf_image *image, const kdl_elf_section *section, span_list *list) {
  enum { relative32 = 0x1b, relative64 = 0x1c };
  const uint8_t *bytes = image->data + section->offset, *cie = NULL;
  int encoding = -1;
  for (uint64_t at = 0, size; at + 8 <= section->size; at += 4 + size) {
    const uint8_t *entry = bytes + at;
    size = kdl_load_u32(entry);
    if (size == 0)
      continue; /* a terminator; frames of another object file follow */
    uint32_t back = kdl_load_u32(entry + 4);
    if (size < 4 || size > section->size - at - 4)
      break;
    if (back == 0 || back > at + 4)
      continue;
    if (cie != entry + 4 - back) {
      cie = entry + 4 - back;
      uint64_t cie_size = kdl_load_u32(cie), room = section->size - (uint64_t)(cie - bytes) - 4;
      encoding = frame_encoding(cie, cie + 4 + (cie_size < room ? cie_size : room));
    }
    uint64_t place = section->address + at + 8;
    if (encoding == relative32 && size >= 12)
      add_frame(list, place + distance32(entry + 8), kdl_load_u32(entry + 12));
    else if (encoding == relative64 && size >= 20)
      add_frame(list, place + kdl_load_u64(entry + 8), kdl_load_u64(entry + 16));
  }
}

static void find_functions(const elf_image *image, span_list *list) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != SHT_NOBITS && section->flags & SHF_ALLOC &&
        strcmp(elf_image_section_name(image, section), ".eh_frame") == 0)
      read_frames(image, section, list);
  }
  kdl_array_sort(list->items, list->count, sizeof *list->items, offsetof(elf_span, start));
}

/* ------------------------------------------------------------------------------------------ */
/* x86-64                                                                                       */

typedef struct {
  const elf_image *image;
  const elf_reference_scan *scan;
  uint64_t lowest, highest; /* addresses of interest */
} x86_walk;

/* Whether the bytes after a RIP-relative ModRM, taken as a distance, lead to a scanned span. An
 * immediate may follow. */
static bool may_refer(const x86_walk *walk, const kdl_elf_section *section, uint64_t modrm) {
  const uint8_t *code = walk->image->data + section->offset;
  uint64_t to = section->address + modrm + 5 + distance32(code + modrm + 1);
  return to - walk->lowest <= walk->highest - walk->lowest &&
         is_in_scanned_span(walk->scan, to, longest_immediate + 1);
}

/* The next such ModRM, or the end. */
static uint64_t next_reference(const x86_walk *walk, const kdl_elf_section *section, uint64_t at,
                               uint64_t end) {
  const uint8_t *code = walk->image->data + section->offset;
  for (; at + 5 <= end; ++at) {
    if ((code[at] & 0xc7) == 5 && may_refer(walk, section, at))
      return at;
  }
  return end;
}

/* Reports references of possible instructions at every byte. */
static void scan_bytes(const x86_walk *walk, const kdl_elf_section *section, uint64_t start,
                       uint64_t end) {
  enum { farthest = 14 };
  const uint8_t *code = walk->image->data + section->offset;
  for (uint64_t i = next_reference(walk, section, start, end); i < end;
       i = next_reference(walk, section, i + 1, end)) {
    for (uint64_t from = i - start < farthest ? start : i - farthest; from < i; ++from) {
      size_t displacement,
          size = x86_instruction_length(code + from, (size_t)(end - from), &displacement);
      if (size && from + displacement == i + 1)
        report_reference(walk->scan, section->address + from + size + distance32(code + i + 1),
                         not_sure);
    }
  }
}

/* Reports references of the instructions; false where the bytes do not decode from start to end. */
static bool decode_instructions(const x86_walk *walk, const kdl_elf_section *section,
                                uint64_t start, uint64_t end, bool is_told) {
  const uint8_t *code = walk->image->data + section->offset;
  for (uint64_t at = start; at < end;) {
    size_t displacement,
        size = x86_instruction_length(code + at, (size_t)(end - at), &displacement);
    if (size == 0)
      return false;
    if (displacement && is_told)
      report_reference(walk->scan,
                       section->address + at + size + distance32(code + at + displacement), 1);
    at += size;
  }
  return true;
}

/* The address of the global offset table, from which 64-bit distances are counted; or 0. */
static uint64_t find_offset_table(const elf_image *image) {
  uint64_t table = 0;
  if (elf_image_dynamic(image, DT_PLTGOT, &table))
    return table;
  for (size_t i = 1; i < image->section_count; ++i) {
    const char *name = elf_image_section_name(image, &image->sections[i]);
    if (strcmp(name, ".got.plt") == 0 || (strcmp(name, ".got") == 0 && !table))
      table = image->sections[i].address;
  }
  return table;
}

/* movabs: the distance counts from that table or, where that leads nowhere in the file, from a
 * nearby address. */
static void scan_immediates(const x86_walk *walk, const kdl_elf_section *section) {
  const uint8_t *code = walk->image->data + section->offset;
  uint64_t table = find_offset_table(walk->image);
  for (uint64_t i = 0; i + 10 <= section->size; ++i) {
    if ((code[i] & 0xfe) != 0x48 || (code[i + 1] & 0xf8) != 0xb8)
      continue;
    uint64_t value = kdl_load_u64(code + i + 2);
    if (table && elf_image_loaded(walk->image, table + value, 0))
      report_reference(walk->scan, table + value, 1);
    else
      report_reference(walk->scan, section->address + i + value - near, 2 * (uint64_t)near);
  }
}

static void scan_function(const x86_walk *walk, const kdl_elf_section *section, uint64_t start,
                          uint64_t end) {
  if (next_reference(walk, section, start, end) == end)
    return;
  if (decode_instructions(walk, section, start, end, false))
    decode_instructions(walk, section, start, end, true);
  else
    scan_bytes(walk, section, start, end);
}

static void scan_x86_64(const x86_walk *walk, const kdl_elf_section *section,
                        const span_list *functions) {
  uint64_t seen = 0;
  size_t first = kdl_array_lower_bound(functions->items, functions->count, sizeof *functions->items,
                                       offsetof(elf_span, start), section->address);
  for (size_t i = first; i < functions->count; ++i) {
    uint64_t start = functions->items[i].start - section->address;
    uint64_t size = functions->items[i].end - functions->items[i].start;
    if (start >= section->size)
      break;
    if (start < seen || !kdl_in_range(start, size, section->size))
      continue;
    scan_bytes(walk, section, seen, start);
    scan_function(walk, section, start, start + size);
    seen = start + size;
  }
  scan_bytes(walk, section, seen, section->size);
  scan_immediates(walk, section);
}

/* ------------------------------------------------------------------------------------------ */
/* AArch64 and RISC-V                                                                           */

/* The constant of an instruction that adds to a register, or loads or stores relative to it; false
 * for others. */
static bool page_offset(uint32_t word, uint32_t page_register, uint64_t *out_offset) {
  if ((word >> 5 & 31) != page_register)
    return false;
  uint64_t constant = word >> 10 & 0xfff;
  if ((word & 0xffc00000) == 0x91000000)
    *out_offset = constant;
  else if ((word & 0x3b000000) == 0x39000000)
    *out_offset = constant << ((word & 0x04800000) == 0x04800000 ? 4 : word >> 30);
  else
    return false;
  return true;
}

static void report_page_references(const elf_reference_scan *scan, const uint8_t *code,
                                   uint64_t size, uint64_t page) {
  enum { page_size = 0x1000, reach = 16 };
  uint32_t page_register = kdl_load_u32(code) & 31;
  report_reference(scan, page, page_size);
  for (uint64_t i = 4; i + 4 <= size && i <= reach * 4; i += 4) {
    uint64_t offset;
    uint32_t word = kdl_load_u32(code + i);
    if (page_offset(word, page_register, &offset))
      report_reference(scan, page + offset, 1);
    if ((word & 31) == page_register)
      break;
  }
}

/* A literal is loaded and may be a distance from a nearby address. */
static void report_literal(const elf_image *image, const elf_reference_scan *scan,
                           uint64_t address) {
  const uint8_t *at = elf_image_at(image, address, 8);
  report_reference(scan, address, longest_literal);
  if (!at)
    return;
  report_reference(scan, address + distance32(at) - near, 2 * (uint64_t)near);
  report_reference(scan, address + kdl_load_u64(at) - near, 2 * (uint64_t)near);
}

static void scan_aarch64(const elf_image *image, const elf_reference_scan *scan,
                         const uint8_t *code, uint64_t size, uint64_t address) {
  for (uint64_t i = 0; i + 4 <= size; i += 4) {
    uint32_t word = kdl_load_u32(code + i);
    if ((word & 0x3b000000) == 0x18000000)
      report_literal(image, scan,
                     address + i + ((((uint64_t)(word >> 5 & 0x7ffff) ^ 0x40000) - 0x40000) << 2));
    if ((word & 0x1f000000) != 0x10000000)
      continue;
    uint64_t bits = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
    uint64_t distance = (bits ^ 0x100000) - 0x100000;
    if (word >> 31)
      report_page_references(scan, code + i, size - i,
                             ((address + i) & ~(uint64_t)0xfff) + (distance << 12));
    else
      report_reference(scan, address + i + distance, 1);
  }
}

static void scan_riscv(const elf_reference_scan *scan, const uint8_t *code, uint64_t size,
                       uint64_t address) {
  enum { auipc = 0x17, reach = 0x800 };
  for (uint64_t i = 0; i + 4 <= size; i += 2) {
    uint32_t word = kdl_load_u32(code + i);
    if ((word & 0x7f) == auipc)
      report_reference(scan, address + i + (uint64_t)(int64_t)(int32_t)(word & 0xfffff000) - reach,
                       2 * reach);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All                                                                                          */

/* A distance from its own address to the start of a span; other addresses in a span are
 * coincidence. The spans themselves contain no such distances. */
static void scan_distances(const elf_image *image, const kdl_elf_section *section,
                           const elf_reference_scan *scan) {
  const uint8_t *bytes = image->data + section->offset;
  size_t next = 0;
  for (uint64_t i = -section->address & 3; i + 4 <= section->size; i += 4) {
    uint64_t here = section->address + i, to = here + distance32(bytes + i);
    while (next < scan->count && scan->spans[next].end <= here)
      ++next;
    if (next < scan->count && here >= scan->spans[next].start) {
      i = ((scan->spans[next].end - section->address + 3) & ~(uint64_t)3) - 4;
      continue;
    }
    size_t found = kdl_array_lower_bound(scan->spans, scan->count, sizeof *scan->spans,
                                         offsetof(elf_span, start), to);
    if (found < scan->count && scan->spans[found].start == to)
      report_reference(scan, to, 1);
  }
}

static void scan_numbers(const elf_image *image, const kdl_elf_section *section, bool is_code,
                         const elf_reference_scan *scan) {
  const uint8_t *bytes = image->data + section->offset;
  for (uint64_t i = 0; i + 4 <= section->size; i += is_code ? 1 : 4) {
    uint64_t number = kdl_load_u32(bytes + i);
    if (is_in_scanned_span(scan, number, 1))
      scan->on_reference(scan->user, &(elf_span){number, number + 1}, true);
  }
}

bool elf_code_is_known(const elf_image *image) {
  if (image->header.type == ET_EXEC)
    return image->header.machine == EM_X86_64;
  return image->header.machine == EM_X86_64 || image->header.machine == EM_AARCH64 ||
         image->header.machine == EM_RISCV;
}

static void scan_section(const x86_walk *walk, const kdl_elf_section *section,
                         const span_list *functions) {
  const elf_image *image = walk->image;
  const uint8_t *code = image->data + section->offset;
  bool is_code = section->flags & SHF_EXECINSTR;
  if (is_code && image->header.machine == EM_X86_64)
    scan_x86_64(walk, section, functions);
  else if (is_code && image->header.machine == EM_AARCH64)
    scan_aarch64(image, walk->scan, code, section->size, section->address);
  else if (is_code && image->header.machine == EM_RISCV)
    scan_riscv(walk->scan, code, section->size, section->address);
  else if (!(section->flags & SHF_WRITE) &&
           strncmp(elf_image_section_name(image, section), ".eh_frame", 9) != 0)
    scan_distances(image, section, walk->scan);
  if (image->header.type == ET_EXEC)
    scan_numbers(image, section, is_code, walk->scan);
}

void elf_code_find_references(const elf_image *image, const elf_reference_scan *scan) {
  span_list functions = {NULL, 0, 0};
  if (scan->count == 0)
    return;
  uint64_t lowest = scan->spans[0].start, less = scan->reach + longest_immediate;
  x86_walk walk = {image, scan, lowest < less ? 0 : lowest - less,
                   scan->spans[scan->count - 1].end};
  if (image->header.machine == EM_X86_64)
    find_functions(image, &functions);
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type == SHT_PROGBITS && section->flags & SHF_ALLOC)
      scan_section(&walk, section, &functions);
  }
  free(functions.items);
}
