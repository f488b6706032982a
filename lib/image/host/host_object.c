/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/image/host/host_object.h"
#include "lib/inspect/images.h"
#include "support/base/text.h"

#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <string.h>

enum {
  segment_limit = 64, /* of all kinds */
  page = 4096,        /* the smallest page size of the supported machines */
  dynamic_size = 16,
  hash_header = 16,
};

/* Values by tag, for the consecutive tags. */
enum { tag_count = 38 };

typedef struct {
  uint64_t values[tag_count];
  uint64_t file_offsets[tag_count]; /* in the file; 0 where the tag is absent */
  uint64_t gnu_hash;
  uint64_t gnu_hash_offset;
} dynamic_table;

#define UNSUPPORTED(...) kdl_fail(KDL_UNSUPPORTED, __VA_ARGS__)

/* ------------------------------------------------------------------------------------------ */
/* Addresses                                                                                    */

static uint64_t end_of_page(uint64_t address) {
  return (address + page - 1) / page * page;
}

static const kdl_elf_segment *segment_of(const kdl_host_object *object, uint64_t address) {
  for (size_t i = 0; i < object->segment_count; ++i) {
    const kdl_elf_segment *segment = &object->segments[i];
    if (address >= segment->address && address - segment->address < segment->memory_size)
      return segment;
  }
  return NULL;
}

const uint8_t *kdl_host_object_at(const kdl_host_object *object, uint64_t address, uint64_t size) {
  const kdl_elf_segment *segment = segment_of(object, address);
  if (!segment || !kdl_in_range(address - segment->address, size, segment->file_size))
    return NULL;
  return object->data + segment->offset + (address - segment->address);
}

bool kdl_host_object_has(const kdl_host_object *object, uint64_t address, uint64_t size,
                         bool writes, bool executes) {
  const kdl_elf_segment *segment = segment_of(object, address);
  return segment && kdl_in_range(address - segment->address, size, segment->memory_size) &&
         (!writes || segment->flags & PF_W) && (!executes || segment->flags & PF_X);
}

/* ------------------------------------------------------------------------------------------ */
/* Segments                                                                                     */

static kdl_status read_object_header(kdl_host_object *object) {
  const uint8_t *data = object->data;
  if (object->size < sizeof(Elf64_Ehdr) || kdl_load_u32(data) != KDL_MAGIC_ELF)
    return kdl_malformed_at(0, "ELF header", "found none, expected a shared object");
  kdl_elf elf = kdl_elf_load_header(data);
  if (data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB ||
      (elf.machine != EM_X86_64 && elf.machine != EM_AARCH64 && elf.machine != EM_RISCV))
    return UNSUPPORTED("found machine %u in %s bits, expected x86-64, AArch64 or RISC-V in 64",
                       elf.machine, elf.is_64 ? "64" : "32");
  if (elf.type != ET_DYN)
    return UNSUPPORTED("found %s (e_type %u), expected a shared object: link it with -shared",
                       elf.type == ET_REL ? "a relocatable object" : "no shared object", elf.type);
  object->elf = elf;
  return KDL_OK;
}

