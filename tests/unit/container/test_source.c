/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that change, are missing or are not regular; and that opening reads no image bytes. */
#include "support.h"

#include "lib/container/source.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *temporary_copy(const char *golden) {
  static char path[] = "/tmp/kdl-source-XXXXXX";
  memcpy(path + sizeof path - 7, "XXXXXX", 6);
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  size_t size;
  uint8_t *data = read_golden(golden, &size);
  assert_int_equal(write(fd, data, size), size);
  free(data);
  close(fd);
  return path;
}

/* Zeros follow, so that the file is too large to be read whole when it is opened. */
static const char *temporary_large_copy(const char *golden) {
  const char *path = temporary_copy(golden);
  assert_int_equal(truncate(path, 100000), 0);
  return path;
}

static void truncated_while_open_is_an_error(void **state) {
  (void)state;
  const char *path = temporary_large_copy("offload/v1_three.offload");
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "f"};
  assert_ok(kdl_open(path, &opts, &lib));
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_int_equal(truncate(path, 100), 0);
  assert_fails(kdl_image_bytes(lib, 0, &bytes, &size), KDL_IO,
               "f: the file now has 100 bytes, expected 100000: it was truncated while open");
  /* Metadata was copied at open and outlives the file's content. */
  assert_string_equal(image_at(lib, 2).triple.data, "spirv64-unknown-unknown");
  kdl_close(lib);
  unlink(path);
}

static void truncated_while_opening_is_an_error(void **state) {
  (void)state;
  const char *path = temporary_large_copy("offload/v1_padded.offload");
  kdl_arena arena = {0};
  kdl_source *source;
  assert_ok(kdl_source_open_file(&arena, path, "f", &source));
  assert_int_equal(truncate(path, 3000), 0);
  assert_non_null(kdl_source_peek(source, 0, 72));
  assert_null(kdl_source_peek(source, 4096, 8));
  assert_string_equal(kdl_error_message(),
                      "f: the file ends at offset 0x1000, expected 0x186a0 bytes: it was truncated "
                      "while being read");
  kdl_source_close(source);
  kdl_arena_free(&arena);
  unlink(path);
}

