/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Architectures of GPUs, for the library only: minimums, ranges, numbers, limits of occupancy. */
#ifndef KDL_LIB_TARGET_FAMILIES_GPU_H
#define KDL_LIB_TARGET_FAMILIES_GPU_H

#include "lib/inspect/targets.h"

/* What limits how many subgroups run at a time (lib/inspect/amdgcn.def). */
typedef struct kdl_amdgcn_simd {
  uint8_t subgroups;
  uint8_t count; /* of a compute unit */
  uint16_t registers;
  uint8_t unit;
  uint8_t shared; /* KiB of a compute unit */
  bool has_accumulators;
  bool limits_scalars;
} kdl_amdgcn_simd;

static inline bool kdl_amdgcn_is_generic(const kdl_amdgcn_processor *processor) {
  return processor->version == 0;
}

/* NULL where the limits are not known, as for generic processors. */
const kdl_amdgcn_simd *kdl_amdgcn_simd_of(const kdl_amdgcn_processor *processor);

/* The generic processor of that row number; NULL for KDL_AMDGCN_NO_GENERIC. */
const kdl_amdgcn_processor *kdl_amdgcn_generic(uint8_t generic);

/* As a number: the line, then the version, so that neighbours are close. Not for generics. */
uint32_t kdl_amdgcn_arch(const kdl_amdgcn_processor *processor);

/* min_gfx: a processor, optionally with its line and generation after a colon: gfx90a:cdna2. These
 * must be the processor's own. */
bool kdl_amdgcn_parse_min(kdl_string text, const kdl_amdgcn_processor **out_processor,
                          kdl_parse_error *out_error);

/* The range of architectures that satisfy the processor as a minimum: to the end of its line. */
void kdl_amdgcn_min_range(const kdl_amdgcn_processor *processor, uint32_t *out_lo,
                          uint32_t *out_hi);

/* 90 is 9.0, 121 is 12.1; false above 2559. Renamed parts get their current number. */
bool kdl_nvptx_capability(uint32_t number, uint8_t *out_major, uint8_t *out_minor);

/* Whether a cubin for that arch may match the device's major version; true for an unknown arch. */
bool kdl_nvptx_may_run(kdl_string arch, uint32_t device_arch);

/* The first CUDA version that supports the PTX ISA version; 0 where it is unknown. */
uint32_t kdl_nvptx_cuda_of_ptx(uint32_t ptx);

/* The newest PTX ISA version that a driver of that CUDA version supports. Versions after the
 * table's last row support at least that row's. */
uint32_t kdl_nvptx_ptx_of_cuda(uint32_t cuda);

/* The CUDA version from which a Tegra part's driver also takes cubins of desktop parts, or 0.
 * `capability` is 0x0807 for 8.7. */
uint32_t kdl_nvptx_desktop_driver(uint32_t capability);

/* The first CUDA version whose driver compiles Tile IR for a device; 0 where none does. */
uint32_t kdl_nvptx_tile_ir_driver(uint32_t capability);

typedef struct kdl_intel_ip {
  uint8_t architecture;
  uint8_t release;
  uint8_t revision; /* at most 63 */
} kdl_intel_ip;

/* "12.60.7", "pvc", "intel_gpu_pvc", "0x030f0007". */
bool kdl_intel_parse(kdl_string text, kdl_intel_ip *out_ip, kdl_parse_error *out_error);

/* The number drivers report: architecture << 22 | release << 14 | revision. */
uint32_t kdl_intel_number(kdl_intel_ip ip);

/* An acronym for it, or NULL. */
const char *kdl_intel_acronym(kdl_intel_ip ip);

/* All acronyms, one per IP version; NULL after the last. */
const char *kdl_intel_acronym_at(size_t index);

/* All processors, generic ones last; NULL after the last. */
const kdl_amdgcn_processor *kdl_amdgcn_at(size_t index);

/* NULL where there is none of that name. */
const kdl_amdgcn_processor *kdl_amdgcn_find(kdl_string name);

/* The one of that compute capability, or NULL. */
const kdl_nvptx_processor *kdl_nvptx_find(uint8_t major, uint8_t minor);

#endif