static kdl_status check_load(const kdl_host_object *object, uint64_t at,
                             const kdl_elf_segment *segment) {
  uint64_t before = object->end;
  if (!kdl_in_range(segment->offset, segment->file_size, object->size))
    return kdl_malformed_at(at, "segment",
                            "found 0x%" PRIx64 " bytes at 0x%" PRIx64
                            ", expected them inside the image's %zu bytes",
                            segment->file_size, segment->offset, object->size);
  if (segment->file_size > segment->memory_size ||
      (segment->flags & PF_X && segment->file_size < segment->memory_size))
    return kdl_malformed_at(at, "segment",
                            "found 0x%" PRIx64 " bytes of the file in 0x%" PRIx64
                            " of memory, expected %s",
                            segment->file_size, segment->memory_size,
                            segment->flags & PF_X ? "as many, of code" : "no more");
  if (segment->alignment > page << 18 || (segment->alignment & (segment->alignment - 1)) ||
      (segment->offset - segment->address) & (segment->alignment ? segment->alignment - 1 : 0) ||
      (segment->offset - segment->address) % page)
    return kdl_malformed_at(at, "segment",
                            "found 0x%" PRIx64 " of the file at the address 0x%" PRIx64
                            " with an alignment of 0x%" PRIx64
                            ", expected a power of two that both agree with, and pages",
                            segment->offset, segment->address, segment->alignment);
  if (segment->address > KDL_HOST_LIMIT_SPAN ||
      segment->memory_size > KDL_HOST_LIMIT_SPAN - segment->address)
    return kdl_malformed_at(at, "segment",
                            "found 0x%" PRIx64 " bytes at the address 0x%" PRIx64
                            ", expected them below 2 GiB",
                            segment->memory_size, segment->address);
  if (object->segment_count && segment->address / page <= (before - 1) / page)
    return kdl_malformed_at(at, "segment",
                            "found the address 0x%" PRIx64
                            ", expected a page behind the segment before it, which ends at "
                            "0x%" PRIx64,
                            segment->address, before);
  if (segment->flags & PF_W && segment->flags & PF_X)
    return UNSUPPORTED("found a segment that is written and executed, which a host image cannot "
                       "have");
  return KDL_OK;
}

static kdl_status add_segment(kdl_host_object *object, uint64_t at,
                              const kdl_elf_segment *segment) {
  if (segment->memory_size == 0 && segment->file_size == 0)
    return KDL_OK;
  KDL_TRY(check_load(object, at, segment));
  if (object->segment_count == KDL_HOST_LIMIT_SEGMENTS)
    return kdl_malformed_at(at, "segment", "found more than %d that are loaded, expected fewer",
                            KDL_HOST_LIMIT_SEGMENTS);
  object->end = segment->address + segment->memory_size;
  if (segment->alignment > object->align)
    object->align = segment->alignment;
  object->segments[object->segment_count++] = *segment;
  return KDL_OK;
}

static kdl_status thread_local_found(const char *what) {
  return UNSUPPORTED(
      "found thread-local variables (%.128s), which a host image cannot have: glibc's "
      "calls for them lose vector registers; compile the kernels again with this "
      "version of kdl cc",
      what);
}

/* *dynamic is the range of the dynamic section, or empty. */
static kdl_status read_segments(kdl_host_object *object, kdl_host_extent *dynamic) {
  uint64_t table = object->elf.segment_table, count = object->elf.segment_count;
  if (object->elf.segment_size != sizeof(Elf64_Phdr) || count > segment_limit ||
      !kdl_in_range(table, count * sizeof(Elf64_Phdr), object->size))
    return kdl_malformed_at(offsetof(Elf64_Ehdr, e_phoff), "e_phoff",
                            "found %" PRIu64 " segments of %u bytes at 0x%" PRIx64
                            ", expected at most %d of %zu inside the image's %zu bytes",
                            count, object->elf.segment_size, table, segment_limit,
                            sizeof(Elf64_Phdr), object->size);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = table + i * sizeof(Elf64_Phdr);
    kdl_elf_segment segment = kdl_elf_load_segment(&object->elf, object->data + at);
    kdl_host_extent extent = {segment.address, segment.memory_size};
    kdl_status status = KDL_OK;
    switch (segment.type) {
    case PT_LOAD:
      status = add_segment(object, at, &segment);
      break;
    case PT_DYNAMIC:
      if (dynamic->size)
        status = kdl_malformed_at(at, "PT_DYNAMIC", "found a second one, expected one");
      *dynamic = extent;
      break;
    case PT_GNU_RELRO:
      object->read_only = extent;
      break;
    case PT_TLS:
      if (extent.size)
        status = thread_local_found("PT_TLS");
      break;
    case PT_GNU_STACK:
      if (segment.flags & PF_X)
        status = UNSUPPORTED("found code that asks for an executable stack, which a host image "
                             "cannot have");
      break;
    default:
      break;
    }
    if (status != KDL_OK)
      return status;
  }
  if (!object->segment_count || !dynamic->size)
    return kdl_malformed_at(table, "segments", "found no %s one, expected a shared object",
                            object->segment_count ? "dynamic" : "loadable");
  const kdl_elf_segment *holds = segment_of(object, object->read_only.address);
  if (object->read_only.size &&
      (!holds || !(holds->flags & PF_W) ||
       !kdl_in_range(object->read_only.address - holds->address, object->read_only.size,
                     end_of_page(holds->address + holds->memory_size) - holds->address)))
    return kdl_malformed_at(table, "PT_GNU_RELRO",
                            "found 0x%" PRIx64 " bytes at the address 0x%" PRIx64
                            ", expected them in a segment that is written",
                            object->read_only.size, object->read_only.address);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The dynamic section                                                                          */

