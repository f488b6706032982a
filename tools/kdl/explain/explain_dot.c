/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A recorded sequence as a graph in DOT: `kdl explain FILE --dot | dot -Tsvg`. */
#include "base/array.h"
#include "base/error.h"
#include "explain/explain_sequence.h"

#include <inttypes.h>
#include <stdlib.h>

/* What the next node waits for: one step, or several behind a join that nothing has followed yet.
 */
typedef struct {
  uint32_t *steps;
  size_t count, capacity;
} ends;

typedef struct {
  ends before; /* what each branch begins behind */
  ends all;    /* what its branches ended with */
} fork_mark;

typedef struct {
  const kdl_saved *saved;
  ends last;
  fork_mark forks[KDL_LIMIT_FORKS];
  size_t fork_count;
  int loops;
} drawing;

static kdl_status add(ends *to, uint32_t step) {
  uint32_t *steps = kdl_array_grow(to->steps, to->count, &to->capacity, 4, sizeof *steps);
  if (!steps)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a graph");
  to->steps = steps;
  steps[to->count++] = step;
  return KDL_OK;
}

static kdl_status add_all(ends *to, const ends *from) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < from->count && status == KDL_OK; ++i)
    status = add(to, from->steps[i]);
  return status;
}

static kdl_status set(ends *to, const ends *from) {
  to->count = 0;
  return add_all(to, from);
}

static void put_name(kdl_string name) {
  for (size_t i = 0; i < name.length; ++i) {
    unsigned char c = (unsigned char)name.data[i];
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < ' ' || c == 0x7f)
      printf("\\\\x%02x", c);
    else
      putchar(c);
  }
}

static void indent(const drawing *draw) {
  printf("%*s", 2 + 2 * draw->loops, "");
}

/* A name that has no quotes in it; those of slots have none. */
static void put_node(const drawing *draw, uint32_t index, const kdl_saved_step *step) {
  const kdl_saved *saved = draw->saved;
  indent(draw);
  printf("s%" PRIu32 " [label=\"", index);
  if (step->kind == KDL_STEP_LAUNCH) {
    put_name(saved->kernels[step->of.launch->kernel].name);
    fputs("\\n", stdout);
    cli_sequence_put_shape(stdout, saved, step->of.launch);
    fputs("\"]\n", stdout);
  } else {
    cli_sequence_put_copy(stdout, saved, step);
    fputs("\", shape=ellipse]\n", stdout);
  }
}

static kdl_status draw_node(drawing *draw, uint32_t index, const kdl_saved_step *step) {
  put_node(draw, index, step);
  for (size_t i = 0; i < draw->last.count; ++i) {
    indent(draw);
    printf("s%" PRIu32 " -> s%" PRIu32 "\n", draw->last.steps[i], index);
  }
  draw->last.count = 0;
  return add(&draw->last, index);
}

/* A branch with nothing in it has ended where it began: it does not count, unless all are so. */
static bool is_same(const ends *a, const ends *b) {
  return a->count == b->count &&
         (a->count == 0 || memcmp(a->steps, b->steps, a->count * sizeof *a->steps) == 0);
}

static kdl_status end_branch(drawing *draw, fork_mark *fork) {
  return is_same(&draw->last, &fork->before) ? KDL_OK : add_all(&fork->all, &draw->last);
}

static kdl_status draw_mark(drawing *draw, kdl_step_kind kind) {
  fork_mark *fork = &draw->forks[kind == KDL_STEP_FORK ? draw->fork_count : draw->fork_count - 1];
  if (kind == KDL_STEP_FORK) {
    ++draw->fork_count;
    fork->all.count = 0;
    return set(&fork->before, &draw->last);
  }
  kdl_status status = end_branch(draw, fork);
  if (status != KDL_OK)
    return status;
  if (kind == KDL_STEP_BRANCH)
    return set(&draw->last, &fork->before);
  --draw->fork_count;
  return set(&draw->last, fork->all.count ? &fork->all : &fork->before);
}

static void begin_loop(drawing *draw, uint32_t index, const kdl_operand *condition) {
  indent(draw);
  printf("subgraph cluster%" PRIu32 " {\n", index);
  ++draw->loops;
  indent(draw);
  fputs("label=\"", stdout);
  cli_sequence_put_condition(stdout, draw->saved, condition);
  fputs("\"\n", stdout);
}

static kdl_status draw_step(drawing *draw, uint32_t index) {
  const kdl_saved_step *step = &draw->saved->steps[index];
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
  case KDL_STEP_COPY:
  case KDL_STEP_FILL:
    return draw_node(draw, index, step);
  case KDL_STEP_WHILE:
    begin_loop(draw, index, step->of.condition);
    return KDL_OK;
  case KDL_STEP_END:
    --draw->loops;
    indent(draw);
    puts("}");
    return KDL_OK;
  default:
    return draw_mark(draw, step->kind);
  }
}

kdl_status cli_sequence_dot(const cli_sequence *sequence) {
  drawing draw = {.saved = &sequence->saved};
  kdl_status status = KDL_OK;
  fputs("digraph \"", stdout);
  put_name(sequence->name);
  fputs("\" {\n  node [shape=box]\n", stdout);
  for (uint32_t i = 0; i < draw.saved->step_count && status == KDL_OK; ++i)
    status = draw_step(&draw, i);
  puts("}");
  free(draw.last.steps);
  for (size_t i = 0; i < KDL_LIMIT_FORKS; ++i) {
    free(draw.forks[i].before.steps);
    free(draw.forks[i].all.steps);
  }
  return status;
}
