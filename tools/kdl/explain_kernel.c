/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel that no image holds: what may have been meant. */
#include "base/error.h"
#include "base/nearest.h"
#include "explain.h"
#include "kinds.h"
#include "names.h"
#include "target/text.h"

#include <string.h>

typedef struct {
  kdl_string wanted;
  cli_names names;
  bool found;
  bool out_of_memory;
} search;

static int look_at(void *user, const kdl_string *name) {
  search *s = user;
  s->found = kdl_text_equal(*name, s->wanted);
  s->out_of_memory = !cli_names_add(&s->names, name->data, name->length);
  return s->found || s->out_of_memory;
}

/* C++ names hold the name that the user knows: _Z5saxpyfPf. */
static bool is_near(const search *s, kdl_string name, const char *nearest) {
  return (nearest && kdl_text_is(name, nearest)) ||
         (s->wanted.length > 2 && memmem(name.data, name.length, s->wanted.data, s->wanted.length));
}

/* Some of the names, or those that are near: how many there are is returned. Mangled names are
 * long, so they are cut. */
static size_t list_names(const search *s, const char *nearest, bool only_near, kdl_out *out) {
  enum { most_names = 3, most_bytes = 120 };
  size_t found = 0;
  for (size_t i = 0; i < s->names.count; ++i) {
    kdl_string name = s->names.items[i];
    if (only_near && !is_near(s, name, nearest))
      continue;
    if (found++ < most_names)
      kdl_out_format(out, "%s'%.*s%s'", found == 1 ? "" : ", ",
                     name.length < most_bytes ? (int)name.length : most_bytes, name.data,
                     name.length < most_bytes ? "" : "...");
  }
  if (found > most_names)
    kdl_out_format(out, " and %zu more", found - most_names);
  return found;
}

static kdl_status not_found(const cli_input *input, const search *s) {
  kdl_nearest nearest = kdl_nearest_to(s->wanted);
  for (size_t i = 0; i < s->names.count; ++i)
    kdl_nearest_offer(&nearest, s->names.items[i].data);
  char list[512] = "";
  kdl_out out = {list, sizeof list, 0};
  const char *intro = "; did you mean ";
  const char *end = "?";
  if (list_names(s, nearest.best, true, &out) == 0) {
    intro = s->names.count ? "; found " : "; found none";
    end = "";
    list_names(s, NULL, false, &out);
  }
  return kdl_fail(KDL_NO_MATCH, "%s: no image holds the kernel '%s'%s%s%s", input->name,
                  s->wanted.data, intro, list, end);
}

kdl_status cli_kernel_check(const cli_input *input, const char *kernel) {
  search s = {.wanted = kdl_text_of(kernel)};
  bool certain = true;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < kdl_image_count(input->lib) && !s.found && !s.out_of_memory; ++i) {
    kdl_image_info image = {.size = sizeof image};
    status = kdl_image_get(input->lib, i, &image);
    if (status != KDL_OK)
      break;
    if (!cli_image_kind_is_container(image.kind) &&
        kdl_image_kernels(input->lib, i, look_at, &s) != KDL_OK)
      certain = false;
  }
  if (s.out_of_memory)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  else if (status == KDL_OK && !s.found && certain)
    status = not_found(input, &s);
  cli_names_free(&s.names);
  return status;
}
