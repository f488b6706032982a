/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every function of the library with each of its pointers NULL, in turn and in combination: a
 * required one is refused by name, an optional one is accepted; and with all of them in a cancelled
 * thread. */
#include "launch_support.h"

#include <kdl/extension.h>
#include <kdl/resources.h>
#include <kdl/sequence.h>

enum { most_pointers = 6, count = 4 };

/* Arguments of the calls; handles are created for each test program. */
static kdl_library *lib;
static kdl_device *device, *described;
static kdl_kernel *kernel;
static kdl_queue *queue;
static kdl_event *event;
static kdl_writer *writer;
static void *out, *const native = NULL;
static char name[] = "mark", path[] = KDL_TEST_IMAGES "/mark1.so", host[] = "host", key[] = "arch";
static char variable[] = "tally", backend[] = "opencl", saved[] = "test_null.offload";
static uint32_t numbers[count], item_count = count;
static kdl_buffer memory, other;
static kdl_open_opts open_opts = {.size = sizeof open_opts};
static kdl_select_opts select_opts = {.size = sizeof select_opts};
static kdl_queue_opts queue_opts = {.size = sizeof queue_opts};
static kdl_image_info image_info = {.size = sizeof image_info};
static kdl_kernel_info kernel_info = {.size = sizeof kernel_info};
static uint64_t byte_count;
static int done;
static kdl_device_info device_info = {.size = sizeof device_info};
static kdl_kernel_resources uses = {.size = sizeof uses};
static kdl_occupancy occupancy = {.size = sizeof occupancy};
static kdl_selection choice = {.size = sizeof choice};
static kdl_writer_image image = {.size = sizeof image, .data = "x", .data_size = 1};
static kdl_extent items = {count, 1, 1};
static kdl_launch_desc desc;
static const void *pointers[] = {&memory, &item_count};
static kdl_args args = {2, pointers, NULL};
static size_t size;
static double ns;
static host_library made;
static kdl_sequence *recorded, *finished;
static kdl_queue *captured;
static kdl_slot_desc slot_desc = {.size = sizeof slot_desc, .kind = KDL_SLOT_ITEMS};
static kdl_slot slot;
static kdl_sequence_info sequence_info = {.size = sizeof sequence_info};
static kdl_operand operands[2];
static kdl_binding slot_binding;
static const char *const ways[] = {"a", "b"};
static kdl_tuner_desc tuner_desc = {.size = sizeof tuner_desc, .way_count = 2, .ways = ways};
static kdl_tuner_launch tuner_launch;
static kdl_slot_desc slot_told = {.size = sizeof slot_told, .kind = KDL_SLOT_BUFFER};
static char slot_name[] = "x";
static uint64_t slot_at;
static kdl_string slot_type;
static kdl_sequence_save_opts save_opts = {.size = sizeof save_opts};
static kdl_sequence_open_opts sequence_opts = {.size = sizeof sequence_opts};
static kdl_library *sequences;
static void *sequences_data;

static int visit_name(void *user, const kdl_string *found) {
  (void)user, (void)found;
  return 0;
}
static int visit_resources(void *user, const kdl_string *found, const kdl_kernel_resources *used) {
  (void)user, (void)found, (void)used;
  return 0;
}
static int visit_verdict(void *user, const kdl_verdict *verdict) {
  (void)user, (void)verdict;
  return 0;
}
static void visit_number(void *user, uint64_t index) {
  (void)user;
  (void)index;
}

static int visit_image(void *user, size_t index) {
  (void)user, (void)index;
  return 0;
}
static void log_line(void *user, const char *topic, const char *line) {
  (void)user, (void)topic, (void)line;
}

/* ------------------------------------------------------------------------------------------ */
/* The calls                                                                                    */

/* What gives no status: KDL_BAD_CALL where it gives nothing. */
static kdl_status given(bool something) {
  return something ? KDL_OK : KDL_BAD_CALL;
}

/* What has no result. */
#define DONE(call) ((call), KDL_OK)
/* A function of the caller's, or none. */
#define VISIT(a, function) ((a) ? (function) : NULL)

