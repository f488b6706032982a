/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which parts of a library run on the devices, and why the others do not. */
#include "lib/inspect/devices.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "pack/check/check.h"
#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Reasons                                                                                      */

typedef struct {
  check *c;
  kdl_library *lib;
  kdl_device *device;
  check_verdict *verdict;
  bool is_foreign; /* the library */
  size_t route;    /* of the device */
  kdl_status status;
} gap_finder;

/* Room for one more item, in the check's arena. */
static void *grow_check_array(check *c, void *items, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return items;
  *capacity = *capacity ? *capacity * 2 : CHECK_SHOWN_KERNELS;
  void *moved = check_alloc(c, *capacity * size);
  if (count)
    memcpy(moved, items, count * size);
  return moved;
}

/* SPIR-V, or what kdl-ld makes SPIR-V of, for a driver of OpenCL that takes sources alone. */
static bool needs_source(const gap_finder *finder, const char *code) {
  const kdl_device_spec *spec = kdl_device_route_spec(finder->device, finder->route);
  return spec->backend == KDL_BACKEND_OPENCL && !spec->il &&
         kdl_device_spec_family(spec) == KDL_FAMILY_SPIRV &&
         (strcmp(code, "spirv_version") == 0 || strcmp(code, "kind_not_loadable") == 0);
}

static int copy_first_reason(void *user, const kdl_verdict *verdict) {
  const gap_finder *finder = user;
  check_gap *gap = &finder->verdict->gaps[finder->verdict->gap_count - 1];
  bool is_bitcode =
      verdict->reason_count && strcmp(verdict->reasons[0].code, "linker_missing") == 0;
  if (is_bitcode && finder->is_foreign) {
    gap->code = "linker_missing";
    gap->words = "bitcode, which libkdl would link; the library's own runtime takes machine code";
  } else if (verdict->reason_count) {
    gap->code = check_copy_string(finder->c, verdict->reasons[0].code);
    gap->words = check_copy_string(finder->c, verdict->reasons[0].words);
    gap->fix = check_copy_string(finder->c, verdict->reasons[0].fix);
    gap->needs_source = needs_source(finder, gap->code);
    if (gap->needs_source)
      gap->fix = "add OpenCL C, as by kdl cc --targets=opencl-c: the driver takes no SPIR-V";
  }
  return 1;
}

/* The explanation of the first kernel represents all with the same reason. */
static check_gap *add_verdict_gap(gap_finder *finder, const kdl_shortfall *shortfall,
                                  const kdl_image_info *image) {
  check_verdict *verdict = finder->verdict;
  if (verdict->gap_count == CHECK_LIMIT_GAPS)
    return NULL;
  verdict->gaps = grow_check_array(finder->c, verdict->gaps, verdict->gap_count,
                                   &verdict->gap_capacity, sizeof *verdict->gaps);
  check_gap *gap = &verdict->gaps[verdict->gap_count++];
  *gap = (check_gap){.kind = image->kind,
                     .arch = check_copy_substring(finder->c, image->arch.data, image->arch.length),
                     .reasons = shortfall->reasons,
                     .distance = shortfall->distance,
                     .is_other = shortfall->is_other,
                     .code = "",
                     .words = "",
                     .fix = ""};
  if (shortfall->reasons == KDL_REASON(HOLLOW)) { /* of the kernel: the image runs */
    const kdl_reason_row *row = &kdl_reasons[KDL_REASON_HOLLOW];
    gap->code = row->code;
    gap->words = row->words;
    gap->fix = row->fix;
    return gap;
  }
  const uint32_t among = (uint32_t)shortfall->image;
  char *kernel =
      shortfall->kernel.data ? xstrndup(shortfall->kernel.data, shortfall->kernel.length) : NULL;
  finder->status = kdl_library_explain(finder->lib, finder->device, kernel, &finder->c->opts,
                                       &among, 1, copy_first_reason, finder);
  free(kernel);
  return gap;
}

