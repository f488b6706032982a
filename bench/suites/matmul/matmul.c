/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The matrix multiplication of kdl-matmul.offload next to oneDNN and OpenBLAS, and next to the peak
 * of the core, all in interleaved blocks of one process. Every library multiplies the same small
 * integers, of which every sum is exact in every type: their results must agree bit by bit before
 * anything is measured.
 */
#include "suites/matmul/matmul.h"

#include "measure/progress.h"
#include "suites/cases.h"
#include "suites/matmul/matmul_peak.h"
#include "support/base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const matmul_type_names[MATMUL_TYPES] = {"bf16", "s8", "f32", "f16"};
static const size_t type_sizes[MATMUL_TYPES] = {2, 1, 4, 2};

const gemm_peer *const matmul_peers[MATMUL_PEERS] = {&gemm_onednn, &gemm_openblas};

/* A case that goes wrong would be measured as a fast one. */
static void require_ok(kdl_status status) {
  if (status != KDL_OK) {
    fprintf(stderr, "kdl bench matmul: %s\n", kdl_error_message());
    exit(1);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* One multiplication                                                                           */

typedef struct {
  kdl_matmul matmul;
  gemm_problem problem;
  void *packed;
  bool unpacked; /* weights are packed in each run */
} ours;

static void run_ours(void *context) {
  const ours *o = context;
  const gemm_problem *p = &o->problem;
  kdl_matmul_matrix a = kdl_matmul_rows(p->a, p->k), b = kdl_matmul_rows(p->b, p->n);
  kdl_matmul_matrix c = kdl_matmul_rows(p->c, p->n);
  require_ok(o->unpacked ? kdl_matmul_run_unpacked(&o->matmul, NULL, a, b, o->packed, c, p->m, p->n,
                                                   p->k, KDL_MATMUL_SET)
                         : kdl_matmul_run(&o->matmul, NULL, a, o->packed, c, p->m, p->n, p->k,
                                          KDL_MATMUL_SET));
}

typedef struct {
  ours ours;
  gemm_problem theirs;
  const gemm_peer *peers[MATMUL_PEERS];
  void *prepared[MATMUL_PEERS];
  size_t peer_count;
  void *memory[5]; /* A, B, packed B, C, C of the peers */
} subject;

static void subject_free(subject *s) {
  kdl_matmul_free(&s->ours.matmul);
  for (size_t i = 0; i < s->peer_count; ++i)
    s->peers[i]->release(s->prepared[i]);
  for (size_t i = 0; i < sizeof s->memory / sizeof *s->memory; ++i)
    free(s->memory[i]);
}

static void fill_matrix(void *memory, size_t elements, kdl_matmul_type type, unsigned seed) {
  for (size_t i = 0; i < elements; ++i) {
    seed = seed * 1103515245u + 12345u;
    int value = (int)(seed >> 16) % 7 - 3;
    float number = (float)value;
    static const uint16_t halves[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    uint16_t half = halves[value + 3];
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint16_t bf16 = (uint16_t)(bits >> 16);
    int8_t byte = (int8_t)value;
    const void *from[] = {&bf16, &byte, &number, &half};
    memcpy((char *)memory + i * type_sizes[type], from[type], type_sizes[type]);
  }
}

static kdl_status allocate_matrices(subject *s, kdl_matmul_type type, const matmul_shape *shape) {
  size_t m = shape->m, n = shape->n, k = shape->k, size = type_sizes[type];
  size_t sizes[] = {m * k * size, n * k * size, kdl_matmul_packed_size(type, shape->n, shape->k),
                    m * n * 4, m * n * 4};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (posix_memalign(&s->memory[i], 64, sizes[i] + 64))
      return kdl_fail(KDL_NO_MEMORY, "out of memory for %zux%zux%zu in %s", m, n, k,
                      matmul_type_names[type]);
  }
  fill_matrix(s->memory[0], m * k, type, 1);
  fill_matrix(s->memory[1], n * k, type, 2);
  memset(s->memory[3], 0xee, m * n * 4);
  return KDL_OK;
}

/* Takes the peers that have the type; what they compute must be what we compute. */
static kdl_status add_peers(subject *s, const matmul_request *request, uint32_t threads) {
  size_t bytes = (size_t)s->theirs.m * s->theirs.n * 4;
  for (size_t i = 0; i < request->peer_count; ++i) {
    const gemm_peer *peer = request->peers[i];
    void *prepared = peer->prepare(&s->theirs, threads, !s->ours.unpacked);
    if (!prepared)
      continue;
    s->peers[s->peer_count] = peer;
    s->prepared[s->peer_count++] = prepared;
    memset(s->theirs.c, 0xdd, bytes);
    peer->run(prepared);
    if (memcmp(s->theirs.c, s->ours.problem.c, bytes) != 0)
      return kdl_fail(KDL_DEVICE, "%s %ux%ux%u: the result of %s is not ours",
                      matmul_type_names[s->theirs.type], s->theirs.m, s->theirs.n, s->theirs.k,
                      peer->title);
  }
  return KDL_OK;
}

static kdl_status subject_make(subject *s, const matmul_request *request, kdl_matmul_type type,
                               const matmul_shape *shape, uint32_t threads, bool plain) {
  kdl_status status = allocate_matrices(s, type, shape);
  if (status == KDL_OK)
    status = kdl_matmul_find(request->library, request->host, type, threads, &s->ours.matmul);
  if (status != KDL_OK)
    return status;
  s->ours.problem =
      (gemm_problem){type, shape->m, shape->n, shape->k, s->memory[0], s->memory[1], s->memory[3]};
  s->ours.packed = s->memory[2];
  s->ours.unpacked = plain;
  s->theirs = s->ours.problem;
  s->theirs.c = s->memory[4];
  require_ok(kdl_matmul_pack(&s->ours.matmul, NULL, kdl_matmul_rows(s->memory[1], shape->n),
                             s->ours.packed, shape->n, shape->k));
  run_ours(&s->ours);
  return add_peers(s, request, threads);
}

/* ------------------------------------------------------------------------------------------ */
/* A table: one type, number of threads and form of the weights; a row for each shape          */

typedef struct {
  const matmul_request *request;
  kdl_matmul_type type;
  uint32_t threads;
  bool unpacked;
  const matmul_peak *peak; /* NULL: not known */
  char prefix[64];         /* "matmul/f32/1 thread/packed" */
  bench_results *results;
} setting;

/* The threads of OpenMP and of OpenBLAS look for more work for some milliseconds before they sleep,
 * on the CPUs that the next case is to have. */
static void wait_for_idle_threads(const bench_case *next) {
  nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
  next->run(next->context);
}

/* Both in the same blocks, the peak for as many operations as the shape has. */
static void scale_peak(const setting *at, bench_run *run, size_t peak, double operations) {
  for (size_t block = 0; block < run->blocks; ++block)
    run->ns[peak][block] *= operations / at->peak->operations / at->threads;
}

static void measure_shape(const setting *at, const matmul_shape *shape, subject *s) {
  static bench_run run;
  bench_case cases[MATMUL_PEERS + 2] = {{"kdl", run_ours, &s->ours}};
  size_t count = 1;
  for (size_t i = 0; i < s->peer_count; ++i)
    cases[count++] = (bench_case){s->peers[i]->title, s->peers[i]->run, s->prepared[i]};
  if (at->peak)
    cases[count++] = (bench_case){"peak", at->peak->run, NULL};
  char prefix[BENCH_NAME / 2 + 48];
  snprintf(prefix, sizeof prefix, "%s/%ux%ux%u", at->prefix, shape->m, shape->n, shape->k);
  double operations = 2.0 * shape->m * shape->n * shape->k;
  size_t blocks = at->request->blocks;
  cases_run what = {.prefix = prefix,
                    .cases = cases,
                    .count = count,
                    .blocks = operations > 2e9 ? blocks / 2 + 1 : blocks,
                    .milliseconds = fmin(20, fmax(1, operations / 1e8)),
                    .operations = 1};
  bench_progress(prefix, 0, 1);
  bench_measure_with_setup(cases, count, what.blocks, what.milliseconds,
                           at->threads > 1 ? wait_for_idle_threads : NULL, &run);
  if (at->peak)
    scale_peak(at, &run, count - 1, operations);
  cases_add_figures(&what, &run, at->results);
  for (size_t i = 1; i < count; ++i)
    cases_compare(&what, &run, i, 0, at->results);
}

/* Times over n for squares, one curve for each library. */
static void add_curves(const setting *at) {
  const char *names[MATMUL_PEERS + 2] = {"kdl"};
  size_t count = 1;
  for (size_t i = 0; i < at->request->peer_count; ++i)
    names[count++] = at->request->peers[i]->title;
  names[count++] = "peak";
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < at->request->shape_count; ++k) {
      const matmul_shape *shape = &at->request->shapes[k];
      char name[BENCH_NAME];
      snprintf(name, sizeof name, "%s/%ux%ux%u/%s", at->prefix, shape->m, shape->n, shape->k,
               names[i]);
      const bench_figure *figure = bench_figure_find(at->results, name);
      if (!figure || shape->m != shape->n || shape->m != shape->k)
        continue;
      snprintf(name, sizeof name, "%s/%s", at->prefix, names[i]);
      bench_curve_point(at->results, bench_curve_add(at->results, name, "n"), shape->n,
                        (size_t)(figure - at->results->figures));
    }
  }
}

