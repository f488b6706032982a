/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host launches with group memory allocate nothing once they have launched. */
#include "launch_support.h"

#include "lib/backends/host/host.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Sanitizers have allocators of their own, which cannot be counted so. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define COUNTS_ALLOCATIONS 1
#else
#define COUNTS_ALLOCATIONS 0
#endif

static atomic_uint allocations;

#if COUNTS_ALLOCATIONS
/* glibc's own, by which a program may wrap the usual names.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}

int posix_memalign(void **out_memory, size_t alignment, size_t size) {
  ++allocations;
  *out_memory = __libc_memalign(alignment, size);
  return *out_memory ? 0 : 12;
}
#endif

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

enum { groups = 200, threads = 4, launches = 100 };

static host_library made;

static int open_images(void **state) {
  (void)state;
  static const host_row rows[] = {{.file = "mark1"}};
  setenv("KDL_HOST_THREADS", "4", 1);
  made = open_rows(rows, 1);
  return 0;
}

static int close_images(void **state) {
  (void)state;
  free_rows(&made);
  return 0;
}

static void launch_scratch(kdl_kernel *scratch, uint32_t shared) {
  uint32_t cells[groups];
  uint32_t *out = cells;
  kdl_launch_desc desc = kdl_grid(groups, 1, 1);
  desc.shared = shared;
  assert_ok(kdl_launch(scratch, NULL, &desc, KDL_ARGS(&out)));
  for (uint32_t i = 0; i < groups; ++i)
    assert_int_equal(cells[i], (shared + 64) * (uint8_t)i);
}

/* Each thread of the pool allocates when it first helps, and whenever it needs more than before. */
static void launches_allocate_once_a_thread(void **state) {
  (void)state;
  kdl_kernel *scratch = kernel_named(made.lib, "scratch");
  launch_scratch(scratch, 0);
  unsigned before = allocations;
  for (uint32_t i = 0; i < launches; ++i)
    launch_scratch(scratch, 4096);
  unsigned added = allocations - before;
  assert_in_range(added, COUNTS_ALLOCATIONS, 2 * threads); /* and a thread's start is one */
  before = allocations;
  for (uint32_t i = 0; i < launches; ++i)
    launch_scratch(scratch, i * 40);
  assert_in_range(allocations - before, 0, 2 * threads - added);
}

/* ------------------------------------------------------------------------------------------ */
/* What is kept                                                                                 */

static void a_thread_keeps_what_it_had(void **state) {
  (void)state;
  char *first = kdl_host_group_memory_acquire(1000);
  assert_non_null(first);
  assert_int_equal((uintptr_t)first % 64, 0);
  kdl_host_group_memory_release(first);
  void *others = NULL; /* would have been the same, had it been freed */
  assert_int_equal(posix_memalign(&others, 64, 1064), 0);
  char *second = kdl_host_group_memory_acquire(500);
  assert_ptr_equal(first, second);
  /* A kernel that launches another one on its thread: not the same. */
  char *nested = kdl_host_group_memory_acquire(500);
  assert_non_null(nested);
  memset(nested, 1, 500);
  memset(second, 2, 1000);
  assert_int_equal(nested[499], 1);
  kdl_host_group_memory_release(nested);
  kdl_host_group_memory_release(second); /* the larger one is kept */
  assert_ptr_equal(kdl_host_group_memory_acquire(1000), first);
  kdl_host_group_memory_release(first);
  kdl_host_group_memory_release(NULL);
  free(others);
}

static void much_is_not_kept(void **state) {
  (void)state;
  char *small = kdl_host_group_memory_acquire(64);
  kdl_host_group_memory_release(small);
  char *large = kdl_host_group_memory_acquire((4 << 20) + 1);
  assert_non_null(large);
  memset(large, 1, (4 << 20) + 1);
  kdl_host_group_memory_release(large);
  assert_ptr_equal(kdl_host_group_memory_acquire(64), small);
  kdl_host_group_memory_release(small);
}

/* Else no huge page could hold it. */
static void much_begins_where_a_huge_page_does(void **state) {
  enum { huge_page = 2 << 20, header = 64 };
  (void)state;
  char *memory = kdl_host_group_memory_acquire(1 << 20);
  assert_non_null(memory);
  assert_int_equal((uintptr_t)memory % huge_page, header);
  kdl_host_group_memory_release(memory);
}

/* Leaks are LeakSanitizer's to find. */
static void *take_and_end(void *unused) {
  (void)unused;
  void *memory = kdl_host_group_memory_acquire(4096);
  kdl_host_group_memory_release(memory);
  return memory;
}

static void a_thread_that_ends_gives_it_back(void **state) {
  (void)state;
  for (int i = 0; i < 10; ++i) {
    pthread_t thread;
    void *memory;
    assert_int_equal(pthread_create(&thread, NULL, take_and_end, NULL), 0);
    assert_int_equal(pthread_join(thread, &memory), 0);
    assert_non_null(memory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(launches_allocate_once_a_thread, open_images, close_images),
      cmocka_unit_test(a_thread_keeps_what_it_had),
      cmocka_unit_test(much_is_not_kept),
      cmocka_unit_test(much_begins_where_a_huge_page_does),
      cmocka_unit_test(a_thread_that_ends_gives_it_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