static check_gap *find_verdict_gap(gap_finder *finder, const kdl_shortfall *shortfall) {
  kdl_image_info image = cli_image_at(finder->lib, shortfall->image);
  for (size_t i = 0; i < finder->verdict->gap_count; ++i) {
    check_gap *gap = &finder->verdict->gaps[i];
    if (gap->reasons == shortfall->reasons && gap->is_other == shortfall->is_other &&
        gap->kind == image.kind && kdl_text_is(image.arch, gap->arch)) {
      if (shortfall->distance < gap->distance)
        gap->distance = shortfall->distance;
      return gap;
    }
  }
  return add_verdict_gap(finder, shortfall, &image);
}

static int visit_shortfall(void *user, const kdl_shortfall *shortfall) {
  gap_finder *finder = user;
  if (shortfall->is_idle && !finder->verdict->counts_idle)
    return 0;
  check_gap *gap = find_verdict_gap(finder, shortfall);
  if (finder->status != KDL_OK)
    return 1;
  if (!gap) {
    ++finder->verdict->unlisted_kernels;
    return 0;
  }
  if (!shortfall->kernel.data) {
    ++gap->modules;
    return 0;
  }
  ++gap->kernels;
  if (finder->c->all_names || gap->name_count < CHECK_SHOWN_KERNELS) {
    gap->names = grow_check_array(finder->c, gap->names, gap->name_count, &gap->name_capacity,
                                  sizeof *gap->names);
    gap->names[gap->name_count++] = (kdl_string){
        check_copy_substring(finder->c, shortfall->kernel.data, shortfall->kernel.length),
        shortfall->kernel.length};
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Verdicts                                                                                     */

static check_outcome coverage_outcome(const kdl_coverage *coverage) {
  if (coverage->is_foreign)
    return CHECK_OTHER_VENDOR;
  /* A module without a kernel neither runs nor fails. */
  if (!coverage->kernels && !coverage->unreadable)
    return CHECK_NONE;
  if (coverage->is_complete)
    return coverage->kernels_native == coverage->kernels ? CHECK_NATIVE : CHECK_JIT;
  return coverage->kernels_run || (!coverage->kernels && coverage->modules_run) ? CHECK_PARTIAL
                                                                                : CHECK_NONE;
}

/* Nothing runs, for a reason that is not of the device code. */
static void refuse_library(check *c, const char *code, const char *words, const char *fix,
                           check_verdict *verdict) {
  kdl_coverage *coverage = &verdict->coverage;
  verdict->outcome = CHECK_NONE;
  check_gap *gap = verdict->gaps = check_alloc(c, sizeof *gap);
  verdict->gap_count = verdict->gap_capacity = 1;
  *gap = (check_gap){.arch = "", .code = code, .kernels = coverage->kernels};
  gap->modules = coverage->kernels ? 0 : coverage->modules;
  gap->words = check_copy_string(c, words);
  gap->fix = check_copy_string(c, fix);
  coverage->kernels_run = coverage->kernels_native = coverage->modules_run = 0;
  coverage->kernels_hollow = coverage->kernels_idle = 0;
  coverage->is_complete = false;
}

/* The runtime rejects the driver before it looks for any kernel. */
static void set_runtime_too_new(check *c, const check_dependency *need, uint32_t driver,
                                check_verdict *verdict) {
  char words[192], fix[192];
  snprintf(words, sizeof words,
           "needs %s, and so a driver of CUDA %u.%u or later; the driver is of CUDA %u.%u",
           need->library, (unsigned)(need->version >> 16), (unsigned)(need->version & 0xffff),
           (unsigned)(driver >> 16), (unsigned)(driver & 0xffff));
  snprintf(fix, sizeof fix, "update the driver to CUDA %u.%u, or install a build for CUDA %u",
           (unsigned)(need->version >> 16), (unsigned)(need->version & 0xffff),
           (unsigned)(driver >> 16));
  refuse_library(c, "runtime_too_new", words, fix, verdict);
}

/* How much of the library a device has code for: also kernels whose code does nothing on any
 * device, which are missing everywhere. */
static size_t served(const kdl_coverage *coverage) {
  return coverage->kernels ? coverage->kernels_run + coverage->kernels_void : coverage->modules_run;
}

static int compare_sizes(const void *left, const void *right) {
  size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a > b) - (a < b);
}

/* What the best-served device of the vendor runs, and the middle one of those that run something.
 * CPUs are of so many kinds that none is typical: all that is for CPUs counts. */
static kdl_status find_best_served(const cli_devices *typical, const kdl_inventory *inventory,
                                   kdl_device *device, check_verdict *verdict) {
  const kdl_coverage *own = &verdict->coverage;
  kdl_target_family family = kdl_device_spec_family(kdl_device_route_spec(device, 0));
  bool is_cpu = kdl_families[family].features != KDL_CLASS_GPU;
  verdict->best = is_cpu && own->kernels ? own->kernels - own->kernels_other : served(own);
  verdict->middle = verdict->best;
  if (is_cpu || own->is_complete)
    return KDL_OK;
  size_t *counts = xcalloc(typical->count + 1, sizeof *counts);
  size_t count = 0;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < typical->count && status == KDL_OK; ++i) {
    kdl_device *other = typical->items[i].device;
    kdl_coverage coverage;
    size_t route;
    if (kdl_device_spec_family(kdl_device_route_spec(other, 0)) != family)
      continue;
    status = kdl_device_cover(other, inventory, &coverage, &route);
    if (status == KDL_OK && served(&coverage))
      counts[count++] = served(&coverage);
  }
  if (status == KDL_OK && count) {
    qsort(counts, count, sizeof *counts, compare_sizes);
    verdict->middle = counts[count / 2];
    if (counts[count - 1] > verdict->best)
      verdict->best = counts[count - 1];
  }
  free(counts);
  return status;
}

