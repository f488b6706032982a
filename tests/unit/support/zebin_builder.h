/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Zebins, with notes and section names as Intel's graphics compiler writes them. */
#ifndef KDL_TESTS_UNIT_ZEBIN_BUILDER_H
#define KDL_TESTS_UNIT_ZEBIN_BUILDER_H

#include "elf_builder.h"

enum { machine_intelgt = 205, progbits = 1, type_note = 7, note_size = 24, note_count = 4 };

/* One note of the owner "IntelGT" with a word. */
static inline void store_note(uint8_t *out, uint32_t type, uint32_t value) {
  kdl_store_u32(out, 8);
  kdl_store_u32(out + 4, 4);
  kdl_store_u32(out + 8, type);
  memcpy(out + 12, "IntelGT", 8);
  kdl_store_u32(out + 20, value);
}

static inline uint32_t ip_version(uint32_t major, uint32_t minor, uint32_t revision) {
  return major << 22 | minor << 14 | revision;
}

/* The kernels saxpy and fill. */
static inline elf_image build_zebin(uint32_t product_config, const char *ze_info) {
  uint8_t notes[note_count * note_size];
  store_note(notes, 1, 0x4a1);         /* product family */
  store_note(notes + note_size, 2, 3); /* core family */
  store_note(notes + 2 * note_size, 3, 0);
  store_note(notes + 3 * note_size, 6, product_config);
  const elf_section sections[] = {
      {".text", progbits, 0, "x", 1},
      {".text.saxpy", progbits, 0, "x", 1},
      {".text.Intel_Symbol_Table_Void_Program", progbits, 0, "x", 1},
      {".text.fill", progbits, 0, "x", 1},
      {".text.notcode", type_note, 0, NULL, 0},
      {".data.const", progbits, 0, "x", 1},
      {".ze_info", 0xff000011, 0, ze_info, strlen(ze_info)},
      {".note.intelgt.compat", type_note, 0, notes, sizeof notes},
  };
  return build_elf(machine_intelgt, sections, sizeof sections / sizeof *sections);
}

#endif
