/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/buffer.h"

#include "support/system/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { large_page = 2 << 20 };

static _Atomic(kdl_trace_buffer *) buffers;
static _Atomic(kdl_trace_thread *) threads;
static _Atomic(uint32_t) thread_count;
static char *chunks;
static size_t chunk_limit;
static atomic_size_t chunks_used;
static _Atomic(uint64_t) dropped_without_buffer; /* for lack of a buffer */

_Thread_local kdl_trace_buffer *kdl_trace_thread_buffer;
static pthread_key_t thread_exit_key;

/* ------------------------------------------------------------------------------------------ */
/* Threads                                                                                      */

/* The destructor of a thread that has a buffer. */
static void end_thread(void *value) {
  kdl_trace_buffer *buffer = value;
  kdl_trace_thread *thread = buffer->owner;
  if (thread) {
    pthread_getname_np(pthread_self(), thread->name, sizeof thread->name);
    atomic_store_explicit(&thread->has_ended, true, memory_order_release);
  }
  kdl_trace_thread_buffer = NULL;
  atomic_store_explicit(&buffer->in_use, false, memory_order_release);
}

static kdl_trace_thread *add_thread(void) {
  uint32_t index = atomic_fetch_add(&thread_count, 1);
  kdl_trace_thread *thread = index < KDL_TRACE_THREAD_LIMIT ? calloc(1, sizeof *thread) : NULL;
  if (!thread)
    return NULL;
  thread->index = index;
  thread->id = (int)syscall(SYS_gettid);
  thread->next = atomic_load(&threads);
  while (!atomic_compare_exchange_weak(&threads, &thread->next, thread))
    ;
  return thread;
}

kdl_trace_thread *kdl_trace_threads(void) {
  return atomic_load_explicit(&threads, memory_order_acquire);
}

/* ------------------------------------------------------------------------------------------ */
/* Buffers                                                                                      */

/* Populates the pages at once, so that records do not fault them in one by one. */
static kdl_trace_chunk *allocate_chunk(void) {
  size_t index = atomic_fetch_add(&chunks_used, 1);
  if (index >= chunk_limit) {
    atomic_store(&chunks_used, chunk_limit);
    return NULL;
  }
  void *chunk = chunks + index * KDL_TRACE_CHUNK_BYTES;
  madvise(chunk, KDL_TRACE_CHUNK_BYTES, MADV_POPULATE_WRITE);
  return chunk;
}

static kdl_trace_buffer *reuse_buffer(void) {
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next) {
    bool in_use = false;
    if (atomic_compare_exchange_strong(&buffer->in_use, &in_use, true))
      return buffer;
  }
  return NULL;
}

static kdl_trace_buffer *create_buffer(void) {
  kdl_trace_buffer *buffer = calloc(1, sizeof *buffer);
  kdl_trace_chunk *chunk = buffer ? allocate_chunk() : NULL;
  if (!chunk) {
    free(buffer);
    return NULL;
  }
  buffer->first = buffer->last = chunk;
  atomic_init(&buffer->in_use, true);
  buffer->next = atomic_load(&buffers);
  while (!atomic_compare_exchange_weak(&buffers, &buffer->next, buffer))
    ;
  return buffer;
}

/* A thread whose end would go unnoticed gets no buffer. */
static kdl_trace_buffer *acquire_buffer(void) {
  kdl_trace_buffer *buffer = reuse_buffer();
  if (!buffer)
    buffer = create_buffer();
  if (!buffer)
    return NULL;
  if (pthread_setspecific(thread_exit_key, buffer) != 0) {
    atomic_store_explicit(&buffer->in_use, false, memory_order_release);
    return NULL;
  }
  buffer->owner = add_thread();
  buffer->thread = buffer->owner ? buffer->owner->index : KDL_TRACE_THREAD_LIMIT;
  kdl_trace_thread_buffer = buffer;
  return buffer;
}

static kdl_trace_chunk *chunk_with_room(kdl_trace_buffer *buffer) {
  kdl_trace_chunk *chunk = buffer->last;
  if (atomic_load_explicit(&chunk->count, memory_order_relaxed) < KDL_TRACE_CHUNK_RECORDS)
    return chunk;
  kdl_trace_chunk *more = allocate_chunk();
  if (more) {
    atomic_store_explicit(&chunk->next, more, memory_order_release);
    buffer->last = more;
  }
  return more;
}

__attribute__((noinline, cold)) kdl_trace_record *kdl_trace_reserve_slow(void) {
  kdl_trace_buffer *buffer = kdl_trace_thread_buffer ? kdl_trace_thread_buffer : acquire_buffer();
  if (!buffer) {
    atomic_fetch_add_explicit(&dropped_without_buffer, 1, memory_order_relaxed);
    return NULL;
  }
  kdl_trace_chunk *chunk = chunk_with_room(buffer);
  if (!chunk) {
    uint64_t dropped = atomic_load_explicit(&buffer->dropped, memory_order_relaxed);
    atomic_store_explicit(&buffer->dropped, dropped + 1, memory_order_relaxed);
    return NULL;
  }
  kdl_trace_record *record =
      &chunk->records[atomic_load_explicit(&chunk->count, memory_order_relaxed)];
  record->thread = buffer->thread;
  return record;
}

/* Reserves address space for all chunks. Memory is committed on use, in huge pages where available:
 * faulting in a small page costs as much as the dozens of launches that fit in it. */
bool kdl_trace_buffers_start(uint64_t bytes) {
  chunk_limit = (size_t)(bytes / KDL_TRACE_CHUNK_BYTES);
  if (chunk_limit < 1)
    chunk_limit = 1;
  size_t size = chunk_limit * KDL_TRACE_CHUNK_BYTES;
  void *memory = mmap(NULL, size + large_page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || pthread_key_create(&thread_exit_key, end_thread) != 0)
    return false;
  uintptr_t aligned = ((uintptr_t)memory + large_page - 1) & ~(uintptr_t)(large_page - 1);
  chunks = (char *)memory + (aligned - (uintptr_t)memory);
  madvise(chunks, size, MADV_HUGEPAGE);
  return true;
}

kdl_trace_buffer *kdl_trace_buffers(void) {
  return atomic_load_explicit(&buffers, memory_order_acquire);
}

uint64_t kdl_trace_dropped(void) {
  uint64_t sum = atomic_load_explicit(&dropped_without_buffer, memory_order_relaxed);
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next)
    sum += atomic_load_explicit(&buffer->dropped, memory_order_relaxed);
  return sum;
}

/* ------------------------------------------------------------------------------------------ */
/* Forks                                                                                        */

/* The child has one thread, which starts with empty buffers. */
void kdl_trace_buffers_after_fork(void) {
  for (kdl_trace_buffer *buffer = atomic_exchange(&buffers, NULL); buffer;) {
    kdl_trace_buffer *next = buffer->next;
    free(buffer);
    buffer = next;
  }
  for (kdl_trace_thread *thread = atomic_exchange(&threads, NULL); thread;) {
    kdl_trace_thread *next = thread->next;
    free(thread);
    thread = next;
  }
  kdl_trace_thread_buffer = NULL;
  pthread_setspecific(thread_exit_key, NULL);
  atomic_store(&thread_count, 0);
  madvise(chunks, chunk_limit * KDL_TRACE_CHUNK_BYTES, MADV_DONTNEED); /* empty again */
  atomic_store(&chunks_used, 0);
  atomic_store(&dropped_without_buffer, 0);
}

/* ------------------------------------------------------------------------------------------ */
/* Subjects                                                                                     */

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
