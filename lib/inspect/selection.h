/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images of a library a device admits, in which order, and why not the others.
 *
 * A ranking lists the images that a device admits for a kernel, best first, and on request those
 * that it refuses after them, with reasons.
 *
 *     kdl_query query = {.device = device, .kernel = KDL_TEXT("saxpy")};
 *     kdl_ranking *ranking;
 *     KDL_TRY(kdl_library_catalog(lib, &catalog));
 *     KDL_TRY(kdl_rank(catalog, &query, &ranking));
 *     const kdl_candidate *best = kdl_ranking_at(ranking, 0);
 *     if (best && best->eligible)
 *       use(best->image);
 *     free(ranking);
 */
#ifndef KDL_LIB_INSPECT_SELECTION_H
#define KDL_LIB_INSPECT_SELECTION_H

#include "support/base/text.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------ */
/* Reasons                                                                                      */

enum kdl_reason_bit {
#define KDL_REASON_ROW(id, ...) KDL_REASON_##id,
#include "lib/target/reasons.def"
#undef KDL_REASON_ROW
  KDL_REASON_COUNT,
};

#define KDL_REASON(id) ((uint64_t)1 << KDL_REASON_##id)

/* Reasons of images without device code. */
#define KDL_REASONS_NO_CODE (KDL_REASON(CONTAINER) | KDL_REASON(SEQUENCE))

/* What a reason is about, for a summary of many. */
typedef enum kdl_reason_cause {
  KDL_CAUSE_ARCH, /* another device of the vendor runs it */
  KDL_CAUSE_VENDOR,
  KDL_CAUSE_DRIVER,
  KDL_CAUSE_SETTINGS, /* of the device, as xnack */
  KDL_CAUSE_LIMITS,
  KDL_CAUSE_CODE,    /* it runs nowhere as it is */
  KDL_CAUSE_UNNAMED, /* its architecture is not known */
  KDL_CAUSE_UNKNOWN_KIND,
  KDL_CAUSE_HOLLOW,
  KDL_CAUSE_COUNT,
} kdl_reason_cause;

typedef struct kdl_reason_row {
  const char *code;  /* "other_major": stable, for programs */
  const char *words; /* without the values of a case, which lib/target/explain/explain.h adds */
  const char *fix;   /* "" where none is general */
  unsigned distance; /* how far from running: 1 is a setting, 100 is another machine */
  kdl_reason_cause cause;
} kdl_reason_row;

extern const kdl_reason_row kdl_reasons[KDL_REASON_COUNT];

/* Reasons that mean that the image's target is unknown. */
#define KDL_REASONS_UNKNOWN                                                                        \
  (KDL_REASON(UNKNOWN_KIND) | KDL_REASON(UNKNOWN_ARCH) | KDL_REASON(UNKNOWN_FEATURE))

/* ------------------------------------------------------------------------------------------ */
/* Descriptions of images                                                                       */

struct kdl_device_spec;

/* The description of an image by its metadata. Nothing is copied. */
typedef struct kdl_image_claim {
  kdl_image_kind kind;
  kdl_string triple;
  kdl_string arch;
  const kdl_pair *pairs; /* duplicate keys: the last one counts */
  size_t pair_count;
  uint32_t version; /* of PTX or SPIR-V, as KDL_VERSION_OF of lib/inspect/targets.h; 0: not known */
} kdl_image_claim;

typedef struct kdl_claim_match {
  kdl_image_kind kind; /* made precise by the triple: an AMD "object" is HSACO */
  uint64_t rank;       /* of the images that run on a device, the highest is first */
  const char *fit;     /* "exact", "lower minor", ...; NULL where it does not run */
  const char *reason;  /* the code of the first reason where it does not run */
} kdl_claim_match;

/* Fails where the spec's arch or tokens are wrong, which parsing and discovery exclude. */
kdl_status kdl_claim_fit(const kdl_image_claim *image, const struct kdl_device_spec *device,
                         kdl_claim_match *out_match);

/* Whether code for a CPU needs features that its claim lacks. False where one of them cannot be
 * read, or the families differ. */
bool kdl_claim_lacks_features(const kdl_image_claim *claim, const kdl_image_claim *needed);

/* ------------------------------------------------------------------------------------------ */
/* Catalogs                                                                                     */

/*
 * The images of a library as selection sees them: the rule of each, and which kernels it holds.
 *
 *     kdl_catalog *catalog;
 *     KDL_TRY(kdl_library_catalog(lib, &catalog));
 *     for (size_t i = 0; i < kdl_image_count(lib); ++i)
 *       if (kdl_catalog_find(catalog, i, KDL_TEXT("saxpy"), NULL) == KDL_KERNEL_PRESENT)
 *         use(i, kdl_catalog_traits(catalog, i));
 */

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

/* Treats images whose flag is not set as if they held no kernels. The flags, one per image, outlive
 * the catalog. Call it before any other function. */
void kdl_catalog_restrict(kdl_catalog *catalog, const bool *images);

