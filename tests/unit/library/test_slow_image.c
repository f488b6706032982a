/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Locks are brief: a thread that reads an image for a long time blocks no other's lookup or
 * opening of a library, nor a child's. The image is in pages that cannot be read until the test
 * allows it. */
#include "launch_support.h"
#include "library_builder.h"
#include "packers.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { page = 4096, patience_s = 5 };

/* ------------------------------------------------------------------------------------------ */
/* Slow pages                                                                                   */

static struct {
  char *start;
  size_t size;
  sem_t reached, readable;
} slow;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  char *at = info->si_addr;
  if (at < slow.start || at >= slow.start + slow.size) {
    signal(number, SIG_DFL);
    return;
  }
  sem_post(&slow.reached);
  while (sem_wait(&slow.readable) != 0)
    ;
  mprotect(slow.start, slow.size, PROT_READ);
}

/* The pages that lie wholly in the part. */
static void make_slow(const char *part, size_t size) {
  uintptr_t start = ((uintptr_t)part + page - 1) & ~(uintptr_t)(page - 1);
  uintptr_t end = ((uintptr_t)part + size) & ~(uintptr_t)(page - 1);
  assert_true(start < end);
  slow.start = (char *)start;
  slow.size = end - start;
  sem_init(&slow.reached, 0, 0);
  sem_init(&slow.readable, 0, 0);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  assert_int_equal(mprotect(slow.start, slow.size, PROT_NONE), 0);
}

static char *copy_to_pages(const void *data, size_t size) {
  char *pages = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(pages, MAP_FAILED);
  memcpy(pages, data, size);
  return pages;
}

/* ------------------------------------------------------------------------------------------ */
/* Two threads                                                                                  */

typedef struct {
  void (*run)(void);
  sem_t done;
} task;

static void *run_task(void *user) {
  task *what = user;
  what->run();
  sem_post(&what->done);
  return NULL;
}

static bool ends_soon(sem_t *done) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += patience_s;
  return sem_timedwait(done, &until) == 0;
}

/* Runs `other` in a second thread while the first waits for the image. */
static void run_beside(void (*reader)(void), void (*other)(void)) {
  task first = {.run = reader}, second = {.run = other};
  pthread_t threads[2];
  sem_init(&first.done, 0, 0);
  sem_init(&second.done, 0, 0);
  pthread_create(&threads[0], NULL, run_task, &first);
  bool reached = ends_soon(&slow.reached);
  pthread_create(&threads[1], NULL, run_task, &second);
  bool ended = ends_soon(&second.done);
  bool still_reads = sem_trywait(&first.done) != 0;
  sem_post(&slow.readable);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  assert_true(reached);
  assert_true(still_reads);
  assert_true(ended);
}

/* ------------------------------------------------------------------------------------------ */
/* Lookups in one library                                                                       */

static built_library shared;

/* PTX is read to its end for its kernels. */
static char *make_ptx(size_t size) {
  static const char head[] = ".version 7.0\n.target sm_70\n.address_size 64\n";
  static const char tail[] = ".visible .entry slow()\n{\n  ret;\n}\n";
  char *text = malloc(size);
  memset(text, '\n', size);
  memcpy(text, head, sizeof head - 1);
  memcpy(text + size - sizeof tail, tail, sizeof tail);
  return text;
}

static char *open_with_slow_ptx(void) {
  enum { ptx_size = 16 * page };
  static const image_row quick = {1, AMD_TRIPLE, "gfx942", "kdl.kernel.quick=rev=1"};
  kdl_pair pairs[] = {{{"triple", 6}, {NV_TRIPLE, sizeof NV_TRIPLE - 1}},
                      {{"arch", 4}, {"sm_70", 5}}};
  char *ptx = make_ptx(ptx_size);
  kdl_writer_image image = {.size = sizeof image,
                            .declared_kind = 5,
                            .pairs = pairs,
                            .pair_count = 2,
                            .data = ptx,
                            .data_size = ptx_size};
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  assert_ok(kdl_writer_add(writer, &image));
  add_row(writer, &quick);
  assert_ok(kdl_writer_finish(writer, &shared.data, &shared.size));
  kdl_writer_destroy(writer);
  free(ptx);
  char *pages = copy_to_pages(shared.data, shared.size);
  assert_ok(kdl_open_memory(pages, shared.size, NULL, &shared.lib));
  assert_int_equal(chosen(&shared, "mi300x", NULL, KDL_POLICY_BEST), 1); /* reads versions */
  make_slow(pages + 2 * page, ptx_size - 4 * page);
  return pages;
}

