/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl split: splits a file into a host part and one bundle per architecture. */
#include "lib/inspect/libraries.h"
#include "pack/commands.h"
#include "pack/split/split.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "tools/common/images/kinds.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/temp_folder.h"
#include "tools/common/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  const char *path;
  const char *file; /* the file name without folders */
  unsigned mode;
  cli_bytes bytes;
  kdl_library *lib;
  split_plan plan;
  split_manifest manifest;
  const char *folder; /* the temporary output folder */
} split_state;

/* ------------------------------------------------------------------------------------------ */
/* Bundles                                                                                      */

enum { fatbin_header = 16, more_pairs = 4 };

/* A fatbin with one entry. */
static uint8_t *wrap_in_fatbin(const split_state *work, const split_unit *unit, kdl_arena *arena,
                               size_t *out_size) {
  uint64_t entry = unit->head + unit->size;
  uint8_t *made = xarena_alloc(arena, (size_t)(fatbin_header + entry));
  kdl_store_u32(made, KDL_MAGIC_FATBIN);
  kdl_store_u16(made + 4, 1);
  kdl_store_u16(made + 6, fatbin_header);
  kdl_store_u64(made + 8, entry);
  memcpy(made + fatbin_header, (const uint8_t *)work->bytes.data + unit->at - unit->head,
         (size_t)entry);
  *out_size = (size_t)(fatbin_header + entry);
  return made;
}

static kdl_pair number_pair(kdl_arena *arena, const char *key, uint64_t number) {
  return (kdl_pair){kdl_text_of(key), kdl_text_of(xarena_format(arena, "%" PRIu64, number))};
}

static kdl_pair digest_pair(const split_state *work, kdl_arena *arena) {
  char of[KDL_DIGEST_TEXT];
  kdl_digest_print(&work->manifest.digest, of);
  return (kdl_pair){KDL_TEXT(SPLIT_KEY_OF), xarena_string(arena, of, strlen(of))};
}

/* The image's own pairs, without those that no longer hold, and its position in the file. */
static void make_unit_metadata(const split_state *work, const split_unit *unit, kdl_arena *arena,
                               kdl_writer_image *image) {
  const kdl_image_info from = cli_image_at(work->lib, unit->image);
  const kdl_pair *own = from.pairs;
  kdl_pair *pairs = xarena_alloc(arena, (from.pair_count + more_pairs) * sizeof *pairs);
  bool is_single = !work->plan.parts[unit->part].is_mixed;
  size_t count = 0;
  for (size_t i = 0; is_single && i < from.pair_count; ++i) {
    bool is_digest = unit->head && kdl_text_is(own[i].key, KDL_DIGEST_KEY);
    if (!kdl_text_starts(own[i].key, "kdl.split.") && !is_digest)
      pairs[count++] = own[i];
  }
  pairs[count++] = digest_pair(work, arena);
  pairs[count++] = number_pair(arena, SPLIT_KEY_AT, unit->at);
  if (unit->head)
    pairs[count++] = number_pair(arena, SPLIT_KEY_HEAD, fatbin_header + unit->head);
  image->pairs = pairs;
  image->pair_count = count;
  image->offload_kind = from.offload_kind;
  image->declared_kind = from.declared_kind ? from.declared_kind : kdl_llvm_image_kind(from.kind);
}

static kdl_status add_unit_image(const split_state *work, const split_unit *unit, kdl_arena *arena,
                                 kdl_writer *writer) {
  kdl_writer_image image = {.size = sizeof image,
                            .data = (const uint8_t *)work->bytes.data + unit->at,
                            .data_size = (size_t)unit->size};
  make_unit_metadata(work, unit, arena, &image);
  if (unit->head) {
    image.declared_kind = 4; /* fatbin */
    image.data = wrap_in_fatbin(work, unit, arena, &image.data_size);
  }
  return kdl_writer_add(writer, &image);
}

/* Adds the inflated copy of an image that was compressed together with others. */
static kdl_status add_copy(const split_state *work, const split_copy *copy, kdl_arena *arena,
                           kdl_writer *writer) {
  const kdl_stored_image *from = &cli_stored_images(work->lib)[copy->image];
  kdl_writer_image image = {.size = sizeof image, .data_size = (size_t)from->size};
  split_unit unit = {.at = from->offset, .image = copy->image, .part = copy->part};
  make_unit_metadata(work, &unit, arena, &image);
  ((kdl_pair *)(uintptr_t)image.pairs)[image.pair_count++] =
      number_pair(arena, SPLIT_KEY_IN, work->plan.streams[copy->stream].at);
  return kdl_writer_add_copy(writer, &image, work->lib, copy->image, false);
}