static kdl_status close_library(const char *file) {
  kdl_library *opened = NULL;
  kdl_status status = file ? kdl_open(file, NULL, &opened) : KDL_OK;
  kdl_close(opened);
  return status;
}
static kdl_status retain_kernel(kdl_kernel *of) {
  kdl_kernel *kept = kdl_kernel_retain(of);
  kdl_kernel_release(kept);
  return given(kept);
}
static kdl_status open_and_close(kdl_status status, kdl_library **opened) {
  if (status == KDL_OK)
    kdl_close(*opened);
  return status;
}
static kdl_status drop_queue(kdl_status status, kdl_queue **made_queue) {
  if (status == KDL_OK)
    kdl_queue_destroy(*made_queue);
  return status;
}
static kdl_status drop_tuner(kdl_status status, kdl_tuner **made_tuner) {
  if (status == KDL_OK)
    kdl_tuner_destroy(*made_tuner);
  return status;
}
static kdl_status drop_event(kdl_status status, kdl_event **made_event) {
  if (status == KDL_OK)
    kdl_event_destroy(*made_event);
  return status;
}
static kdl_status drop_sequence(kdl_status status, kdl_sequence **made_sequence) {
  if (status == KDL_OK)
    kdl_sequence_destroy(*made_sequence);
  return status;
}
static kdl_status finish(kdl_device *of) {
  kdl_sequence *sequence = NULL;
  if (of)
    assert_ok(kdl_sequence_create(of, &sequence));
  kdl_status status = kdl_sequence_finish(sequence);
  kdl_sequence_destroy(sequence);
  return status;
}
/* Begins and ends a capture; the call that is tried is the first or the second. */
static kdl_status capture(kdl_queue *of, kdl_sequence **to, int tried) {
  if (of)
    assert_ok(kdl_capture_begin(of));
  else if (tried == 1)
    return kdl_capture_begin(of);
  kdl_status status = kdl_capture_end(of, to);
  if (status != KDL_OK && of) {
    kdl_sequence *sequence;
    assert_ok(kdl_capture_end(of, &sequence));
    kdl_sequence_destroy(sequence);
    return kdl_capture_end(of, to); /* it reports the same again */
  }
  return drop_sequence(status, to);
}
static kdl_status drop_writer(kdl_status status, kdl_writer **made_writer) {
  if (status == KDL_OK)
    kdl_writer_destroy(*made_writer);
  return status;
}
static kdl_status drop_bytes(kdl_status status, void **bytes) {
  if (status == KDL_OK)
    free(*bytes);
  return status;
}
static kdl_status drop_host(kdl_status status, void **data) {
  return status == KDL_OK ? kdl_free_host(device, *data) : status;
}
static kdl_status drop_memory(kdl_status status, kdl_buffer *buffer) {
  return status == KDL_OK ? kdl_free(buffer) : status;
}
static kdl_status drop_file(kdl_status status) {
  (void)unlink(saved);
  return status;
}
static kdl_status elapsed(kdl_event *start, kdl_event *end, double *to) {
  if (start)
    assert_ok(kdl_event_record(start, queue));
  return kdl_event_elapsed(start, end, to);
}

