/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sequences on the host: a list of steps, made once. A step is a call of a group, the launches of
 * one level, a copy, a fill or an event; running is going through the list.
 *
 * The level of a node is how many wait for each other before it. Launches of one level do not wait
 * for each other, so that they are one step, whose groups the pool is handed at once. A launch of
 * one group is called as it is. What turned out to take less than waking the pool is not measured
 * again for a while.
 */
#include "lib/backends/host/host.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  short_ns = 10000,      /* a step that takes no longer is run by the thread alone */
  unmeasured_runs = 1023 /* so often, until it is measured again */
};

typedef enum {
  STEP_CALL,   /* one group that needs no memory */
  STEP_LAUNCH, /* the launches of one level, which are measured */
  STEP_LINE,   /* the same, which took little: one in one direction that needs no memory */
  STEP_SERIAL, /* and any other */
  STEP_EMPTY,  /* of which there are none in this run */
  STEP_OTHER,  /* a node that is no launch */
  STEP_WHILE,  /* goes behind its end where the number is 0 */
  STEP_END,    /* goes back */
} step_kind;

/* What calls and lines need, and the rest apart: runs share the first cache with what kernels use.
 */
typedef struct {
  step_kind kind;
  bool is_line;           /* one launch in one direction, without group memory */
  kdl_host_function *run; /* of a call and of a line, with its arguments and shape */
  const void *const *args;
  const kdl_host_group *shape;
} step;

typedef struct {
  const kdl_host_work *first; /* of those that are not skipped */
  uint64_t total;             /* groups */
  uint32_t threads;           /* the least limit that one of them has; 0: none has one */
  uint32_t begin, end;        /* its launches, or its node */
  bool is_changed;            /* since they were linked */
} step_works;

/* Where a node is compiled to. */
typedef struct {
  uint32_t step, work;
} node_location;

typedef struct {
  const kdl_backend_node *const *nodes;
  size_t node_count;
  kdl_host_work *works; /* of launches, by level */
  uint32_t *work_nodes; /* whose they are */
  step *steps;
  step_works *step_works; /* of each */
  size_t step_count;
  uint32_t unmeasured;    /* runs that are left before all steps are measured again */
  kdl_host_group *shapes; /* that steps have in common: what a run reads stays in the first cache */
  size_t shape_count;
  node_location *node_locations; /* of each node */
  const char *error;             /* of a group in the run under way */
  uint32_t threads;              /* the limit of its queue; 0: none */
} host_sequence;

#define FAIL(status, ...) kdl_core_services.fail(status, 0, __VA_ARGS__)

/* ------------------------------------------------------------------------------------------ */
/* Levels                                                                                       */

static uint32_t host_node_level(const kdl_backend_node *node, const uint32_t *levels) {
  uint32_t level = node->after == KDL_NO_NODE ? 0 : levels[node->after];
  for (uint32_t i = 0; i < node->joined_count; ++i)
    level = level < levels[node->joined[i]] ? levels[node->joined[i]] : level;
  return node->kind == KDL_NODE_JOIN ? level : level + 1; /* a join takes no step */
}

/* Nodes in the order of their levels, as they stood within one. Returns false when out of memory.
 */
