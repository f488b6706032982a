/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that do not run on a device because files beside them are the ones for it: code objects are
 * for one architecture each. */
#include "pack/check/check.h"
#include "tools/common/memory.h"

#include <stdlib.h>
#include <string.h>

static bool are_packaged_together(const check_library *a, const check_library *b) {
  if (a->set || b->set)
    return a->set && b->set && strcmp(a->set, b->set) == 0 && strcmp(a->path, b->path) == 0;
  if (a->package || b->package)
    return a->package && b->package && strcmp(a->package, b->package) == 0;
  size_t folder = (size_t)(strrchr(a->path, '/') ? strrchr(a->path, '/') - a->path : 0);
  if (a->member || b->member)
    return a->member && b->member && strcmp(a->path, b->path) == 0;
  return strncmp(a->path, b->path, folder) == 0 && (folder == 0 || b->path[folder] == '/') &&
         !strchr(b->path + folder + (folder != 0), '/');
}

/* Every kernel is code of one other architecture or family: Flash Attention 3 for sm_90a. */
static bool is_for_others(const kdl_coverage *coverage) {
  return coverage->kernels && coverage->kernels_other == coverage->kernels;
}

/* The libraries of one package, archive or folder. */
typedef struct {
  check_library *items;
  size_t count;
} siblings;

/* The kernels that code objects run, sorted; the caller frees them. */
static uint64_t *list_running(const siblings *all, size_t device, size_t *out_count) {
  size_t count = 0;
  for (size_t i = 0; i < all->count; ++i)
    count += all->items[i].kernel_count;
  uint64_t *kernels = xcalloc(count + 1, sizeof *kernels);
  count = 0;
  for (size_t i = 0; i < all->count; ++i) {
    const check_library *library = &all->items[i];
    if (!library->is_code_object || library->verdicts[device].outcome > CHECK_JIT)
      continue;
    if (library->kernel_count)
      memcpy(kernels + count, library->kernels, library->kernel_count * sizeof *kernels);
    count += library->kernel_count;
  }
  qsort(kernels, count, sizeof *kernels, check_compare_hashes);
  *out_count = count;
  return kernels;
}

/* Code objects beside one that runs: those that say of themselves that they are for another
 * architecture, and those all of whose kernels run. */
static void cover_code_objects(const siblings *all, size_t device) {
  size_t count;
  uint64_t *running = list_running(all, device, &count);
  for (size_t i = 0; i < all->count; ++i) {
    const check_library *library = &all->items[i];
    check_verdict *verdict = &library->verdicts[device];
    if (!library->is_code_object || verdict->outcome != CHECK_NONE)
      continue;
    size_t found = 0;
    for (size_t k = 0; k < library->kernel_count; ++k)
      found += count &&
               bsearch(&library->kernels[k], running, count, sizeof *running, check_compare_hashes);
    bool runs_elsewhere = library->kernel_count && found == library->kernel_count;
    verdict->is_covered_by_sibling = library->set || library->names_its_arch || runs_elsewhere;
    verdict->kernels_apart = library->kernel_count - found;
  }
  free(running);
}

/* Libraries that are all for others beside one that runs. Those that the user names are asked about
 * themselves. */
static void cover_libraries(const siblings *all, size_t device) {
  for (size_t i = 0; i < all->count; ++i) {
    check_verdict *verdict = &all->items[i].verdicts[device];
    if (all->items[i].is_code_object || all->items[i].is_named ||
        !(verdict->is_for_other_host || is_for_others(&verdict->coverage)))
      continue;
    verdict->is_covered_by_sibling = true;
    verdict->kernels_apart = verdict->coverage.kernels;
  }
}

static void mark_covered(const siblings *all, size_t device) {
  bool runs[2] = {false}, fails[2] = {false}; /* of libraries, of code objects */
  for (size_t i = 0; i < all->count; ++i) {
    const check_library *library = &all->items[i];
    check_outcome outcome = library->verdicts[device].outcome;
    runs[library->is_code_object] |= outcome <= CHECK_PARTIAL;
    fails[library->is_code_object] |= outcome == CHECK_NONE;
  }
  if (runs[true] && fails[true])
    cover_code_objects(all, device);
  if (runs[false] && fails[false])
    cover_libraries(all, device);
}

void check_mark_covered_by_siblings(check *c) {
  for (size_t from = 0, to; from < c->library_count; from = to) {
    for (to = from + 1;
         to < c->library_count && are_packaged_together(&c->libraries[from], &c->libraries[to]);
         ++to)
      continue;
    siblings all = {c->libraries + from, to - from};
    for (size_t device = 0; device < c->devices.count && all.count > 1; ++device)
      mark_covered(&all, device);
  }
}
