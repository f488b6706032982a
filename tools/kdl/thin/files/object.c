/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Relocatable ELF objects. Nothing maps them, so that a section may become shorter and what lies
 * behind it moves up. What points into a section that shrank is a symbol or a relocation against
 * the section, and both are moved with the container that they point to; where one points
 * elsewhere, or sections share bytes, the object stays as it is.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "image/image.h"
#include "thin/kinds.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_elf_section header;
  bool shrinks;
  thin_moves moves;
  thin_output made; /* of one that shrinks */
} section;

typedef struct {
  const thin_work *work;
  const uint8_t *data; /* of the object */
  kdl_elf elf;
  uint64_t at, size; /* in the file */
  uint64_t headers;  /* offset of the section headers */
  section *sections;
  size_t count;
  struct place {
    uint64_t offset;
    size_t index;
  } *order; /* the sections with bytes, by their offset */
  size_t order_count;
} object;

bool thin_is_object(const uint8_t *data, uint64_t size) {
  kdl_image_kind kind;
  return kdl_file_sniff(data, (size_t)size, &kind) == KDL_FILE_OBJECT;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static bool has_bytes(const section *s) {
  return s->header.type != SHT_NOBITS && s->header.type != SHT_NULL && s->header.size != 0;
}

/* Whether SYCL's table of images is there, which tells sizes that no relocation does. */
static bool has_sizes(const object *o, const section *names) {
  static const char table[] = ".tgtimg";
  for (size_t i = 1; i < o->count; ++i) {
    uint32_t name = kdl_load_u32(o->data + o->headers + i * sizeof(Elf64_Shdr));
    if (kdl_in_range(name, sizeof table, names->header.size) &&
        memcmp(o->data + names->header.offset + name, table, sizeof table) == 0)
      return true;
  }
  return false;
}

/* False where the headers do not fit: such an object is left alone. */
static bool read_sections(object *o) {
  o->elf = kdl_elf_load_header(o->data);
  o->headers = o->elf.section_table;
  if (o->elf.segment_count != 0 || o->elf.section_size != sizeof(Elf64_Shdr) || !o->headers ||
      !kdl_in_range(o->headers, sizeof(Elf64_Shdr), o->size))
    return false;
  if (kdl_elf_is_extended(&o->elf)) {
    kdl_elf_section first = kdl_elf_load_section(&o->elf, o->data + o->headers);
    kdl_elf_extend(&o->elf, &first);
  }
  o->count = o->elf.section_count;
  if (o->count == 0 || o->count > o->size / sizeof(Elf64_Shdr) ||
      !kdl_in_range(o->headers, o->count * sizeof(Elf64_Shdr), o->size))
    return false;
  o->sections = calloc(o->count, sizeof *o->sections);
  o->order = calloc(o->count, sizeof *o->order);
  if (!o->sections || !o->order)
    return false;
  for (size_t i = 0; i < o->count; ++i) {
    o->sections[i].header =
        kdl_elf_load_section(&o->elf, o->data + o->headers + i * sizeof(Elf64_Shdr));
    if (has_bytes(&o->sections[i]) &&
        !kdl_in_range(o->sections[i].header.offset, o->sections[i].header.size, o->size))
      return false;
  }
  uint64_t names = o->elf.section_names;
  return names < o->count &&
         o->sections[names].header.type == SHT_STRTAB && /* whose bytes are kept */
         !has_sizes(o, &o->sections[names]);
}

static int by_offset(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : 0;
}

/* False where sections share bytes with each other or with a header. */
static bool order_sections(object *o) {
  for (size_t i = 0; i < o->count; ++i) {
    if (has_bytes(&o->sections[i]))
      o->order[o->order_count++] = (struct place){o->sections[i].header.offset, i};
  }
  qsort(o->order, o->order_count, sizeof *o->order, by_offset);
  uint64_t end = sizeof(Elf64_Ehdr);
  uint64_t headers_end = o->headers + o->count * sizeof(Elf64_Shdr);
  for (size_t i = 0; i < o->order_count; ++i) {
    const section *s = &o->sections[o->order[i].index];
    bool covers_headers =
        s->header.offset < headers_end && o->headers < s->header.offset + s->header.size;
    bool odd_alignment =
        s->header.alignment & (s->header.alignment - 1) || s->header.alignment > 1 << 21;
    if (s->header.offset < end || covers_headers || odd_alignment)
      return false;
    end = s->header.offset + s->header.size;
  }
  return o->headers >= sizeof(Elf64_Ehdr);
}

/* ------------------------------------------------------------------------------------------ */
/* What points into a section                                                                   */

/* Where a byte that something points to is now: the first of a container, or one that lies in none.
 */
static bool find_new(const thin_moves *moves, uint64_t old, uint64_t *out_new) {
  size_t low = 0, high = moves->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    *(moves->items[middle].from <= old ? &low : &high) = middle;
  }
  if (high == 0)
    return false;
  const thin_move *move = &moves->items[low];
  bool is_inside = old >= move->from && old - move->from < move->size;
  if (!is_inside || (old != move->from && move->new_size != move->size))
    return false;
  *out_new = move->to + (old - move->from);
  return true;
}

