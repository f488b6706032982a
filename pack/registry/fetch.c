/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/oci/layout.h"
#include "pack/oci/manifest.h"
#include "pack/registry/transfer.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often an interrupted transfer is resumed: without progress, and in total. */
enum { most_idle = 3, most_attempts = 20, first_pause = 100 /* ms */ };

static kdl_status fail_download_step(const char *path, const char *step) {
  return kdl_fail(KDL_IO, "%s: cannot %s: %s", path, step, strerror(errno));
}

/* ------------------------------------------------------------------------------------------ */
/* Manifests                                                                                    */

static kdl_status check_manifest(const http_text_buffer *body, const http_response *response,
                                 const char *reference) {
  char found[OCI_DIGEST_SIZE];
  const char *expected = oci_digest_is_valid(reference) ? reference : response->digest;
  oci_digest_of(body->text, body->used, found);
  return !*expected || strcmp(found, expected) == 0
             ? KDL_OK
             : kdl_fail(KDL_BAD_FILE,
                        "%s: found a manifest with the digest %s, expected %s, which the %s says",
                        body->from, found, expected,
                        expected == reference ? "reference" : "registry itself");
}

static kdl_status request_manifest(registry_session *session, const char *reference,
                                   const char *path, http_text_buffer *body) {
  char where[256];
  http_response response;
  const http_sink sink = http_text_sink(body);
  const http_request request = {.method = HTTP_GET,
                                .accept =
                                    OCI_MANIFEST_TYPE ", application/vnd.oci.image.index.v1+json",
                                .is_small = true,
                                .sink = &sink};
  snprintf(where, sizeof where, "manifests/%s", reference);
  KDL_TRY(session_request(session, where, &request, &response));
  if (response.code != 200)
    return session_fail_response(session, where, &response);
  KDL_TRY(check_manifest(body, &response, reference));
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  kdl_status status = fd >= 0 && kdl_fd_write(fd, body->text, body->used)
                          ? KDL_OK
                          : fail_download_step(path, "write");
  if (fd >= 0)
    close(fd);
  return status;
}

kdl_status fetch_manifest(registry_session *session, const char *reference, const char *path) {
  char what[1024];
  snprintf(what, sizeof what, "%s/%s:%s", session->host, session->name, reference);
  http_text_buffer body = {what, "manifest", xmalloc(OCI_LIMIT_MANIFEST), OCI_LIMIT_MANIFEST, 0};
  kdl_status status = request_manifest(session, reference, path, &body);
  free(body.text);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Blobs                                                                                        */

typedef struct {
  registry_session *session;
  const blob_list_entry *blob;
  const char *part; /* path of the partial file */
  char what[512];
  int fd;
  uint64_t have;
  bool is_refused;     /* retrying would not help */
  bool is_other_range; /* a retry without a range may help */
} download;

static kdl_status restart_download(download *work) {
  work->have = 0;
  return ftruncate(work->fd, 0) == 0 && lseek(work->fd, 0, SEEK_SET) == 0
             ? KDL_OK
             : fail_download_step(work->part, "truncate");
}

static kdl_status begin_blob(void *user, const http_response *response) {
  download *work = user;
  kdl_status status = KDL_OK;
  work->is_refused = true;
  if (response->code == 200 && work->have)
    status = restart_download(work); /* the server does not support ranges */
  else if (response->code == 206 && (!response->has_begin || response->begin != work->have)) {
    work->is_other_range = work->have > 0;
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: Content-Range: found %s%" PRIu64 ", expected bytes from %" PRIu64 " on",
                      work->what, response->has_begin ? "" : "none, ", response->begin, work->have);
  }
  uint64_t left = work->blob->size - work->have;
  if (status == KDL_OK && response->has_length && response->length != left)
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: Content-Length: found %" PRIu64 ", expected %" PRIu64
                      ", as the manifest says",
                      work->what, response->length, left);
  work->is_refused = status != KDL_OK;
  return status;
}

static kdl_status write_blob_bytes(void *user, const void *data, size_t size) {
  download *work = user;
  if (size > work->blob->size - work->have) {
    work->is_refused = true;
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found more than %" PRIu64 " bytes, expected as many, as the manifest says",
                    work->what, work->blob->size);
  }
  if (!kdl_fd_write(work->fd, data, size)) {
    work->is_refused = true;
    return kdl_fd_write_failed(work->part);
  }
  work->have += size;
  double all = (double)work->session->bytes_all;
  double done = (double)(work->session->bytes_done + work->have);
  cli_progress_step(done / all, "%.1f of %.1f MB", done / 1e6, all / 1e6);
  return KDL_OK;
}

static kdl_status request_remaining(download *work) {
  char where[128];
  http_response response;
  const http_sink sink = {begin_blob, write_blob_bytes, work};
  const http_request request = {.method = HTTP_GET, .from = work->have, .sink = &sink};
  snprintf(where, sizeof where, "blobs/%s", work->blob->digest);
  work->is_refused = work->is_other_range = false;
  kdl_status status = session_request(work->session, where, &request, &response);
  work->is_refused |= status != KDL_OK && status != KDL_IO;
  KDL_TRY(status);
  if (response.code == 416 && work->have)
    return restart_download(work);
  if (response.code != 200 && response.code != 206) {
    work->is_refused = response.code < 500 && response.code != 429;
    return session_fail_response(work->session, where, &response);
  }
  return work->have == work->blob->size
             ? KDL_OK
             : kdl_fail(KDL_BAD_FILE, "%s: found %" PRIu64 " bytes, expected %" PRIu64, work->what,
                        work->have, work->blob->size);
}

