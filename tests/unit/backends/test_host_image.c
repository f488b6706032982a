/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How host images are loaded: how their references are resolved, what runs, and damaged ones. */
#include "launch_support.h"

#include "lib/backends/host/host.h"
#include "lib/image/host/host_object.h"

#include <elf.h>

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

/* This program exports them (CMakeLists.txt). */
uint32_t of_the_program(void);
uint32_t helper_of_both(void);
float sinhf(float x);

uint32_t of_the_program(void) {
  return 1;
}

uint32_t helper_of_both(void) {
  return 2;
}

float sinhf(float x) {
  return x + 1000;
}

static void names_are_the_images_own(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t number;
  } rows[] = {{"exp", 101},         {"read", 102},   {"write", 103},
              {"log", 104},         {"pow", 105},    {"index", 106},
              {"time", 107},        {"select", 108}, {"of_the_program", 109},
              {"calls_helper", 110}};
  static const host_row images[] = {{.file = "names"}};
  host_library made = open_rows(images, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    uint32_t cell = 0, *out = &cell;
    kdl_launch_desc desc = kdl_grid(1, 1, 1);
    assert_ok(kdl_launch(kernel_named(made.lib, rows[i].name), NULL, &desc, KDL_ARGS(&out)));
    assert_int_equal(cell, rows[i].number);
  }
  free_rows(&made);
}

static void libm_is_libms(void **state) {
  (void)state;
  static const host_row images[] = {{.file = "names"}};
  host_library made = open_rows(images, 1);
  float cell = 1.0f, *out = &cell;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_launch(kernel_named(made.lib, "calls_libm"), NULL, &desc, KDL_ARGS(&out)));
  assert_true(cell > 1.17f && cell < 1.18f);
  free_rows(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* What runs                                                                                    */

static void constructors_run_in_their_order(void **state) {
  (void)state;
  static const host_row images[] = {{.file = "constructed"}};
  host_library made = open_rows(images, 1);
  uint32_t cells[2] = {0, 0}, *out = cells;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_launch(kernel_named(made.lib, "how"), NULL, &desc, KDL_ARGS(&out)));
  assert_int_equal(cells[0], 12);
  assert_int_equal(cells[1], 0);
  free_rows(&made);
  assert_int_equal(cells[1], 3);
}

static void thread_local_variables_are_refused(void **state) {
  (void)state;
  static const host_row images[] = {{"thread_local", 0, NULL, "2", NULL, NULL},
                                    {"mark1", 0, NULL, "1", NULL, NULL}};
  host_library made = open_rows(images, 2);
  start_listening("load");
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 10), 1);
  assert_said("found thread-local variables (PT_TLS), which a host image cannot have");
  stop_listening();
  free_rows(&made);
}

static void variables_are_the_images_own(void **state) {
  (void)state;
  static const host_row images[] = {{.file = "mark2"}};
  host_library made = open_rows(images, 1);
  kdl_kernel *kernel = kernel_named(made.lib, "use_tally");
  uint32_t cell = 0, *out = &cell;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  assert_ok(kdl_launch(kernel, NULL, &desc, KDL_ARGS(&out)));
  assert_int_equal(cell, 2);
  free_rows(&made);
}

static void open_backend(void) {
  static const host_row images[] = {{.file = "mark1"}};
  host_library made = open_rows(images, 1);
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 1), 1);
  free_rows(&made);
}

/* By names that the image has, and by none that libc has. */
static void symbols_are_found_by_name(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_file(KDL_TEST_IMAGES "/names.so", &size);
  kdl_backend_image source = {
      .size = sizeof source, .kind = KDL_IMAGE_OBJECT, .data = data, .data_size = size};
  kdl_host_image image;
  uint64_t length;
  open_backend();
  assert_ok(kdl_host_image_load(&source, &image));
  memset(data, 0xff, size); /* no longer needed */
  for (uint64_t i = 1; i < image.object.symbol_count; ++i) {
    kdl_host_symbol symbol = kdl_host_object_symbol(&image.object, i);
    const void *found = kdl_host_image_find(&image, symbol.name, &length);
    assert_ptr_equal(found, symbol.is_visible ? image.base + symbol.address : NULL);
  }
  assert_null(kdl_host_image_find(&image, "printf", &length));
  assert_null(kdl_host_image_find(&image, "sinhf", &length));
  assert_null(kdl_host_image_find(&image, "", &length));
  kdl_host_image_unload(&image);
  free(data);
}

/* ------------------------------------------------------------------------------------------ */
/* Many                                                                                         */

enum { many = 200, thread_count = 4 };

static host_library all[many];

static void *launch_all(void *user) {
  (void)user;
  for (size_t i = 0; i < many; ++i)
    assert_int_equal(run_mark(kernel_named(all[i].lib, "mark"), 500), i % 4 + 1);
  return NULL;
}

