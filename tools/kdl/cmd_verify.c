/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl verify: what can be checked without a device, beyond what opening checks. */
#include "base/error.h"
#include "command.h"
#include "image/image.h"
#include "input.h"
#include "kinds.h"
#include "names.h"
#include "report.h"
#include "rewrite.h"
#include "text.h"
#include "verify_target.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { prefix_length = sizeof CLI_KERNEL_PREFIX - 1 };

/* What is known of one image once it was looked at. */
typedef struct {
  kdl_image_info info;
  cli_names kernels;
  bool kernels_known;
  const void *data;
  size_t size;
} subject;

typedef struct {
  const cli_input *input;
  subject *images;
  size_t count;
  size_t errors;
  size_t warnings;
  bool verbose;
} verification;

typedef enum { LEVEL_ERROR, LEVEL_WARNING, LEVEL_NOTE } level;

static void report(verification *verify, level how_bad, size_t index, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void report(verification *verify, level how_bad, size_t index, const char *format, ...) {
  static const struct {
    const char *name, *colour;
  } levels[] = {{"error", "\033[1;31m"}, {"warning", "\033[1;35m"}, {"note", "\033[1;36m"}};
  verify->errors += how_bad == LEVEL_ERROR;
  verify->warnings += how_bad == LEVEL_WARNING;
  char story[2048];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(story, sizeof story, format, args);
  va_end(args);
  bool coloured = cli_stream_has_colour(stdout);
  cli_text_print((kdl_string){verify->input->name, strlen(verify->input->name)}, "");
  printf(": image %zu: %s%s:%s ", index, coloured ? levels[how_bad].colour : "",
         levels[how_bad].name, coloured ? "\033[0m" : "");
  size_t shown = length < 0                       ? 0
                 : (size_t)length >= sizeof story ? sizeof story - 1
                                                  : (size_t)length;
  cli_text_print((kdl_string){story, shown}, "\n");
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static kdl_image_kind sniff(const subject *image) {
  return kdl_image_sniff(image->data, image->size < KDL_SNIFF_SIZE ? image->size : KDL_SNIFF_SIZE);
}

static void check_kind(verification *verify, const subject *image) {
  uint16_t declared = image->info.declared_kind;
  if (!cli_image_format(&image->info) || declared == 0)
    return; /* 0 is what LLVM writes for kinds it has no number for */
  kdl_image_kind kind = sniff(image);
  if (kdl_llvm_image_kind(kind) != declared)
    report(verify, LEVEL_WARNING, image->info.index,
           "the header declares image kind %u (%s), the bytes are %s", declared,
           *cli_declared_kind_name(declared) ? cli_declared_kind_name(declared) : "no known kind",
           kind == KDL_IMAGE_UNKNOWN ? "of no known kind" : kdl_image_kind_name(kind));
}

static void check_target(verification *verify, const subject *image) {
  kdl_image_target target;
  kdl_image_kind kind = sniff(image);
  kdl_status status = kdl_image_read_target(kind, image->data, image->size, &target);
  if (status == KDL_UNSUPPORTED)
    return;
  if (status != KDL_OK) {
    report(verify, LEVEL_ERROR, image->info.index, "damaged %s: %s", kdl_image_kind_name(kind),
           kdl_error_message());
    return;
  }
  char reason[256];
  if (cli_target_contradicts(kind, image->info.triple.data, image->info.arch.data, &target, reason,
                             sizeof reason))
    report(verify, LEVEL_ERROR, image->info.index, "%s", reason);
}

static kdl_string indexed_name(const kdl_pair *pair) {
  if (pair->key.length <= prefix_length ||
      memcmp(pair->key.data, CLI_KERNEL_PREFIX, prefix_length) != 0)
    return (kdl_string){"", 0};
  return (kdl_string){pair->key.data + prefix_length, pair->key.length - prefix_length};
}

/* Where there is an index it is believed, so it must be whole. */
static void check_index(verification *verify, const subject *image) {
  cli_names indexed = {.count = 0};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    kdl_string name = indexed_name(&image->info.pairs[i]);
    if (!name.length)
      continue;
    cli_names_add(&indexed, name.data, name.length);
    if (!cli_names_has(&image->kernels, name))
      report(verify, LEVEL_ERROR, image->info.index,
             "the key " CLI_KERNEL_PREFIX "%s names a kernel the image does not define", name.data);
  }
  for (size_t i = 0; indexed.count && i < image->kernels.count; ++i) {
    if (!cli_names_has(&indexed, image->kernels.items[i]))
      report(verify, LEVEL_WARNING, image->info.index,
             "it defines the kernel %s, which its index leaves out", image->kernels.items[i].data);
  }
  cli_names_free(&indexed);
}

static void check_kernels(verification *verify, subject *image) {
  kdl_status status = cli_names_read_kernels(image->data, image->size, &image->kernels);
  image->kernels_known = status == KDL_OK;
  if (status == KDL_OK)
    check_index(verify, image);
  else if (status != KDL_UNSUPPORTED)
    report(verify, LEVEL_ERROR, image->info.index, "kernel names cannot be read: %s",
           kdl_error_message());
}

static void check_pairs(verification *verify, const subject *image) {
  cli_names keys = {.count = 0};
  for (size_t i = 0; i < image->info.pair_count; ++i) {
    const kdl_string *key = &image->info.pairs[i].key;
    if (cli_names_has(&keys, *key))
      report(verify, LEVEL_WARNING, image->info.index,
             "the key '%s' is there twice; the last counts", key->data);
    cli_names_add(&keys, key->data, key->length);
  }
  cli_names_free(&keys);
  if (cli_image_format(&image->info) && !image->info.triple.length)
    report(verify, LEVEL_WARNING, image->info.index,
           "it has no triple: no loader can tell its device");
}

static void check_image(verification *verify, subject *image) {
  check_pairs(verify, image);
  kdl_status status =
      kdl_image_bytes(verify->input->lib, image->info.index, &image->data, &image->size);
  if (status != KDL_OK) { /* what is valid but cannot be read here is no fault of the file */
    report(verify, status == KDL_UNSUPPORTED ? LEVEL_WARNING : LEVEL_ERROR, image->info.index,
           "its bytes cannot be had: %s", kdl_error_message());
    return;
  }
  bool metadata_only = cli_image_format(&image->info) > 1 && (image->info.flags & 1);
  if (image->size == 0) {
    if (!metadata_only)
      report(verify, LEVEL_WARNING, image->info.index, "it has no bytes");
    return;
  }
  if (verify->verbose && (uintptr_t)image->data % 8)
    report(verify, LEVEL_NOTE, image->info.index,
           "it is not aligned to 8 bytes; a loader that needs that copies it");
  check_kind(verify, image);
  check_target(verify, image);
  check_kernels(verify, image);
}

/* ------------------------------------------------------------------------------------------ */
/* Images beside one another                                                                    */

/* Objects and archives carry one image per translation unit, all for one target, which a linker
 * joins; in an OffloadBinary file such images are rivals. */
static bool is_rival(const subject *image) {
  return image->info.parent == KDL_NO_PARENT && cli_image_format(&image->info) &&
         !strstr(image->info.container.data, " in ");
}

static kdl_string value_of(const kdl_image_info *info, const char *key) {
  size_t length = strlen(key);
  for (size_t i = info->pair_count; i-- > 0;) {
    if (info->pairs[i].key.length == length && memcmp(info->pairs[i].key.data, key, length) == 0)
      return info->pairs[i].value;
  }
  return (kdl_string){"", 0};
}

static int compare_targets(const subject *a, const subject *b) {
  int order = strcmp(a->info.triple.data, b->info.triple.data);
  if (!order)
    order = strcmp(a->info.arch.data, b->info.arch.data);
  if (!order)
    order = (a->info.offload_kind > b->info.offload_kind) -
            (a->info.offload_kind < b->info.offload_kind);
  if (!order) /* PTX beside the machine code made from it is a pair, not a doublet */
    order = (a->info.kind > b->info.kind) - (a->info.kind < b->info.kind);
  if (!order)
    order = strcmp(value_of(&a->info, "variant_tag").data, value_of(&b->info, "variant_tag").data);
  return order;
}

static int compare_subjects(const void *left, const void *right) {
  const subject *a = *(const subject *const *)left;
  const subject *b = *(const subject *const *)right;
  int order = compare_targets(a, b);
  return order ? order : (a->info.index > b->info.index) - (a->info.index < b->info.index);
}

static const subject *first_with(const subject *const *group, kdl_string kernel) {
  while (!cli_names_has(&(*group)->kernels, kernel))
    ++group;
  return *group;
}

/* Reports each image of a group that has a kernel one before it has; `seen` are theirs. */
static void check_rival(verification *verify, const subject *const *group, const subject *image,
                        cli_names *seen) {
  bool reported = false;
  for (size_t i = 0; i < image->kernels.count; ++i) {
    kdl_string kernel = image->kernels.items[i];
    if (!reported && cli_names_has(seen, kernel)) {
      report(verify, LEVEL_WARNING, image->info.index,
             "image %zu has the same triple, arch, kinds and variant_tag and also defines %s: only "
             "the order of the file tells them apart",
             first_with(group, kernel)->info.index, kernel.data);
      reported = true;
    }
    cli_names_add(seen, kernel.data, kernel.length);
  }
}

static void check_group(verification *verify, const subject *const *group, size_t count) {
  cli_names seen = {.count = 0};
  const subject *opaque = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (group[i]->kernels_known)
      check_rival(verify, group, group[i], &seen);
    else if (opaque)
      report(verify, LEVEL_WARNING, group[i]->info.index,
             "image %zu has the same triple, arch, kinds and variant_tag, and neither tells its "
             "kernels",
             opaque->info.index);
    else
      opaque = group[i];
  }
  cli_names_free(&seen);
}

