/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/store.h"

#include "pack/oci/layout.h"
#include "support/base/error.h"
#include "support/system/cache_settings.h"
#include "support/system/variables.h"
#include "tools/common/temp_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { seconds_kept = 7 * 24 * 60 * 60, room_below = 128 };

static const char blobs_folder[] = "/blobs/sha256";

static kdl_status fail_store_step(const char *path, const char *step) {
  return kdl_fail(kdl_status_from_errno(errno), "%s: cannot %s: %s", path, step, strerror(errno));
}

/* ------------------------------------------------------------------------------------------ */
/* Private folders                                                                              */

static const char *temporary_folder(void) {
  const char *place = kdl_environment(KDL_VARIABLE_TMPDIR);
  return place && *place ? place : "/tmp";
}

kdl_status oci_store_open_private(oci_store *out_store) {
  *out_store = (oci_store){.lock = -1};
  snprintf(out_store->folder, sizeof out_store->folder - room_below, "%s/kdl-registry-XXXXXX",
           temporary_folder());
  if (!temp_folder_create(out_store->folder))
    return fail_store_step(out_store->folder, "make a folder");
  kdl_status status = oci_layout_create(out_store->folder);
  if (status != KDL_OK)
    oci_store_close(out_store);
  return status;
}

kdl_status oci_store_create_temp_file(int *out_fd) {
  char path[PATH_MAX];
  const char *folder = temporary_folder();
  *out_fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (*out_fd >= 0)
    return KDL_OK;
  /* Not every file system has unnamed files. */
  snprintf(path, sizeof path, "%.*s/kdl-pull-XXXXXX", PATH_MAX - room_below, folder);
  *out_fd = mkostemp(path, O_CLOEXEC);
  if (*out_fd < 0)
    return fail_store_step(path, "make a file");
  unlink(path);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The cache                                                                                    */

static kdl_status open_in_cache(const kdl_cache_settings *settings, oci_store *out) {
  char path[PATH_MAX];
  if (strlen(settings->dir) > PATH_MAX - 2 * room_below)
    return kdl_fail(KDL_BAD_CALL, "%s: the path is too long", settings->dir);
  snprintf(out->folder, sizeof out->folder, "%.*s/registry", PATH_MAX - 2 * room_below,
           settings->dir);
  int fd = kdl_cache_subfolder_make(settings->dir, "registry", settings->sharing);
  if (fd < 0)
    return kdl_error_status();
  out->lock = openat(fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  bool is_made = (mkdirat(fd, "blobs", 0700) == 0 || errno == EEXIST) &&
                 (mkdirat(fd, "blobs/sha256", 0700) == 0 || errno == EEXIST);
  close(fd);
  snprintf(path, sizeof path, "%.*s%s", PATH_MAX - room_below, out->folder, blobs_folder);
  if (!is_made)
    return fail_store_step(path, "make the folder");
  if (out->lock >= 0 && flock(out->lock, LOCK_EX | LOCK_NB) == 0)
    temp_folder_remove_files(path, seconds_kept);
  return out->lock >= 0 && flock(out->lock, LOCK_SH) == 0 ? KDL_OK
                                                          : fail_store_step(out->folder, "lock");
}

kdl_status oci_store_open(oci_store *out_store) {
  kdl_cache_settings settings;
  kdl_status status = kdl_cache_settings_read(&settings);
  if (status == KDL_NO_MATCH || (status == KDL_OK && settings.mode != KDL_CACHE_ON))
    return oci_store_open_private(out_store);
  *out_store = (oci_store){.lock = -1};
  if (status == KDL_OK)
    status = open_in_cache(&settings, out_store);
  if (status != KDL_OK && out_store->lock >= 0)
    close(out_store->lock);
  return status;
}

void oci_store_remove_blobs(const oci_store *store, const oci_manifest *manifest,
                            const bool *fetched) {
  char path[PATH_MAX];
  if (store->lock < 0 || flock(store->lock, LOCK_EX | LOCK_NB) != 0)
    return;
  for (size_t i = 0; i < manifest->layer_count; ++i) {
    if (fetched[i] && oci_layout_blob_path(store->folder, manifest->layers[i].digest, path))
      unlink(path);
  }
}

void oci_store_close(oci_store *store) {
  if (store->lock >= 0)
    close(store->lock);
  else
    temp_folder_remove();
}
