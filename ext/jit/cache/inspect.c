/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/inspect.h"

#include "support/base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int folder; /* -1 where it does not exist */
  kdl_cache_file *files;
  size_t count;
} listing;

static kdl_status list_cache_files(const kdl_cache_settings *settings, listing *out_listing) {
  listing made = {.folder = kdl_cache_folder_open(settings->dir, settings->sharing)};
  kdl_status status = KDL_OK;
  if (made.folder < 0) {
    status = kdl_error_status();
    if (status == KDL_NO_MATCH)
      status = KDL_OK;
  } else {
    status = kdl_cache_files_list(made.folder, &made.files, &made.count);
    if (status != KDL_OK) {
      kdl_error_prefix("%s", settings->dir);
      close(made.folder);
    }
  }
  if (status == KDL_OK)
    *out_listing = made;
  return status;
}

static void free_listing(listing *made) {
  free(made->files);
  if (made->folder >= 0)
    close(made->folder);
}

kdl_status kdl_cache_check_entries(const kdl_cache_settings *settings,
                                   kdl_status (*visit)(void *user,
                                                       const kdl_cache_checked_entry *checked),
                                   void *user) {
  listing all;
  kdl_status status = list_cache_files(settings, &all);
  if (status != KDL_OK)
    return status;
  for (size_t i = 0; i < all.count && status == KDL_OK; ++i) {
    if (all.files[i].kind != KDL_CACHE_FILE_ENTRY)
      continue;
    kdl_cache_hit found = {.data = NULL};
    kdl_cache_checked_entry checked = {.file = &all.files[i]};
    char name[KDL_CACHE_NAME];
    kdl_status read = kdl_cache_read(all.folder, settings->sharing, checked.file->name, &found);
    if (read == KDL_NO_MATCH) /* removed since it was listed */
      continue;
    if (read == KDL_NO_MEMORY) { /* not the entry's fault */
      status = read;
      break;
    }
    if (read == KDL_OK) {
      kdl_cache_name(found.entry.link_key, ".kdl", name);
      checked.entry = strcmp(name, checked.file->name) == 0 ? &found.entry : NULL;
      checked.error = checked.entry ? NULL : "its link key is not the one that its name says";
    } else {
      checked.error = kdl_error_message();
    }
    status = visit(user, &checked);
    kdl_cache_hit_free(&found);
  }
  free_listing(&all);
  return status;
}

static void totals_add_file(kdl_cache_totals *totals, const kdl_cache_file *file) {
  if (file->kind == KDL_CACHE_FILE_ENTRY) {
    ++totals->entries;
    totals->bytes += file->size;
  } else {
    ++totals->other;
    totals->other_bytes += file->size;
  }
}

kdl_status kdl_cache_count(const kdl_cache_settings *settings, kdl_cache_totals *out_totals) {
  listing all;
  KDL_TRY(list_cache_files(settings, &all));
  *out_totals = (kdl_cache_totals){0};
  for (size_t i = 0; i < all.count; ++i)
    totals_add_file(out_totals, &all.files[i]);
  free_listing(&all);
  return KDL_OK;
}

kdl_status kdl_cache_clear(const kdl_cache_settings *settings, kdl_cache_totals *out_totals) {
  listing all;
  kdl_status status = list_cache_files(settings, &all);
  if (status != KDL_OK)
    return status;
  *out_totals = (kdl_cache_totals){0};
  for (size_t i = 0; i < all.count; ++i) {
    if (unlinkat(all.folder, all.files[i].name, 0) == 0)
      totals_add_file(out_totals, &all.files[i]);
    else if (errno != ENOENT && status == KDL_OK)
      status = kdl_fail(KDL_IO, "%s/%s: cannot remove: %s", settings->dir, all.files[i].name,
                        strerror(errno));
  }
  free_listing(&all);
  return status;
}
