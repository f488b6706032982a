/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens a saved sequence: finds and binds its kernels as kdl_sym does, and records its calls again
 * for the selected images. */
#include "lib/binding/variants.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/sequences.h"
#include "lib/sequence/sequence.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_library *lib; /* contains the sequence */
  kdl_device *device;
  kdl_sequence_open_opts opts;
  kdl_seqfile saved;
  kdl_kernel **kernels; /* in the order of the file; retained by the recording */
  kdl_sequence *sequence;
} opening;

/* ------------------------------------------------------------------------------------------ */
/* The image                                                                                    */

static kdl_string sequence_image_name(const kdl_image *image) {
  const kdl_pair *pairs = kdl_image_pairs(image);
  const kdl_string *name =
      pairs ? kdl_find_value(pairs, image->pair_count, KDL_SEQUENCE_KEY) : NULL;
  return name ? *name : (kdl_string){"", 0};
}

/* "a", "b", ...: as many as fit. */
static void list_names(const kdl_container *container, kdl_out *out) {
  const char *before = "";
  for (uint32_t i = 0; i < container->count; ++i) {
    if (container->images[i].kind != KDL_IMAGE_SEQUENCE)
      continue;
    kdl_out_format(out, "%s\"%.64s\"", before, sequence_image_name(&container->images[i]).data);
    before = ", ";
  }
}

/* The sequence of that name, or the only one. */
static kdl_status find_sequence_image(const kdl_container *container, const char *name,
                                      uint32_t *out_index) {
  uint32_t count = 0, matches = 0;
  for (uint32_t i = 0; i < container->count; ++i) {
    if (container->images[i].kind != KDL_IMAGE_SEQUENCE)
      continue;
    ++count;
    if (name && !kdl_text_is(sequence_image_name(&container->images[i]), name))
      continue;
    if (matches++ == 0)
      *out_index = i;
  }
  if (matches == 1)
    return KDL_OK;
  if (count == 0)
    return kdl_fail(KDL_NO_MATCH, "found no recorded sequence, expected one");
  char words[512] = "";
  list_names(container, &(kdl_out){words, sizeof words, 0});
  if (name)
    return kdl_fail(KDL_NO_MATCH,
                    "found %" PRIu32 " sequences called \"%.64s\" among %s, expected "
                    "one",
                    matches, name, words);
  return kdl_fail(KDL_BAD_CALL, "found %" PRIu32 " sequences, expected the name of one: %s", count,
                  words);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static kdl_library *library_at(const opening *job, size_t index) {
  return index == 0 ? job->lib : job->opts.libraries[index - 1];
}

/* The library that has the kernel: the file itself, else the first of the given libraries; NULL,
 * which means those opened with KDL_OPEN_GLOBAL, where none has. */
static kdl_status find_library(const opening *job, kdl_string name, kdl_library **out_lib) {
  *out_lib = NULL;
  for (size_t i = 0; i <= job->opts.library_count && !*out_lib; ++i) {
    kdl_library *lib = library_at(job, i);
    if (!lib)
      return kdl_fail(KDL_BAD_CALL, "opts.libraries[%zu] is NULL, expected a library", i - 1);
    if (kdl_catalog_any_has_kernel(lib->catalog, name))
      *out_lib = lib;
  }
  return KDL_OK;
}

/* Compares the image's parameters with the recorded ones, as far as both are known. */
static kdl_status check_recorded_signature(const kdl_seqfile_kernel *saved,
                                           const kdl_kernel *kernel) {
  kdl_string has = {"", 0};
  if (kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG))
    has = kernel->key.sig;
  kdl_kernel_key recorded = {.sig = saved->sig, .param_count = saved->param_count};
  if (saved->sig.length)
    recorded.present |= 1u << KDL_KERNEL_SIG;
  if (saved->rev != KDL_SEQFILE_UNKNOWN) {
    recorded.present |= 1u << KDL_KERNEL_REV;
    recorded.rev = saved->rev;
  }
  unsigned image = kdl_kernel_image(kernel);
  if (!kdl_kernel_is_variant(&recorded, &kernel->key))
    return kdl_fail(KDL_NO_MATCH,
                    "image %u of %s: found the signature (%.*s) of revision %u, expected (%.*s) of "
                    "revision %u, with which it was recorded",
                    image, kernel->lib->container->name, (int)has.length, has.data, kernel->key.rev,
                    (int)saved->sig.length, saved->sig.data, recorded.rev);
  if (saved->param_count == KDL_SEQFILE_UNKNOWN || kernel->param_count < 0)
    return KDL_OK;
  if (saved->param_count != (uint64_t)kernel->param_count)
    return kdl_fail(KDL_NO_MATCH,
                    "image %u of %s: found %" PRId64 " parameters, expected %" PRIu32
                    ", with which it was recorded",
                    image, kernel->lib->container->name, kernel->param_count, saved->param_count);
  for (uint32_t i = 0; i < saved->param_count; ++i) {
    uint32_t found = kernel->param_sizes[i], expected = saved->param_sizes[i];
    if (found && expected && found != expected)
      return kdl_fail(KDL_NO_MATCH,
                      "image %u of %s: found %" PRIu32 " bytes of parameter %" PRIu32
                      ", expected %" PRIu32 ", with which it was recorded",
                      image, kernel->lib->container->name, found, i, expected);
  }
  return KDL_OK;
}

