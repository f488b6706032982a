/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Relocatable ELF objects. Nothing maps them, so that a section can shrink and the data after it
 * move up. Only symbols and relocations point into a section that shrank, and they follow the
 * container that they point to. Where one points elsewhere, or sections share bytes, the object
 * stays unchanged.
 */
#include "pack/thin/file_kinds.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_elf_section header;
  bool shrinks;
  thin_moves moves;
  thin_output made; /* new contents, where it shrinks */
} section;

typedef struct {
  const thin_context *context;
  const uint8_t *data; /* of the object */
  uint64_t at, size;   /* in the file */
  kdl_elf elf;
  section *sections;
  size_t count;
  section **order; /* sections with bytes, by offset */
  size_t order_count;
} object;

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static bool has_bytes(const section *s) {
  return s->header.type != SHT_NOBITS && s->header.type != SHT_NULL && s->header.size != 0;
}

/* Whether there is a table of SYCL's images, which contains sizes without relocations. */
static bool has_sycl_table(const object *o, const kdl_elf_section *names) {
  static const char table[] = ".tgtimg";
  for (size_t i = 1; i < o->count; ++i) {
    uint32_t name = o->sections[i].header.name;
    if (kdl_in_range(name, sizeof table, names->size) &&
        memcmp(o->data + names->offset + name, table, sizeof table) == 0)
      return true;
  }
  return false;
}

/* False where the headers are inconsistent: the object then stays unchanged. */
static bool read_sections(object *o) {
  kdl_elf *elf = &o->elf;
  *elf = kdl_elf_load_header(o->data);
  if (elf->segment_count != 0 || elf->section_size != sizeof(Elf64_Shdr) ||
      elf->section_table < sizeof(Elf64_Ehdr) ||
      !kdl_in_range(elf->section_table, sizeof(Elf64_Shdr), o->size))
    return false;
  if (kdl_elf_is_extended(elf)) {
    kdl_elf_section first = kdl_elf_load_section(elf, o->data + elf->section_table);
    kdl_elf_extend(elf, &first);
  }
  if (elf->section_count == 0 ||
      elf->section_count > (o->size - elf->section_table) / sizeof(Elf64_Shdr))
    return false;
  o->count = (size_t)elf->section_count;
  o->sections = xcalloc(o->count, sizeof *o->sections);
  o->order = xcalloc(o->count, sizeof *o->order);
  for (size_t i = 0; i < o->count; ++i) {
    section *s = &o->sections[i];
    s->header = kdl_elf_load_section(elf, o->data + elf->section_table + i * sizeof(Elf64_Shdr));
    if (!has_bytes(s))
      continue;
    if (!kdl_in_range(s->header.offset, s->header.size, o->size))
      return false;
    o->order[o->order_count++] = s;
  }
  if (elf->section_names >= o->count)
    return false;
  const kdl_elf_section *names = &o->sections[elf->section_names].header;
  return names->type == SHT_STRTAB && !has_sycl_table(o, names);
}

static int compare_section_offsets(const void *left, const void *right) {
  uint64_t a = (*(section *const *)left)->header.offset;
  uint64_t b = (*(section *const *)right)->header.offset;
  return (a > b) - (a < b);
}

