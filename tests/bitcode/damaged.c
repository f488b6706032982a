/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * damaged_bitcode COUNT: loads so many damaged bitcode files through libkdl. Whatever that does to
 * kdl-ld, this process gets an answer each time, in bounded time, and at the end has no child, no
 * file more open and no more memory than before.
 */
#include "support/system/loader.h"

#include <kdl/kdl.h>

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { allowed_growth_kib = 8 * 1024 };

static const double longest_answer = 60; /* seconds: six times the limit that kdl-ld has here */

/* ------------------------------------------------------------------------------------------ */
/* Damage                                                                                       */

static uint64_t random_state = 1;

static size_t below(size_t limit) {
  random_state = random_state * 6364136223846793005 + 1442695040888963407;
  return (size_t)(random_state >> 33) % limit;
}

/* Each returns how long the file is then. */

static size_t flip_bits(uint8_t *data, size_t size) {
  for (size_t i = below(8) + 1; i > 0; --i)
    data[below(size)] ^= (uint8_t)(1u << below(8));
  return size;
}

static size_t scribble(uint8_t *data, size_t size) {
  size_t at = below(size);
  for (size_t i = below(64) + 1; i > 0 && at < size; --i)
    data[at++] = (uint8_t)below(256);
  return size;
}

static size_t zero(uint8_t *data, size_t size) {
  size_t at = below(size);
  size_t length = below(256) + 1;
  memset(data + at, 0, length < size - at ? length : size - at);
  return size;
}

static size_t cut(uint8_t *data, size_t size) {
  size_t left = 4 + below(size - 4);
  memset(data + left, 0, size - left);
  return left;
}

static size_t move_part(uint8_t *data, size_t size) {
  size_t length = below(size / 4) + 1;
  memmove(data + below(size - length), data + below(size - length), length);
  return size;
}

/* Words that are read as sizes, counts and numbers of types become large ones. */
static size_t enlarge(uint8_t *data, size_t size) {
  static const uint8_t large[] = {0xff, 0xff, 0xff, 0x7f};
  memcpy(data + below(size / 4 - 1) * 4, large, sizeof large);
  return size;
}

static size_t (*const damages[])(uint8_t *data, size_t size) = {flip_bits, scribble,  zero,
                                                                cut,       move_part, enlarge};
enum { damage_count = sizeof damages / sizeof *damages };

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

typedef struct {
  const char *name;
  const char *kernel;
  const char *triple; /* NULL: that of x86-64 */
  uint8_t *data;
  size_t size;
} good_file;

static good_file files[] = {{.name = "mark.bc", .kernel = "mark"},
                            {.name = "host.bc", .kernel = "saxpy"},
                            {.name = "two_modules.bc", .kernel = "other"},
                            {.name = "portable.bc", .kernel = "scan", .triple = "portable"},
                            {.name = "opencl.spv", .kernel = "memory", .triple = "spirv64"}};
enum { file_count = sizeof files / sizeof *files };

static void read_files(void) {
  for (size_t i = 0; i < file_count; ++i) {
    char path[1024];
    snprintf(path, sizeof path, KDL_TEST_DATA "/images/%s", files[i].name);
    FILE *file = fopen(path, "rb");
    files[i].data = calloc(1, 65536);
    files[i].size = file ? fread(files[i].data, 1, 65536, file) : 0;
    if (file)
      fclose(file);
    if (files[i].size < 64) {
      fprintf(stderr, "%s: cannot read\n", path);
      exit(2);
    }
  }
}

static kdl_string text(const char *data) {
  return (kdl_string){data, strlen(data)};
}

/* Where the kernels are listed, libkdl's own reader of bitcode has no say. */
static void *pack(const good_file *file, const uint8_t *data, size_t size, bool is_listed,
                  size_t *out_size) {
  char key[64];
  snprintf(key, sizeof key, "kdl.kernel.%s", file->kernel);
  bool is_spirv = strstr(file->name, ".spv") != NULL;
  const kdl_pair pairs[] = {
      {text("triple"), text(file->triple ? file->triple : "x86_64-unknown-linux-gnu")},
      {text(file->triple ? "kdl.portable" : "arch"), text(file->triple ? "1" : "x86-64-v2")},
      {text(key), text("rev=1")}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind =
                                kdl_llvm_image_kind(is_spirv ? KDL_IMAGE_SPIRV : KDL_IMAGE_BITCODE),
                            .pairs = pairs,
                            .pair_count = is_listed ? 3 : 2,
                            .data = data,
                            .data_size = size};
  kdl_writer *writer;
  void *packed = NULL;
  if (kdl_writer_create(KDL_FORMAT_V1, &writer) != KDL_OK ||
      kdl_writer_add(writer, &image) != KDL_OK ||
      kdl_writer_finish(writer, &packed, out_size) != KDL_OK) {
    fprintf(stderr, "%s\n", kdl_error_message());
    exit(2);
  }
  kdl_writer_destroy(writer);
  return packed;
}

