/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl embed: makes the images in an object survive the final link.
 *
 * Clang's -fembed-offload-object marks its section SHF_EXCLUDE: linkers drop it from executables
 * and shared libraries, and clang-linker-wrapper links its contents. As .kdl.offloading, allocated
 * and retained under --gc-sections, it stays and other tools ignore it. The new name goes into a
 * copy of the section name table, at the end of the file.
 */
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHF_GNU_RETAIN
#define SHF_GNU_RETAIN (1u << 21)
#endif

static const uint32_t section_type_offloading = 0x6fff4c0b; /* SHT_LLVM_OFFLOADING */
static const char section_name[] = ".kdl.offloading";

typedef struct {
  const char *name;
  uint8_t *data;
  size_t size;
} object;

static kdl_status malformed(const object *file, size_t offset, const char *field,
                            const char *expected, uint64_t found) {
  return kdl_fail(KDL_BAD_FILE, "%s: offset 0x%zx: %s: found 0x%" PRIx64 ", expected %s",
                  file->name, offset, field, found, expected);
}

static kdl_status check_header(const object *file) {
  if (file->size >= KDL_MAGIC_ARCHIVE_SIZE &&
      memcmp(file->data, KDL_MAGIC_ARCHIVE, KDL_MAGIC_ARCHIVE_SIZE) == 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found an archive, expected one object; take it apart with ar x, embed "
                    "each member, and put them together again",
                    file->name);
  if (file->size < sizeof(Elf64_Ehdr) || memcmp(file->data, ELFMAG, SELFMAG) != 0)
    return kdl_fail(KDL_BAD_FILE, "%s: offset 0x0: magic: found no ELF file, expected an object",
                    file->name);
  if (file->data[EI_CLASS] != ELFCLASS64)
    return malformed(file, EI_CLASS, "EI_CLASS", "2, a 64-bit file", file->data[EI_CLASS]);
  if (file->data[EI_DATA] != ELFDATA2LSB)
    return malformed(file, EI_DATA, "EI_DATA", "1, a little-endian file", file->data[EI_DATA]);
  uint16_t type = kdl_load_u16(file->data + offsetof(Elf64_Ehdr, e_type));
  if (type != ET_REL)
    return malformed(file, offsetof(Elf64_Ehdr, e_type), "e_type",
                     "1, a relocatable object that is still to be linked", type);
  uint16_t entry = kdl_load_u16(file->data + offsetof(Elf64_Ehdr, e_shentsize));
  if (entry != sizeof(Elf64_Shdr))
    return malformed(file, offsetof(Elf64_Ehdr, e_shentsize), "e_shentsize", "64", entry);
  return KDL_OK;
}

/* The section header table. A count of 0 means that the count needs more than 16 bits and is in the
 * first entry's size. */
static kdl_status find_sections(const object *file, uint8_t **out_table, uint64_t *out_count) {
  uint64_t offset = kdl_load_u64(file->data + offsetof(Elf64_Ehdr, e_shoff));
  uint64_t count = kdl_load_u16(file->data + offsetof(Elf64_Ehdr, e_shnum));
  if (!kdl_in_range(offset, sizeof(Elf64_Shdr), file->size))
    return malformed(file, offsetof(Elf64_Ehdr, e_shoff), "e_shoff",
                     "a table of sections inside the file", offset);
  if (count == 0)
    count = kdl_load_u64(file->data + offset + offsetof(Elf64_Shdr, sh_size));
  if (count > (file->size - offset) / sizeof(Elf64_Shdr))
    return malformed(file, offsetof(Elf64_Ehdr, e_shnum), "e_shnum",
                     "no more sections than the file has room for", count);
  *out_table = file->data + offset;
  *out_count = count;
  return KDL_OK;
}

/* The section names, and the header of their table. */
static kdl_status find_section_names(const object *file, uint8_t *table, uint64_t count,
                                     uint8_t **out_header) {
  uint64_t index = kdl_load_u16(file->data + offsetof(Elf64_Ehdr, e_shstrndx));
  if (index == SHN_XINDEX)
    index = kdl_load_u32(table + offsetof(Elf64_Shdr, sh_link));
  if (index >= count)
    return malformed(file, offsetof(Elf64_Ehdr, e_shstrndx), "e_shstrndx", "a section", index);
  uint8_t *header = table + index * sizeof(Elf64_Shdr);
  uint64_t offset = kdl_load_u64(header + offsetof(Elf64_Shdr, sh_offset));
  uint64_t size = kdl_load_u64(header + offsetof(Elf64_Shdr, sh_size));
  if (!kdl_in_range(offset, size, file->size) || size > UINT32_MAX - sizeof section_name)
    return malformed(file, (size_t)(header - file->data) + offsetof(Elf64_Shdr, sh_size),
                     "sh_size of the section names", "names within the file", size);
  *out_header = header;
  return KDL_OK;
}

