/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Merges the output of `kdl split`: all of it, or some architectures. */
#include "lib/inspect/libraries.h"
#include "pack/split/split.h"
#include "support/base/array.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

typedef struct {
  const char *path;   /* of the manifest */
  const char *folder; /* that it is in */
  split_manifest manifest;
  uint8_t *data; /* the restored file: a private mapping of the host part */
  size_t size;
  const char **paths; /* of the parts in use, else NULL */
  size_t taken_count;
  split_rebuilt_bundle *rebuilt_bundles; /* by position, once the skeleton was read */
  size_t rebuilt_count, rebuilt_capacity;
  uint64_t rebuilt_bytes; /* inflated size of all */
  bool has_all_rebuilt;   /* every one is rebuilt */
  kdl_arena arena;
} split_merger;

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_manifest(const char *name) {
  return kdl_text_has_suffix(kdl_text_of(name), KDL_TEXT(SPLIT_MANIFEST_SUFFIX));
}

bool split_is_split_output(const char *operand) {
  return is_folder(operand) || is_manifest(operand);
}

/* ------------------------------------------------------------------------------------------ */
/* The manifest and the host part                                                               */

static kdl_status find_manifest(kdl_arena *arena, const char *folder, const char **out_path) {
  DIR *dir = opendir(folder);
  struct dirent *entry;
  *out_path = NULL;
  if (!dir)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot open the folder: %s", folder,
                    strerror(errno));
  kdl_status status = KDL_OK;
  while (status == KDL_OK && (entry = readdir(dir))) {
    if (!is_manifest(entry->d_name))
      continue;
    if (*out_path)
      status = kdl_fail(KDL_BAD_CALL,
                        "%s: several manifests (*" SPLIT_MANIFEST_SUFFIX
                        ") are there: use the name of one",
                        folder);
    else
      *out_path = xarena_format(arena, "%s/%s", folder, entry->d_name);
  }
  closedir(dir);
  if (status == KDL_OK && !*out_path)
    status = kdl_fail(KDL_NO_MATCH,
                      "%s: found no manifest (*" SPLIT_MANIFEST_SUFFIX
                      "), expected what 'kdl split' wrote",
                      folder);
  return status;
}

static kdl_status verify_host_digest(const split_merger *work, const char *path,
                                     const cli_bytes *bytes) {
  kdl_digest digest = kdl_digest_of(bytes->data, bytes->size);
  if (bytes->size != work->manifest.size)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found %zu bytes, expected %" PRIu64 ", as %s says of the host part", path,
                    bytes->size, work->manifest.size, work->path);
  if (memcmp(&digest, &work->manifest.host_digest, sizeof digest) != 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found another digest than %s says of the host part: it was altered, or "
                    "is of another split",
                    path, work->path);
  /* Copies only the pages that images are written to. */
  if (!bytes->mapped || mprotect(bytes->owned, bytes->size, PROT_READ | PROT_WRITE) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot map: %s", path, strerror(errno));
  return KDL_OK;
}

