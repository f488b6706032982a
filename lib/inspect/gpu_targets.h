/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Architectures of GPUs by name: AMD's, NVIDIA's and Intel's. */
#ifndef KDL_LIB_INSPECT_GPU_TARGETS_H
#define KDL_LIB_INSPECT_GPU_TARGETS_H

#include "support/base/text.h"

/* ------------------------------------------------------------------------------------------ */
/* AMD's processors and target IDs: processor(:feature(+|-))*, as gfx90a:sramecc+:xnack-        */

enum { KDL_AMDGCN_NO_GENERIC = 0xff };

typedef struct kdl_amdgcn_processor {
  const char *name;
  uint16_t version; /* gfx90a is 0x90a, gfx1100 is 0xb00; 0 for generic processors */
  uint8_t mach;     /* EF_AMDGPU_MACH in e_flags */
  bool has_xnack;
  bool has_sramecc;
  char line[5];       /* "gcn", "cdna", "rdna": min_gfx compares within one line; "" for none */
  uint8_t generation; /* 2 for cdna2; 0 where the line has none */
  uint8_t generic;    /* index of the generic processor that it belongs to, or is */
  uint8_t generic_version; /* the first version of it that covers this processor */
  uint8_t simd;            /* of kdl_amdgcn_simd_of */
  uint64_t tokens;
} kdl_amdgcn_processor;

/* All processors, generic ones last; NULL after the last. For tests and listings. */
const kdl_amdgcn_processor *kdl_amdgcn_at(size_t index);

static inline bool kdl_amdgcn_is_generic(const kdl_amdgcn_processor *processor) {
  return processor->version == 0;
}

typedef enum kdl_amdgcn_setting {
  KDL_AMDGCN_ANY = 0, /* unspecified: the image works with both settings */
  KDL_AMDGCN_OFF,
  KDL_AMDGCN_ON,
} kdl_amdgcn_setting;

typedef struct kdl_amdgcn_id {
  const kdl_amdgcn_processor *processor;
  kdl_amdgcn_setting sramecc;
  kdl_amdgcn_setting xnack;
} kdl_amdgcn_id;

/* Features may be in any order, each once, and only those of the processor. Also accepts an HSA
 * name ("amdgcn-amd-amdhsa--gfx90a:xnack+"). */
bool kdl_amdgcn_parse(kdl_string text, kdl_amdgcn_id *out_id, kdl_parse_error *out_error);

/* The canonical form: features in alphabetical order. */
void kdl_out_amdgcn(kdl_out *out, const kdl_amdgcn_id *id);

/* ------------------------------------------------------------------------------------------ */
/* NVIDIA's architectures and PTX versions                                                      */

typedef enum kdl_nvptx_part {
  KDL_NVPTX_DESKTOP,
  KDL_NVPTX_ARM,   /* a desktop part on a board with an Arm CPU */
  KDL_NVPTX_TEGRA, /* runs only cubins that were built for it */
} kdl_nvptx_part;

/* A row of lib/inspect/nvptx.def, which has the meaning of each. */
typedef struct kdl_nvptx_processor {
  uint16_t number; /* 90 for sm_90 */
  uint16_t shared; /* KiB of a multiprocessor, as all limits */
  uint8_t ptx, ptx_a, ptx_f, tile_ir;
  uint8_t part;
  uint8_t warps, groups, partitions; /* 0: not known */
} kdl_nvptx_processor;

/* All, in order; NULL after the last. Renamed ones have their current number only. */
const kdl_nvptx_processor *kdl_nvptx_at(size_t index);

typedef struct kdl_nvptx_arch {
  uint16_t number; /* as written: 90 for sm_90a */
  uint8_t major;   /* the compute capability: sm_101 is 11.0, see the table of renamed parts */
  uint8_t minor;
  char suffix;     /* 'a', 'f' or 0 */
  bool is_virtual; /* compute_90 */
  uint8_t part;    /* kdl_nvptx_part */
} kdl_nvptx_arch;

bool kdl_nvptx_parse(kdl_string text, kdl_nvptx_arch *out_arch, kdl_parse_error *out_error);

/* The CUDA version from which a Tegra part's driver also takes cubins of desktop parts, or 0.
 * `capability` is 0x0807 for 8.7. */
uint32_t kdl_nvptx_desktop_driver(uint32_t capability);

/* The first PTX ISA version that supports the target; 0 where it is unknown. Versions are
 * KDL_VERSION_OF of lib/inspect/targets.h. */
uint32_t kdl_nvptx_first_ptx(const kdl_nvptx_arch *arch);

/* The newest PTX ISA version that a driver of that CUDA version supports. Versions after the
 * table's last row support at least that row's. */
uint32_t kdl_nvptx_ptx_of_cuda(uint32_t cuda);

/* The first CUDA version whose driver compiles Tile IR for a device; 0 where none does. */
uint32_t kdl_nvptx_tile_ir_driver(uint32_t capability);

/* ------------------------------------------------------------------------------------------ */
/* Intel's IP versions: architecture.release.revision, as 12.60.7, and ocloc's acronyms         */

typedef struct kdl_intel_ip {
  uint8_t architecture;
  uint8_t release;
  uint8_t revision; /* at most 63 */
} kdl_intel_ip;

/* "12.60.7", "pvc", "intel_gpu_pvc", "0x030f0007". */
bool kdl_intel_parse(kdl_string text, kdl_intel_ip *out_ip, kdl_parse_error *out_error);

/* All acronyms, one per IP version; NULL after the last. For tests and listings. */
const char *kdl_intel_acronym_at(size_t index);

/* "12.60.7 (pvc)" */
void kdl_out_intel(kdl_out *out, kdl_intel_ip ip);

#endif