/* How often memory ran out while kernels were read. The image counts as unreadable that time, and
 * is read again on the next use. Discard results that were computed while the count grew. */
size_t kdl_catalog_memory_failures(const kdl_catalog *catalog);

/* The names that an image holds. */
typedef struct kdl_kernel_names {
  const kdl_string *items; /* shortest first; NULL where there are none, or they cannot be read */
  size_t count;
  bool is_unreadable;
  bool is_unresolved; /* it has unresolved symbols; false for images with an index, not read */
} kdl_kernel_names;

kdl_kernel_names kdl_catalog_kernels(kdl_catalog *catalog, size_t index);

/* KDL_NO_MATCH, with similar names, where no image holds the kernel; KDL_OK where one does, or
 * cannot be read. Reads images until one holds it. */
kdl_status kdl_catalog_require_kernel(kdl_catalog *catalog, kdl_string kernel);

typedef struct kdl_ranking kdl_ranking;
typedef struct kdl_inventory kdl_inventory;         /* a library's kernels and modules */
typedef struct kdl_select_device kdl_select_device; /* a device as selection sees it */

/* ------------------------------------------------------------------------------------------ */
/* Policies                                                                                     */

enum { KDL_POLICY_COUNT = KDL_POLICY_ADAPTIVE + 1 };

/* "best", "first", "capability", "adaptive" */
extern const char *const kdl_policy_names[KDL_POLICY_COUNT];

/* Of KDL_POLICY. KDL_BAD_CALL where no policy has that name. */
kdl_status kdl_policy_read(const char *name, kdl_policy *out_policy);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

typedef struct kdl_device_traits {
  uint32_t family;   /* kdl_target_family */
  uint32_t driver;   /* NVIDIA: CUDA version; AMD: ROCm version; as KDL_VERSION_OF */
  uint32_t ptx;      /* newest PTX ISA, else what the driver implies; 0: not known */
  uint64_t lacks[2]; /* kdl_feature_set */
} kdl_device_traits;

/* Creates a device that accepts bitcode, as for linking. free() it. `out_traits` may be NULL. */
kdl_status kdl_select_device_create(const struct kdl_device_spec *spec,
                                    kdl_select_device **out_device, kdl_device_traits *out_traits);

/* ------------------------------------------------------------------------------------------ */
/* Rankings                                                                                     */

/* Which images a ranking has, and which of them are read for kernel names that their metadata
 * lacks. */
typedef enum kdl_rank_scope {
  KDL_RANK_ELIGIBLE,  /* those that may run and hold the kernel; images that may run are read */
  KDL_RANK_ALL,       /* all; images that may run are read */
  KDL_RANK_ALL_NAMES, /* all; all are read */
  KDL_RANK_RULES,     /* all; none is read */
} kdl_rank_scope;

typedef struct kdl_query {
  const kdl_select_device *device;
  kdl_policy policy;
  kdl_rank_scope scope;
  kdl_string kernel;      /* data NULL: any kernel */
  kdl_string variant_tag; /* images with this tag rank before all others; data NULL: no tag */
  const uint32_t *among;  /* images to rank; NULL: all */
  size_t among_count;
} kdl_query;

/* One image of a ranking. */
typedef struct kdl_candidate {
  uint32_t image;
  uint8_t kind;           /* kdl_image_kind, by its rule */
  uint8_t presence;       /* kdl_presence of the kernel */
  bool eligible;          /* may run, and holds the kernel */
  bool needs_amx : 1;     /* lib/registry/device.h */
  bool has_condition : 1; /* its key for the kernel has the field `when` */
  bool is_translated : 1; /* SPIR-V that the driver does not take: kdl-ld translates it */
  uint64_t order[2];      /* larger is first */
  uint64_t reasons;       /* KDL_REASON bits; 0 = may run */
  uint64_t distance;      /* how far from running; 0 = may run */
  kdl_string key;  /* the value of its key for the kernel; `data` is NULL where it has none */
  const char *fit; /* "exact", "lower minor", ...; "" where its rule refuses the device */
} kdl_candidate;

/* Ranks: eligible images first, best first; then the others, those that hold the kernel before
 * those that do not, the nearest to running first. The caller frees the ranking, whose query refers
 * to the caller's text. */
kdl_status kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_ranking **out_ranking);

/* The same on one route of a device, which replaces the query's device. */
kdl_status kdl_rank_on_route(kdl_catalog *catalog, const kdl_device *device, size_t route,
                             const kdl_query *query, kdl_ranking **out_ranking);

/* NULL after the last. */
const kdl_candidate *kdl_ranking_at(const kdl_ranking *ranking, size_t position);

/* ------------------------------------------------------------------------------------------ */
/* Explanations                                                                                 */

enum { KDL_EXPLAIN_REASONS = 8, KDL_EXPLAIN_TEXT = 320 };

typedef struct kdl_explained_reason {
  const char *code; /* "xnack_mismatch": stable, for programs */
  char words[KDL_EXPLAIN_TEXT];
  char fix[KDL_EXPLAIN_TEXT]; /* "" where only another image or device would help */
} kdl_explained_reason;