static void wait_before_retry(unsigned idle) {
  const long ms = (long)first_pause << idle;
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Resumes the transfer until it is complete, as long as there is progress. */
static kdl_status download_remaining(download *work) {
  unsigned idle = 0;
  bool has_begun_anew = false;
  kdl_status status = KDL_OK;
  for (unsigned attempt = 0; work->have < work->blob->size && attempt < most_attempts; ++attempt) {
    uint64_t before = work->have;
    status = request_remaining(work);
    if (status != KDL_OK && work->is_other_range && !has_begun_anew) {
      has_begun_anew = true;
      status = restart_download(work);
      if (status == KDL_OK)
        continue;
    }
    if (status != KDL_OK && work->is_refused)
      return status;
    idle = work->have > before ? 0 : idle + 1;
    if (idle > most_idle)
      break;
    if (idle)
      wait_before_retry(idle);
  }
  if (work->have == work->blob->size)
    return KDL_OK;
  return status != KDL_OK ? status
                          : kdl_fail(KDL_BAD_FILE, "%s: found %" PRIu64 " bytes, expected %" PRIu64,
                                     work->what, work->have, work->blob->size);
}

static kdl_status download_and_verify(download *work, bool *out_same) {
  char found[OCI_DIGEST_SIZE];
  KDL_TRY(download_remaining(work));
  KDL_TRY(oci_digest_of_file(work->fd, found));
  *out_same = strcmp(found, work->blob->digest) == 0;
  return *out_same
             ? KDL_OK
             : kdl_fail(KDL_BAD_FILE, "%s: found bytes with the digest %s", work->what, found);
}

/* An existing partial file may be damaged: retries once without it. */
static kdl_status complete_download(download *work) {
  bool is_same = false, is_old = work->have > 0;
  kdl_status status = download_and_verify(work, &is_same);
  if (status == KDL_BAD_FILE && work->have == work->blob->size && is_old) {
    status = restart_download(work);
    if (status == KDL_OK)
      status = download_and_verify(work, &is_same);
  }
  /* A file with another digest is removed. */
  if (work->have == work->blob->size && !is_same)
    unlink(work->part);
  return status;
}

static bool has_blob_file(const char *folder, const blob_list_entry *blob) {
  cli_bytes bytes;
  if (oci_layout_read_blob(folder, blob->digest, blob->size, &bytes) != KDL_OK)
    return false;
  cli_bytes_free(&bytes);
  return true;
}

/* The lock is on a file, not on a name: checks that the name still means the same file. */
static kdl_status lock_partial_file(download *work, struct stat *out_info) {
  struct stat named;
  for (;;) {
    work->fd = open(work->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (work->fd < 0 || flock(work->fd, LOCK_EX) != 0 || fstat(work->fd, out_info) != 0)
      return fail_download_step(work->part, "open");
    if (lstat(work->part, &named) == 0 && named.st_ino == out_info->st_ino &&
        named.st_dev == out_info->st_dev)
      return KDL_OK;
    close(work->fd);
  }
}

static kdl_status open_partial_file(download *work) {
  struct stat info;
  KDL_TRY(lock_partial_file(work, &info));
  work->have = (uint64_t)info.st_size;
  if (work->have > work->blob->size)
    return restart_download(work);
  return lseek(work->fd, 0, SEEK_END) >= 0 ? KDL_OK : fail_download_step(work->part, "open");
}

static kdl_status fetch_missing_blob(registry_session *session, const blob_list_entry *blob,
                                     const char *folder) {
  char path[PATH_MAX], part[PATH_MAX];
  download work = {.session = session, .blob = blob, .part = part, .fd = -1};
  if (has_blob_file(folder, blob))
    return KDL_OK;
  if (!oci_layout_blob_path(folder, blob->digest, path) ||
      snprintf(part, sizeof part, "%.*s.partial", PATH_MAX - 16, path) >= PATH_MAX)
    return kdl_fail(KDL_BAD_CALL, "%s: the path is too long", folder);
  snprintf(work.what, sizeof work.what, "%.255s/%.80s: %s", session->host, session->name,
           blob->digest);
  kdl_status status = open_partial_file(&work);
  if (status == KDL_OK &&
      has_blob_file(folder, blob)) { /* completed by another process while we waited for the lock */
    unlink(part);
  } else if (status == KDL_OK) {
    status = complete_download(&work);
    if (status == KDL_OK && rename(part, path) != 0)
      status = fail_download_step(path, "rename");
  }
  if (work.fd >= 0)
    close(work.fd);
  return status;
}

static kdl_status fetch_blob(registry_session *session, const blob_list_entry *blob,
                             const char *folder) {
  kdl_status status = fetch_missing_blob(session, blob, folder);
  session->bytes_done += blob->size;
  return status;
}

static kdl_status add_blob_size(registry_session *session, const blob_list_entry *blob,
                                const char *folder) {
  (void)folder;
  session->bytes_all += blob->size;
  return KDL_OK;
}

kdl_status fetch_blobs(registry_session *session, const char *list, const char *folder) {
  KDL_TRY(blob_list_walk(list, add_blob_size, session, folder));
  return blob_list_walk(list, fetch_blob, session, folder);
}