static kdl_status add_skeleton(const split_state *work, const split_stream *stream,
                               kdl_arena *arena, kdl_writer *writer) {
  kdl_pair pairs[] = {digest_pair(work, arena), number_pair(arena, SPLIT_KEY_IN, stream->at),
                      number_pair(arena, SPLIT_KEY_ROOM, stream->size),
                      number_pair(arena, SPLIT_KEY_INFLATED, stream->uncompressed_size)};
  kdl_writer_image image = {.size = sizeof image,
                            .pairs = pairs,
                            .pair_count = sizeof pairs / sizeof *pairs,
                            .data = stream->table,
                            .data_size = stream->table_size};
  return kdl_writer_add(writer, &image);
}

static kdl_status digest_part_file(const char *path, uint64_t *out_size, kdl_digest *out_digest) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  *out_size = bytes.size;
  *out_digest = kdl_digest_of(bytes.data, bytes.size);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

/* Only users who may read the file may read its parts. */
static kdl_status restrict_permissions(const split_state *work, const char *path) {
  struct stat info;
  if (stat(path, &info) == 0 && chmod(path, info.st_mode & work->mode & 0777) == 0)
    return KDL_OK;
  return kdl_fail(KDL_IO, "%s: cannot set its mode: %s", path, strerror(errno));
}

static kdl_status write_part(split_state *work, uint32_t index, kdl_arena *arena,
                             kdl_writer *writer) {
  split_part *part = &work->plan.parts[index];
  for (size_t i = 0; i < work->plan.unit_count; ++i) {
    if (work->plan.units[i].part == index)
      KDL_TRY(add_unit_image(work, &work->plan.units[i], arena, writer));
  }
  for (size_t i = 0; i < work->plan.copy_count; ++i) {
    if (work->plan.copies[i].part == index)
      KDL_TRY(add_copy(work, &work->plan.copies[i], arena, writer));
  }
  bool is_skeleton = strcmp(part->key, SPLIT_SKELETON) == 0;
  for (size_t i = 0; is_skeleton && i < work->plan.stream_count; ++i)
    KDL_TRY(add_skeleton(work, &work->plan.streams[i], arena, writer));
  const char *path = xarena_format(arena, "%s/%s", work->folder, part->file);
  KDL_TRY(cli_output_save_writer(path, writer));
  KDL_TRY(restrict_permissions(work, path));
  return digest_part_file(path, &part->size, &part->digest);
}

static kdl_status save_part(split_state *work, uint32_t index) {
  kdl_arena arena = {.blocks = NULL};
  kdl_writer *writer;
  KDL_TRY(kdl_writer_create(KDL_FORMAT_V1, &writer));
  kdl_status status = write_part(work, index, &arena, writer);
  kdl_writer_destroy(writer);
  kdl_arena_free(&arena);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The folder                                                                                   */

static kdl_status write_split_files(split_state *work) {
  kdl_arena *arena = &work->plan.arena;
  const char *host = xarena_format(arena, "%s/%s", work->folder, work->file);
  const char *path = xarena_format(arena, "%s/%s" SPLIT_MANIFEST_SUFFIX, work->folder, work->file);
  work->manifest.host_digest = split_host_digest(&work->bytes, &work->plan);
  KDL_TRY(split_host_save(&work->bytes, &work->plan, host));
  if (chmod(host, work->mode) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot set its mode: %s", host,
                    strerror(errno));
  for (uint32_t i = 0; i < work->plan.part_count; ++i)
    KDL_TRY(save_part(work, i));
  work->manifest.parts = work->plan.parts;
  work->manifest.part_count = work->plan.part_count;
  return split_manifest_save(&work->manifest, path);
}

/* Fills a temporary folder and renames it, so that the output is complete or absent. */
static kdl_status write_split_folder(split_state *work, const char *output) {
  char target[PATH_MAX];
  KDL_TRY(kdl_folder_resolve(output, "make the folder", target));
  char *temp_path = (char *)(uintptr_t)xarena_format(&work->plan.arena, "%s.kdl-XXXXXX", target);
  if (!temp_folder_create(temp_path))
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot make the folder: %s", temp_path,
                    strerror(errno));
  mode_t mask = umask(0);
  umask(mask);
  work->folder = temp_path;
  kdl_status status = write_split_files(work);
  if (status == KDL_OK && (chmod(temp_path, 0777 & ~mask) != 0 || rename(temp_path, target) != 0))
    status = kdl_fail(KDL_IO, "%s: cannot rename the folder to it: %s", target,
                      errno == ENOTEMPTY || errno == EEXIST
                          ? "found a folder with files in it, expected none or an empty one"
                          : strerror(errno));
  temp_folder_remove();
  return status == KDL_OK ? kdl_file_flush_name(target) : status;
}