static kdl_status read_dynamic(const kdl_host_object *object, kdl_host_extent extent,
                               dynamic_table *out) {
  const uint8_t *entries = kdl_host_object_at(object, extent.address, extent.size);
  if (!entries)
    return kdl_malformed_at(0, "PT_DYNAMIC",
                            "found 0x%" PRIx64 " bytes at the address 0x%" PRIx64
                            ", expected them in the file's part of a segment",
                            extent.size, extent.address);
  for (uint64_t at = 0; extent.size - at >= dynamic_size; at += dynamic_size) {
    uint64_t tag = kdl_load_u64(entries + at), value = kdl_load_u64(entries + at + 8);
    uint64_t file_offset = (uint64_t)(entries - object->data) + at;
    if (tag == DT_NULL)
      return KDL_OK;
    if (tag == DT_GNU_HASH) {
      out->gnu_hash = value;
      out->gnu_hash_offset = file_offset;
    } else if (tag < tag_count && tag != DT_NEEDED) {
      out->values[tag] = value;
      out->file_offsets[tag] = file_offset;
    }
  }
  return kdl_malformed_at((uint64_t)(entries - object->data), "PT_DYNAMIC",
                          "found no DT_NULL, expected one as its end");
}

static kdl_status fail_outside(uint64_t file_offset, const char *what, uint64_t address,
                               uint64_t size) {
  return kdl_malformed_at(file_offset, what,
                          "found 0x%" PRIx64 " bytes at the address 0x%" PRIx64
                          ", expected them in the file's part of a segment",
                          size, address);
}

/* Reads the range of a table with entries of fixed size, by the tags of its address, its size, and
 * an entry's size. */
static kdl_status read_dynamic_extent(const kdl_host_object *object, const dynamic_table *dynamic,
                                      const char *what, int address_tag, int size_tag,
                                      int entry_tag, uint64_t entry_size, kdl_host_extent *out) {
  kdl_host_extent table = {dynamic->values[address_tag], dynamic->values[size_tag]};
  uint64_t file_offset = dynamic->file_offsets[address_tag];
  if (!file_offset && !table.size)
    return KDL_OK;
  if (table.size % entry_size ||
      (entry_tag && dynamic->file_offsets[entry_tag] && dynamic->values[entry_tag] != entry_size))
    return kdl_malformed_at(
        file_offset, what,
        "found 0x%" PRIx64 " bytes of entries of %" PRIu64 ", expected a multiple of %" PRIu64,
        table.size, entry_tag ? dynamic->values[entry_tag] : entry_size, entry_size);
  if (table.size && !kdl_host_object_at(object, table.address, table.size))
    return fail_outside(file_offset, what, table.address, table.size);
  if (table.size)
    *out = table;
  return KDL_OK;
}

