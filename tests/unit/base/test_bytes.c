/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory of inflated images: evicted once it was read, pinned where that was promised. */
#include "bundle_builder.h"

#include "lib/container/container.h"
#include "lib/library/library.h"

#include <pthread.h>
#include <sys/resource.h>

enum { mib = 1024 * 1024, image_size = 8 * mib, image_count = 40, name_count = 2 * image_count };

/* Bundles of one image each, a cubin with a long tail, that inflate to 320 MiB together. */
static uint8_t *make_library(size_t *out_size) {
  static const char id[] = "cuda-nvptx64-nvidia-cuda--sm_75";
  enum { id_length = sizeof id - 1, table = 32 + 24 + id_length, noise = 16 * 1024 };
  size_t cubin_size;
  uint8_t *cubin = read_golden("images/sm_75.cubin", &cubin_size);
  uint8_t *bundle = calloc(1, table + image_size);
  assert_non_null(bundle);
  memcpy(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24);
  kdl_store_u64(bundle + 24, 1);
  kdl_store_u64(bundle + 32, table);
  kdl_store_u64(bundle + 40, image_size);
  kdl_store_u64(bundle + 48, id_length);
  memcpy(bundle + 56, id, id_length);
  uint32_t state = 1;
  for (size_t i = 0; i < image_size; ++i) {
    state = state * 1664525 + 1013904223;
    bundle[table + i] = i < noise ? (uint8_t)(state >> 24) : bundle[table + i % noise];
  }
  memcpy(bundle + table, cubin, cubin_size);
  free(cubin);
  size_t one_size;
  uint8_t *one = compress(3, method_zstd, bundle, table + image_size, &one_size);
  free(bundle);
  uint8_t *all = malloc(image_count * one_size);
  assert_non_null(all);
  for (size_t i = 0; i < image_count; ++i)
    memcpy(all + i * one_size, one, one_size);
  free(one);
  *out_size = image_count * one_size;
  return all;
}

typedef struct {
  uint8_t *data;
  kdl_library *lib;
} opened;

static opened open_library(void) {
  skip_without(KDL_CODEC_ZSTD);
  opened made;
  size_t size;
  made.data = make_library(&size);
  assert_ok(try_open(made.data, size, &made.lib));
  assert_int_equal(kdl_image_count(made.lib), image_count);
  return made;
}

static void close_library(opened *made) {
  kdl_close(made->lib);
  free(made->data);
}

static int count_name(void *user, const kdl_string *name) {
  (void)name;
  ++*(size_t *)user;
  return 0;
}

static size_t read_all_kernels(kdl_library *lib) {
  size_t names = 0;
  for (size_t i = 0; i < kdl_image_count(lib); ++i)
    assert_ok(kdl_image_kernels(lib, i, count_name, &names));
  return names;
}

/* The peak memory of this process since the last call; 0 if it is unknown. */
static size_t peak_bytes(void) {
  size_t kilobytes = 0;
#if !HAS_ADDRESS_SANITIZER
  char line[256];
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "VmHWM:", 6) == 0)
      kilobytes = strtoul(line + 6, NULL, 10);
  }
  if (file)
    fclose(file);
  file = fopen("/proc/self/clear_refs", "w");
  if (file) {
    fputs("5", file);
    fclose(file);
  }
#endif
  return kilobytes * 1024;
}

static void reading_all_images_takes_the_memory_of_a_few(void **state) {
  (void)state;
  opened made = open_library();
  peak_bytes();
  size_t before = peak_bytes();
  assert_int_equal(read_all_kernels(made.lib), name_count);
  size_t peak = peak_bytes();
  if (peak > before + 100 * (size_t)mib)
    fail_msg("found a peak of %zu MiB, expected at most 100 over %zu", peak / mib, before / mib);
  close_library(&made);
}

static void bytes_that_were_asked_for_stay(void **state) {
  (void)state;
  opened made = open_library();
  const void *first, *again;
  size_t size;
  assert_ok(kdl_image_bytes(made.lib, 0, &first, &size));
  assert_int_equal(size, image_size);
  assert_int_equal(read_all_kernels(made.lib), name_count);
  assert_memory_equal(first, "\177ELF", 4);
  assert_ok(kdl_image_bytes(made.lib, 0, &again, &size));
  assert_ptr_equal(first, again);
  close_library(&made);
}