static bool host_sort_by_level(const host_sequence *sequence, uint32_t *levels, uint32_t *sorted) {
  size_t count = sequence->node_count;
  uint32_t *begins = calloc(count + 2, sizeof *begins);
  if (!begins)
    return false;
  for (size_t i = 0; i < count; ++i) {
    levels[i] = host_node_level(sequence->nodes[i], levels);
    ++begins[levels[i] + 1];
  }
  for (size_t i = 1; i <= count + 1; ++i)
    begins[i] += begins[i - 1];
  for (size_t i = 0; i < count; ++i)
    sorted[begins[levels[i]]++] = (uint32_t)i;
  free(begins);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Compiling                                                                                    */

/* Links the launches of a step that are not skipped. Their groups are numbered through, as those of
 * one launch are. */
static kdl_status host_link_works(host_sequence *sequence, size_t index) {
  step *made = &sequence->steps[index];
  step_works *works = &sequence->step_works[index];
  const kdl_host_work *first = NULL;
  kdl_host_work *last = NULL;
  uint64_t total = 0;
  uint32_t threads = UINT32_MAX;
  for (uint32_t i = works->begin; i < works->end; ++i) {
    kdl_host_work *work = &sequence->works[i];
    if (sequence->nodes[sequence->work_nodes[i]]->is_skipped)
      continue;
    if (work->group_count > KDL_HOST_LIMIT_GROUPS - total)
      return FAIL(KDL_BAD_CALL,
                  "found launches that do not wait for each other, with more than 2^63 - 1 groups "
                  "together, expected no more");
    total += work->group_count;
    if (work->threads && work->threads < threads)
      threads = work->threads;
    work->end = total;
    work->next = NULL;
    if (last)
      last->next = work;
    else
      first = work;
    last = work;
  }
  works->first = first;
  works->total = total;
  works->threads = threads == UINT32_MAX ? 0 : threads;
  made->is_line = first && first == last && first->shape.shared_size == 0 &&
                  total == first->shape.group_count[0];
  made->kind = !first                                        ? STEP_EMPTY
               : total == 1 && first->shape.shared_size == 0 ? STEP_CALL
                                                             : STEP_LAUNCH;
  if (first) {
    made->run = first->run;
    made->args = first->args;
    made->shape = &first->shape;
  }
  works->is_changed = false;
  return KDL_OK;
}

/* Steps that follow each other with one shape have it in common, until a binding changes one. */
static void host_share_shape(host_sequence *sequence, step *made) {
  size_t *count = &sequence->shape_count;
  if (made->kind == STEP_EMPTY)
    return;
  if (*count == 0 || memcmp(&sequence->shapes[*count - 1], made->shape, sizeof *made->shape) != 0)
    sequence->shapes[(*count)++] = *made->shape;
  made->shape = &sequence->shapes[*count - 1];
}

/* The arguments of a step of one launch; NULL of any other. */
static const kdl_args *host_step_args(const host_sequence *sequence, size_t index) {
  const step_works *works = &sequence->step_works[index];
  bool is_one = sequence->steps[index].args && works->end - works->begin == 1;
  return is_one ? &sequence->nodes[sequence->work_nodes[works->begin]]->args : NULL;
}

/* So have those with the same arguments. */
static void host_share_args(const host_sequence *sequence, size_t index) {
  const kdl_args *args = host_step_args(sequence, index);
  const kdl_args *before = index ? host_step_args(sequence, index - 1) : NULL;
  if (args && before && args->count == before->count && args->count &&
      memcmp(args->pointers, before->pointers, args->count * sizeof *args->pointers) == 0)
    sequence->steps[index].args = sequence->steps[index - 1].args;
}

static kdl_status host_compile_launch(host_sequence *sequence, uint32_t work) {
  const kdl_backend_node *node = sequence->nodes[sequence->work_nodes[work]];
  return kdl_host_prepare_work(node->kernel->context, &node->desc, &node->args, &sequence->error,
                               &sequence->works[work]);
}

/* Lays nodes out as steps. */
static void host_lay_out_steps(host_sequence *sequence, const uint32_t *levels,
                               const uint32_t *sorted) {
  uint32_t work = 0;
  step_works *last = NULL; /* launches of this level */
  for (size_t i = 0; i < sequence->node_count; ++i) {
    uint32_t index = sorted[i];
    kdl_node_kind kind = sequence->nodes[index]->kind;
    if (i && levels[index] != levels[sorted[i - 1]])
      last = NULL;
    if (kind == KDL_NODE_JOIN || kind == KDL_NODE_WAIT) /* a recorded event has been reached */
      continue;
    if (kind != KDL_NODE_LAUNCH || !last) {
      step *made = &sequence->steps[sequence->step_count++];
      *made = (step){.kind = kind == KDL_NODE_LAUNCH  ? STEP_LAUNCH
                             : kind == KDL_NODE_WHILE ? STEP_WHILE
                             : kind == KDL_NODE_END   ? STEP_END
                                                      : STEP_OTHER};
      sequence->node_locations[index].step = (uint32_t)(made - sequence->steps);
      sequence->step_works[made - sequence->steps].begin = index;
      if (kind == KDL_NODE_LAUNCH) {
        last = &sequence->step_works[made - sequence->steps];
        last->begin = last->end = work;
      }
    }
    if (kind != KDL_NODE_LAUNCH)
      continue;
    sequence->node_locations[index] =
        (node_location){(uint32_t)(last - sequence->step_works), work};
    sequence->work_nodes[work] = index;
    last->end = ++work;
  }
}

static kdl_status host_compile_sequence(host_sequence *sequence) {
  for (size_t i = 0; i < sequence->step_count; ++i) {
    const step_works *works = &sequence->step_works[i];
    if (sequence->steps[i].kind != STEP_LAUNCH)
      continue;
    for (uint32_t work = works->begin; work < works->end; ++work) {
      kdl_status status = host_compile_launch(sequence, work);
      if (status != KDL_OK)
        return status;
    }
    kdl_status status = host_link_works(sequence, i);
    if (status != KDL_OK)
      return status;
    host_share_shape(sequence, &sequence->steps[i]);
    host_share_args(sequence, i);
  }
  return KDL_OK;
}

static kdl_status host_build_sequence(host_sequence *sequence) {
  size_t count = sequence->node_count;
  uint32_t *levels = calloc(count, sizeof *levels);
  uint32_t *sorted = calloc(count, sizeof *sorted);
  sequence->works = calloc(count, sizeof *sequence->works);
  sequence->work_nodes = calloc(count, sizeof *sequence->work_nodes);
  sequence->steps = calloc(count, sizeof *sequence->steps);
  sequence->step_works = calloc(count, sizeof *sequence->step_works);
  sequence->node_locations = calloc(count, sizeof *sequence->node_locations);
  sequence->shapes = calloc(count, sizeof *sequence->shapes);
  bool has_memory = levels && sorted && sequence->works && sequence->work_nodes &&
                    sequence->steps && sequence->step_works && sequence->node_locations &&
                    sequence->shapes && host_sort_by_level(sequence, levels, sorted);
  if (has_memory)
    host_lay_out_steps(sequence, levels, sorted);
  free(levels);
  free(sorted);
  if (!has_memory)
    return kdl_core_services.fail(KDL_NO_MEMORY, ENOMEM, "out of memory for a sequence");
  return host_compile_sequence(sequence);
}

void kdl_host_sequence_destroy(void *device, void *handle) {
  (void)device;
  host_sequence *sequence = handle;
  free(sequence->works);
  free(sequence->work_nodes);
  free(sequence->steps);
  free(sequence->step_works);
  free(sequence->node_locations);
  free(sequence->shapes);
  free(sequence);
}

kdl_status kdl_host_sequence_create(void *device, kdl_backend_sequence *desc, void **out_sequence) {
  host_sequence *sequence = calloc(1, sizeof *sequence);
  if (!sequence)
    return kdl_core_services.fail(KDL_NO_MEMORY, ENOMEM, "out of memory for a sequence");
  sequence->nodes = desc->nodes;
  sequence->node_count = desc->node_count;
  kdl_status status = host_build_sequence(sequence);
  if (status != KDL_OK) {
    kdl_host_sequence_destroy(device, sequence);
    desc->flags = KDL_SEQUENCE_REFUSED;
    return status;
  }
  desc->flags = KDL_SEQUENCE_READS_ARGUMENTS;
  desc->replay = "list";
  *out_sequence = sequence;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

static int64_t host_sequence_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One launch in one direction, without group memory: as a program would call it. */
static inline void host_run_line(const step *line, kdl_host_group *group) {
  kdl_host_function *const run = line->run;
  const void *const *const args = line->args;
  const uint32_t count = group->group_count[0];
  for (uint32_t i = 0; i < count; ++i) {
    group->group[0] = i;
    run(group, args);
  }
}

static kdl_status host_run_measured(step *launches, const step_works *works, uint32_t threads) {
  int64_t start = host_sequence_now_ns();
  kdl_status status =
      kdl_host_run(works->first, works->total, works->threads ? works->threads : threads);
  if (host_sequence_now_ns() - start < short_ns)
    launches->kind = launches->is_line ? STEP_LINE : STEP_SERIAL;
  return status;
}

static void host_measure_again(host_sequence *sequence) {
  sequence->unmeasured = unmeasured_runs;
  for (size_t i = 0; i < sequence->step_count; ++i) {
    step *now = &sequence->steps[i];
    if (now->kind == STEP_LINE || now->kind == STEP_SERIAL)
      now->kind = STEP_LAUNCH;
  }
}

static char *host_pointer(uint64_t address, uint64_t offset) {
  return (char *)(uintptr_t)address + offset;
}

static void host_run_node(const kdl_backend_node *node) {
  char *to = host_pointer(node->to, node->to_offset);
  const char *from = host_pointer(node->from, node->from_offset);
  switch (node->kind) {
  case KDL_NODE_COPY:
    memmove(to, from, (size_t)node->bytes);
    break;
  case KDL_NODE_WRITE:
    memcpy(to, node->host, (size_t)node->bytes);
    break;
  case KDL_NODE_READ:
    memcpy(node->host, from, (size_t)node->bytes);
    break;
  case KDL_NODE_FILL:
    for (uint64_t i = 0; i < node->bytes; i += node->pattern_size)
      memcpy(to + i, node->pattern, node->pattern_size);
    break;
  case KDL_NODE_RECORD:
    clock_gettime(CLOCK_MONOTONIC, (struct timespec *)node->event);
    break;
  default:
    break;
  }
}

/* What bindings changed: grids, of which other nodes have none. */
static kdl_status host_update_sequence(host_sequence *sequence, const uint32_t *changed,
                                       size_t changed_count) {
  for (size_t i = 0; i < changed_count; ++i) {
    if (sequence->nodes[changed[i]]->kind != KDL_NODE_LAUNCH)
      continue;
    node_location where = sequence->node_locations[changed[i]];
    kdl_status status = host_compile_launch(sequence, where.work);
    if (status != KDL_OK)
      return status;
    sequence->step_works[where.step].is_changed = true;
  }
  for (size_t i = 0; i < changed_count; ++i) { /* each step once */
    size_t index = sequence->node_locations[changed[i]].step;
    kdl_status status =
        sequence->step_works[index].is_changed ? host_link_works(sequence, index) : KDL_OK;
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

static const kdl_backend_node *host_node_of_step(const host_sequence *sequence, const step *now) {
  return sequence->nodes[sequence->step_works[now - sequence->steps].begin];
}

/* At an end of a loop: the step behind which it goes on. */
static step *host_next_loop_step(const host_sequence *sequence, step *now) {
  const kdl_backend_node *node = host_node_of_step(sequence, now);
  const kdl_backend_node *loop = now->kind == STEP_END ? sequence->nodes[node->other] : node;
  const void *number = host_pointer(loop->from, loop->from_offset);
  bool is_on = __atomic_load_n((const uint32_t *)number, __ATOMIC_RELAXED) != 0;
  return is_on == (now->kind == STEP_END)
             ? &sequence->steps[sequence->node_locations[node->other].step]
             : now;
}

static const char *host_sequence_error(const host_sequence *sequence) {
  return __atomic_load_n(&sequence->error, __ATOMIC_RELAXED);
}

/* Steps that are no call and no line. */
static kdl_status host_run_step(const host_sequence *sequence, step **now) {
  step *current = *now;
  const step_works *works = &sequence->step_works[current - sequence->steps];
  switch (current->kind) {
  case STEP_LAUNCH:
    return host_run_measured(current, works, sequence->threads);
  case STEP_SERIAL:
    return kdl_host_run_serial(works->first, works->total);
  case STEP_OTHER:
    host_run_node(host_node_of_step(sequence, current));
    return KDL_OK;
  case STEP_WHILE:
  case STEP_END:
    *now = host_next_loop_step(sequence, current);
    return KDL_OK;
  default:
    return KDL_OK;
  }
}

/* Lines that follow each other with one shape need no more of it than where they are. */
static kdl_status host_run_steps(const host_sequence *sequence) {
  const step *const end = sequence->steps + sequence->step_count;
  const kdl_host_group *shape = NULL;
  kdl_host_group group = {.size = sizeof group};
  for (step *now = sequence->steps; now != end; ++now) {
    if (now->kind == STEP_LINE) {
      if (now->shape != shape)
        group = *(shape = now->shape);
      host_run_line(now, &group);
    } else if (now->kind == STEP_CALL) {
      now->run(now->shape, now->args);
    } else {
      kdl_status status = host_run_step(sequence, &now);
      if (status != KDL_OK)
        return status;
    }
    if (host_sequence_error(sequence))
      return FAIL(KDL_DEVICE, "%s", host_sequence_error(sequence));
  }
  return KDL_OK;
}

kdl_status kdl_host_sequence_run(void *device, void *handle, void *queue, const uint32_t *changed,
                                 size_t changed_count) {
  (void)device;
  host_sequence *sequence = handle;
  sequence->error = NULL;
  sequence->threads = kdl_host_queue_threads(queue);
  if (changed_count) {
    kdl_status status = host_update_sequence(sequence, changed, changed_count);
    if (status != KDL_OK)
      return status;
  }
  if (sequence->unmeasured-- == 0)
    host_measure_again(sequence);
  return host_run_steps(sequence);
}
