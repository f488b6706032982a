/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* index.json of a layout: entries are read one by one, and those of other tools are kept
 * verbatim. */
#include "pack/oci/layout.h"
#include "pack/oci/manifest.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/json/writer.h"
#include "support/system/file.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define KEY_TAG "org.opencontainers.image.ref.name"

typedef struct {
  char digest[OCI_DIGEST_SIZE];
  uint64_t size;
  kdl_string tag; /* "": none */
} entry;

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* Called for each entry (`key` is NULL) and for every other key of the index; `raw` is its text. */
typedef kdl_status visit_index(void *user, const char *key, const entry *item, kdl_string raw);

typedef struct {
  kdl_arena *arena;
  visit_index *visit;
  void *user;
  entry item;
} reader;

static kdl_status read_entry_annotation(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  return strcmp(key, KEY_TAG) == 0 ? oci_json_text(json, from->arena, &from->item.tag)
                                   : kdl_json_skip(json);
}

/* Digests of other algorithms belong to other tools and are accepted. */
static kdl_status read_entry_digest(kdl_json *json, kdl_arena *arena, entry *out) {
  kdl_string text = {"", 0};
  KDL_TRY(oci_json_text(json, arena, &text));
  if (oci_digest_is_valid(text.data))
    memcpy(out->digest, text.data, OCI_DIGEST_SIZE);
  return KDL_OK;
}

static kdl_status read_entry_key(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  if (strcmp(key, "digest") == 0)
    return read_entry_digest(json, from->arena, &from->item);
  if (strcmp(key, "size") == 0)
    return kdl_json_number(json, &from->item.size);
  return strcmp(key, "annotations") == 0 ? kdl_json_members(json, read_entry_annotation, from)
                                         : kdl_json_skip(json);
}

static kdl_string raw_since(const kdl_json *json, size_t begin) {
  return (kdl_string){json->text + begin, json->at - begin};
}

static kdl_status visit_manifest_entry(kdl_json *json, void *user) {
  reader *from = user;
  size_t begin = kdl_json_at(json);
  from->item = (entry){.tag = {"", 0}};
  KDL_TRY(kdl_json_members(json, read_entry_key, from));
  return from->visit(from->user, NULL, &from->item, raw_since(json, begin));
}

static kdl_status visit_key(kdl_json *json, const char *key, void *user) {
  reader *from = user;
  if (strcmp(key, "manifests") == 0)
    return kdl_json_items(json, visit_manifest_entry, from);
  size_t begin = kdl_json_at(json);
  KDL_TRY(kdl_json_skip(json));
  return from->visit(from->user, key, NULL, raw_since(json, begin));
}

static kdl_status walk_index(const char *name, const cli_bytes *bytes, kdl_arena *arena,
                             visit_index *visit, void *user) {
  kdl_json json;
  reader from = {.arena = arena, .visit = visit, .user = user};
  if (bytes->size > OCI_LIMIT_MANIFEST)
    return kdl_fail(KDL_BAD_FILE, "%s: found %zu bytes, expected at most %d", name, bytes->size,
                    OCI_LIMIT_MANIFEST);
  kdl_json_start(&json, name, bytes->data, bytes->size);
  KDL_TRY(kdl_json_members(&json, visit_key, &from));
  return kdl_json_finish(&json);
}

/* ------------------------------------------------------------------------------------------ */
/* Finding                                                                                      */

typedef struct {
  const oci_reference *wanted;
  entry found;
  size_t matches, all;
} search;

static kdl_status match_index_item(void *user, const char *key, const entry *item, kdl_string raw) {
  search *state = user;
  (void)raw;
  if (key)
    return KDL_OK;
  ++state->all;
  const oci_reference *wanted = state->wanted;
  const char *tag = *wanted->tag || *wanted->digest ? wanted->tag : OCI_DEFAULT_TAG;
  bool fits = (!*tag || kdl_text_is(item->tag, tag)) &&
              (!*wanted->digest || strcmp(item->digest, wanted->digest) == 0);
  if (fits)
    ++state->matches;
  /* Without a tag or digest, the only manifest is taken. */
  if (fits || (state->all == 1 && !*wanted->tag && !*wanted->digest))
    state->found = *item;
  return KDL_OK;
}

static kdl_status index_path(const char *folder, char out_path[PATH_MAX]) {
  int used = snprintf(out_path, PATH_MAX, "%s/index.json", folder);
  return used > 0 && used < PATH_MAX ? KDL_OK
                                     : kdl_fail(KDL_BAD_CALL, "%s: the path is too long", folder);
}