static const thin_move *find_move(const thin_moves *moves, uint64_t from) {
  for (size_t i = 0; i < moves->count; ++i) {
    if (moves->items[i].from == from)
      return &moves->items[i];
  }
  return NULL;
}

static uint8_t *copy_table(const object *o, const section *table, thin_output *out) {
  uint8_t *made = thin_output_add_room(out, (size_t)table->header.size);
  return made ? memcpy(made, o->data + table->header.offset, (size_t)table->header.size) : NULL;
}

/* The symbols of a table with their new values; NULL where one has none. */
static uint8_t *move_symbols(const object *o, const section *table, thin_output *out) {
  uint8_t *made = copy_table(o, table, out);
  for (uint64_t at = 0; made && at + sizeof(Elf64_Sym) <= table->header.size;
       at += sizeof(Elf64_Sym)) {
    uint8_t *symbol = made + at;
    uint16_t index = kdl_load_u16(symbol + 6);
    uint64_t value = kdl_load_u64(symbol + 8), size = kdl_load_u64(symbol + 16), now;
    if (index == SHN_UNDEF || index >= o->count || !o->sections[index].shrinks ||
        ELF64_ST_TYPE(symbol[4]) == STT_SECTION)
      continue;
    const thin_moves *moves = &o->sections[index].moves;
    if (value == o->sections[index].header.size && size == 0) { /* its end */
      kdl_store_u64(symbol + 8, o->sections[index].made.size);
      continue;
    }
    if (!find_new(moves, value, &now))
      return NULL;
    const thin_move *move = find_move(moves, value);
    kdl_store_u64(symbol + 8, now);
    if (move && size == move->size)
      kdl_store_u64(symbol + 16, move->new_size);
    else if (size == o->sections[index].header.size - value)
      kdl_store_u64(symbol + 16, o->sections[index].made.size - now);
    else if (move && size > move->new_size)
      return NULL;
  }
  return made;
}

/* The section that a relocation's symbol is of, where it is a symbol of a section. */
static const section *section_of(const object *o, const section *relocations, uint64_t info) {
  const section *symbols =
      relocations->header.link < o->count ? &o->sections[relocations->header.link] : NULL;
  uint64_t at = (info >> 32) * sizeof(Elf64_Sym);
  if (!symbols || symbols->header.type != SHT_SYMTAB ||
      !kdl_in_range(at, sizeof(Elf64_Sym), symbols->header.size))
    return NULL;
  const uint8_t *symbol = o->data + symbols->header.offset + at;
  uint16_t index = kdl_load_u16(symbol + 6);
  return ELF64_ST_TYPE(symbol[4]) == STT_SECTION && index < o->count ? &o->sections[index] : NULL;
}

static uint8_t *move_relocations(const object *o, const section *table, thin_output *out) {
  uint8_t *made = copy_table(o, table, out);
  for (uint64_t at = 0; made && at + sizeof(Elf64_Rela) <= table->header.size;
       at += sizeof(Elf64_Rela)) {
    uint8_t *entry = made + at;
    uint64_t now;
    const section *to = section_of(o, table, kdl_load_u64(entry + 8));
    if (!to || !to->shrinks)
      continue;
    if (!find_new(&to->moves, kdl_load_u64(entry + 16), &now))
      return NULL;
    kdl_store_u64(entry + 16, now);
  }
  return made;
}

/* Relocations of what a section that shrank holds would have to move too, and there are none in
 * images; those of the older kind keep what they add in the bytes that they are for. */
