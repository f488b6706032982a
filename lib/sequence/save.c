/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Saves a finished sequence: its recording, and the images of its kernels. */
#include "lib/container/writer.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/sequences.h"
#include "lib/sequence/sequence.h"
#include "support/base/array.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of the recording, and its number in the file. */
typedef struct {
  kdl_kernel *kernel;
  uint32_t node; /* the first node that launches it */
  uint32_t number;
} numbered;

typedef struct {
  const kdl_recording *recording;
  kdl_sequence_save_opts opts;
  kdl_seqfile saved;
  numbered *kernels; /* sorted by address */
  size_t kernel_count;
  void *data; /* the serialized sequence */
  size_t data_size;
  kdl_image_ref *carried; /* images to write */
  size_t carried_count, carried_capacity;
  kdl_writer *writer;
} saving;

static kdl_status save_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for the file of a sequence");
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static int compare_by_address(const void *left, const void *right) {
  const numbered *a = left, *b = right;
  uintptr_t x = (uintptr_t)a->kernel, y = (uintptr_t)b->kernel;
  return x != y ? (x > y) - (x < y) : (a->node > b->node) - (a->node < b->node);
}

static int compare_by_node(const void *left, const void *right) {
  const numbered *a = left, *b = right;
  return (a->node > b->node) - (a->node < b->node);
}

/* Numbers each kernel once, in the order of first launches. */
static kdl_status number_kernels(saving *job) {
  const kdl_recording *recording = job->recording;
  numbered *found = malloc((recording->launch_count + 1) * sizeof *found);
  size_t count = 0, kept = 0;
  if (!found)
    return save_no_memory();
  job->kernels = found;
  for (size_t i = 0; i < recording->node_count; ++i) {
    if (recording->nodes[i].kind == KDL_NODE_LAUNCH)
      found[count++] = (numbered){recording->nodes[i].of.launch.kernel, (uint32_t)i, 0};
  }
  qsort(found, count, sizeof *found, compare_by_address);
  for (size_t i = 0; i < count; ++i) {
    if (kept == 0 || found[kept - 1].kernel != found[i].kernel)
      found[kept++] = found[i];
  }
  qsort(found, kept, sizeof *found, compare_by_node);
  for (size_t i = 0; i < kept; ++i)
    found[i].number = (uint32_t)i;
  job->kernel_count = kept;
  return KDL_OK;
}

static uint32_t kernel_number(const saving *job, const kdl_kernel *kernel) {
  size_t low = 0, high = job->kernel_count;
  while (low + 1 < high) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)job->kernels[middle].kernel <= (uintptr_t)kernel)
      low = middle;
    else
      high = middle;
  }
  return job->kernels[low].number;
}

/* kernel->constants is lines `const NAME=VALUE`. */
static kdl_status save_constants(saving *job, const char *text, kdl_seqfile_kernel *out) {
  static const char word[] = "const ";
  uint32_t count = 0;
  for (const char *at = text; (at = strchr(at, '\n')); ++at)
    ++count;
  kdl_constant *constants = kdl_arena_alloc(&job->saved.memory, count * sizeof *constants);
  if (!constants)
    return save_no_memory();
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = text + sizeof word - 1, *equals = strchr(name, '=');
    const char *save_end = strchr(equals, '\n');
    constants[i].name = kdl_arena_string(&job->saved.memory, name, (size_t)(equals - name)).data;
    constants[i].value =
        kdl_arena_string(&job->saved.memory, equals + 1, (size_t)(save_end - equals - 1)).data;
    if (!constants[i].name || !constants[i].value)
      return save_no_memory();
    text = save_end + 1;
  }
  out->constants = constants;
  out->constant_count = count;
  return KDL_OK;
}

static kdl_string base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return kdl_text_of(slash ? slash + 1 : path);
}

