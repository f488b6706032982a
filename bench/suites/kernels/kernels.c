/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels next to those of other compilers and runtimes. Each runtime of the CPU is in a process of
 * its own, with as many threads as are measured: two OpenCL drivers and OpenMP in one would share
 * CPUs, symbols and faults. The processes are told in turn to launch; while one does, the others
 * are stopped, so that no thread of theirs looks for work. On a GPU all images are in one process.
 */
#include "suites/kernels/kernels.h"

#include "measure/progress.h"
#include "peers/peer.h"
#include "suites/cases.h"
#include "suites/process.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const kernels_peer kernels_peers[KERNELS_PEERS] = {
    {"pocl", false, false, "the same source as OpenCL C, by PoCL"},
    {"intel", false, false, "the same source as OpenCL C, by Intel's OpenCL for CPUs"},
    {"openmp", false, false, "the same algorithm in plain C with OpenMP SIMD"},
    {"nvcc", true, false, "the same kernel in CUDA C++, by nvcc"},
    {"onednn", false, true, "products of matrices by oneDNN"},
    {"torch", false, true, "products of matrices by PyTorch"},
};

enum { most_members = KERNELS_PEERS + 1, settings_limit = 6 };

/* kdl or a peer. */
typedef struct {
  const char *name;
  process *at;    /* NULL: it is not there */
  uint32_t index; /* among those of the process */
  bool of_products;
  uint64_t repeats;
} member;

typedef struct {
  const kernels_request *request;
  bench_results *results;
  process processes[most_members];
  size_t process_count;
  member members[most_members]; /* kdl is the first */
  size_t member_count;
  char prefix[32]; /* "kernels/1 thread" */
  uint32_t threads;
} group;

/* ------------------------------------------------------------------------------------------ */
/* The processes                                                                                */

static bool receive_reply(const process *from, kernels_reply *out_reply) {
  char *into = (char *)out_reply;
  for (size_t done = 0; done < sizeof *out_reply;) {
    ssize_t more = read(from->from, into + done, sizeof *out_reply - done);
    if (more < 0 && errno == EINTR) /* the user's: what is measured now is still received */
      continue;
    if (more <= 0)
      return false;
    done += (size_t)more;
  }
  return true;
}

/* Lets it work, and stops it again. False where it is gone. */
static bool send_command(const group *g, const member *m, const kernels_command *command,
                         kernels_reply *out_reply) {
  const process *at = m->at;
  bool stops = !g->request->on_gpu;
  if (!at)
    return false;
  if (stops)
    kill(at->id, SIGCONT);
  bool received = write(at->to, command, sizeof *command) == (ssize_t)sizeof *command &&
                  receive_reply(at, out_reply);
  if (received && stops)
    kill(at->id, SIGSTOP);
  return received;
}

/* Its end, with peer_error() where it was not a good one. */
static bool end_process(process *p) {
  if (p->id <= 0)
    return true;
  kill(p->id, SIGCONT);
  close(p->to);
  p->to = -1;
  bool ok = process_finish(p);
  p->id = 0;
  return ok;
}

/* A member that fails is left out from here on, for a kernel or, with NULL, for good. kdl may lack
 * products, where nothing links their kernels. */
static kdl_status skip_member(group *g, const member *m, const kernels_case *of, const char *why) {
  char what[64];
  const char *kernel = of ? of->name : "";
  bool is_required = m == g->members ? !of || of->library : g->request->required;
  if (is_required)
    return kdl_fail(KDL_DEVICE, "%s: %s%s%s", m->name, kernel, *kernel ? ": " : "", why);
  snprintf(what, sizeof what, "%s%s%s", m->name, *kernel ? "/" : "", kernel);
  bench_skip_add(g->results, what, why);
  return KDL_OK;
}

static kdl_status drop_member(group *g, member *m) {
  process *gone = m->at;
  for (size_t i = 0; i < g->member_count; ++i) {
    if (g->members[i].at == gone)
      g->members[i].at = NULL;
  }
  const char *why = end_process(gone) ? "its process ended" : peer_error();
  return skip_member(g, m, NULL, why);
}

/* ------------------------------------------------------------------------------------------ */
/* Starting them                                                                                */

/* Where Intel's runtime is, if not among those of the system. */
static bool find_intel(const kernels_request *request, char folder[PATH_MAX]) {
  const char *set = kdl_environment(KDL_VARIABLE_BENCH_INTEL_OPENCL);
  char list[PATH_MAX];
  if (set)
    snprintf(folder, PATH_MAX, "%s", set);
  else
    snprintf(folder, PATH_MAX, "%s/../opencl-runtime", request->program);
  int used = snprintf(list, sizeof list, "%s/vendors", folder);
  return used > 0 && (size_t)used < sizeof list && access(list, R_OK) == 0;
}

