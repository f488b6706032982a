/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ELF files for CPUs. The triple is that of the header, with "unknown" for the vendor. The arch
 * comes from the note of <kdl/host_abi.h>; else, for x86-64, from the ISA level in the property of
 * GNU linkers (x86-64 psABI, "Program Property"); else it is unknown. Kernels are the functions
 * that a dynamic loader would find by name.
 */
#include "lib/image/readers.h"
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <kdl/host_abi.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint32_t property_x86_isa_needed = 0xc0008002;

typedef struct {
  uint16_t machine;
  uint8_t bits;
  bool is_big_endian;
  const char *name;
  const char *linux_environment;
} machine_row;

static const machine_row machines[] = {
    {EM_386, 32, false, "i386", "gnu"},           {EM_MIPS, 32, true, "mips", "gnu"},
    {EM_MIPS, 32, false, "mipsel", "gnu"},        {EM_MIPS, 64, true, "mips64", "gnuabi64"},
    {EM_MIPS, 64, false, "mips64el", "gnuabi64"}, {EM_PPC, 32, true, "powerpc", "gnu"},
    {EM_PPC64, 64, true, "powerpc64", "gnu"},     {EM_PPC64, 64, false, "powerpc64le", "gnu"},
    {EM_S390, 64, true, "s390x", "gnu"},          {EM_ARM, 32, false, "arm", "gnueabihf"},
    {EM_SPARCV9, 64, true, "sparcv9", "gnu"},     {EM_X86_64, 64, false, "x86_64", "gnu"},
    {EM_X86_64, 32, false, "x86_64", "gnux32"},   {EM_AARCH64, 64, false, "aarch64", "gnu"},
    {EM_AARCH64, 64, true, "aarch64_be", "gnu"},  {EM_RISCV, 32, false, "riscv32", "gnu"},
    {EM_RISCV, 64, false, "riscv64", "gnu"},      {258, 64, false, "loongarch64", "gnu"},
};

static const struct {
  uint8_t os_abi;
  const char *name;
} systems[] = {
    {ELFOSABI_NETBSD, "netbsd"},
    {ELFOSABI_FREEBSD, "freebsd"},
    {ELFOSABI_OPENBSD, "openbsd"},
};

static void print_triple(const kdl_elf *elf, kdl_image_target *target) {
  const machine_row *row = machines;
  const machine_row *end = machines + sizeof machines / sizeof *machines;
  while (row < end && (row->machine != elf->machine || row->bits != (elf->is_64 ? 64 : 32) ||
                       row->is_big_endian != elf->is_big_endian))
    ++row;
  if (row == end)
    return;
  for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
    if (elf->os_abi == systems[i].os_abi) {
      snprintf(target->triple, sizeof target->triple, "%s-unknown-%s", row->name, systems[i].name);
      return;
    }
  }
  /* Nearly all files have 0, on any system; 3 is GNU. */
  snprintf(target->triple, sizeof target->triple, "%s-unknown-linux-%s", row->name,
           row->linux_environment);
}

/* Properties are a type, a size and data padded to the width of an address. */
static kdl_status read_isa_needed(const kdl_elf *elf, const kdl_elf_note *note,
                                  uint32_t *out_levels) {
  size_t padding = elf->is_64 ? 7 : 3;
  for (size_t at = 0; at < note->size;) {
    const uint8_t *property = note->data + at;
    size_t left = note->size - at;
    size_t size = left < 8 ? 0 : kdl_elf_load_u32(elf, property + 4);
    if (left < 8 || size > left - 8)
      return kdl_malformed_at((uint64_t)(property - elf->data), "GNU property",
                              "found one of %zu bytes, expected it inside the %zu that are left",
                              size + 8, left);
    if (kdl_elf_load_u32(elf, property) == property_x86_isa_needed && size >= 4)
      *out_levels |= kdl_elf_load_u32(elf, property + 8);
    size_t used = (8 + size + padding) & ~padding;
    at += used < left ? used : left;
  }
  return KDL_OK;
}

/* Bit 0 is the baseline, which the C library's start files set even in objects whose code needs
 * more; bits 1 to 3 are x86-64-v2 to v4. Later levels have no name here. */
static const char *name_of_level(uint32_t levels) {
  if (levels >> 4)
    return "";
  return levels & 8 ? "x86-64-v4" : levels & 4 ? "x86-64-v3" : levels & 2 ? "x86-64-v2" : "";
}

