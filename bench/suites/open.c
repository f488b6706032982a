/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What opening a library costs per image, beyond a loop that only touches each header, and next to
 * LLVM's own reader.
 *
 * Version 1 headers lie between the images, so the loop is the floor: one page fault (mapping) or
 * one read (pread) an image. From memory, the floor is one load an image.
 */
#include "suite.h"

#include "cases.h"
#include "measure/must.h"
#include "measure/progress.h"
#include "objects.h"
#include "samples.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/system/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  char path[PEER_PATH];
  void *data;
  size_t size;
  size_t images;
  const llvm_peer *llvm;
} sample;

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

static void touch_memory(void *context) {
  const sample *at = context;
  const uint8_t *data = at->data;
  uint64_t sum = 0;
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(data + offset + 8))
    sum += data[offset];
  bench_do_not_optimize(&sum);
}

static void touch_mapping(void *context) {
  const sample *at = context;
  int fd = open(at->path, O_RDONLY | O_CLOEXEC);
  const uint8_t *data = mmap(NULL, at->size, PROT_READ, MAP_PRIVATE, fd, 0);
  uint64_t sum = 0;
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(data + offset + 8))
    sum += data[offset];
  bench_do_not_optimize(&sum);
  munmap((void *)(uintptr_t)data, at->size);
  close(fd);
}

static void touch_pread(void *context) {
  const sample *at = context;
  int fd = open(at->path, O_RDONLY | O_CLOEXEC);
  uint8_t header[256];
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(header + 8)) {
    if (pread(fd, header, sizeof header, (off_t)offset) < 32)
      bench_die("pread");
    bench_do_not_optimize(header);
  }
  close(fd);
}

static void kdl_from_memory(void *context) {
  const sample *at = context;
  kdl_library *lib;
  if (kdl_open_memory(at->data, at->size, NULL, &lib) != KDL_OK ||
      kdl_image_count(lib) != at->images)
    bench_die("kdl_open_memory");
  kdl_close(lib);
}

static void kdl_from_file(void *context) {
  const sample *at = context;
  kdl_library *lib;
  if (kdl_open(at->path, NULL, &lib) != KDL_OK || kdl_image_count(lib) != at->images)
    bench_die("kdl_open");
  kdl_close(lib);
}

static void llvm_create(void *context) {
  const sample *at = context;
  if (at->llvm->create(at->data, at->size) != at->images)
    bench_die("OffloadBinary::create");
}

static void llvm_extract(void *context) {
  const sample *at = context;
  if (at->llvm->extract(at->data, at->size) != at->images)
    bench_die("extractOffloadBinaries");
}

static void llvm_extract_file(void *context) {
  const sample *at = context;
  if (at->llvm->extract_file(at->path) != at->images)
    bench_die("extractOffloadBinaries from file");
}
/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

enum { memory_floor, memory_kdl, file_floor_mmap, file_floor_pread, file_kdl, first_peer };

static void measure_open(sample *at, size_t image_size, size_t blocks, bench_results *results) {
  bench_case cases[] = {
      {"memory, touch each header", touch_memory, at},
      {"memory, kdl_open_memory and kdl_close", kdl_from_memory, at},
      {"file, map and touch each header", touch_mapping, at},
      {"file, pread each header", touch_pread, at},
      {"file, kdl_open and kdl_close", kdl_from_file, at},
      {"memory, LLVM OffloadBinary::create", llvm_create, at},
      {"memory, LLVM extractOffloadBinaries", llvm_extract, at},
      {"file, LLVM extractOffloadBinaries", llvm_extract_file, at},
  };
  static bench_run run;
  char prefix[64];
  snprintf(prefix, sizeof prefix, "open/%zu of %zu bytes", at->images, image_size);
  size_t count = sizeof cases / sizeof *cases;
  cases_run what = {.prefix = prefix,
                    .cases = cases,
                    .count = at->llvm ? count : first_peer,
                    .blocks = blocks,
                    .milliseconds = 2,
                    .operations = (double)at->images};
  cases_measure(&what, results, &run);
  for (size_t i = first_peer; i < what.count; ++i)
    cases_compare(&what, &run, strncmp(cases[i].name, "file", 4) == 0 ? file_kdl : memory_kdl, i,
                  results);
}

kdl_status suite_open(const suite_built_in *built_in, size_t blocks, bench_results *results) {
  (void)built_in;
  static const struct {
    size_t images, bytes;
  } shapes[] = {{1, 4096}, {16, 4096}, {64, 4096}, {64, 65536}, {1024, 1024}, {1024, 65536}};
  const llvm_peer *llvm = suite_llvm();
  if (!llvm)
    bench_skip_add(results, "LLVM", peer_error());
  else
    bench_note_add(results, "LLVM", "%s", llvm->version);
  bench_note_add(results, "figures", "ns for each image");
  kdl_status status = KDL_OK;
  for (size_t i = 0;
       i < sizeof shapes / sizeof *shapes && status == KDL_OK && !bench_was_interrupted(); ++i) {
    sample at = {.images = shapes[i].images, .llvm = llvm};
    peer_temporary("open", at.path);
    int file = mkstemp(at.path); /* its name is ours from here on */
    status = file < 0 ? kdl_fail(KDL_IO, "%s: cannot be made", at.path)
                      : samples_images(shapes[i].images, shapes[i].bytes, &at.data, &at.size);
    if (file >= 0)
      close(file);
    if (status == KDL_OK)
      status = kdl_file_save(at.path, at.data, at.size);
    if (status == KDL_OK)
      measure_open(&at, shapes[i].bytes, blocks, results);
    unlink(at.path);
    free(at.data);
  }
  return status;
}
