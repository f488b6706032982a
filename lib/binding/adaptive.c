/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/binding/adaptive.h"

#include "lib/backends/host/threads.h"
#include "lib/binding/capture.h"
#include "lib/binding/geometry.h"
#include "lib/binding/variants.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "lib/inspect/kinds.h"
#include "lib/inspect/launches.h"
#include "lib/inspect/libraries.h"
#include "support/base/blake2b.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------------------------------ */
/* Selecting                                                                                    */

/* The variants whose condition does not hold, as bits from KDL_ADAPTIVE_CONDITIONS_AT on. */
static uint32_t refused_by_condition(const kdl_kernel *kernel, const kdl_extent *items,
                                     const kdl_args *args) {
  uint32_t bits = 0;
  for (size_t i = 0; i < kernel->variants->count; ++i) {
    if (!kdl_variant_is_for_launch(&kernel->variants->items[i], items, args))
      bits |= 1u << (KDL_ADAPTIVE_CONDITIONS_AT + i);
  }
  return bits;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_unbindable(const kdl_kernel *variant) {
  return atomic_load_explicit(&variant->bind_state, memory_order_acquire) == KDL_UNBINDABLE;
}

/* A variant that is not bound: loads it, and takes it out where it does not load. `out_again`:
 * choose again. */
static kdl_status load_variant(const kdl_kernel *kernel, void *queue, uint32_t number,
                               kdl_adaptive_trial *trial, bool *out_again) {
  kdl_kernel *variant = kernel->variants->items[number].kernel;
  uint64_t begin = now_ns();
  *out_again = false;
  kdl_status status = kdl_entry_prepare(variant, queue);
  bool is_measured = trial && trial->entry;
  if (status == KDL_OK) {
    if (is_measured)
      kdl_adaptive_choice->loaded(kernel->variants->adaptive, trial, now_ns() - begin);
    return KDL_OK;
  }
  if (!is_unbindable(variant))
    return status;
  if (is_measured)
    kdl_adaptive_choice->end(kernel->variants->adaptive, trial, queue, status);
  kdl_adaptive_choice->exclude(kernel->variants->adaptive, NULL, number, kdl_error_message());
  *out_again = true;
  return status;
}

/* Each image may be for other launches. Those behind the conditions are for every launch. */
static bool is_for_no_variant(const kdl_kernel *kernel, uint32_t flags) {
  const size_t count = kernel->variants->count;
  return kernel->ranking->has_conditions && count <= KDL_ADAPTIVE_CONDITIONS &&
         flags >> KDL_ADAPTIVE_CONDITIONS_AT == (1u << count) - 1;
}

static kdl_status fail_no_variant(const kdl_kernel *kernel) {
  return kdl_fail(KDL_NO_MATCH, "%s: no image is for this launch: the condition of each is not met",
                  kernel->name);
}

static bool is_refused(uint32_t flags, size_t number) {
  return number < KDL_ADAPTIVE_CONDITIONS && flags >> KDL_ADAPTIVE_CONDITIONS_AT >> number & 1;
}

/* Where no variant is left to choose: the first in rank order that is for the launch and loads,
 * also of those that are not tried. */
static kdl_status select_by_rank(const kdl_kernel *kernel, void *queue, uint32_t flags,
                                 kdl_kernel **out_kernel) {
  const kdl_kernel *first_failed = NULL;
  for (size_t i = 0; i < kernel->variants->count; ++i) {
    kdl_kernel *variant = kernel->variants->items[i].kernel;
    if (is_refused(flags, i))
      continue;
    *out_kernel = variant;
    if (kdl_kernel_is_bound(variant))
      return KDL_OK;
    kdl_status status = kdl_entry_prepare(variant, queue);
    if (status == KDL_OK || !is_unbindable(variant))
      return status;
    first_failed = first_failed ? first_failed : variant;
  }
  return first_failed ? kdl_fail_cached(&first_failed->failure) : fail_no_variant(kernel);
}

static bool is_ready(const kdl_kernel *kernel, uint32_t flags, uint32_t number) {
  return kdl_kernel_is_bound(kernel->variants->items[number].kernel) && !is_refused(flags, number);
}

/* Loads the variant that was chosen. After each failure one variant fewer is left to choose. */
static kdl_status load_chosen(const kdl_kernel *kernel, uint32_t number, void *queue,
                              const kdl_extent *extent, uint32_t flags, const kdl_args *args,
                              kdl_adaptive_trial *trial, kdl_kernel **out_kernel) {
  const struct kdl_variants *variants = kernel->variants;
  for (size_t tries = 0; tries < variants->count; ++tries) {
    *out_kernel = variants->items[number].kernel;
    if (is_ready(kernel, flags, number))
      return KDL_OK;
    if (is_refused(flags, number) || is_unbindable(*out_kernel))
      break;
    bool again;
    kdl_status status = load_variant(kernel, queue, number, trial, &again);
    if (!again)
      return status;
    number = kdl_adaptive_choice->choose(variants->adaptive, extent, flags, args, trial);
  }
  if (trial && trial->entry) {
    kdl_adaptive_choice->end(variants->adaptive, trial, queue, KDL_UNSUPPORTED);
    trial->entry = NULL;
  }
  return select_by_rank(kernel, queue, flags, out_kernel);
}

kdl_status kdl_adaptive_select(const kdl_kernel *kernel, void *queue, const kdl_extent *items,
                               const kdl_args *args, kdl_kernel **out_kernel) {
  static const kdl_extent unknown = {0, 0, 0};
  uint32_t flags = kernel->ranking->has_conditions ? refused_by_condition(kernel, items, args) : 0;
  if (is_for_no_variant(kernel, flags))
    return fail_no_variant(kernel);
  const kdl_extent *extent = items ? items : &unknown;
  flags |= items ? 0 : KDL_ADAPTIVE_GRID;
  uint32_t number =
      kdl_adaptive_choice->choose(kernel->variants->adaptive, extent, flags, args, NULL);
  return load_chosen(kernel, number, queue, extent, flags, args, NULL, out_kernel);
}

bool kdl_kernel_is_decided(const kdl_kernel *kernel, const kdl_extent *items,
                           const kdl_args *args) {
  if (!kdl_kernel_is_adaptive(kernel))
    return true;
  uint32_t flags = kernel->ranking->has_conditions ? refused_by_condition(kernel, items, args) : 0;
  return kdl_adaptive_choice->is_decided(kernel->variants->adaptive, items, flags, args);
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* The two kinds of launches, of which one is given. */
typedef struct launch_call {
  const kdl_launch_desc *desc; /* a grid, with the backend's queue */
  const kdl_extent *items;     /* else items, with `given` */
  kdl_queue *given;
  const kdl_args *args;
  void *queue;
} launch_call;

static inline kdl_status launch_variant(kdl_kernel *variant, const launch_call *call) {
  if (call->items)
    return atomic_load_explicit(&variant->items_entry, memory_order_acquire)(
        variant, call->given, call->items, call->args);
  kdl_launch_entry *entry = __atomic_load_n(&variant->head.entry, __ATOMIC_ACQUIRE);
  return entry(&variant->head, call->desc, call->args, call->queue);
}

/* A variant that fails is excluded if the leading one does not fail in the same launch. */
static __attribute__((noinline)) kdl_status launch_measured(kdl_kernel *kernel, kdl_kernel *variant,
                                                            kdl_adaptive_trial *trial,
                                                            const launch_call *call) {
  kdl_adaptive *adaptive = kernel->variants->adaptive;
  uint32_t tried = 0;
  if (kdl_capture_lookup(kernel->runtime, call->queue)) { /* it is recorded, not launched */
    kdl_adaptive_choice->end(adaptive, trial, call->queue, KDL_UNSUPPORTED);
    variant = kernel->variants->items[trial->leader].kernel;
    KDL_TRY(kdl_entry_prepare(variant, call->queue));
    return launch_variant(variant, call);
  }
  while (kernel->variants->items[tried].kernel != variant)
    ++tried;
  kdl_adaptive_choice->begin(adaptive, trial, call->queue);
  kdl_status status = launch_variant(variant, call);
  kdl_adaptive_choice->end(adaptive, trial, call->queue, status);
  if (status == KDL_OK || !trial->is_trial || kdl_failure_is_transient(status))
    return status;
  char reason[256];
  kdl_out_format(&(kdl_out){reason, sizeof reason, 0}, "its launch failed: %s",
                 kdl_error_message());
  kdl_kernel *leader = kernel->variants->items[trial->leader].kernel;
  KDL_TRY(kdl_entry_prepare(leader, call->queue));
  KDL_TRY(launch_variant(leader, call));
  kdl_adaptive_choice->exclude(adaptive, trial, tried, reason);
  return KDL_OK;
}

static inline kdl_status launch_chosen(kdl_kernel *kernel, const kdl_extent *extent,
                                       const launch_call *call) {
  kdl_adaptive_trial trial;
  kdl_kernel *chosen = atomic_load_explicit(&kernel->variants->pinned, memory_order_acquire);
  if (chosen)
    return launch_variant(chosen, call);
  uint32_t flags = call->items ? 0 : KDL_ADAPTIVE_GRID;
  if (kernel->ranking->has_conditions)
    flags |= refused_by_condition(kernel, call->items, call->args);
  if (is_for_no_variant(kernel, flags))
    return fail_no_variant(kernel);
  uint32_t number =
      kdl_adaptive_choice->choose(kernel->variants->adaptive, extent, flags, call->args, &trial);
  chosen = kernel->variants->items[number].kernel;
  if (!is_ready(kernel, flags, number))
    KDL_TRY(load_chosen(kernel, number, call->queue, extent, flags, call->args, &trial, &chosen));
  return trial.entry ? launch_measured(kernel, chosen, &trial, call) : launch_variant(chosen, call);
}

static kdl_status launch_adaptive(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                  const kdl_args *args, void *queue) {
  kdl_kernel *kernel = kdl_kernel_of(head);
  const kdl_extent groups = {desc->grid[0], desc->grid[1], desc->grid[2]};
  const launch_call call = {desc, NULL, NULL, args,
                            queue ? queue : kernel->runtime->queue.head.queue};
  return launch_chosen(kernel, &groups, &call);
}

static kdl_status launch_items_adaptive(kdl_kernel *kernel, kdl_queue *queue,
                                        const kdl_extent *items, const kdl_args *args) {
  const launch_call call = {NULL, items, queue, args,
                            queue ? queue->head.queue : kernel->runtime->queue.head.queue};
  return launch_chosen(kernel, items, &call);
}

/* ------------------------------------------------------------------------------------------ */
/* Creating                                                                                     */

static const char *refusal_of(const kdl_kernel_key *first, const kdl_kernel_key *key) {
  bool is_safe = kdl_kernel_has(key, KDL_KERNEL_TRIAL) ||
                 (kdl_kernel_has(key, KDL_KERNEL_EFFECTS) &&
                  kdl_text_is(kdl_kernel_field_text(key, KDL_KERNEL_EFFECTS), "idempotent"));
  if (!kdl_kernel_is_variant(first, key))
    return "its parameters or its revision differ";
  if (kdl_kernel_has(first, KDL_KERNEL_EFFECTS) != kdl_kernel_has(key, KDL_KERNEL_EFFECTS) ||
      (kdl_kernel_has(key, KDL_KERNEL_EFFECTS) &&
       !kdl_text_equal(kdl_kernel_field_text(first, KDL_KERNEL_EFFECTS),
                       kdl_kernel_field_text(key, KDL_KERNEL_EFFECTS))))
    return "its effects differ";
  if (kdl_kernel_has(first, KDL_KERNEL_NUMERICS) && !kdl_kernel_has(key, KDL_KERNEL_NUMERICS))
    return "it does not declare numerics=exact";
  return is_safe ? NULL : "it declares neither effects=idempotent nor trial=safe";
}

uint64_t kdl_adaptive_variant_id(kdl_library *lib, uint32_t image, kdl_string key) {
  const kdl_string *declared = kdl_image_value(lib, image, KDL_DIGEST_KEY);
  kdl_blake2b hash;
  const void *data;
  size_t size;
  uint64_t id = 0;
  kdl_blake2b_start(&hash);
  if (declared) {
    kdl_blake2b_add(&hash, declared->data, declared->length);
  } else if (kdl_library_acquire_bytes(lib, image, &data, &size) == KDL_OK) {
    kdl_digest digest = kdl_digest_of(data, size);
    char text[KDL_DIGEST_TEXT];
    kdl_digest_print(&digest, text);
    kdl_blake2b_add(&hash, KDL_DIGEST_METHOD, strlen(KDL_DIGEST_METHOD));
    kdl_blake2b_add(&hash, text, strlen(text));
    kdl_library_release_bytes(lib, image);
  }
  kdl_blake2b_add(&hash, "", 1);
  kdl_blake2b_add(&hash, key.data ? key.data : "", key.data ? key.length : 0);
  kdl_digest digest = kdl_blake2b_finish(&hash);
  for (int i = 0; i < 8; ++i)
    id = id << 8 | digest.bytes[i];
  return id ? id : 1;
}

/* "cuda:sm_90 units=132 clock=1980 driver=13.0" */
static void print_device(kdl_out *out, const kdl_device_info *info, uint64_t clock_khz) {
  kdl_out_format(out, "%s:%s", info->backend, info->arch);
  if (*info->features)
    kdl_out_format(out, "+%s", info->features);
  kdl_out_format(out, " units=%" PRIu32 " clock=%" PRIu64, info->units, clock_khz / 1000);
  if (*info->driver)
    kdl_out_format(out, " driver=%s", info->driver);
}

void kdl_adaptive_identify(const kdl_kernel *kernel, const char *what, kdl_out *out) {
  const kdl_runtime *runtime = kernel->runtime;
  kdl_device_info info = {.size = sizeof info};
  uint64_t khz = 0;
  if (kdl_device_route_get(runtime->device, runtime->route, &info) != KDL_OK)
    return;
  if (runtime->table->clock_rate && runtime->table->clock_rate(runtime->handle, &khz) != KDL_OK)
    khz = 0;
  kdl_out_format(out, "%s=%s ", what, kernel->name);
  if (kernel->constants) {
    kdl_digest digest = kdl_digest_of(kernel->constants, strlen(kernel->constants));
    char text[KDL_DIGEST_TEXT];
    kdl_digest_print(&digest, text);
    kdl_out_format(out, "constants=%.16s ", text);
  }
  kdl_out_format(out, "device=");
  print_device(out, &info, khz);
  for (size_t i = 0; i < out->used && i + 1 < out->size; ++i) {
    bool is_odd = out->data[i] == '\n' || out->data[i] == ','; /* metadata has no commas */
    out->data[i] = (char)(is_odd ? ' ' : out->data[i]);
  }
}

unsigned (*kdl_adaptive_wake_threads(const kdl_device_info *info))(unsigned count) {
  bool has_threads = strcmp(info->backend, "host") == 0 && kdl_host_thread_limits_get()->total > 1;
  return has_threads ? kdl_host_wake_threads : NULL;
}

static void describe_variant(const kdl_kernel *kernel, size_t position, const kdl_kernel_key *first,
                             kdl_adaptive_variant *out_variant) {
  const kdl_candidate *candidate = &kernel->ranking->candidates[position];
  kdl_image_kind kind = (kdl_image_kind)candidate->kind;
  kdl_kernel_key key;
  kdl_geometry_read_key(kernel, position, &key);
  kdl_image_geometry geometry = kdl_geometry_of_key(&key);
  const char *tag = kdl_image_variant_tag(kernel->lib, candidate->image);
  *out_variant = (kdl_adaptive_variant){
      .id = kdl_adaptive_variant_id(kernel->lib, candidate->image, candidate->key),
      .image = candidate->image,
      .tag = tag ? tag : "",
      .order = {candidate->order[0], candidate->order[1]},
      .is_compiled = kdl_image_kind_get(kind)->holds == KDL_HOLDS_BITCODE ||
                     kdl_image_kind_get(kind)->holds == KDL_HOLDS_DRIVER_CODE,
      .refusal = refusal_of(first, &key),
  };
  memcpy(out_variant->tile, geometry.tile, sizeof out_variant->tile);
}

static void read_shape(const kdl_kernel_key *first, kdl_adaptive_subject *subject,
                       kdl_shape_argument arguments[KDL_SHAPE_PARAMS]) {
  kdl_shape shape;
  kdl_string names = kdl_kernel_field_text(first, KDL_KERNEL_SHAPE);
  size_t at = 0;
  if (!names.data || !kdl_shape_compile(first, &shape, NULL))
    return;
  for (size_t i = 0; i < shape.count; ++i) {
    while (names.data[at] == ' ')
      ++at;
    size_t begin = at;
    while (at < names.length && names.data[at] != ' ')
      ++at;
    arguments[i] = (kdl_shape_argument){shape.params[i].index,
                                        shape.params[i].size,
                                        shape.params[i].is_signed,
                                        {names.data + begin, at - begin}};
  }
  subject->arguments = arguments;
  subject->argument_count = shape.count;
}

/* The lines that `kdl tune` put into the library, in any of the images. */
static kdl_string find_tuned(const kdl_kernel *kernel) {
  char name[512];
  kdl_out_format(&(kdl_out){name, sizeof name, 0}, KDL_TUNED_PREFIX "%s", kernel->name);
  for (size_t i = 0; i < kernel->ranking->count; ++i) {
    const kdl_string *value =
        kdl_image_value(kernel->lib, kernel->ranking->candidates[i].image, name);
    if (value)
      return *value;
  }
  return (kdl_string){NULL, 0};
}

static bool has_late_condition(const kdl_ranking *ranking) {
  for (size_t i = KDL_ADAPTIVE_CONDITIONS; i < ranking->count; ++i) {
    if (ranking->candidates[i].has_condition)
      return true;
  }
  return false;
}

bool kdl_adaptive_create(kdl_kernel *kernel) {
  enum { most = 64 };
  const kdl_ranking *ranking = kernel->ranking;
  kdl_adaptive_variant variants[most];
  kdl_shape_argument arguments[KDL_SHAPE_PARAMS];
  char identity[2048];
  kdl_out out = {identity, sizeof identity, 0};
  kdl_device_info info = {.size = sizeof info};
  if (ranking->query.policy != KDL_POLICY_ADAPTIVE || !kdl_adaptive_choice || ranking->count < 2 ||
      has_late_condition(ranking) ||
      kdl_device_route_get(kernel->runtime->device, kernel->runtime->route, &info) != KDL_OK)
    return false;
  kdl_kernel_key first;
  kdl_geometry_read_key(kernel, 0, &first);
  kdl_adaptive_identify(kernel, "kernel", &out);
  kdl_adaptive_subject subject = {
      .kernel = kernel->name,
      .library = kernel->lib->container->name,
      .device = kernel->runtime->label,
      .identity = {identity, out.used < sizeof identity ? out.used : sizeof identity - 1},
      .tuned = find_tuned(kernel),
      .table = kernel->runtime->table,
      .handle = kernel->runtime->handle,
      .is_host = info.is_host,
      .wake_threads = kdl_adaptive_wake_threads(&info),
      .units = info.units,
      .variants = variants,
      .variant_count = (uint32_t)(ranking->count < most ? ranking->count : most),
  };
  read_shape(&first, &subject, arguments);
  for (uint32_t i = 0; i < subject.variant_count; ++i)
    describe_variant(kernel, i, &first, &variants[i]);
  variants[0].refusal = NULL; /* it is used without trials */
  if (refusal_of(&first, &first)) {
    for (uint32_t i = 1; i < subject.variant_count; ++i)
      variants[i].refusal = refusal_of(&first, &first);
  }
  kernel->variants->adaptive = kdl_adaptive_choice->open(&subject);
  if (!kernel->variants->adaptive)
    return false;
  kernel->head.entry = launch_adaptive;
  atomic_store_explicit(&kernel->items_entry, launch_items_adaptive, memory_order_relaxed);
  return true;
}

void kdl_adaptive_destroy(kdl_kernel *kernel) {
  kdl_adaptive_choice->close(kernel->variants->adaptive,
                             kdl_runtime_usable(kernel->runtime) == KDL_OK);
  kernel->variants->adaptive = NULL;
}
