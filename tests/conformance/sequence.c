/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences: the same numbers as launches one by one. */
#include "check.h"

#include <kdl/sequence.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { n = 1000, bytes = n * sizeof(float) };

/* y = a * x, over and over: `count` launches that go from x to y and back. */
typedef struct {
  kdl_sequence *sequence;
  kdl_slot a, x, y;
} chain;

static const char *record_chain(const suite *at, uint32_t count, chain *out) {
  kdl_kernel *scale;
  uint32_t items = n;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &scale));
  OK(kdl_sequence_create(at->device, &out->sequence));
  OK(kdl_sequence_add_scalar(out->sequence, "a", sizeof(float), &out->a));
  OK(kdl_sequence_add_buffer(out->sequence, "x", bytes, &out->x));
  OK(kdl_sequence_add_buffer(out->sequence, "y", bytes, &out->y));
  for (uint32_t i = 0; i < count; ++i) {
    const kdl_operand args[] = {kdl_operand_slot(out->a), kdl_operand_slot(i % 2 ? out->y : out->x),
                                kdl_operand_slot(i % 2 ? out->x : out->y), KDL_VALUE(&items)};
    OK(kdl_sequence_launch_items(out->sequence, scale, kdl_operand_items(kdl_extent1(n)), args, 4));
  }
  OK(kdl_sequence_finish(out->sequence));
  return NULL;
}

/* Memory that a kernel alone writes is written first too: Oclgrind 21.10 knows of memory what it
 * knew of memory that was freed there (docs/upstream-bugs.md). */
static const char *write_ramp(kdl_queue *queue, const kdl_buffer *buffer) {
  float host[n];
  for (int i = 0; i < n; ++i)
    host[i] = (float)i;
  OK(kdl_write(queue, buffer, 0, host, bytes));
  OK(kdl_sync(queue));
  return NULL;
}

/* Whether the buffer holds `factor` times the ramp. */
static const char *expect_ramp(kdl_queue *queue, const kdl_buffer *buffer, float factor) {
  float host[n];
  OK(kdl_read(queue, host, buffer, 0, bytes));
  OK(kdl_sync(queue));
  for (int i = 0; i < n; ++i)
    HOLDS(host[i] == factor * (float)i);
  return NULL;
}

static const char *run_chain(const chain *of, kdl_queue *queue, float a, const kdl_buffer *x,
                             const kdl_buffer *y, float factor) {
  const kdl_binding bindings[] = {KDL_BIND_SCALAR(of->a, &a), kdl_bind_buffer(of->x, *x),
                                  kdl_bind_buffer(of->y, *y)};
  const char *wrong = write_ramp(queue, x);
  if (wrong)
    return wrong;
  OK(kdl_sequence_run(of->sequence, queue, bindings, 3));
  return expect_ramp(queue, y, factor);
}

const char *sequence_runs_as_bound(const suite *at) {
  chain of;
  kdl_buffer x, y, z;
  kdl_sequence_info info = {.size = sizeof info};
  const char *wrong = record_chain(at, 5, &of);
  if (wrong)
    return wrong;
  OK(kdl_sequence_get(of.sequence, &info));
  HOLDS(info.slot_count == 3 && info.node_count == 5 && info.launch_count == 5);
  OK(kdl_alloc(at->device, bytes, &x));
  OK(kdl_alloc(at->device, bytes, &y));
  OK(kdl_alloc(at->device, bytes, &z));
  if ((wrong = write_ramp(at->queue, &y)) || (wrong = write_ramp(at->queue, &z)) ||
      (wrong = run_chain(&of, at->queue, 2, &x, &y, 32)) || /* everything is new */
      (wrong = run_chain(&of, at->queue, 2, &x, &y, 32)) || /* nothing is */
      (wrong = run_chain(&of, at->queue, 3, &x, &y, 243)) ||
      (wrong = run_chain(&of, at->queue, 3, &x, &z, 243)) ||
      (wrong = run_chain(&of, at->queue, 2, &z, &x, 32)))
    return wrong;
  OK(kdl_sequence_get(of.sequence, &info));
  HOLDS(info.replay);
  kdl_sequence_destroy(of.sequence);
  OK(kdl_free(&x));
  OK(kdl_free(&y));
  OK(kdl_free(&z));
  return NULL;
}