/* False where sections share bytes with each other or with a header. */
static bool order_sections(object *o) {
  qsort(o->order, o->order_count, sizeof *o->order, compare_section_offsets);
  uint64_t end = sizeof(Elf64_Ehdr), headers = o->elf.section_table;
  uint64_t headers_end = headers + o->count * sizeof(Elf64_Shdr);
  for (size_t i = 0; i < o->order_count; ++i) {
    const kdl_elf_section *s = &o->order[i]->header;
    bool covers_headers = s->offset < headers_end && headers < s->offset + s->size;
    bool odd_alignment = s->alignment & (s->alignment - 1) || s->alignment > 1 << 21;
    if (s->offset < end || covers_headers || odd_alignment)
      return false;
    end = s->offset + s->size;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Pointers into a section                                                                      */

/* The last move that begins at or before an offset of the section, or NULL. */
static const thin_move *find_move(const thin_moves *moves, uint64_t old) {
  size_t low = 0, high = moves->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    *(moves->items[middle].from <= old ? &low : &high) = middle;
  }
  return high && moves->items[low].from <= old ? &moves->items[low] : NULL;
}

/* The new offset of a byte that something points to: the first of a container, or one outside of
 * containers. */
static bool find_new_offset(const thin_moves *moves, uint64_t old, uint64_t *out_new) {
  const thin_move *move = find_move(moves, old);
  if (!move || old - move->from >= move->size ||
      (old != move->from && move->new_size != move->size))
    return false;
  *out_new = move->to + (old - move->from);
  return true;
}

static uint8_t *copy_table(const object *o, const kdl_elf_section *table, thin_output *out) {
  uint8_t *made = thin_output_add_uninitialized(out, (size_t)table->size);
  return memcpy(made, o->data + table->offset, (size_t)table->size);
}

/* Updates a symbol's value and size; false where it has no new position. */
static bool move_symbol(const object *o, uint8_t *raw) {
  kdl_elf_symbol symbol = kdl_elf_load_symbol(&o->elf, raw);
  if (!symbol.is_defined || symbol.section >= o->count || !o->sections[symbol.section].shrinks ||
      symbol.type == STT_SECTION)
    return true;
  const section *of = &o->sections[symbol.section];
  uint64_t old_size = of->header.size, new_size = of->made.size, now;
  uint8_t *value = raw + offsetof(Elf64_Sym, st_value), *size = raw + offsetof(Elf64_Sym, st_size);
  if (symbol.address == old_size && symbol.size == 0) { /* its end */
    kdl_store_u64(value, new_size);
    return true;
  }
  if (!find_new_offset(&of->moves, symbol.address, &now))
    return false;
  const thin_move *move = find_move(&of->moves, symbol.address);
  bool is_start = move->from == symbol.address;
  kdl_store_u64(value, now);
  if (is_start && symbol.size == move->size)
    kdl_store_u64(size, move->new_size);
  else if (symbol.size == old_size - symbol.address)
    kdl_store_u64(size, new_size - now);
  else if (is_start && symbol.size > move->new_size)
    return false;
  return true;
}

static bool move_symbols(const object *o, const kdl_elf_section *table, thin_output *out) {
  uint8_t *made = copy_table(o, table, out);
  if (table->entry_size != sizeof(Elf64_Sym) || o->count >= SHN_LORESERVE)
    return false;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
    if (!move_symbol(o, made + at))
      return false;
  }
  return true;
}

/* The section of a relocation's symbol, if that is a section symbol. */
static const section *relocated_section(const object *o, const kdl_elf_section *relocations,
                                        uint64_t info) {
  uint64_t at = ELF64_R_SYM(info) * sizeof(Elf64_Sym);
  if (relocations->link >= o->count)
    return NULL;
  const kdl_elf_section *symbols = &o->sections[relocations->link].header;
  if (symbols->type != SHT_SYMTAB || !kdl_in_range(at, sizeof(Elf64_Sym), symbols->size))
    return NULL;
  kdl_elf_symbol symbol = kdl_elf_load_symbol(&o->elf, o->data + symbols->offset + at);
  return symbol.type == STT_SECTION && symbol.section < o->count ? &o->sections[symbol.section]
                                                                 : NULL;
}

static bool move_relocations(const object *o, const kdl_elf_section *table, thin_output *out) {
  uint8_t *made = copy_table(o, table, out);
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table->size; at += sizeof(Elf64_Rela)) {
    uint8_t *addend = made + at + offsetof(Elf64_Rela, r_addend);
    uint64_t now;
    const section *to =
        relocated_section(o, table, kdl_load_u64(made + at + offsetof(Elf64_Rela, r_info)));
    if (!to || !to->shrinks)
      continue;
    if (!find_new_offset(&to->moves, kdl_load_u64(addend), &now))
      return false;
    kdl_store_u64(addend, now);
  }
  return true;
}

/* Relocations within a section that shrank would have to move, but images have none. REL
 * relocations keep their addends in the relocated bytes. */
