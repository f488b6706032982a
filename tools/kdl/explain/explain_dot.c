/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A recorded sequence as a graph in DOT: `kdl explain FILE --dot | dot -Tsvg`. */
#include "support/base/text.h"
#include "tools/kdl/explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>

#define NOTHING UINT32_MAX

/* An open fork: the step before it, and the last steps of its branches. */
typedef struct {
  uint32_t before;
  uint32_t *ends;
  size_t count, capacity;
} fork_mark;

typedef struct {
  const kdl_seqfile *saved;
  uint32_t last; /* the step that the next one waits for */
  fork_mark forks[KDL_LIMIT_FORKS];
  size_t fork_count;
  int loops;
} drawing;

static void put_dot_name(kdl_string name) {
  for (size_t at = 0, length; at < name.length; at += length) {
    uint32_t code = 0;
    length = kdl_utf8_decode(name.data + at, name.length - at, &code);
    bool is_plain = length && !kdl_utf8_is_control(code);
    length = length ? length : 1;
    if (is_plain && (code == '"' || code == '\\'))
      putchar('\\');
    for (size_t i = at; i < at + length; ++i)
      printf(is_plain ? "%c" : "\\\\x%02x", (unsigned char)name.data[i]);
  }
}

static void indent(const drawing *draw) {
  printf("%*s", 2 + 2 * draw->loops, "");
}

/* The name must have no quotes; slot names have none. */
static void put_node(const drawing *draw, uint32_t index, const kdl_seqfile_step *step) {
  const kdl_seqfile *saved = draw->saved;
  indent(draw);
  printf("s%" PRIu32 " [label=\"", index);
  if (step->kind == KDL_STEP_LAUNCH) {
    put_dot_name(saved->kernels[step->of.launch->kernel].name);
    fputs("\\n", stdout);
    cli_sequence_put_shape(stdout, saved, step->of.launch);
    fputs("\"]\n", stdout);
  } else {
    cli_sequence_put_copy(stdout, saved, step);
    fputs("\", shape=ellipse]\n", stdout);
  }
}

static void put_edge(const drawing *draw, uint32_t from, uint32_t to) {
  if (from == NOTHING)
    return;
  indent(draw);
  printf("s%" PRIu32 " -> s%" PRIu32 "\n", from, to);
}

/* An empty branch has no last step. */
static void end_branch(const drawing *draw, fork_mark *fork) {
  if (draw->last == fork->before)
    return;
  fork->ends = xgrow(fork->ends, fork->count, &fork->capacity, 4, sizeof *fork->ends);
  fork->ends[fork->count++] = draw->last;
}

/* Several branches join in a point, so that there are no more edges than steps. */
static void draw_join(drawing *draw, uint32_t index, const fork_mark *fork) {
  draw->last = fork->count ? fork->ends[0] : fork->before;
  if (fork->count < 2)
    return;
  indent(draw);
  printf("s%" PRIu32 " [shape=point]\n", index);
  for (size_t i = 0; i < fork->count; ++i)
    put_edge(draw, fork->ends[i], index);
  draw->last = index;
}

static void draw_mark(drawing *draw, uint32_t index, kdl_step_kind kind) {
  if (kind == KDL_STEP_FORK) {
    draw->forks[draw->fork_count].before = draw->last;
    draw->forks[draw->fork_count++].count = 0;
    return;
  }
  fork_mark *fork = &draw->forks[draw->fork_count - 1];
  end_branch(draw, fork);
  if (kind == KDL_STEP_BRANCH) {
    draw->last = fork->before;
  } else {
    --draw->fork_count;
    draw_join(draw, index, fork);
  }
}

static void draw_loop_begin(drawing *draw, uint32_t index, const kdl_operand *condition) {
  indent(draw);
  printf("subgraph cluster%" PRIu32 " {\n", index);
  ++draw->loops;
  indent(draw);
  fputs("label=\"", stdout);
  cli_sequence_put_condition(stdout, draw->saved, condition);
  fputs("\"\n", stdout);
}

static void draw_step(drawing *draw, uint32_t index, const kdl_seqfile_step *step) {
  switch (step->kind) {
  case KDL_STEP_LAUNCH:
  case KDL_STEP_COPY:
  case KDL_STEP_FILL:
    put_node(draw, index, step);
    put_edge(draw, draw->last, index);
    draw->last = index;
    break;
  case KDL_STEP_WHILE:
    draw_loop_begin(draw, index, step->of.condition);
    break;
  case KDL_STEP_END:
    --draw->loops;
    indent(draw);
    puts("}");
    break;
  default:
    draw_mark(draw, index, step->kind);
  }
}

void cli_sequence_dot(const cli_sequence *sequence) {
  drawing draw = {.saved = &sequence->saved, .last = NOTHING};
  fputs("digraph \"", stdout);
  put_dot_name(sequence->name);
  fputs("\" {\n  node [shape=box]\n", stdout);
  for (uint32_t i = 0; i < sequence->saved.step_count; ++i)
    draw_step(&draw, i, &sequence->saved.steps[i]);
  puts("}");
  for (size_t i = 0; i < KDL_LIMIT_FORKS; ++i)
    free(draw.forks[i].ends);
}