static kdl_status map_host(split_merger *work) {
  const char *path = xarena_format(&work->arena, "%s/%s", work->folder, work->manifest.host);
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_status status = verify_host_digest(work, path, &bytes);
  if (status == KDL_OK) {
    work->data = bytes.owned;
    work->size = bytes.size;
  } else {
    cli_bytes_free(&bytes);
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Parts                                                                                        */

static kdl_status read_metadata_number(const kdl_image_info *image, const char *key,
                                       const char *path, uint64_t otherwise, uint64_t *out_number) {
  const kdl_string *value = kdl_find_value(image->pairs, image->pair_count, key);
  *out_number = otherwise;
  if (!value)
    return otherwise == UINT64_MAX
               ? kdl_fail(KDL_BAD_FILE,
                          "%s: image %zu: found no key %s, expected a part of a split", path,
                          image->index, key)
               : KDL_OK;
  uint64_t number = 0;
  for (size_t i = 0; i < value->length; ++i) {
    unsigned digit = (unsigned)(value->data[i] - '0');
    if (digit > 9 || number > (UINT64_MAX - 9) / 10)
      return kdl_fail(KDL_BAD_FILE, "%s: image %zu: %s: found \"%.32s\", expected a number", path,
                      image->index, key, value->data);
    number = number * 10 + digit;
  }
  *out_number = number;
  return KDL_OK;
}

static kdl_status restore_image(split_merger *work, kdl_library *lib, const kdl_image_info *image,
                                const char *path) {
  uint64_t at, head;
  const void *data;
  size_t size;
  kdl_status status = KDL_OK;
  KDL_TRY(read_metadata_number(image, SPLIT_KEY_AT, path, UINT64_MAX, &at));
  KDL_TRY(read_metadata_number(image, SPLIT_KEY_HEAD, path, 0, &head));
  KDL_TRY(kdl_library_acquire_bytes(lib, image->index, &data, &size));
  if (head > size || at > work->size || size - head > work->size - at)
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: image %zu: found %zu bytes for 0x%" PRIx64
                      ", expected them in the file of %zu bytes",
                      path, image->index, size, at, work->size);
  else
    memcpy(work->data + at, (const uint8_t *)data + head, size - (size_t)head);
  kdl_library_release_bytes(lib, image->index);
  return status;
}

static split_rebuilt_bundle *find_rebuilt_bundle(const split_merger *work, uint64_t at) {
  size_t first =
      kdl_array_lower_bound(work->rebuilt_bundles, work->rebuilt_count,
                            sizeof *work->rebuilt_bundles, offsetof(split_rebuilt_bundle, at), at);
  return first < work->rebuilt_count && work->rebuilt_bundles[first].at == at
             ? &work->rebuilt_bundles[first]
             : NULL;
}

static int compare_rebuilt_bundles(const void *left, const void *right) {
  const split_rebuilt_bundle *a = left, *b = right;
  return (a->at > b->at) - (a->at < b->at);
}

/* Rebuilt bundles must not overlap: one that is listed many times would be compressed each time. */
static kdl_status sort_rebuilt_bundles(split_merger *work) {
  if (work->rebuilt_count)
    qsort(work->rebuilt_bundles, work->rebuilt_count, sizeof *work->rebuilt_bundles,
          compare_rebuilt_bundles);
  for (size_t i = 1; i < work->rebuilt_count; ++i) {
    const split_rebuilt_bundle *before = &work->rebuilt_bundles[i - 1],
                               *rebuilt = &work->rebuilt_bundles[i];
    if (rebuilt->at - before->at < before->compressed_size)
      return kdl_fail(KDL_BAD_FILE,
                      "%s: found compressed bundles at 0x%" PRIx64 ", of %" PRIu64
                      " bytes, and at 0x%" PRIx64 ", expected them apart",
                      work->path, before->at, before->compressed_size, rebuilt->at);
  }
  work->has_all_rebuilt = true;
  return KDL_OK;
}

/* Whether sizes are within the limits of the bundle reader, and their sum is in proportion to the
 * file: each of them will be compressed. */
static bool is_in_bounds(const split_merger *work, const split_rebuilt_bundle *rebuilt,
                         size_t size) {
  uint64_t most = KDL_INFLATED_BASE + (uint64_t)work->size * SPLIT_LIMIT_INFLATE_RATIO;
  return rebuilt->at <= work->size && rebuilt->compressed_size <= work->size - rebuilt->at &&
         size <= rebuilt->uncompressed_size &&
         rebuilt->uncompressed_size <=
             KDL_INFLATED_BASE + rebuilt->compressed_size * KDL_INFLATED_RATIO &&
         rebuilt->uncompressed_size <= most - work->rebuilt_bytes;
}

/* The bytes between the images of a compressed bundle. */
static kdl_status begin_rebuilt_bundle(split_merger *work, kdl_library *lib,
                                       const kdl_image_info *image, uint64_t in, const char *path) {
  split_rebuilt_bundle rebuilt = {.at = in};
  const void *data;
  size_t size;
  KDL_TRY(read_metadata_number(image, SPLIT_KEY_ROOM, path, UINT64_MAX, &rebuilt.compressed_size));
  KDL_TRY(read_metadata_number(image, SPLIT_KEY_INFLATED, path, UINT64_MAX,
                               &rebuilt.uncompressed_size));
  KDL_TRY(kdl_library_acquire_bytes(lib, image->index, &data, &size));
  bool is_right = is_in_bounds(work, &rebuilt, size);
  if (is_right) {
    work->rebuilt_bundles = xgrow(work->rebuilt_bundles, work->rebuilt_count,
                                  &work->rebuilt_capacity, 16, sizeof *work->rebuilt_bundles);
    rebuilt.data = xcalloc(1, (size_t)rebuilt.uncompressed_size + 1);
    memcpy(rebuilt.data, data, size);
    work->rebuilt_bundles[work->rebuilt_count++] = rebuilt;
    work->rebuilt_bytes += rebuilt.uncompressed_size;
  }
  kdl_library_release_bytes(lib, image->index);
  if (!is_right)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: image %zu: found %zu bytes of a bundle that inflates from %" PRIu64
                    " to %" PRIu64 " bytes, expected sizes that fit, and all of them to inflate to "
                    "64 MiB and %d times the file at most",
                    path, image->index, size, rebuilt.compressed_size, rebuilt.uncompressed_size,
                    SPLIT_LIMIT_INFLATE_RATIO);
  return KDL_OK;
}

