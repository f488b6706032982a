/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a process does with GPU code, written as it happens, so that nothing is lost however the
 * process ends. The folder is KDL_TRACE_MODULES; without it nothing is recorded.
 *
 *     PID-N.log     lines of fields with tabs between them: docs/tracing.md
 *     PID-N.counts  launches of each kernel: 64-bit numbers, mapped by the process
 *
 * The log is opened for each line: a descriptor that stayed open could be closed by the program and
 * become another file.
 */
#ifndef KDL_EXT_INJECT_RECORDING_H
#define KDL_EXT_INJECT_RECORDING_H

#include "support/base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic(uint64_t) kdl_launch_count;

/* False where nothing is recorded: the functions below then do nothing. */
bool kdl_recording_start(void);

/* Appends a line; tabs and ends of lines in `%s` arguments must have been replaced
 * (kdl_record_text). Any thread. */
void kdl_record(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Appends lines that are complete. */
void kdl_record_lines(const char *lines, size_t size);

/* The text without tabs and ends of lines, in `room`; "" for NULL. */
const char *kdl_record_text(const char *text, char *room, size_t size);

/* ns of CLOCK_MONOTONIC */
uint64_t kdl_record_now(void);

/* The counter of a kernel, the same for equal names; one for all others where there are too many. A
 * new name is recorded. Never NULL. */
kdl_launch_count *kdl_record_kernel(const char *name);

/* Launches of graphs. */
kdl_launch_count *kdl_record_graphs(void);

/* Grows when a fork or an unloaded module makes remembered counters invalid. */
extern atomic_uint kdl_record_generation;

/* The loaded file that contains an address, and the position in that file; false for other
 * memory. */
bool kdl_record_find_file(const void *address, char *out_path, size_t size, uint64_t *out_offset);

/* Saves bytes next to the log, for an explanation, and returns the file's path in `room`; "" where
 * that fails. */
const char *kdl_record_save(const void *data, size_t size, char *room, size_t room_size);

/* ------------------------------------------------------------------------------------------ */
/* What the writer and the reader agree on                                                      */

/* Slots of PID-N.counts. */
enum {
  KDL_RECORDING_GRAPHS = 0, /* launches of graphs */
  KDL_RECORDING_OTHERS = 1, /* launches of kernels without a slot */
  KDL_RECORDING_LOST = 2,   /* lines that could not be written, as on a full disk */
  KDL_RECORDING_FIRST = 3,  /* of a kernel */
  KDL_RECORDING_KERNELS = 65536,
};

/* The same in every process, other than kdl_hash_text. */
static inline uint64_t kdl_recording_hash(const void *data, size_t size) {
  return kdl_hash_add(0x6b646c2d74726163u, (kdl_string){data, size});
}

#endif