static void held_bytes_stay_until_the_last_release(void **state) {
  (void)state;
  opened made = open_library();
  const void *held, *again;
  size_t size;
  assert_ok(kdl_library_acquire_bytes(made.lib, 0, &held, &size));
  assert_ok(kdl_library_acquire_bytes(made.lib, 0, &again, &size));
  assert_ptr_equal(held, again);
  kdl_library_release_bytes(made.lib, 0);
  assert_int_equal(read_all_kernels(made.lib), name_count);
  assert_memory_equal(held, "\177ELF", 4);
  kdl_library_release_bytes(made.lib, 0);
  close_library(&made);
}

/* Images with a codec of their own. */
static void entries_of_a_fatbin_are_lent_too(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  kdl_library *lib = open_golden("fatbin/zstd.fatbin");
  const void *held, *kept;
  size_t size;
  assert_ok(kdl_library_acquire_bytes(lib, 0, &held, &size));
  assert_memory_equal(held, "\177ELF", 4);
  kdl_library_release_bytes(lib, 0);
  assert_ok(kdl_image_bytes(lib, 0, &kept, &size));
  assert_ok(kdl_library_acquire_bytes(lib, 0, &held, &size));
  assert_ptr_equal(held, kept);
  kdl_library_release_bytes(lib, 0);
  assert_memory_equal(kept, "\177ELF", 4);
  kdl_close(lib);
}

/* ------------------------------------------------------------------------------------------ */

#if !HAS_ADDRESS_SANITIZER
static void lack_of_memory_is_not_blamed_on_the_file(void **state) {
  (void)state;
  opened made = open_library();
  size_t names = 0;
  assert_ok(kdl_image_kernels(made.lib, 0, count_name, &names)); /* loads the codec */
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  struct rlimit old;
  assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit tight = old;
  tight.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + 2 * mib;
  assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
  kdl_status status = kdl_image_kernels(made.lib, 1, count_name, &names);
  kdl_status again = kdl_image_kernels(made.lib, 1, count_name, &names);
  assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
  assert_int_equal(status, KDL_NO_MEMORY);
  assert_int_equal(again, KDL_NO_MEMORY);
  if (!strstr(kdl_error_message(), "cannot reserve") &&
      !strstr(kdl_error_message(), "out of memory"))
    fail_msg("found \"%s\", expected a word of memory", kdl_error_message());
  assert_ok(kdl_image_kernels(made.lib, 1, count_name, &names));
  close_library(&made);
}
#endif

/* ------------------------------------------------------------------------------------------ */

enum { thread_count = 4 };

static void *hold_and_release(void *user) {
  kdl_library *lib = user;
  uint32_t state = (uint32_t)(uintptr_t)&state;
  for (size_t turn = 0; turn < 12; ++turn) {
    state = state * 1664525 + 1013904223;
    size_t index = (state >> 16) % image_count;
    const void *data;
    size_t size;
    if (kdl_library_acquire_bytes(lib, index, &data, &size) != KDL_OK || size != image_size ||
        memcmp(data, "\177ELF", 4) != 0)
      return user;
    kdl_library_release_bytes(lib, index);
  }
  return NULL;
}

static void threads_may_share_the_images(void **state) {
  (void)state;
  opened made = open_library();
  pthread_t threads[thread_count];
  for (size_t i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, hold_and_release, made.lib), 0);
  for (size_t i = 0; i < thread_count; ++i) {
    void *trouble;
    assert_int_equal(pthread_join(threads[i], &trouble), 0);
    assert_null(trouble);
  }
  close_library(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_all_images_takes_the_memory_of_a_few),
      cmocka_unit_test(bytes_that_were_asked_for_stay),
      cmocka_unit_test(held_bytes_stay_until_the_last_release),
      cmocka_unit_test(entries_of_a_fatbin_are_lent_too),
#if !HAS_ADDRESS_SANITIZER
      cmocka_unit_test(lack_of_memory_is_not_blamed_on_the_file),
#endif
      cmocka_unit_test(threads_may_share_the_images),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
