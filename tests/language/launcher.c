/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * launcher TABLE ROUTE [FIRST]: runs the cases that run.py wrote into TABLE, from number FIRST on,
 * on ROUTE, a device or the first of a driver, and compares what they give with what they must.
 * Where a driver aborts, the last line tells in which case. Exits with 1 where one is wrong, with
 * 77 where nothing here runs through ROUTE or takes the image.
 *
 * A case is lines of words: "case LABEL KERNEL LIBRARY", "items X Y Z" or "grid X Y Z", "block X Y
 * Z", "shared BYTES 1 1", "buffer|value|bytes TYPE COUNT VALUE..." for each argument, "want
 * ARGUMENT ULP APART VALUE..." and "end".
 */
#include "numbers.h"

#include <kdl/kdl.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_arguments = 32, most_wants = 8, line_room = 1 << 20 };

typedef struct {
  const number_type *type;
  bool is_buffer;
  size_t count;
  unsigned char *memory;
  kdl_buffer buffer;
} argument;

typedef struct {
  size_t argument;
  double ulp, apart;
  unsigned char *values;
} want;

typedef struct {
  char label[256], kernel[128], library[1024];
  uint64_t items[3], grid[3], block[3], shared[3];
  argument arguments[most_arguments];
  size_t argument_count;
  want wants[most_wants];
  size_t want_count;
} test;

typedef struct {
  kdl_device *device;
  kdl_queue *queue;
  kdl_library *library;
  char library_path[1024];
  size_t done, wrong, refused;
} session;

static void stop(const char *what, const char *words) {
  fprintf(stderr, "launcher: %s: %s\n", what, words);
  exit(2);
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static char *next_word(char **rest) {
  char *word = strtok_r(NULL, " \n", rest);
  if (!word)
    stop("table", "found the end of a line, expected a word");
  return word;
}

static void read_extent(uint64_t out[3], char **rest) {
  for (int i = 0; i < 3; ++i)
    out[i] = strtoull(next_word(rest), NULL, 10);
}

static unsigned char *read_numbers(const number_type *type, size_t count, char **rest) {
  unsigned char *memory = calloc(count + 1, type->size);
  if (!memory)
    stop("table", "out of memory");
  for (size_t i = 0; i < count; ++i)
    number_read(type, next_word(rest), memory + i * type->size);
  return memory;
}

static void read_argument(test *t, bool is_buffer, char **rest) {
  if (t->argument_count == most_arguments)
    stop(t->label, "has too many arguments");
  argument *a = &t->arguments[t->argument_count++];
  const char *name = next_word(rest);
  *a = (argument){.type = number_type_of(name), .is_buffer = is_buffer};
  if (!a->type)
    stop(name, "is no type");
  a->count = strtoull(next_word(rest), NULL, 10);
  a->memory = read_numbers(a->type, a->count, rest);
}

static void read_want(test *t, char **rest) {
  if (t->want_count == most_wants)
    stop(t->label, "has too many wants");
  want *w = &t->wants[t->want_count++];
  w->argument = strtoull(next_word(rest), NULL, 10);
  w->ulp = strtod(next_word(rest), NULL);
  w->apart = strtod(next_word(rest), NULL);
  const argument *a = &t->arguments[w->argument];
  w->values = read_numbers(a->type, a->count, rest);
}

/* False at the end of the table. */
static bool read_test(FILE *table, char *line, test *out) {
  *out = (test){.argument_count = 0};
  while (fgets(line, line_room, table)) {
    char *rest = NULL;
    const char *word = strtok_r(line, " \n", &rest);
    if (!word)
      continue;
    if (strcmp(word, "end") == 0)
      return true;
    if (strcmp(word, "case") == 0) {
      snprintf(out->label, sizeof out->label, "%s", next_word(&rest));
      snprintf(out->kernel, sizeof out->kernel, "%s", next_word(&rest));
      snprintf(out->library, sizeof out->library, "%s", next_word(&rest));
    } else if (strcmp(word, "items") == 0) {
      read_extent(out->items, &rest);
    } else if (strcmp(word, "grid") == 0) {
      read_extent(out->grid, &rest);
    } else if (strcmp(word, "block") == 0) {
      read_extent(out->block, &rest);
    } else if (strcmp(word, "shared") == 0) {
      read_extent(out->shared, &rest);
    } else if (strcmp(word, "want") == 0) {
      read_want(out, &rest);
    } else {
      read_argument(out, strcmp(word, "buffer") == 0, &rest);
    }
  }
  return false;
}

static void free_test(test *t) {
  for (size_t i = 0; i < t->argument_count; ++i) {
    kdl_free(&t->arguments[i].buffer);
    free(t->arguments[i].memory);
  }
  for (size_t i = 0; i < t->want_count; ++i)
    free(t->wants[i].values);
}

/* ------------------------------------------------------------------------------------------ */
/* Launching                                                                                    */

static kdl_status send(session *s, test *t) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < t->argument_count && status == KDL_OK; ++i) {
    argument *a = &t->arguments[i];
    if (!a->is_buffer)
      continue;
    status = kdl_alloc(s->device, a->count * a->type->size, &a->buffer);
    if (status == KDL_OK)
      status = kdl_write(s->queue, &a->buffer, 0, a->memory, a->count * a->type->size);
  }
  return status == KDL_OK ? kdl_sync(s->queue) : status;
}