typedef struct kdl_explanation {
  const char *fit; /* "exact", "lower minor", "PTX", ...; "" where the image may not run */
  kdl_explained_reason reasons[KDL_EXPLAIN_REASONS];
  size_t reason_count;
} kdl_explanation;

/* An eligible image has a fit and no reasons; any other has at least one reason. The candidate must
 * be one of the ranking. */
void kdl_explain_candidate(const kdl_ranking *ranking, const kdl_candidate *candidate,
                           kdl_explanation *out_explanation);

/* kdl_explain among these images, or among all if `among` is NULL. */
kdl_status kdl_library_explain(kdl_library *lib, kdl_device *device, const char *kernel,
                               const kdl_select_opts *opts, const uint32_t *among,
                               size_t among_count,
                               int (*visit)(void *user, const kdl_verdict *verdict), void *user);

/* ------------------------------------------------------------------------------------------ */
/* Coverage                                                                                     */

/*
 * Coverage: how many modules and kernels of a library run on a device. A library may have thousands
 * of modules, of each of which a device runs one image, or none.
 *
 * The inventory is created once, in time linear in the library, and reads the names of every image.
 * The coverage on one device is then linear in the number of names.
 */

/* The catalog must outlive the inventory. */
kdl_status kdl_inventory_create(kdl_catalog *catalog, kdl_inventory **out_inventory);
void kdl_inventory_destroy(kdl_inventory *inventory);

/* The distinct names of kernels, in the order of first occurrence. */
size_t kdl_inventory_kernels(const kdl_inventory *inventory, const kdl_string **out_names);

/* Removes the kernels for which `wants` returns false, and images without any of the others that
 * can be read. */
typedef bool kdl_wants_kernel(void *user, kdl_string kernel);
void kdl_inventory_restrict(kdl_inventory *inventory, kdl_wants_kernel *wants, void *user);

typedef struct kdl_coverage {
  size_t modules; /* with images to run; input of a device linker counts only if there is nothing
                     else */
  size_t modules_run;
  size_t kernels; /* distinct names in those modules */
  size_t kernels_run;
  size_t kernels_native;       /* of those that run: as machine code */
  size_t kernels_linked;       /* of those that run: by kdl-ld alone, from bitcode */
  size_t kernels_translated;   /* of those that run: by kdl-ld alone, from SPIR-V */
  size_t kernels_translatable; /* of those that do not run: kdl-ld would translate their SPIR-V if
                                  the device had llvm-spirv */
  size_t kernels_hollow;  /* of those that do not run: the code for the device only ends, traps or
                             prints */
  size_t kernels_void;    /* of the hollow ones: so does the code for every other device */
  size_t kernels_idle;    /* of those that run: the code for every device only ends */
  size_t kernels_other;   /* of those that do not run: every image is for another vendor's devices,
                             or 'a' or 'f' code of another architecture */
  size_t kernels_foreign; /* of the others: every image is for another vendor's devices */
  size_t unreadable;      /* images of those modules whose kernels cannot be read */
  kdl_string missing;     /* a kernel that does not run; `data` NULL where all do */
  bool is_complete;
  bool is_foreign; /* all images with a known target are for other vendors' devices */
} kdl_coverage;

/* Computes the coverage of a library through the first route of the device that runs something.
 *
 * A module runs if one of its images does, a kernel if an image that holds it does. The coverage is
 * complete if every kernel runs. A kernel does not run if its machine code for the device only
 * traps or prints, or only ends while other code of the same kind does not
 * (lib/inspect/images.h). The coverage may be complete although not every module runs: a module
 * may be for other devices while another one has the same kernels for this device. Modules count if
 * their kernels cannot be read, or if they have none. */
kdl_status kdl_device_cover(kdl_device *device, const kdl_inventory *inventory,
                            kdl_coverage *out_coverage, size_t *out_route);

/* A kernel or module that does not run, and why. */
typedef struct kdl_shortfall {
  kdl_string kernel; /* `data` NULL: a module without readable kernels */
  size_t image;      /* of the images that hold it, the nearest to running; one that is for others,
                        as of kernels_other, where all are */
  uint64_t reasons;  /* why that image does not run: KDL_REASON bits, never 0 */
  uint64_t distance; /* of that image: the least is the nearest, also among libraries */
  bool is_idle;      /* it is one of kernels_idle, and runs */
  bool is_other;     /* it is one of kernels_other */
} kdl_shortfall;

/* Calls `visit` for what does not run through one route of a device: each kernel, and each module
 * without a readable kernel that keeps the library from being complete; and for kernels that only
 * end for every device. Non-zero stops. */
typedef int kdl_visit_shortfall(void *user, const kdl_shortfall *shortfall);
kdl_status kdl_device_shortfalls(kdl_device *device, size_t route, const kdl_inventory *inventory,
                                 kdl_visit_shortfall *visit, void *user);

#endif
