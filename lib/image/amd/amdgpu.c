/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * AMD code objects: ELF whose e_flags name the processor and its features (LLVM's "User Guide for
 * AMDGPU Backend", "ELF Code Object"). amdgpu_metadata.c reads their kernels.
 */
#include "lib/image/readers.h"
#include "lib/inspect/images.h"
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

/* As lib/inspect/amdgcn.def has them. */
enum {
  SETTINGS_NONE = 0,
  SETTINGS_XNACK = xnack,
  SETTINGS_XNACK_SRAMECC = xnack | sramecc,
  SETTINGS_FLAGS_ALONE = xnack | sramecc,
};

/* EF_AMDGPU_MACH_*. An unknown processor has no name, and is no error. */
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
#define KDL_AMDGCN(name, version, mach, settings, ...) [mach] = {name, SETTINGS_##settings},
#define KDL_AMDGCN_GENERIC(id, name, mach, settings, line) [mach] = {name, SETTINGS_##settings},
#include "lib/inspect/amdgcn.def"
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

const kdl_image_readers kdl_amdgpu_readers = {
    .target = kdl_amdgpu_read_target,
    .kernels = kdl_amdgpu_read_kernels,
    .params = kdl_amdgpu_read_params,
    .geometry = kdl_amdgpu_read_geometry,
    .resources = kdl_amdgpu_read_resources,
    .effects = kdl_amdgpu_read_effects,
    .digests = kdl_amdgpu_read_digests,
};