#define CALLS(X)                                                                                   \
  X(kdl_version, given(kdl_version()), "", NULL)                                                   \
  X(kdl_status_name, given(kdl_status_name(KDL_OK)), "", NULL)                                     \
  X(kdl_error_message, given(kdl_error_message()), "", NULL)                                       \
  X(kdl_error_code, given(kdl_error_code() == 0), "", NULL)                                        \
  X(kdl_error_set, kdl_error_set(KDL_OK, a[0]), "n", name)                                         \
  X(kdl_set_log, DONE(kdl_set_log(a[0], VISIT(a[1], log_line), a[2])), "ooo", name, lib, lib)      \
  X(kdl_open, open_and_close(kdl_open(a[0] ? a[0] : path, a[1], a[2]), a[2]), "oon", path,         \
    &open_opts, &out)                                                                              \
  X(kdl_open_memory, open_and_close(kdl_open_memory(a[0], made.size, a[1], a[2]), a[2]), "non",    \
    made.data, &open_opts, &out)                                                                   \
  X(kdl_close, close_library(a[0]), "o", path)                                                     \
  X(kdl_image_count, given(kdl_image_count(a[0])), "n", lib)                                       \
  X(kdl_image_get, kdl_image_get(a[0], 0, a[1]), "nn", lib, &image_info)                           \
  X(kdl_image_value, given(kdl_image_value(a[0], 0, a[1])), "nn", lib, key)                        \
  X(kdl_image_bytes, kdl_image_bytes(a[0], 0, a[1], a[2]), "nnn", lib, &out, &size)                \
  X(kdl_image_kernels, kdl_image_kernels(a[0], 0, VISIT(a[1], visit_name), a[2]), "nno", lib, lib, \
    lib)                                                                                           \
  X(kdl_image_resources, kdl_image_resources(a[0], 0, VISIT(a[1], visit_resources), a[2]), "nno",  \
    lib, lib, lib)                                                                                 \
  X(kdl_image_kind_name, given(kdl_image_kind_name(KDL_IMAGE_PTX)), "", NULL)                      \
  X(kdl_llvm_image_kind, given(kdl_llvm_image_kind(KDL_IMAGE_PTX)), "", NULL)                      \
  X(kdl_device_count, given(kdl_device_count()), "", NULL)                                         \
  X(kdl_device_at, given(kdl_device_at(0)), "", NULL)                                              \
  X(kdl_device_find, kdl_device_find(a[0], a[1]), "nn", host, &out)                                \
  X(kdl_devices_refresh, kdl_devices_refresh(a[0], a[1]), "oo", backend, &size)                    \
  X(kdl_device_spec_text, given(*kdl_device_spec_text(a[0])), "n", device)                         \
  X(kdl_device_get, kdl_device_get(a[0], a[1]), "nn", device, &device_info)                        \
  X(kdl_device_route_get, kdl_device_route_get(a[0], 0, a[1]), "nn", device, &device_info)         \
  X(kdl_device_for, kdl_device_for(a[0], a[1], a[2], a[3]), "noon", lib, name, &select_opts, &out) \
  X(kdl_device_numa_node, given(kdl_device_numa_node(a[0]) >= -1 && a[0]), "n", device)            \
  X(kdl_device_occupancy, kdl_device_occupancy(a[0], a[1], 1, 0, a[2]), "nnn", described, &uses,   \
    &occupancy)                                                                                    \
  X(kdl_device_for_rank, kdl_device_for_rank(a[0], a[1], a[2], 0, 1, a[3]), "noon", lib, name,     \
    &select_opts, &out)                                                                            \
  X(kdl_select, kdl_select(a[0], a[1], a[2], a[3], a[4]), "nnoon", lib, device, name,              \
    &select_opts, &choice)                                                                         \
  X(kdl_explain, kdl_explain(a[0], a[1], a[2], a[3], VISIT(a[4], visit_verdict), a[5]), "nnoono",  \
    lib, device, name, &select_opts, lib, lib)                                                     \
  X(kdl_variants, kdl_variants(a[0], a[1], VISIT(a[2], visit_image), a[3]), "nnno", lib, name,     \
    lib, lib)                                                                                      \
  X(kdl_host_thread_count, given(kdl_host_thread_count()), "", NULL)                               \
  X(kdl_host_launch_ns, DONE(kdl_host_launch_ns(0)), "", NULL)                                     \
  X(kdl_host_limit_threads, DONE(kdl_host_limit_threads(0)), "", NULL)                             \
  X(kdl_host_parallel, kdl_host_parallel(1, VISIT(a[0], visit_number), a[1]), "no", lib, lib)      \
  X(kdl_sym, kdl_sym(a[0], a[1], a[2], a[3], a[4]), "gnnon", lib, device, name, &select_opts,      \
    &out)                                                                                          \
  X(kdl_kernel_retain, retain_kernel(a[0]), "n", kernel)                                           \
  X(kdl_kernel_release, DONE(kdl_kernel_release(a[0] ? kdl_kernel_retain(a[0]) : NULL)), "o",      \
    kernel)                                                                                        \
  X(kdl_prefetch, kdl_prefetch(a[0]), "n", kernel)                                                 \
  X(kdl_kernel_get, kdl_kernel_get(a[0], a[1]), "nn", kernel, &kernel_info)                        \
  X(kdl_launch_call, kdl_launch_call(a[0], a[1], a[2], a[3]), "nonn", kernel, queue, &desc, &args) \
  X(kdl_launch_checked, kdl_launch_checked(a[0], a[1], a[2], a[3]), "nonn", kernel, queue, &desc,  \
    &args)                                                                                         \
  X(kdl_launch_items_call, kdl_launch_items_call(a[0], a[1], a[2], a[3]), "nonn", kernel, queue,   \
    &items, &args)                                                                                 \
  X(kdl_queue_create, drop_queue(kdl_queue_create(a[0], a[1], a[2]), a[2]), "non", device,         \
    &queue_opts, &out)                                                                             \
  X(kdl_queue_adopt, drop_queue(kdl_queue_adopt(a[0], a[1], a[2]), a[2]), "non", device, native,   \
    &out)                                                                                          \
  X(kdl_device_queue, kdl_device_queue(a[0], a[1]), "nn", device, &out)                            \
  X(kdl_queue_destroy, DONE(kdl_queue_destroy(a[0])), "o", native)                                 \
  X(kdl_sync, kdl_sync(a[0]), "n", queue)                                                          \
  X(kdl_alloc, drop_memory(kdl_alloc(a[0], 16, a[1]), a[1]), "nn", device, &other)                 \
  X(kdl_free, kdl_free(a[0]), "o", &other)                                                         \
  X(kdl_memory_info, kdl_memory_info(a[0], a[1], a[2]), "noo", device, &byte_count, &byte_count)   \
  X(kdl_alloc_host, drop_host(kdl_alloc_host(a[0], 16, a[1]), a[1]), "nn", device, &out)           \
  X(kdl_free_host, kdl_free_host(a[0], a[1]), "no", device, native)                                \
  X(kdl_write, kdl_write(a[0], a[1], 0, a[2], 4), "nnn", queue, &memory, numbers)                  \
  X(kdl_read, kdl_read(a[0], a[1], a[2], 0, 4), "nnn", queue, numbers, &memory)                    \
  X(kdl_copy, kdl_copy(a[0], a[1], 0, a[2], 8, 4), "nnn", queue, &memory, &memory)                 \
  X(kdl_fill, kdl_fill(a[0], a[1], 0, 8, a[2], 4), "nnn", queue, &memory, numbers)                 \
  X(kdl_global, kdl_global(a[0], a[1], a[2]), "nnn", kernel, variable, &other)                     \
  X(kdl_event_create, drop_event(kdl_event_create(a[0], a[1]), a[1]), "nn", device, &out)          \
  X(kdl_event_destroy, DONE(kdl_event_destroy(a[0])), "o", native)                                 \
  X(kdl_event_record, kdl_event_record(a[0], a[1]), "nn", event, queue)                            \
  X(kdl_event_sync, kdl_event_sync(a[0]), "n", event)                                              \
  X(kdl_event_query, kdl_event_query(a[0], a[1]), "nn", event, &done)                              \
  X(kdl_event_wait, kdl_event_wait(a[0], a[1]), "nn", event, queue)                                \
  X(kdl_event_elapsed, elapsed(a[0], a[1], a[2]), "nnn", event, event, &ns)                        \
  X(kdl_device_native, kdl_device_native(a[0], KDL_NATIVE_DEVICE, a[1]), "nn", device, &out)       \
  X(kdl_queue_native, kdl_queue_native(a[0], a[1]), "nn", queue, &out)                             \
  X(kdl_event_native, kdl_event_native(a[0], a[1]), "nn", event, &out)                             \
  X(kdl_kernel_native, kdl_kernel_native(a[0], a[1]), "nn", kernel, &out)                          \
  X(kdl_kernel_variant, kdl_kernel_variant(a[0], NULL, a[1], a[2]), "nnn", kernel, &args, &out)    \
  X(kdl_tuner_create, drop_tuner(kdl_tuner_create(a[0], a[1], a[2]), a[2]), "nnn", kernel,         \
    &tuner_desc, &out)                                                                             \
  X(kdl_tuner_destroy, DONE(kdl_tuner_destroy(a[0])), "o", native)                                 \
  X(kdl_tuner_begin, DONE(kdl_tuner_begin(NULL, a[0], a[1], 0, a[2])), "ooo", queue, numbers,      \
    &tuner_launch)                                                                                 \
  X(kdl_tuner_end, DONE(kdl_tuner_end(NULL, a[0], a[1], KDL_OK)), "oo", queue, &tuner_launch)      \
  X(kdl_device_adopt, kdl_device_adopt(a[0], a[1]), "no", described, native)                       \
  X(kdl_sequence_create, drop_sequence(kdl_sequence_create(a[0], a[1]), a[1]), "nn", device, &out) \
  X(kdl_sequence_destroy, DONE(kdl_sequence_destroy(a[0])), "o", native)                           \
  X(kdl_sequence_add_slot, kdl_sequence_add_slot(a[0], a[1], a[2]), "nnn", recorded, &slot_desc,   \
    &slot)                                                                                         \
  X(kdl_sequence_launch_items,                                                                     \
    kdl_sequence_launch_items(a[0], a[1], kdl_operand_items(items), a[2], 2), "nnn", recorded,     \
    kernel, operands)                                                                              \
  X(kdl_sequence_launch, kdl_sequence_launch(a[0], a[1], a[2], a[3], 2), "nnnn", recorded, kernel, \
    &desc, operands)                                                                               \
  X(kdl_sequence_copy, kdl_sequence_copy(a[0], operands[0], kdl_operand_host(numbers), 4), "n",    \
    recorded)                                                                                      \
  X(kdl_sequence_fill, kdl_sequence_fill(a[0], operands[0], 8, a[1], 4), "nn", recorded, numbers)  \
  X(kdl_sequence_event_record, kdl_sequence_event_record(a[0], a[1]), "nn", recorded, event)       \
  X(kdl_sequence_event_wait, kdl_sequence_event_wait(a[0], a[1]), "nn", recorded, event)           \
  X(kdl_sequence_nest, kdl_sequence_nest(a[0], a[1], a[2], 1), "nnn", recorded, finished,          \
    operands)                                                                                      \
  X(kdl_sequence_fork, kdl_sequence_fork(a[0]), "n", recorded)                                     \
  X(kdl_sequence_branch, kdl_sequence_branch(a[0]), "n", recorded)                                 \
  X(kdl_sequence_join, kdl_sequence_join(a[0]), "n", recorded)                                     \
  X(kdl_sequence_while, kdl_sequence_while(a[0], operands[0]), "n", recorded)                      \
  X(kdl_sequence_end_while, kdl_sequence_end_while(a[0]), "n", recorded)                           \
  X(kdl_sequence_finish, finish(a[0]), "n", device)                                                \
  X(kdl_sequence_get, kdl_sequence_get(a[0], a[1]), "nn", finished, &sequence_info)                \
  X(kdl_sequence_device, kdl_sequence_device(a[0], a[1]), "nn", finished, &out)                    \
  X(kdl_sequence_slot_get, kdl_sequence_slot_get(a[0], 1, a[1]), "nn", finished, &slot_told)       \
  X(kdl_sequence_slot_find, kdl_sequence_slot_find(a[0], a[1], a[2]), "nnn", finished, slot_name,  \
    &slot)                                                                                         \
  X(kdl_sequence_slot_type, kdl_sequence_slot_type(a[0], 1, a[1], a[2]), "nnn", finished,          \
    &slot_at, &slot_type)                                                                          \
  X(kdl_sequence_save, drop_file(kdl_sequence_save(a[0], a[1], a[2])), "nno", finished, saved,     \
    &save_opts)                                                                                    \
  X(kdl_sequence_save_memory, drop_bytes(kdl_sequence_save_memory(a[0], a[1], a[2], a[3]), a[2]),  \
    "nonn", finished, &save_opts, &out, &size)                                                     \
  X(kdl_sequence_open, drop_sequence(kdl_sequence_open(a[0], a[1], a[2], a[3]), a[3]), "noon",     \
    sequences, device, &sequence_opts, &out)                                                       \
  X(kdl_sequence_run, kdl_sequence_run(a[0], a[1], a[2], 1), "non", finished, queue,               \
    &slot_binding)                                                                                 \
  X(kdl_capture_begin, capture(a[0], (void *)&out, 1), "n", queue)                                 \
  X(kdl_capture_add_slot, kdl_capture_add_slot(a[0], a[1], a[2], a[3]), "nngn", captured, &memory, \
    native, &slot)                                                                                 \
  X(kdl_capture_end, capture(a[0], a[1], 2), "nn", queue, &out)                                    \
  X(kdl_writer_create, drop_writer(kdl_writer_create(KDL_FORMAT_V1, a[0]), a[0]), "n", &out)       \
  X(kdl_writer_destroy, DONE(kdl_writer_destroy(a[0])), "o", native)                               \
  X(kdl_writer_add, kdl_writer_add(a[0], a[1]), "nn", writer, &image)                              \
  X(kdl_writer_add_with_digest, kdl_writer_add_with_digest(a[0], a[1]), "nn", writer, &image)      \
  X(kdl_writer_finish, drop_bytes(kdl_writer_finish(a[0], a[1], a[2]), a[1]), "nnn", writer, &out, \
    &size)                                                                                         \
  X(kdl_writer_save, drop_file(kdl_writer_save(a[0], a[1])), "nn", writer, saved)

