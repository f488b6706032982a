/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What opening a library costs per image, beyond a loop that only touches each header, and beside
 * LLVM's own reader where it was found at build time.
 *
 * Version 1 headers lie between the images, so the loop is the floor: one page fault (mapping) or
 * one read (pread) an image. From memory, the floor is one load an image.
 */
#include "harness.h"

#include "base/bytes.h"

#include <kdl/kdl.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef KDL_BENCH_LLVM
#include "llvm_peer.h"
#endif

typedef struct {
  char path[64];
  void *data;
  size_t size;
  size_t images;
} sample;

static void die(const char *what) {
  fprintf(stderr, "bench open: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static sample make_sample(size_t images, size_t image_size) {
  static const char *const archs[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"};
  kdl_writer *writer;
  uint8_t *bytes = calloc(1, image_size);
  if (!bytes || kdl_writer_create(KDL_FORMAT_V1, &writer) != KDL_OK)
    die("set-up");
  memcpy(bytes,
         "\x7f"
         "ELF\2\1\1\x41\x08",
         9); /* a cubin, as far as a look at its first bytes goes */
  kdl_store_u16(bytes + 18, 190);
  for (size_t i = 0; i < images; ++i) {
    const char *arch = archs[i % (sizeof archs / sizeof *archs)];
    kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                        {{"arch", 4}, {arch, strlen(arch)}}};
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = 3,
                              .offload_kind = KDL_OFFLOAD_CUDA,
                              .pairs = pairs,
                              .pair_count = 2,
                              .data = bytes,
                              .data_size = image_size};
    if (kdl_writer_add(writer, &image) != KDL_OK)
      die("set-up");
  }
  sample made = {.images = images};
  snprintf(made.path, sizeof made.path, "/tmp/kdl-bench-open-%d.offload", (int)getpid());
  if (kdl_writer_finish(writer, &made.data, &made.size) != KDL_OK ||
      kdl_writer_save(writer, made.path) != KDL_OK)
    die("set-up");
  kdl_writer_destroy(writer);
  free(bytes);
  return made;
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

static void touch_memory(void *context) {
  const sample *at = context;
  const uint8_t *data = at->data;
  uint64_t sum = 0;
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(data + offset + 8))
    sum += data[offset];
  bench_keep(&sum);
}

static void touch_mapping(void *context) {
  const sample *at = context;
  int fd = open(at->path, O_RDONLY | O_CLOEXEC);
  const uint8_t *data = mmap(NULL, at->size, PROT_READ, MAP_PRIVATE, fd, 0);
  uint64_t sum = 0;
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(data + offset + 8))
    sum += data[offset];
  bench_keep(&sum);
  munmap((void *)(uintptr_t)data, at->size);
  close(fd);
}

static void touch_pread(void *context) {
  const sample *at = context;
  int fd = open(at->path, O_RDONLY | O_CLOEXEC);
  uint8_t header[256];
  for (size_t offset = 0; offset < at->size; offset += kdl_load_u64(header + 8)) {
    if (pread(fd, header, sizeof header, (off_t)offset) < 32)
      die("pread");
    bench_keep(header);
  }
  close(fd);
}

static void kdl_from_memory(void *context) {
  const sample *at = context;
  kdl_library *lib;
  if (kdl_open_memory(at->data, at->size, NULL, &lib) != KDL_OK ||
      kdl_image_count(lib) != at->images)
    die("kdl_open_memory");
  kdl_close(lib);
}

static void kdl_from_file(void *context) {
  const sample *at = context;
  kdl_library *lib;
  if (kdl_open(at->path, NULL, &lib) != KDL_OK || kdl_image_count(lib) != at->images)
    die("kdl_open");
  kdl_close(lib);
}

#ifdef KDL_BENCH_LLVM
static void llvm_create(void *context) {
  const sample *at = context;
  if (llvm_peer_create(at->data, at->size) != at->images)
    die("OffloadBinary::create");
}

