/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/trace/trace.h"

#include "ext/trace/traced_device.h"
#include "support/json/writer.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Rows of device time come after the threads, whose IDs are at most 2^22. */
enum { first_row = 1 << 24, max_queues = 1024 };

/* A queue of a device, in the order of first use. */
typedef struct {
  const char *device;
  const void *queue;
  unsigned number; /* within its device, from 0 */
  bool has_row;
} queue_track;

typedef struct {
  int fd;
  bool failed;
  size_t used;
  char text[1 << 16];
  kdl_trace_scale scale;
  int process;
  bool has_event;
  int thread_ids[KDL_TRACE_THREAD_LIMIT + 1];
  queue_track queues[max_queues];
  size_t queue_count;
} writer;

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

static void flush_writer(writer *out) {
  if (!out->failed && !kdl_fd_write(out->fd, out->text, out->used))
    out->failed = true;
  out->used = 0;
}

static void append_bytes(writer *out, const char *text, size_t size) {
  if (size > sizeof out->text - out->used)
    flush_writer(out);
  if (size <= sizeof out->text - out->used) {
    memcpy(out->text + out->used, text, size);
    out->used += size;
  }
}

static __attribute__((format(printf, 2, 3))) void append_format(writer *out, const char *format,
                                                                ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  int size = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  append_bytes(out, line, size < (int)sizeof line ? (size_t)size : sizeof line - 1);
}

/* Names come from files and may contain anything. */
static void append_json_string(writer *out, const char *text) {
  append_bytes(out, "\"", 1);
  for (size_t left = strlen(text), length; left; left -= length, text += length) {
    char escaped[KDL_JSON_ESCAPED];
    length = kdl_json_escape(text, left, escaped);
    append_bytes(out, escaped, strlen(escaped));
  }
  append_bytes(out, "\"", 1);
}

