/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fake_objects.h"

#include <stdio.h>
#include <stdlib.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned fake_launch_count;

static fake_object *objects;

fake_object *fake_new(fake_kind kind, fake_object *context) {
  fake_object *object = calloc(1, sizeof *object);
  if (!object)
    abort();
  static uint64_t serial;
  object->kind = kind;
  object->serial = ++serial;
  object->context = context;
  object->next = objects;
  objects = object;
  return object;
}

void fake_delete(fake_object *object) {
  fake_object **link = &objects;
  while (*link != object)
    link = &(*link)->next;
  *link = object->next;
  if (object->kind == FAKE_MEMORY && !object->borrowed)
    free((void *)(uintptr_t)object->address);
  fake_recorded_clear(object);
  free(object->text);
  free(object->state);
  free(object);
}

fake_object *fake_live(const void *handle, fake_kind kind) {
  for (fake_object *object = objects; object; object = object->next) {
    if (object == handle && object->kind == kind)
      return object;
  }
  return NULL;
}

fake_object *fake_next(fake_object *after, fake_kind kind) {
  fake_object *object = after ? after->next : objects;
  while (object && object->kind != kind)
    object = object->next;
  return object;
}

/* ------------------------------------------------------------------------------------------ */
/* Memory                                                                                       */

fake_object *fake_memory_at(uint64_t address, uint64_t size) {
  for (fake_object *m = fake_next(NULL, FAKE_MEMORY); m; m = fake_next(m, FAKE_MEMORY)) {
    if (address >= m->address && size <= m->size && address - m->address <= m->size - size)
      return m;
  }
  return NULL;
}

fake_object *fake_allocate(fake_object *context, uint64_t size) {
  enum { alignment = 256 };
  uint64_t whole = (size + alignment - 1) / alignment * alignment;
  void *bytes = whole < size ? NULL : aligned_alloc(alignment, whole);
  if (!bytes)
    return NULL;
  memset(bytes, 0xa5, whole);
  fake_object *memory = fake_new(FAKE_MEMORY, context);
  memory->address = (uintptr_t)bytes;
  memory->size = size;
  return memory;
}

uint64_t fake_memory_used(const fake_object *context) {
  uint64_t used = 0;
  for (fake_object *o = fake_next(NULL, FAKE_MEMORY); o; o = fake_next(o, FAKE_MEMORY))
    used += o->context == context && !o->is_host && !o->is_pinned && !o->borrowed ? o->size : 0;
  return used;
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

fake_object *fake_find_variable(const fake_object *code, const fake_object *context,
                                const char *name) {
  fake_object *variable = fake_next(NULL, FAKE_MEMORY);
  while (variable && (variable->owner != code || variable->context != context ||
                      strcmp(variable->name, name) != 0))
    variable = fake_next(variable, FAKE_MEMORY);
  return variable;
}

fake_object *fake_add_variable(fake_object *code, fake_object *context, const char *name,
                               uint64_t size, const void *bytes, uint64_t byte_count) {
  fake_object *variable = fake_allocate(context, size);
  if (!variable)
    abort();
  memset((void *)(uintptr_t)variable->address, 0, size);
  memcpy((void *)(uintptr_t)variable->address, bytes, byte_count < size ? byte_count : size);
  variable->owner = code;
  snprintf(variable->name, sizeof variable->name, "%s", name);
  return variable;
}

void fake_delete_code(fake_object *code) {
  static const fake_kind parts[] = {FAKE_KERNEL, FAKE_FUNCTION, FAKE_MEMORY};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    for (fake_object *o = fake_next(NULL, parts[i]); o;) {
      fake_object *next = fake_next(o, parts[i]);
      if (o->owner == code)
        fake_delete(o);
      o = next;
    }
  }
  fake_delete(code);
}

/* ------------------------------------------------------------------------------------------ */
/* Looking inside                                                                               */

static const char *const kind_names[FAKE_KIND_COUNT] = {
    [FAKE_CONTEXT] = "context", [FAKE_POOL] = "pool",     [FAKE_POOLED] = "pooled event",
    [FAKE_STREAM] = "stream",   [FAKE_EVENT] = "event",   [FAKE_LIBRARY] = "library",
    [FAKE_MODULE] = "module",   [FAKE_KERNEL] = "kernel", [FAKE_FUNCTION] = "function",
    [FAKE_MEMORY] = "memory",   [FAKE_GRAPH] = "graph",   [FAKE_NODE] = "node",
};

static unsigned count_kind(fake_kind kind) {
  unsigned count = 0;
  for (fake_object *o = fake_next(NULL, kind); o; o = fake_next(o, kind))
    count += !o->is_host;
  return count;
}

unsigned fake_alive(void) {
  pthread_mutex_lock(&fake_lock);
  unsigned count = 0;
  for (fake_kind kind = FAKE_STREAM; kind < FAKE_KIND_COUNT; ++kind)
    count += count_kind(kind);
  pthread_mutex_unlock(&fake_lock);
  return count;
}

/* For drivers that keep nothing more. */
__attribute__((weak)) void fake_forget(void) {}

unsigned fake_launches(void) {
  pthread_mutex_lock(&fake_lock);
  unsigned count = fake_launch_count;
  pthread_mutex_unlock(&fake_lock);
  return count;
}

void fake_reset(void) {
  pthread_mutex_lock(&fake_lock);
  for (fake_object *o = objects; o;) {
    fake_object *next = o->next;
    o->sticky = 0;
    if (o->kind >= FAKE_STREAM && !o->is_host)
      fake_delete(o);
    o = next;
  }
  fake_forget();
  pthread_mutex_unlock(&fake_lock);
}

void fake_heal(void) {
  pthread_mutex_lock(&fake_lock);
  for (fake_object *c = fake_next(NULL, FAKE_CONTEXT); c; c = fake_next(c, FAKE_CONTEXT))
    c->sticky = 0;
  fake_forget();
  pthread_mutex_unlock(&fake_lock);
}

/* Contexts of CUDA and HIP are the whole process's. */
__attribute__((weak)) fake_kind fake_first_to_release(void) {
  return FAKE_STREAM;
}

/* "alive at exit: 2 stream" for what was not given back. */
__attribute__((destructor)) static void report(void) {
  for (fake_kind kind = fake_first_to_release(); kind < FAKE_KIND_COUNT; ++kind) {
    unsigned count = count_kind(kind);
    char line[64];
    snprintf(line, sizeof line, "alive at exit: %u %s", count, kind_names[kind]);
    if (count)
      fake_call(line);
  }
  while (objects)
    fake_delete(objects);
}
