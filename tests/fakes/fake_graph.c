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
  case FAKE_NODE_RECORD:
    node->event->recorded = true;
    node->event->time = fake_event_time();
    return true;
  default:
    return true;
  }
}

enum { most_nodes = 4096 };

static bool is_ready(const fake_node *node, const fake_node *const *left, size_t count) {
  for (size_t i = 0; i < node->after_count; ++i) {
    for (size_t k = 0; k < count; ++k) {
      if (left[k]->number == node->after[i])
        return false;
    }
  }
  return true;
}

bool fake_graph_run(fake_object *instance) {
  static const fake_node *left[most_nodes];
  size_t count = 0;
  for (fake_object *o = fake_next(NULL, FAKE_NODE); o; o = fake_next(o, FAKE_NODE)) {
    if (o->owner == instance) {
      if (count == most_nodes)
        abort();
      left[count++] = o->state;
    }
  }
  while (count) {
    size_t next = count;
    for (size_t i = 0; i < count; ++i) {
      if (is_ready(left[i], left, count) && (next == count || left[i]->number > left[next]->number))
        next = i;
    }
    if (next == count)
      abort(); /* they wait for each other */
    fake_node *node = (fake_node *)(uintptr_t)left[next];
    left[next] = left[--count];
    if (!run_node(instance, node))
      return false;
  }
  return fake_recorded_run(instance);
}

void fake_graph_delete(fake_object *graph) {
  for (fake_object *o = fake_next(NULL, FAKE_NODE); o;) {
    fake_object *next = fake_next(o, FAKE_NODE);
    if (o->owner == graph)
      fake_delete(o);
    o = next;
  }
  fake_delete(graph);
}