#define FUNCTION(function, result, kinds, ...)                                                     \
  static kdl_status call_##function(void *const *a) {                                              \
    (void)a;                                                                                       \
    return result;                                                                                 \
  }
CALLS(FUNCTION)

/* ------------------------------------------------------------------------------------------ */
/* The tests                                                                                    */

typedef struct {
  const char *function;
  kdl_status (*call)(void *const *a);
  const char
      *kinds; /* of its pointers: 'n' needed, 'o' optional, 'g' optional with another meaning */
  void *values[most_pointers];
} row;

static int prepare(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
  made = open_rows(rows, 1);
  lib = made.lib;
  device = the_host();
  kernel = kernel_named(lib, name);
  desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_device_find("h100", &described));
  assert_ok(kdl_queue_create(device, NULL, &queue));
  assert_ok(kdl_event_create(device, &event));
  assert_ok(kdl_event_record(event, queue));
  assert_ok(kdl_alloc(device, sizeof numbers, &memory));
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_sequence_create(device, &recorded));
  assert_ok(kdl_queue_create(device, NULL, &captured));
  assert_ok(kdl_capture_begin(captured));
  assert_ok(kdl_sequence_create(device, &finished));
  assert_ok(kdl_sequence_add_buffer(finished, "x", 0, &slot));
  assert_ok(kdl_sequence_finish(finished));
  assert_ok(kdl_sequence_save_memory(finished, NULL, &sequences_data, &size));
  assert_ok(kdl_open_memory(sequences_data, size, NULL, &sequences));
  operands[0] = kdl_operand_buffer(memory);
  operands[1] = KDL_VALUE(&item_count);
  slot_binding = kdl_bind_buffer(slot, memory);
  return 0;
}