/* Kernels that do nothing for any device are empty by intent, or the code for other devices was
 * removed, which leaves no other code to compare with. They run if enough is left without them, so
 * that the answer does not depend on what was removed. */
static void count_idle(const check *c, check_verdict *verdict) {
  const size_t idle = verdict->coverage.kernels_idle;
  if (c->only || !idle || idle == verdict->coverage.kernels_run)
    return;
  check_verdict without = *verdict;
  without.coverage.kernels_run -= idle;
  without.coverage.kernels_native -= idle;
  without.coverage.kernels_hollow += idle;
  if (check_runs_what_is_expected(&without))
    return;
  *verdict = without;
  verdict->outcome = CHECK_PARTIAL;
  verdict->counts_idle = true;
}

static kdl_status evaluate_on_device(check *c, kdl_library *lib, const kdl_inventory *inventory,
                                     const check_library *library, kdl_device *device,
                                     check_verdict *out_verdict) {
  size_t route;
  const check_dependency *need;
  uint32_t driver;
  *out_verdict = (check_verdict){.outcome = CHECK_NONE};
  KDL_TRY(kdl_device_cover(device, inventory, &out_verdict->coverage, &route));
  out_verdict->coverage.missing = (kdl_string){NULL, 0};
  out_verdict->outcome = coverage_outcome(&out_verdict->coverage);
  KDL_TRY(find_best_served(library->is_foreign ? &c->foreign_typical : &c->typical, inventory,
                           device, out_verdict));
  count_idle(c, out_verdict);
  out_verdict->is_for_other_host = check_is_for_other_host(library, device);
  out_verdict->runtime = check_runtime_compatibility(library, device, &need, &driver);
  if (out_verdict->is_for_other_host && out_verdict->outcome != CHECK_OTHER_VENDOR) {
    refuse_library(c, "other_host",
                   "its CPU code is for x86-64, and the device comes with AArch64 processors alone",
                   "install a build for aarch64", out_verdict);
    return KDL_OK;
  }
  if (out_verdict->runtime == CHECK_COMPAT_RUNTIME_TOO_NEW &&
      out_verdict->outcome <= CHECK_PARTIAL) {
    set_runtime_too_new(c, need, driver, out_verdict);
    return KDL_OK;
  }
  if (out_verdict->outcome < CHECK_PARTIAL)
    return KDL_OK;
  gap_finder finder = {c, lib, device, out_verdict, library->is_foreign, route, KDL_OK};
  KDL_TRY(kdl_device_shortfalls(device, route, inventory, visit_shortfall, &finder));
  return finder.status;
}

