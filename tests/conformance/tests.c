/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "check.h"

#include <kdl/extension.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

static const char *memory_round_trip(const suite *at) {
  enum { size = 100003 };
  static unsigned char out[size], back[size];
  kdl_buffer buffer;
  for (int i = 0; i < size; ++i)
    out[i] = (unsigned char)(i * 31);
  OK(kdl_alloc(at->device, size, &buffer));
  OK(kdl_write(at->queue, &buffer, 0, out, size));
  OK(kdl_read(at->queue, back, &buffer, 0, size));
  OK(kdl_sync(at->queue));
  HOLDS(memcmp(out, back, size) == 0);
  OK(kdl_write(at->queue, &buffer, 5, "kernel", 6));
  OK(kdl_read(at->queue, back, &buffer, 4, 8));
  OK(kdl_sync(at->queue));
  HOLDS(back[0] == out[4] && memcmp(back + 1, "kernel", 6) == 0 && back[7] == out[11]);
  OK(kdl_free(&buffer));
  HOLDS(buffer.address == 0);
  return NULL;
}

static const char *memory_bounds(const suite *at) {
  kdl_buffer buffer;
  char data[16] = {0};
  OK(kdl_alloc(at->device, 8, &buffer));
  HOLDS(kdl_write(at->queue, &buffer, 1, data, 8) == KDL_BAD_CALL);
  HOLDS(kdl_read(at->queue, data, &buffer, UINT64_MAX, 2) == KDL_BAD_CALL);
  HOLDS(kdl_fill(at->queue, &buffer, 0, 8, data, 3) == KDL_BAD_CALL);
  HOLDS(kdl_fill(at->queue, &buffer, 2, 4, data, 4) == KDL_BAD_CALL);
  OK(kdl_write(at->queue, &buffer, 8, data, 0));
  OK(kdl_free(&buffer));
  kdl_buffer none;
  OK(kdl_alloc(at->device, 0, &none));
  HOLDS(none.address == 0);
  OK(kdl_free(&none));
  return NULL;
}

static const char *memory_too_large(const suite *at) {
  kdl_buffer buffer = {1, 2, NULL};
  HOLDS(kdl_alloc(at->device, (uint64_t)1 << 60, &buffer) != KDL_OK);
  HOLDS(buffer.address == 1); /* written only on success */
  HOLDS(kdl_alloc(at->device, UINT64_MAX, &buffer) != KDL_OK);
  return NULL;
}