static int put_away(void **state) {
  (void)state;
  kdl_writer_destroy(writer);
  kdl_sequence_destroy(recorded);
  kdl_queue_destroy(captured);
  kdl_sequence_destroy(finished);
  kdl_close(sequences);
  free(sequences_data);
  kdl_event_destroy(event);
  kdl_queue_destroy(queue);
  assert_ok(kdl_free(&memory));
  free_rows(&made);
  return 0;
}

/* The first pointer that is needed and not given, or the number of them where there is none. */
static size_t first_lacking(const row *tried, unsigned missing) {
  size_t i = 0;
  while (tried->kinds[i] && !(missing >> i & 1 && tried->kinds[i] == 'n'))
    ++i;
  return i;
}

static bool has_another_meaning(const row *tried, unsigned missing) {
  for (size_t i = 0; tried->kinds[i]; ++i) {
    if (missing >> i & 1 && tried->kinds[i] == 'g')
      return true;
  }
  return false;
}

static void try_without(const row *tried, unsigned missing) {
  void *values[most_pointers];
  char said_first[64];
  for (size_t i = 0; i < most_pointers; ++i)
    values[i] = missing >> i & 1 ? NULL : tried->values[i];
  assert_int_equal(kdl_writer_create(99, NULL), KDL_BAD_CALL);
  snprintf(said_first, sizeof said_first, "%s: found NULL for ", tried->function);
  kdl_status status = tried->call(values);
  bool lacks = tried->kinds[first_lacking(tried, missing)];
  if (lacks &&
      (status != KDL_BAD_CALL || strncmp(kdl_error_message(), said_first, strlen(said_first)) != 0))
    fail_msg("%s without %x: found status %d, \"%s\"", tried->function, missing, (int)status,
             kdl_error_message());
  if (!lacks && status != KDL_OK && !has_another_meaning(tried, missing))
    fail_msg("%s without %x: found status %d, \"%s\", expected 0", tried->function, missing,
             (int)status, kdl_error_message());
}