/* Adds an image to a bundle that was begun. */
static kdl_status add_image_to_rebuilt(split_merger *work, kdl_library *lib,
                                       const kdl_image_info *image, uint64_t in, const char *path) {
  uint64_t at;
  const void *data;
  size_t size;
  bool begins = kdl_find_value(image->pairs, image->pair_count, SPLIT_KEY_INFLATED) != NULL;
  if (begins && !work->has_all_rebuilt)
    return begin_rebuilt_bundle(work, lib, image, in, path);
  if (begins || !work->has_all_rebuilt)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: image %zu: found %s, expected that in the part '" SPLIT_SKELETON
                    "', and nothing else there",
                    path, image->index,
                    begins ? "what lies between the images of a bundle" : "an image of a bundle");
  split_rebuilt_bundle *rebuilt = find_rebuilt_bundle(work, in);
  kdl_status status = KDL_OK;
  KDL_TRY(read_metadata_number(image, SPLIT_KEY_AT, path, UINT64_MAX, &at));
  if (!rebuilt)
    return KDL_OK; /* the original bundle is there */
  KDL_TRY(kdl_library_acquire_bytes(lib, image->index, &data, &size));
  bool is_in_bounds = at <= rebuilt->uncompressed_size && size <= rebuilt->uncompressed_size - at;
  if (is_in_bounds)
    memcpy(rebuilt->data + at, data, size);
  else
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: image %zu: found %zu bytes for 0x%" PRIx64
                      ", expected them in the %" PRIu64 " bytes of the bundle",
                      path, image->index, size, at, rebuilt->uncompressed_size);
  kdl_library_release_bytes(lib, image->index);
  return status;
}

static kdl_status restore_part(split_merger *work, const char *path) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = path};
  kdl_status status = KDL_OK;
  KDL_TRY(kdl_open(path, &opts, &lib));
  for (size_t i = 0; status == KDL_OK && cli_outer_next(lib, &i); ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    uint64_t in;
    bool is_inflated = kdl_find_value(image.pairs, image.pair_count, SPLIT_KEY_IN) != NULL;
    status = read_metadata_number(&image, SPLIT_KEY_IN, path, 0, &in);
    if (status == KDL_OK)
      status = is_inflated ? add_image_to_rebuilt(work, lib, &image, in, path)
                           : restore_image(work, lib, &image, path);
  }
  kdl_close(lib);
  return status;
}

/* The reason why a file is not one of the manifest's parts. */
static kdl_status fail_unknown_part(const split_merger *work, const char *path) {
  kdl_library *lib;
  char of[KDL_DIGEST_TEXT];
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = path};
  kdl_status status;
  kdl_digest_print(&work->manifest.digest, of);
  KDL_TRY(kdl_open(path, &opts, &lib));
  kdl_image_info image = cli_image_at(lib, 0); /* has no pairs where there is no image */
  const kdl_string *value = kdl_find_value(image.pairs, image.pair_count, SPLIT_KEY_OF);
  if (!value)
    status = kdl_fail(KDL_BAD_CALL, "%s: not a part of a split: use parts of %s", path, work->path);
  else if (!kdl_text_is(*value, of))
    status = kdl_fail(KDL_BAD_CALL, "%s: a part of another file: use parts of %s (%s)", path,
                      work->manifest.file, work->path);
  else
    status = kdl_fail(KDL_BAD_FILE, "%s: found another digest than %s says: the part was altered",
                      path, work->path);
  kdl_close(lib);
  return status;
}

/* Identifies the part in a file, and adds it. */
static kdl_status add_part_file(split_merger *work, const char *path, size_t expected) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_digest digest = kdl_digest_of(bytes.data, bytes.size);
  cli_bytes_free(&bytes);
  size_t i = 0;
  if (expected != SIZE_MAX && /* the usual case: avoids a search through many parts */
      memcmp(&digest, &work->manifest.parts[expected].digest, sizeof digest) == 0)
    i = expected;
  while (i < work->manifest.part_count &&
         memcmp(&digest, &work->manifest.parts[i].digest, sizeof digest) != 0)
    ++i;
  if (i == work->manifest.part_count)
    return fail_unknown_part(work, path);
  if (expected != SIZE_MAX && i != expected)
    return kdl_fail(KDL_BAD_FILE, "%s: found the part for %s, expected that for %s", path,
                    work->manifest.parts[i].arch, work->manifest.parts[expected].arch);
  if (work->paths[i])
    return kdl_fail(KDL_BAD_CALL, "%s: the part for %s is given twice: give it once", path,
                    work->manifest.parts[i].arch);
  work->paths[i] = path;
  ++work->taken_count;
  return KDL_OK;
}

