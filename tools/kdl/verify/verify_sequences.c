/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recorded sequences: whether they can be read, and whether the file has their kernels. */
#include "lib/inspect/metadata.h"
#include "support/base/text.h"
#include "tools/common/images/name_set.h"
#include "tools/common/images/sequences.h"
#include "tools/kdl/verify/verify.h"

#include <stdlib.h>
#include <string.h>

void cli_verify_sequence(cli_verification *verify, const cli_verified_image *image) {
  kdl_seqfile saved;
  kdl_status status = cli_verify_read(kdl_seqfile_read(image->data, image->size, &saved));
  if (status == KDL_OK)
    kdl_seqfile_free(&saved);
  else if (status == KDL_UNSUPPORTED)
    cli_verify_report(verify, CLI_LEVEL_WARNING, image->info.index, "it cannot be read: %s",
                      kdl_error_message());
  else
    cli_verify_report(verify, CLI_LEVEL_ERROR, image->info.index, "damaged sequence: %s",
                      kdl_error_message());
}

static int compare_kernels(const void *left, const void *right) {
  const kdl_seqfile_kernel *const *a = left, *const *b = right;
  return strcmp((*a)->name.data, (*b)->name.data);
}

/* The kernels of a sequence sorted by name, so that each key of the file is looked up once. */
typedef struct {
  const kdl_seqfile_kernel **sorted;
  size_t count;
} kernel_list;

static kernel_list list_kernels(const kdl_seqfile *saved) {
  kernel_list list = {xcalloc(saved->kernel_count, sizeof(void *)), saved->kernel_count};
  for (uint32_t i = 0; i < saved->kernel_count; ++i)
    list.sorted[i] = &saved->kernels[i];
  qsort(list.sorted, list.count, sizeof(void *), compare_kernels);
  return list;
}

/* The first of that name; others of the same name follow. */
static size_t find_listed_kernel(const kernel_list *list, const char *name) {
  size_t low = 0, high = list->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(list->sorted[middle]->name.data, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Checks that an image's key for a kernel matches the recording. */
static void check_key(cli_verification *verify, size_t sequence, const kdl_seqfile_kernel *kernel,
                      size_t image, kdl_string value) {
  kdl_kernel_key key, recorded = {.sig = kernel->sig, .param_count = kernel->param_count};
  recorded.present = (kernel->sig.length ? 1u << KDL_KERNEL_SIG : 0) |
                     (kernel->rev != KDL_SEQFILE_UNKNOWN ? 1u << KDL_KERNEL_REV : 0);
  recorded.rev = kernel->rev;
  if (kdl_kernel_parse(value, &key, NULL) && !kdl_kernel_is_variant(&recorded, &key))
    cli_verify_report(verify, CLI_LEVEL_ERROR, sequence,
                      "it was recorded with another %.256s than image %zu has: sig=%.*s",
                      kernel->name.data, image,
                      (int)(kernel->sig.length < 512 ? kernel->sig.length : 512), kernel->sig.data);
}

/* A name may occur several times, with different constants; checking one is enough. */
static void check_keys(cli_verification *verify, size_t sequence, const kernel_list *list) {
  for (size_t i = 0; i < verify->count; ++i) {
    const kdl_image_info *image = &verify->images[i].info;
    for (size_t k = 0; k < image->pair_count; ++k) {
      const kdl_pair *pair = &image->pairs[k];
      kdl_string name;
      if (!kdl_kernel_name(pair->key, &name))
        continue;
      size_t at = find_listed_kernel(list, name.data);
      if (at < list->count && strcmp(list->sorted[at]->name.data, name.data) == 0)
        check_key(verify, sequence, list->sorted[at], image->index, pair->value);
    }
  }
}

static void check_held(cli_verification *verify, size_t sequence, const cli_name_set *held,
                       const kernel_list *list) {
  cli_level level = held->count ? CLI_LEVEL_WARNING : CLI_LEVEL_NOTE;
  for (size_t i = 0; (held->count || verify->verbose) && i < list->count; ++i) {
    if (!cli_name_set_has(held, list->sorted[i]->name))
      cli_verify_report(verify, level, sequence,
                        "no image of this file holds the kernel %.256s, which it launches",
                        list->sorted[i]->name.data);
  }
}

static void check_sequence(cli_verification *verify, const cli_sequence *sequence,
                           const cli_name_set *held, cli_name_set *names) {
  kernel_list list = list_kernels(&sequence->saved);
  if (cli_name_set_has(names, sequence->name))
    cli_verify_report(verify, CLI_LEVEL_WARNING, sequence->image,
                      "another sequence of this file is called %.256s too", sequence->name.data);
  cli_name_set_add(names, sequence->name.data, sequence->name.length);
  check_held(verify, sequence->image, held, &list);
  check_keys(verify, sequence->image, &list);
  free(list.sorted);
}

void cli_verify_sequences(cli_verification *verify) {
  cli_name_set names = {.count = 0}, held = {.count = 0};
  size_t first = 0;
  if (!cli_sequence_next(verify->input->lib, &first))
    return;
  for (size_t i = 0; i < verify->count; ++i) {
    const cli_name_set *kernels = &verify->images[i].kernels;
    for (size_t k = 0; k < kernels->count; ++k)
      cli_name_set_add(&held, kernels->items[k].data, kernels->items[k].length);
  }
  for (size_t i = first; cli_sequence_next(verify->input->lib, &i); ++i) {
    cli_sequence sequence;
    if (cli_verify_read(cli_sequence_read(verify->input->lib, i, &sequence)) != KDL_OK)
      continue; /* reported by cli_verify_sequence */
    check_sequence(verify, &sequence, &held, &names);
    cli_sequence_free(&sequence);
  }
  cli_name_set_free(&names);
  cli_name_set_free(&held);
}