static void every_pointer_may_be_null(void **state) {
  (void)state;
#define ROW(function, result, kinds, ...) {#function, call_##function, kinds, {__VA_ARGS__}},
  const row rows[] = {CALLS(ROW)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (unsigned missing = 0; missing < 1u << strlen(rows[i].kinds); ++missing)
      try_without(&rows[i], missing);
  }
  kdl_set_log(NULL, NULL, NULL);
}

typedef struct {
  const row *tried;
  bool went_on;
} cancelled_call;

/* In a thread that is cancelled already, and ends at the first cancellation point. */
static void *call_cancelled(void *user) {
  cancelled_call *call = user;
  pthread_cancel(pthread_self());
  (void)call->tried->call(call->tried->values);
  call->went_on = true;
  pthread_testcancel();
  return NULL;
}

static void no_function_is_a_cancellation_point(void **state) {
  (void)state;
  const row rows[] = {CALLS(ROW)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    cancelled_call call = {.tried = &rows[i]};
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, call_cancelled, &call), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    if (!call.went_on)
      fail_msg("%s is a cancellation point", rows[i].function);
  }
  kdl_set_log(NULL, NULL, NULL);
}

/* A new function gets its row. */
static void every_function_is_tried(void **state) {
  (void)state;
#define NAME(function, result, kinds, ...) " " #function ";"
  static const char tried[] = CALLS(NAME);
  size_t size_of_map, seen = 0;
  char *map = (char *)read_golden("../../lib/libkdl.map", &size_of_map);
  map[size_of_map] = '\0';
  for (char *line = strtok(map, "\n"); line && !strstr(line, "local:"); line = strtok(NULL, "\n")) {
    char *function = strstr(line, " kdl_");
    if (!function)
      continue;
    ++seen;
    if (!strstr(tried, function))
      fail_msg("%s is not tried here", function);
  }
  assert_true(seen > 60);
  free(map);
}

