/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The images of a library as selection sees them: the rule of each, and which kernels it holds.
 *
 *     kdl_catalog *catalog;
 *     KDL_TRY(kdl_library_catalog(lib, &catalog));
 *     for (size_t i = 0; i < kdl_image_count(lib); ++i)
 *       if (kdl_catalog_find(catalog, i, KDL_TEXT("saxpy"), NULL) == KDL_KERNEL_PRESENT)
 *         use(i, kdl_catalog_traits(catalog, i));
 */
#ifndef KDL_LIB_INSPECT_CATALOG_H
#define KDL_LIB_INSPECT_CATALOG_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_catalog kdl_catalog;

/* The library's catalog with every rule compiled. It lives as long as the library. */
kdl_status kdl_library_catalog(kdl_library *lib, kdl_catalog **out_catalog);

/* ------------------------------------------------------------------------------------------ */
/* Rules                                                                                        */

/* The work that is needed before an image runs, most work first; a rank (lib/target/target.h) is a
 * tier and a number within it. */
typedef enum kdl_tier {
  KDL_TIER_NONE = 0,
  KDL_TIER_PORTABLE,      /* needs a lowering, a linker and a compiler          */
  KDL_TIER_BITCODE,       /* needs a linker and a compiler                      */
  KDL_TIER_HOST,          /* machine code of a CPU                              */
  KDL_TIER_SOURCE,        /* OpenCL C                                           */
  KDL_TIER_PORTABLE_IR,   /* SPIR-V                                             */
  KDL_TIER_DRIVER_IR,     /* PTX, amdgcnspirv                                   */
  KDL_TIER_GENERIC,       /* machine code of a group of processors              */
  KDL_TIER_NATIVE,        /* machine code of one, or of an earlier minor of it  */
  KDL_TIER_FAMILY,        /* NVIDIA 'f'                                         */
  KDL_TIER_ARCH_SPECIFIC, /* NVIDIA 'a'                                         */
} kdl_tier;

/* Properties of an image from its rule. */
typedef struct kdl_image_traits {
  uint64_t rank;           /* of the images that run on a device, the highest is first */
  uint64_t faults;         /* KDL_REASON bits that hold on every device */
  uint32_t priority;       /* variant_priority; 0 where absent */
  uint32_t capabilities;   /* of a SPIR-V module, as bits of GPU tokens; 0: not read */
  uint16_t version[2];     /* of PTX, SPIR-V or AMD's code object, major and minor; 0.0: not read */
  uint8_t generic_version; /* of an AMD generic code object; 0: not read */
  uint8_t family;          /* kdl_target_family */
  uint8_t kind;       /* kdl_image_kind, made precise by the triple: an AMD "object" is HSACO */
  uint8_t tier;       /* kdl_tier */
  char suffix;        /* NVIDIA: 'a', 'f' or 0 */
  bool needs_amx;     /* it uses AMX, which needs Linux's permission */
  bool is_link_input; /* input of a device linker */
} kdl_image_traits;

kdl_image_traits kdl_catalog_traits(const kdl_catalog *catalog, size_t index);

/* How the devices of images `a` and `b` relate, as bits. COVERS: every device that admits `b`
 * admits `a`; ignores launch limits. OVERLAPS: there is an architecture that both run on. */
enum { KDL_IMAGE_COVERS = 1, KDL_IMAGE_OVERLAPS = 2 };
unsigned kdl_catalog_compare(const kdl_catalog *catalog, size_t a, size_t b);

/* Why no device admits an image, as text; false where its rule has no fault. */
bool kdl_catalog_fault_words(const kdl_catalog *catalog, size_t index, char *buffer, size_t size);

/* For each image, whether a device can admit it: any NVIDIA compute capability, any AMD processor
 * with any setting, each with a driver that supports everything. True for images for SPIR-V drivers
 * and CPUs, which may have any features. NULL when out of memory; free() it. */
bool *kdl_catalog_possible(const kdl_catalog *catalog);

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

typedef enum kdl_presence {
  KDL_KERNEL_PRESENT,
  KDL_KERNEL_ABSENT,
  KDL_KERNEL_UNREADABLE, /* its names cannot be read */
} kdl_presence;

/* Whether an image holds a kernel, and the value of its `kdl.kernel.NAME` key, with NULL for `data`
 * where it has none; `out_key` may be NULL. Any thread. */
kdl_presence kdl_catalog_find(kdl_catalog *catalog, size_t index, kdl_string kernel,
                              kdl_string *out_key);

/* Only the key; no image is read. */
kdl_string kdl_catalog_kernel_key(kdl_catalog *catalog, size_t index, kdl_string kernel);

/* Treats images whose flag is not set as if they held no kernels. The flags, one per image, outlive
 * the catalog. Call it before any other function. */
void kdl_catalog_restrict(kdl_catalog *catalog, const bool *images);

/* Whether an image has unresolved symbols; read together with its kernels' names. An image with a
 * kernel index is not read and counts as resolved. */
bool kdl_catalog_unresolved(kdl_catalog *catalog, size_t index);

/* How often memory ran out while kernels were read. The image counts as unreadable that time, and
 * is read again on the next use. Discard results that were computed while the count grew. */
size_t kdl_catalog_memory_failures(const kdl_catalog *catalog);

/* The names an image holds, shortest first; NULL and 0 where they cannot be read. */
const kdl_string *kdl_catalog_kernels(kdl_catalog *catalog, size_t index, size_t *out_count);

/* KDL_NO_MATCH, with similar names, where no image holds the kernel; KDL_OK where one does, or
 * cannot be read. Reads images until one holds it. */
kdl_status kdl_catalog_require_kernel(kdl_catalog *catalog, kdl_string kernel);

#endif
