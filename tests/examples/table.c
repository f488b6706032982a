/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * table FOLDER [ROUTE]: every example kernel, by every image of FOLDER/KERNEL.offload that runs
 * here, on every device, compared with a reference. ROUTE, as "host" or "opencl", keeps to images
 * that run through that driver. KDL_EXAMPLES_SMALL in the environment makes small problems of them
 * that are launched once. Prints a table; exits with 1 where a result is wrong, and with 77 where
 * nothing runs.
 *
 * Each image is put into a library of its own, so that no other can take its place, and its kernel
 * `mark` (mark.h) must say that it is what the metadata says.
 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { mark_size = 32, repetitions = 5, most_devices = 64 };

typedef struct {
  const char *folder;
  const char *route; /* NULL for all */
  kdl_device *devices[most_devices];
  size_t device_count;
  size_t done;
  size_t wrong;
} table;

/* One image, alone. */
typedef struct {
  kdl_library *lib;
  kdl_device *device;
  kdl_queue *queue;
  kdl_image_info info; /* in the library it is from */
  const char *tag;
  void *bytes;
  bool is_chosen; /* of all the library has, on the device */
} subject;

static bool failed(const char *what) {
  printf("  %s: %s\n", what, kdl_error_message());
  return false;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------------------------------ */
/* One image                                                                                    */

static bool isolate(kdl_library *whole, size_t index, subject *out) {
  kdl_writer *writer = NULL;
  const kdl_string *tag = kdl_image_value(whole, index, "variant_tag");
  *out = (subject){.info = {.size = sizeof out->info}, .tag = tag ? tag->data : ""};
  if (kdl_image_get(whole, index, &out->info) != KDL_OK ||
      kdl_writer_create(KDL_FORMAT_V1, &writer) != KDL_OK)
    return failed("image");
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = out->info.declared_kind,
                            .offload_kind = out->info.offload_kind,
                            .pairs = out->info.pairs,
                            .pair_count = out->info.pair_count};
  size_t size = 0;
  kdl_status status = kdl_image_bytes(whole, index, &image.data, &image.data_size);
  if (status == KDL_OK)
    status = kdl_writer_add(writer, &image);
  if (status == KDL_OK)
    status = kdl_writer_finish(writer, &out->bytes, &size);
  kdl_writer_destroy(writer);
  if (status == KDL_OK)
    status = kdl_open_memory(out->bytes, size, NULL, &out->lib);
  return status == KDL_OK || failed("image");
}

static void release(subject *s) {
  kdl_close(s->lib);
  free(s->bytes);
}

/* What the kernel `mark` of the image must write. */
static void expect_mark(const subject *s, char out[mark_size]) {
  const char *target = s->info.kind == KDL_IMAGE_CL      ? "opencl-c"
                       : s->info.kind == KDL_IMAGE_SPIRV ? "spirv64"
                                                         : s->info.arch.data;
  memset(out, 0, mark_size);
  if (s->info.kind == KDL_IMAGE_PTX && strncmp(target, "sm_", 3) == 0)
    snprintf(out, mark_size, "compute_%s/%s", target + 3, s->tag);
  else
    snprintf(out, mark_size, "%s/%s", target, s->tag);
}

