/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What choosing costs: among 3 images and among 1,000 with nothing remembered, and once a choice is
 * remembered; beside LLVM's own compatibility check over the same images. An allocator that counts
 * shows that choosing allocates nothing.
 *
 * `bench_select --count N` only chooses among three, N times, for callgrind
 * (bench/instructions.sh).
 */
#include "harness.h"

#include "select/selector.h"
#include "target/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef KDL_BENCH_LLVM
#include "llvm_peer.h"
#endif

/* ------------------------------------------------------------------------------------------ */
/* Counting allocations: the linker sends our objects' malloc here, by names that are its own */

static size_t allocations;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,misc-use-internal-linkage):
 * ld --wrap prescribes the names. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size) {
  ++allocations;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  ++allocations;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  ++allocations;
  return __real_realloc(memory, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,misc-use-internal-linkage) */

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

typedef struct {
  const char *triple;
  const char *arch;
  kdl_image_kind kind;
} image_row;

static const image_row three[] = {
    {"nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_CUBIN},
    {"amdgcn-amd-amdhsa", "gfx90a", KDL_IMAGE_HSACO},
    {"nvptx64-nvidia-cuda", "sm_90", KDL_IMAGE_CUBIN},
};

/* What a library for everybody holds; the one that fits is the last in preference. */
static const image_row many[] = {
    {"amdgcn-amd-amdhsa", "gfx90a:xnack+", KDL_IMAGE_HSACO},
    {"amdgcn-amd-amdhsa", "gfx942", KDL_IMAGE_HSACO},
    {"amdgcn-amd-amdhsa", "gfx11-generic", KDL_IMAGE_HSACO},
    {"nvptx64-nvidia-cuda", "sm_100a", KDL_IMAGE_CUBIN},
    {"nvptx64-nvidia-cuda", "sm_120", KDL_IMAGE_CUBIN},
    {"nvptx64-nvidia-cuda", "sm_80", KDL_IMAGE_CUBIN},
    {"x86_64-unknown-linux-gnu", "x86-64-v4", KDL_IMAGE_OBJECT},
    {"spirv64-unknown-unknown", "", KDL_IMAGE_SPIRV},
};

enum { many_count = 1000 };

typedef struct {
  kdl_preference order;
  kdl_device_rule device;
  size_t expected;
  const char *const *triples;
  const char *const *archs;
  size_t count;
  const char *device_triple;
  const char *device_arch;
} problem;

static const char *triple_texts[many_count];
static const char *arch_texts[many_count];

static void die(const char *what) {
  fprintf(stderr, "bench select: %s: %s\n", what, kdl_error_message());
  exit(1);
}

static problem make_problem(const image_row *rows, size_t row_count, size_t count,
                            const char *device, size_t expected) {
  kdl_image_rule *rules = calloc(count, sizeof *rules);
  problem made = {.expected = expected, .count = count};
  kdl_device_spec spec;
  for (size_t i = 0; i < count; ++i) {
    const image_row *row = &rows[i % row_count];
    kdl_image_desc desc = {
        .kind = row->kind, .triple = kdl_text_of(row->triple), .arch = kdl_text_of(row->arch)};
    kdl_image_compile(&desc, &rules[i]);
    triple_texts[i] = row->triple;
    arch_texts[i] = row->arch;
  }
  if (!kdl_preference_create(rules, count, KDL_POLICY_BEST, &made.order) ||
      kdl_device_spec_parse(device, &spec) != KDL_OK ||
      kdl_device_spec_compile(&spec, &made.device) != KDL_OK)
    die("set-up");
  free(rules);
  made.triples = triple_texts;
  made.archs = arch_texts;
  return made;
}

/* ------------------------------------------------------------------------------------------ */
/* Cases                                                                                        */

__attribute__((noinline)) static size_t choose(const kdl_preference *order,
                                               const kdl_device_rule *device) {
  return kdl_choose(order, device);
}

/* What the harness itself takes: an indirect call. */
static void empty_case(void *context) {
  bench_keep(context);
}

static void choose_case(void *context) {
  problem *asked = context;
  if (choose(&asked->order, &asked->device) != asked->expected)
    die("chose another image");
}

typedef struct {
  kdl_selector *selector;
  kdl_kernel_id kernel;
} remembered;

static void remembered_case(void *context) {
  remembered *asked = context;
  const kdl_selection *selection;
  if (kdl_selector_find(asked->selector, &asked->kernel, &selection) != KDL_OK)
    die("lookup");
  bench_keep(selection);
}

#ifdef KDL_BENCH_LLVM
static void llvm_case(void *context) {
  problem *asked = context;
  size_t found = llvm_peer_first_compatible(asked->triples, asked->archs, asked->count,
                                            asked->device_triple, asked->device_arch);
  bench_keep(&found);
}
#endif

/* Case 0 is the empty one, case 1 ours, case 2 LLVM's where there is one. */
static void report(const char *title, const bench_case *cases, size_t count, size_t blocks) {
  static bench_run run;
  bench_measure(cases, count, blocks, 1, &run);
  printf("%s\n", title);
  for (size_t i = 1; i < count; ++i) {
    bench_interval d = bench_difference(&run, i, 0);
    printf("  %-42s %10.1f ns  %10.1f .. %8.1f (95%% interval, beyond an empty call)\n",
           cases[i].name, d.median, d.low, d.high);
  }
  if (count > 2 && strncmp(cases[2].name, "LLVM", 4) == 0) {
    bench_interval ratio = bench_ratio(&run, 2, 1);
    printf("  %-42s %10.1f x   %10.1f .. %8.1f (95%% interval)\n", "LLVM over kdl", ratio.median,
           ratio.low, ratio.high);
  }
}

int main(int argc, char **argv) {
  /* The image that fits is the last in preference, so that every one is looked at. */
  problem few = make_problem(three, 3, 3, "hip:gfx90a:sramecc+:xnack-", 1);
  if (few.order.images[2] != 1)
    die("set-up: the image is not the last");
  few.device_triple = "amdgcn-amd-amdhsa";
  few.device_arch = "gfx90a:sramecc+:xnack-";
  if (argc > 2 && strcmp(argv[1], "--count") == 0) {
    for (long i = strtol(argv[2], NULL, 10); i > 0; --i)
      choose_case(&few);
    return 0;
  }
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
  printf("kdl bench select, libkdl %s: %zu interleaved blocks\n\n", kdl_version(), blocks);
  bench_case cases[3] = {{"empty", empty_case, NULL}, {"kdl, full rules", choose_case, &few}};
  size_t count = 2;
#ifdef KDL_BENCH_LLVM
  cases[count++] = (bench_case){"LLVM areTargetsCompatible, first match", llvm_case, &few};
#endif
  size_t before = allocations;
  report("3 images, nothing remembered", cases, count, blocks);
  size_t used = allocations - before;

  problem lot = make_problem(many, sizeof many / sizeof *many, many_count, "cuda:sm_90 driver=13.0",
                             many_count);
  lot.device_triple = "nvptx64-nvidia-cuda";
  lot.device_arch = "sm_90";
  cases[1].context = cases[2].context = &lot;
  before = allocations;
  report("1,000 images, none of which fits", cases, count, blocks);
  used += allocations - before;

  kdl_pair pairs[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                      {{"arch", 4}, {"sm_90", 5}},
                      {{"kdl.kernel.saxpy", 16}, {"rev=1", 5}}};
  kdl_image image = {.kind = KDL_IMAGE_CUBIN,
                     .triple = pairs[0].value,
                     .arch = pairs[1].value,
                     .pairs = pairs,
                     .pair_count = 3};
  kdl_container container = {.images = &image, .count = 1, .name = "bench"};
  kdl_catalog *catalog;
  kdl_device_spec spec;
  kdl_select_device device;
  remembered asked = {.kernel = kdl_kernel_id_of(KDL_TEXT("saxpy"))};
  if (kdl_catalog_create(&container, &catalog) != KDL_OK ||
      kdl_device_spec_parse("cuda:sm_90", &spec) != KDL_OK ||
      kdl_select_device_init(&spec, &device) != KDL_OK ||
      kdl_selector_create(catalog, &(kdl_query){.device = &device}, &asked.selector) != KDL_OK)
    die("set-up");
  remembered_case(&asked);
  remembered interned = asked;
  interned.kernel.name = kdl_selector_peek(asked.selector, &asked.kernel)->name;
  cases[1] = (bench_case){"kdl, by the name it handed out", remembered_case, &interned};
  cases[2] = (bench_case){"kdl, by a name to be compared", remembered_case, &asked};
  before = allocations;
  report("a choice that is remembered", cases, 3, blocks);
  used += allocations - before;
  printf("\nallocations while choosing: %zu\n", used);

  kdl_selector_destroy(asked.selector);
  kdl_catalog_destroy(catalog);
  kdl_preference_destroy(&few.order);
  kdl_preference_destroy(&lot.order);
  return used != 0;
}
