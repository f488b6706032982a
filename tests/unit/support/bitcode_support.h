/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries with bitcode for the host, a fake kdl-ld that links it to one of the test images, and a
 * cache for the test. */
#ifndef KDL_TESTS_UNIT_BITCODE_SUPPORT_H
#define KDL_TESTS_UNIT_BITCODE_SUPPORT_H

#include "cache_support.h"
#include "launch_support.h"

#include <sys/wait.h>

static char work[] = "/tmp/kdl-bitcode-XXXXXX";
static char cache_path[64], log_path[64];

static inline int make_work(void **state) {
  (void)state;
  assert_non_null(mkdtemp(work));
  snprintf(cache_path, sizeof cache_path, "%s/cache", work);
  snprintf(log_path, sizeof log_path, "%s/log", work);
  setenv("KDL_CACHE_DIR", cache_path, 1);
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
  setenv("KDL_FAKE_LD_LOG", log_path, 1);
  unsetenv("KDL_CACHE");
  unsetenv("KDL_CACHE_SIZE");
  unsetenv("KDL_UKERNEL_PATH");
  return 0;
}

static inline int end_work(void **state) {
  (void)state;
  remove_folder(work);
  return 0;
}

/* Nothing is cached, nothing logged, and the linker hands out mark3. */
static inline int begin_test(void **state) {
  (void)state;
  remove_folder(cache_path);
  unlink(log_path);
  unsetenv("KDL_FAKE_LD");
  unsetenv("KDL_FAKE_LD_DEPENDS");
  setenv("KDL_FAKE_LD_IMAGE", KDL_TEST_IMAGES "/mark3.so", 1);
  return 0;
}

/* How often the linker was run, and the arguments of the last run. */
static char last_run[16384];

static inline size_t runs(void) {
  size_t count = 0;
  FILE *file = fopen(log_path, "r");
  char line[sizeof last_run];
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "--protocol=", 11) != 0)
      continue;
    ++count;
    strcpy(last_run, line);
  }
  if (file)
    fclose(file);
  return count;
}

/* One image: bitcode where `file` is NULL, else one of the test images. */
typedef struct mixed_row {
  const char *file;
  const char *arch; /* NULL: any */
  const char *keys; /* "key=value|key=value", or NULL */
  const char *text; /* after the bitcode, to distinguish two of them */
} mixed_row;

typedef struct mixed_library {
  kdl_library *lib;
  void *data;
  size_t size;
} mixed_library;

static inline void add_mixed(kdl_writer *writer, const mixed_row *row, uint8_t **out_data) {
  char path[1024], keys[512];
  size_t size, count = 2;
  kdl_pair pairs[16] = {{text_of("triple"), text_of(HOST_TRIPLE)},
                        {text_of("arch"), text_of(row->arch ? row->arch : HOST_ARCH)}};
  snprintf(keys, sizeof keys, "%s", row->keys ? row->keys : "");
  for (char *pair = strtok(keys, "|"); pair; pair = strtok(NULL, "|")) {
    char *value = strchr(pair, '=');
    *value++ = '\0';
    pairs[count++] = (kdl_pair){text_of(pair), text_of(value)};
  }
  snprintf(path, sizeof path,
           row->file ? KDL_TEST_IMAGES "/%s.so" : KDL_TEST_DATA "/images/host.bc", row->file);
  uint8_t *data = read_file(path, &size);
  size_t more = row->text ? strlen(row->text) : 0;
  *out_data = data = realloc(data, size + more + 1);
  memcpy(data + size, row->text ? row->text : "", more);
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = row->file ? 1 : 2,
                            .pairs = pairs,
                            .pair_count = count,
                            .data = data,
                            .data_size = size + more};
  assert_ok(kdl_writer_add(writer, &image));
}

static inline mixed_library open_mixed(const mixed_row *rows, size_t count) {
  mixed_library made = {0};
  kdl_writer *writer;
  uint8_t *images[16];
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < count; ++i)
    add_mixed(writer, &rows[i], &images[i]);
  assert_ok(kdl_writer_finish(writer, &made.data, &made.size));
  kdl_writer_destroy(writer);
  for (size_t i = 0; i < count; ++i)
    free(images[i]);
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(made.data, made.size, &opts, &made.lib));
  return made;
}

static inline void free_mixed(mixed_library *made) {
  kdl_close(made->lib);
  free(made->data);
}

#define MARK "kdl.kernel.mark=sig=ptr<u32> u32"

/* Bitcode that is wanted most, and something to fall back on. */
static const mixed_row with_fallback[] = {
    {NULL, NULL, "variant_priority=9|" MARK, NULL},
    {"mark1", NULL, MARK, NULL},
};
static const mixed_row alone[] = {{NULL, NULL, MARK, NULL}};

/* Opens, launches, closes; the variant that ran. */
static inline uint32_t run_rows(const mixed_row *rows, size_t count) {
  mixed_library made = open_mixed(rows, count);
  uint32_t variant = run_mark(kernel_named(made.lib, "mark"), 1000);
  free_mixed(&made);
  return variant;
}

#endif