const char *sequence_copies_and_fills(const suite *at) {
  enum { count = 64 };
  kdl_sequence *sequence;
  kdl_slot to, in, out;
  kdl_buffer constant, bound[2];
  const uint64_t pattern[2] = {0x0102030405060708, 0x1112131415161718};
  uint8_t host_in[count], host_out[2 * count], expected[2 * count];
  OK(kdl_alloc(at->device, 2 * count, &constant));
  for (int i = 0; i < 2; ++i)
    OK(kdl_alloc(at->device, 2 * count, &bound[i]));
  OK(kdl_sequence_create(at->device, &sequence));
  OK(kdl_sequence_add_buffer(sequence, "to", 0, &to));
  OK(kdl_sequence_add_host(sequence, "in", 0, &in));
  OK(kdl_sequence_add_host(sequence, "out", 0, &out));
  OK(kdl_sequence_fill(sequence, kdl_operand_buffer(constant), 2 * count, pattern, 16));
  OK(kdl_sequence_copy(sequence, kdl_operand_buffer_offset(constant, count), kdl_operand_slot(in),
                       count));
  OK(kdl_sequence_copy(sequence, kdl_operand_slot(to), kdl_operand_buffer(constant), 2 * count));
  OK(kdl_sequence_fill(sequence, kdl_operand_slot_offset(to, 4), 4, pattern, 1));
  OK(kdl_sequence_copy(sequence, kdl_operand_slot(out), kdl_operand_slot(to), 2 * count));
  OK(kdl_sequence_finish(sequence));
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 0; i < count; ++i)
      host_in[i] = (uint8_t)(i * 7 + pass);
    const kdl_binding bindings[] = {kdl_bind_buffer(to, bound[pass % 2]),
                                    kdl_bind_host(in, host_in, sizeof host_in),
                                    kdl_bind_host(out, host_out, sizeof host_out)};
    memset(host_out, 0, sizeof host_out);
    OK(kdl_sequence_run(sequence, at->queue, bindings, 3));
    OK(kdl_sync(at->queue));
    for (int i = 0; i < count; i += 16)
      memcpy(expected + i, pattern, 16);
    memcpy(expected + count, host_in, count);
    memset(expected + 4, 0x08, 4);
    HOLDS(memcmp(host_out, expected, sizeof expected) == 0);
  }
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&constant));
  for (int i = 0; i < 2; ++i)
    OK(kdl_free(&bound[i]));
  return NULL;
}

/* One slot that several arguments are parts of. */
const char *sequence_of_memory_in_the_middle(const suite *at) {
  kdl_kernel *scale;
  kdl_sequence *sequence;
  kdl_slot whole;
  kdl_buffer buffer;
  uint32_t items = n;
  float a = 2;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &scale));
  OK(kdl_sequence_create(at->device, &sequence));
  OK(kdl_sequence_add_buffer(sequence, "whole", 3 * 4096, &whole));
  const kdl_operand first[] = {KDL_VALUE(&a), kdl_operand_slot(whole),
                               kdl_operand_slot_offset(whole, 4096), KDL_VALUE(&items)};
  const kdl_operand second[] = {KDL_VALUE(&a), kdl_operand_slot_offset(whole, 4096),
                                kdl_operand_slot_offset(whole, 8192), KDL_VALUE(&items)};
  OK(kdl_sequence_launch_items(sequence, scale, kdl_operand_items(kdl_extent1(n)), first, 4));
  OK(kdl_sequence_launch_items(sequence, scale, kdl_operand_items(kdl_extent1(n)), second, 4));
  OK(kdl_sequence_finish(sequence));
  OK(kdl_alloc(at->device, 3 * 4096, &buffer));
  const kdl_binding binding = kdl_bind_buffer(whole, buffer);
  const char *wrong = write_ramp(at->queue, &buffer);
  if (!wrong && kdl_sequence_run(sequence, at->queue, &binding, 1) != KDL_OK)
    wrong = complain("kdl_sequence_run", kdl_error_message());
  if (!wrong) {
    float host[n];
    OK(kdl_read(at->queue, host, &buffer, 8192, bytes));
    OK(kdl_sync(at->queue));
    for (int i = 0; i < n; ++i)
      HOLDS(host[i] == 4 * (float)i);
  }
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&buffer));
  return wrong;
}