static bool has_odd_relocations(const object *o) {
  for (size_t i = 0; i < o->count; ++i) {
    const kdl_elf_section *s = &o->sections[i].header;
    bool is_own = s->type == SHT_RELA && s->info < o->count && o->sections[s->info].shrinks;
    if (s->size && (is_own || s->type == SHT_REL))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* Moves an arena from the output of a part to that of the complete file. */
static void hand_over_arena(thin_output *from, thin_output *to) {
  to->arena = from->arena;
  from->arena = (kdl_arena){.blocks = NULL};
}

static kdl_status shrink_sections(object *o, thin_output *out, bool *out_any) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < o->count && status == KDL_OK; ++i) {
    section *s = &o->sections[i];
    thin_range range = {o->at + s->header.offset, s->header.size};
    if (!has_bytes(s) || s->header.flags & SHF_COMPRESSED || !thin_range_changes(o->context, range))
      continue;
    s->shrinks = *out_any = true;
    hand_over_arena(out, &s->made);
    status = thin_sniff(o->data + s->header.offset, s->header.size) == THIN_KIND_OFFLOAD
                 ? thin_offload_binaries(o->context, range, &s->moves, &s->made)
                 : thin_container_range(o->context, range, &s->moves, &s->made);
    hand_over_arena(&s->made, out);
  }
  return status;
}

/* Writes a section with its new bytes; false where that is not possible. */
static bool put_section(const object *o, const section *s, thin_output *out) {
  if (s->shrinks)
    thin_output_append(out, &s->made, 0, s->made.size);
  else if (s->header.type == SHT_SYMTAB)
    return move_symbols(o, &s->header, out);
  else if (s->header.type == SHT_RELA)
    return move_relocations(o, &s->header, out);
  else
    thin_output_add(out, o->data + s->header.offset, s->header.size);
  return true;
}

static void align_output(thin_output *out, uint64_t alignment) {
  if (alignment > 1)
    thin_output_add_zeros(out, -out->size & (alignment - 1));
}

static uint8_t *offset_field(uint8_t *table, size_t index) {
  return table + index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset);
}

/* A section without bytes gets the offset of the next one with bytes. */
static void place_empty_sections(const object *o, uint8_t *table, uint64_t end) {
  for (size_t i = 1; i < o->count; ++i) {
    size_t next = 0;
    if (has_bytes(&o->sections[i]))
      continue;
    while (next < o->order_count && o->order[next]->header.offset < o->sections[i].header.offset)
      ++next;
    uint64_t at = end;
    if (next < o->order_count)
      at = kdl_load_u64(offset_field(table, (size_t)(o->order[next] - o->sections)));
    kdl_store_u64(offset_field(table, i), at);
  }
}

/* False where the object must stay unchanged; the caller then discards `out`, which was empty. */
static bool put_object(const object *o, thin_output *out) {
  size_t table_size = o->count * sizeof(Elf64_Shdr);
  uint8_t *header = thin_output_add_uninitialized(out, sizeof(Elf64_Ehdr));
  uint8_t *table = xarena_alloc(&out->arena, table_size);
  memcpy(header, o->data, sizeof(Elf64_Ehdr));
  memcpy(table, o->data + o->elf.section_table, table_size);
  for (size_t i = 0; i < o->order_count; ++i) {
    const section *s = o->order[i];
    uint8_t *field = offset_field(table, (size_t)(s - o->sections));
    align_output(out, s->header.alignment);
    uint64_t at = out->size;
    if (!put_section(o, s, out))
      return false;
    kdl_store_u64(field, at);
    kdl_store_u64(field + 8, out->size - at); /* sh_size */
  }
  align_output(out, 8);
  place_empty_sections(o, table, out->size);
  kdl_store_u64(header + offsetof(Elf64_Ehdr, e_shoff), out->size);
  thin_output_add(out, table, table_size);
  return true;
}

kdl_status thin_object(const thin_context *context, thin_range range, thin_output *out) {
  object o = {.context = context,
              .data = context->input->data + range.at,
              .at = range.at,
              .size = range.size};
  bool loses = thin_range_changes(context, range), any = false, done = false;
  kdl_status status = KDL_OK;
  thin_output made = {.count = 0};
  if (loses && read_sections(&o) && order_sections(&o))
    status = shrink_sections(&o, out, &any);
  if (status == KDL_OK && any && !has_odd_relocations(&o)) {
    hand_over_arena(out, &made);
    done = put_object(&o, &made);
    hand_over_arena(&made, out);
  }
  if (done)
    thin_output_append(out, &made, 0, made.size);
  else if (status == KDL_OK)
    thin_output_add(out, o.data, range.size);
  for (size_t i = 0; i < o.count; ++i) {
    section *s = &o.sections[i];
    if (done && s->shrinks)
      thin_report_removed(context, (thin_range){range.at + s->header.offset, s->header.size});
    free(s->moves.items);
    thin_output_free(&s->made);
  }
  context->report->unmoved += loses && !done;
  thin_output_free(&made);
  free(o.sections);
  free(o.order);
  return status;
}