static void close_slow_ptx(char *pages) {
  munmap(pages, shared.size + page);
  free_library(&shared);
}

static void choose_slow(void) {
  assert_int_equal(chosen(&shared, "h200", "slow", KDL_POLICY_BEST), 0);
}

static void choose_quick(void) {
  assert_int_equal(chosen(&shared, "mi300x", "quick", KDL_POLICY_BEST), 1);
}

static void another_kernel_is_found_meanwhile(void **state) {
  (void)state;
  char *pages = open_with_slow_ptx();
  run_beside(choose_slow, choose_quick);
  close_slow_ptx(pages);
}

/* The child only has the forking thread: it repeats what another one had begun. */
static void look_in_a_child(void) {
  pid_t child = fork();
  if (child == 0) {
    alarm(patience_s);
    mprotect(slow.start, slow.size, PROT_READ);
    choose_quick();
    choose_slow();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

static void a_child_reads_for_itself(void **state) {
  (void)state;
  char *pages = open_with_slow_ptx();
  run_beside(choose_slow, look_in_a_child);
  choose_slow();
  close_slow_ptx(pages);
}

/* ------------------------------------------------------------------------------------------ */
/* Libraries that all are searched                                                              */

static const host_row with_mark[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
static host_library listed;

static void find_mark(void) {
  kdl_kernel *kernel;
  assert_ok(kdl_sym(NULL, the_host(), "mark", NULL, &kernel));
}

static void open_another(void) {
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_GLOBAL};
  assert_ok(kdl_open_memory(listed.data, listed.size, &opts, &lib));
  kdl_close(lib);
}

static void global_libraries_come_and_go_meanwhile(void **state) {
  (void)state;
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_GLOBAL};
  listed = make_library(with_mark, 1);
  char *pages = copy_to_pages(listed.data, listed.size);
  assert_ok(kdl_open_memory(pages, listed.size, &opts, &lib));
  find_mark(); /* opens the host */
  kdl_close(lib);
  assert_ok(kdl_open_memory(pages, listed.size, &opts, &lib));
  make_slow(pages, listed.size + page);
  run_beside(find_mark, open_another);
  kdl_close(lib);
  munmap(pages, listed.size + page);
  free_rows(&listed);
}

/* ------------------------------------------------------------------------------------------ */
/* Compressed images                                                                            */

static kdl_library *packed;

static void inflate(size_t image) {
  const void *data;
  size_t size;
  assert_ok(kdl_image_bytes(packed, image, &data, &size));
  assert_int_equal(size, 3568);
}

static void inflate_first(void) {
  inflate(0);
}

static void inflate_second(void) {
  inflate(2);
}

/* Two fatbins, each on pages of its own. */
static void another_image_is_inflated_meanwhile(void **state) {
  (void)state;
  skip_without(KDL_CODEC_ZSTD);
  size_t size;
  uint8_t *fatbin = read_golden("fatbin/zstd.fatbin", &size);
  char both[3 * page] = {0};
  assert_true(size <= page);
  memcpy(both, fatbin, size);
  memcpy(both + 2 * page, fatbin, size);
  free(fatbin);
  char *pages = copy_to_pages(both, 2 * page + size);
  assert_ok(kdl_open_memory(pages, 2 * page + size, NULL, &packed));
  make_slow(pages, page);
  run_beside(inflate_first, inflate_second);
  kdl_close(packed);
  munmap(pages, 3 * page + size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_kernel_is_found_meanwhile),
      cmocka_unit_test(a_child_reads_for_itself),
      cmocka_unit_test(global_libraries_come_and_go_meanwhile),
      cmocka_unit_test(another_image_is_inflated_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