/* Four branches from one buffer to four, twice: by itself and inside another. */
const char *sequence_forks_and_nests(const suite *at) {
  enum { branches = 4 };
  kdl_kernel *scale;
  kdl_sequence *inner, *outer;
  kdl_slot from, factor, outer_from;
  kdl_buffer to[branches], source;
  uint32_t items = n;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &scale));
  OK(kdl_alloc(at->device, bytes, &source));
  for (int i = 0; i < branches; ++i)
    OK(kdl_alloc(at->device, bytes, &to[i]));
  OK(kdl_sequence_create(at->device, &inner));
  OK(kdl_sequence_add_buffer(inner, "from", bytes, &from));
  OK(kdl_sequence_add_scalar(inner, "factor", sizeof(float), &factor));
  OK(kdl_sequence_fork(inner));
  for (int i = 0; i < branches; ++i) {
    const kdl_operand args[] = {kdl_operand_slot(factor), kdl_operand_slot(from),
                                kdl_operand_buffer(to[i]), KDL_VALUE(&items)};
    if (i)
      OK(kdl_sequence_branch(inner));
    OK(kdl_sequence_launch_items(inner, scale, kdl_operand_items(kdl_extent1(n)), args, 4));
  }
  OK(kdl_sequence_join(inner));
  OK(kdl_sequence_copy(inner, kdl_operand_buffer(source), kdl_operand_buffer(to[branches - 1]),
                       bytes));
  OK(kdl_sequence_finish(inner));
  float two = 2, three = 3;
  OK(kdl_sequence_create(at->device, &outer));
  OK(kdl_sequence_add_buffer(outer, NULL, 0, &outer_from));
  const kdl_operand first[] = {kdl_operand_slot(outer_from), KDL_VALUE(&two)};
  const kdl_operand second[] = {kdl_operand_buffer(source), KDL_VALUE(&three)};
  OK(kdl_sequence_nest(outer, inner, first, 2));
  OK(kdl_sequence_nest(outer, inner, second, 2));
  OK(kdl_sequence_finish(outer));
  kdl_sequence_info info = {.size = sizeof info};
  OK(kdl_sequence_get(outer, &info));
  HOLDS(info.node_count == 12 && info.launch_count == 8);
  const char *wrong = write_ramp(at->queue, &source);
  const kdl_binding bindings[] = {KDL_BIND_SCALAR(factor, &two), kdl_bind_buffer(from, source)};
  if (!wrong)
    OK(kdl_sequence_run(inner, at->queue, bindings, 2)); /* in another order than the slots' */
  for (int i = 0; i < branches && !wrong; ++i)
    wrong = expect_ramp(at->queue, &to[i], 2);
  kdl_sequence_destroy(inner);
  const kdl_binding again = kdl_bind_buffer(outer_from, source);
  if (!wrong)
    OK(kdl_sequence_run(outer, at->queue, &again, 1));
  for (int i = 0; i < branches && !wrong; ++i)
    wrong = expect_ramp(at->queue, &to[i], 12);
  kdl_sequence_destroy(outer);
  for (int i = 0; i < branches; ++i)
    OK(kdl_free(&to[i]));
  OK(kdl_free(&source));
  return wrong;
}

