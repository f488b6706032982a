/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bitcode/link_key.h"

#include "base/blake2b.h"
#include "base/error.h"
#include "base/text.h"
#include "bitcode/identity.h"
#include "build_id.h"
#include "system/environment.h"
#include "system/loader.h"
#include "trust/trust.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The device                                                                                   */

/* What the rules read of a spec; not its name, its number or its caches. */
static void print_device(const kdl_runtime *runtime, char out_line[KDL_SPEC_LINE]) {
  const kdl_device_spec *whole = &kdl_device_route(runtime->device, runtime->route)->spec;
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

/* An image that lists its kernels, and no microkernels, has none. */
static bool may_have_ukernels(const kdl_image *image) {
  bool is_indexed = false;
  kdl_string name;
  for (uint32_t i = 0; i < image->pair_count; ++i) {
    if (kdl_text_starts(kdl_image_pairs(image)[i].key, "kdl.ukernel."))
      return true;
    is_indexed |= kdl_kernel_name(kdl_image_pairs(image)[i].key, &name);
  }
  return !is_indexed;
}

/* Whether it may hold microkernels for the device's family. */
static bool may_be_linked(const kdl_link_task *task, kdl_catalog *catalog, uint32_t image) {
  const kdl_image_rule *rule = kdl_catalog_rule(catalog, image);
  const kdl_runtime *runtime = task->runtime;
  uint32_t family = kdl_device_route(runtime->device, runtime->route)->rule.family;
  return image != task->image && rule->kind == KDL_IMAGE_BITCODE && rule->family == family &&
         may_have_ukernels(&task->lib->container->images[image]);
}

kdl_status kdl_link_key_bytes(kdl_container *container, uint32_t image, const void **out_data,
                              size_t *out_size) {
  kdl_trust_policy policy;
  kdl_status status = kdl_trust_read_policy(&policy);
  if (status != KDL_OK)
    return status;
  return policy == KDL_TRUST_OFF ? kdl_container_bytes(container, image, out_data, out_size)
                                 : kdl_container_bytes_to_run(container, image, out_data, out_size);
}

static bool is_trusted(const kdl_link_task *task, uint32_t image) {
  const void *data;
  size_t size;
  return kdl_link_key_bytes(task->lib->container, image, &data, &size) == KDL_OK;
}

bool kdl_link_key_includes(const kdl_link_task *task, kdl_catalog *catalog, uint32_t image) {
  return may_be_linked(task, catalog, image) && is_trusted(task, image);
}

bool kdl_link_key_leaves_out(const kdl_link_task *task, kdl_catalog *catalog, uint32_t image) {
  return may_be_linked(task, catalog, image) && !is_trusted(task, image);
}

static void add_string(kdl_blake2b *hash, const void *data, size_t size) {
  uint64_t length = size;
  kdl_blake2b_add(hash, &length, sizeof length);
  kdl_blake2b_add(hash, data, size);
}

static kdl_status add_image(kdl_blake2b *hash, kdl_container *container, uint32_t index) {
  const kdl_image *image = &container->images[index];
  const void *data;
  size_t size;
  kdl_status status = kdl_link_key_bytes(container, index, &data, &size);
  if (status != KDL_OK)
    return status;
  uint64_t numbers[] = {image->offload_kind, image->flags, image->pair_count};
  kdl_blake2b_add(hash, numbers, sizeof numbers);
  for (uint32_t i = 0; i < image->pair_count; ++i) {
    add_string(hash, kdl_image_pairs(image)[i].key.data, kdl_image_pairs(image)[i].key.length);
    add_string(hash, kdl_image_pairs(image)[i].value.data, kdl_image_pairs(image)[i].value.length);
  }
  add_string(hash, data, size);
  return KDL_OK;
}

static void print_digest(FILE *out, const char *word, kdl_digest digest) {
  char text[KDL_DIGEST_TEXT];
  kdl_digest_print(&digest, text);
  fprintf(out, "%s %s\n", word, text);
}

/* An image that the device refuses is one to tell of where nothing fits, and never part of a
 * result.
 */
static kdl_status print_library(FILE *out, const kdl_link_task *task) {
  kdl_blake2b hash;
  kdl_catalog *catalog;
  bool has_any = false;
  const kdl_runtime *runtime = task->runtime;
  const kdl_device_rule *device = &kdl_device_route(runtime->device, runtime->route)->rule;
  kdl_status status = kdl_library_catalog(task->lib, &catalog);
  kdl_blake2b_start(&hash);
  for (uint32_t i = 0; status == KDL_OK && i < task->lib->container->count; ++i) {
    if (!kdl_match_admits(kdl_catalog_rule(catalog, i), device) ||
        !kdl_link_key_includes(task, catalog, i))
      continue;
    has_any = true;
    status = add_image(&hash, task->lib->container, i);
  }
  if (status == KDL_OK && has_any)
    print_digest(out, "library", kdl_blake2b_finish(&hash));
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Microkernels from elsewhere                                                                  */

bool kdl_ukernel_path_next(const char **at, char out_path[PATH_MAX]) {
  while (*at && **at) {
    size_t length = strcspn(*at, ":");
    const char *from = *at;
    *at += length + (from[length] == ':');
    if (length && length < PATH_MAX) {
      memcpy(out_path, from, length);
      out_path[length] = '\0';
      return true;
    }
  }
  return false;
}

static int is_ukernel_file(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return entry->d_name[0] != '.' && dot && (!strcmp(dot, ".offload") || !strcmp(dot, ".bc"));
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* A file, or a folder with the files in it. */
static void print_place(FILE *out, const char *path) {
  struct dirent **entries;
  fprintf(out, "ukernels ");
  kdl_identity_print(out, path, NULL);
  fputc('\n', out);
  int count = scandir(path, &entries, is_ukernel_file, by_name);
  for (int i = 0; i < count; ++i) {
    char *file;
    if (asprintf(&file, "%s/%s", path, entries[i]->d_name) >= 0) {
      fprintf(out, "ukernels ");
      kdl_identity_print(out, file, NULL);
      fputc('\n', out);
      free(file);
    }
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
}

static void print_ukernels(FILE *out) {
  char path[PATH_MAX];
  const char *list = kdl_environment("KDL_UKERNEL_PATH");
  while (kdl_ukernel_path_next(&list, path))
    print_place(out, path);
}

/* ------------------------------------------------------------------------------------------ */

/* What else tells kdl-ld what to do. */
static void print_environment(FILE *out) {
  static const char *const names[] = {"KDL_LLD", "KDL_PTXAS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char *value = kdl_environment(names[i]);
    if (value && !strchr(value, '\n'))
      fprintf(out, "environment %s=%s\n", names[i], value);
  }
}

/* Who may have signed what is linked: an image that was linked of others is not taken. */
static void print_trust(FILE *out) {
  kdl_digest keys;
  if (kdl_trust_identity(&keys))
    print_digest(out, "trust", keys);
}

static kdl_status print_all(FILE *out, const kdl_link_task *task, const kdl_link_key *key) {
  fprintf(out, "device %s\n", key->device);
  if (task->kernel)
    fprintf(out, "kernel %s\n", task->kernel);
  fprintf(out, "%s", task->constants ? task->constants : "");
  print_digest(out, "caller", kdl_digest_of(key->caller, key->caller_size));
  kdl_status status = print_library(out, task);
  print_ukernels(out);
  print_environment(out);
  print_trust(out);
  fprintf(out, "libkdl " KDL_BUILD_ID "\nkdl-ld ");
  kdl_identity_print_program(out, key->linker);
  fputc('\n', out);
  return status;
}

kdl_status kdl_link_key_make(const kdl_link_task *task, kdl_link_key *out_key) {
  kdl_link_key *key = out_key;
  *key = (kdl_link_key){.text = NULL};
  if (!kdl_linker_path(key->linker))
    return kdl_fail(KDL_UNSUPPORTED, "kdl-ld not found: it links bitcode into an image");
  kdl_status status = kdl_container_bytes_to_run(task->lib->container, task->image, &key->caller,
                                                 &key->caller_size);
  if (status != KDL_OK)
    return status;
  print_device(task->runtime, key->device);
  FILE *out = open_memstream(&key->text, &key->length);
  if (!out)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  status = print_all(out, task, key);
  if (fclose(out) != 0 && status == KDL_OK)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory");
  return status;
}

void kdl_link_key_free(kdl_link_key *key) {
  free(key->text);
  key->text = NULL;
}