static bool check_mark(subject *s) {
  char want[mark_size], found[mark_size] = "";
  kdl_kernel *kernel;
  kdl_buffer out;
  expect_mark(s, want);
  if (kdl_alloc(s->device, mark_size, &out) != KDL_OK)
    return failed("mark");
  kdl_status status = kdl_sym(s->lib, s->device, "mark", NULL, &kernel);
  if (status == KDL_OK)
    status = kdl_launch_items(kernel, s->queue, kdl_extent1(1), KDL_ARGS(&out));
  if (status == KDL_OK)
    status = kdl_read(s->queue, found, &out, 0, mark_size);
  if (status == KDL_OK)
    status = kdl_sync(s->queue);
  kdl_free(&out);
  if (status != KDL_OK)
    return failed("mark");
  found[mark_size - 1] = '\0';
  if (memcmp(want, found, mark_size) == 0)
    return true;
  printf("  mark: the code that ran says '%s', its metadata '%s'\n", found, want);
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* One launch                                                                                   */

typedef struct {
  kdl_buffer buffers[MOST_ARGUMENTS];
  const void *pointers[MOST_ARGUMENTS];
  size_t sizes[MOST_ARGUMENTS];
} sent;

static kdl_status send(subject *s, const problem *p, sent *out) {
  kdl_status status = KDL_OK;
  *out = (sent){.pointers = {NULL}};
  for (size_t i = 0; i < p->argument_count && status == KDL_OK; ++i) {
    const argument *a = &p->arguments[i];
    out->pointers[i] = a->value ? a->value : &out->buffers[i];
    out->sizes[i] = a->value ? a->size : sizeof out->buffers[i];
    if (a->value)
      continue;
    status = kdl_alloc(s->device, a->size, &out->buffers[i]);
    if (status == KDL_OK)
      status = kdl_write(s->queue, &out->buffers[i], 0, a->memory, a->size);
  }
  return status == KDL_OK ? kdl_sync(s->queue) : status;
}

/* The first launch is the one that counts; the others, for the time, spoil its result. */
static kdl_status launch(subject *s, const char *name, const problem *p, double *out_time) {
  sent data;
  kdl_kernel *kernel = NULL;
  kdl_args args = {p->argument_count, data.pointers, data.sizes};
  const argument *result = &p->arguments[p->result];
  kdl_status status = send(s, p, &data);
  if (status == KDL_OK)
    status = kdl_sym(s->lib, s->device, name, NULL, &kernel);
  int last = test_cases_are_small ? 0 : repetitions;
  for (int i = 0; i <= last && status == KDL_OK; ++i) {
    double start = seconds();
    status = kdl_launch_items(kernel, s->queue, p->items, args);
    if (status == KDL_OK)
      status = kdl_sync(s->queue);
    double time = seconds() - start;
    if (i == 0 && status == KDL_OK)
      status = kdl_read(s->queue, result->memory, &data.buffers[p->result], 0, result->size);
    if (i == 0 && status == KDL_OK)
      status = kdl_sync(s->queue);
    if (i < 2 || time < *out_time)
      *out_time = time;
  }
  for (size_t i = 0; i < p->argument_count; ++i)
    kdl_free(&data.buffers[i]);
  return status;
}

/* The largest difference, relative to the largest number. */
static double difference(const problem *p) {
  const void *found = p->arguments[p->result].memory;
  double largest = 0, most = 0;
  for (size_t i = 0; i < p->count; ++i) {
    double value = p->is_integer ? ((const uint32_t *)found)[i] : (double)((const float *)found)[i];
    double apart = fabs(value - p->want[i]);
    if (!(apart <= most)) /* NaN is most of all */
      most = apart;
    largest = fmax(largest, fabs(p->want[i]));
  }
  return most / largest;
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static void add_device(table *t, kdl_device *device) {
  for (size_t i = 0; i < t->device_count; ++i) {
    if (t->devices[i] == device)
      return;
  }
  if (t->device_count == most_devices)
    return;
  printf("device %zu: %s\n", t->device_count, kdl_device_spec_text(device));
  t->devices[t->device_count++] = device;
}

/* All there are, and those that OpenCL shows of a GPU which its vendor's driver shows too. */
static void list_devices(table *t) {
  for (size_t i = 0; i < kdl_device_count(); ++i)
    add_device(t, kdl_device_at(i));
  for (int i = 0; i < most_devices; ++i) {
    char name[16];
    kdl_device *device;
    snprintf(name, sizeof name, "opencl:%d", i);
    if (kdl_device_find(name, &device) == KDL_OK)
      add_device(t, device);
  }
}

static bool is_route(const char *spec, const char *route) {
  size_t length = route ? strlen(route) : 0;
  return !route || (strncmp(spec, route, length) == 0 && spec[length] == ':');
}

/* "opencl NVIDIA H200" of "opencl:sm_90 name=\"NVIDIA H200\" ..." */
static void say_device(const char *spec, char *out, size_t room) {
  static const char mark[] = " name=\"";
  const char *name = strstr(spec, mark);
  name = name ? name + sizeof mark - 1 : "";
  snprintf(out, room, "%.*s %.*s", (int)strcspn(spec, ":"), spec, (int)strcspn(name, "\""), name);
}

static void print_row(const test_case *test, const subject *s, const char *route, double apart,
                      double time, bool is_right) {
  char image[64], device[64];
  snprintf(image, sizeof image, "%zu %s%s%s%s%s", s->info.index, kdl_image_kind_name(s->info.kind),
           s->info.arch.length ? " " : "", s->info.arch.data, *s->tag ? " " : "", s->tag);
  say_device(route, device, sizeof device);
  printf("%-10s %c %-26s %-28.28s %9.1e %11.1f  %s\n", test->kernel, s->is_chosen ? '*' : ' ',
         image, device, apart, time * 1e6, is_right ? "ok" : "WRONG");
}

static bool run_image(const test_case *test, subject *s, const char *route) {
  problem p;
  double time = 0;
  if (kdl_queue_create(s->device, NULL, &s->queue) != KDL_OK)
    return failed(route);
  test->make(&p);
  bool is_right = check_mark(s);
  double apart = NAN;
  if (launch(s, test->kernel, &p, &time) != KDL_OK)
    is_right = failed(test->kernel);
  else
    apart = difference(&p);
  is_right = is_right && apart <= p.tolerance;
  print_row(test, s, route, apart, time, is_right);
  fflush(stdout);
  kdl_queue_destroy(s->queue);
  return is_right;
}

/* One image on every device that takes it by its first route; others are devices of their own. */
static void run_devices(table *t, const test_case *test, kdl_library *whole, subject *s) {
  for (size_t i = 0; i < t->device_count; ++i) {
    kdl_selection choice = {.size = sizeof choice}, best = {.size = sizeof best};
    s->device = t->devices[i];
    if (kdl_select(s->lib, s->device, test->kernel, NULL, &choice) != KDL_OK ||
        strcmp(choice.device, kdl_device_spec_text(s->device)) != 0 ||
        !is_route(choice.device, t->route))
      continue;
    s->is_chosen = kdl_select(whole, s->device, test->kernel, NULL, &best) == KDL_OK &&
                   best.image == s->info.index;
    ++t->done;
    t->wrong += !run_image(test, s, choice.device);
  }
}

static bool run_case(table *t, const test_case *test) {
  char path[4096];
  kdl_library *whole;
  snprintf(path, sizeof path, "%s/%s.offload", t->folder, test->kernel);
  if (kdl_open(path, NULL, &whole) != KDL_OK)
    return failed("open");
  bool is_fine = true;
  for (size_t i = 0; i < kdl_image_count(whole); ++i) {
    subject s;
    if (isolate(whole, i, &s))
      run_devices(t, test, whole, &s);
    else
      is_fine = false;
    release(&s);
  }
  kdl_close(whole);
  return is_fine;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: table FOLDER [ROUTE]\n");
    return 2;
  }
  table t = {.folder = argv[1], .route = argc > 2 ? argv[2] : NULL};
  bool is_fine = true;
  test_cases_are_small = getenv("KDL_EXAMPLES_SMALL") != NULL;
  list_devices(&t);
  printf("%-10s %-28s %-26s   %9s %11s  %s\n", "kernel", "image", "device", "apart", "us",
         "result");
  for (size_t i = 0; i < test_case_count; ++i)
    is_fine = run_case(&t, &test_cases[i]) && is_fine;
  printf(
      "%zu runs, %zu wrong; * is the image that is chosen; us: fastest of %d launches with their "
      "end awaited\n",
      t.done, t.wrong, repetitions);
  if (t.done == 0 && is_fine) {
    printf("skipped: nothing here runs through %s\n", t.route ? t.route : "any driver");
    return 77;
  }
  return is_fine && t.wrong == 0 ? 0 : 1;
}
