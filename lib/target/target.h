/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which image runs where, and which of several is the best.
 *
 * An image is compiled into a rule: a range of architectures, the set of things it needs, and a
 * rank. A device is compiled once, when it is found or described, into a rule of its architecture
 * and the set of things it lacks. Matching is three comparisons,
 *
 *     lo <= architecture <= hi,    needs & lacks == 0 in both words.
 *
 * Two kinds of image have a further one, since kdl-ld lowers them for any family: portable images,
 * and SPIR-V where the driver does not take it.
 *
 * The comparison that fails, and the bits that are left, are the reasons (kdl_match);
 * lib/target/explain/explain.h prints them:
 *
 *     kdl_image_desc cubin = {.kind = KDL_IMAGE_CUBIN, .arch = KDL_TEXT("sm_90a")};
 *     kdl_device_desc rtx = {.family = KDL_FAMILY_NVPTX, .arch = KDL_TEXT("sm_120")};
 *     kdl_image_rule image;
 *     kdl_device_rule device;
 *     kdl_image_compile(&cubin, &image);
 *     kdl_device_compile(&rtx, &device, NULL);
 *     assert(kdl_match(&image, &device).reasons == KDL_REASON(ARCH_SPECIFIC_EXACT));
 *
 * Everything here is pure: no allocation, no I/O, no state. The rules and their sources are in
 * docs/targets.md.
 */
#ifndef KDL_LIB_TARGET_TARGET_H
#define KDL_LIB_TARGET_TARGET_H

#include "lib/inspect/selection.h"
#include "lib/target/features/feature.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rule that applies to an image. */
typedef enum kdl_image_form {
  KDL_FORM_NONE = 0,
  KDL_FORM_CUBIN,
  KDL_FORM_NVIDIA_IR, /* PTX, Tile IR */
  KDL_FORM_HSACO,     /* for one AMD processor */
  KDL_FORM_GENERIC,   /* for an AMD generic processor */
  KDL_FORM_AMDGCNSPIRV,
  KDL_FORM_ZEBIN,
  KDL_FORM_SPIRV,
  KDL_FORM_CL, /* OpenCL C: any device behind OpenCL */
  KDL_FORM_HOST,
  KDL_FORM_PORTABLE, /* bitcode for every device that kdl-ld makes images for */
  KDL_FORM_BITCODE,  /* LLVM's or NVIDIA's: must be linked and compiled first */
} kdl_image_form;

/* What is known of an image: from the container, and from the image where that was read. Nothing is
 * copied. */
typedef struct kdl_image_desc {
  kdl_image_kind kind;
  kdl_string triple;
  kdl_string arch;
  const kdl_pair *pairs; /* metadata; duplicate keys: the last one counts */
  size_t pair_count;
  /* PTX ISA, Tile IR or SPIR-V version, or in `major` the AMD code object version; 0.0 = not read.
   */
  uint16_t version_major;
  uint16_t version_minor;
  uint8_t generic_version; /* of an AMD generic code object; 0 = not read */
  uint32_t capabilities;   /* of a SPIR-V module, as bits of GPU tokens; 0 = not read */
  bool is_link_input;      /* input of a device linker */
  bool is_unknown_kind;    /* an unknown kind: the key kdl.kind names it, or ... */
  uint16_t kind_number;    /* ... this number */
} kdl_image_desc;

/* What is known of a device. Nothing is copied. */
typedef struct kdl_device_desc {
  kdl_target_family family;
  kdl_string arch;     /* "sm_90", "gfx90a:sramecc+:xnack-", "12.60.7" or "pvc", "spirv64",
                          "x86-64-v4+avx512_bf16", "armv9-a+sve2-bitperm" or "neoverse-v2" */
  kdl_string features; /* more tokens, joined by '+' */
  kdl_string os_off;   /* tokens the CPU has and the operating system does not enable */
  kdl_string refused;  /* tokens whose permission was requested and refused (AMX) */
  uint32_t driver;     /* NVIDIA: CUDA version; AMD: ROCm version */
  uint32_t ptx;        /* newest PTX ISA; 0 = as the driver's CUDA version implies */
  uint32_t spirv;      /* newest SPIR-V version. 0 = none; for KDL_FAMILY_INTEL: any */
  uint32_t loads;      /* kinds of image that it loads in addition to the family's, as 1 << kind */
  uint32_t refuses;    /* kinds of the family's images that it does not load */
} kdl_device_desc;

/* A compiled image. Matching reads only the first 32 bytes. */
typedef struct kdl_image_rule {
  uint32_t lo;
  uint32_t span; /* of the architectures the image runs on: hi - lo */
  kdl_feature_set needs;
  uint64_t rank; /* never 0 */

  uint32_t priority;         /* variant_priority; 0 where absent */
  uint32_t arch_lo, arch_hi; /* the range of the image's arch ... */
  uint32_t min_lo;           /* ... and the begin of that of min_sm or min_gfx */
  /* Of portable images and SPIR-V, which kdl-ld lowers: GPU tokens, on any family of devices, and
   * the bits of lib/target/requirements.h. */
  uint32_t lowering_needs;
  uint8_t family;  /* kdl_target_family */
  uint8_t form;    /* kdl_image_form */
  uint8_t kind;    /* kdl_image_kind, made precise by the triple: an AMD "object" is HSACO */
  char suffix;     /* NVIDIA: 'a', 'f' or 0 */
  uint64_t faults; /* reasons that hold on every device */
} kdl_image_rule;