/* Adds every part of the manifest that exists in its folder. */
static kdl_status add_folder_parts(split_merger *work, bool partial) {
  for (size_t i = 0; i < work->manifest.part_count; ++i) {
    const split_part *part = &work->manifest.parts[i];
    const char *path = xarena_format(&work->arena, "%s/%s", work->folder, part->file);
    struct stat info;
    if (stat(path, &info) == 0 || errno != ENOENT)
      KDL_TRY(add_part_file(work, path, i));
    else if (!partial)
      return kdl_fail(KDL_NO_MATCH,
                      "%s: found no such file, expected the part for %s; --partial does without",
                      path, part->arch);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static kdl_status save_complete_file(const split_merger *work, const char *output) {
  kdl_digest digest = kdl_digest_of(work->data, work->size);
  if (memcmp(&digest, &work->manifest.digest, sizeof digest) != 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found parts that make another file than the one that was split: its "
                    "digest differs",
                    work->path);
  return cli_output_save(output, work->data, work->size);
}

static bool is_skeleton(const split_part *part) {
  return part->is_mixed && strcmp(part->arch, SPLIT_SKELETON) == 0;
}

/* Whether the original compressed bundles are available: then no skeleton is needed. */
static bool has_bundles(const split_merger *work) {
  for (size_t i = 0; i < work->manifest.part_count; ++i) {
    const split_part *part = &work->manifest.parts[i];
    if (part->is_mixed && !is_skeleton(part) && work->paths[i])
      return true;
  }
  return false;
}

static kdl_status check_required_parts(const split_merger *work, bool bundles) {
  for (size_t i = 0; i < work->manifest.part_count; ++i) {
    const split_part *part = &work->manifest.parts[i];
    if (part->is_needed && !work->paths[i] && !(bundles && is_skeleton(part)))
      return kdl_fail(KDL_NO_MATCH,
                      "%s: found no part '%s' (%s), expected it: images of several architectures "
                      "are compressed together",
                      work->path, part->arch, part->file);
  }
  if (work->taken_count == 0)
    return kdl_fail(KDL_NO_MATCH, "%s: found none of its parts, expected at least one", work->path);
  return KDL_OK;
}

/* Writes the images of all parts back to their positions, skeletons first. */
static kdl_status restore_parts(split_merger *work) {
  bool bundles = has_bundles(work);
  KDL_TRY(check_required_parts(work, bundles));
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < work->manifest.part_count; ++i) {
      bool first = is_skeleton(&work->manifest.parts[i]);
      if (work->paths[i] && first == (pass == 0) && !(first && bundles))
        KDL_TRY(restore_part(work, work->paths[i]));
    }
    if (pass == 0)
      KDL_TRY(sort_rebuilt_bundles(work));
  }
  for (size_t i = 0; i < work->rebuilt_count; ++i)
    KDL_TRY(split_rebuilt_bundle_compress(&work->rebuilt_bundles[i], work->data, work->size,
                                          work->path));
  return KDL_OK;
}

static kdl_status save_merged(const split_merger *work, const char *output) {
  KDL_TRY(work->taken_count == work->manifest.part_count
              ? save_complete_file(work, output)
              : split_save_thinned(work->data, work->size, work->manifest.file, output));
  if (strcmp(output, "-") != 0 && chmod(output, work->manifest.mode) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot set its mode: %s", output,
                    strerror(errno));
  return KDL_OK;
}

static kdl_status merge_parts(split_merger *work, const cli_args *args, const char *output) {
  if (is_folder(work->path))
    KDL_TRY(find_manifest(&work->arena, work->path, &work->path));
  const char *slash = strrchr(work->path, '/');
  work->folder =
      slash ? xarena_string(&work->arena, work->path, (size_t)(slash - work->path)).data : ".";
  KDL_TRY(split_manifest_read(work->path, &work->manifest));
  size_t room = (work->manifest.part_count + 1) * sizeof *work->paths;
  work->paths = memset(xarena_alloc(&work->arena, room), 0, room);
  KDL_TRY(map_host(work));
  for (size_t i = 1; i < args->operand_count; ++i)
    KDL_TRY(add_part_file(work, args->operands[i], SIZE_MAX));
  if (args->operand_count == 1)
    KDL_TRY(add_folder_parts(work, cli_args_has(args, "partial")));
  KDL_TRY(restore_parts(work));
  return save_merged(work, output);
}

kdl_status split_merge(const cli_args *args, const char *output) {
  split_merger work = {.path = args->operands[0]};
  if (cli_args_has(args, "format"))
    return kdl_fail(
        KDL_BAD_CALL,
        "--format cannot be used with what 'kdl split' wrote: the file becomes what it was");
  kdl_status status = merge_parts(&work, args, output);
  if (work.data)
    munmap(work.data, work.size);
  for (size_t i = 0; i < work.rebuilt_count; ++i)
    free(work.rebuilt_bundles[i].data);
  free(work.rebuilt_bundles);
  split_manifest_free(&work.manifest);
  kdl_arena_free(&work.arena);
  return status;
}
