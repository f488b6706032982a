/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which image runs where, and which of several is the best.
 *
 * An image is compiled once, when its library is opened, into a rule: a range of architectures, the
 * set of things it needs, and a rank. A device is compiled once, when it is found or described,
 * into another: its architecture and the set of things it lacks. Matching is then three compares,
 *
 *     lo <= architecture <= hi,    needs & lacks == 0 in both words,
 *
 * and when one of them fails, the compare that failed and the bits that were left over are the
 * reasons (kdl_match), in words if asked for (lib/target/explain/explain.h):
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
#ifndef KDL_TARGET_TARGET_H
#define KDL_TARGET_TARGET_H

#include "lib/inspect/catalog.h"
#include "lib/inspect/reasons.h"
#include "lib/target/features/feature.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KDL_IMAGE_KIND_COUNT = KDL_IMAGE_SEQUENCE + 1 };

/* Which rule an image falls under. */
typedef enum kdl_image_form {
  KDL_FORM_NONE = 0,
  KDL_FORM_CUBIN,
  KDL_FORM_PTX,
  KDL_FORM_HSACO,   /* for one AMD processor */
  KDL_FORM_GENERIC, /* for an AMD generic processor */
  KDL_FORM_AMDGCNSPIRV,
  KDL_FORM_ZEBIN,
  KDL_FORM_SPIRV,
  KDL_FORM_CL, /* OpenCL C: any device behind OpenCL */
  KDL_FORM_HOST,
  KDL_FORM_BITCODE, /* LLVM's or NVIDIA's: something else must link and compile it */
} kdl_image_form;

/* What is known of an image: the container's words, and what the image itself said where it was
 * looked. Nothing is copied. */
typedef struct kdl_image_desc {
  kdl_image_kind kind;
  kdl_string triple;
  kdl_string arch;
  const kdl_pair *pairs; /* metadata; duplicate keys: the last one counts */
  size_t pair_count;
  /* PTX ISA, SPIR-V version, or in `major` the AMD code object version; 0.0 = not looked at. */
  uint16_t version_major;
  uint16_t version_minor;
  uint8_t generic_version; /* of an AMD generic code object; 0 = not looked at */
  uint32_t capabilities;   /* of a SPIR-V module, as bits of GPU tokens; 0 = not looked at */
  bool is_link_input;      /* relocatable code, there to be linked into another image */
  bool is_unknown_kind;    /* of one that is not known here: the key kdl.kind names it, or ... */
  uint16_t kind_number;    /* ... this does */
} kdl_image_desc;

/* What is known of a device. Nothing is copied. */
typedef struct kdl_device_desc {
  kdl_target_family family;
  kdl_string arch;     /* "sm_90", "gfx90a:sramecc+:xnack-", "12.60.7" or "pvc", "spirv64",
                          "x86-64-v4+avx512_bf16", "armv9-a+sve2-bitperm" or "neoverse-v2" */
  kdl_string features; /* more tokens, joined by '+' */
  kdl_string os_off;   /* tokens the CPU has and the operating system does not enable */
  kdl_string refused;  /* tokens whose permission was asked for and refused (AMX) */
  uint32_t driver;     /* NVIDIA: CUDA version; AMD: ROCm version */
  uint32_t ptx;        /* newest PTX ISA; 0 = as the driver's CUDA version implies */
  uint32_t spirv;      /* newest SPIR-V version. 0 = none, but for KDL_FAMILY_INTEL: any */
  uint32_t loads;      /* kinds of image it can take besides the family's own, as 1 << kind */
  uint32_t refuses;    /* and of the family's own, those it does not take */
} kdl_device_desc;