/* An object linked from several may have several notes. */
static kdl_status read_cpu_note(const kdl_elf *elf, const kdl_elf_note *note,
                                kdl_image_target *target, bool *differs) {
  const char *text = (const char *)note->data;
  size_t length = strnlen(text, note->size);
  *differs |= target->arch[0] &&
              (strlen(target->arch) != length || memcmp(target->arch, text, length) != 0);
  target->arch[0] = '\0';
  return kdl_target_append(target->arch, sizeof target->arch, "note of the CPU", text, length,
                           (uint64_t)(note->data - elf->data));
}

static kdl_status print_host_arch(const kdl_elf *elf, kdl_image_target *target) {
  uint32_t levels = 0;
  bool differs = false;
  kdl_elf_notes notes = {.elf = elf};
  kdl_elf_note note;
  kdl_status status;
  while ((status = kdl_elf_next_note(&notes, &note)) == KDL_OK && note.owner) {
    if (kdl_elf_note_is(&note, KDL_HOST_NOTE_OWNER, KDL_HOST_NOTE_CPU))
      status = read_cpu_note(elf, &note, target, &differs);
    else if (elf->machine == EM_X86_64 && kdl_elf_note_is(&note, "GNU", NT_GNU_PROPERTY_TYPE_0))
      status = read_isa_needed(elf, &note, &levels);
    if (status != KDL_OK)
      return status;
  }
  if (differs || !target->arch[0])
    snprintf(target->arch, sizeof target->arch, "%s", differs ? "" : name_of_level(levels));
  return status;
}

static kdl_status host_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  print_triple(&elf, target);
  bool is_run = elf.machine == EM_X86_64 || elf.machine == EM_AARCH64 || elf.machine == EM_RISCV;
  return is_run ? print_host_arch(&elf, target) : KDL_OK;
}

static bool is_callable_by_name(const kdl_elf_symbol *symbol) {
  unsigned visibility = ELF64_ST_VISIBILITY(symbol->other);
  return symbol->is_defined && (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC) &&
         (symbol->binding == STB_GLOBAL || symbol->binding == STB_WEAK) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

/* Functions that the C runtime adds to every shared object. */
static bool is_runtime(const char *name) {
  return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0;
}

static kdl_status host_read_resources(const uint8_t *data, size_t size, kdl_visit_resources *visit,
                                      void *user) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  kdl_elf_symbols symbols;
  KDL_TRY(kdl_elf_open_symbols(&elf, elf.type == ET_REL ? SHT_SYMTAB : SHT_DYNSYM, &symbols));
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    if (!is_callable_by_name(&symbol))
      continue;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length));
    kdl_kernel_resources uses = kdl_no_resources;
    uses.code_bytes = symbol.size ? kdl_resource_clamp(symbol.size) : KDL_NO_RESOURCE;
    if (!is_runtime(name) && visit(user, (kdl_string){name, length}, &uses))
      break;
  }
  return KDL_OK;
}

typedef struct {
  kdl_visit_name *visit;
  void *user;
} name_visitor;

static int visit_name_only(void *user, kdl_string kernel, const kdl_kernel_resources *uses) {
  const name_visitor *to = user;
  (void)uses;
  return to->visit(to->user, kernel.data, kernel.length);
}

static kdl_status host_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                    void *user) {
  return host_read_resources(data, size, visit_name_only, &(name_visitor){visit, user});
}

const kdl_image_readers kdl_host_elf_readers = {
    .target = host_read_target,
    .kernels = host_read_kernels,
    .geometry = kdl_host_elf_read_geometry,
    .resources = host_read_resources,
    .digests = kdl_host_elf_read_digests,
};

_Static_assert((int)KDL_HOST_NOTE_TEXT == (int)KDL_TARGET_ARCH, "a reader takes every text");

void kdl_out_host_note(kdl_out *out, const char *arch, const char *features) {
  const char *plus = *features ? "+" : "";
  kdl_out_format(out,
                 ".pushsection .note.kdl,\"a\",@note\n"
                 ".p2align 2\n"
                 ".long %zu, %zu, %d\n"
                 ".asciz \"" KDL_HOST_NOTE_OWNER "\"\n"
                 ".p2align 2\n"
                 ".asciz \"%s%s%s\"\n"
                 ".p2align 2\n"
                 ".popsection\n",
                 sizeof KDL_HOST_NOTE_OWNER, strlen(arch) + strlen(plus) + strlen(features) + 1,
                 KDL_HOST_NOTE_CPU, arch, plus, features);
}
