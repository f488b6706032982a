/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What KDL_TRACE costs a launch, a copy and a wait: the same program without it, with it, and with
 * KDL_TRACE_GPU, each in a process of its own that works when it is told to, block by block in
 * turn.
 *
 *     bench_trace [BLOCKS]                          a driver that does nothing, and the host
 *     bench_trace [BLOCKS] DEVICE LIBRARY KERNEL    that device; the kernel takes one argument
 */
#define KDL_CHECK_ARGUMENTS 0 /* as a program built for release has it */
#include "measure/harness.h"
#include "measure/machine.h"

#include <kdl/kdl.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  const char *title, *backend, *device, *library, *kernel;
  unsigned launches; /* in a block, with one wait behind every `queued` of them */
  unsigned queued;
} subject;

static const struct {
  const char *name;
  const char *trace, *gpu; /* NULL: unset */
} modes[] = {{"off", NULL, NULL}, {"on", "on", NULL}, {"on, with device time", "on", "1"}};
enum { mode_count = sizeof modes / sizeof *modes, operation_count = 4 };

static const char *const operations[operation_count] = {"kdl_launch", "kdl_launch_items",
                                                        "kdl_write of 4 bytes", "kdl_sync"};

/* ------------------------------------------------------------------------------------------ */
/* A worker                                                                                     */

typedef struct {
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_buffer buffer;
  uint64_t address;
  kdl_launch_desc desc;
} work;

static void require(kdl_status status, const char *what) {
  if (status == KDL_OK)
    return;
  fprintf(stderr, "bench trace: %s: %s\n", what, kdl_error_message());
  _exit(1);
}

static void run_operation(work *at, unsigned operation) {
  uint32_t word = 7;
  if (operation == 0)
    require(kdl_launch(at->kernel, at->queue, &at->desc, KDL_ARGS(&at->address)), "launch");
  else if (operation == 1)
    require(kdl_launch_items(at->kernel, at->queue, kdl_extent1(1), KDL_ARGS(&at->address)),
            "items");
  else if (operation == 2)
    require(kdl_write(at->queue, &at->buffer, 0, &word, sizeof word), "write");
  else
    require(kdl_sync(at->queue), "sync");
}

/* Of launches the waits are not counted: what a device does in them is its own. */
static double time_block(work *at, const subject *what, unsigned operation) {
  double sum = 0;
  for (unsigned done = 0; done < what->launches; done += what->queued) {
    double begin = bench_now_ns();
    for (unsigned i = 0; i < what->queued; ++i)
      run_operation(at, operation);
    sum += bench_now_ns() - begin;
    require(kdl_sync(at->queue), "sync");
  }
  return sum / what->launches;
}

/* Ends without its trace, which would be as long as the measurement. */
static _Noreturn void worker_main(const subject *what) {
  kdl_library *lib;
  kdl_device *device;
  work at = {.desc = kdl_grid(1, 1, 1)};
  unsigned char operation;
  at.desc.block[0] = at.desc.block[1] = at.desc.block[2] = 1;
  require(kdl_open(what->library, NULL, &lib), "open");
  require(kdl_device_find(what->device, &device), "device");
  require(kdl_queue_create(device, NULL, &at.queue), "queue");
  require(kdl_alloc(device, 64, &at.buffer), "alloc");
  require(kdl_sym(lib, device, what->kernel, NULL, &at.kernel), "kernel");
  require(kdl_prefetch(at.kernel), "load");
  at.address = at.buffer.address;
  while (read(STDIN_FILENO, &operation, 1) == 1) {
    double ns = time_block(&at, what, operation);
    if (write(STDOUT_FILENO, &ns, sizeof ns) != (ssize_t)sizeof ns)
      break;
  }
  _exit(0);
}

/* ------------------------------------------------------------------------------------------ */
/* The parent                                                                                   */

typedef struct {
  pid_t process;
  int ask, answer;
} worker;

