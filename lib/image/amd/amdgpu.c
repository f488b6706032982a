/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AMD code objects: ELF whose e_flags name the processor and its features (LLVM's "User Guide for
 * AMDGPU Backend", "ELF Code Object"). amdgpu_metadata.c reads their kernels.
 */
#include "lib/image/readers.h"
#include "lib/inspect/kernels.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  os_abi_hsa = 64,
  mach_mask = 0xff,
  first_amdgcn_mach = 0x20,
  generic_version_shift = 24,

  note_isa_version = 3, /* owner "AMD", code object version 2 */
};

/* The target features a processor can be built with. */
enum { xnack = 1 << 0, sramecc = 1 << 1 };

typedef struct {
  const char *name;
  uint8_t features;
} processor;

/* EF_AMDGPU_MACH_*. An unknown processor has no name, and is no error. LLVM no longer has gfx940
 * and gfx941; numbers that LLVM 22 reserves are those of LLVM 23. */
static const processor processors[256] = {
    [0x01] = {"r600", 0},
    [0x02] = {"r630", 0},
    [0x03] = {"rs880", 0},
    [0x04] = {"rv670", 0},
    [0x05] = {"rv710", 0},
    [0x06] = {"rv730", 0},
    [0x07] = {"rv770", 0},
    [0x08] = {"cedar", 0},
    [0x09] = {"cypress", 0},
    [0x0a] = {"juniper", 0},
    [0x0b] = {"redwood", 0},
    [0x0c] = {"sumo", 0},
    [0x0d] = {"barts", 0},
    [0x0e] = {"caicos", 0},
    [0x0f] = {"cayman", 0},
    [0x10] = {"turks", 0},
    [0x20] = {"gfx600", 0},
    [0x21] = {"gfx601", 0},
    [0x22] = {"gfx700", 0},
    [0x23] = {"gfx701", 0},
    [0x24] = {"gfx702", 0},
    [0x25] = {"gfx703", 0},
    [0x26] = {"gfx704", 0},
    [0x28] = {"gfx801", xnack},
    [0x29] = {"gfx802", 0},
    [0x2a] = {"gfx803", 0},
    [0x2b] = {"gfx810", xnack},
    [0x2c] = {"gfx900", xnack},
    [0x2d] = {"gfx902", xnack},
    [0x2e] = {"gfx904", xnack},
    [0x2f] = {"gfx906", xnack | sramecc},
    [0x30] = {"gfx908", xnack | sramecc},
    [0x31] = {"gfx909", xnack},
    [0x32] = {"gfx90c", xnack},
    [0x33] = {"gfx1010", xnack},
    [0x34] = {"gfx1011", xnack},
    [0x35] = {"gfx1012", xnack},
    [0x36] = {"gfx1030", 0},
    [0x37] = {"gfx1031", 0},
    [0x38] = {"gfx1032", 0},
    [0x39] = {"gfx1033", 0},
    [0x3a] = {"gfx602", 0},
    [0x3b] = {"gfx705", 0},
    [0x3c] = {"gfx805", 0},
    [0x3d] = {"gfx1035", 0},
    [0x3e] = {"gfx1034", 0},
    [0x3f] = {"gfx90a", xnack | sramecc},
    [0x40] = {"gfx940", xnack | sramecc},
    [0x41] = {"gfx1100", 0},
    [0x42] = {"gfx1013", xnack},
    [0x43] = {"gfx1150", 0},
    [0x44] = {"gfx1103", 0},
    [0x45] = {"gfx1036", 0},
    [0x46] = {"gfx1101", 0},
    [0x47] = {"gfx1102", 0},
    [0x48] = {"gfx1200", 0},
    [0x49] = {"gfx1250", xnack | sramecc},
    [0x4a] = {"gfx1151", 0},
    [0x4b] = {"gfx941", xnack | sramecc},
    [0x4c] = {"gfx942", xnack | sramecc},
    [0x4e] = {"gfx1201", 0},
    [0x4f] = {"gfx950", xnack | sramecc},
    [0x50] = {"gfx1310", 0},
    [0x51] = {"gfx9-generic", xnack},
    [0x52] = {"gfx10-1-generic", xnack},
    [0x53] = {"gfx10-3-generic", 0},
    [0x54] = {"gfx11-generic", 0},
    [0x55] = {"gfx1152", 0},
    [0x57] = {"gfx1154", 0},
    [0x58] = {"gfx1153", 0},
    [0x59] = {"gfx12-generic", 0},
    [0x5a] = {"gfx1251", xnack | sramecc},
    [0x5b] = {"gfx12-5-generic", xnack | sramecc},
    [0x5c] = {"gfx1172", 0},
    [0x5d] = {"gfx1170", 0},
    [0x5e] = {"gfx1171", 0},
    [0x5f] = {"gfx9-4-generic", xnack | sramecc},
    [0x62] = {"gfx11-7-generic", 0},
    [0x63] = {"gfx13-generic", 0},
    [0xeb] = {"gfx1250-strict", xnack | sramecc},
};