const char *sequence_records_events(const suite *at) {
  kdl_sequence *sequence;
  kdl_event *begin, *end;
  kdl_buffer buffer;
  double ns = -1;
  const uint32_t word = 7;
  OK(kdl_alloc(at->device, bytes, &buffer));
  OK(kdl_event_create(at->device, &begin));
  OK(kdl_event_create(at->device, &end));
  OK(kdl_event_record(begin, at->queue));
  OK(kdl_sequence_create(at->device, &sequence));
  OK(kdl_sequence_event_wait(sequence, begin));
  OK(kdl_sequence_fill(sequence, kdl_operand_buffer(buffer), bytes, &word, sizeof word));
  OK(kdl_sequence_event_record(sequence, end));
  OK(kdl_sequence_finish(sequence));
  OK(kdl_sequence_run(sequence, at->queue, NULL, 0));
  OK(kdl_event_sync(end));
  OK(kdl_event_elapsed(begin, end, &ns));
  HOLDS(ns >= 0);
  kdl_sequence_destroy(sequence);
  kdl_event_destroy(begin);
  kdl_event_destroy(end);
  OK(kdl_free(&buffer));
  return NULL;
}

const char *sequence_launches_cooperatively(const suite *at) {
  kdl_kernel *place;
  kdl_sequence *sequence;
  kdl_buffer out;
  uint32_t host[2] = {9, 9};
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  desc.flags = KDL_LAUNCH_COOPERATIVE;
  OK(kdl_sym(at->lib, at->device, "place", NULL, &place));
  OK(kdl_alloc(at->device, sizeof host, &out));
  OK(kdl_sequence_create(at->device, &sequence));
  const kdl_operand arg = kdl_operand_buffer(out);
  OK(kdl_sequence_launch(sequence, place, &desc, &arg, 1));
  kdl_status status = kdl_sequence_finish(sequence);
  if (status == KDL_OK)
    status = kdl_sequence_run(sequence, at->queue, NULL, 0);
  const char *wrong = status == KDL_OK ? NULL : complain("kdl_sequence_run", kdl_error_message());
  OK(kdl_read(at->queue, host, &out, 0, sizeof host));
  OK(kdl_sync(at->queue));
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&out));
  if (status == KDL_UNSUPPORTED && !strstr(kdl_device_spec_text(at->device), " cooperative=yes"))
    return NULL;
  if (wrong)
    return wrong;
  HOLDS(host[0] == 0 && host[1] == 1);
  return NULL;
}

const char *sequence_of_as_many_items_as_bound(const suite *at) {
  static const uint32_t counts[] = {1, 0, 65, 0, 0, 1000, 64, 1000};
  kdl_kernel *scale;
  kdl_sequence *sequence;
  kdl_slot items, number, to;
  kdl_buffer x, y[2];
  float a = 3, host[n];
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &scale));
  OK(kdl_alloc(at->device, bytes, &x));
  for (int i = 0; i < 2; ++i)
    OK(kdl_alloc(at->device, bytes, &y[i]));
  OK(kdl_sequence_create(at->device, &sequence));
  OK(kdl_sequence_add_items(sequence, "items", &items));
  OK(kdl_sequence_add_scalar(sequence, "n", sizeof(uint32_t), &number));
  OK(kdl_sequence_add_buffer(sequence, "to", bytes, &to));
  const uint32_t none = 0xffffffff; /* a NaN */
  const kdl_operand args[] = {KDL_VALUE(&a), kdl_operand_buffer(x), kdl_operand_slot(to),
                              kdl_operand_slot(number)};
  OK(kdl_sequence_fill(sequence, kdl_operand_slot(to), bytes, &none, sizeof none));
  OK(kdl_sequence_launch_items(sequence, scale, kdl_operand_slot(items), args, 4));
  OK(kdl_sequence_finish(sequence));
  const char *wrong = write_ramp(at->queue, &x);
  for (size_t i = 0; i < sizeof counts / sizeof *counts && !wrong; ++i) {
    const kdl_binding bindings[] = {kdl_bind_items(items, kdl_extent1(counts[i])),
                                    KDL_BIND_SCALAR(number, &counts[i]),
                                    kdl_bind_buffer(to, y[i % 2])};
    OK(kdl_sequence_run(sequence, at->queue, bindings, 3));
    OK(kdl_read(at->queue, host, &y[i % 2], 0, bytes));
    OK(kdl_sync(at->queue));
    for (uint32_t k = 0; k < n; ++k)
      HOLDS(k < counts[i] ? host[k] == 3 * (float)k : host[k] != host[k]);
  }
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&x));
  for (int i = 0; i < 2; ++i)
    OK(kdl_free(&y[i]));
  return wrong;
}

