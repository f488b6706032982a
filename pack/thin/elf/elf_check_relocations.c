/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Relocations as a loader finds and applies them: for both files, from their own program headers
 * through the dynamic section to the tables in memory. Of the plan only the new positions of
 * containers are used.
 */
#include "pack/thin/elf/elf_check.h"
#include "support/base/bytes.h"

#include <string.h>

/* The tables, in the order of the walk. */
enum { rela, plt, relr, table_count };

enum { word_places = 63 }; /* per bitmap word of packed relocations */

typedef struct {
  uint64_t address, size;
  bool has_address; /* without one there is no table, even with a size */
} table;

typedef struct {
  uint64_t place, info, addend;
} relocation;

typedef struct {
  const elf_checker *c;
  elf_check_view *view;
  table tables[table_count];
  int current;
  uint64_t at;                /* offset in the current table */
  uint64_t word, first, next; /* packed: bitmap, address of its first place, of the next */
  unsigned bit;               /* next bit of the word */
  bool is_bad;                /* a table is outside of memory */
} walk;

static bool read_memory(const walk *w, uint64_t address, uint8_t *bytes, uint64_t size) {
  while (size) {
    const uint8_t *found;
    uint64_t part;
    if (!w->view(w->c, address, &found, &part))
      return false;
    if (part > size)
      part = size;
    if (found)
      memcpy(bytes, found, (size_t)part);
    else
      memset(bytes, 0, (size_t)part);
    bytes += part;
    address += part;
    size -= part;
  }
  return true;
}

/* The tags of the dynamic section for a table's address and size. */
static const struct {
  uint64_t address, size;
} tags[table_count] = {
    [rela] = {DT_RELA, DT_RELASZ},
    [plt] = {DT_JMPREL, DT_PLTRELSZ},
    [relr] = {DT_RELR, DT_RELRSZ},
};

static void read_dynamic_entry(walk *w, uint64_t tag, uint64_t value) {
  for (size_t i = 0; i < table_count; ++i) {
    if (tag == tags[i].address) {
      w->tables[i].address = value;
      w->tables[i].has_address = true;
    } else if (tag == tags[i].size) {
      w->tables[i].size = value;
    }
  }
}

static walk begin_relocation_walk(const elf_checker *c, elf_check_view *view,
                                  const kdl_elf_segment *segments, size_t count) {
  walk w = {.c = c, .view = view, .bit = word_places};
  for (size_t i = 0; i < count; ++i) {
    const kdl_elf_segment *dynamic = &segments[i];
    for (uint64_t at = 0;
         dynamic->type == PT_DYNAMIC && at + sizeof(Elf64_Dyn) <= dynamic->file_size;
         at += sizeof(Elf64_Dyn)) {
      uint8_t entry[sizeof(Elf64_Dyn)];
      w.is_bad |= !read_memory(&w, dynamic->address + at, entry, sizeof entry);
      if (w.is_bad || !kdl_load_u64(entry))
        break;
      read_dynamic_entry(&w, kdl_load_u64(entry), kdl_load_u64(entry + 8));
    }
  }
  for (size_t i = 0; i < table_count; ++i)
    w.tables[i].size = w.tables[i].has_address ? w.tables[i].size : 0;
  return w;
}

/* A packed relocation adds the load address to the word at its place. */
static bool read_packed_relocation(walk *w, uint64_t place, relocation *out) {
  uint8_t word[8];
  w->is_bad |= !read_memory(w, place, word, sizeof word);
  *out = (relocation){place, 0, w->is_bad ? 0 : kdl_load_u64(word)};
  return !w->is_bad;
}

/* An even word is an address; an odd one is a bitmap of the places after the last. */
static bool next_packed(walk *w, relocation *out) {
  for (;;) {
    while (w->bit < word_places) {
      uint64_t place = w->first + 8 * (uint64_t)w->bit++;
      if (w->word >> w->bit & 1)
        return read_packed_relocation(w, place, out);
    }
    uint8_t bytes[8];
    if (w->at + sizeof bytes > w->tables[relr].size)
      return false;
    w->is_bad |= !read_memory(w, w->tables[relr].address + w->at, bytes, sizeof bytes);
    if (w->is_bad)
      return false;
    w->at += sizeof bytes;
    w->word = kdl_load_u64(bytes);
    if (!(w->word & 1)) {
      w->next = w->word + 8;
      return read_packed_relocation(w, w->word, out);
    }
    w->bit = 0;
    w->first = w->next;
    w->next += 8 * (uint64_t)word_places;
  }
}

static bool next_relocation(walk *w, relocation *out) {
  for (; w->current < relr; ++w->current, w->at = 0) {
    uint8_t entry[sizeof(Elf64_Rela)];
    if (w->at + sizeof entry > w->tables[w->current].size)
      continue;
    w->is_bad |= !read_memory(w, w->tables[w->current].address + w->at, entry, sizeof entry);
    if (w->is_bad)
      return false;
    w->at += sizeof entry;
    *out = (relocation){kdl_load_u64(entry), kdl_load_u64(entry + 8), kdl_load_u64(entry + 16)};
    return true;
  }
  return next_packed(w, out);
}

kdl_status elf_check_relocations(const elf_checker *c) {
  const elf_image *image = &c->plan->image;
  walk old = begin_relocation_walk(c, elf_check_view_old, image->segments, image->segment_count);
  walk now = begin_relocation_walk(c, elf_check_view_new, c->segments, c->count);
  for (;;) {
    relocation was, is;
    bool has_old = next_relocation(&old, &was), has_new = next_relocation(&now, &is);
    if (old.is_bad || now.is_bad)
      return elf_check_fail(c, "relocations out of memory", old.is_bad ? old.at : now.at);
    if (has_old != has_new || old.current != now.current)
      return elf_check_fail(c, "another number of relocations", now.at);
    if (!has_old)
      return KDL_OK;
    bool is_pointer = old.current == relr || elf_image_is_relative(image, (uint32_t)was.info);
    uint64_t target =
        is_pointer ? elf_plan_new_pointer(c->plan, was.place, was.addend) : was.addend;
    if (is.place != was.place || is.info != was.info || is.addend != target)
      return elf_check_fail(c, "another relocation", was.place);
  }
}