/* The hash tables are used only for the number of symbols, which the symbol table lacks. */
static kdl_status count_by_gnu_hash(const kdl_host_object *object, const dynamic_table *dynamic,
                                    uint64_t *out_count) {
  const uint8_t *header = kdl_host_object_at(object, dynamic->gnu_hash, hash_header);
  if (!header)
    return fail_outside(dynamic->gnu_hash_offset, "DT_GNU_HASH", dynamic->gnu_hash, hash_header);
  uint64_t buckets = kdl_load_u32(header), first = kdl_load_u32(header + 4);
  uint64_t words = kdl_load_u32(header + 8);
  uint64_t table = dynamic->gnu_hash + hash_header + words * 8, chains = table + buckets * 4;
  const uint8_t *bucket = kdl_host_object_at(object, table, buckets * 4);
  if (!bucket)
    return fail_outside(dynamic->gnu_hash_offset, "DT_GNU_HASH", table, buckets * 4);
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i) {
    uint64_t begin = kdl_load_u32(bucket + i * 4);
    last = begin > last ? begin : last;
  }
  *out_count = first;
  if (last == 0) { /* no hashed symbols: GNU ld writes 1, and the strings follow the symbols */
    uint64_t symbols = dynamic->values[DT_SYMTAB], strings = dynamic->values[DT_STRTAB];
    if (first == 1 && strings > symbols)
      *out_count = (strings - symbols) / KDL_HOST_SYMBOL_SIZE;
    return KDL_OK;
  }
  for (uint64_t i = last; last >= first; ++i) {
    const uint8_t *chain = kdl_host_object_at(object, chains + (i - first) * 4, 4);
    if (!chain)
      break;
    if (kdl_load_u32(chain) & 1) {
      *out_count = i + 1;
      return KDL_OK;
    }
  }
  return kdl_malformed_at(dynamic->gnu_hash_offset, "DT_GNU_HASH",
                          "found a chain from symbol %" PRIu64
                          " on without an end, expected one inside the table, which begins "
                          "with symbol %" PRIu64,
                          last, first);
}