/* ------------------------------------------------------------------------------------------ */

static void write_summary_json(const split_state *work, cli_json *json) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "file", work->path);
  cli_json_put_number(json, "size", work->bytes.size);
  cli_json_put_array(json, "parts");
  for (size_t i = 0; i < work->plan.part_count; ++i) {
    const split_part *part = &work->plan.parts[i];
    cli_json_begin_object(json);
    cli_json_put_text(json, "arch", part->arch);
    cli_json_put_text(json, "file", part->file);
    cli_json_put_number(json, "images", part->images);
    cli_json_put_number(json, "image_bytes", part->bytes);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
}

static kdl_status print_split_summary(const split_state *work, bool as_json) {
  uint64_t cut = 0;
  cli_json json = {.file = stdout};
  if (as_json) {
    write_summary_json(work, &json);
    return cli_output_flush();
  }
  for (size_t i = 0; i < work->plan.unit_count; ++i)
    cut += work->plan.units[i].size;
  for (size_t i = 0; i < work->plan.part_count; ++i) {
    const split_part *part = &work->plan.parts[i];
    cli_text_printf(stdout, "%s: %zu image%s, %" PRIu64 " bytes\n", part->file, part->images,
                    part->images == 1 ? "" : "s", part->bytes);
  }
  cli_text_printf(stdout, "%s: %" PRIu64 " bytes of the host\n", work->file,
                  work->bytes.size - cut);
  size_t together = work->plan.packed - work->plan.copy_count;
  if (together)
    cli_note("%zu images are compressed together with others: they stay together", together);
  return cli_output_flush();
}

static kdl_status split_opened_file(split_state *work, const cli_args *args) {
  KDL_TRY(split_plan_make(work->lib, &work->bytes, work->file, &work->plan));
  bool is_bare = work->plan.unit_count == 1 && work->plan.units[0].size == work->bytes.size;
  if (work->plan.unit_count == 0 || is_bare)
    return kdl_fail(KDL_NO_MATCH, "%s: found %s, expected a file that holds images", work->path,
                    is_bare ? "a single image" : "no image to cut out");
  work->manifest = (split_manifest){.file = work->file,
                                    .host = work->file,
                                    .mode = work->mode,
                                    .size = work->bytes.size,
                                    .digest = kdl_digest_of(work->bytes.data, work->bytes.size)};
  if (!cli_args_has(args, "dry-run"))
    KDL_TRY(write_split_folder(work, cli_args_value(args, "output")));
  return print_split_summary(work, cli_args_has(args, "json"));
}

static kdl_status open_split_input(split_state *work) {
  struct stat info;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = work->path};
  if (stat(work->path, &info) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot open: %s", work->path,
                    strerror(errno));
  if (!S_ISREG(info.st_mode))
    return kdl_fail(KDL_BAD_CALL, "%s: found no regular file, expected one", work->path);
  work->file = basename(work->path);
  if (!kdl_utf8_is_valid(work->file, strlen(work->file)))
    return kdl_fail(KDL_BAD_CALL, "%s: the name is not UTF-8: use one that a manifest can hold",
                    work->path);
  work->mode = info.st_mode & 0777;
  KDL_TRY(cli_bytes_read(work->path, &work->bytes));
  return kdl_open(work->path, &opts, &work->lib);
}

int cli_run_split(const cli_args *args) {
  split_state work = {.path = args->operands[0]};
  if (!cli_args_has(args, "output") && !cli_args_has(args, "dry-run"))
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing output: use -o DIR"));
  kdl_status status = open_split_input(&work);
  if (status == KDL_OK)
    status = split_opened_file(&work, args);
  split_plan_free(&work.plan);
  kdl_close(work.lib);
  cli_bytes_free(&work.bytes);
  return cli_report_status(status);
}