typedef struct kdl_device_rule {
  uint32_t arch;
  uint32_t family; /* kdl_target_family */
  kdl_feature_set lacks;

  kdl_feature_set os_off;  /* subset of `lacks`: present, but not enabled */
  kdl_feature_set refused; /* subset of `lacks`: present, but not permitted */
  uint32_t driver;
  uint32_t ptx;
  uint32_t spirv;
  uint32_t lowering_lacks; /* what code that kdl-ld lowers cannot use: the bits of lowering_needs */
} kdl_device_rule;

/* Never fails: errors in an image become reasons. */
void kdl_image_compile(const kdl_image_desc *desc, kdl_image_rule *out_rule);

/* An error in a device's description. */
typedef struct kdl_device_error {
  const char *field; /* "arch", "features", ... */
  kdl_string text;   /* the field's text */
  kdl_parse_error parse;
} kdl_device_error;

/* False where the description is wrong; `out_error` may be NULL. */
bool kdl_device_compile(const kdl_device_desc *desc, kdl_device_rule *out_rule,
                        kdl_device_error *out_error);

/* Lets the device accept bitcode, if kdl-ld supports its family. For callers that have kdl-ld. */
void kdl_device_accept_bitcode(kdl_device_rule *rule);

/* The same for SPIR-V that the driver does not take. For callers that have llvm-spirv too. */
void kdl_device_accept_spirv(kdl_device_rule *rule);

/* False where kind and arch alone exclude the image, so that it needs no rule. May be true for an
 * image that does not run. */
bool kdl_match_may_run(kdl_image_kind kind, kdl_string arch, const kdl_device_rule *device);

/* Whether the image is SPIR-V that kdl-ld can translate for the device, whose driver does not take
 * it. */
static inline bool kdl_match_translates(const kdl_image_rule *image,
                                        const kdl_device_rule *device) {
  return image->form == KDL_FORM_SPIRV && !(image->lowering_needs & device->lowering_lacks);
}

/* Whether the image is SPIR-V that kdl-ld would translate for the device if that had llvm-spirv. */
bool kdl_match_would_translate(const kdl_image_rule *image, const kdl_device_rule *device);

/* Whether the image may run on the device. */
static inline bool kdl_match_admits(const kdl_image_rule *image, const kdl_device_rule *device) {
  if ((uint32_t)(device->arch - image->lo) <= image->span &&
      !(image->needs.word[0] & device->lacks.word[0]) &&
      !(image->needs.word[1] & device->lacks.word[1]))
    return image->form != KDL_FORM_PORTABLE || !(image->lowering_needs & device->lowering_lacks);
  return kdl_match_translates(image, device);
}

/* Why kdl_match_admits is false; never 0 then. */
uint64_t kdl_match_reasons(const kdl_image_rule *image, const kdl_device_rule *device);

/* With that of code that lacks a function, which on another vendor's devices is of no interest. */
uint64_t kdl_reasons_if_unresolved(uint64_t reasons);

/* The sum of the distances, of reasons that say the same once. kdl_match_distance also orders
 * images that are refused for the same reasons. */
unsigned kdl_reasons_distance(uint64_t reasons);

/* The distance of an image that does not run, for its reasons of kdl_match_reasons: the least is
 * the nearest. The reasons count first, then how far apart the architectures are, or how many
 * features are missing. */
uint64_t kdl_match_distance(const kdl_image_rule *image, const kdl_device_rule *device,
                            uint64_t reasons);

typedef struct kdl_match_result {
  uint64_t reasons; /* KDL_REASON bits; 0 = may run */
  uint64_t rank;    /* 0 where it may not run */
} kdl_match_result;

/*
 * Ranks. A rank is a tier and, within it, a number that grows with how closely the image fits; all
 * are below 2^53. A rank depends on the image alone and is right for every device: of the images
 * that run on a device, the nearest is the one for the highest architecture, because one for an
 * architecture above the device's would not run. The exception is SPIR-V that is translated, which
 * is behind all others.
 */
enum { KDL_TIER_SHIFT = 49 };

static inline uint64_t kdl_match_rank(const kdl_image_rule *image, const kdl_device_rule *device) {
  return kdl_match_translates(image, device)
             ? (image->rank & (((uint64_t)1 << KDL_TIER_SHIFT) - 1)) | 1
             : image->rank;
}

static inline kdl_match_result kdl_match(const kdl_image_rule *image,
                                         const kdl_device_rule *device) {
  if (kdl_match_admits(image, device))
    return (kdl_match_result){0, kdl_match_rank(image, device)};
  return (kdl_match_result){kdl_match_reasons(image, device), 0};
}

static inline kdl_tier kdl_rank_tier(uint64_t rank) {
  return (kdl_tier)(rank >> KDL_TIER_SHIFT);
}

/* "exact", "lower minor", "family", ...: how an image that runs on the device fits it. */
const char *kdl_match_fit(const kdl_image_rule *image, const kdl_device_rule *device);

#endif
