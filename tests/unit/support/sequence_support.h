/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for tests of sequences on fake drivers, to be included after the header of their driver:
 * a library with saxpy, four buffers, and a sequence of both of them. */
#ifndef KDL_TESTS_UNIT_SEQUENCE_SUPPORT_H
#define KDL_TESTS_UNIT_SEQUENCE_SUPPORT_H

#include "support.h"

#include <kdl/sequence.h>

#include <pthread.h>

enum { n = 64, bytes = n * sizeof(float) };

static kdl_library *lib;
static kdl_device *device;
static kdl_queue *queue;
static kdl_kernel *saxpy;
static kdl_buffer buffers[4];
static void *library_data;

static inline kdl_string text(const char *words) {
  return (kdl_string){words, strlen(words)};
}

/* Opens a library of one image on the first device of the backend. */
static inline void open_sequences(const char *backend, const char *triple, const char *arch,
                                  kdl_image_kind kind, uint16_t offload, const void *data,
                                  size_t data_size) {
  kdl_writer *writer;
  size_t size;
  kdl_pair pairs[] = {
      {text("triple"), text(triple)},
      {text("kdl.kernel.saxpy"), text("sig=f32 ptr<f32> ptr<f32> u32; block=64x1x1")},
      {text(kind == KDL_IMAGE_CL ? "kdl.kind" : "arch"), text(arch)}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(kind),
                            .offload_kind = offload,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = data,
                            .data_size = data_size};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  assert_ok(kdl_writer_finish(writer, &library_data, &size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(library_data, size, NULL, &lib));
  assert_ok(kdl_device_find(backend, &device));
  assert_ok(kdl_queue_create(device, NULL, &queue));
  assert_ok(kdl_sym(lib, device, "saxpy", NULL, &saxpy));
  assert_ok(kdl_prefetch(saxpy));
  for (int i = 0; i < 4; ++i)
    assert_ok(kdl_alloc(device, bytes, &buffers[i]));
}

static inline int close_sequences(void **state) {
  (void)state;
  for (int i = 0; i < 4; ++i)
    assert_ok(kdl_free(&buffers[i]));
  kdl_queue_destroy(queue);
  kdl_close(lib);
  free(library_data);
  return 0;
}

/* y = 0; y += a x, from slot 2 to slot 3; then y += a z, of slot 4; and a copy of y to slot 5. */
static inline kdl_status make(kdl_sequence **out_sequence) {
  kdl_slot slot;
  const uint32_t count = n, zero = 0;
  kdl_sequence *sequence;
  kdl_status status = kdl_sequence_create(device, &sequence);
  if (status != KDL_OK)
    return status;
  status = kdl_sequence_add_scalar(sequence, "a", sizeof(float), &slot);
  for (int i = 0; i < 4 && status == KDL_OK; ++i)
    status = kdl_sequence_add_buffer(sequence, NULL, bytes, &slot);
  if (status == KDL_OK)
    status = kdl_sequence_fill(sequence, kdl_operand_slot(3), bytes, &zero, sizeof zero);
  for (kdl_slot from = 2; from <= 4 && status == KDL_OK; from += 2) {
    const kdl_operand args[] = {kdl_operand_slot(1), kdl_operand_slot(from), kdl_operand_slot(3),
                                KDL_VALUE(&count)};
    status = kdl_sequence_launch_items(sequence, saxpy, kdl_operand_items(kdl_extent1(n)), args, 4);
  }
  if (status == KDL_OK)
    status = kdl_sequence_copy(sequence, kdl_operand_slot(5), kdl_operand_slot(3), bytes);
  if (status == KDL_OK)
    status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    *out_sequence = sequence;
  else
    kdl_sequence_destroy(sequence);
  return status;
}

static inline kdl_status run(kdl_sequence *sequence, float a, int x, int y, int z, int copy) {
  const kdl_binding bindings[] = {KDL_BIND_SCALAR(1, &a), kdl_bind_buffer(2, buffers[x]),
                                  kdl_bind_buffer(3, buffers[y]), kdl_bind_buffer(4, buffers[z]),
                                  kdl_bind_buffer(5, buffers[copy])};
  return kdl_sequence_run(sequence, queue, bindings, 5);
}

static inline void write_numbers(void) {
  float ones[n], twos[n];
  for (int i = 0; i < n; ++i)
    ones[i] = 1, twos[i] = 2;
  assert_ok(kdl_write(queue, &buffers[0], 0, ones, bytes));
  assert_ok(kdl_write(queue, &buffers[1], 0, twos, bytes));
  assert_ok(kdl_sync(queue));
}

static inline void expect(int buffer, float number) {
  float host[n];
  assert_ok(kdl_read(queue, host, &buffers[buffer], 0, bytes));
  assert_ok(kdl_sync(queue));
  for (int i = 0; i < n; ++i)
    assert_true(host[i] == number);
}

static inline const char *replay_of(const kdl_sequence *sequence) {
  kdl_sequence_info info = {.size = sizeof info};
  assert_ok(kdl_sequence_get(sequence, &info));
  return info.replay;
}

/* saxpy twice by launches only, from slot 1 to slot 2, with the number of items in slot 3. */
static inline kdl_status make_launches(kdl_sequence **out_sequence) {
  kdl_slot slot;
  const uint32_t count = n;
  const float one = 1;
  kdl_sequence *sequence;
  kdl_status status = kdl_sequence_create(device, &sequence);
  if (status != KDL_OK)
    return status;
  for (int i = 0; i < 2 && status == KDL_OK; ++i)
    status = kdl_sequence_add_buffer(sequence, NULL, bytes, &slot);
  if (status == KDL_OK)
    status = kdl_sequence_add_items(sequence, NULL, &slot);
  const kdl_operand args[] = {KDL_VALUE(&one), kdl_operand_slot(1), kdl_operand_slot(2),
                              KDL_VALUE(&count)};
  for (int i = 0; i < 2 && status == KDL_OK; ++i)
    status = kdl_sequence_launch_items(
        sequence, saxpy, i ? kdl_operand_slot(3) : kdl_operand_items(kdl_extent1(n)), args, 4);
  if (status == KDL_OK)
    status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    *out_sequence = sequence;
  else
    kdl_sequence_destroy(sequence);
  return status;
}

static inline kdl_status run_launches(kdl_sequence *sequence, int x, int y, uint64_t items) {
  const kdl_binding bindings[] = {kdl_bind_buffer(1, buffers[x]), kdl_bind_buffer(2, buffers[y]),
                                  kdl_bind_items(3, kdl_extent1(items))};
  return kdl_sequence_run(sequence, queue, bindings, 3);
}

/* Runs one sequence from many threads, each on a queue of its own and bound to memory of its own in
 * turns, and looks at what each of them computed. */
typedef struct sequence_thread {
  pthread_t thread;
  kdl_sequence *sequence;
  kdl_status status;
  bool is_right;
} sequence_thread;

static inline kdl_status run_in_thread(kdl_sequence *sequence, bool *out_right) {
  enum { runs = 12 };
  kdl_queue *own;
  kdl_buffer memory[4] = {{0}};
  float host[n], factor = 0;
  const float one = 1;
  kdl_status status = kdl_queue_create(device, NULL, &own);
  if (status != KDL_OK)
    return status;
  for (int i = 0; i < 4 && status == KDL_OK; ++i)
    status = kdl_alloc(device, bytes, &memory[i]);
  for (int i = 0; i < 2 && status == KDL_OK; ++i)
    status = kdl_fill(own, &memory[i], 0, bytes, &one, sizeof one);
  for (int i = 0; i < runs && status == KDL_OK && *out_right; ++i) {
    int to = i / 3 % 2; /* the same three times */
    factor = (float)(1 + to);
    const kdl_binding bindings[] = {KDL_BIND_SCALAR(1, &factor), kdl_bind_buffer(2, memory[0]),
                                    kdl_bind_buffer(3, memory[2 + to]),
                                    kdl_bind_buffer(4, memory[1]),
                                    kdl_bind_buffer(5, memory[3 - to])};
    status = kdl_sequence_run(sequence, own, bindings, 5);
    if (status == KDL_OK)
      status = kdl_read(own, host, &memory[3 - to], 0, bytes);
    if (status == KDL_OK)
      status = kdl_sync(own);
    for (int k = 0; k < n && status == KDL_OK; ++k)
      *out_right &= host[k] == 2 * factor;
  }
  for (int i = 0; i < 4; ++i)
    (void)kdl_free(&memory[i]);
  kdl_queue_destroy(own);
  return status;
}

static inline void *sequence_thread_main(void *context) {
  sequence_thread *at = context;
  at->is_right = true;
  at->status = run_in_thread(at->sequence, &at->is_right);
  return NULL;
}

static inline void run_in_threads(void) {
  enum { threads = 16 };
  sequence_thread all[threads];
  kdl_sequence *sequence;
  assert_ok(make(&sequence));
  for (int i = 0; i < threads; ++i) {
    all[i] = (sequence_thread){.sequence = sequence};
    assert_int_equal(pthread_create(&all[i].thread, NULL, sequence_thread_main, &all[i]), 0);
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(all[i].thread, NULL);
    assert_int_equal(all[i].status, KDL_OK);
    assert_true(all[i].is_right);
  }
  kdl_sequence_destroy(sequence);
}

/* Each driver call fails once: the run reports it, with the error's name and number, or succeeds
 * without it; the next run is right, and nothing leaks. */
static inline void fail_each_call(int code, kdl_status expected, const char *name) {
  enum { most = 400 };
  unsigned alive = ask_fake("fake_alive"), told = 0;
  for (unsigned i = 1; i < most; ++i) {
    kdl_sequence *sequence = NULL;
    char rule[32];
    write_numbers();
    snprintf(rule, sizeof rule, "*:%u:%d", i, code);
    inject(rule);
    kdl_status status = make(&sequence);
    if (status == KDL_OK)
      status = run(sequence, 3, 0, 2, 1, 3);
    if (status == KDL_OK)
      status = run(sequence, 2, 1, 2, 0, 3);
    if (status == KDL_OK)
      status = run(sequence, 2, 1, 2, 0, 3);
    unsigned faults = ask_fake("fake_faults");
    inject("");
    if (status != KDL_OK) {
      ++told;
      assert_int_equal(status, expected);
      assert_int_equal(kdl_error_code(), code);
      assert_non_null(strstr(kdl_error_message(), name));
    }
    if (sequence) {
      write_numbers();
      assert_ok(run(sequence, 4, 0, 2, 1, 3));
      expect(3, 12);
    }
    kdl_sequence_destroy(sequence);
    if (ask_fake("fake_alive") != alive)
      fail_msg("call %u left something behind", i);
    if (!faults) {
      assert_true(told > 4);
      return;
    }
  }
  fail_msg("more calls than %d", most);
}

/* A sequence from a file, opened and run the first time, by a library of its own. */
static inline kdl_status open_and_run(const void *data, size_t size, kdl_library **out_lib,
                                      kdl_sequence **out_sequence) {
  kdl_status status = kdl_open_memory(data, size, NULL, out_lib);
  if (status == KDL_OK)
    status = kdl_sequence_open(*out_lib, device, NULL, out_sequence);
  if (status == KDL_OK)
    status = run(*out_sequence, 3, 0, 2, 1, 3);
  return status;
}

/* The same while a file is opened and run for the first time: each call fails once, and each and
 * all behind it. Nothing of it is left behind, but what a driver keeps that fails for good, and the
 * same file can be opened then. */
static inline void fail_each_call_of_a_file(int code, const char *name) {
  enum { most = 400 };
  kdl_sequence *sequence;
  void *data;
  size_t size;
  assert_ok(make(&sequence));
  assert_ok(kdl_sequence_save_memory(sequence, NULL, &data, &size));
  kdl_sequence_destroy(sequence);
  unsigned alive = ask_fake("fake_alive"), told = 0, faults = 1;
  for (unsigned i = 2; i < 2 * most && faults; ++i) {
    kdl_library *own = NULL;
    char rule[32];
    sequence = NULL;
    write_numbers();
    snprintf(rule, sizeof rule, "*:%u%s:%d", i / 2, i % 2 ? "" : "+", code);
    inject(rule);
    kdl_status status = open_and_run(data, size, &own, &sequence);
    faults = ask_fake("fake_faults");
    if (status != KDL_OK && faults) {
      ++told;
      if (!strstr(kdl_error_message(), name))
        fail_msg("%s: %s", rule, kdl_error_message());
    }
    if (i % 2)
      inject("");
    kdl_sequence_destroy(sequence);
    kdl_close(own);
    inject("");
    tell_fake("fake_heal");
    if (i % 2 && ask_fake("fake_alive") != alive)
      fail_msg("%s left something behind: %u objects, and there were %u", rule,
               ask_fake("fake_alive"), alive);
    alive = ask_fake("fake_alive");
  }
  assert_int_equal(faults, 0);
  assert_true(told > 4);
  kdl_library *own = NULL;
  sequence = NULL;
  write_numbers();
  assert_ok(open_and_run(data, size, &own, &sequence));
  expect(3, 9);
  kdl_sequence_destroy(sequence);
  kdl_close(own);
  assert_int_equal(ask_fake("fake_alive"), alive);
  free(data);
}

#endif
