/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Trace buffers: records of many threads, read while they are written. tests/trace covers
 * processes. A process is traced once: the tests share one trace. */
#include "support.h"

#include "ext/trace/trace.h"
#include "ext/trace/traced_device.h"

#include <pthread.h>
#include <unistd.h>

enum { thread_count = 8, spans_each = 4000 };

static char folder[] = "/tmp/kdl-trace-XXXXXX";
static char path[64];

static uint64_t count_records(void) {
  uint64_t count = 0;
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next) {
    for (kdl_trace_chunk *chunk = buffer->first; chunk; chunk = atomic_load(&chunk->next))
      count += atomic_load(&chunk->count);
  }
  return count;
}

/* The value of a key in the file's header. */
static uint64_t said(const char *key) {
  size_t size;
  char *text = (char *)read_file(path, &size);
  text[size] = '\0';
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char *at = strstr(text, quoted);
  if (!at)
    fail_msg("found no %s in %.200s", key, text);
  uint64_t number = strtoull(at + strlen(quoted), NULL, 10);
  free(text);
  return number;
}

static int start(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return 1;
  snprintf(path, sizeof path, "%s/trace.json", folder);
  kdl_trace_settings settings = {.path = path, .bytes = (uint64_t)64 << 20};
  return kdl_trace_start(&settings) == KDL_OK ? 0 : 1;
}

static int end(void **state) {
  (void)state;
  unlink(path);
  rmdir(folder);
  kdl_trace_started = false; /* the process ends without writing it again */
  return 0;
}

static void *make_spans(void *user) {
  const kdl_trace_subject *subject = user;
  for (unsigned i = 0; i < spans_each; ++i)
    kdl_trace_span(KDL_TRACE_PHASE_WRITE, subject, kdl_trace_ticks(), subject, i, KDL_OK);
  return NULL;
}

static void threads_record_while_another_saves(void **state) {
  (void)state;
  pthread_t threads[thread_count];
  const kdl_trace_subject *subject =
      kdl_trace_subject_intern(&(kdl_trace_phase_info){.device = "d"});
  kdl_trace_span(KDL_TRACE_PHASE_WRITE, subject, kdl_trace_ticks(), subject, 1, KDL_OK);
  uint64_t before = count_records();
  for (int i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, make_spans, (void *)(uintptr_t)subject), 0);
  unlink(path);
  for (int i = 0; i < 3; ++i) {
    assert_ok(kdl_trace_save());
    assert_true(said("events") <= thread_count * spans_each + before);
    unlink(path);
  }
  for (int i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  assert_int_equal(count_records(), before + thread_count * spans_each);
  assert_ok(kdl_trace_save());
  assert_int_equal(said("events"), before + thread_count * spans_each);
  assert_int_equal(said("dropped"), 0);
  unlink(path);
}

static void a_thread_that_ended_leaves_its_buffer(void **state) {
  (void)state;
  size_t buffers = 0, after = 0;
  pthread_t thread;
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next)
    ++buffers;
  for (int i = 0; i < 20; ++i) {
    pthread_create(&thread, NULL, make_spans, (void *)(uintptr_t)kdl_trace_subject_intern(NULL));
    pthread_join(thread, NULL);
  }
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next)
    ++after;
  assert_true(after <= buffers + 1);
}

static void equal_subjects_are_one(void **state) {
  (void)state;
  char name[] = "saxpy";
  kdl_trace_phase_info about = {.kernel = name, .library = "l", .has_image = true, .image = 3};
  const kdl_trace_subject *first = kdl_trace_subject_intern(&about);
  about.bytes = 5; /* is the record's */
  assert_ptr_equal(kdl_trace_subject_intern(&about), first);
  name[0] = 'S';
  assert_ptr_not_equal(kdl_trace_subject_intern(&about), first);
  assert_string_equal(first->info.kernel, "saxpy");
  about.image = 4;
  assert_ptr_not_equal(kdl_trace_subject_intern(&about), first);
}

static void subjects_have_a_limit(void **state) {
  (void)state;
  uint64_t lost = kdl_trace_subjects_lost();
  char name[32];
  for (int i = 0; i < KDL_TRACE_SUBJECT_LIMIT + 10; ++i) {
    snprintf(name, sizeof name, "k%d", i);
    assert_non_null(kdl_trace_subject_intern(&(kdl_trace_phase_info){.kernel = name}));
  }
  assert_true(kdl_trace_subjects_lost() - lost >= 10);
  assert_true(kdl_trace_subjects_lost() - lost < 40);
}

static void layers_nest(void **state) {
  (void)state;
  uint64_t before = count_records();
  for (int i = 0; i < 20; ++i) /* deeper than is kept */
    kdl_trace_phase_begin(KDL_TRACE_PHASE_ENUMERATE);
  for (int i = 0; i < 20; ++i)
    kdl_trace_phase_end(KDL_TRACE_PHASE_ENUMERATE, NULL);
  kdl_trace_phase_end(KDL_TRACE_PHASE_ENUMERATE, NULL); /* one too many */
  assert_int_equal(count_records() - before, 16);
}

static void ticks_become_nanoseconds(void **state) {
  (void)state;
  kdl_trace_timestamp first = kdl_trace_now();
  usleep(20000);
  kdl_trace_timestamp last = kdl_trace_now();
  kdl_trace_scale scale = kdl_trace_scale_at(last);
  double by_ticks =
      kdl_trace_scale_ns(&scale, last.ticks) - kdl_trace_scale_ns(&scale, first.ticks);
  double by_clock = (double)(last.ns - first.ns);
  assert_true(by_ticks > by_clock * 0.99 && by_ticks < by_clock * 1.01);
}

static void names_from_files_are_json(void **state) {
  (void)state;
  const kdl_trace_subject *subject = kdl_trace_subject_intern(
      &(kdl_trace_phase_info){.library = "a\"b\\c\n\x01", .device = "\xff\xc3\xa9"});
  kdl_trace_span(KDL_TRACE_PHASE_READ, subject, kdl_trace_ticks(), NULL, 1, KDL_DEVICE);
  unlink(path);
  assert_ok(kdl_trace_save());
  size_t size;
  char *text = (char *)read_file(path, &size);
  text[size] = '\0';
  assert_non_null(strstr(text, "\"library\":\"a\\\"b\\\\c\\n\\u0001\",\"device\":"
                               "\"\\ufffd\xc3\xa9\",\"bytes\":1,\"failed\":true"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_record_while_another_saves),
      cmocka_unit_test(a_thread_that_ended_leaves_its_buffer),
      cmocka_unit_test(equal_subjects_are_one),
      cmocka_unit_test(names_from_files_are_json),
      cmocka_unit_test(subjects_have_a_limit),
      cmocka_unit_test(layers_nest),
      cmocka_unit_test(ticks_become_nanoseconds),
  };
  return cmocka_run_group_tests(tests, start, end);
}