static kdl_status save_kernel(saving *job, const kdl_kernel *kernel, kdl_seqfile_kernel *out) {
  bool has_sig = kdl_kernel_has(&kernel->key, KDL_KERNEL_SIG);
  bool is_known = kernel->param_count >= 0;
  *out = (kdl_seqfile_kernel){
      .name = kdl_text_of(kernel->name),
      .library = base_name(kernel->lib->container->name),
      .sig = has_sig ? kernel->key.sig : (kdl_string){"", 0},
      .rev = kdl_kernel_has(&kernel->key, KDL_KERNEL_REV) ? kernel->key.rev : KDL_SEQFILE_UNKNOWN,
      .param_count = is_known ? (uint32_t)kernel->param_count : KDL_SEQFILE_UNKNOWN,
      .param_sizes = kernel->param_sizes,
  };
  memcpy(out->block, kernel->block, sizeof out->block);
  memcpy(out->tile, kernel->tile, sizeof out->tile);
  if (out->name.length > KDL_SEQFILE_KERNEL_NAME || out->library.length > KDL_SEQFILE_KERNEL_NAME ||
      out->sig.length > KDL_SEQFILE_KERNEL_NAME)
    return kdl_fail(KDL_BAD_CALL, "%.64s: found more than %d bytes of name or signature",
                    kernel->name, KDL_SEQFILE_KERNEL_NAME);
  return kernel->constants ? save_constants(job, kernel->constants, out) : KDL_OK;
}