/* A process that has a thousand libraries open needs its descriptors for other things. */
static void small_files_need_no_descriptor(void **state) {
  (void)state;
  const char *path = temporary_copy("offload/v1_three.offload");
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  struct rlimit few = {.rlim_cur = 32, .rlim_max = limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  kdl_library *libs[1000];
  for (size_t i = 0; i < 1000; ++i)
    assert_ok(kdl_open(path, NULL, &libs[i]));
  assert_int_equal(truncate(path, 0), 0);
  for (size_t i = 0; i < 1000; ++i) {
    const void *bytes;
    size_t size;
    assert_ok(kdl_image_bytes(libs[i], 0, &bytes, &size));
    assert_true(size > 0);
    kdl_close(libs[i]);
  }
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  unlink(path);
}

static void replaced_while_open_keeps_the_old_bytes(void **state) {
  (void)state;
  const char *path = temporary_copy("offload/v1_one.offload");
  kdl_library *lib;
  assert_ok(kdl_open(path, NULL, &lib));
  unlink(path);
  const void *bytes;
  size_t size;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_memory_equal(bytes, "NOT REALLY A CUBIN", size);
  kdl_close(lib);
}

static void refuses_what_is_not_a_file(void **state) {
  (void)state;
  kdl_library *lib;
  assert_fails(kdl_open("/no/such/file", NULL, &lib), KDL_IO,
               "/no/such/file: cannot open: No such file or directory");
  kdl_open_opts as_file = {.size = sizeof as_file, .flags = KDL_OPEN_FILE};
  assert_fails(kdl_open("/tmp", &as_file, &lib), KDL_IO,
               "/tmp: found a directory, expected a regular file");
  assert_fails(kdl_open("/dev/null", NULL, &lib), KDL_IO,
               "/dev/null: found a device, pipe or socket, expected a regular file");
  char path[] = "/tmp/kdl-fifo-XXXXXX";
  assert_non_null(mkdtemp(path));
  char fifo[64];
  snprintf(fifo, sizeof fifo, "%s/f", path);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_int_equal(kdl_open(fifo, NULL, &lib), KDL_IO); /* and does not wait for a writer */
  unlink(fifo);
  rmdir(path);
}

static void refuses_an_unknown_format(void **state) {
  (void)state;
  kdl_library *lib;
  const uint8_t text[] = "once upon a time";
  assert_fails(try_open(text, sizeof text, &lib), KDL_BAD_FILE,
               "t: offset 0x0: format: found unknown first bytes, expected an OffloadBinary, a "
               "Clang offload bundle, a CUDA fatbin, an ELF file, an archive, bitcode, PTX or "
               "SPIR-V");
  const uint8_t zip[] = "PK\3\4 and a member";
  assert_fails(try_open(zip, sizeof zip, &lib), KDL_BAD_FILE,
               "t: offset 0x0: format: found a zip archive (kdl check and kdl thin read its "
               "members, others take them unpacked), expected an OffloadBinary, a Clang offload "
               "bundle, a CUDA fatbin, an ELF file, an archive, bitcode, PTX or SPIR-V");
  assert_fails(try_open(text, 0, &lib), KDL_BAD_FILE,
               "t: offset 0x0: format: found an empty file, expected an OffloadBinary, a Clang "
               "offload bundle, a CUDA fatbin, an ELF file, an archive, bitcode, PTX or SPIR-V");
}

static void finds_ptx_behind_a_licence(void **state) {
  (void)state;
  char text[4096];
  memset(text, ' ', sizeof text);
  memcpy(text, "/*", 2);
  static const char module[] = "*/\n.version 8.0\n.target sm_90\n.address_size 64\n";
  memcpy(text + 3000, module, sizeof module - 1);
  kdl_library *lib;
  assert_ok(try_open((const uint8_t *)text, sizeof text, &lib));
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_PTX);
  assert_string_equal(image_at(lib, 0).arch.data, "sm_90");
  kdl_close(lib);
}

/* An image behind unreadable pages: an indexed container opens, since nothing of it is touched. */
static void opening_an_indexed_library_reads_no_image_byte(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *image = calloc(8, page);
  kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                      {{"arch", 4}, {"sm_90", 5}},
                      {{"kdl.kernel.saxpy", 16}, {"rev=1", 5}}};
  kdl_writer_image entry = {.size = sizeof entry,
                            .declared_kind = 3,
                            .offload_kind = KDL_OFFLOAD_CUDA,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = image,
                            .data_size = 8 * page};
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &entry));
  void *file;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &file, &size));
  kdl_writer_destroy(writer);

  /* Lay the file so that its image starts a page, and take that page and the rest away. */
  size_t header = size - 8 * page;
  uint8_t *memory =
      mmap(NULL, 10 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  memcpy(memory + page - header, file, size);
  assert_int_equal(mprotect(memory + page, 9 * page, PROT_NONE), 0);
  kdl_library *lib;
  assert_ok(kdl_open_memory(memory + page - header, size, NULL, &lib));
  assert_int_equal(kdl_image_count(lib), 1);
  assert_int_equal(image_at(lib, 0).kind, KDL_IMAGE_CUBIN);
  const void *bytes;
  assert_ok(kdl_image_bytes(lib, 0, &bytes, &size));
  assert_ptr_equal(bytes, memory + page); /* zero-copy */
  kdl_close(lib);
  munmap(memory, 10 * page);
  free(file);
  free(image);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(truncated_while_open_is_an_error),
      cmocka_unit_test(truncated_while_opening_is_an_error),
      cmocka_unit_test(small_files_need_no_descriptor),
      cmocka_unit_test(replaced_while_open_keeps_the_old_bytes),
      cmocka_unit_test(refuses_what_is_not_a_file),
      cmocka_unit_test(refuses_an_unknown_format),
      cmocka_unit_test(finds_ptx_behind_a_licence),
      cmocka_unit_test(opening_an_indexed_library_reads_no_image_byte),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