/* Links and loads; launches nothing, for what still compiles may compute anything. */
static kdl_status try_packed(const void *packed, size_t size, const char *kernel,
                             kdl_device *device) {
  kdl_library *lib;
  kdl_kernel *handle;
  kdl_status status = kdl_open_memory(packed, size, NULL, &lib);
  if (status != KDL_OK)
    return status;
  status = kdl_sym(lib, device, kernel, NULL, &handle);
  if (status == KDL_OK)
    status = kdl_prefetch(handle);
  kdl_close(lib);
  return status;
}

/* Damage means something only where the file works without. */
static void check_undamaged(kdl_device *device) {
  size_t size;
  void *packed = pack(&files[0], files[0].data, files[0].size, true, &size);
  kdl_status status = try_packed(packed, size, files[0].kernel, device);
  free(packed);
  if (status == KDL_OK)
    return;
  fprintf(stderr, "%s, undamaged: %s\n", files[0].name, kdl_error_message());
  exit(1);
}

/* ------------------------------------------------------------------------------------------ */
/* Books                                                                                        */

static size_t open_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  size_t count = 0;
  while (folder && readdir(folder))
    ++count;
  if (folder)
    closedir(folder);
  return count;
}

static long resident_kib(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "VmRSS:", 6) == 0)
      kib = strtol(line + 6, NULL, 10);
  }
  if (file)
    fclose(file);
  return kib;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

typedef struct {
  size_t loaded, refused, died, stopped, other;
} tally;

static void count(tally *counts, kdl_status status) {
  const char *message = kdl_error_message();
  if (status == KDL_OK)
    ++counts->loaded;
  else if (strstr(message, "kdl-ld died"))
    ++counts->died;
  else if (strstr(message, "kdl-ld was stopped"))
    ++counts->stopped;
  else if (strstr(message, "kdl-ld "))
    ++counts->refused;
  else
    ++counts->other;
}

/* The real one, or where there is none, one that has every whim. */
static const char *choose_linker(bool *out_is_real) {
  char path[PATH_MAX];
  *out_is_real = kdl_linker_path(path);
  if (*out_is_real)
    return "kdl-ld";
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
  setenv("KDL_FAKE_LD", "moody", 1);
  setenv("KDL_FAKE_LD_IMAGE", "/dev/null", 1);
  return "the fake kdl-ld";
}

int main(int argc, char **argv) {
  size_t wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 40;
  setenv("KDL_LD_TIMEOUT", "10", 1);
  bool is_real;
  const char *linker = choose_linker(&is_real);
  kdl_device *device;
  if (kdl_device_find("host", &device) != KDL_OK ||
      !strstr(kdl_device_spec_text(device), "host:x86-64")) {
    printf("skipped: the bitcode is for x86-64 CPUs\n");
    return 77;
  }
  read_files();
  if (is_real)
    check_undamaged(device);
  tally counts = {0};
  size_t descriptors = 0;
  long memory = 0;
  double slowest = 0;
  uint8_t *data = malloc(65536);
  for (size_t i = 0; i < wanted; ++i) {
    if (i == wanted / 10) { /* by now every allocation that stays has been made */
      descriptors = open_descriptors();
      memory = resident_kib();
    }
    const good_file *file = &files[i % file_count];
    memcpy(data, file->data, file->size);
    size_t size = damages[i / file_count % damage_count](data, file->size);
    size_t packed_size;
    void *packed = pack(file, data, size, below(2), &packed_size);
    double start = now();
    count(&counts, try_packed(packed, packed_size, file->kernel, device));
    double took = now() - start;
    slowest = took > slowest ? took : slowest;
    free(packed);
  }
  free(data);
  long growth = resident_kib() - memory;
  size_t left_open = open_descriptors() - descriptors;
  bool has_children = waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
  printf("%zu damaged files through %s: %zu loaded all the same, %zu refused by it, %zu by libkdl, "
         "it died of %zu and was stopped at %zu; slowest %.1f s; %zu descriptors left open, %ld "
         "KiB grown%s\n",
         wanted, linker, counts.loaded, counts.refused, counts.other, counts.died, counts.stopped,
         slowest, left_open, growth, has_children ? "; children are left" : "");
  for (size_t i = 0; i < file_count; ++i)
    free(files[i].data);
  bool grown = KDL_CHECK_MEMORY && growth > allowed_growth_kib;
  bool works = counts.refused + counts.died > 0;
  return left_open || grown || has_children || slowest > longest_answer || !works;
}