/* ------------------------------------------------------------------------------------------ */
/* Target                                                                                       */

typedef enum { feature_any, feature_off, feature_on } setting;

/* Two bits from code object version 4 on: unsupported, any, off, on. */
static setting setting_v4(uint32_t flags, unsigned shift) {
  static const setting by_bits[] = {feature_any, feature_any, feature_off, feature_on};
  return by_bits[flags >> shift & 3];
}

/* One bit before that: on. Off and unsupported look alike, so the processor decides. */
static setting setting_v3(const processor *row, uint8_t feature, uint32_t flags, uint32_t bit) {
  if (!(row->features & feature))
    return feature_any;
  return flags & bit ? feature_on : feature_off;
}

/* Target ID features are spelled in alphabetical order. */
static void print_amdgpu_arch(kdl_image_target *target, const char *name, setting sramecc_is,
                              setting xnack_is) {
  static const char *const sramecc_text[] = {"", ":sramecc-", ":sramecc+"};
  static const char *const xnack_text[] = {"", ":xnack-", ":xnack+"};
  snprintf(target->arch, sizeof target->arch, "%s%s%s", name, sramecc_text[sramecc_is],
           xnack_text[xnack_is]);
}

static void read_flags(const kdl_elf *elf, kdl_image_target *target) {
  const processor *row = &processors[elf->flags & mach_mask];
  if (!row->name)
    return;
  /* Only HSA uses version 4; LLVM writes the flags of the others as in version 3. */
  if (elf->os_abi == os_abi_hsa && elf->abi_version >= 2) {
    print_amdgpu_arch(target, row->name, setting_v4(elf->flags, 10), setting_v4(elf->flags, 8));
    target->generic_version = elf->flags >> generic_version_shift;
  } else {
    print_amdgpu_arch(target, row->name, setting_v3(row, sramecc, elf->flags, 0x200),
                      setting_v3(row, xnack, elf->flags, 0x100));
  }
}

/* Version 2 has no processor in e_flags but a note: u16 vendor and architecture name sizes, then
 * u32 major, minor and stepping. */
static kdl_status read_isa_note(const kdl_elf *elf, kdl_image_target *target) {
  kdl_elf_notes notes = {.elf = elf};
  for (;;) {
    kdl_elf_note note;
    kdl_status status = kdl_elf_next_note(&notes, &note);
    if (status != KDL_OK || !note.owner)
      return status;
    if (!kdl_elf_note_is(&note, "AMD", note_isa_version) || note.size < 16)
      continue;
    char name[40];
    snprintf(name, sizeof name, "gfx%" PRIu32 "%" PRIu32 "%" PRIx32,
             kdl_elf_load_u32(elf, note.data + 4), kdl_elf_load_u32(elf, note.data + 8),
             kdl_elf_load_u32(elf, note.data + 12));
    setting xnack_is = feature_any;
    for (size_t i = 0; i < sizeof processors / sizeof *processors; ++i) {
      if (processors[i].name && strcmp(processors[i].name, name) == 0)
        xnack_is = setting_v3(&processors[i], xnack, elf->flags, 1);
    }
    print_amdgpu_arch(target, name, feature_any, xnack_is);
    return KDL_OK;
  }
}

static const char *triple_of(const kdl_elf *elf) {
  static const struct {
    uint8_t os_abi;
    const char *triple;
  } systems[] = {
      {os_abi_hsa, "amdgcn-amd-amdhsa"},
      {65, "amdgcn-amd-amdpal"},
      {66, "amdgcn-mesa-mesa3d"},
  };
  for (size_t i = 0; i < sizeof systems / sizeof *systems; ++i) {
    if (elf->os_abi == systems[i].os_abi)
      return systems[i].triple;
  }
  return (elf->flags & mach_mask) < first_amdgcn_mach ? "r600-unknown-unknown"
                                                      : "amdgcn-unknown-unknown";
}

kdl_status kdl_amdgpu_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  snprintf(target->triple, sizeof target->triple, "%s", triple_of(&elf));
  if (elf.os_abi == os_abi_hsa) {
    target->offload_kind = KDL_OFFLOAD_HIP;
    target->version_major = elf.abi_version + 2u;
    if (elf.abi_version == 0)
      return read_isa_note(&elf, target);
  }
  read_flags(&elf, target);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* What HIP needs                                                                               */

kdl_status kdl_amdgpu_check_symbols(const void *data, size_t size) {
  static const struct {
    const char *name;
    uint32_t type;
  } needed[] = {{".symtab", SHT_SYMTAB}, {".strtab", SHT_STRTAB}};
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i) {
    kdl_elf_section section;
    bool found = false;
    KDL_TRY(kdl_elf_find_section(&elf, needed[i].name, &section, &found));
    if ((!found || section.type != needed[i].type))
      return kdl_fail(KDL_BAD_FILE,
                      "the code object is stripped: found no section %s, expected one: HIP "
                      "crashes without. Link it without -s, and do not strip it",
                      needed[i].name);
  }
  return KDL_OK;
}