/* ------------------------------------------------------------------------------------------ */
/* Pointers in structs, and sizes of 0                                                          */

static void nothing_is_moved_without_pointers(void **state) {
  (void)state;
  assert_ok(kdl_write(queue, &memory, 0, NULL, 0));
  assert_ok(kdl_read(queue, NULL, &memory, 0, 0));
  assert_ok(kdl_copy(queue, &memory, 0, &memory, 0, 0));
  assert_ok(kdl_fill(queue, &memory, 0, 0, NULL, 4));
  assert_ok(kdl_alloc(device, 0, &other));
  assert_ok(kdl_free(&other));
  kdl_buffer none = {0, 0, NULL};
  assert_ok(kdl_write(queue, &none, 0, NULL, 0));
  assert_ok(kdl_copy(queue, &none, 0, &none, 0, 0));
  none.size = 4;
  assert_fails(kdl_copy(queue, &memory, 0, &none, 0, 4), KDL_BAD_CALL,
               "kdl_copy: found a buffer of no device, expected one that kdl_alloc gave");
  none.address = 8;
  assert_fails(kdl_free(&none), KDL_BAD_CALL,
               "kdl_free: found a buffer of no device, expected one that kdl_alloc gave");
}

#define expected_formats                                                                           \
  "expected an OffloadBinary, a Clang offload bundle, a CUDA fatbin, an ELF file, an archive, "    \
  "bitcode, PTX or SPIR-V"