static void set_environment(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static worker start_worker(const subject *what, unsigned mode, char *index) {
  static char path[PATH_MAX];
  int ask[2], answer[2];
  snprintf(path, sizeof path, "%s/bench-trace-%d.json",
           getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
  if (pipe2(ask, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0)
    exit(1);
  pid_t process = fork();
  if (process == 0) {
    dup2(ask[0], STDIN_FILENO);
    dup2(answer[1], STDOUT_FILENO);
    set_environment("KDL_BACKEND_PATH", what->backend);
    set_environment("KDL_TRACE", modes[mode].trace ? path : NULL);
    set_environment("KDL_TRACE_GPU", modes[mode].gpu);
    set_environment("KDL_TRACE_SIZE", NULL);
    execl("/proc/self/exe", "bench_trace", "--worker", index, what->device, what->library,
          what->kernel, (char *)NULL);
    _exit(127);
  }
  close(ask[0]);
  close(answer[1]);
  return (worker){process, ask[1], answer[0]};
}

static double ask_worker(const worker *who, unsigned operation) {
  unsigned char byte = (unsigned char)operation;
  double ns;
  if (write(who->ask, &byte, 1) != 1 || read(who->answer, &ns, sizeof ns) != (ssize_t)sizeof ns) {
    fprintf(stderr, "bench trace: a worker ended\n");
    exit(1);
  }
  return ns;
}

/* Memory for events comes in large pieces, of which the median block sees none. */
static double mean_difference(const bench_run *run, unsigned mode) {
  double sum = 0;
  for (size_t i = 0; i < run->blocks; ++i)
    sum += run->ns[mode][i] - run->ns[0][i];
  return sum / (double)run->blocks;
}

static void report_operation(const bench_run *run, unsigned operation) {
  printf("  %s\n", operations[operation]);
  for (unsigned mode = 0; mode < mode_count; ++mode) {
    bench_summary each = bench_summarise(run, mode);
    printf("    %-22s %9.2f ns", modes[mode].name, each.median);
    if (mode) {
      bench_interval more = bench_difference(run, mode, 0);
      printf("  %+8.2f ns  %+8.2f .. %+8.2f (95%% interval), mean %+8.2f", more.median, more.low,
             more.high, mean_difference(run, mode));
    }
    putchar('\n');
  }
}

static void start_workers(const subject *what, char *index, worker workers[mode_count]) {
  for (unsigned mode = 0; mode < mode_count; ++mode)
    workers[mode] = start_worker(what, mode, index);
  for (unsigned operation = 0; operation < operation_count; ++operation) {
    for (unsigned mode = 0; mode < mode_count; ++mode)
      ask_worker(&workers[mode], operation); /* warms up */
  }
}

static void end_workers(worker workers[mode_count]) {
  for (unsigned mode = 0; mode < mode_count; ++mode) {
    close(workers[mode].ask);
    close(workers[mode].answer);
    waitpid(workers[mode].process, NULL, 0);
  }
}

/* Processes are few blocks old, so that their events fit in the memory that traces have by
 * themselves. */
static void measure_modes(const subject *what, char *index, size_t blocks) {
  static bench_run runs[operation_count];
  enum { blocks_each = 20 };
  worker workers[mode_count];
  for (unsigned operation = 0; operation < operation_count; ++operation) {
    runs[operation].cases = mode_count;
    runs[operation].blocks = blocks;
  }
  for (size_t block = 0; block < blocks; ++block) {
    if (block % blocks_each == 0)
      start_workers(what, index, workers);
    for (unsigned operation = 0; operation < operation_count; ++operation) {
      for (unsigned turn = 0; turn < mode_count; ++turn) {
        unsigned mode = (unsigned)(block + turn) % mode_count;
        runs[operation].ns[mode][block] = ask_worker(&workers[mode], operation);
      }
    }
    if (block % blocks_each == blocks_each - 1 || block == blocks - 1)
      end_workers(workers);
  }
  printf("%s: %s, %u operations a block\n", what->title, what->device, what->launches);
  for (unsigned operation = 0; operation < operation_count; ++operation)
    report_operation(&runs[operation], operation);
}

int main(int argc, char **argv) {
  subject subjects[] = {
      {"a driver that does nothing", KDL_NULL_BACKEND, "cuda:0", KDL_GPU_IMAGES, "nothing", 2000,
       2000},
      {"an empty kernel on the host", NULL, "host", KDL_HOST_IMAGE, "nothing", 2000, 2000},
      {"a device", getenv("KDL_BACKEND_PATH"), argc > 4 ? argv[2] : "", argc > 4 ? argv[3] : "",
       argc > 4 ? argv[4] : "", 400, 100},
  };
  if (argc > 5 && strcmp(argv[1], "--worker") == 0) {
    subject what = subjects[strtoul(argv[2], NULL, 10) % 3];
    what.device = argv[3], what.library = argv[4], what.kernel = argv[5];
    worker_main(&what);
  }
  size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
  bench_machine machine = {.pinned = -1};
  if (blocks == 0 || blocks > KDL_BENCH_LIMIT_BLOCKS || (argc > 2 && argc != 5)) {
    fprintf(stderr, "usage: bench_trace [BLOCKS [DEVICE LIBRARY KERNEL]]; at most %d blocks\n",
            KDL_BENCH_LIMIT_BLOCKS);
    return 2;
  }
  bench_machine_describe(&machine);
  bench_machine_pin(BENCH_PIN_ANY, &machine);
  printf("bench trace, libkdl %s, %s UTC: %s, %s, CPU %d, load %.2f: %zu blocks in turn\n\n",
         kdl_version(), machine.date, machine.cpu, machine.kernel, machine.pinned, machine.load,
         blocks);
  if (argc == 5) {
    measure_modes(&subjects[2], "2", blocks);
  } else {
    measure_modes(&subjects[0], "0", blocks);
    measure_modes(&subjects[1], "1", blocks);
  }
  return 0;
}