static kdl_status count_symbols(const kdl_host_object *object, const dynamic_table *dynamic,
                                uint64_t *out_count) {
  if (dynamic->gnu_hash_offset)
    return count_by_gnu_hash(object, dynamic, out_count);
  uint64_t table = dynamic->values[DT_HASH];
  const uint8_t *header =
      dynamic->file_offsets[DT_HASH] ? kdl_host_object_at(object, table, 8) : NULL;
  if (!header)
    return fail_outside(dynamic->file_offsets[DT_HASH], "DT_HASH", table, 8);
  *out_count = kdl_load_u32(header + 4);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

kdl_host_symbol kdl_host_object_symbol(const kdl_host_object *object, uint64_t index) {
  const uint8_t *at = kdl_host_object_at(
      object, object->symbols.address + index * KDL_HOST_SYMBOL_SIZE, KDL_HOST_SYMBOL_SIZE);
  const uint8_t *strings =
      kdl_host_object_at(object, object->strings.address, object->strings.size);
  kdl_elf_symbol symbol = kdl_elf_load_symbol(&object->elf, at);
  unsigned visibility = ELF64_ST_VISIBILITY(symbol.other);
  return (kdl_host_symbol){
      .name = (const char *)strings + symbol.name,
      .type = symbol.type,
      .binding = symbol.binding,
      .is_defined = symbol.is_defined,
      .is_absolute = symbol.section == SHN_ABS,
      .is_visible = symbol.is_defined && symbol.binding != STB_LOCAL &&
                    (visibility == STV_DEFAULT || visibility == STV_PROTECTED),
      .address = symbol.address,
      .size = symbol.size,
  };
}

bool kdl_host_object_find(const kdl_host_object *object, const char *name,
                          kdl_host_symbol *out_symbol) {
  for (uint64_t i = 1; i < object->symbol_count; ++i) {
    *out_symbol = kdl_host_object_symbol(object, i);
    if (out_symbol->is_visible && strcmp(out_symbol->name, name) == 0)
      return true;
  }
  return false;
}

static kdl_status check_symbol(const kdl_host_object *object, uint64_t index) {
  uint64_t file_offset =
      (uint64_t)(kdl_host_object_at(object, object->symbols.address, 1) - object->data) +
      index * KDL_HOST_SYMBOL_SIZE;
  uint32_t name = kdl_load_u32(object->data + file_offset);
  if (name >= object->strings.size)
    return kdl_malformed_at(file_offset, "symbol",
                            "found a name at 0x%" PRIx32
                            " of the string table, expected less than 0x%" PRIx64,
                            name, object->strings.size);
  kdl_host_symbol symbol = kdl_host_object_symbol(object, index);
  if (symbol.type == STT_TLS)
    return thread_local_found(symbol.name);
  if (!symbol.is_defined) {
    kdl_string asked = {symbol.name, strnlen(symbol.name, KDL_HOST_LIMIT_IMPORT)};
    if (index && symbol.binding != STB_WEAK && kdl_host_import_of(asked) == KDL_HOST_IMPORT_NONE)
      return UNSUPPORTED("it needs '%.128s', which it does not define and a host image cannot "
                         "count on: <kdl/host_abi.h> lists what it can",
                         symbol.name);
    return KDL_OK;
  }
  if (symbol.type == STT_GNU_IFUNC)
    return UNSUPPORTED("%.128s is chosen when it is loaded (IFUNC), which a host image cannot have",
                       symbol.name);
  bool is_function = symbol.type == STT_FUNC;
  if ((is_function || symbol.type == STT_OBJECT) && !symbol.is_absolute &&
      !kdl_host_object_has(object, symbol.address, symbol.size, false, is_function))
    return kdl_malformed_at(file_offset, "symbol",
                            "found %.128s of 0x%" PRIx64 " bytes at the address 0x%" PRIx64
                            ", expected it in a segment%s",
                            symbol.name, symbol.size, symbol.address,
                            is_function ? " of code" : "");
  return KDL_OK;
}

static kdl_status read_symbols(kdl_host_object *object, const dynamic_table *dynamic) {
  KDL_TRY(read_dynamic_extent(object, dynamic, "DT_STRTAB", DT_STRTAB, DT_STRSZ, 0, 1,
                              &object->strings));
  KDL_TRY(count_symbols(object, dynamic, &object->symbol_count));
  const uint8_t *strings =
      kdl_host_object_at(object, object->strings.address, object->strings.size);
  if (object->strings.size == 0 || strings[0] || strings[object->strings.size - 1])
    return kdl_malformed_at(dynamic->file_offsets[DT_STRTAB], "DT_STRTAB",
                            "found %s, expected strings that begin and end with a NUL",
                            object->strings.size ? "other bytes" : "no table");
  object->symbols =
      (kdl_host_extent){dynamic->values[DT_SYMTAB], object->symbol_count * KDL_HOST_SYMBOL_SIZE};
  if (object->symbol_count == 0 ||
      !kdl_host_object_at(object, object->symbols.address, object->symbols.size) ||
      (dynamic->file_offsets[DT_SYMENT] && dynamic->values[DT_SYMENT] != KDL_HOST_SYMBOL_SIZE))
    return fail_outside(dynamic->file_offsets[DT_SYMTAB], "DT_SYMTAB", object->symbols.address,
                        object->symbols.size);
  /* The tables are read again after the image is loaded, so they must not be writable. */
  if (segment_of(object, object->symbols.address)->flags & PF_W ||
      segment_of(object, object->strings.address)->flags & PF_W)
    return kdl_malformed_at(dynamic->file_offsets[DT_SYMTAB], "DT_SYMTAB",
                            "found names in a segment that is written, expected them in another");
  for (uint64_t i = 0; i < object->symbol_count; ++i)
    KDL_TRY(check_symbol(object, i));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Whole objects                                                                                */

/* Libraries that every process has: see host_imports.def. */
static bool is_known_library(const char *name) {
  static const char *const names[] = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libc.so",
                                      "ld-linux-"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    bool is_prefix = names[i][strlen(names[i]) - 1] == '-';
    if (is_prefix ? kdl_starts_with(name, names[i]) : strcmp(name, names[i]) == 0)
      return true;
  }
  return false;
}

static kdl_status check_needed(const kdl_host_object *object, kdl_host_extent extent) {
  const uint8_t *entries = kdl_host_object_at(object, extent.address, extent.size);
  const uint8_t *strings =
      kdl_host_object_at(object, object->strings.address, object->strings.size);
  for (uint64_t at = 0; kdl_load_u64(entries + at) != DT_NULL; at += dynamic_size) {
    uint64_t name = kdl_load_u64(entries + at + 8);
    if (kdl_load_u64(entries + at) != DT_NEEDED)
      continue;
    if (name >= object->strings.size)
      return kdl_malformed_at((uint64_t)(entries - object->data) + at, "DT_NEEDED",
                              "found a name at 0x%" PRIx64
                              " of the string table, expected less than 0x%" PRIx64,
                              name, object->strings.size);
    if (!is_known_library((const char *)strings + name))
      return UNSUPPORTED("it needs the library '%.128s', expected none but libc and libm: link it "
                         "into the image",
                         (const char *)strings + name);
  }
  return KDL_OK;
}

static kdl_status check_init_function(const kdl_host_object *object, const char *what,
                                      uint64_t function) {
  if (function && !kdl_host_object_has(object, function, 1, false, true))
    return kdl_malformed_at(
        0, what, "found the address 0x%" PRIx64 ", expected one in a segment of code", function);
  return KDL_OK;
}

static kdl_status read_relocations(kdl_host_object *object, const dynamic_table *dynamic) {
  kdl_status status = KDL_OK;
  if (dynamic->file_offsets[DT_REL] ||
      (dynamic->file_offsets[DT_PLTREL] && dynamic->values[DT_PLTREL] != DT_RELA))
    return UNSUPPORTED("found relocations without addends (DT_REL), expected DT_RELA");
  if (dynamic->file_offsets[DT_TEXTREL] || dynamic->values[DT_FLAGS] & DF_TEXTREL)
    return UNSUPPORTED("found relocations of code (DT_TEXTREL), which a host image cannot have: "
                       "compile it with -fPIC");
  if (dynamic->file_offsets[DT_PREINIT_ARRAY])
    return UNSUPPORTED("found DT_PREINIT_ARRAY, which programs have, expected a shared object");
  status = read_dynamic_extent(object, dynamic, "DT_RELA", DT_RELA, DT_RELASZ, DT_RELAENT,
                               KDL_HOST_RELOCATION_SIZE, &object->relocations[0]);
  if (status == KDL_OK)
    status = read_dynamic_extent(object, dynamic, "DT_JMPREL", DT_JMPREL, DT_PLTRELSZ, 0,
                                 KDL_HOST_RELOCATION_SIZE, &object->relocations[1]);
  if (status == KDL_OK)
    status = read_dynamic_extent(object, dynamic, "DT_RELR", DT_RELR, DT_RELRSZ, DT_RELRENT, 8,
                                 &object->relative);
  if (status == KDL_OK)
    status = read_dynamic_extent(object, dynamic, "DT_INIT_ARRAY", DT_INIT_ARRAY, DT_INIT_ARRAYSZ,
                                 0, 8, &object->init_array);
  if (status == KDL_OK)
    status = read_dynamic_extent(object, dynamic, "DT_FINI_ARRAY", DT_FINI_ARRAY, DT_FINI_ARRAYSZ,
                                 0, 8, &object->fini_array);
  object->init = dynamic->values[DT_INIT];
  object->fini = dynamic->values[DT_FINI];
  return status;
}

kdl_status kdl_host_object_open(const void *data, size_t size, kdl_host_object *out_object) {
  kdl_host_object object = {.data = data, .size = size, .align = page};
  kdl_host_extent extent = {0, 0};
  dynamic_table dynamic = {{0}, {0}, 0, 0};
  KDL_TRY(read_object_header(&object));
  KDL_TRY(read_segments(&object, &extent));
  KDL_TRY(read_dynamic(&object, extent, &dynamic));
  KDL_TRY(read_symbols(&object, &dynamic));
  KDL_TRY(check_needed(&object, extent));
  KDL_TRY(read_relocations(&object, &dynamic));
  KDL_TRY(kdl_host_object_check_relocations(&object));
  KDL_TRY(check_init_function(&object, "DT_INIT", object.init));
  KDL_TRY(check_init_function(&object, "DT_FINI", object.fini));
  *out_object = object;
  return KDL_OK;
}