const char *sequence_refuses_wrong_bindings(const suite *at) {
  chain of;
  kdl_buffer x, small;
  kdl_device *elsewhere = NULL;
  float a = 1;
  double wide = 1;
  const char *wrong = record_chain(at, 1, &of);
  if (wrong)
    return wrong;
  OK(kdl_alloc(at->device, bytes, &x));
  OK(kdl_alloc(at->device, bytes - 1, &small));
  kdl_buffer foreign = kdl_buffer_adopt(elsewhere, x.address, x.size);
  const struct {
    kdl_binding bindings[3];
    size_t count;
    const char *words;
  } cases[] = {
      {{KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, x)}, 2, "slot 3 (\"y\") is not bound"},
      {{KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, x), kdl_bind_buffer(of.x, x)},
       3,
       "slot 2 (\"x\") is bound twice"},
      {{KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, x), kdl_bind_buffer(4, x)},
       3,
       "binding 2: found slot 4, expected one of 1 to 3"},
      {{KDL_BIND_SCALAR(of.a, &wide), kdl_bind_buffer(of.x, x), kdl_bind_buffer(of.y, x)},
       3,
       "slot 1 (\"a\"): found 8 bytes, expected 4"},
      {{KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, x), kdl_bind_buffer(of.y, small)},
       3,
       "slot 3 (\"y\"): found 3999 bytes, expected at least 4000"},
      {{KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, foreign), kdl_bind_buffer(of.y, x)},
       3,
       "slot 2 (\"x\"): found a buffer of no device, expected one of "},
      {{kdl_bind_scalar(of.a, NULL, 4), kdl_bind_buffer(of.x, x), kdl_bind_buffer(of.y, x)},
       3,
       "slot 1 (\"a\"): found NULL, expected a value"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    HOLDS(kdl_sequence_run(of.sequence, at->queue, cases[i].bindings, cases[i].count) ==
          KDL_BAD_CALL);
    if (!strstr(kdl_error_message(), cases[i].words))
      return complain(cases[i].words, kdl_error_message());
  }
  kdl_sequence_destroy(of.sequence);
  OK(kdl_free(&x));
  OK(kdl_free(&small));
  return NULL;
}

typedef struct {
  const suite *at;
  const chain *of;
  uint32_t number;
  const char *wrong;
  char words[3000];
} runner;

static const char *run_often(const runner *self) {
  kdl_queue *queue;
  kdl_buffer x, y;
  const char *wrong = NULL;
  OK(kdl_queue_create(self->at->device, NULL, &queue));
  OK(kdl_alloc(self->at->device, bytes, &x));
  OK(kdl_alloc(self->at->device, bytes, &y));
  for (uint32_t i = 0; i < 10 && !wrong; ++i) {
    float a = (float)((self->number + i / 2) % 5);
    wrong = run_chain(self->of, queue, a, &x, &y, a * a * a);
  }
  kdl_queue_destroy(queue);
  OK(kdl_free(&x));
  OK(kdl_free(&y));
  return wrong;
}

static void *run_thread(void *user) {
  runner *self = user;
  const char *wrong = run_often(self);
  if (wrong) {
    snprintf(self->words, sizeof self->words, "%s", wrong);
    self->wrong = self->words;
  }
  return NULL;
}

const char *sequence_runs_on_several_queues(const suite *at) {
  enum { count = 12 };
  pthread_t threads[count];
  runner runners[count];
  chain of;
  const char *wrong = record_chain(at, 3, &of);
  if (wrong)
    return wrong;
  for (uint32_t i = 0; i < count; ++i) {
    runners[i] = (runner){.at = at, .of = &of, .number = i};
    HOLDS(pthread_create(&threads[i], NULL, run_thread, &runners[i]) == 0);
  }
  for (int i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i) {
    if (runners[i].wrong)
      return complain("a thread", runners[i].wrong);
  }
  kdl_sequence_destroy(of.sequence);
  return NULL;
}