static kdl_status save_kernels(saving *job) {
  kdl_status status = number_kernels(job);
  if (status != KDL_OK)
    return status;
  job->saved.kernels =
      kdl_arena_alloc(&job->saved.memory, job->kernel_count * sizeof *job->saved.kernels);
  if (!job->saved.kernels)
    return save_no_memory();
  for (size_t i = 0; i < job->kernel_count && status == KDL_OK; ++i)
    status = save_kernel(job, job->kernels[i].kernel, &job->saved.kernels[i]);
  job->saved.kernel_count = (uint32_t)job->kernel_count;
  qsort(job->kernels, job->kernel_count, sizeof *job->kernels, compare_by_address);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Slots and steps                                                                              */

static kdl_status save_slots(saving *job) {
  const kdl_recording *recording = job->recording;
  kdl_seqfile_slot *slots =
      kdl_arena_alloc(&job->saved.memory, recording->slot_count * sizeof *slots);
  if (!slots)
    return save_no_memory();
  for (size_t i = 0; i < recording->slot_count; ++i) {
    const kdl_recorded_slot *slot = &recording->slots[i];
    slots[i] = (kdl_seqfile_slot){kdl_text_of(slot->name), slot->kind, slot->bytes};
    if (slots[i].name.length > KDL_SEQFILE_SLOT_NAME)
      return kdl_fail(KDL_BAD_CALL, "slot %zu: found a name of %zu bytes, expected at most %d",
                      i + 1, slots[i].name.length, KDL_SEQFILE_SLOT_NAME);
  }
  job->saved.slots = slots;
  job->saved.slot_count = (uint32_t)recording->slot_count;
  return KDL_OK;
}

/* Addresses have no meaning in another process. */
static kdl_status fail_not_portable(const char *what) {
  return kdl_fail(KDL_UNSUPPORTED, "found %s, which a file cannot carry, expected a slot", what);
}

static kdl_status check_memory_is_slot(const kdl_operand *operand) {
  if (operand->kind == KDL_OPERAND_SLOT)
    return KDL_OK;
  return fail_not_portable(operand->kind == KDL_OPERAND_HOST ? "memory of the host" : "a buffer");
}

/* Whether a parameter is a pointer by the signature, so that a number for it is an address. */
static bool is_pointer_param(kdl_string sig, size_t index) {
  kdl_param param;
  size_t at = 0;
  for (size_t i = 0; kdl_signature_next(sig, &at, &param, NULL); ++i) {
    if (i == index)
      return param.kind == KDL_PARAM_PTR;
  }
  return false;
}

static kdl_status check_argument(const kdl_seqfile_kernel *kernel, size_t index,
                                 const kdl_operand *operand) {
  static const uint64_t nothing = 0;
  if (operand->kind == KDL_OPERAND_BUFFER)
    return operand->of.buffer.address || operand->offset ? fail_not_portable("a buffer") : KDL_OK;
  if (operand->kind == KDL_OPERAND_VALUE && operand->bytes == sizeof nothing &&
      memcmp(operand->of.value, &nothing, sizeof nothing) != 0 &&
      is_pointer_param(kernel->sig, index))
    return fail_not_portable("the address of memory");
  return KDL_OK;
}

static kdl_status save_launch(saving *job, const kdl_recorded_launch *launch,
                              kdl_seqfile_step *step) {
  kdl_seqfile_launch *saved = kdl_arena_alloc(&job->saved.memory, sizeof *saved);
  if (!saved)
    return save_no_memory();
  *saved = (kdl_seqfile_launch){.kernel = kernel_number(job, launch->kernel),
                                .arg_count = (uint32_t)launch->arg_count,
                                .args = launch->args,
                                .items = launch->items,
                                .desc = launch->desc};
  *step = (kdl_seqfile_step){.kind = KDL_STEP_LAUNCH, .of.launch = saved};
  for (size_t i = 0; i < launch->arg_count; ++i) {
    kdl_status status = check_argument(&job->saved.kernels[saved->kernel], i, &launch->args[i]);
    if (status != KDL_OK) {
      kdl_error_prefix("launch of %s: argument %zu", launch->kernel->name, i);
      return status;
    }
  }
  return KDL_OK;
}

static kdl_status save_copy(saving *job, const kdl_recorded_node *node, kdl_seqfile_step *step) {
  const kdl_recorded_copy *copy = &node->of.copy;
  bool is_fill = node->kind == KDL_NODE_FILL;
  kdl_seqfile_copy *saved = kdl_arena_alloc(&job->saved.memory, sizeof *saved);
  if (!saved)
    return save_no_memory();
  *saved = (kdl_seqfile_copy){.to = copy->to,
                              .from = copy->from,
                              .bytes = copy->bytes,
                              .pattern_size = (uint32_t)copy->pattern_size};
  memcpy(saved->pattern, copy->pattern, sizeof saved->pattern);
  *step = (kdl_seqfile_step){.kind = is_fill ? KDL_STEP_FILL : KDL_STEP_COPY, .of.copy = saved};
  kdl_status status = check_memory_is_slot(&copy->to);
  if (status == KDL_OK && !is_fill)
    status = check_memory_is_slot(&copy->from);
  if (status != KDL_OK)
    kdl_error_prefix(is_fill ? "fill" : "copy");
  return status;
}

static kdl_status save_while(saving *job, const kdl_operand *condition, kdl_seqfile_step *step) {
  kdl_operand *saved = kdl_arena_alloc(&job->saved.memory, sizeof *saved);
  if (!saved)
    return save_no_memory();
  *saved = *condition;
  *step = (kdl_seqfile_step){.kind = KDL_STEP_WHILE, .of.condition = saved};
  kdl_status status = check_memory_is_slot(condition);
  if (status != KDL_OK)
    kdl_error_prefix("loop");
  return status;
}

static kdl_status save_node(saving *job, const kdl_recorded_node *node, kdl_seqfile_step *step) {
  switch (node->kind) {
  case KDL_NODE_LAUNCH:
    return save_launch(job, &node->of.launch, step);
  case KDL_NODE_COPY:
  case KDL_NODE_WRITE:
  case KDL_NODE_READ:
  case KDL_NODE_FILL:
    return save_copy(job, node, step);
  case KDL_NODE_WHILE:
    return save_while(job, &node->of.loop.condition, step);
  case KDL_NODE_END:
    *step = (kdl_seqfile_step){.kind = KDL_STEP_END};
    return KDL_OK;
  default:
    return kdl_fail(KDL_UNSUPPORTED, "found an event, which a file cannot carry, expected a fork "
                                     "and a join, or an event around the run");
  }
}

static kdl_step_kind step_of_mark(kdl_mark_kind kind) {
  return kind == KDL_MARK_FORK     ? KDL_STEP_FORK
         : kind == KDL_MARK_BRANCH ? KDL_STEP_BRANCH
                                   : KDL_STEP_JOIN;
}

/* Saves marks and nodes in order; the mark of a join replaces its node. */
static kdl_status save_steps(saving *job) {
  const kdl_recording *recording = job->recording;
  kdl_seqfile *saved = &job->saved;
  size_t mark = 0;
  saved->steps = kdl_arena_alloc(&saved->memory, (recording->node_count + recording->mark_count) *
                                                     sizeof *saved->steps);
  if (!saved->steps)
    return save_no_memory();
  for (size_t i = 0; i <= recording->node_count; ++i) {
    for (; mark < recording->mark_count && recording->marks[mark].at == i; ++mark)
      saved->steps[saved->step_count++] =
          (kdl_seqfile_step){.kind = step_of_mark(recording->marks[mark].kind)};
    if (i == recording->node_count || recording->nodes[i].kind == KDL_NODE_JOIN)
      continue;
    kdl_status status = save_node(job, &recording->nodes[i], &saved->steps[saved->step_count++]);
    if (status != KDL_OK) {
      kdl_error_prefix("node %zu", i);
      return status;
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

static bool image_holds_kernel(const kdl_kernel *kernel, kdl_library *lib, size_t image) {
  return kdl_catalog_find(lib->catalog, image, kdl_text_of(kernel->name), NULL) ==
         KDL_KERNEL_PRESENT;
}

/* In one file, a name must mean one kernel. */
static kdl_status check_names_are_unique(const saving *job, kdl_library *lib) {
  size_t count = kdl_image_count(lib);
  for (size_t i = 0; i < job->kernel_count; ++i) {
    const kdl_kernel *kernel = job->kernels[i].kernel;
    for (size_t k = 0; kernel->lib != lib && k < count; ++k) {
      if (image_holds_kernel(kernel, lib, k))
        return kdl_fail(KDL_UNSUPPORTED,
                        "found the kernel %s in %s and in %s, of which one file can carry one; "
                        "save it with KDL_SEQUENCE_NO_IMAGES",
                        kernel->name, kernel->lib->container->name, lib->container->name);
    }
  }
  return KDL_OK;
}

static bool is_image_used(const saving *job, kdl_library *lib, size_t image) {
  for (size_t i = 0; i < job->kernel_count; ++i) {
    const kdl_kernel *kernel = job->kernels[i].kernel;
    if (kernel->lib == lib && image_holds_kernel(kernel, lib, image))
      return true;
  }
  return false;
}

/* Collects the images of a library that hold one of the kernels. */
static kdl_status collect_images(saving *job, kdl_library *lib) {
  size_t memory_failures = kdl_catalog_memory_failures(lib->catalog);
  kdl_status status = check_names_are_unique(job, lib);
  for (size_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i) {
    if (lib->container->images[i].is_link_input || !is_image_used(job, lib, i))
      continue;
    kdl_image_ref *carried = kdl_array_grow(job->carried, job->carried_count,
                                            &job->carried_capacity, 16, sizeof *carried);
    if (!carried)
      return save_no_memory();
    job->carried = carried;
    carried[job->carried_count++] = (kdl_image_ref){lib->container, (uint32_t)i};
  }
  return status == KDL_OK && memory_failures != kdl_catalog_memory_failures(lib->catalog)
             ? save_no_memory()
             : status;
}

static int compare_libraries(const void *left, const void *right) {
  const kdl_library *const *a = left, *const *b = right;
  return strcmp((*a)->container->name, (*b)->container->name);
}

/* Visits each library once. */
static kdl_status collect_all_images(saving *job) {
  kdl_library **libs = malloc((job->kernel_count + 1) * sizeof *libs);
  size_t count = 0;
  kdl_status status = KDL_OK;
  if (!libs)
    return save_no_memory();
  for (size_t i = 0; i < job->kernel_count; ++i) {
    size_t known = 0;
    while (known < count && libs[known] != job->kernels[i].kernel->lib)
      ++known;
    if (known == count)
      libs[count++] = job->kernels[i].kernel->lib;
  }
  qsort(libs, count, sizeof *libs, compare_libraries); /* so far in order of addresses */
  for (size_t i = 0; i < count && status == KDL_OK; ++i)
    status = collect_images(job, libs[i]);
  free(libs);
  return status;
}

/* Kinds and flags of an OffloadBinary's entry are signed; in other formats they have other
 * meanings. */
static bool is_in_offload_binary(const kdl_image *image) {
  return strncmp(image->label, "offload-binary ", 15) == 0;
}

/* Bit 0 of the flags means "no bytes" from version 2 on, and nothing in version 1. */
static kdl_status describe_carried_image(kdl_image_ref from, int format,
                                         kdl_writer_image *out_image) {
  const kdl_image *image = &from.container->images[from.index];
  const kdl_pair *pairs = kdl_image_pairs(image);
  bool is_offload_binary = is_in_offload_binary(image);
  uint32_t kept = format == KDL_FORMAT_V1 || !image->size ? UINT32_MAX : UINT32_MAX - 1;
  if (!pairs && image->pair_count)
    return save_no_memory();
  *out_image = (kdl_writer_image){
      .size = sizeof *out_image,
      .declared_kind = is_offload_binary ? image->declared_kind : kdl_llvm_image_kind(image->kind),
      .offload_kind = image->offload_kind,
      .flags = is_offload_binary ? image->flags & kept : 0,
      .pairs = pairs,
      .pair_count = image->pair_count};
  return KDL_OK;
}

/* Prefers version 1, which every LLVM reads; its values cannot contain NULs. */
static kdl_status select_format(const saving *job, int *out_format) {
  *out_format = KDL_FORMAT_V1;
  for (size_t i = 0; i < job->carried_count; ++i) {
    kdl_writer_image image = {.pair_count = 0};
    kdl_status status = describe_carried_image(job->carried[i], KDL_FORMAT_V1, &image);
    if (status != KDL_OK)
      return status;
    for (size_t k = 0; k < image.pair_count; ++k) {
      if (memchr(image.pairs[k].value.data, 0, image.pairs[k].value.length))
        *out_format = KDL_FORMAT_V2;
    }
  }
  return KDL_OK;
}

/* Adds the image with its digest, and checks an existing digest. */
static kdl_status add_carried_image(kdl_writer *writer, int format, kdl_image_ref from) {
  kdl_writer_image image;
  const void *data;
  kdl_status status = describe_carried_image(from, format, &image);
  if (status == KDL_OK)
    status = kdl_container_acquire_bytes(from.container, from.index, &data, &image.data_size);
  if (status != KDL_OK)
    return status;
  status = kdl_digest_check(image.pairs, image.pair_count, data, image.data_size);
  if (status == KDL_OK)
    status = kdl_writer_add_ref_digested(writer, &image, from);
  kdl_container_release_bytes(from.container, from.index);
  if (status != KDL_OK)
    kdl_error_prefix("%s: image %u", from.container->name, (unsigned)from.index);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Saving                                                                                       */

static kdl_status add_sequence(saving *job) {
  const char *name = job->opts.name ? job->opts.name : "sequence";
  const kdl_pair pair = {KDL_TEXT(KDL_SEQUENCE_KEY), kdl_text_of(name)};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(KDL_IMAGE_SEQUENCE),
                            .pairs = &pair,
                            .pair_count = 1,
                            .data = job->data,
                            .data_size = job->data_size};
  return kdl_writer_add_with_digest(job->writer, &image);
}

/* Reports now, instead of when the file is opened, a recording that no reader would accept, for
 * example with unknown launch flags. */
static kdl_status verify_readable(const saving *job) {
  kdl_seqfile again;
  kdl_status status = kdl_seqfile_read(job->data, job->data_size, &again);
  if (status == KDL_OK)
    kdl_seqfile_free(&again);
  if (status != KDL_BAD_FILE)
    return status;
  kdl_error_prefix("found what a file cannot carry");
  return KDL_UNSUPPORTED;
}

static kdl_status build_file(saving *job) {
  kdl_status status = save_slots(job);
  if (status == KDL_OK)
    status = save_kernels(job);
  if (status == KDL_OK)
    status = save_steps(job);
  if (status == KDL_OK)
    status = kdl_seqfile_write(&job->saved, &job->data, &job->data_size);
  if (status == KDL_OK)
    status = verify_readable(job);
  if (status == KDL_OK && !(job->opts.flags & KDL_SEQUENCE_NO_IMAGES))
    status = collect_all_images(job);
  int format;
  if (status == KDL_OK)
    status = select_format(job, &format);
  if (status == KDL_OK)
    status = kdl_writer_create(format, &job->writer);
  if (status == KDL_OK)
    status = add_sequence(job);
  for (size_t i = 0; i < job->carried_count && status == KDL_OK; ++i)
    status = add_carried_image(job->writer, format, job->carried[i]);
  return status;
}

static kdl_status save_begin(const kdl_sequence *sequence, const kdl_sequence_save_opts *opts,
                             saving *job) {
  const kdl_sized what = {"kdl_sequence_save", "opts", sizeof job->opts, sizeof job->opts};
  *job = (saving){.recording = &sequence->recording, .opts.size = sizeof job->opts};
  kdl_status status = opts ? kdl_sized_read(what, opts, &job->opts) : KDL_OK;
  if (status == KDL_OK && job->opts.flags & ~(uint32_t)KDL_SEQUENCE_NO_IMAGES)
    status = kdl_fail(KDL_BAD_CALL, "opts.flags is 0x%x, expected at most 0x%x",
                      (unsigned)job->opts.flags, KDL_SEQUENCE_NO_IMAGES);
  if (status == KDL_OK && job->opts.name && strlen(job->opts.name) > KDL_SEQFILE_SLOT_NAME)
    status = kdl_fail(KDL_BAD_CALL, "opts.name has %zu bytes, expected at most %d",
                      strlen(job->opts.name), KDL_SEQFILE_SLOT_NAME);
  if (status == KDL_OK && !sequence->is_finished)
    status = kdl_fail(KDL_BAD_CALL, "found a sequence that is not finished");
  return status == KDL_OK ? build_file(job) : status;
}

static void save_end(saving *job) {
  kdl_writer_destroy(job->writer);
  kdl_seqfile_free(&job->saved);
  free(job->kernels);
  free(job->carried);
  free(job->data);
}

kdl_status kdl_sequence_save(const kdl_sequence *sequence, const char *path,
                             const kdl_sequence_save_opts *opts) {
  KDL_NOT_CANCELLED;
  saving job;
  KDL_TRY(KDL_GIVEN(sequence, path));
  kdl_status status = save_begin(sequence, opts, &job);
  if (status != KDL_OK)
    kdl_error_prefix("%s: %s", __func__, path);
  else
    status = kdl_writer_save(job.writer, path);
  save_end(&job);
  return status;
}

kdl_status kdl_sequence_save_memory(const kdl_sequence *sequence,
                                    const kdl_sequence_save_opts *opts, void **out_data,
                                    size_t *out_size) {
  KDL_NOT_CANCELLED;
  saving job;
  KDL_TRY(KDL_GIVEN(sequence, out_data, out_size));
  kdl_status status = save_begin(sequence, opts, &job);
  if (status != KDL_OK)
    kdl_error_prefix("%s", __func__);
  else
    status = kdl_writer_finish(job.writer, out_data, out_size);
  save_end(&job);
  return status;
}
