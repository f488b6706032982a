/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/absent.h"

#include "base/cxx_name.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "select/coverage.h"

#include <string.h>

enum { most_names = 3, most_bytes = 120 };

typedef struct {
  kdl_string wanted;
  const char *nearest; /* by its spelling, or NULL */
  const kdl_string *names;
  size_t count;
} search;

static bool is_near(const search *s, kdl_string name) {
  return (s->nearest && kdl_text_is(name, s->nearest)) ||
         (s->wanted.length > 2 &&
          (memmem(name.data, name.length, s->wanted.data, s->wanted.length) ||
           kdl_cxx_name_has(name, s->wanted)));
}

/* 'saxpy', or for C++ '_Z5saxpyfPf' (saxpy). Mangled names are long, so they are cut. */
static void say_name(kdl_out *out, kdl_string name) {
  char plain[most_bytes];
  kdl_out_format(out, "'%.*s%s'", name.length < most_bytes ? (int)name.length : most_bytes,
                 name.data, name.length < most_bytes ? "" : "...");
  if (kdl_cxx_name(name, plain, sizeof plain))
    kdl_out_format(out, " (%s)", plain);
}

/* Some of the names, or those that are near; how many there are is returned. */
static size_t list_names(const search *s, bool only_near, kdl_out *out) {
  size_t found = 0;
  for (size_t i = 0; i < s->count; ++i) {
    if (only_near && !is_near(s, s->names[i]))
      continue;
    if (found++ < most_names) {
      kdl_out_format(out, found == 1 ? "" : ", ");
      say_name(out, s->names[i]);
    }
  }
  if (found > most_names)
    kdl_out_format(out, " and %zu more", found - most_names);
  return found;
}

static kdl_status not_found(const kdl_inventory *inventory, kdl_string kernel) {
  search s = {.wanted = kernel};
  s.count = kdl_inventory_kernels(inventory, &s.names);
  kdl_nearest nearest = kdl_nearest_to(kernel);
  for (size_t i = 0; i < s.count; ++i)
    kdl_nearest_offer(&nearest, s.names[i].data);
  s.nearest = nearest.best;
  char list[1024] = "";
  kdl_out out = {list, sizeof list, 0};
  const char *intro = "; did you mean ";
  const char *end = "?";
  if (list_names(&s, true, &out) == 0) {
    intro = s.count ? "; found " : "; found none";
    end = "";
    list_names(&s, false, &out);
  }
  return kdl_fail(KDL_NO_MATCH, "no image holds the kernel '%s'%s%s%s", kernel.data, intro, list,
                  end);
}

kdl_status kdl_kernel_absent(kdl_catalog *catalog, kdl_string kernel) {
  size_t shortages = kdl_catalog_shortages(catalog);
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    bool is_container = kdl_catalog_rule(catalog, i)->faults & KDL_REASON(CONTAINER);
    if (!is_container && kdl_catalog_holds(catalog, i, kernel) != KDL_KERNEL_ABSENT)
      return kdl_catalog_shortages(catalog) == shortages
                 ? KDL_OK
                 : kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  }
  kdl_inventory *inventory;
  kdl_status status = kdl_inventory_create(catalog, &inventory);
  if (status != KDL_OK)
    return status;
  status = not_found(inventory, kernel);
  kdl_inventory_destroy(inventory);
  return status;
}