/* Ordinary calls, recorded and run twice, with the second buffer a slot. */
const char *sequence_is_captured(const suite *at) {
  kdl_kernel *scale, *place;
  kdl_sequence *sequence;
  kdl_queue *queue;
  kdl_slot slot;
  kdl_buffer x, y, z, cells;
  kdl_sequence_info info = {.size = sizeof info};
  uint32_t items = n, host_cells[2] = {9, 9};
  float a = 2;
  const uint32_t word = 7;
  kdl_launch_desc desc = kdl_grid(2, 1, 1);
  chain of;
  const char *wrong = record_chain(at, 2, &of);
  if (wrong)
    return wrong;
  OK(kdl_sym(at->lib, at->device, "scale", NULL, &scale));
  OK(kdl_sym(at->lib, at->device, "place", NULL, &place));
  OK(kdl_queue_create(at->device, NULL, &queue));
  OK(kdl_alloc(at->device, bytes, &x));
  OK(kdl_alloc(at->device, bytes, &y));
  OK(kdl_alloc(at->device, bytes, &z));
  OK(kdl_alloc(at->device, sizeof host_cells, &cells));
  if ((wrong = write_ramp(at->queue, &y)) || (wrong = write_ramp(at->queue, &z)))
    return wrong;
  OK(kdl_fill(at->queue, &cells, 0, sizeof host_cells, &word, sizeof word));
  OK(kdl_sync(at->queue));
  HOLDS(kdl_capture_end(queue, &sequence) == KDL_BAD_CALL);
  OK(kdl_capture_begin(queue));
  HOLDS(kdl_capture_begin(queue) == KDL_BAD_CALL);
  HOLDS(kdl_sync(queue) == KDL_BAD_CALL);
  OK(kdl_capture_add_slot(queue, &y, "y", &slot));
  HOLDS(kdl_capture_add_slot(queue, &y, "again", &slot) == KDL_BAD_CALL);
  OK(kdl_launch_items(scale, queue, kdl_extent1(n), KDL_ARGS(&a, &x, &y, &items)));
  OK(kdl_launch(place, queue, &desc, KDL_ARGS(&cells)));
  OK(kdl_fill(queue, &x, 0, 4, &word, sizeof word));
  OK(kdl_copy(queue, &x, 0, &y, 0, bytes));
  const kdl_binding bindings[] = {KDL_BIND_SCALAR(of.a, &a), kdl_bind_buffer(of.x, x),
                                  kdl_bind_buffer(of.y, y)};
  OK(kdl_sequence_run(of.sequence, queue, bindings, 3));
  OK(kdl_read(queue, host_cells, &cells, 0, sizeof host_cells));
  /* On another queue nothing is recorded. */
  OK(kdl_launch(place, at->queue, &desc, KDL_ARGS(&cells)));
  wrong = write_ramp(at->queue, &x);
  HOLDS(host_cells[0] == 9 && host_cells[1] == 9);
  OK(kdl_fill(at->queue, &cells, 0, sizeof host_cells, &word, sizeof word));
  OK(kdl_sync(at->queue));
  OK(kdl_capture_end(queue, &sequence));
  kdl_sequence_destroy(of.sequence);
  OK(kdl_sequence_get(sequence, &info));
  HOLDS(info.node_count == 7 && info.launch_count == 4 && info.slot_count == 1);
  const kdl_buffer *const targets[] = {&y, &z};
  for (int i = 0; i < 2 && !wrong; ++i) {
    /* scale: y = 2x; x = y; then the chain: y = 2x, x = 2y: eight times the ramp */
    const kdl_binding binding = kdl_bind_buffer(slot, *targets[i]);
    wrong = write_ramp(queue, &x);
    if (!wrong)
      OK(kdl_sequence_run(sequence, queue, &binding, 1));
    if (!wrong)
      wrong = expect_ramp(queue, &x, 8);
    if (!wrong)
      wrong = expect_ramp(queue, targets[i], 4);
    HOLDS(host_cells[0] == 0 && host_cells[1] == 1);
  }
  /* A queue may be destroyed while it is captured. */
  OK(kdl_capture_begin(queue));
  OK(kdl_fill(queue, &x, 0, 4, &word, sizeof word));
  kdl_queue_destroy(queue);
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&x));
  OK(kdl_free(&y));
  OK(kdl_free(&z));
  OK(kdl_free(&cells));
  return wrong;
}

