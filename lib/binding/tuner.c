/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl_tuner: ext/adaptive chooses among ways that a caller has, as it does among images. */
#include "lib/binding/adaptive.h"
#include "lib/binding/capture.h"
#include "lib/hooks.h"
#include "lib/inspect/launches.h"
#include "support/base/blake2b.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <kdl/extension.h>

#include <stdlib.h>
#include <string.h>

struct kdl_tuner {
  kdl_kernel *kernel;
  kdl_adaptive *adaptive;
  uint32_t name_count;
};

/* Of the image and the way: another image is measured anew. */
static uint64_t way_id(uint64_t image, const char *way) {
  kdl_blake2b hash;
  uint64_t id = 0;
  kdl_blake2b_start(&hash);
  kdl_blake2b_add(&hash, &image, sizeof image);
  kdl_blake2b_add(&hash, way, strlen(way));
  kdl_digest digest = kdl_blake2b_finish(&hash);
  for (int i = 0; i < 8; ++i)
    id = id << 8 | digest.bytes[i];
  return id ? id : 1;
}

static kdl_status check_desc(const kdl_tuner_desc *desc) {
  if (desc->size < sizeof *desc || !desc->ways || !desc->way_count ||
      desc->way_count > KDL_TUNER_WAYS || desc->name_count > KDL_TUNER_NUMBERS ||
      (desc->name_count && !desc->names))
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_tuner_create: found %u ways and %u numbers, expected 1 to %d and 0 to %d",
                    desc->way_count, desc->name_count, KDL_TUNER_WAYS, KDL_TUNER_NUMBERS);
  return KDL_OK;
}

static kdl_adaptive *open_ways(const kdl_kernel *kernel, const kdl_tuner_desc *desc,
                               const kdl_device_info *info) {
  const kdl_candidate *first = &kernel->ranking->candidates[0];
  uint64_t image = kdl_adaptive_variant_id(kernel->lib, first->image, first->key);
  kdl_adaptive_variant ways[KDL_TUNER_WAYS];
  kdl_shape_argument numbers[KDL_TUNER_NUMBERS];
  char identity[2048];
  kdl_out out = {identity, sizeof identity, 0};
  kdl_adaptive_identify(kernel, "tuner", &out);
  for (uint32_t i = 0; i < desc->name_count; ++i)
    numbers[i] = (kdl_shape_argument){(uint16_t)i, 8, false, kdl_text_of(desc->names[i])};
  for (uint32_t i = 0; i < desc->way_count; ++i)
    ways[i] = (kdl_adaptive_variant){
        .id = way_id(image, desc->ways[i]), .tag = desc->ways[i], .image = first->image};
  const kdl_adaptive_subject subject = {
      .kernel = kernel->name,
      .library = kernel->lib->container->name,
      .device = kernel->runtime->label,
      .identity = {identity, out.used < sizeof identity ? out.used : sizeof identity - 1},
      .table = kernel->runtime->table,
      .handle = kernel->runtime->handle,
      .is_host = info->is_host,
      .wake_threads = kdl_adaptive_wake_threads(info),
      .units = info->units,
      .arguments = numbers,
      .argument_count = desc->name_count,
      .variants = ways,
      .variant_count = desc->way_count,
  };
  return kdl_adaptive_choice->open(&subject);
}

kdl_status kdl_tuner_create(kdl_kernel *kernel, const kdl_tuner_desc *desc, kdl_tuner **out_tuner) {
  kdl_device_info info = {.size = sizeof info};
  KDL_NOT_CANCELLED;
  KDL_TRY(KDL_GIVEN(kernel, desc, out_tuner));
  KDL_TRY(check_desc(desc));
  *out_tuner = NULL;
  if (kernel->ranking->query.policy != KDL_POLICY_ADAPTIVE || !kdl_adaptive_choice ||
      !kernel->ranking->count)
    return KDL_OK;
  KDL_TRY(kdl_device_route_get(kernel->runtime->device, kernel->runtime->route, &info));
  kdl_tuner *made = malloc(sizeof *made);
  kdl_adaptive *adaptive = made ? open_ways(kernel, desc, &info) : NULL;
  if (!adaptive) {
    free(made);
    return kdl_fail(KDL_NO_MEMORY, "kdl_tuner_create: out of memory");
  }
  *made = (kdl_tuner){kernel, adaptive, desc->name_count};
  *out_tuner = made;
  return KDL_OK;
}

void kdl_tuner_destroy(kdl_tuner *tuner) {
  KDL_NOT_CANCELLED;
  if (!tuner)
    return;
  kdl_adaptive_choice->close(tuner->adaptive, kdl_runtime_usable(tuner->kernel->runtime) == KDL_OK);
  free(tuner);
}

static void *native_queue(const kdl_tuner *tuner, const kdl_queue *queue) {
  return queue ? queue->head.queue : tuner->kernel->runtime->queue.head.queue;
}

uint32_t kdl_tuner_begin(kdl_tuner *tuner, kdl_queue *queue, const uint64_t *numbers,
                         uint32_t unusable, kdl_tuner_launch *out_launch) {
  static const kdl_extent none = {0, 0, 0};
  const void *pointers[KDL_TUNER_NUMBERS];
  KDL_NOT_CANCELLED;
  if (out_launch)
    *out_launch = (kdl_tuner_launch){.way = 0};
  if (!tuner || (tuner->name_count && !numbers))
    return 0;
  for (uint32_t i = 0; i < tuner->name_count; ++i)
    pointers[i] = &numbers[i];
  const kdl_args args = {tuner->name_count, pointers, NULL};
  void *native = native_queue(tuner, queue);
  bool is_measured = out_launch && !kdl_capture_lookup(tuner->kernel->runtime, native);
  kdl_adaptive_trial trial = {.entry = NULL};
  uint32_t way = kdl_adaptive_choice->choose(tuner->adaptive, &none,
                                             (unusable & ~1u) << KDL_ADAPTIVE_CONDITIONS_AT, &args,
                                             is_measured ? &trial : NULL);
  if (trial.entry) {
    kdl_adaptive_choice->begin(tuner->adaptive, &trial, native);
    *out_launch = (kdl_tuner_launch){trial.entry, trial.sample, way, trial.leader, trial.is_trial};
  }
  return way;
}

int kdl_tuner_end(kdl_tuner *tuner, kdl_queue *queue, kdl_tuner_launch *launch, kdl_status status) {
  char reason[256];
  KDL_NOT_CANCELLED;
  if (!tuner || !launch || !launch->entry)
    return 0;
  kdl_adaptive_trial trial = {launch->entry, launch->sample, launch->leader, launch->is_trial};
  uint32_t tried = launch->way;
  if (status != KDL_OK)
    kdl_out_format(&(kdl_out){reason, sizeof reason, 0}, "its launch failed: %s",
                   kdl_error_message());
  kdl_adaptive_choice->end(tuner->adaptive, &trial, native_queue(tuner, queue), status);
  launch->entry = launch->sample = NULL;
  launch->way = launch->leader;
  if (status == KDL_OK || !launch->is_trial || kdl_failure_is_transient(status))
    return 0;
  kdl_adaptive_choice->exclude(tuner->adaptive, &trial, tried, reason);
  return 1;
}
