/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/inspect.h"
#include "ext/jit/commands/cache.h"
#include "ext/jit/identity.h"
#include "ext/jit/portable.h"
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

/* A folder of entries with portable keys, which the environment does not name. */
static kdl_status folder_settings(const char *folder, kdl_cache_sharing sharing,
                                  kdl_cache_settings *out_settings) {
  kdl_cache_settings made = {.mode = KDL_CACHE_ON, .limit = UINT64_MAX, .sharing = sharing};
  char here[PATH_MAX] = "";
  bool is_absolute = folder[0] == '/';
  if (!is_absolute && !getcwd(here, sizeof here))
    return kdl_fail(kdl_status_of(errno), "cannot tell the current folder: %s", strerror(errno));
  int length = snprintf(made.dir, sizeof made.dir, "%s%s%s", here, is_absolute ? "" : "/", folder);
  if (length < 0 || (size_t)length >= sizeof made.dir)
    return kdl_fail(KDL_BAD_CALL, "%.60s...: the path is too long", folder);
  *out_settings = made;
  return KDL_OK;
}

static kdl_status pass_over(move *moving, const kdl_cache_look *look, const char *why) {
  ++moving->passed;
  cli_warning("%s/%s: passed over: %s", moving->from, look->file->name, why);
  return KDL_OK;
}

static kdl_status store(move *moving, const kdl_cache_entry *entry) {
  KDL_TRY(kdl_cache_store(moving->to, entry));
  ++moving->moved;
  return KDL_OK;
}

static kdl_status export_one(void *user, const kdl_cache_look *look) {
  move *moving = user;
  if (!look->entry)
    return pass_over(moving, look, look->trouble);
  if (kdl_is_portable_key(look->entry->link_key)) /* imported, and not used since */
    return store(moving, look->entry);
  kdl_string file;
  if (kdl_identity_changed(look->entry->notes, &file))
    return pass_over(moving, look, "what it was made with is another now");
  kdl_cache_entry portable = *look->entry;
  char *key = NULL, *notes = NULL;
  size_t key_length, notes_length;
  kdl_status status = kdl_portable_key(portable.link_key, &key, &key_length);
  if (status == KDL_OK)
    status = kdl_portable_notes(portable.notes, &notes, &notes_length);
  if (status == KDL_OK) {
    portable.link_key = (kdl_string){key, key_length};
    portable.notes = (kdl_string){notes, notes_length};
    status = store(moving, &portable);
  }
  free(key);
  free(notes);
  return status == KDL_UNSUPPORTED ? pass_over(moving, look, kdl_error_message()) : status;
}

kdl_status cli_cache_export(const kdl_cache_settings *settings, const char *folder) {
  kdl_cache_settings to;
  KDL_TRY(folder_settings(folder, KDL_CACHE_SHARED, &to));
  move moving = {.to = &to, .from = settings->dir};
  KDL_TRY(kdl_cache_look_at_all(settings, export_one, &moving));
  printf("exported %zu, passed over %zu\n", moving.moved, moving.passed);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status import_one(void *user, const kdl_cache_look *look) {
  move *moving = user;
  if (!look->entry)
    return pass_over(moving, look, look->trouble);
  if (!kdl_is_portable_key(look->entry->link_key))
    return pass_over(moving, look, "it was not exported, and holds on its machine alone");
  return store(moving, look->entry);
}

kdl_status cli_cache_import(const kdl_cache_settings *settings, const char *folder) {
  kdl_cache_settings from;
  if (settings->mode != KDL_CACHE_ON)
    return kdl_fail(KDL_BAD_CALL, "KDL_CACHE: the cache is not to be written to, expected on");
  if (access(folder, F_OK) != 0)
    return kdl_fail(kdl_status_of(errno), "%s: %s", folder, strerror(errno));
  KDL_TRY(folder_settings(folder, KDL_CACHE_LOWER, &from));
  move moving = {.to = settings, .from = from.dir};
  KDL_TRY(kdl_cache_look_at_all(&from, import_one, &moving));
  printf("imported %zu, passed over %zu\n", moving.moved, moving.passed);
  return KDL_OK;
}