static kdl_status start_process(group *g, const char *peers, uint32_t threads) {
  const kernels_request *request = g->request;
  char words[settings_limit][PATH_MAX + 64], folder[PATH_MAX], count[16];
  const char *settings[settings_limit + 1];
  size_t used = 0;
  process *p = &g->processes[g->process_count];
  snprintf(count, sizeof count, "%u", threads);
  static const char *const limits[] = {"KDL_HOST_THREADS", "POCL_MAX_PTHREAD_COUNT",
                                       "CL_CONFIG_CPU_TBB_NUM_WORKERS", "OMP_NUM_THREADS"};
  for (size_t i = 0; i < sizeof limits / sizeof *limits && !request->on_gpu; ++i)
    snprintf(words[used++], sizeof *words, "%s=%s", limits[i], count);
  if (strcmp(peers, "intel") == 0 && find_intel(request, folder)) {
    const char *path = kdl_environment(KDL_VARIABLE_LD_LIBRARY_PATH);
    snprintf(words[used++], sizeof *words, "OCL_ICD_VENDORS=%s/vendors", folder);
    snprintf(words[used++], sizeof *words, "LD_LIBRARY_PATH=%s%s%.1024s", folder, path ? ":" : "",
             path ? path : "");
  }
  for (size_t i = 0; i < used; ++i)
    settings[i] = words[i];
  settings[used] = NULL;
  if (!process_start_interactive(
          (const char *[]){"kernels", request->folder, request->device, peers, count, NULL},
          settings, p))
    return kdl_fail(KDL_IO, "%s: %s", peers, peer_error());
  ++g->process_count;
  return KDL_OK;
}

/* What each member says of itself, or why it is not there. */
static kdl_status receive_greetings(group *g, process *p, size_t first, size_t count) {
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < count && status == KDL_OK; ++i) {
    member *m = &g->members[first + i];
    kernels_reply said;
    m->at = p;
    m->index = (uint32_t)i;
    if (!receive_reply(p, &said))
      return drop_member(g, m);
    if (said.good) {
      bench_note_add(g->results, m->name, "%s", said.text);
      continue;
    }
    m->at = NULL;
    status = skip_member(g, m, NULL, said.text);
  }
  if (!g->request->on_gpu)
    kill(p->id, SIGSTOP);
  return status;
}

static kdl_status start_processes(group *g, uint32_t threads) {
  const kernels_request *request = g->request;
  char together[128] = "kdl";
  kdl_status status = KDL_OK;
  g->members[g->member_count++] = (member){.name = "kdl"};
  for (size_t i = 0; i < KERNELS_PEERS; ++i) {
    if (!(request->peers & 1u << i))
      continue;
    g->members[g->member_count++] =
        (member){.name = kernels_peers[i].name, .of_products = kernels_peers[i].of_products};
    size_t length = strlen(together);
    snprintf(together + length, sizeof together - length, ",%s", kernels_peers[i].name);
  }
  size_t each = request->on_gpu ? g->member_count : 1;
  for (size_t i = 0; i < g->member_count && status == KDL_OK; i += each) {
    process *p = &g->processes[g->process_count];
    status = start_process(g, request->on_gpu ? together : g->members[i].name, threads);
    if (status == KDL_OK)
      status = receive_greetings(g, p, i, each);
  }
  return status;
}

static void end_processes(group *g) {
  for (size_t i = 0; i < g->process_count; ++i)
    end_process(&g->processes[i]);
}

/* ------------------------------------------------------------------------------------------ */
/* Measuring                                                                                    */

/* One order to one member. *out_ns is below 0 where it is left out from here on. */
static kdl_status run_command(group *g, member *m, const kernels_case *what, uint32_t n,
                              uint64_t repeats, double *out_ns) {
  kernels_command command = {m->index, (uint32_t)(what - kernels_cases), n, repeats};
  kernels_reply said;
  *out_ns = -1;
  if (!m->at) /* another of its process ended it */
    return KDL_OK;
  if (!send_command(g, m, &command, &said))
    return drop_member(g, m);
  if (!said.good)
    return skip_member(g, m, what, said.text);
  if (!repeats && *said.text) {
    char key[32];
    snprintf(key, sizeof key, "%s ran", m->name);
    bench_note_add(g->results, key, "%s", said.text);
  }
  *out_ns = said.ns;
  return KDL_OK;
}

/* How often it must run to last as long as asked. */
static kdl_status calibrate_member(group *g, member *m, const kernels_case *what, uint32_t n) {
  double wanted = g->request->milliseconds * 1e6, ns = 0;
  kdl_status status = run_command(g, m, what, n, 0, &ns);
  m->repeats = 1;
  while (status == KDL_OK && ns >= 0) {
    status = run_command(g, m, what, n, m->repeats, &ns);
    if (status != KDL_OK || ns < 0 || ns >= wanted / 4 || m->repeats > 1000000)
      break;
    m->repeats *= 2;
  }
  double needed = ns > 0 ? (double)m->repeats * wanted / ns : 0;
  m->repeats = ns < 0 ? 0 : needed > 1 ? (uint64_t)needed : 1;
  return status;
}

