/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images are inflated into memory from the free list. */
#include "packers.h"

#include "lib/library/library.h"

#include <sys/resource.h>
#include <unistd.h>

enum { image_count = 60, image_size = 2 << 20, noise = 32 << 10, page = 4096 };

/* The contents of an image: with enough bytes that do not compress for its size to be plausible. */
static void fill(uint8_t *image, unsigned number) {
  uint32_t word = number + 1;
  memset(image, (int)number + 1, image_size);
  for (size_t i = 0; i < noise; ++i) {
    word = word * 1664525 + 1013904223;
    image[i] = (uint8_t)(word >> 24);
  }
}

/* A fatbin of compressed images with different bytes. */
static uint8_t *make_fatbin(size_t *out_size) {
  uint8_t *image = malloc(image_size), *fatbin = calloc(1, 16 << 20);
  size_t at = 16;
  assert_true(image && fatbin);
  kdl_store_u32(fatbin, 0xba55ed50);
  kdl_store_u16(fatbin + 4, 1);
  kdl_store_u16(fatbin + 6, 16);
  for (unsigned i = 0; i < image_count; ++i) {
    fill(image, i);
    size_t size;
    uint8_t *packed = pack(KDL_CODEC_ZSTD, image, image_size, &size), *entry = fatbin + at;
    size_t room = (size + 7) & ~(size_t)7;
    kdl_store_u16(entry, 2); /* machine code */
    kdl_store_u16(entry + 2, 0x101);
    kdl_store_u32(entry + 4, 64); /* the header's size */
    kdl_store_u64(entry + 8, room);
    kdl_store_u32(entry + 16, (uint32_t)size);
    kdl_store_u32(entry + 28, 90); /* sm_90 */
    kdl_store_u32(entry + 32, 64);
    kdl_store_u64(entry + 40, 0x8011); /* 64 bits, compressed by zstd */
    kdl_store_u64(entry + 56, image_size);
    memcpy(entry + 64, packed, size);
    free(packed);
    at += 64 + room;
  }
  kdl_store_u64(fatbin + 8, at - 16);
  free(image);
  *out_size = at;
  return fatbin;
}

static void check_image(const void *data, size_t size, unsigned number) {
  static uint8_t wanted[image_size];
  fill(wanted, number);
  assert_int_equal(size, image_size);
  assert_memory_equal(data, wanted, size);
}

static void read_all(kdl_library *lib) {
  for (uint32_t i = 0; i < image_count; ++i) {
    const void *data;
    size_t size;
    assert_ok(kdl_container_acquire_bytes(lib->container, i, &data, &size));
    check_image(data, size, i);
    kdl_container_release_bytes(lib->container, i);
  }
}

static long count_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static void pages_are_used_again(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *fatbin = make_fatbin(&size);
  kdl_library *lib;
  assert_ok(kdl_open_memory(fatbin, size, NULL, &lib));
  assert_int_equal(kdl_image_count(lib), image_count);
  read_all(lib);
  long before = count_faults();
  read_all(lib);
  long used = count_faults() - before;
  /* 120 MB, in memory from the free list. */
  assert_in_range(used, 0, (long)image_count * image_size / page / 10);
  kdl_close(lib);
  free(fatbin);
}

/* An acquired image does not change while others are inflated. */
static void held_images_keep_their_memory(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *fatbin = make_fatbin(&size);
  kdl_library *lib;
  const void *first;
  assert_ok(kdl_open_memory(fatbin, size, NULL, &lib));
  assert_ok(kdl_container_acquire_bytes(lib->container, 7, &first, &size));
  read_all(lib);
  check_image(first, size, 7);
  kdl_container_release_bytes(lib->container, 7);
  kdl_close(lib);
  free(fatbin);
}

static size_t resident(void) {
  size_t whole = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu %zu", &whole, &pages), 2);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

enum { library_count = 16 };

/* The images of all libraries in turn; returns by how much the process grew, at most. */
static size_t read_in_turn(kdl_library *const *libs) {
  size_t before = resident(), most = before;
  for (uint32_t i = 0; i < kdl_image_count(libs[0]); ++i) {
    for (size_t k = 0; k < library_count; ++k) {
      const void *data;
      size_t size;
      assert_ok(kdl_container_acquire_bytes(libs[k]->container, i, &data, &size));
      for (size_t at = 0; at < size; at += page)
        assert_true(((const uint8_t *)data)[at] || at < noise);
      kdl_container_release_bytes(libs[k]->container, i);
      most = resident() > most ? resident() : most;
    }
  }
  return most - before;
}

/* All libraries of a process share one budget, as do the threads of `kdl check`: 32 MiB of images
 * and 32 MiB in the free list, and the last image of each. */
static void libraries_share_what_they_keep(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *fatbin = make_fatbin(&size);
  kdl_library *libs[library_count];
  for (size_t k = 0; k < library_count; ++k)
    assert_ok(kdl_open_memory(fatbin, size, NULL, &libs[k]));
  size_t grown = read_in_turn(libs);
  assert_in_range(grown, 0, (64 << 20) + 2 * library_count * image_size);
  for (size_t k = 0; k < library_count; ++k)
    kdl_close(libs[k]);
  /* Later libraries get all of it. */
  assert_ok(kdl_open_memory(fatbin, size, NULL, &libs[0]));
  read_all(libs[0]);
  long faults = count_faults();
  read_all(libs[0]);
  assert_in_range(count_faults() - faults, 0, (long)image_count * image_size / page / 10);
  kdl_close(libs[0]);
  free(fatbin);
}

/* So are the pages of mapped files: 32 MiB. */
static void mapped_files_share_what_they_keep(void **state) {
  (void)state;
  static uint8_t image[image_size];
  kdl_writer *writer;
  void *data;
  size_t size;
  memset(image, 1, sizeof image);
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  for (int i = 0; i < 48; ++i) {
    kdl_writer_image row = {
        .size = sizeof row, .declared_kind = 3, .data = image, .data_size = sizeof image};
    assert_ok(kdl_writer_add(writer, &row));
  }
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  char path[] = "/tmp/kdl-test-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  close(fd);
  free(data);
  kdl_library *libs[library_count];
  for (size_t k = 0; k < library_count; ++k)
    assert_ok(kdl_open(path, NULL, &libs[k]));
  size_t grown = read_in_turn(libs);
  assert_in_range(grown, 0, (32 << 20) + 2 * library_count * image_size);
  for (size_t k = 0; k < library_count; ++k)
    kdl_close(libs[k]);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pages_are_used_again),
      cmocka_unit_test(held_images_keep_their_memory),
      cmocka_unit_test(libraries_share_what_they_keep),
      cmocka_unit_test(mapped_files_share_what_they_keep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