static void no_bytes_are_no_library(void **state) {
  (void)state;
  kdl_library *opened;
  assert_fails(kdl_open_memory(NULL, 0, NULL, &opened), KDL_BAD_CALL,
               "kdl_open_memory: found NULL for data, expected a pointer");
  assert_fails(kdl_open_memory("", 0, NULL, &opened), KDL_BAD_FILE,
               "<memory>: offset 0x0: format: found an empty file, " expected_formats);
  fclose(fopen(saved, "w"));
  assert_fails(kdl_open(saved, &(kdl_open_opts){sizeof open_opts, "t", KDL_OPEN_FILE}, &opened),
               KDL_BAD_FILE, "t: offset 0x0: format: found an empty file, " expected_formats);
  (void)unlink(saved);
}

static void arguments_without_pointers_are_told(void **state) {
  (void)state;
  kdl_args none = {2, NULL, NULL};
  assert_fails(kdl_launch_checked(kernel, NULL, &desc, &none), KDL_BAD_CALL,
               "mark: found NULL for args.pointers, expected 2 pointers");
  assert_fails(kdl_launch_items_call(kernel, NULL, &items, &none), KDL_BAD_CALL,
               "mark: found NULL for args.pointers, expected 2 pointers");
}

static void pairs_without_pointers_are_told(void **state) {
  (void)state;
  kdl_writer_image bad = image;
  bad.pair_count = 1;
  assert_fails(kdl_writer_add(writer, &bad), KDL_BAD_CALL,
               "kdl_writer_add: found NULL for image->pairs, expected a pointer");
  kdl_pair pair = {{NULL, 0}, {"", 0}};
  bad.pairs = &pair;
  assert_fails(kdl_writer_add(writer, &bad), KDL_BAD_CALL,
               "kdl_writer_add: found NULL for a pair's key, expected a pointer");
  bad = image;
  bad.data = NULL;
  assert_fails(kdl_writer_add(writer, &bad), KDL_BAD_CALL,
               "kdl_writer_add: found NULL for image->data, expected a pointer");
  bad.data_size = 0;
  assert_ok(kdl_writer_add(writer, &bad));
}

static void constants_without_names_are_told(void **state) {
  (void)state;
  kdl_kernel *bound;
  kdl_select_opts opts = {.size = sizeof opts, .constant_count = 1};
  assert_fails(kdl_sym(lib, device, name, &opts, &bound), KDL_BAD_CALL,
               "kdl_sym: found NULL for opts->constants, expected a pointer");
  kdl_constant constant = {NULL, "1"};
  opts.constants = &constant;
  if (!KDL_WITH_JIT) {
    assert_int_equal(kdl_sym(lib, device, name, &opts, &bound), KDL_UNSUPPORTED);
    return;
  }
  assert_int_equal(kdl_sym(lib, device, name, &opts, &bound), KDL_BAD_CALL);
  constant = (kdl_constant){"N", NULL};
  assert_int_equal(kdl_sym(lib, device, name, &opts, &bound), KDL_BAD_CALL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pointer_may_be_null),
      cmocka_unit_test(no_function_is_a_cancellation_point),
      cmocka_unit_test(every_function_is_tried),
      cmocka_unit_test(nothing_is_moved_without_pointers),
      cmocka_unit_test(no_bytes_are_no_library),
      cmocka_unit_test(arguments_without_pointers_are_told),
      cmocka_unit_test(pairs_without_pointers_are_told),
      cmocka_unit_test(constants_without_names_are_told),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
