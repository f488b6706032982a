/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/inspect.h"
#include "ext/jit/commands/commands.h"
#include "ext/jit/identity.h"
#include "support/base/error.h"
#include "tools/common/report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  const kdl_cache_settings *to;
  const char *from;
  size_t moved, passed;
} move;

/* A folder of entries with portable keys, given on the command line. */
static kdl_status folder_settings(const char *folder, kdl_cache_sharing sharing,
                                  kdl_cache_settings *out_settings) {
  kdl_cache_settings made = {.mode = KDL_CACHE_ON, .limit = UINT64_MAX, .sharing = sharing};
  char here[PATH_MAX] = "";
  bool is_absolute = folder[0] == '/';
  if (!is_absolute && !getcwd(here, sizeof here))
    return kdl_fail(kdl_status_from_errno(errno), "cannot tell the current folder: %s",
                    strerror(errno));
  int length = snprintf(made.dir, sizeof made.dir, "%s%s%s", here, is_absolute ? "" : "/", folder);
  if (length < 0 || (size_t)length >= sizeof made.dir)
    return kdl_fail(KDL_BAD_CALL, "%.60s...: the path is too long", folder);
  *out_settings = made;
  return KDL_OK;
}

static kdl_status skip_entry(move *moving, const kdl_cache_checked_entry *checked,
                             const char *why) {
  ++moving->passed;
  cli_warning("%s/%s: passed over: %s", moving->from, checked->file->name, why);
  return KDL_OK;
}

static kdl_status store_moved_entry(move *moving, const kdl_cache_entry *entry) {
  KDL_TRY(kdl_cache_store(moving->to, entry));
  ++moving->moved;
  return KDL_OK;
}

static kdl_status export_one(void *user, const kdl_cache_checked_entry *checked) {
  move *moving = user;
  if (!checked->entry)
    return skip_entry(moving, checked, checked->error);
  if (kdl_is_portable_key(checked->entry->link_key)) /* imported, not used since */
    return store_moved_entry(moving, checked->entry);
  kdl_string file;
  if (kdl_identity_find_changed(checked->entry->notes, &file))
    return skip_entry(moving, checked, "what it was made with is another now");
  kdl_cache_entry portable = *checked->entry;
  char *key = NULL, *notes = NULL;
  size_t key_length, notes_length;
  kdl_status status = kdl_portable_key(portable.link_key, &key, &key_length);
  if (status == KDL_OK)
    status = kdl_portable_notes(portable.notes, &notes, &notes_length);
  if (status == KDL_OK) {
    portable.link_key = (kdl_string){key, key_length};
    portable.notes = (kdl_string){notes, notes_length};
    status = store_moved_entry(moving, &portable);
  }
  free(key);
  free(notes);
  return status == KDL_UNSUPPORTED ? skip_entry(moving, checked, kdl_error_message()) : status;
}

kdl_status cli_cache_export(const kdl_cache_settings *settings, const char *folder) {
  kdl_cache_settings to;
  KDL_TRY(folder_settings(folder, KDL_CACHE_SHARED, &to));
  move moving = {.to = &to, .from = settings->dir};
  KDL_TRY(kdl_cache_check_entries(settings, export_one, &moving));
  printf("exported %zu, passed over %zu\n", moving.moved, moving.passed);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status import_one(void *user, const kdl_cache_checked_entry *checked) {
  move *moving = user;
  if (!checked->entry)
    return skip_entry(moving, checked, checked->error);
  if (!kdl_is_portable_key(checked->entry->link_key))
    return skip_entry(moving, checked, "it was not exported, and holds on its machine alone");
  return store_moved_entry(moving, checked->entry);
}

kdl_status cli_cache_import(const kdl_cache_settings *settings, const char *folder) {
  kdl_cache_settings from;
  if (settings->mode != KDL_CACHE_ON)
    return kdl_fail(KDL_BAD_CALL, "KDL_CACHE: the cache is not to be written to: use on");
  if (access(folder, F_OK) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: %s", folder, strerror(errno));
  KDL_TRY(folder_settings(folder, KDL_CACHE_LOWER, &from));
  move moving = {.to = settings, .from = from.dir};
  KDL_TRY(kdl_cache_check_entries(&from, import_one, &moving));
  printf("imported %zu, passed over %zu\n", moving.moved, moving.passed);
  return KDL_OK;
}