static kdl_status resolve_kernel(const opening *job, const kdl_seqfile_kernel *saved,
                                 kdl_kernel **out_kernel) {
  kdl_library *lib = NULL;
  kdl_kernel *kernel = NULL;
  kdl_select_opts opts = {.size = sizeof opts};
  kdl_status status = kdl_select_opts_read(job->opts.select, &opts);
  opts.constants = saved->constants;
  opts.constant_count = saved->constant_count;
  if (status == KDL_OK)
    status = find_library(job, saved->name, &lib);
  if (status == KDL_OK)
    status = kdl_sym(lib, job->device, saved->name.data, &opts, &kernel);
  if (status == KDL_NO_MATCH && !lib)
    status = kdl_fail(KDL_NO_MATCH,
                      "found in none of %zu libraries, and in none that was opened with "
                      "KDL_OPEN_GLOBAL",
                      job->opts.library_count + 1);
  if (status == KDL_OK)
    status = kdl_kernel_bind_general(&kernel);
  if (status == KDL_OK)
    status = check_recorded_signature(saved, kernel);
  if (status != KDL_OK)
    kdl_error_prefix("kernel %.256s%s%.256s%s", saved->name.data,
                     saved->library.length ? " (of " : "", saved->library.data,
                     saved->library.length ? ")" : "");
  else
    *out_kernel = kernel;
  return status;
}

/* Runs before the sequence is created, because the first kernel may decide the route of the
 * device. */
static kdl_status resolve_kernels(opening *job) {
  job->kernels = calloc((size_t)job->saved.kernel_count + 1, sizeof(kdl_kernel *));
  if (!job->kernels)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a sequence");
  for (uint32_t i = 0; i < job->saved.kernel_count; ++i)
    KDL_TRY(resolve_kernel(job, &job->saved.kernels[i], &job->kernels[i]));
  return KDL_OK;
}

/* The best device for the first kernel. */
static kdl_status resolve_device(opening *job) {
  kdl_library *lib;
  if (job->device)
    return KDL_OK;
  if (job->saved.kernel_count == 0)
    return kdl_device_find("host", &job->device);
  kdl_string name = job->saved.kernels[0].name;
  kdl_status status = find_library(job, name, &lib);
  if (status == KDL_OK && !lib)
    status = kdl_fail(KDL_NO_MATCH,
                      "kernel %.256s: found in none of %zu libraries, expected one that tells the "
                      "device, or to be given a device",
                      name.data, job->opts.library_count + 1);
  return status == KDL_OK ? kdl_device_for(lib, name.data, job->opts.select, &job->device) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Recording                                                                                    */

static kdl_status record_slots(opening *job) {
  kdl_slot slot;
  for (uint32_t i = 0; i < job->saved.slot_count; ++i) {
    const kdl_seqfile_slot *saved = &job->saved.slots[i];
    const kdl_slot_desc desc = {sizeof desc, saved->name.data, saved->kind, 0, saved->bytes};
    KDL_TRY(kdl_sequence_add_slot(job->sequence, &desc, &slot));
  }
  return KDL_OK;
}

static bool is_extent_set(const uint32_t extent[3]) {
  return extent[0] != 0;
}

/* An explicit grid is valid only with the recorded block and tile. */
static kdl_status check_grid(const kdl_seqfile_kernel *saved, const kdl_kernel *kernel) {
  const uint32_t *a = saved->block, *b = kernel->block, *c = saved->tile, *d = kernel->tile;
  bool same = (!is_extent_set(a) || !is_extent_set(b) || memcmp(a, b, sizeof saved->block) == 0) &&
              (!is_extent_set(c) || !is_extent_set(d) || memcmp(c, d, sizeof saved->tile) == 0);
  if (same)
    return KDL_OK;
  return kdl_fail(KDL_NO_MATCH,
                  "image %u of %s: found block=%ux%ux%u tile=%ux%ux%u, expected block=%ux%ux%u "
                  "tile=%ux%ux%u, for which the grid was recorded; kdl_sequence_launch_items "
                  "records what fits any",
                  (unsigned)kdl_kernel_image(kernel), kernel->lib->container->name, b[0], b[1],
                  b[2], d[0], d[1], d[2], a[0], a[1], a[2], c[0], c[1], c[2]);
}

static kdl_status record_saved_launch(const opening *job, const kdl_seqfile_launch *launch) {
  kdl_kernel *kernel = job->kernels[launch->kernel];
  if (launch->items.kind)
    return kdl_sequence_launch_items(job->sequence, kernel, launch->items, launch->args,
                                     launch->arg_count);
  kdl_status status = check_grid(&job->saved.kernels[launch->kernel], kernel);
  if (status != KDL_OK) {
    kdl_error_prefix("%s", kernel->name);
    return status;
  }
  return kdl_sequence_launch(job->sequence, kernel, &launch->desc, launch->args, launch->arg_count);
}

static kdl_status record_step(const opening *job, const kdl_seqfile_step *step) {
  kdl_sequence *sequence = job->sequence;
  const kdl_seqfile_copy *copy = step->of.copy;
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
    return record_saved_launch(job, step->of.launch);
  case KDL_STEP_COPY:
    return kdl_sequence_copy(sequence, copy->to, copy->from, copy->bytes);
  case KDL_STEP_FILL:
    return kdl_sequence_fill(sequence, copy->to, copy->bytes, copy->pattern, copy->pattern_size);
  case KDL_STEP_FORK:
    return kdl_sequence_fork(sequence);
  case KDL_STEP_BRANCH:
    return kdl_sequence_branch(sequence);
  case KDL_STEP_JOIN:
    return kdl_sequence_join(sequence);
  case KDL_STEP_WHILE:
    return kdl_sequence_while(sequence, *step->of.condition);
  case KDL_STEP_END:
    break;
  }
  return kdl_sequence_end_while(sequence);
}

