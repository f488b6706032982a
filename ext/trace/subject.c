/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/subject.h"

#include "support/system/lock.h"

#include <stdlib.h>
#include <string.h>

enum { bucket_count = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_trace_subject *table[bucket_count];
static size_t subject_count;
static _Atomic(uint64_t) lost;
static const kdl_trace_subject empty_subject;

/* The offsets of the strings in kdl_trace_phase_info. */
static const size_t string_offsets[] = {
    offsetof(kdl_trace_phase_info, driver), offsetof(kdl_trace_phase_info, library),
    offsetof(kdl_trace_phase_info, kernel), offsetof(kdl_trace_phase_info, device),
    offsetof(kdl_trace_phase_info, target), offsetof(kdl_trace_phase_info, kind),
    offsetof(kdl_trace_phase_info, variant)};
enum { string_count = sizeof string_offsets / sizeof *string_offsets };

static const char **info_string(const kdl_trace_phase_info *info, size_t index) {
  return (const char **)((uintptr_t)info + string_offsets[index]);
}

static uint64_t hash_info(const kdl_trace_phase_info *info) {
  uint64_t hash = 0xcbf29ce484222325u ^ info->image;
  for (size_t i = 0; i < string_count; ++i) {
    const char *text = *info_string(info, i);
    for (; text && *text; ++text)
      hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    hash = (hash ^ 0xff) * 0x100000001b3u;
  }
  return hash ^ hash >> 32;
}

static bool infos_equal(const kdl_trace_phase_info *a, const kdl_trace_phase_info *b) {
  bool same = a->has_image == b->has_image && a->image == b->image;
  for (size_t i = 0; i < string_count && same; ++i) {
    const char *left = *info_string(a, i), *right = *info_string(b, i);
    same = left && right ? strcmp(left, right) == 0 : left == right;
  }
  return same;
}

/* One allocation: the subject, followed by its strings. */
static kdl_trace_subject *create_subject(const kdl_trace_phase_info *info, uint64_t hash) {
  size_t size = sizeof(kdl_trace_subject);
  for (size_t i = 0; i < string_count; ++i)
    size += *info_string(info, i) ? strlen(*info_string(info, i)) + 1 : 0;
  kdl_trace_subject *made = malloc(size);
  if (!made)
    return NULL;
  char *at = (char *)(made + 1);
  *made = (kdl_trace_subject){.hash = hash, .info = *info};
  made->info.bytes = 0;
  made->info.failed = false;
  for (size_t i = 0; i < string_count; ++i) {
    const char **text = info_string(&made->info, i);
    if (!*text)
      continue;
    size_t length = strlen(*text) + 1;
    *text = memcpy(at, *text, length);
    at += length;
  }
  return made;
}

const kdl_trace_subject *kdl_trace_subject_intern(const kdl_trace_phase_info *info) {
  if (!info)
    return &empty_subject;
  uint64_t hash = hash_info(info);
  kdl_lock(&lock);
  kdl_trace_subject **slot = &table[hash % bucket_count];
  kdl_trace_subject *found = *slot;
  while (found && (found->hash != hash || !infos_equal(&found->info, info)))
    found = found->next;
  if (!found && subject_count < KDL_TRACE_SUBJECT_LIMIT) {
    found = create_subject(info, hash);
    if (found) {
      found->next = *slot;
      *slot = found;
      ++subject_count;
    }
  }
  kdl_unlock(&lock);
  if (!found)
    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
  return found ? found : &empty_subject;
}

uint64_t kdl_trace_subjects_lost(void) {
  return atomic_load_explicit(&lost, memory_order_relaxed);
}
