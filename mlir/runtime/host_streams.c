/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Streams of the CPU. libkdl runs a kernel on the CPU in the thread that launches it, which is the
 * fastest way while a program has one stream. A program with several may run kernels that wait for
 * one another. So while two streams exist, each has a thread that runs its launches, in order;
 * events are jobs between them. Other work of a stream waits until its thread has nothing left.
 */
#include "host_streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum { job_launch, job_record, job_wait } job_kind;

typedef struct job {
  struct job *next;
  job_kind kind;
  uint64_t number; /* jobs are numbered as they are added */
  kdl_event *event;
  kdl_kernel *kernel;
  kdl_launch_desc desc;
  size_t arg_count;
  const void *args[]; /* then their values */
} job;

typedef struct host_stream {
  struct host_stream *next;
  kdl_queue *queue;
  job *first, **end; /* the first is being done */
  bool is_closed;
} host_stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static host_stream *streams;
static uint64_t last_number;

_Atomic uint32_t kdl_mlir_live_streams;
_Atomic uint32_t kdl_mlir_host_jobs;

/* ------------------------------------------------------------------------------------------ */
/* With the lock held                                                                           */

static host_stream *find_stream(const void *backend_queue) {
  host_stream *stream = streams;
  while (stream && ((const kdl_queue_head *)stream->queue)->queue != backend_queue)
    stream = stream->next;
  return stream;
}

static bool has_jobs(const kdl_queue *queue) {
  const host_stream *stream = find_stream(((const kdl_queue_head *)queue)->queue);
  return stream && stream->first;
}

static bool is_recorded_later(const kdl_event *event, uint64_t number) {
  for (const host_stream *stream = streams; stream; stream = stream->next) {
    for (const job *at = stream->first; at; at = at->next) {
      if (at->kind == job_record && at->event == event && at->number < number)
        return true;
    }
  }
  return false;
}

static void *run_jobs(void *user);

/* Out of memory or threads, NULL: the work is then done at once. */
static host_stream *open_stream(kdl_queue *queue) {
  host_stream *stream = find_stream(((const kdl_queue_head *)queue)->queue);
  if (stream)
    return stream;
  stream = calloc(1, sizeof *stream);
  if (!stream)
    return NULL;
  stream->queue = queue;
  stream->end = &stream->first;
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_jobs, stream) != 0) {
    free(stream);
    return NULL;
  }
  pthread_detach(thread);
  stream->next = streams;
  streams = stream;
  return stream;
}

static void add_job(host_stream *stream, job *added) {
  added->number = ++last_number;
  *stream->end = added;
  stream->end = &added->next;
  atomic_fetch_add(&kdl_mlir_host_jobs, 1);
  pthread_cond_broadcast(&changed);
}

/* ------------------------------------------------------------------------------------------ */
/* The thread of a stream                                                                       */

static void do_job(host_stream *stream, const job *doing) {
  kdl_args args = {doing->arg_count, doing->args, NULL};
  switch (doing->kind) {
  case job_launch:
    kdl_mlir_ok(kdl_launch(doing->kernel, stream->queue, &doing->desc, args), "launch");
    return;
  case job_record:
    kdl_mlir_ok(kdl_event_record(doing->event, stream->queue), "mgpuEventRecord");
    return;
  case job_wait:
    pthread_mutex_lock(&lock);
    while (is_recorded_later(doing->event, doing->number))
      pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return;
  }
}

static void *run_jobs(void *user) {
  host_stream *stream = user;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!stream->first && !stream->is_closed)
      pthread_cond_wait(&changed, &lock);
    job *doing = stream->first;
    if (!doing)
      break;
    pthread_mutex_unlock(&lock);
    do_job(stream, doing);
    pthread_mutex_lock(&lock);
    stream->first = doing->next;
    if (!stream->first)
      stream->end = &stream->first;
    free(doing);
    atomic_fetch_sub(&kdl_mlir_host_jobs, 1);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  free(stream);
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Jobs                                                                                         */

