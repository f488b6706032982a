/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of host images, made in memory, and the host to run them on. */
#ifndef KDL_TESTS_UNIT_LAUNCH_SUPPORT_H
#define KDL_TESTS_UNIT_LAUNCH_SUPPORT_H

#include "support.h"

#include <kdl/sequence.h>

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HOST_TRIPLE "x86_64-unknown-linux-gnu"
#define HOST_ARCH "x86-64"
#else
#define HOST_TRIPLE "aarch64-unknown-linux-gnu"
#define HOST_ARCH "armv8-a"
#endif

/* One image. `file` lies in the folder of test images; `cut` bytes of it are taken, all where 0. */
typedef struct host_row {
  const char *file;
  size_t cut;
  const char *arch;     /* NULL: any */
  const char *priority; /* NULL: none */
  const char *key;      /* "kdl.kernel.NAME", or NULL */
  const char *value;
} host_row;

enum { limit_rows = 300 };

typedef struct host_library {
  kdl_library *lib;
  void *data;
  size_t size;
  uint8_t *images[limit_rows];
} host_library;

static inline kdl_string text_of(const char *text) {
  return (kdl_string){text, strlen(text)};
}

static inline void add_host_row(kdl_writer *writer, const host_row *row, uint8_t **out_image) {
  char path[1024];
  kdl_pair pairs[4] = {{text_of("triple"), text_of(HOST_TRIPLE)},
                       {text_of("arch"), text_of(row->arch ? row->arch : HOST_ARCH)}};
  size_t count = 2, size;
  if (row->priority)
    pairs[count++] = (kdl_pair){text_of("variant_priority"), text_of(row->priority)};
  if (row->key)
    pairs[count++] = (kdl_pair){text_of(row->key), text_of(row->value)};
  snprintf(path, sizeof path, "%s/%s.so", KDL_TEST_IMAGES, row->file);
  *out_image = read_file(path, &size);
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 1,
                            .pairs = pairs,
                            .pair_count = count,
                            .data = *out_image,
                            .data_size = row->cut ? row->cut : size};
  assert_ok(kdl_writer_add(writer, &image));
}

static inline host_library make_library(const host_row *rows, size_t count) {
  host_library made = {0};
  kdl_writer *writer;
  assert_true(count <= limit_rows);
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < count; ++i)
    add_host_row(writer, &rows[i], &made.images[i]);
  assert_ok(kdl_writer_finish(writer, &made.data, &made.size));
  kdl_writer_destroy(writer);
  return made;
}

static inline host_library open_rows(const host_row *rows, size_t count) {
  host_library made = make_library(rows, count);
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(made.data, made.size, &opts, &made.lib));
  return made;
}

static inline void free_rows(host_library *made) {
  kdl_close(made->lib);
  free(made->data);
  for (size_t i = 0; i < limit_rows; ++i)
    free(made->images[i]);
}

static inline kdl_device *the_host(void) {
  kdl_device *device = NULL;
  assert_ok(kdl_device_find("host", &device));
  return device;
}

static inline kdl_kernel *kernel_named(kdl_library *lib, const char *name) {
  kdl_kernel *kernel = NULL;
  assert_ok(kdl_sym(lib, the_host(), name, NULL, &kernel));
  return kernel;
}

static inline kdl_kernel_info info_of(kdl_kernel *kernel) {
  kdl_kernel_info info = {.size = sizeof info};
  assert_ok(kdl_kernel_get(kernel, &info));
  return info;
}

/* Launches `mark` over n elements and checks every one, also those behind that must be left alone;
 * returns the variant that ran. */
static inline uint32_t run_mark(kdl_kernel *kernel, uint32_t n) {
  enum { beyond = 700 };
  size_t bytes = (n + beyond) * sizeof(uint32_t);
  uint32_t *out = malloc(bytes);
  memset(out, 0xff, bytes);
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, bytes);
  assert_ok(kdl_launch_items(kernel, NULL, kdl_extent1(n), KDL_ARGS(&buffer, &n)));
  uint32_t variant = out[0] / 1000000;
  for (uint32_t i = 0; i < n; ++i)
    assert_int_equal(out[i], variant * 1000000 + i);
  for (uint32_t i = n; i < n + beyond; ++i)
    assert_int_equal(out[i], UINT32_MAX);
  free(out);
  return variant;
}

/* ------------------------------------------------------------------------------------------ */
/* Lines that libkdl logs                                                                       */

typedef struct said_lines {
  pthread_mutex_t lock;
  char text[1 << 16];
  size_t used;
} said_lines;

static said_lines said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void keep_line(void *user, const char *topic, const char *line) {
  said_lines *lines = user;
  pthread_mutex_lock(&lines->lock);
  int used = snprintf(lines->text + lines->used, sizeof lines->text - lines->used, "%s: %s\n",
                      topic, line);
  if (used > 0 && lines->used + (size_t)used < sizeof lines->text)
    lines->used += (size_t)used;
  pthread_mutex_unlock(&lines->lock);
}

static inline void start_listening(const char *topics) {
  said.used = 0;
  said.text[0] = '\0';
  kdl_set_log(topics, keep_line, &said);
}

static inline void stop_listening(void) {
  kdl_set_log(NULL, NULL, NULL);
}

static inline size_t times_said(const char *words) {
  size_t times = 0;
  for (const char *at = said.text; (at = strstr(at, words)); at += strlen(words))
    ++times;
  return times;
}

#define assert_said(words)                                                                         \
  do {                                                                                             \
    if (!times_said(words))                                                                        \
      fail_msg("expected \"%s\" in:\n%s", words, said.text);                                       \
  } while (0)

/* Of the host, empty. */
static inline kdl_sequence *created_sequence(void) {
  kdl_sequence *sequence;
  assert_ok(kdl_sequence_create(the_host(), &sequence));
  return sequence;
}

#endif