/* place writes the numbers of its groups: a grid of one writes the 0 that ends the loop. */
const char *sequence_repeats(const suite *at) {
  kdl_kernel *place, *weigh;
  kdl_sequence *sequence;
  kdl_slot on;
  kdl_buffer flags, number, outer;
  const uint32_t first[2] = {1, 1}, one = 1, zero = 0;
  uint32_t host = 0;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  OK(kdl_sym(at->lib, at->device, "place", NULL, &place));
  OK(kdl_sym(at->lib, at->device, "weigh", NULL, &weigh));
  OK(kdl_alloc(at->device, sizeof first, &flags));
  OK(kdl_alloc(at->device, sizeof one, &number));
  OK(kdl_sequence_create(at->device, &sequence));
  OK(kdl_sequence_add_buffer(sequence, "on", 0, &on));
  const kdl_operand flag = kdl_operand_buffer(flags), weight = kdl_operand_buffer(number);
  HOLDS(kdl_sequence_end_while(sequence) == KDL_BAD_CALL);
  HOLDS(kdl_sequence_while(sequence, kdl_operand_slot_offset(on, 2)) == KDL_BAD_CALL);
  OK(kdl_sequence_fork(sequence));
  HOLDS(kdl_sequence_while(sequence, kdl_operand_slot(on)) == KDL_BAD_CALL);
  OK(kdl_sequence_join(sequence));
  /* The outer loop runs twice: its number is copied from the flag that the first pass clears. */
  OK(kdl_sequence_while(sequence, kdl_operand_slot(on)));
  OK(kdl_sequence_copy(sequence, kdl_operand_slot(on), flag, sizeof one));
  OK(kdl_sequence_while(sequence, flag));
  OK(kdl_sequence_launch(sequence, place, &desc, &flag, 1));
  OK(kdl_sequence_fork(sequence));
  OK(kdl_sequence_launch(sequence, weigh, &desc, &weight, 1));
  OK(kdl_sequence_branch(sequence));
  OK(kdl_sequence_join(sequence));
  OK(kdl_sequence_end_while(sequence));
  OK(kdl_sequence_launch(sequence, weigh, &desc, &weight, 1));
  HOLDS(kdl_sequence_finish(sequence) == KDL_BAD_CALL);
  OK(kdl_sequence_end_while(sequence));
  OK(kdl_sequence_finish(sequence));
  OK(kdl_alloc(at->device, sizeof one, &outer));
  uint32_t factor = 0; /* which another test may have changed */
  OK(kdl_write(at->queue, &number, 0, &one, sizeof one));
  OK(kdl_launch(weigh, at->queue, &desc, KDL_ARGS(&number)));
  OK(kdl_read(at->queue, &factor, &number, 0, sizeof factor));
  OK(kdl_sync(at->queue));
  HOLDS(factor > 1);
  for (uint32_t begin = 0; begin < 2; ++begin) {
    const uint32_t value = begin ? one : zero;
    const kdl_binding binding = kdl_bind_buffer(on, outer);
    OK(kdl_write(at->queue, &flags, 0, first, sizeof first));
    OK(kdl_write(at->queue, &number, 0, &one, sizeof one));
    OK(kdl_write(at->queue, &outer, 0, &value, sizeof value));
    OK(kdl_sequence_run(sequence, at->queue, &binding, 1));
    OK(kdl_read(at->queue, &host, &number, 0, sizeof host));
    OK(kdl_sync(at->queue));
    /* In the inner loop once, and in each of two passes of the outer one. */
    HOLDS(host == (begin ? factor * factor * factor : 1u));
  }
  kdl_sequence_destroy(sequence);
  OK(kdl_free(&flags));
  OK(kdl_free(&number));
  OK(kdl_free(&outer));
  return NULL;
}