/* A program or library without device code is listed as one image, the file itself. */
static bool has_device_code(const kdl_library *lib, const kdl_catalog *catalog) {
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    uint8_t family = kdl_catalog_traits(catalog, i).family;
    bool is_gpu = family >= KDL_FAMILY_NVPTX && family <= KDL_FAMILY_INTEL;
    if (is_gpu || !kdl_text_starts(cli_image_at(lib, i).container, "bare image"))
      return true;
  }
  return false;
}

/* Bitcode without kernels is meant for linking, as is libdevice, and so is code with undefined
 * functions, as in libcudadevrt.a. If the user names such a file, the reason is printed. */
static bool is_for_linking(const kdl_library *lib, kdl_catalog *catalog,
                           const kdl_inventory *inventory, bool is_named) {
  const kdl_string *names;
  bool has_kernels = kdl_inventory_kernels(inventory, &names) != 0;
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    bool is_bitcode = cli_image_at(lib, i).kind == KDL_IMAGE_BITCODE;
    if (is_bitcode ? has_kernels : is_named || !kdl_catalog_kernels(catalog, i).is_unresolved)
      return false;
  }
  return true;
}

bool check_is_loaded_by_libkdl(const kdl_library *lib) {
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_string container = cli_image_at(lib, i).container;
    if (kdl_text_starts(container, "offload-binary") &&
        (!memmem(container.data, container.length, " in ", 4) ||
         kdl_text_has_suffix(container, KDL_TEXT(".kdl.offloading"))))
      return true;
  }
  return false;
}

/* "Kernels_gfx90a.co" names gfx90a, and not gfx90. */
static bool names_arch(const char *path, kdl_string arch) {
  const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  kdl_string name = kdl_text_of(base);
  for (size_t at = 0; arch.length && at + arch.length <= name.length; ++at) {
    bool begins = at == 0 || !isalnum((unsigned char)base[at - 1]);
    if (begins && memcmp(base + at, arch.data, arch.length) == 0 &&
        !isalnum((unsigned char)base[at + arch.length]))
      return true;
  }
  return false;
}

/* Machine code for one architecture: a code object, or a bundle, which may hold several. A file
 * name that has the architecture as a word says that there are others beside it. */
static void note_code_object(const kdl_library *lib, const check_file *file, const char *member,
                             check_library *library) {
  kdl_string arch = {NULL, 0};
  bool is_bundle = false;
  const char *path = member ? member : file->path;
  for (size_t i = 0; i < kdl_image_count(lib) && file->is_bare_device_code; ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    bool is_bare = kdl_text_starts(image.container, "bare image");
    bool is_machine_code = kdl_image_kind_get(image.kind)->holds == KDL_HOLDS_MACHINE_CODE &&
                           image.kind != KDL_IMAGE_OBJECT;
    is_bundle |= kdl_text_starts(image.container, "clang-bundle");
    if (!image.byte_count || image.kind == KDL_IMAGE_BUNDLE)
      continue;
    if (!is_machine_code || !(is_bare || is_bundle) ||
        (arch.data && !kdl_text_equal(arch, image.arch)))
      return;
    arch = image.arch;
  }
  if (!arch.length)
    return;
  library->names_its_arch = names_arch(path, (kdl_string){arch.data, strcspn(arch.data, ":")});
  library->is_code_object = !is_bundle || library->names_its_arch;
}