static const char *memory_fill_and_copy(const suite *at) {
  kdl_buffer a, b;
  static const unsigned char pattern[16] = "0123456789abcde";
  for (size_t size = 1; size <= 16; size *= 2) {
    unsigned char back[64];
    OK(kdl_alloc(at->device, 64, &a));
    OK(kdl_alloc(at->device, 64, &b));
    OK(kdl_fill(at->queue, &a, 0, 64, "-", 1));
    OK(kdl_fill(at->queue, &a, 16, 32, pattern, size));
    OK(kdl_copy(at->queue, &b, 1, &a, 0, 63));
    OK(kdl_read(at->queue, back, &b, 1, 63));
    OK(kdl_sync(at->queue));
    for (size_t i = 0; i < 63; ++i)
      HOLDS(back[i] == (i < 16 || i >= 48 ? '-' : pattern[(i - 16) % size]));
    OK(kdl_free(&a));
    OK(kdl_free(&b));
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

/* y = a x for n elements, with a marker behind that must stay. */
static const char *run_scale(const suite *at, kdl_queue *queue, uint32_t n, float a) {
  kdl_kernel *kernel;
  kdl_buffer x, y;
  float *host = malloc((n + 1) * sizeof *host);
  for (uint32_t i = 0; i <= n; ++i)
    host[i] = (float)(i % 1000);
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  OK(kdl_alloc(at->device, (n + 1) * sizeof *host, &x));
  OK(kdl_alloc(at->device, (n + 1) * sizeof *host, &y));
  OK(kdl_write(queue, &x, 0, host, (n + 1) * sizeof *host));
  OK(kdl_fill(queue, &y, 0, (n + 1) * sizeof *host, "\0\0\xc0\x7f", 4));
  OK(kdl_launch_items(kernel, queue, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &n)));
  OK(kdl_read(queue, host, &y, 0, (n + 1) * sizeof *host));
  OK(kdl_sync(queue));
  for (uint32_t i = 0; i < n; ++i)
    HOLDS(host[i] == a * (float)(i % 1000));
  HOLDS(host[n] != host[n]);
  OK(kdl_free(&x));
  OK(kdl_free(&y));
  free(host);
  return NULL;
}

static const char *launch_of_every_size(const suite *at) {
  static const uint32_t sizes[] = {1, 2, 63, 64, 65, 1000, 4096, 100001, 1000000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= at->largest; ++i) {
    const char *wrong = run_scale(at, at->queue, sizes[i], 1.5f + (float)i);
    if (wrong)
      return wrong;
  }
  return NULL;
}

static const char *launch_of_nothing(const suite *at) {
  kdl_kernel *kernel;
  float a = 1;
  uint32_t n = 0;
  kdl_buffer none = {0, 0, NULL};
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  OK(kdl_launch_items(kernel, at->queue, kdl_extent1(0), KDL_ARGS(&a, &none, &none, &n)));
  OK(kdl_sync(at->queue));
  return NULL;
}

static const char *launch_in_three_directions(const suite *at) {
  kdl_kernel *kernel;
  kdl_buffer out;
  uint32_t host[5 * 4 * 3];
  kdl_launch_desc desc = kdl_grid(5, 4, 3);
  OK(kdl_sym(at->lib, at->device, "place", NULL, &kernel));
  OK(kdl_alloc(at->device, sizeof host, &out));
  OK(kdl_launch(kernel, at->queue, &desc, KDL_ARGS(&out)));
  OK(kdl_read(at->queue, host, &out, 0, sizeof host));
  OK(kdl_sync(at->queue));
  for (uint32_t i = 0; i < 60; ++i)
    HOLDS(host[i] == i % 5 + 10 * (i / 5 % 4) + 100 * (i / 20));
  OK(kdl_free(&out));
  return NULL;
}

static const char *launch_on_the_default_queue(const suite *at) {
  enum { patience = 10000 };
  kdl_kernel *kernel;
  kdl_buffer out;
  uint32_t host = 7;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  kdl_args args = KDL_ARGS(&out);
  OK(kdl_sym(at->lib, at->device, "place", NULL, &kernel));
  OK(kdl_alloc(at->device, sizeof host, &out));
  OK(kdl_fill(at->queue, &out, 0, 4, "\7\0\0\0", 4));
  OK(kdl_sync(at->queue));
  OK(kdl_launch_call(kernel, NULL, &desc, &args));
  /* The queue has no handle to be waited for by: what was launched must get done all the same. */
  for (int i = 0; i < patience && host != 0; ++i) {
    OK(kdl_read(at->queue, &host, &out, 0, sizeof host));
    OK(kdl_sync(at->queue));
    nanosleep(&(struct timespec){0, host ? 1000000 : 0}, NULL);
  }
  HOLDS(host == 0);
  OK(kdl_free(&out));
  return NULL;
}

/* The word of a buffer is an address that can be reckoned with. */
static const char *launch_into_the_middle(const suite *at) {
  kdl_kernel *kernel;
  kdl_buffer x;
  float a = 4, host[2] = {2, 3};
  uint32_t n = 1;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  OK(kdl_alloc(at->device, sizeof host, &x));
  HOLDS(x.address % 16 == 0);
  OK(kdl_write(at->queue, &x, 0, host, sizeof host));
  uint64_t second = x.address + sizeof *host;
  OK(kdl_launch_items(kernel, at->queue, kdl_extent1(1), KDL_ARGS(&a, &x, &second, &n)));
  OK(kdl_read(at->queue, host, &x, 0, sizeof host));
  OK(kdl_sync(at->queue));
  HOLDS(host[0] == 2 && host[1] == 8);
  OK(kdl_free(&x));
  return NULL;
}

/* What is freed and allocated again is other memory, also at the same address. */
static const char *launch_on_fresh_memory(const suite *at) {
  kdl_kernel *kernel;
  float a = 3;
  uint32_t n = 1;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  for (int i = 0; i < 20; ++i) {
    kdl_buffer x, y;
    float host = (float)i;
    OK(kdl_alloc(at->device, sizeof host << (i % 3 * 4), &x));
    OK(kdl_alloc(at->device, sizeof host, &y));
    OK(kdl_write(at->queue, &x, 0, &host, sizeof host));
    OK(kdl_launch_items(kernel, at->queue, kdl_extent1(1), KDL_ARGS(&a, &x, &y, &n)));
    OK(kdl_read(at->queue, &host, &y, 0, sizeof host));
    OK(kdl_sync(at->queue));
    HOLDS(host == 3 * (float)i);
    OK(kdl_free(&x));
    OK(kdl_free(&y));
  }
  return NULL;
}

static const char *wrong_arguments(const suite *at) {
  kdl_kernel *kernel;
  float a = 1;
  uint32_t n = 1;
  kdl_buffer none = {0, 0, NULL};
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  const void *pointers[] = {&a, &none, &none, &n, &n};
  size_t sizes[] = {8, 8, 8, 4};
  kdl_args few = {3, pointers, NULL}, many = {5, pointers, NULL}, wide = {4, pointers, sizes};
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  HOLDS(kdl_launch_checked(kernel, at->queue, &desc, &few) == KDL_BAD_CALL);
  HOLDS(kdl_launch_checked(kernel, at->queue, &desc, &many) == KDL_BAD_CALL);
  HOLDS(kdl_launch_checked(kernel, at->queue, &desc, &wide) == KDL_BAD_CALL);
  HOLDS(strcmp(kdl_error_message(), "scale: argument 0: found 8 bytes, expected 4 (f32 ptr<f32> "
                                    "ptr<f32> u32)") == 0);
  return NULL;
}

/* Refused before the driver sees it, where the device says that it has none. */
static const char *cooperative_launch(const suite *at) {
  kdl_kernel *kernel;
  kdl_buffer out;
  uint32_t host[2] = {9, 9};
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  OK(kdl_sym(at->lib, at->device, "place", NULL, &kernel));
  OK(kdl_alloc(at->device, sizeof host, &out));
  kdl_status status = kdl_launch(kernel, at->queue, &desc, KDL_ARGS(&out));
  const char *wrong = status == KDL_OK ? NULL : complain("kdl_launch", kdl_error_message());
  OK(kdl_read(at->queue, host, &out, 0, sizeof host));
  OK(kdl_sync(at->queue));
  OK(kdl_free(&out));
  if (status == KDL_UNSUPPORTED && !strstr(kdl_device_spec_text(at->device), " cooperative=yes"))
    return NULL;
  if (wrong)
    return wrong;
  HOLDS(host[0] == 0 && host[1] == 1);
  return NULL;
}

static const char *what_runs_is_known(const suite *at) {
  kdl_kernel *kernel;
  kdl_kernel_info info = {.size = sizeof info};
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &kernel));
  OK(kdl_kernel_get(kernel, &info));
  HOLDS(strcmp(info.name, "scale") == 0 && info.param_count == 4 && info.position == 0);
  HOLDS(info.block[0] == 64 && info.tile[0] == 64 && info.tile[1] == 1);
  return NULL;
}

