/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fake_graph.h"

#include <stdlib.h>

void fake_node_keep(fake_node *node, void **params) {
  for (unsigned i = 0; i < node->kernel->param_count; ++i) {
    if (node->kernel->param_sizes[i] <= sizeof node->values[i])
      memcpy(node->values[i], params[i], node->kernel->param_sizes[i]);
  }
}

static fake_node *copy_of(const fake_node *node, size_t after_count) {
  fake_node *made = malloc(sizeof *made + after_count * sizeof *made->after);
  if (!made)
    abort();
  memcpy(made, node, sizeof *node);
  made->after_count = after_count;
  return made;
}

fake_object *fake_graph_add(fake_object *graph, const fake_node *node, void *const *after,
                            size_t count) {
  fake_node *made = copy_of(node, count);
  for (size_t i = 0; i < count; ++i) {
    fake_object *other = fake_live(after[i], FAKE_NODE);
    if (!other || other->owner != graph) {
      free(made);
      return NULL;
    }
    made->after[i] = ((fake_node *)other->state)->number;
  }
  fake_object *object = fake_new(FAKE_NODE, graph->context);
  object->owner = graph;
  object->state = made;
  made->number = object->serial;
  return object;
}

/* Its `sticky` is the number. */
fake_object *fake_condition_new(fake_object *graph) {
  fake_object *condition = fake_new(FAKE_NODE, graph->context);
  fake_node none = {.kind = FAKE_NODE_EMPTY};
  condition->state = copy_of(&none, 0);
  condition->owner = graph;
  return condition;
}

fake_object *fake_graph_instantiate(fake_object *graph) {
  fake_object *instance = fake_new(FAKE_GRAPH, graph->context);
  for (fake_object *o = fake_next(NULL, FAKE_NODE); o; o = fake_next(o, FAKE_NODE)) {
    const fake_node *node = o->state;
    if (o->owner != graph)
      continue;
    fake_node *made = copy_of(node, node->after_count);
    memcpy(made->after, node->after, node->after_count * sizeof *made->after);
    fake_object *object = fake_new(FAKE_NODE, graph->context);
    object->owner = instance;
    object->state = made;
  }
  fake_recorded_copy(graph, instance);
  return instance;
}

/* The node of that number. */
static fake_node *find(const fake_object *owner, uint64_t number) {
  for (fake_object *o = fake_next(NULL, FAKE_NODE); o; o = fake_next(o, FAKE_NODE)) {
    fake_node *node = o->state;
    if (o->owner == owner && node->number == number)
      return node;
  }
  return NULL;
}

fake_node *fake_graph_node(const fake_object *instance, const void *handle, fake_node_kind kind) {
  fake_object *object = fake_live(handle, FAKE_NODE);
  if (!object || object->owner == instance)
    return NULL;
  fake_node *node = find(instance, ((fake_node *)object->state)->number);
  return node && node->kind == kind ? node : NULL;
}

static bool run_fill(const fake_node *node) {
  uint64_t line = node->width * node->element_size;
  uint64_t last = node->to + (node->height - 1) * node->pitch;
  if (!fake_memory_at(node->to, last - node->to + line))
    return false;
  for (uint64_t y = 0; y < node->height; ++y) {
    for (uint64_t x = 0; x < node->width; ++x)
      memcpy((char *)(uintptr_t)node->to + y * node->pitch + x * node->element_size, &node->value,
             node->element_size);
  }
  return true;
}

enum { most_nodes = 4096 };

typedef struct {
  fake_node *node;
  bool is_done;
} turn;

static bool run_turns(fake_object *instance, turn *turns);

/* The body's turns are taken on the stack: loops nest. */
static bool run_loop(const fake_node *node) {
  turn *turns = malloc(most_nodes * sizeof *turns);
  bool is_fine = turns != NULL;
  while (is_fine && node->condition->sticky)
    is_fine = run_turns(node->body, turns);
  free(turns);
  return is_fine;
}

static bool run_node(const fake_object *instance, fake_node *node) {
  void *params[most_params];
  if (node->is_disabled)
    return true;
  switch (node->kind) {
  case FAKE_NODE_KERNEL:
    for (unsigned i = 0; i < most_params; ++i)
      params[i] = node->values[i];
    ++fake_launch_count;
    return !node->kernel->program || fake_program_run(node->kernel, instance->context, node->grid,
                                                      node->block, node->shared, params);
  case FAKE_NODE_COPY:
    memmove((void *)(uintptr_t)node->to, (const void *)(uintptr_t)node->from, node->bytes);
    return true;
  case FAKE_NODE_FILL:
    return run_fill(node);
  case FAKE_NODE_WHILE:
    return run_loop(node);
  case FAKE_NODE_RECORD:
    node->event->recorded = true;
    node->event->time = fake_event_time();
    return true;
  default:
    return true;
  }
}

static int compare_turns(const void *left, const void *right) {
  uint64_t a = ((const turn *)left)->node->number, b = ((const turn *)right)->node->number;
  return (a > b) - (a < b);
}

static bool is_ready(const fake_node *node, const turn *turns, size_t count) {
  for (size_t i = 0; i < node->after_count; ++i) {
    fake_node wanted = {.number = node->after[i]};
    const turn key = {&wanted, false};
    const turn *found = bsearch(&key, turns, count, sizeof *turns, compare_turns);
    if (found && !found->is_done)
      return false;
  }
  return true;
}

static bool run_turns(fake_object *instance, turn *turns) {
  size_t count = 0;
  for (fake_object *o = fake_next(NULL, FAKE_NODE); o; o = fake_next(o, FAKE_NODE)) {
    if (o->owner != instance)
      continue;
    if (count == most_nodes)
      abort();
    turns[count++] = (turn){o->state, false};
  }
  if (count)
    qsort(turns, count, sizeof *turns, compare_turns);
  for (size_t left = count; left; --left) {
    size_t next = count;
    while (next > 0 && (turns[next - 1].is_done || !is_ready(turns[next - 1].node, turns, count)))
      --next;
    if (next == 0)
      abort(); /* they wait for each other */
    turns[next - 1].is_done = true;
    if (!run_node(instance, turns[next - 1].node))
      return false;
  }
  return true;
}

bool fake_graph_run(fake_object *instance) {
  static turn turns[most_nodes];
  return run_turns(instance, turns) && fake_recorded_run(instance);
}

/* A node of the graph; NULL where there is none left. */
static fake_object *any_node(const fake_object *graph) {
  fake_object *object = fake_next(NULL, FAKE_NODE);
  while (object && object->owner != graph)
    object = fake_next(object, FAKE_NODE);
  return object;
}

/* Bodies of loops go with the graph that they were made for, not with its instances. */
void fake_graph_delete(fake_object *graph) {
  fake_object *object;
  while ((object = any_node(graph))) {
    const fake_node *node = object->state;
    fake_object *body = node->number == object->serial ? node->body : NULL;
    fake_delete(object);
    if (body)
      fake_graph_delete(body);
  }
  fake_delete(graph);
}