static kdl_status measure_table(const setting *at) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < at->request->shape_count && status == KDL_OK && !bench_was_interrupted();
       ++i) {
    subject s = {.peer_count = 0};
    status =
        subject_make(&s, at->request, at->type, &at->request->shapes[i], at->threads, at->unpacked);
    if (status == KDL_OK)
      measure_shape(at, &at->request->shapes[i], &s);
    subject_free(&s);
  }
  add_curves(at);
  return status;
}

/* One thread is pinned. Several are not: those that libraries start would all inherit the CPU. */
static void set_affinity(const matmul_request *request, uint32_t threads, bench_results *results) {
  static const char what[] = "pinning";
  if (threads > 1)
    bench_machine_unpin();
  else if (!bench_machine_pin(request->pin, &results->machine))
    bench_skip_add(results, what, "the system does not allow it");
}

kdl_status suite_matmul(const matmul_request *request, bench_results *results) {
  kdl_device_info device = {.size = sizeof device};
  kdl_status status = kdl_device_get(request->host, &device);
  if (status != KDL_OK)
    return status;
  for (size_t i = 0; i < request->thread_count; ++i) {
    set_affinity(request, request->threads[i], results);
    for (int type = 0; type < MATMUL_TYPES; ++type) {
      setting at = {.request = request,
                    .type = (kdl_matmul_type)type,
                    .threads = request->threads[i],
                    .peak = matmul_peak_find((kdl_matmul_type)type, &device),
                    .results = results};
      if (!(request->types & 1u << type))
        continue;
      if (!at.peak && !i)
        bench_skip_add(results, "peak", "no instruction of this CPU is known for a type");
      for (int plain = 0; plain < 2 && status == KDL_OK && !bench_was_interrupted(); ++plain) {
        if (!(request->weights & (plain ? MATMUL_PLAIN : MATMUL_PACKED)))
          continue;
        at.unpacked = plain;
        snprintf(at.prefix, sizeof at.prefix, "matmul/%s/%u thread%s/%s", matmul_type_names[type],
                 at.threads, at.threads > 1 ? "s" : "", plain ? "plain" : "packed");
        status = measure_table(&at);
      }
    }
  }
  return status;
}
