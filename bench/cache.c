/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What it takes from kdl_sym to a kernel that is loaded, where the image is bitcode: out of the
 * cache, next to the same image ready-made in the library, and by linking.
 *
 *     bench_cache [BLOCKS]
 *     bench_cache --once small|large cached|ready      nanoseconds of the first use in a process
 *
 * The large subject is linked by the tests' fake kdl-ld, which hands out an image as it is told.
 */
#include "measure/harness.h"
#include "measure/must.h"
#include "support/system/loader.h"
#include "tools/common/temp_folder.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { limit_data = 1 << 20, ukernel_count = 20, processes = 40, linkings = 10 };

typedef enum { way_cached, way_ready, way_linked } way;

/* One library twice: as bitcode, with other bitcode images, and as what that is linked to. */
typedef struct {
  const char *name;
  size_t caller_size, image_size; /* at least */
  size_t ukernel_size;            /* of each further bitcode image; 0: there are none */
  bool is_fake;
  void *libraries[2]; /* bitcode, ready-made */
  size_t sizes[2];
} subject;

static subject subjects[] = {
    {.name = "small"},
    {.name = "large",
     .caller_size = 200 << 10,
     .image_size = 200 << 10,
     .ukernel_size = 20 << 10,
     .is_fake = true},
};
enum { subject_count = sizeof subjects / sizeof *subjects };

/* ------------------------------------------------------------------------------------------ */
/* Libraries                                                                                    */

/* What lies behind the end that a format knows of does no harm, and takes as long to read. */
static uint8_t *read_padded(const char *path, size_t least, size_t *out_size) {
  uint8_t *data = calloc(1, limit_data);
  FILE *file = fopen(path, "rbe");
  size_t size = file && data ? fread(data, 1, limit_data, file) : 0;
  if (file)
    fclose(file);
  if (!size)
    bench_die(path);
  while (size < least && size < limit_data) {
    data[size] = (uint8_t)(size * 7);
    ++size;
  }
  *out_size = size;
  return data;
}

static kdl_string to_kdl_string(const char *data) {
  return (kdl_string){data, strlen(data)};
}

static void add_cache_image(kdl_writer *writer, kdl_image_kind kind, const char *key,
                            const void *data, size_t size) {
  const kdl_pair pairs[] = {{to_kdl_string("triple"), to_kdl_string("x86_64-unknown-linux-gnu")},
                            {to_kdl_string("arch"), to_kdl_string("x86-64-v2")},
                            {to_kdl_string(key), to_kdl_string("rev=1")}};
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = kdl_llvm_image_kind(kind),
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = data,
                            .data_size = size};
  bench_require(kdl_writer_add(writer, &image), "pack");
}

static void write_subject_library(subject *its, way which, const uint8_t *data, size_t size) {
  kdl_writer *writer;
  uint8_t *ukernel = calloc(1, its->ukernel_size + 1);
  bench_require(kdl_writer_create(KDL_FORMAT_V1, &writer), "pack");
  add_cache_image(writer, which == way_ready ? KDL_IMAGE_OBJECT : KDL_IMAGE_BITCODE,
                  "kdl.kernel.mark", data, size);
  for (int i = 0; its->ukernel_size && i < ukernel_count; ++i)
    add_cache_image(writer, KDL_IMAGE_BITCODE, "kdl.ukernel.some", ukernel, its->ukernel_size);
  bench_require(kdl_writer_finish(writer, &its->libraries[which], &its->sizes[which]), "pack");
  kdl_writer_destroy(writer);
  free(ukernel);
}

/* ------------------------------------------------------------------------------------------ */
/* Measuring                                                                                    */

/* From kdl_sym to a kernel that is loaded; opening the library is measured elsewhere. */
static double use_once(const subject *its, way which) {
  int library = which == way_ready;
  kdl_library *lib;
  kdl_kernel *kernel;
  kdl_device *device;
  bench_require(kdl_device_find("host", &device), "device");
  bench_require(kdl_open_memory(its->libraries[library], its->sizes[library], NULL, &lib), "open");
  setenv("KDL_CACHE", which == way_linked ? "off" : "on", 1);
  double start = bench_now_ns();
  bench_require(kdl_sym(lib, device, "mark", NULL, &kernel), "kdl_sym");
  bench_require(kdl_prefetch(kernel), "kdl_prefetch");
  double took = bench_now_ns() - start;
  kdl_close(lib);
  return took;
}

static void choose_linker(const subject *its) {
  if (its->is_fake)
    setenv("KDL_LD", KDL_BENCH_FAKE_LD, 1);
  else
    unsetenv("KDL_LD");
}

/* In a process of its own, so that the loader and every page are met for the first time. */
static double use_in_process(const char *self, const subject *its, const char *how) {
  char command[4200], line[64] = "";
  snprintf(command, sizeof command, "'%s' --once %s %s", self, its->name, how);
  FILE *from = popen(command, "r"); /* NOLINT(bugprone-command-processor,cert-env33-c): of ours */
  if (!from || !fgets(line, sizeof line, from) || pclose(from) != 0)
    bench_die(command);
  return strtod(line, NULL);
}