static bool has_odd_relocations(const object *o) {
  for (size_t i = 0; i < o->count; ++i) {
    const section *s = &o->sections[i];
    bool is_own = s->header.type == SHT_RELA && s->header.info < o->count &&
                  o->sections[s->header.info].shrinks;
    if (s->header.size && (is_own || s->header.type == SHT_REL))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* What is made for a part lies in the arena of the whole. */
static void lend_arena(thin_output *out, thin_output *part) {
  part->arena = out->arena;
  out->arena = (kdl_arena){.blocks = NULL};
}

static void take_arena(thin_output *out, thin_output *part) {
  out->arena = part->arena;
  part->arena = (kdl_arena){.blocks = NULL};
}

static kdl_status shrink_sections(object *o, thin_output *out, bool *out_any) {
  kdl_status status = KDL_OK;
  *out_any = false;
  for (size_t i = 0; i < o->count && status == KDL_OK; ++i) {
    section *s = &o->sections[i];
    if (!has_bytes(s) || s->header.flags & SHF_COMPRESSED)
      continue;
    thin_range range = {o->at + s->header.offset, s->header.size};
    if (!thin_loses_any(o->work, range))
      continue;
    s->shrinks = *out_any = true;
    lend_arena(out, &s->made);
    status = thin_is_offload_binary(o->data + s->header.offset, s->header.size)
                 ? thin_offload_binaries(o->work, range, &s->moves, &s->made)
                 : thin_sequence(o->work, range, &s->moves, &s->made);
    take_arena(out, &s->made);
  }
  return status;
}

static bool is_table(const object *o, const section *s) {
  return s->header.type == SHT_SYMTAB && s->header.entry_size == sizeof(Elf64_Sym) &&
         o->count < SHN_LORESERVE;
}

/* A section with its bytes as they become; false where they cannot be made. */
static bool put_section(object *o, const section *s, thin_output *out, kdl_status *out_status) {
  if (s->shrinks) {
    *out_status = thin_output_append(out, &s->made, 0, s->made.size);
    return true;
  }
  if (s->header.type == SHT_SYMTAB)
    return is_table(o, s) && move_symbols(o, s, out) != NULL;
  if (s->header.type == SHT_RELA)
    return move_relocations(o, s, out) != NULL;
  *out_status = thin_output_add(out, o->data + s->header.offset, s->header.size);
  return true;
}

static kdl_status align(thin_output *out, uint64_t start, uint64_t alignment) {
  uint64_t padding = alignment > 1 ? -(out->size - start) & (alignment - 1) : 0;
  return padding ? thin_output_add_zeros(out, padding) : KDL_OK;
}

/* A section without bytes stands where the next one with some does. */
static void place_empty(const object *o, uint8_t *table, uint64_t end) {
  for (size_t i = 1; i < o->count; ++i) {
    const section *s = &o->sections[i];
    size_t next = 0;
    if (has_bytes(s))
      continue;
    while (next < o->order_count && o->order[next].offset < s->header.offset)
      ++next;
    uint64_t at = end;
    if (next < o->order_count)
      at = kdl_load_u64(table + o->order[next].index * sizeof(Elf64_Shdr) + 24);
    kdl_store_u64(table + i * sizeof(Elf64_Shdr) + 24, at);
  }
}

/* *out_done is false where the object must stay as it is; `out` is then to be thrown away. */
static kdl_status put_object(object *o, thin_output *out, bool *out_done) {
  uint64_t start = out->size;
  uint8_t *header = thin_output_add_room(out, sizeof(Elf64_Ehdr));
  uint8_t *table = kdl_arena_alloc(&out->arena, o->count * sizeof(Elf64_Shdr));
  if (!header || !table)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", o->work->input->name);
  memcpy(header, o->data, sizeof(Elf64_Ehdr));
  memcpy(table, o->data + o->headers, o->count * sizeof(Elf64_Shdr));
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < o->order_count && status == KDL_OK; ++i) {
    const section *s = &o->sections[o->order[i].index];
    uint8_t *raw = table + o->order[i].index * sizeof(Elf64_Shdr);
    status = align(out, start, s->header.alignment);
    uint64_t at = out->size;
    if (status == KDL_OK && !put_section(o, s, out, &status)) {
      *out_done = false;
      return KDL_OK;
    }
    kdl_store_u64(raw + 24, at - start);
    kdl_store_u64(raw + 32, out->size - at);
  }
  if (status == KDL_OK)
    status = align(out, start, 8);
  place_empty(o, table, out->size - start);
  kdl_store_u64(header + 40, out->size - start);
  if (status == KDL_OK)
    status = thin_output_add(out, table, o->count * sizeof(Elf64_Shdr));
  *out_done = status == KDL_OK;
  return status;
}

static void free_object(object *o) {
  for (size_t i = 0; o->sections && i < o->count; ++i) {
    free(o->sections[i].moves.items);
    thin_output_free(&o->sections[i].made);
  }
  free(o->sections);
  free(o->order);
}

kdl_status thin_object(const thin_work *work, thin_range range, thin_output *out) {
  object o = {
      .work = work, .data = work->input->data + range.at, .at = range.at, .size = range.size};
  bool any = false, done = false;
  kdl_status status = KDL_OK;
  thin_output made = {.count = 0};
  if (thin_loses_any(work, range) && read_sections(&o) && order_sections(&o))
    status = shrink_sections(&o, out, &any);
  if (status == KDL_OK && any && !has_odd_relocations(&o)) {
    lend_arena(out, &made);
    status = put_object(&o, &made, &done);
    take_arena(out, &made);
  }
  if (status == KDL_OK && done)
    status = thin_output_append(out, &made, 0, made.size);
  else if (status == KDL_OK)
    status = thin_output_add(out, o.data, range.size);
  for (size_t i = 0; done && i < o.count; ++i) {
    if (o.sections[i].shrinks)
      thin_note_gone(
          work, (thin_range){range.at + o.sections[i].header.offset, o.sections[i].header.size});
  }
  work->report->stayed += !done && thin_loses_any(work, range);
  thin_output_free(&made);
  free_object(&o);
  return status;
}