/* A point of each member's curve, and what the machine could do. */
static void add_to_curves(group *g, const kernels_case *what, uint32_t n, const cases_run *said,
                          const bench_run *run) {
  static double ratios[KDL_BENCH_LIMIT_BLOCKS];
  const char *row = strrchr(said->prefix, '/') + 1;
  char name[BENCH_NAME], ours[BENCH_NAME];
  for (size_t i = 0; i < said->count; ++i) {
    snprintf(name, sizeof name, "scale/%s/%s", row, said->cases[i].name);
    bench_curve_point(g->results, bench_curve_add(g->results, name, "threads"), g->threads,
                      cases_figure(said, g->results, i));
  }
  double ns = g->request->roofline_ns(g->request->machine, g->threads, what, n);
  if (ns <= 0)
    return;
  snprintf(name, sizeof name, "%s/roofline", said->prefix);
  snprintf(ours, sizeof ours, "%s/kdl", said->prefix);
  size_t figure = bench_figure_add(g->results, name, &ns, 1, 0);
  for (size_t i = 0; i < run->blocks; ++i)
    ratios[i] = ns / run->ns[0][i];
  bench_comparison_add(g->results, name, ours, ratios, run->blocks);
  snprintf(name, sizeof name, "scale/%s/roofline", row);
  bench_curve_point(g->results, bench_curve_add(g->results, name, "threads"), g->threads, figure);
}

/* All members that have it, in interleaved blocks. */
static kdl_status measure_kernel(group *g, const kernels_case *what, const char *size, uint32_t n) {
  static bench_run run;
  char prefix[BENCH_NAME / 2 + 40];
  bench_case cases[most_members];
  member *taking[most_members];
  size_t count = 0, done = 0;
  kdl_status status = KDL_OK;
  if (g->request->roofline_ns)
    snprintf(prefix, sizeof prefix, "%s/%s %s", g->prefix, what->name, size);
  else
    snprintf(prefix, sizeof prefix, "%s/%s/%s", g->prefix, size, what->name);
  bench_progress(prefix, 0, 1);
  for (size_t i = 0; i < g->member_count && status == KDL_OK; ++i) {
    member *m = &g->members[i];
    if (!m->at || (m != g->members && m->of_products != !what->library))
      continue;
    status = calibrate_member(g, m, what, n);
    if (m->repeats) {
      cases[count] = (bench_case){.name = m->name};
      taking[count++] = m;
    } else if (m == g->members) {
      return status; /* there is nothing to compare with */
    }
  }
  bool whole = true;
  while (done < g->request->blocks && status == KDL_OK && whole && !bench_was_interrupted()) {
    for (size_t k = 0; k < count && status == KDL_OK && whole; ++k) {
      size_t i = (k + done) % count; /* none always follows the same other one */
      double ns;
      status = run_command(g, taking[i], what, n, taking[i]->repeats, &ns);
      run.ns[i][done] = ns / (double)taking[i]->repeats;
      whole = ns >= 0;
    }
    done += whole && status == KDL_OK;
  }
  run.cases = count;
  run.blocks = done;
  if (!count || !done || status != KDL_OK)
    return status;
  cases_run said = {.prefix = prefix, .cases = cases, .count = count, .operations = 1};
  cases_add_figures(&said, &run, g->results);
  for (size_t i = 1; i < count; ++i)
    cases_compare(&said, &run, i, 0, g->results);
  if (g->request->roofline_ns)
    add_to_curves(g, what, n, &said, &run);
  return KDL_OK;
}

static kdl_status measure_group(group *g, uint32_t threads) {
  const kernels_request *request = g->request;
  kdl_status status = start_processes(g, threads);
  for (size_t size = 0; size < KERNELS_SIZES && status == KDL_OK; ++size) {
    if (!(request->sizes & 1u << size))
      continue;
    for (size_t i = 0; i < kernels_case_count && status == KDL_OK && !bench_was_interrupted();
         ++i) {
      const kernels_case *what = &kernels_cases[i];
      uint32_t n = request->on_gpu ? what->on_gpu[size] : what->on_cpu[size];
      if (request->kernels & 1u << i)
        status = measure_kernel(g, what, kernels_sizes[size], n);
    }
  }
  end_processes(g);
  return status;
}

kdl_status suite_kernels(const kernels_request *request, bench_results *results) {
  kdl_status status = KDL_OK;
  signal(SIGPIPE, SIG_IGN); /* a process that is gone is noticed */
  for (size_t i = 0; i < request->thread_count && status == KDL_OK && !bench_was_interrupted();
       ++i) {
    static group g;
    uint32_t threads = request->threads[i];
    g = (group){.request = request, .results = results};
    if (request->on_gpu)
      snprintf(g.prefix, sizeof g.prefix, "kernels/gpu");
    else
      snprintf(g.prefix, sizeof g.prefix, "%s/%u thread%s",
               request->roofline_ns ? "scale" : "kernels", threads, threads > 1 ? "s" : "");
    g.threads = threads;
    /* Threads inherit the CPU, so that several are not pinned. */
    if (threads > 1 || request->on_gpu)
      bench_machine_unpin();
    else if (!bench_machine_pin(request->pin, &results->machine))
      bench_skip_add(results, "pinning", "the system does not allow it");
    status = measure_group(&g, threads);
  }
  signal(SIGPIPE, SIG_DFL);
  return status;
}
