/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMD's processors and target IDs: processor(:feature(+|-))*, for instance gfx90a:sramecc+:xnack-.
 */
#ifndef KDL_TARGET_FAMILIES_AMDGCN_H
#define KDL_TARGET_FAMILIES_AMDGCN_H

#include "support/base/text.h"

enum { KDL_AMDGCN_NO_GENERIC = 0xff };

typedef struct kdl_amdgcn_processor {
  const char *name;
  uint16_t version; /* gfx90a is 0x90a, gfx1100 is 0xb00; 0 for generic processors */
  uint8_t mach;     /* EF_AMDGPU_MACH in e_flags */
  bool has_xnack;
  bool has_sramecc;
  char line[5];            /* "gcn", "cdna", "rdna": minima are compared within one; "" for none */
  uint8_t generation;      /* 2 for cdna2; 0 where the line has none */
  uint8_t generic;         /* the generic processor it belongs to, or is: a row number */
  uint8_t generic_version; /* the first version of it that covers this processor */
  uint64_t tokens;
} kdl_amdgcn_processor;

/* NULL where there is none of that name. */
const kdl_amdgcn_processor *kdl_amdgcn_find(kdl_string name);

/* All of them, generic processors last: for tests and listings. NULL behind the last. */
const kdl_amdgcn_processor *kdl_amdgcn_at(size_t index);

/* The generic processor of that row number; NULL for KDL_AMDGCN_NO_GENERIC. */
const kdl_amdgcn_processor *kdl_amdgcn_generic(uint8_t generic);

static inline bool kdl_amdgcn_is_generic(const kdl_amdgcn_processor *processor) {
  return processor->version == 0;
}

typedef enum kdl_amdgcn_setting {
  KDL_AMDGCN_ANY = 0, /* not said: an image that works either way */
  KDL_AMDGCN_OFF,
  KDL_AMDGCN_ON,
} kdl_amdgcn_setting;

typedef struct kdl_amdgcn_id {
  const kdl_amdgcn_processor *processor;
  kdl_amdgcn_setting sramecc;
  kdl_amdgcn_setting xnack;
} kdl_amdgcn_id;

/* Features may stand in any order, each once, and only where the processor has them. An HSA name
 * ("amdgcn-amd-amdhsa--gfx90a:xnack+") is taken as well. */
bool kdl_amdgcn_parse(kdl_string text, kdl_amdgcn_id *out_id, kdl_parse_error *out_error);

/* The canonical form: features in alphabetical order. */
void kdl_out_amdgcn(kdl_out *out, const kdl_amdgcn_id *id);

/* As a number: the line, then the version, so that neighbours are near. Not for generics. */
uint32_t kdl_amdgcn_arch(const kdl_amdgcn_processor *processor);

/* min_gfx: a processor, and its family tag behind a colon: gfx90a:cdna2. The tag may be left out;
 * if it is there it must be the processor's own. */
bool kdl_amdgcn_parse_min(kdl_string text, const kdl_amdgcn_processor **out_processor,
                          kdl_parse_error *out_error);

/* The architectures from the processor to the end of its line: what satisfies it as a minimum. */
void kdl_amdgcn_min_range(const kdl_amdgcn_processor *processor, uint32_t *out_lo,
                          uint32_t *out_hi);

#endif