static kdl_status launch(session *s, kdl_kernel *kernel, test *t) {
  const void *pointers[most_arguments];
  size_t sizes[most_arguments];
  for (size_t i = 0; i < t->argument_count; ++i) {
    argument *a = &t->arguments[i];
    pointers[i] = a->is_buffer ? (const void *)&a->buffer : a->memory;
    sizes[i] = a->is_buffer ? sizeof a->buffer : a->count * a->type->size;
  }
  kdl_args args = {t->argument_count, pointers, sizes};
  if (t->items[0] && !t->block[0] && !t->shared[0])
    return kdl_launch_items(kernel, s->queue, kdl_extent3(t->items[0], t->items[1], t->items[2]),
                            args);
  kdl_launch_desc config = {.size = sizeof config, .shared = (uint32_t)t->shared[0]};
  for (int i = 0; i < 3; ++i) {
    config.block[i] = (uint32_t)t->block[i];
    config.grid[i] =
        (uint32_t)(t->grid[0] ? t->grid[i] : (t->items[i] + t->block[i] - 1) / t->block[i]);
  }
  return kdl_launch(kernel, s->queue, &config, args);
}

static kdl_status fetch(session *s, test *t) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < t->want_count && status == KDL_OK; ++i) {
    argument *a = &t->arguments[t->wants[i].argument];
    status = kdl_read(s->queue, a->memory, &a->buffer, 0, a->count * a->type->size);
  }
  return status == KDL_OK ? kdl_sync(s->queue) : status;
}

static bool compare(const test *t, const want *w) {
  const argument *a = &t->arguments[w->argument];
  for (size_t i = 0; i < a->count; ++i) {
    const unsigned char *found = a->memory + i * a->type->size;
    const unsigned char *expected = w->values + i * a->type->size;
    if (number_is_near(a->type, found, expected, w->ulp, w->apart))
      continue;
    char words[2][64];
    number_print(a->type, found, words[0], sizeof words[0]);
    number_print(a->type, expected, words[1], sizeof words[1]);
    printf("%s: arg%zu[%zu]: found %s, expected %s (%g ulp)\n", t->label, w->argument, i, words[0],
           words[1], number_ulp(a->type, found, expected));
    return false;
  }
  return true;
}

static kdl_status open_library(session *s, const char *path) {
  if (strcmp(path, s->library_path) == 0)
    return KDL_OK;
  kdl_close(s->library);
  s->library = NULL;
  snprintf(s->library_path, sizeof s->library_path, "%s", path);
  return kdl_open(path, NULL, &s->library);
}

/* Whether the device takes images for the target at all. */
static bool is_taken(session *s, const test *t) {
  kdl_selection choice = {.size = sizeof choice};
  return kdl_select(s->library, s->device, t->kernel, NULL, &choice) == KDL_OK;
}

static void run(session *s, test *t) {
  kdl_kernel *kernel = NULL;
  kdl_status status = open_library(s, t->library);
  if (status == KDL_OK && !is_taken(s, t)) {
    ++s->refused;
    printf("%s: refused: %s\n", t->label, kdl_error_message());
    return;
  }
  if (status == KDL_OK)
    status = kdl_sym(s->library, s->device, t->kernel, NULL, &kernel);
  if (status == KDL_OK)
    status = send(s, t);
  if (status == KDL_OK)
    status = launch(s, kernel, t);
  if (status == KDL_OK)
    status = fetch(s, t);
  ++s->done;
  bool is_right = status == KDL_OK;
  if (status != KDL_OK)
    printf("%s: %s\n", t->label, kdl_error_message());
  for (size_t i = 0; i < t->want_count && status == KDL_OK; ++i)
    is_right = compare(t, &t->wants[i]) && is_right;
  s->wrong += !is_right;
}

static char under_way[320];

static void tell_abort(int number) {
  (void)number;
  ssize_t written = write(STDOUT_FILENO, under_way, strlen(under_way));
  _exit(written < 0 ? 2 : 134);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4)
    stop("usage", "launcher TABLE ROUTE [FIRST]");
  size_t first = argc == 4 ? strtoull(argv[3], NULL, 10) : 0, number = 0;
  signal(SIGABRT, tell_abort);
  FILE *table = fopen(argv[1], "re");
  char *line = malloc(line_room);
  char device[64];
  session s = {.device = NULL};
  test t;
  if (!table || !line)
    stop(argv[1], "cannot be read");
  snprintf(device, sizeof device, strchr(argv[2], ':') ? "%s" : "%s:0", argv[2]);
  if (kdl_device_find(device, &s.device) != KDL_OK) {
    printf("skipped: %s\n", kdl_error_message());
    fclose(table);
    free(line);
    return 77;
  }
  if (kdl_queue_create(s.device, NULL, &s.queue) != KDL_OK)
    stop(device, kdl_error_message());
  for (; read_test(table, line, &t); ++number) {
    snprintf(under_way, sizeof under_way, "aborted in case %zu, %s\n", number, t.label);
    if (number >= first)
      run(&s, &t);
    free_test(&t);
    fflush(stdout);
  }
  kdl_queue_destroy(s.queue);
  kdl_close(s.library);
  fclose(table);
  free(line);
  printf("%s: %zu cases, %zu wrong, %zu refused\n", kdl_device_spec_text(s.device), s.done, s.wrong,
         s.refused);
  return s.wrong ? 1 : s.done ? 0 : 77;
}