static kdl_status record_saved(opening *job) {
  kdl_status status = kdl_sequence_create(job->device, &job->sequence);
  if (status == KDL_OK)
    status = record_slots(job);
  for (uint32_t i = 0; i < job->saved.step_count && status == KDL_OK; ++i) {
    status = record_step(job, &job->saved.steps[i]);
    if (status != KDL_OK)
      kdl_error_prefix("step %" PRIu32, i);
  }
  return status == KDL_OK ? kdl_sequence_finish(job->sequence) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

static kdl_status open_saved(opening *job) {
  kdl_status status = resolve_device(job);
  if (status == KDL_OK)
    status = resolve_kernels(job);
  return status == KDL_OK ? record_saved(job) : status;
}

static kdl_status open_sequence_image(opening *job, uint32_t index) {
  kdl_container *container = job->lib->container;
  const void *data;
  size_t size;
  kdl_status status = kdl_container_verified_bytes(container, index, &data, &size);
  if (status == KDL_OK)
    status = kdl_seqfile_read(data, size, &job->saved);
  if (status != KDL_OK)
    kdl_error_prefix("image %" PRIu32, index);
  if (status == KDL_OK)
    status = open_saved(job);
  kdl_seqfile_free(&job->saved);
  return status;
}

static kdl_status read_sequence_opts(const kdl_sequence_open_opts *given,
                                     kdl_sequence_open_opts *out) {
  const kdl_sized what = {"kdl_sequence_open", "opts", sizeof *out, sizeof *out};
  *out = (kdl_sequence_open_opts){.size = sizeof *out};
  KDL_TRY(given ? kdl_sized_read(what, given, out) : KDL_OK);
  if (out->library_count && !out->libraries)
    return kdl_fail_null("kdl_sequence_open", "opts->libraries");
  return KDL_OK;
}

kdl_status kdl_sequence_open(kdl_library *lib, kdl_device *device,
                             const kdl_sequence_open_opts *opts, kdl_sequence **out_sequence) {
  KDL_NOT_CANCELLED;
  opening job = {.lib = lib, .device = device};
  uint32_t index = 0;
  kdl_status status = KDL_GIVEN(lib, out_sequence);
  if (status == KDL_OK)
    status = read_sequence_opts(opts, &job.opts);
  if (status != KDL_OK)
    return status;
  status = find_sequence_image(lib->container, job.opts.name, &index);
  if (status == KDL_OK)
    status = open_sequence_image(&job, index);
  free(job.kernels);
  if (status == KDL_OK) {
    *out_sequence = job.sequence;
    return KDL_OK;
  }
  kdl_error_prefix("%s: %s", __func__, lib->container->name);
  kdl_sequence_destroy(job.sequence);
  return status;
}
