/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/subject.h"

#include "support/system/lock.h"

#include <stdlib.h>
#include <string.h>

enum { slots = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_trace_subject *table[slots];
static size_t subject_count;
static _Atomic(uint64_t) lost;
static const kdl_trace_subject nothing;

/* Where the texts of an about are. */
static const size_t texts[] = {
    offsetof(kdl_layer_about, driver), offsetof(kdl_layer_about, library),
    offsetof(kdl_layer_about, kernel), offsetof(kdl_layer_about, device),
    offsetof(kdl_layer_about, target), offsetof(kdl_layer_about, kind),
    offsetof(kdl_layer_about, variant)};
enum { text_count = sizeof texts / sizeof *texts };

static const char **text_at(const kdl_layer_about *about, size_t index) {
  return (const char **)((uintptr_t)about + texts[index]);
}

static uint64_t hash_of(const kdl_layer_about *about) {
  uint64_t hash = 0xcbf29ce484222325u ^ about->image;
  for (size_t i = 0; i < text_count; ++i) {
    const char *text = *text_at(about, i);
    for (; text && *text; ++text)
      hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash = (hash ^ 0xff) * 0x100000001b3u;
  }
  return hash ^ hash >> 32;
}

static bool is_same(const kdl_layer_about *a, const kdl_layer_about *b) {
  bool same = a->has_image == b->has_image && a->image == b->image;
  for (size_t i = 0; i < text_count && same; ++i) {
    const char *left = *text_at(a, i), *right = *text_at(b, i);
    same = left && right ? strcmp(left, right) == 0 : left == right;
  }
  return same;
}

/* One block of memory: the subject, and its texts behind it. */
static kdl_trace_subject *make(const kdl_layer_about *about, uint64_t hash) {
  size_t size = sizeof(kdl_trace_subject);
  for (size_t i = 0; i < text_count; ++i)
    size += *text_at(about, i) ? strlen(*text_at(about, i)) + 1 : 0;
  kdl_trace_subject *made = malloc(size);
  if (!made)
    return NULL;
  char *at = (char *)(made + 1);
  *made = (kdl_trace_subject){.hash = hash, .about = *about};
  made->about.bytes = 0;
  made->about.failed = false;
  for (size_t i = 0; i < text_count; ++i) {
    const char **text = text_at(&made->about, i);
    if (!*text)
      continue;
    size_t length = strlen(*text) + 1;
    *text = memcpy(at, *text, length);
    at += length;
  }
  return made;
}

const kdl_trace_subject *kdl_trace_subject_of(const kdl_layer_about *about) {
  if (!about)
    return &nothing;
  uint64_t hash = hash_of(about);
  kdl_lock(&lock);
  kdl_trace_subject **slot = &table[hash % slots];
  kdl_trace_subject *found = *slot;
  while (found && (found->hash != hash || !is_same(&found->about, about)))
    found = found->next;
  if (!found && subject_count < KDL_TRACE_SUBJECT_LIMIT) {
    found = make(about, hash);
    if (found) {
      found->next = *slot;
      *slot = found;
      ++subject_count;
    }
  }
  kdl_unlock(&lock);
  if (!found)
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
  return found ? found : &nothing;
}

uint64_t kdl_trace_subjects_lost(void) {
  return atomic_load_explicit(&lost, memory_order_relaxed);
}
