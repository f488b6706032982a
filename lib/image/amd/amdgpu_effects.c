/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether a kernel of an AMD code object does anything. Its code is read from the start; the first
 * instruction that is not known to change registers only ends the search: then it does something.
 * (LLVM's "User Guide for AMDGPU Backend" names AMD's manuals of the instruction sets.)
 */
#include "lib/image/amd/amdgpu_functions.h"
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* The operations of one generation: its gfx9, gfx10, gfx11 or gfx12. */
typedef struct {
  uint8_t major;
  uint8_t end, trap;   /* s_endpgm, s_trap */
  uint8_t harmless[8]; /* waits, hints and padding; s_nop, 0, ends the list and is one. Branches are
                          not: a loop takes time, which may be what it is for */
} program_operations;

static const program_operations generations[] = {
    {9, 1, 18, {12, 15}},               /* s_waitcnt, s_setprio */
    {10, 1, 18, {12, 15, 31, 32, 33}},  /* the same, s_code_end, s_inst_prefetch, s_clause */
    {11, 48, 16, {9, 53, 31, 4, 5, 7}}, /* and s_delay_alu */
    {12, 48, 16, {53, 31, 5, 7}},
};

static bool is_harmless(const program_operations *generation, unsigned operation) {
  for (size_t i = 0; i < sizeof generation->harmless && generation->harmless[i]; ++i) {
    if (generation->harmless[i] == operation)
      return true;
  }
  return operation == 0;
}

enum { source_literal = 255 };

/* The bytes of an instruction that changes registers only: a move, or scalar arithmetic; else 0. */
static uint64_t harmless_size(uint32_t word) {
  enum {
    encoding_sop1 = 0x17d, /* bits 23 to 31 */
    encoding_sopc = 0x17e,
    encoding_sopk = 0xb,  /* bits 28 to 31 */
    encoding_sop2 = 0x2,  /* bits 30 and 31 */
    encoding_vop1 = 0x3f, /* bits 25 to 31 */
    last_move = 4,        /* s_mov_b32 and s_mov_b64 of all generations are at most this */
  };
  bool has_literal = (word & 0xff) == source_literal;
  if (word >> 23 == encoding_sop1)
    return (word >> 8 & 0xff) <= last_move ? (has_literal ? 8 : 4) : 0;
  if (word >> 23 >= encoding_sopc)
    return 0;
  if (word >> 28 == encoding_sopk)
    return (word >> 23 & 0x1f) == 0 ? 4 : 0; /* s_movk_i32 */
  if (word >> 30 == encoding_sop2)
    return has_literal || (word >> 8 & 0xff) == source_literal ? 8 : 4;
  if (word >> 25 == encoding_vop1) { /* v_nop, v_mov_b32; others of the source have more bytes */
    uint32_t source = word & 0x1ff;
    bool is_plain = source < 233 || source > 250;
    return (word >> 9 & 0xff) <= 1 && is_plain ? (source == source_literal ? 8 : 4) : 0;
  }
  return 0;
}

static kdl_kernel_effect effect_of_code(const program_operations *generation, const uint8_t *code,
                                        uint64_t size) {
  enum { encoding_sopp = 0x17f };
  kdl_kernel_effect effect = KDL_EFFECT_NOTHING;
  bool ends = false;
  for (uint64_t at = 0; at + 4 <= size;) {
    uint32_t word = kdl_load_u32(code + at);
    uint64_t length = 4;
    if (word >> 23 == encoding_sopp) {
      unsigned operation = word >> 16 & 0x7f;
      ends |= operation == generation->end;
      if (operation == generation->trap)
        effect = KDL_EFFECT_STOPS;
      else if (operation != generation->end && !is_harmless(generation, operation))
        return KDL_EFFECT_SOME;
    } else {
      length = harmless_size(word);
    }
    if (!length)
      return KDL_EFFECT_SOME;
    at += length;
  }
  return ends || effect == KDL_EFFECT_STOPS ? effect : KDL_EFFECT_SOME;
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

typedef struct {
  const program_operations *generation; /* NULL: not known */
  kdl_amdgpu_functions functions;
  kdl_visit_effect *visit;
  void *user;
} effect_reader;

static int visit_kernel_effect(void *user, const char *name, size_t length) {
  const effect_reader *reader = user;
  kdl_string kernel = {name, length};
  kdl_kernel_effect effect = KDL_EFFECT_UNKNOWN;
  uint64_t size;
  const uint8_t *code = kdl_amdgpu_function_code(&reader->functions, kernel, &size);
  if (code && reader->generation)
    effect = effect_of_code(reader->generation, code, size);
  return reader->visit(reader->user, kernel, effect);
}

static const program_operations *find_generation(const uint8_t *data, size_t size) {
  static const char prefix[] = "gfx";
  kdl_image_target target = {.arch = ""};
  if (kdl_amdgpu_read_target(data, size, &target) != KDL_OK ||
      strncmp(target.arch, prefix, sizeof prefix - 1) != 0)
    return NULL;
  unsigned long number = strtoul(target.arch + sizeof prefix - 1, NULL, 16);
  unsigned long major = number < 0x1000 ? number >> 8 : (number >> 12) * 10 + (number >> 8 & 0xf);
  for (size_t i = 0; i < sizeof generations / sizeof *generations; ++i) {
    if (generations[i].major == major)
      return &generations[i];
  }
  return NULL;
}

kdl_status kdl_amdgpu_read_effects(const uint8_t *data, size_t size, kdl_visit_effect *visit,
                                   void *user) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  effect_reader reader = {.generation = find_generation(data, size), .visit = visit, .user = user};
  kdl_status status = kdl_amdgpu_functions_open(&elf, &reader.functions);
  if (status == KDL_OK)
    status = kdl_amdgpu_read_kernels(data, size, visit_kernel_effect, &reader);
  kdl_amdgpu_functions_close(&reader.functions);
  return status;
}