static void llvm_extract(void *context) {
  const sample *at = context;
  if (llvm_peer_extract(at->data, at->size) != at->images)
    die("extractOffloadBinaries");
}

static void llvm_extract_file(void *context) {
  const sample *at = context;
  if (llvm_peer_extract_file(at->path) != at->images)
    die("extractOffloadBinaries from file");
}
#endif

/* ------------------------------------------------------------------------------------------ */
/* Report                                                                                       */

enum { in_memory_floor, in_memory_kdl, file_floor_mmap, file_floor_pread, file_kdl, first_peer };

static void report(const sample *at, size_t image_size, size_t blocks, double milliseconds) {
  bench_case cases[] = {
      {"memory: touch each header", touch_memory, (void *)(uintptr_t)at},
      {"memory: kdl_open_memory + kdl_close", kdl_from_memory, (void *)(uintptr_t)at},
      {"file: map, touch each header", touch_mapping, (void *)(uintptr_t)at},
      {"file: pread each header", touch_pread, (void *)(uintptr_t)at},
      {"file: kdl_open + kdl_close", kdl_from_file, (void *)(uintptr_t)at},
#ifdef KDL_BENCH_LLVM
      {"memory: LLVM OffloadBinary::create", llvm_create, (void *)(uintptr_t)at},
      {"memory: LLVM extractOffloadBinaries", llvm_extract, (void *)(uintptr_t)at},
      {"file: LLVM extractOffloadBinaries", llvm_extract_file, (void *)(uintptr_t)at},
#endif
  };
  size_t count = sizeof cases / sizeof *cases;
  static bench_run run;
  bench_measure(cases, count, blocks, milliseconds, &run);
  double images = (double)at->images;
  printf("%zu image%s of %zu bytes\n", at->images, at->images == 1 ? "" : "s", image_size);
  printf("  %-38s %12s %22s\n", "", "ns / image", "p5 .. p95");
  for (size_t i = 0; i < count; ++i) {
    bench_summary s = bench_summarise(&run, i);
    printf("  %-38s %12.1f %10.1f .. %8.1f\n", cases[i].name, s.median / images, s.p5 / images,
           s.p95 / images);
  }
  const struct {
    const char *name;
    size_t index, floor;
  } beyond[] = {{"kdl beyond touching, memory", in_memory_kdl, in_memory_floor},
                {"kdl beyond touching, file mapped", file_kdl, file_floor_mmap},
                {"kdl beyond touching, file pread", file_kdl, file_floor_pread}};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; ++i) {
    bench_interval d = bench_difference(&run, beyond[i].index, beyond[i].floor);
    printf("  %-38s %12.1f %10.1f .. %8.1f (95%% interval)\n", beyond[i].name, d.median / images,
           d.low / images, d.high / images);
  }
#ifdef KDL_BENCH_LLVM
  for (size_t i = first_peer; i < count; ++i) {
    size_t ours = strncmp(cases[i].name, "file", 4) == 0 ? file_kdl : in_memory_kdl;
    bench_interval r = bench_ratio(&run, i, ours);
    printf("  %-38s %11.2fx %9.2fx .. %7.2fx (95%% interval)\n", cases[i].name, r.median, r.low,
           r.high);
  }
  printf("  (the last rows: time of LLVM %s over time of kdl)\n", llvm_peer_version());
#endif
  printf("\n");
}

int main(int argc, char **argv) {
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  double milliseconds = argc > 2 ? strtod(argv[2], NULL) : 2;
  printf("kdl bench open, libkdl %s: %zu interleaved blocks of about %g ms a case\n\n",
         kdl_version(), blocks, milliseconds);
  static const struct {
    size_t images, bytes;
  } shapes[] = {{1, 4096}, {16, 4096}, {64, 4096}, {64, 65536}, {1024, 1024}, {1024, 65536}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    sample at = make_sample(shapes[i].images, shapes[i].bytes);
    report(&at, shapes[i].bytes, blocks, milliseconds);
    unlink(at.path);
    free(at.data);
  }
  return 0;
}