/* Loaders give some memory to threads for each object, and have only so much of it. */
static void two_hundred_libraries_run(void **state) {
  (void)state;
  pthread_t threads[thread_count];
  for (size_t i = 0; i < many; ++i) {
    static const char *const files[] = {"mark1", "mark2", "mark3", "mark4"};
    host_row row = {.file = files[i % 4]};
    all[i] = open_rows(&row, 1);
  }
  for (size_t i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_all, NULL), 0);
  for (size_t i = 0; i < thread_count; ++i)
    pthread_join(threads[i], NULL);
  for (size_t i = 0; i < many; ++i)
    free_rows(&all[i]);
}

/* ------------------------------------------------------------------------------------------ */
/* Damage                                                                                       */

static uint64_t next_random(uint64_t *seed) {
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

/* Loads the image as the backend does, looks for kernels, and runs nothing. Returns whether it was
 * loaded. */
static bool load(const uint8_t *data, size_t size) {
  kdl_backend_image source = {
      .size = sizeof source, .kind = KDL_IMAGE_OBJECT, .data = data, .data_size = size};
  static const char *const names[] = {"kdl_host_kernel_mark", "kdl_host_kernel_exp", "tally", ""};
  kdl_host_image image;
  if (kdl_host_image_load(&source, &image) != KDL_OK) {
    assert_true(strlen(kdl_error_message()) > 10);
    return false;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    uint64_t length;
    const uint8_t *found = kdl_host_image_find(&image, names[i], &length);
    volatile uint8_t sum = 0;
    for (uint64_t at = 0; found && at < length; ++at)
      sum = (uint8_t)(sum + found[at]);
  }
  kdl_host_image_unload(&image);
  return true;
}

static void damaged_bytes_end_no_process(void **state) {
  (void)state;
  enum { rounds = 2000 };
  static const char *const files[] = {KDL_TEST_IMAGES "/mark1.so", KDL_TEST_IMAGES "/names.so"};
  uint64_t seed = 88172645463325252u;
  size_t refused = 0;
  open_backend();
  for (size_t f = 0; f < 2; ++f) {
    size_t size;
    uint8_t *good = read_file(files[f], &size), *bad = malloc(size);
    assert_true(load(good, size));
    for (size_t i = 0; i < rounds; ++i) {
      memcpy(bad, good, size);
      for (uint64_t n = next_random(&seed) % 8 + 1; n-- > 0;)
        bad[next_random(&seed) % size] = (uint8_t)next_random(&seed);
      refused += !load(bad, size);
    }
    free(bad);
    free(good);
  }
  assert_in_range(refused, rounds / 100, 2 * rounds);
}

/* Where it hurts: each byte of the headers and of the tables, with values that mean something. */
static void every_byte_of_the_tables_may_be_wrong(void **state) {
  (void)state;
  static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  size_t size;
  uint8_t *data = read_file(KDL_TEST_IMAGES "/mark1.so", &size);
  kdl_host_object object;
  open_backend();
  assert_ok(kdl_host_object_open(data, size, &object));
  uint64_t end = object.segments[0].offset + object.segments[0].file_size;
  const kdl_elf_segment *last = &object.segments[object.segment_count - 1];
  for (size_t at = 0; at < size; ++at) {
    if (at >= end && (at < last->offset || at >= last->offset + last->file_size))
      continue;
    uint8_t before = data[at];
    for (size_t v = 0; v < sizeof values; ++v) {
      data[at] = values[v];
      load(data, size);
    }
    data[at] = before;
  }
  free(data);
}

static void images_that_are_cut_are_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_file(KDL_TEST_IMAGES "/names.so", &size);
  kdl_host_object object;
  open_backend();
  assert_ok(kdl_host_object_open(data, size, &object));
  const kdl_elf_segment *last = &object.segments[object.segment_count - 1];
  for (size_t cut = 0; cut < last->offset + last->file_size; cut += cut < 700 ? 1 : 37) {
    uint8_t *exact = malloc(cut + 1);
    memcpy(exact, data, cut);
    assert_false(load(exact, cut));
    free(exact);
  }
  free(data);
}

/* ------------------------------------------------------------------------------------------ */

int main(void) {
  setenv("KDL_HOST_THREADS", "2", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_the_images_own),
      cmocka_unit_test(libm_is_libms),
      cmocka_unit_test(constructors_run_in_their_order),
      cmocka_unit_test(thread_local_variables_are_refused),
      cmocka_unit_test(variables_are_the_images_own),
      cmocka_unit_test(symbols_are_found_by_name),
      cmocka_unit_test(two_hundred_libraries_run),
      cmocka_unit_test(damaged_bytes_end_no_process),
      cmocka_unit_test(every_byte_of_the_tables_may_be_wrong),
      cmocka_unit_test(images_that_are_cut_are_refused),
  };
  return cmocka_run_group_tests_name("host_image", tests, NULL, NULL);
}