static bool is_kept(const object *file, const uint8_t *names, const uint8_t *section) {
  uint64_t offset = kdl_load_u64(names + offsetof(Elf64_Shdr, sh_offset));
  uint64_t size = kdl_load_u64(names + offsetof(Elf64_Shdr, sh_size));
  uint32_t name = kdl_load_u32(section + offsetof(Elf64_Shdr, sh_name));
  return kdl_in_range(name, sizeof section_name, size) &&
         memcmp(file->data + offset + name, section_name, sizeof section_name) == 0;
}

static void keep_section(uint8_t *section, uint32_t name) {
  uint8_t *flags = section + offsetof(Elf64_Shdr, sh_flags);
  uint64_t kept = kdl_load_u64(flags) & ~(uint64_t)SHF_EXCLUDE;
  kdl_store_u32(section + offsetof(Elf64_Shdr, sh_name), name);
  kdl_store_u32(section + offsetof(Elf64_Shdr, sh_type), SHT_PROGBITS);
  kdl_store_u64(flags, kept | SHF_ALLOC | SHF_GNU_RETAIN);
}

/* file->data has room for the appended names. */
static void append_names(object *file, uint8_t *names) {
  uint64_t offset = kdl_load_u64(names + offsetof(Elf64_Shdr, sh_offset));
  size_t size = (size_t)kdl_load_u64(names + offsetof(Elf64_Shdr, sh_size));
  memcpy(file->data + file->size, file->data + offset, size);
  memcpy(file->data + file->size + size, section_name, sizeof section_name);
  kdl_store_u64(names + offsetof(Elf64_Shdr, sh_offset), file->size);
  kdl_store_u64(names + offsetof(Elf64_Shdr, sh_size), size + sizeof section_name);
  file->size += size + sizeof section_name;
}

static kdl_status keep_sections(object *file, size_t *out_changed) {
  uint8_t *table;
  uint8_t *names;
  uint64_t count;
  KDL_TRY(check_header(file));
  KDL_TRY(find_sections(file, &table, &count));
  KDL_TRY(find_section_names(file, table, count, &names));
  uint32_t name = (uint32_t)kdl_load_u64(names + offsetof(Elf64_Shdr, sh_size));
  size_t changed = 0;
  size_t kept = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t *section = table + i * sizeof(Elf64_Shdr);
    if (kdl_load_u32(section + offsetof(Elf64_Shdr, sh_type)) == section_type_offloading) {
      keep_section(section, name);
      ++changed;
    } else if (is_kept(file, names, section)) {
      ++kept;
    }
  }
  if (changed + kept == 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found %" PRIu64 " sections, none of type 0x%" PRIx32
                    "; expected an object made with clang -fembed-offload-object or the like",
                    file->name, count, section_type_offloading);
  if (changed)
    append_names(file, names);
  /* SHF_GNU_RETAIN is defined only for this ABI; GNU ld checks. */
  if (file->data[EI_OSABI] == ELFOSABI_NONE)
    file->data[EI_OSABI] = ELFOSABI_GNU;
  *out_changed = changed + kept;
  return KDL_OK;
}

static kdl_status embed(const cli_args *args, const char *output) {
  cli_bytes bytes;
  size_t changed;
  KDL_TRY(cli_bytes_read(args->operands[0], &bytes));
  /* The copied names are at most as long as the file. */
  object file = {.name = args->operands[0],
                 .data = xmalloc(2 * bytes.size + sizeof section_name),
                 .size = bytes.size};
  memcpy(file.data, bytes.data, bytes.size);
  kdl_status status = keep_sections(&file, &changed);
  if (status == KDL_OK)
    status = cli_output_save(output, file.data, file.size);
  if (status == KDL_OK && cli_args_has(args, "verbose"))
    cli_note("%s: %zu section%s kept", file.name, changed, changed == 1 ? "" : "s");
  free(file.data);
  cli_bytes_free(&bytes);
  return status;
}

int cli_run_embed(const cli_args *args) {
  const char *output = cli_args_value(args, "output");
  if (!output)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o OUT.o"));
  return cli_report_status(embed(args, output));
}
