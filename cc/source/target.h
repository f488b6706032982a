/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The names that `kdl cc --targets` accepts, and their names in Clang and in the metadata.
 *
 *     sm_90, sm_90a        machine code for NVIDIA's GPUs, or PTX where there is no ptxas
 *     compute_90           PTX
 *     gfx942, gfx90a:xnack+, gfx11-generic
 *     spirv64, spirv64v1.3 SPIR-V, version 1.2 by default
 *     opencl-c             OpenCL C 1.2, compiled by the driver
 *     x86-64-v3, znver4, x86-64-v4+avx512_bf16, armv8.2-a+sve, neoverse-v2
 *     portable             bitcode for any device, lowered when it is loaded
 *     native               the CPU of this machine
 *     h200, mi300x, pvc, zen4, cuda:sm_90
 *                          a device as for `kdl explain`: its architecture
 */
#ifndef KDL_CC_SOURCE_TARGET_H
#define KDL_CC_SOURCE_TARGET_H

#include "lib/inspect/devices.h"
#include "lib/inspect/targets.h"

#include <kdl/kdl.h>

/* The language of a source file. `requested` is the value of -x, or NULL. KDL_BAD_CALL if the
 * file's suffix is unknown. */
typedef enum cc_language { CC_C, CC_CXX, CC_OPENCL_C, CC_CUDA, CC_HIP } cc_language;
kdl_status cc_language_of(const char *path, const char *requested, cc_language *out_language);

typedef enum cc_family { CC_NVIDIA, CC_AMD, CC_SPIRV, CC_OPENCL, CC_HOST, CC_PORTABLE } cc_family;

enum { CC_TARGET_NAME_SIZE = KDL_SPEC_ARCH };

typedef struct cc_target {
  kdl_string spelling; /* as on the command line */
  cc_family family;
  kdl_feature_class features;     /* what requires_features means for it */
  char name[CC_TARGET_NAME_SIZE]; /* sm_90, also for a device of it; native stays native */
  char arch[CC_TARGET_NAME_SIZE]; /* for the metadata; "" for none */
  char cpu[CC_TARGET_NAME_SIZE];  /* Clang's -march or -mcpu; "" for none */
  char triple[64];                /* Clang's --target */
  const char *packed_triple;      /* for the metadata */
  const char *vendor;             /* the suffix of its feature tokens: "_nv", ...; "" for none */
  uint16_t offload_kind;
  bool is_generic;                    /* AMD: a generic processor */
  bool is_virtual;                    /* NVIDIA: PTX was requested */
  bool is_cpu;                        /* AArch64: a CPU, not a version of the architecture */
  unsigned ptx;                       /* NVIDIA: the first PTX version with it: 78 is 7.8 */
  unsigned capability;                /* NVIDIA: 90 is 9.0 */
  kdl_feature_set available_features; /* CPUs: features that its code may use */
  kdl_feature_set extra_features;     /* CPUs: features that the name adds to its base */
} cc_target;

/* KDL_BAD_CALL with the expected forms if the name is not a target. */
kdl_status cc_target_parse(kdl_string name, cc_target *out_target);

/* LLVM's name of an x86-64 or AArch64 feature, for -target-feature; "" if LLVM has none. */
void cc_target_feature_name(kdl_feature_class which, unsigned bit, char *out_name, size_t room);

extern const char cc_target_names[];

#endif
