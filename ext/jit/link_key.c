/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/link_key.h"

#include "build_id.h"
#include "ext/jit/identity.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/blake2b.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The device                                                                                   */

/* The part of a spec that the rules read: not its name, number or caches. */
static void print_device_line(const kdl_link_task *task, char out_line[KDL_SPEC_LINE]) {
  const kdl_device_spec *whole = kdl_device_route_spec(task->device, task->route);
  kdl_device_spec spec = {.backend = whole->backend, .il = whole->il, .ptx = whole->ptx};
  memcpy(spec.arch, whole->arch, sizeof spec.arch);
  memcpy(spec.features, whole->features, sizeof spec.features);
  memcpy(spec.os_off, whole->os_off, sizeof spec.os_off);
  memcpy(spec.refused, whole->refused, sizeof spec.refused);
  if (kdl_device_spec_driver(whole))
    memcpy(spec.driver, whole->driver, sizeof spec.driver);
  kdl_out out = {out_line, KDL_SPEC_LINE, 0};
  kdl_device_spec_print(&spec, &out);
}

/* ------------------------------------------------------------------------------------------ */
/* The library                                                                                  */

typedef struct {
  const kdl_link_task *task;
  const kdl_catalog *catalog;
} choice;

/* Whether the caller's library may have microkernels in that image. */
static bool is_included(const void *user, uint32_t image) {
  const choice *from = user;
  const kdl_image_traits traits = kdl_catalog_traits(from->catalog, image);
  const kdl_link_task *task = from->task;
  kdl_target_family family =
      kdl_device_spec_family(kdl_device_route_spec(task->device, task->route));
  if (image == task->image || traits.kind != KDL_IMAGE_BITCODE || traits.family != family)
    return false;
  kdl_image_info info = kdl_library_image(task->lib, image);
  return kdl_ukernels_may_hold(&info);
}

static kdl_status add_caller_library(const kdl_link_task *task, kdl_ukernels *ukernels) {
  char name[512];
  kdl_catalog *catalog;
  KDL_TRY(kdl_library_catalog(task->lib, &catalog));
  snprintf(name, sizeof name, "the bitcode of %.400s", kdl_library_name(task->lib));
  return kdl_ukernels_add(ukernels, task->lib, name, is_included, &(choice){task, catalog});
}

/* The bytes that a key is made of: those in the file, without a copy, or the snapshot. */
typedef enum { bytes_there, bytes_taken } which_bytes;

static void add_string(kdl_blake2b *hash, const void *data, size_t size) {
  uint64_t length = size;
  kdl_blake2b_add(hash, &length, sizeof length);
  kdl_blake2b_add(hash, data, size);
}

static kdl_status hash_image(kdl_blake2b *hash, kdl_library *lib, uint32_t index,
                             which_bytes which) {
  kdl_image_info image = kdl_library_image(lib, index);
  const void *data;
  size_t size;
  KDL_TRY(which == bytes_taken ? kdl_library_bytes(lib, index, KDL_BYTES_PRIVATE, &data, &size)
                               : kdl_image_bytes(lib, index, &data, &size));
  uint64_t numbers[] = {image.offload_kind, image.flags, image.pair_count};
  kdl_blake2b_add(hash, numbers, sizeof numbers);
  for (size_t i = 0; i < image.pair_count; ++i) {
    add_string(hash, image.pairs[i].key.data, image.pairs[i].key.length);
    add_string(hash, image.pairs[i].value.data, image.pairs[i].value.length);
  }
  add_string(hash, data, size);
  return KDL_OK;
}

static void print_digest(FILE *out, const char *word, kdl_digest digest) {
  char text[KDL_DIGEST_TEXT];
  kdl_digest_print(&digest, text);
  fprintf(out, "%s %s\n", word, text);
}

/* Hashes the images that the device admits. Refused ones appear only in messages, never in a
 * result. */