static kdl_status check_rivals(verification *verify) {
  const subject **rivals = calloc(verify->count + 1, sizeof *rivals);
  if (!rivals)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", verify->input->name);
  size_t count = 0;
  for (size_t i = 0; i < verify->count; ++i) {
    if (is_rival(&verify->images[i]))
      rivals[count++] = &verify->images[i];
  }
  qsort(rivals, count, sizeof *rivals, compare_subjects);
  for (size_t start = 0, end; start < count; start = end) {
    for (end = start + 1; end < count && compare_targets(rivals[start], rivals[end]) == 0; ++end)
      continue;
    check_group(verify, rivals + start, end - start);
  }
  free(rivals);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status check_all(verification *verify) {
  verify->count = kdl_image_count(verify->input->lib);
  verify->images = calloc(verify->count + 1, sizeof *verify->images);
  if (!verify->images)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", verify->input->name);
  for (size_t i = 0; i < verify->count; ++i) {
    subject *image = &verify->images[i];
    image->info.size = sizeof image->info;
    kdl_status status = kdl_image_get(verify->input->lib, i, &image->info);
    if (status != KDL_OK)
      return status;
    check_image(verify, image);
  }
  return check_rivals(verify);
}

static int verify_file(const char *path, bool verbose) {
  cli_input input;
  kdl_status status = cli_input_open(path, &input);
  if (status != KDL_OK)
    return cli_finish(status);
  verification verify = {.input = &input, .verbose = verbose};
  status = check_all(&verify);
  if (status == KDL_OK) {
    cli_text_print((kdl_string){input.name, strlen(input.name)}, "");
    printf(": %zu image%s, %zu error%s, %zu warning%s\n", verify.count,
           verify.count == 1 ? "" : "s", verify.errors, verify.errors == 1 ? "" : "s",
           verify.warnings, verify.warnings == 1 ? "" : "s");
  }
  for (size_t i = 0; verify.images && i < verify.count; ++i)
    cli_names_free(&verify.images[i].kernels);
  free(verify.images);
  int code = cli_finish(status);
  cli_input_close(&input);
  return verify.errors ? CLI_EXIT_BAD_FILE : code;
}

static int run(const cli_args *args) {
  int worst = CLI_EXIT_FINE;
  for (size_t i = 0; i < args->operand_count; ++i) {
    int code = verify_file(args->operands[i], cli_args_has(args, "verbose"));
    worst = code > worst ? code : worst;
  }
  return worst;
}

static const cli_option options[] = {
    {"verbose", 'v', CLI_FLAG, NULL, "also print notes"},
    {.name = NULL},
};

const cli_command cli_command_verify = {
    .name = "verify",
    .usage = "kdl verify [--verbose] FILE...",
    .summary = "check every image of a file against its metadata",
    .details = "Errors: a damaged image or stream, triple or arch that contradict the image, an "
               "index that names kernels it lacks. Warnings: bytes that this build cannot unpack, "
               "a wrong image kind, repeated keys, no triple, an index with gaps, images that only "
               "their order tells apart. Warnings leave the exit code at 0.",
    .options = options,
    .min_operands = 1,
    .max_operands = CLI_ANY,
    .run = run,
};