static const char *globals(const suite *at) {
  kdl_kernel *kernel;
  kdl_buffer weight, out;
  uint32_t five = 5, value = 7;
  OK(kdl_sym(at->lib, at->device, "weigh", NULL, &kernel));
  OK(kdl_global(kernel, "weight", &weight));
  HOLDS(weight.size == 4);
  OK(kdl_alloc(at->device, 4, &out));
  OK(kdl_write(at->queue, &weight, 0, &five, 4));
  OK(kdl_write(at->queue, &out, 0, &value, 4));
  OK(kdl_launch_items(kernel, at->queue, kdl_extent1(1), KDL_ARGS(&out)));
  OK(kdl_read(at->queue, &value, &out, 0, 4));
  OK(kdl_sync(at->queue));
  HOLDS(value == 35);
  OK(kdl_free(&out));
  HOLDS(kdl_global(kernel, "no_such_variable", &weight) == KDL_NO_MATCH);
  return NULL;
}

static const char *host_memory_is_copied(const suite *at) {
  enum { words = 4096 };
  kdl_buffer buffer;
  void *data;
  OK(kdl_alloc_host(at->device, words * sizeof(uint32_t), &data));
  HOLDS((uintptr_t)data % 64 == 0);
  uint32_t *numbers = data;
  for (uint32_t i = 0; i < words; ++i)
    numbers[i] = i * 3;
  OK(kdl_alloc(at->device, words * sizeof *numbers, &buffer));
  HOLDS(buffer.device == at->device);
  OK(kdl_write(at->queue, &buffer, 0, numbers, buffer.size));
  OK(kdl_sync(at->queue));
  memset(numbers, 0, buffer.size);
  OK(kdl_read(at->queue, numbers, &buffer, 0, buffer.size));
  OK(kdl_sync(at->queue));
  for (uint32_t i = 0; i < words; ++i)
    HOLDS(numbers[i] == i * 3);
  OK(kdl_free(&buffer));
  OK(kdl_free_host(at->device, data));
  return NULL;
}