static kdl_status print_library(FILE *out, const kdl_link_task *task, which_bytes which) {
  kdl_blake2b hash;
  kdl_catalog *catalog;
  bool has_any = false;
  kdl_status status = kdl_library_catalog(task->lib, &catalog);
  kdl_blake2b_start(&hash);
  for (uint32_t i = 0; status == KDL_OK && i < kdl_image_count(task->lib); ++i) {
    if (!is_included(&(choice){task, catalog}, i) ||
        !kdl_device_route_admits(task->device, task->route, catalog, i))
      continue;
    has_any = true;
    status = hash_image(&hash, task->lib, i, which);
  }
  if (status == KDL_OK && has_any)
    print_digest(out, "library", kdl_blake2b_finish(&hash));
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Microkernels from elsewhere                                                                  */

static int is_ukernel_file(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return entry->d_name[0] != '.' && dot && (!strcmp(dot, ".offload") || !strcmp(dot, ".bc"));
}

static int compare_dirent_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static kdl_status print_member(FILE *out, const char *folder, const char *name) {
  char *file;
  if (asprintf(&file, "%s/%s", folder, name) < 0)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for the files in it", folder);
  fprintf(out, "member ");
  kdl_identity_print(out, file, NULL);
  fputc('\n', out);
  free(file);
  return KDL_OK;
}

/* A file, or a folder whose files form one library. */
static kdl_status print_ukernel_library(FILE *out, const char *path) {
  struct dirent **entries;
  kdl_status status = KDL_OK;
  fprintf(out, "ukernels ");
  kdl_identity_print(out, path, NULL);
  fputc('\n', out);
  int count = scandir(path, &entries, is_ukernel_file, compare_dirent_names);
  if (count < 0)
    return errno == ENOMEM ? kdl_fail(KDL_NO_MEMORY, "%s: out of memory for the files in it", path)
                           : KDL_OK;
  for (int i = 0; i < count; ++i) {
    if (status == KDL_OK)
      status = print_member(out, path, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static kdl_status print_ukernel_path(FILE *out) {
  char path[PATH_MAX];
  const char *list = kdl_environment(KDL_VARIABLE_UKERNEL_PATH);
  while (kdl_ukernel_path_next(&list, path))
    KDL_TRY(print_ukernel_library(out, path));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

/* The rows of environment.def with the rule LINK_KEY, in their order; it says why others have
 * not. */
static void print_variables(FILE *out) {
  for (kdl_variable which = 0; which < KDL_VARIABLE_COUNT; ++which) {
    const char *value =
        kdl_variable_rule_of(which) == KDL_VARIABLE_RULE_LINK_KEY ? kdl_environment(which) : NULL;
    if (!value)
      continue;
    fprintf(out, "environment %s=", kdl_variable_name(which));
    kdl_identity_print_text(out, value);
    fputc('\n', out);
  }
}

/* The checked libraries, by their bytes. Another trust policy, or other keys, may admit other
 * code. */
static void print_checked(FILE *out, const kdl_ukernels *ukernels) {
  char trust[KDL_DIGEST_TEXT];
  kdl_trust_identify(trust);
  fprintf(out, "trust %s\n", trust);
  for (size_t i = 0; i < ukernels->count; ++i)
    print_digest(out, "ukernels", kdl_digest_of(ukernels->items[i].data, ukernels->items[i].size));
}

static kdl_status print_microkernels(FILE *out, const kdl_link_task *task, const kdl_link_key *key,
                                     which_bytes which) {
  if (key->ukernels.policy != KDL_TRUST_OFF) {
    print_checked(out, &key->ukernels);
    return KDL_OK;
  }
  kdl_status status = print_library(out, task, which);
  return status == KDL_OK ? print_ukernel_path(out) : status;
}

static kdl_status print_key_lines(FILE *out, const kdl_link_task *task, const kdl_link_key *key,
                                  which_bytes which) {
  fprintf(out, "device %s\n", key->device);
  if (task->kernel)
    fprintf(out, "kernel %s\n", task->kernel);
  fprintf(out, "%s", task->constants ? task->constants : "");
  print_digest(out, "caller", kdl_digest_of(key->caller, key->caller_size));
  kdl_status status = print_microkernels(out, task, key, which);
  print_variables(out);
  fprintf(out, "libkdl " KDL_BUILD_ID "\nkdl-ld ");
  kdl_identity_print_program(out, key->linker);
  fputc('\n', out);
  return status;
}

static kdl_status print_key_text(const kdl_link_task *task, const kdl_link_key *key,
                                 which_bytes which, char **out_text, size_t *out_length) {
  FILE *out = kdl_text_stream(out_text, out_length);
  if (!out)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  kdl_status status = print_key_lines(out, task, key, which);
  if (fclose(out) != 0 && status == KDL_OK)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  return status;
}

kdl_status kdl_link_key_make(const kdl_link_task *task, kdl_link_key *out_key) {
  kdl_link_key *key = out_key;
  key->text = NULL;
  KDL_TRY(kdl_ukernels_begin(&key->ukernels));
  if (!kdl_linker_path(key->linker))
    return kdl_fail(KDL_UNSUPPORTED, "kdl-ld not found: it links bitcode into an image");
  KDL_TRY(kdl_library_bytes(task->lib, task->image, KDL_BYTES_VERIFIED, &key->caller,
                            &key->caller_size));
  if (key->ukernels.policy != KDL_TRUST_OFF) {
    KDL_TRY(add_caller_library(task, &key->ukernels));
    KDL_TRY(kdl_ukernels_add_search_path(&key->ukernels));
  }
  print_device_line(task, key->device);
  return print_key_text(task, key, bytes_there, &key->text, &key->length);
}

kdl_status kdl_link_key_snapshot(const kdl_link_task *task, kdl_link_key *key) {
  KDL_TRY(kdl_library_bytes(task->lib, task->image, KDL_BYTES_PRIVATE, &key->caller,
                            &key->caller_size));
  if (key->ukernels.policy == KDL_TRUST_OFF)
    KDL_TRY(add_caller_library(task, &key->ukernels));
  return KDL_OK;
}

kdl_status kdl_link_key_check(const kdl_link_task *task, const kdl_link_key *key) {
  char *text = NULL;
  size_t length = 0;
  kdl_status status = print_key_text(task, key, bytes_taken, &text, &length);
  if (status == KDL_OK && (length != key->length || memcmp(text, key->text, length) != 0))
    status = kdl_fail(KDL_IO, "what it was linked of was changed meanwhile");
  free(text);
  return status;
}

void kdl_link_key_free(kdl_link_key *key) {
  kdl_ukernels_free(&key->ukernels);
  free(key->text);
  key->text = NULL;
}