/* One image, compiled. The first 32 bytes are what matching reads. */
typedef struct kdl_image_rule {
  uint32_t lo;
  uint32_t span; /* of the architectures the image runs on: hi - lo */
  kdl_feature_set needs;
  uint64_t rank; /* never 0 */

  uint32_t priority;         /* variant_priority; 0 where absent */
  uint32_t arch_lo, arch_hi; /* what the image's own arch allows ... */
  uint32_t min_lo, min_hi;   /* ... and min_sm or min_gfx */
  uint8_t family;            /* kdl_target_family */
  uint8_t form;              /* kdl_image_form */
  uint8_t kind;    /* kdl_image_kind, made precise by the triple: an AMD "object" is HSACO */
  char suffix;     /* NVIDIA: 'a', 'f' or 0 */
  uint64_t faults; /* reasons that hold on every device */
} kdl_image_rule;

typedef struct kdl_device_rule {
  uint32_t arch;
  uint32_t family; /* kdl_target_family */
  kdl_feature_set lacks;

  kdl_feature_set os_off;  /* of what it lacks: there, but off */
  kdl_feature_set refused; /* of what it lacks: there, but not permitted */
  uint32_t driver;
  uint32_t ptx;
  uint32_t spirv;
} kdl_device_rule;

/* Never fails: what is wrong with an image is a reason. */
void kdl_image_compile(const kdl_image_desc *desc, kdl_image_rule *out_rule);

/* What could not be read of a device's description. */
typedef struct kdl_device_error {
  const char *field; /* "arch", "features", ... */
  kdl_string text;   /* the field's text */
  kdl_parse_error parse;
} kdl_device_error;

/* False where the description is wrong; `out_error` may be NULL. */
bool kdl_device_compile(const kdl_device_desc *desc, kdl_device_rule *out_rule,
                        kdl_device_error *out_error);

/* Adds bitcode to what a device takes, where kdl-ld makes images for its family: for those that
 * have that program at hand. */
void kdl_device_accept_bitcode(kdl_device_rule *rule);

/* False where an image of that kind and arch does not run on the device, whatever else is said of
 * it: it needs no rule to be refused. Not all are found so. */
bool kdl_match_may_run(kdl_image_kind kind, kdl_string arch, const kdl_device_rule *device);

/* Whether the image may run on the device. */
static inline bool kdl_match_admits(const kdl_image_rule *image, const kdl_device_rule *device) {
  return (uint32_t)(device->arch - image->lo) <= image->span &&
         !(image->needs.word[0] & device->lacks.word[0]) &&
         !(image->needs.word[1] & device->lacks.word[1]);
}

/* Why kdl_match_admits says no; never 0 then. */
uint64_t kdl_match_reasons(const kdl_image_rule *image, const kdl_device_rule *device);

/* How far an image is from running on the device, for these reasons of kdl_match_reasons: of
 * several that do not run, the one with the least is nearest. First the reasons count, then how far
 * apart the architectures are, or how many features are missing. */
uint64_t kdl_match_distance(const kdl_image_rule *image, const kdl_device_rule *device,
                            uint64_t reasons);

typedef struct kdl_match_result {
  uint64_t reasons; /* KDL_REASON bits; 0 = may run */
  uint64_t rank;    /* 0 where it may not */
} kdl_match_result;

static inline kdl_match_result kdl_match(const kdl_image_rule *image,
                                         const kdl_device_rule *device) {
  if (kdl_match_admits(image, device))
    return (kdl_match_result){0, image->rank};
  return (kdl_match_result){kdl_match_reasons(image, device), 0};
}

/*
 * Ranks. A rank is a tier and, within it, a number that grows with how closely the image fits; all
 * are below 2^53. A rank belongs to the image alone and still is right on every device: of the
 * images that run on one, the nearest is the one for the highest architecture, for one that is
 * higher than the device would not run. So images are put in order once, not once per device.
 */
enum { KDL_TIER_SHIFT = 49 };

static inline kdl_tier kdl_rank_tier(uint64_t rank) {
  return (kdl_tier)(rank >> KDL_TIER_SHIFT);
}

/* "exact", "lower minor", "family", ...: how an image that runs on the device fits it. */
const char *kdl_match_fit(const kdl_image_rule *image, const kdl_device_rule *device);

#endif