/* Where it is told, it is told whole. */
static const char *memory_is_told(const suite *at) {
  uint64_t available = 0, total = 0;
  kdl_status status = kdl_memory_info(at->device, &available, &total);
  if (status != KDL_UNSUPPORTED)
    OK(status);
  HOLDS(available <= total);
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Queues, events, threads                                                                      */

static const char *events_tell_time(const suite *at) {
  kdl_event *start, *end;
  double ns = -1;
  OK(kdl_event_create(at->device, &start));
  OK(kdl_event_create(at->device, &end));
  OK(kdl_event_record(start, at->queue));
  const char *wrong = run_scale(at, at->queue, at->largest, 2);
  if (wrong)
    return wrong;
  OK(kdl_event_record(end, at->queue));
  OK(kdl_event_sync(end));
  OK(kdl_event_elapsed(start, end, &ns));
  HOLDS(ns > 1000 && ns < 60e9);
  kdl_event_destroy(start);
  kdl_event_destroy(end);
  return NULL;
}

static const char *events_are_asked_without_waiting(const suite *at) {
  kdl_event *event;
  int done = -1;
  OK(kdl_event_create(at->device, &event));
  OK(kdl_event_query(event, &done));
  HOLDS(done == 1); /* it holds nothing up */
  const char *wrong = run_scale(at, at->queue, at->largest, 2);
  if (wrong)
    return wrong;
  OK(kdl_event_record(event, at->queue));
  do {
    OK(kdl_event_query(event, &done));
    HOLDS(done == 0 || done == 1);
  } while (!done);
  OK(kdl_event_sync(event));
  OK(kdl_event_query(event, &done));
  HOLDS(done == 1);
  kdl_event_destroy(event);
  return NULL;
}

/* Launches of a tuner are measured by the device's events: each way is tried several times, which
 * takes that times are read. */
static const char *tuners_measure_launches(const suite *at) {
  enum { most_launches = 4000, least_trials = 3 };
  const char *name = "n";
  char few[32];
  const char *ways[] = {"all", few};
  kdl_select_opts opts = {.size = sizeof opts, .policy = KDL_POLICY_ADAPTIVE};
  const kdl_tuner_desc desc = {
      .size = sizeof desc, .names = &name, .name_count = 1, .way_count = 2, .ways = ways};
  const uint64_t numbers[] = {at->largest};
  uint32_t counts[] = {at->largest, 64}, used[2] = {0, 0};
  float a = 2;
  kdl_kernel *kernel;
  kdl_tuner *tuner;
  kdl_buffer x, y;
  snprintf(few, sizeof few, "few, %d", (int)getpid()); /* no other process has measured it */
  setenv("KDL_EXPLORE", "40,100%", 1);
  OK(kdl_sym(at->lib, at->device, "scale", &opts, &kernel));
  OK(kdl_tuner_create(kernel, &desc, &tuner));
  unsetenv("KDL_EXPLORE");
  if (!tuner)
    return NULL; /* built without it */
  OK(kdl_alloc(at->device, at->largest * sizeof a, &x));
  OK(kdl_alloc(at->device, at->largest * sizeof a, &y));
  for (int i = 0; i < most_launches && used[1] < least_trials; ++i) {
    kdl_tuner_launch launch;
    uint32_t way = kdl_tuner_begin(tuner, at->queue, numbers, 0, &launch);
    ++used[way];
    kdl_status status = kdl_launch_items(kernel, at->queue, kdl_extent1(counts[way]),
                                         KDL_ARGS(&a, &x, &y, &counts[way]));
    HOLDS(!kdl_tuner_end(tuner, at->queue, &launch, status));
    OK(status);
    if (i % 4 == 3)
      OK(kdl_sync(at->queue));
  }
  kdl_tuner_destroy(tuner);
  OK(kdl_sync(at->queue));
  HOLDS(used[0] && used[1] >= least_trials);
  OK(kdl_free(&x));
  OK(kdl_free(&y));
  return NULL;
}

static const char *queues_wait_for_events(const suite *at) {
  kdl_queue *other;
  kdl_event *event;
  kdl_buffer a, b;
  uint32_t value = 0;
  OK(kdl_queue_create(at->device, NULL, &other));
  OK(kdl_event_create(at->device, &event));
  OK(kdl_alloc(at->device, 4, &a));
  OK(kdl_alloc(at->device, 4, &b));
  OK(kdl_fill(at->queue, &a, 0, 4, "\x2a\0\0\0", 4));
  OK(kdl_event_record(event, at->queue));
  OK(kdl_event_wait(event, other));
  OK(kdl_copy(other, &b, 0, &a, 0, 4));
  OK(kdl_read(other, &value, &b, 0, 4));
  OK(kdl_sync(other));
  HOLDS(value == 42);
  OK(kdl_free(&a));
  OK(kdl_free(&b));
  kdl_event_destroy(event);
  kdl_queue_destroy(other);
  return NULL;
}

typedef struct {
  const suite *at;
  const char *wrong;
  char words[512]; /* complain's own end with the thread */
} visitor;

static void *visit(void *user) {
  visitor *self = user;
  kdl_queue *queue;
  if (kdl_queue_create(self->at->device, NULL, &queue) != KDL_OK) {
    self->wrong = "kdl_queue_create";
    return NULL;
  }
  for (uint32_t i = 0; i < 10 && !self->wrong; ++i)
    self->wrong = run_scale(self->at, queue, 100 + i * 977, (float)i);
  if (self->wrong) {
    snprintf(self->words, sizeof self->words, "%s", self->wrong);
    self->wrong = self->words;
  }
  kdl_queue_destroy(queue);
  return NULL;
}

static const char *fresh_threads_can_launch(const suite *at) {
  enum { count = 8 };
  pthread_t threads[count];
  visitor visitors[count];
  for (int i = 0; i < count; ++i) {
    visitors[i] = (visitor){.at = at};
    HOLDS(pthread_create(&threads[i], NULL, visit, &visitors[i]) == 0);
  }
  for (int i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i) {
    if (visitors[i].wrong)
      return complain("a thread", visitors[i].wrong);
  }
  return NULL;
}

const suite_test suite_tests[] = {
#define TEST(name) {#name, name}
    TEST(memory_round_trip),
    TEST(memory_bounds),
    TEST(memory_too_large),
    TEST(memory_fill_and_copy),
    TEST(launch_of_every_size),
    TEST(launch_of_nothing),
    TEST(launch_in_three_directions),
    TEST(launch_on_the_default_queue),
    TEST(launch_into_the_middle),
    TEST(launch_on_fresh_memory),
    TEST(wrong_arguments),
    TEST(cooperative_launch),
    TEST(what_runs_is_known),
    TEST(globals),
    TEST(host_memory_is_copied),
    TEST(memory_is_told),
    TEST(events_tell_time),
    TEST(events_are_asked_without_waiting),
    TEST(tuners_measure_launches),
    TEST(queues_wait_for_events),
    TEST(fresh_threads_can_launch),
    TEST(sequence_runs_as_bound),
    TEST(sequence_copies_and_fills),
    TEST(sequence_of_memory_in_the_middle),
    TEST(sequence_forks_and_nests),
    TEST(sequence_records_events),
    TEST(sequence_launches_cooperatively),
    TEST(sequence_of_as_many_items_as_bound),
    TEST(sequence_refuses_wrong_bindings),
    TEST(sequence_runs_on_several_queues),
    TEST(sequence_is_captured),
    TEST(sequence_repeats),
#undef TEST
};
const size_t suite_test_count = sizeof suite_tests / sizeof *suite_tests;