/* The values of the arguments are the caller's only until it returns. */
static job *make_launch(kdl_kernel *kernel, const kdl_launch_desc *desc, const kdl_args *args) {
  kdl_kernel_info info = {.size = sizeof info};
  if (kdl_kernel_get(kernel, &info) != KDL_OK || (args->count && !info.params) ||
      info.param_count != (int64_t)args->count)
    return NULL;
  static const size_t align = _Alignof(max_align_t);
  size_t pointers = args->count * sizeof *args->pointers, size = 0;
  for (size_t i = 0; i < args->count; ++i)
    size += (info.params[i].size + align - 1) / align * align;
  size_t start = (sizeof(job) + pointers + align - 1) / align * align;
  job *made = calloc(1, start + size);
  if (!made)
    return NULL;
  made->kind = job_launch;
  made->kernel = kernel;
  made->arg_count = args->count;
  memcpy(&made->desc, desc, desc->size < sizeof made->desc ? desc->size : sizeof made->desc);
  made->desc.size = sizeof made->desc;
  char *at = (char *)made + start;
  for (size_t i = 0; i < args->count; ++i) {
    made->args[i] = memcpy(at, args->pointers[i], info.params[i].size);
    at += (info.params[i].size + align - 1) / align * align;
  }
  return made;
}

bool kdl_mlir_host_launch(kdl_kernel *kernel, const kdl_launch_desc *desc, const kdl_args *args,
                          kdl_queue *queue) {
  job *made = make_launch(kernel, desc, args);
  pthread_mutex_lock(&lock);
  host_stream *stream = made ? open_stream(queue) : NULL;
  if (stream)
    add_job(stream, made);
  pthread_mutex_unlock(&lock);
  if (stream)
    return true;
  free(made);
  kdl_mlir_host_drain(queue);
  return false;
}

static bool add_event_job(job_kind kind, kdl_queue *queue, kdl_event *event) {
  if (atomic_load(&kdl_mlir_host_jobs) == 0)
    return false;
  job *made = calloc(1, sizeof *made);
  if (!made) { /* out of memory: nothing runs side by side */
    kdl_mlir_host_drain(NULL);
    return false;
  }
  made->kind = kind;
  made->event = event;
  pthread_mutex_lock(&lock);
  bool is_needed =
      has_jobs(queue) || (kind == job_wait && is_recorded_later(event, last_number + 1));
  host_stream *stream = is_needed ? open_stream(queue) : NULL;
  if (stream)
    add_job(stream, made);
  pthread_mutex_unlock(&lock);
  if (!stream)
    free(made);
  if (is_needed && !stream)
    kdl_mlir_host_drain(NULL);
  return stream;
}

bool kdl_mlir_host_record(kdl_event *event, kdl_queue *queue) {
  return add_event_job(job_record, queue, event);
}

bool kdl_mlir_host_wait(kdl_event *event, kdl_queue *queue) {
  return add_event_job(job_wait, queue, event);
}

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

void kdl_mlir_host_drain(const kdl_queue *queue) {
  if (atomic_load(&kdl_mlir_host_jobs) == 0)
    return;
  pthread_mutex_lock(&lock);
  while (queue ? has_jobs(queue) : atomic_load(&kdl_mlir_host_jobs) > 0)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

void kdl_mlir_host_sync_event(const kdl_event *event) {
  if (atomic_load(&kdl_mlir_host_jobs) == 0)
    return;
  pthread_mutex_lock(&lock);
  while (is_recorded_later(event, last_number + 1))
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

void kdl_mlir_host_close(const kdl_queue *queue) {
  kdl_mlir_host_drain(queue);
  pthread_mutex_lock(&lock);
  host_stream **at = &streams;
  while (*at && (*at)->queue != queue)
    at = &(*at)->next;
  host_stream *stream = *at;
  if (stream) {
    *at = stream->next;
    stream->is_closed = true;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------------ */
/* Launches through a slot                                                                      */

static kdl_status launch_on_host(const kdl_kernel_head *head, const kdl_launch_desc *desc,
                                 const kdl_args *args, void *backend_queue) {
  kdl_kernel *kernel = ((const kdl_mlir_host_kernel *)head)->kernel;
  if (kdl_mlir_host_is_concurrent()) {
    kdl_queue *queue = kdl_mlir_stream_of(backend_queue);
    if (queue && kdl_mlir_host_launch(kernel, desc, args, queue))
      return KDL_OK;
  }
  kdl_kernel_head *bound = (kdl_kernel_head *)kernel;
  kdl_launch_entry *entry = __atomic_load_n(&bound->entry, __ATOMIC_ACQUIRE);
  return entry(bound, desc, args, backend_queue);
}

void kdl_mlir_host_kernel_init(kdl_mlir_host_kernel *handle, kdl_kernel *kernel) {
  handle->head = (kdl_kernel_head){.entry = launch_on_host};
  handle->kernel = kernel;
}