kdl_status oci_layout_find_manifest(const oci_reference *reference,
                                    char out_digest[OCI_DIGEST_SIZE], uint64_t *out_size) {
  char path[PATH_MAX];
  cli_bytes bytes;
  kdl_arena arena = {.blocks = NULL};
  search state = {.wanted = reference};
  KDL_TRY(index_path(reference->folder, path));
  KDL_TRY(cli_bytes_read_file(path, &bytes));
  kdl_status status = walk_index(path, &bytes, &arena, match_index_item, &state);
  bool is_only = state.all == 1 && !*reference->tag && !*reference->digest;
  if (status == KDL_OK && !state.matches && !is_only)
    status = kdl_fail(KDL_NO_MATCH, "%s: found %zu manifest%s, expected one %s%s%s%s", path,
                      state.all, state.all == 1 ? "" : "s",
                      *reference->digest ? "with the digest " : "with the tag ",
                      *reference->digest ? reference->digest
                      : *reference->tag  ? reference->tag
                                         : OCI_DEFAULT_TAG,
                      *reference->digest && *reference->tag ? " and the tag " : "",
                      *reference->digest ? reference->tag : "");
  else if (status == KDL_OK && !state.found.digest[0])
    status =
        kdl_fail(KDL_BAD_FILE, "%s: found a manifest without a sha256 digest, expected one", path);
  if (status == KDL_OK) {
    memcpy(out_digest, state.found.digest, OCI_DIGEST_SIZE);
    *out_size = state.found.size;
  }
  kdl_arena_free(&arena);
  cli_bytes_free(&bytes);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Tagging                                                                                      */

typedef struct {
  const char *tag;
  FILE *head;    /* keys other than the manifests */
  FILE *entries; /* entries that stay */
  bool has_version;
} index_rewriter;

static kdl_status keep_index_item(void *user, const char *key, const entry *item, kdl_string raw) {
  index_rewriter *state = user;
  if (!key && kdl_text_is(item->tag, state->tag))
    return KDL_OK;
  if (key) {
    state->has_version |= strcmp(key, "schemaVersion") == 0;
    fputs("  ", state->head);
    kdl_json_write_string(state->head, kdl_text_of(key));
    fprintf(state->head, ": %.*s,\n", (int)raw.length, raw.data);
  } else {
    fprintf(state->entries, "    %.*s,\n", (int)raw.length, raw.data);
  }
  return KDL_OK;
}

static kdl_status save_index(const char *path, const index_rewriter *state, const char *head,
                             const char *entries, const entry *added) {
  char *text = xasprintf("{\n%s%s  \"manifests\": [\n%s"
                         "    {\"mediaType\": \"%s\", \"digest\": \"%s\", \"size\": %" PRIu64
                         ", \"artifactType\": \"%s\", \"annotations\": {\"%s\": \"%s\"}}\n  ]\n}\n",
                         state->has_version ? "" : "  \"schemaVersion\": 2,\n", head, entries,
                         OCI_MANIFEST_TYPE, added->digest, added->size, OCI_BUNDLE_TYPE, KEY_TAG,
                         state->tag);
  kdl_status status = kdl_file_save(path, text, strlen(text));
  free(text);
  return status;
}

static kdl_status rewrite_index(const char *path, const char *tag, const entry *added) {
  char *head, *entries;
  size_t sizes[2];
  kdl_status status = KDL_OK;
  kdl_arena arena = {.blocks = NULL};
  index_rewriter state = {.tag = tag,
                          .head = xtext_stream(&head, &sizes[0]),
                          .entries = xtext_stream(&entries, &sizes[1])};
  if (access(path, F_OK) == 0) {
    cli_bytes bytes;
    status = cli_bytes_read_file(path, &bytes);
    if (status == KDL_OK) {
      status = walk_index(path, &bytes, &arena, keep_index_item, &state);
      cli_bytes_free(&bytes);
    }
  }
  xtext_close(state.head);
  xtext_close(state.entries);
  if (status == KDL_OK)
    status = save_index(path, &state, head, entries, added);
  free(head);
  free(entries);
  kdl_arena_free(&arena);
  return status;
}

kdl_status oci_layout_set_tag(const char *folder, const char *tag, const char *digest,
                              uint64_t size) {
  char path[PATH_MAX], lock[PATH_MAX];
  entry added = {.size = size};
  memcpy(added.digest, digest, OCI_DIGEST_SIZE);
  KDL_TRY(index_path(folder, path));
  /* Locks against concurrent pushes, so that each keeps the entries of the other. */
  snprintf(lock, sizeof lock, "%.*s/oci-layout", PATH_MAX - 16, folder);
  int fd = open(lock, O_RDONLY | O_CLOEXEC);
  kdl_status status =
      fd < 0 || flock(fd, LOCK_EX) != 0
          ? kdl_fail(kdl_status_from_errno(errno), "%s: cannot lock: %s", lock, strerror(errno))
          : rewrite_index(path, tag, &added);
  if (fd >= 0)
    close(fd);
  return status;
}