/* ,"key":"text"; the comma is left out before the first. */
static void append_member(writer *out, bool *has_member, const char *key, const char *text) {
  if (!text)
    return;
  append_format(out, "%s\"%s\":", *has_member ? "," : "", key);
  append_json_string(out, text);
  *has_member = true;
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

/* The start of an event, up to the members of its kind. */
static void begin_trace_event(writer *out, const char *name, const char *phase, int row) {
  append_format(out, "%s{\"name\":", out->has_event ? ",\n" : "");
  append_json_string(out, name);
  append_format(out, ",\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", phase, out->process, row);
  out->has_event = true;
}

static void write_row_name(writer *out, const char *what, int row, const char *name) {
  begin_trace_event(out, what, "M", row);
  append_format(out, ",\"args\":{\"name\":");
  append_json_string(out, name);
  append_format(out, "}}");
}

static queue_track *find_queue_track(writer *out, const char *device, const void *queue) {
  queue_track made = {device, queue, 0, false};
  for (size_t i = 0; i < out->queue_count; ++i) {
    queue_track *track = &out->queues[i];
    bool same_device = track->device == device || strcmp(track->device, device) == 0;
    if (same_device && track->queue == queue)
      return track;
    made.number += same_device;
  }
  if (out->queue_count == max_queues)
    return &out->queues[max_queues - 1];
  out->queues[out->queue_count] = made;
  return &out->queues[out->queue_count++];
}

static int queue_track_row(writer *out, queue_track *track) {
  int row = first_row + (int)(track - out->queues);
  if (!track->has_row) {
    char name[256];
    snprintf(name, sizeof name, "%s, queue %u", track->device, track->number);
    write_row_name(out, "thread_name", row, name);
    track->has_row = true;
  }
  return row;
}

static void put_shape(writer *out, const char *key, const uint32_t shape[3]) {
  if (shape[0])
    append_format(out, ",\"%s\":\"%ux%ux%u\"", key, (unsigned)shape[0], (unsigned)shape[1],
                  (unsigned)shape[2]);
}

static void put_args(writer *out, const kdl_trace_record *record, const queue_track *track) {
  const kdl_trace_phase_info *info = &record->subject->info;
  bool is_launch = record->what == KDL_TRACE_PHASE_LAUNCH;
  bool has_member = false;
  append_format(out, ",\"args\":{");
  append_member(out, &has_member, "kernel", info->kernel);
  append_member(out, &has_member, "library", info->library);
  if (info->has_image) {
    append_format(out, "%s\"image\":%u", has_member ? "," : "", (unsigned)info->image);
    has_member = true;
  }
  append_member(out, &has_member, "kind", info->kind);
  append_member(out, &has_member, "target", info->target);
  append_member(out, &has_member, "variant", info->variant);
  append_member(out, &has_member, "device", info->device);
  append_member(out, &has_member, "driver", info->driver);
  if (track)
    append_format(out, ",\"queue\":%u", track->number);
  if (is_launch) {
    put_shape(out, "grid", record->grid);
    put_shape(out, "block", record->block);
  } else if (record->what != KDL_TRACE_DEVICE_TIME && record->bytes) {
    append_format(out, "%s\"bytes\":%" PRIu64, has_member ? "," : "", record->bytes);
    has_member = true;
  }
  if (record->failed)
    append_format(out, "%s\"failed\":true", has_member ? "," : "");
  append_format(out, "}}");
}

/* In microseconds, as the format has it. */
static void put_time(writer *out, const char *key, uint64_t ns) {
  append_format(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static uint64_t ticks_to_ns(const writer *out, uint64_t ticks) {
  double ns = kdl_trace_scale_ns(&out->scale, ticks);
  return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static void write_record(writer *out, const kdl_trace_record *record) {
  const kdl_trace_phase_info *info = &record->subject->info;
  bool is_device_time = record->what == KDL_TRACE_DEVICE_TIME;
  queue_track *track =
      record->queue && info->device ? find_queue_track(out, info->device, record->queue) : NULL;
  /* Whole nanoseconds, so that rounding does not make neighbours overlap. */
  uint64_t begin = is_device_time ? record->begin : ticks_to_ns(out, record->begin);
  uint64_t end = is_device_time ? record->end : ticks_to_ns(out, record->end);
  /* No kernel begins before it is launched, whatever the clocks say. */
  if (is_device_time && begin < ticks_to_ns(out, record->launched))
    begin = ticks_to_ns(out, record->launched);
  int row = is_device_time && track ? queue_track_row(out, track) : out->thread_ids[record->thread];
  const char *name = is_device_time ? (info->kernel ? info->kernel : "kernel")
                                    : kdl_trace_phase_name((kdl_trace_phase)record->what);
  begin_trace_event(out, name, "X", row);
  append_format(out, ",\"cat\":\"%s\"", is_device_time ? "device" : "kdl");
  put_time(out, "ts", begin);
  put_time(out, "dur", end > begin ? end - begin : 0);
  put_args(out, record, track);
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static size_t read_proc_file(const char *path, char *text, size_t room) {
  size_t size = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || !kdl_fd_read(fd, text, room - 1, &size))
    size = 0;
  if (fd >= 0)
    close(fd);
  text[size] = '\0';
  return size;
}

static void put_command(writer *out) {
  char words[4096] = "";
  size_t size = read_proc_file("/proc/self/cmdline", words, sizeof words);
  for (size_t i = 0; i + 1 < size; ++i) {
    if (!words[i])
      words[i] = ' ';
  }
  append_json_string(out, words);
}

/* Fixes the number of records to write, while threads go on. */
static uint64_t snapshot_record_counts(void) {
  uint64_t count = 0;
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next) {
    for (kdl_trace_chunk *chunk = buffer->first; chunk;
         chunk = atomic_load_explicit(&chunk->next, memory_order_acquire)) {
      chunk->snapshot_count = atomic_load_explicit(&chunk->count, memory_order_acquire);
      count += chunk->snapshot_count;
    }
  }
  return count;
}

static void put_header(writer *out, const kdl_trace_header *header, uint64_t count) {
  struct tm date;
  char text[32] = "";
  time_t started = (time_t)header->started;
  if (gmtime_r(&started, &date))
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &date);
  append_format(out,
                "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"schema\":\"" KDL_TRACE_SCHEMA
                "\",\"libkdl\":\"%s\",\"command\":",
                kdl_version());
  put_command(out);
  append_format(
      out,
      ",\"process\":%d,\"started\":\"%s\",\"clock\":\"%s\",\"device_time\":%s,\"events\":%" PRIu64
      ",\"dropped\":%" PRIu64 ",\"names_lost\":%" PRIu64 ",\"device_times_lost\":%" PRIu64
      ",\"limit_bytes\":%" PRIu64 "},\n\"traceEvents\":[\n",
      out->process, text, kdl_trace_uses_counter ? "counter" : "monotonic",
      header->device_time ? "true" : "false", count, kdl_trace_dropped(), kdl_trace_subjects_lost(),
      kdl_trace_device_times_lost(), header->bytes);
}

/* Running threads are asked for their names again, since a name may be set after the first
 * record. */
static void put_threads(writer *out) {
  char name[64];
  read_proc_file("/proc/self/comm", name, sizeof name);
  name[strcspn(name, "\n")] = '\0';
  write_row_name(out, "process_name", out->process, name);
  for (kdl_trace_thread *thread = kdl_trace_threads(); thread; thread = thread->next) {
    out->thread_ids[thread->index] = thread->id;
    if (atomic_load_explicit(&thread->has_ended, memory_order_acquire)) {
      memcpy(name, thread->name, sizeof thread->name);
    } else {
      char path[64];
      snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread->id);
      read_proc_file(path, name, sizeof name);
      name[strcspn(name, "\n")] = '\0';
    }
    write_row_name(out, "thread_name", thread->id, name);
  }
}

static void write_records(writer *out) {
  for (kdl_trace_buffer *buffer = kdl_trace_buffers(); buffer; buffer = buffer->next) {
    for (kdl_trace_chunk *chunk = buffer->first; chunk;
         chunk = atomic_load_explicit(&chunk->next, memory_order_acquire)) {
      for (uint32_t i = 0; i < chunk->snapshot_count; ++i)
        write_record(out, &chunk->records[i]);
    }
  }
}

static void write_dropped_events(writer *out, uint64_t now_ns) {
  uint64_t dropped = kdl_trace_dropped();
  char name[96];
  if (!dropped)
    return;
  snprintf(name, sizeof name, "%" PRIu64 " events were dropped: the buffers were full", dropped);
  begin_trace_event(out, name, "i", out->process);
  append_format(out, ",\"cat\":\"kdl\",\"s\":\"p\"");
  put_time(out, "ts", now_ns);
  append_format(out, "}");
}

bool kdl_trace_write(const kdl_trace_header *header, int fd) {
  writer *out = calloc(1, sizeof *out);
  if (!out) {
    errno = ENOMEM;
    return false;
  }
  kdl_trace_timestamp now = kdl_trace_now();
  uint64_t count = snapshot_record_counts();
  out->fd = fd;
  out->process = (int)getpid();
  out->scale = kdl_trace_scale_at(now);
  put_header(out, header, count);
  put_threads(out);
  write_records(out);
  write_dropped_events(out, now.ns);
  append_format(out, "\n]}\n");
  flush_writer(out);
  bool written = !out->failed;
  int reason = errno;
  free(out);
  errno = reason;
  return written;
}