int check_compare_hashes(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

/* Of files that are compared with those beside them. */
static void keep_kernels(check *c, const kdl_inventory *inventory, check_library *library) {
  const kdl_string *names;
  size_t count = kdl_inventory_kernels(inventory, &names);
  library->kernels = check_alloc(c, (count + 1) * sizeof *library->kernels);
  for (size_t i = 0; i < count; ++i)
    library->kernels[i] = kdl_hash_text(names[i]);
  qsort(library->kernels, count, sizeof *library->kernels, check_compare_hashes);
  library->kernel_count = count;
}

static kdl_status evaluate_with_inventory(check *c, kdl_library *lib,
                                          const kdl_inventory *inventory, const check_file *file,
                                          const char *member, const char *package) {
  check_library library = {.path = check_copy_string(c, file->path),
                           .member = member ? check_copy_string(c, member) : NULL,
                           .package = package ? check_copy_string(c, package) : NULL,
                           .set = file->set ? check_copy_string(c, file->set) : NULL,
                           .operand = file->operand,
                           .is_named = file->is_operand && !member,
                           .is_shared_object = file->is_shared_object,
                           .is_foreign = !check_is_loaded_by_libkdl(lib),
                           .images = kdl_image_count(lib),
                           .verdicts =
                               check_alloc(c, (c->devices.count + 1) * sizeof *library.verdicts)};
  size_t modules = 0;
  check_find_dependencies(c, file, &library);
  note_code_object(lib, file, member, &library);
  if (library.is_code_object ||
      (library.is_shared_object && check_names_a_version(member ? member : file->path)))
    keep_kernels(c, inventory, &library);
  for (size_t i = 0; i < c->devices.count; ++i) {
    const cli_devices *devices = library.is_foreign ? &c->foreign_devices : &c->devices;
    KDL_TRY(evaluate_on_device(c, lib, inventory, &library, devices->items[i].device,
                               &library.verdicts[i]));
    modules += library.verdicts[i].coverage.modules;
  }
  if (modules && !check_was_changed(file))
    check_add_library(c, &library);
  return KDL_OK;
}

static bool is_listed(void *user, kdl_string kernel) {
  return cli_kernel_list_find(user, kernel);
}

/* The catalog keeps the names. Reading them takes most of the time of a large file. */
static void read_kernels(check *c, const kdl_library *lib, kdl_catalog *catalog) {
  size_t count = kdl_image_count(lib);
  for (size_t i = 0; i < count; ++i) {
    (void)kdl_catalog_kernels(catalog, i);
    check_within_part(c, i + 1, count);
  }
}

static kdl_status evaluate_cataloged(check *c, kdl_library *lib, const check_file *file,
                                     const char *member, const char *package) {
  kdl_catalog *catalog;
  kdl_inventory *inventory;
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  if (!has_device_code(lib, catalog))
    return KDL_OK;
  read_kernels(c, lib, catalog);
  if (c->visit)
    return c->visit(c->visit_user, lib, file, member);
  KDL_TRY(kdl_inventory_create(catalog, &inventory));
  bool is_linked = is_for_linking(lib, catalog, inventory, file->is_operand);
  if (c->only)
    kdl_inventory_restrict(inventory, is_listed, c->only);
  kdl_status status =
      is_linked ? KDL_OK : evaluate_with_inventory(c, lib, inventory, file, member, package);
  kdl_inventory_destroy(inventory);
  return status;
}

kdl_status check_evaluate(check *c, kdl_library *lib, const check_file *file, const char *member,
                          const char *package) {
  kdl_status status = evaluate_cataloged(c, lib, file, member, package);
  kdl_close(lib);
  return status;
}