static void print_row(const char *what, bench_summary summary) {
  printf("  %-44s %9.1f us   %9.1f .. %9.1f (5%% .. 95%%)\n", what, summary.median / 1000,
         summary.p5 / 1000, summary.p95 / 1000);
}

static void print_difference(bench_interval more) {
  printf("  %-44s %9.1f us   %9.1f .. %9.1f (95%% interval)\n", "the cache's own part",
         more.median / 1000, more.low / 1000, more.high / 1000);
}

static void measure_subject(const char *self, const subject *its, size_t blocks) {
  static bench_run run;
  choose_linker(its);
  run.cases = 2;
  run.blocks = blocks;
  for (size_t i = 0; i < blocks; ++i) {
    run.ns[way_cached][i] = use_once(its, way_cached);
    run.ns[way_ready][i] = use_once(its, way_ready);
  }
  printf("%s: bitcode of %zu bytes, %d of %zu bytes next to it\n", its->name, its->caller_size,
         its->ukernel_size ? ukernel_count : 0, its->ukernel_size);
  print_row("ready-made image", bench_summarise(&run, way_ready));
  print_row("from the cache", bench_summarise(&run, way_cached));
  print_difference(bench_difference(&run, way_cached, way_ready));
  run.blocks = processes;
  for (size_t i = 0; i < processes; ++i) {
    run.ns[way_cached][i] = use_in_process(self, its, "cached");
    run.ns[way_ready][i] = use_in_process(self, its, "ready");
  }
  print_row("ready-made image, first use in a process", bench_summarise(&run, way_ready));
  print_row("from the cache, first use in a process", bench_summarise(&run, way_cached));
  print_difference(bench_difference(&run, way_cached, way_ready));
  run.blocks = linkings;
  for (size_t i = 0; i < linkings && !its->is_fake; ++i)
    run.ns[way_cached][i] = use_once(its, way_linked);
  if (!its->is_fake)
    print_row("linked by kdl-ld", bench_summarise(&run, way_cached));
}

/* ------------------------------------------------------------------------------------------ */

static void prepare_subjects(void) {
  for (size_t i = 0; i < subject_count; ++i) {
    subject *its = &subjects[i];
    size_t image_size;
    uint8_t *caller = read_padded(KDL_BENCH_BITCODE, its->caller_size, &its->caller_size);
    uint8_t *image = read_padded(KDL_BENCH_IMAGE, its->image_size, &image_size);
    char path[128];
    snprintf(path, sizeof path, "%s/%s.so", getenv("KDL_CACHE_DIR"), its->name);
    FILE *file = access(path, R_OK) != 0 ? fopen(path, "wbe") : NULL;
    if (file && (fwrite(image, 1, image_size, file) != image_size || fclose(file) != 0))
      bench_die(path);
    if (its->is_fake)
      setenv("KDL_FAKE_LD_IMAGE", path, 1);
    write_subject_library(its, way_cached, caller, its->caller_size);
    write_subject_library(its, way_ready, image, image_size);
    free(caller);
    free(image);
  }
}

static void clean_up(const char *folder) {
  temp_folder_remove_files(folder, 0);
  for (size_t i = 0; i < subject_count; ++i) {
    free(subjects[i].libraries[0]);
    free(subjects[i].libraries[1]);
  }
  rmdir(folder);
}

static int run_once(const char *name, const char *how) {
  const subject *its = strcmp(name, "large") == 0 ? &subjects[1] : &subjects[0];
  choose_linker(its);
  printf("%.0f\n", use_once(its, strcmp(how, "ready") == 0 ? way_ready : way_cached));
  return 0;
}

int main(int argc, char **argv) {
  char folder[] = "/tmp/kdl-bench-XXXXXX", self[4096] = "";
  size_t blocks = argc > 1 && argv[1][0] != '-' ? strtoul(argv[1], NULL, 10) : 200;
  bool is_child = argc == 4;
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || (!is_child && !mkdtemp(folder)))
    bench_die("set-up");
  if (!is_child)
    setenv("KDL_CACHE_DIR", folder, 1);
  prepare_subjects();
  if (is_child)
    return run_once(argv[2], argv[3]);
  char linker[PATH_MAX];
  unsetenv("KDL_LD");
  bool has_linker = kdl_linker_path(linker);
  printf("kdl bench cache, libkdl %s: kdl_sym to loaded, on the host\n\n", kdl_version());
  if (blocks > KDL_BENCH_LIMIT_BLOCKS)
    blocks = KDL_BENCH_LIMIT_BLOCKS;
  for (size_t i = 0; i < subject_count; ++i) {
    if (subjects[i].is_fake || has_linker)
      measure_subject(self, &subjects[i], blocks);
    else
      printf("%s: not measured: kdl-ld is not built\n", subjects[i].name);
  }
  clean_up(folder);
  return 0;
}
