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
#ifndef KDL_LIB_INSPECT_RANKING_H
#define KDL_LIB_INSPECT_RANKING_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kdl_catalog kdl_catalog; /* lib/inspect/catalog.h */
typedef struct kdl_ranking kdl_ranking;
typedef struct kdl_inventory kdl_inventory;         /* a library's kernels and modules */
typedef struct kdl_select_device kdl_select_device; /* a device as selection sees it */

/* ------------------------------------------------------------------------------------------ */
/* Policies                                                                                     */

enum { KDL_POLICY_COUNT = KDL_POLICY_ADAPTIVE + 1 };

/* "best", "first", "capability", "adaptive" */
const char *kdl_policy_name(kdl_policy policy);

/* False where no policy has that name. */
bool kdl_policy_parse(kdl_string name, kdl_policy *out_policy);

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

struct kdl_device_spec;

typedef struct kdl_device_traits {
  uint32_t family;   /* kdl_target_family */
  uint32_t driver;   /* NVIDIA: CUDA version; AMD: ROCm version; as KDL_VERSION_OF */
  uint32_t ptx;      /* newest PTX ISA; 0: as the driver implies */
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
  bool needs_amx : 1;     /* lib/registry/amx_permission.h */
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
  size_t kernels_native;  /* of those that run: as machine code */
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
 * (lib/inspect/resources.h). The coverage may be complete although not every module runs: a module
 * may be for other devices while another one has the same kernels for this device. Modules count if
 * their kernels cannot be read, or if they have none. */
kdl_status kdl_device_cover(kdl_device *device, const kdl_inventory *inventory,
                            kdl_coverage *out_coverage, size_t *out_route);

/* A kernel or module that does not run, and why. */
typedef struct kdl_shortfall {
  kdl_string kernel; /* `data` NULL: a module without readable kernels */
  size_t image;      /* of the images that hold it, the nearest to running */
  uint64_t reasons;  /* why that image does not run: KDL_REASON bits, never 0 */
  uint64_t distance; /* of that image: the least is the nearest, also among libraries */
  bool is_idle;      /* it is one of kernels_idle, and runs */
} kdl_shortfall;

/* Calls `visit` for what does not run through one route of a device: each kernel, and each module
 * without a readable kernel that keeps the library from being complete; and for kernels that only
 * end for every device. Non-zero stops. */
typedef int kdl_visit_shortfall(void *user, const kdl_shortfall *shortfall);
kdl_status kdl_device_shortfalls(kdl_device *device, size_t route, const kdl_inventory *inventory,
                                 kdl_visit_shortfall *visit, void *user);

#endif
