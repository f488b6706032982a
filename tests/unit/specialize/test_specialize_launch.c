/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Values that repeat get an image of their own, which launches with these values use. */
#include "specialize_support.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>

static void values_that_repeat_get_an_image(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  start_listening("link");
  for (unsigned i = 0; i < repeats; ++i)
    assert_int_equal(run_mark(mark, 10), general);
  assert_true(wait_until(mark, count_ready, 1));
  assert_int_equal(run_mark(mark, 10), folded);
  assert_int_equal(run_mark(mark, 11), general); /* other values */
  assert_int_equal(run_mark(mark, 10), folded);
  assert_int_equal(runs(), 2);
  assert_non_null(strstr(last_run, " --kernel=mark --fold=1=0x0000000a --fold=block=256x1x1\n"));
  free_mixed(&made); /* the thread has ended */
  assert_said("mark: n=10 block=256x1x1 in 5 launches: an image for it is made in the background");
  assert_said("mark: specialized for n=10 block=256x1x1 in ");
  stop_listening();
}

static void the_next_process_has_it_at_once(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  launch_often(mark, 10, repeats);
  assert_true(wait_until(mark, count_ready, 1));
  free_mixed(&made);
  assert_int_equal(runs(), 2);
  made = open_mixed(for_n, 1);
  mark = kernel_named(made.lib, "mark");
  assert_int_equal(run_mark(mark, 10), folded);
  assert_int_equal(run_mark(mark, 12), general);
  assert_int_equal(runs(), 2);
  free_mixed(&made);
}

static void it_can_be_turned_off(void **state) {
  (void)state;
  setenv("KDL_SPECIALIZE", "off", 1);
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  launch_often(mark, 10, 100);
  assert_null(mark->specialized);
  assert_int_equal(run_mark(mark, 10), general);
  free_mixed(&made);
  assert_int_equal(runs(), 1);
  setenv("KDL_SPECIALIZE", "sometimes", 1);
  start_listening("link");
  made = open_mixed(for_n, 1);
  assert_int_equal(run_mark(kernel_named(made.lib, "mark"), 10), general);
  assert_said("KDL_SPECIALIZE: found \"sometimes\", expected auto, auto,LAUNCHES or off");
  stop_listening();
  free_mixed(&made);
}

/* Nothing for kernels without the field, and for images that are not bitcode. */
static void others_have_no_interceptor(void **state) {
  (void)state;
  static const mixed_row object[] = {{"mark1", NULL, MARK "; names=out n; specialize=n", NULL}};
  const mixed_row *rows[] = {alone, object};
  for (size_t i = 0; i < 2; ++i) {
    mixed_library made = open_mixed(rows[i], 1);
    kdl_kernel *mark = kernel_named(made.lib, "mark");
    (void)run_mark(mark, 10);
    (void)run_mark(mark, 10);
    assert_null(mark->specialized);
    assert_ptr_equal(mark->grid_entry, mark->loaded.launch);
    free_mixed(&made);
  }
}

static void there_are_at_most_four(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (unsigned i = 0; i < 40 * repeats; ++i)
    (void)run_mark(mark, 20 + i % 6);
  assert_true(wait_until(mark, count_ready, KDL_SPECIALIZED_LIMIT));
  usleep(20000);
  unsigned seen = 0;
  for (uint32_t n = 20; n < 26; ++n)
    seen += run_mark(mark, n) == folded;
  assert_int_equal(seen, KDL_SPECIALIZED_LIMIT);
  assert_int_equal(count_ready(mark), KDL_SPECIALIZED_LIMIT);
  assert_int_equal(runs(), 1 + KDL_SPECIALIZED_LIMIT);
  free_mixed(&made);
}

/* The block repeats where n does not. */
static void values_that_vary_are_left_out(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (uint32_t n = 1; n < 60; ++n)
    (void)run_mark(mark, n);
  assert_true(wait_until(mark, count_ready, 1));
  assert_int_equal(run_mark(mark, 1234), folded);
  assert_int_equal(runs(), 2);
  assert_non_null(strstr(last_run, " --kernel=mark --fold=block=256x1x1\n"));
  free_mixed(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* Failures                                                                                     */

static void expect_general(const char *reason) {
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  start_listening("link");
  launch_often(mark, 10, repeats);
  assert_true(wait_until(mark, count_failed, 1));
  for (int i = 0; i < 20; ++i)
    assert_int_equal(run_mark(mark, 10), general);
  assert_int_equal(count_ready(mark), 0);
  free_mixed(&made);
  assert_said("mark: not specialized for n=10 block=256x1x1: ");
  assert_said(reason);
  stop_listening();
}

static void a_linker_that_fails_leaves_the_general_kernel(void **state) {
  static const char *const acts[] = {"crash", "status", "half", "garbage", "nothing"};
  for (size_t i = 0; i < sizeof acts / sizeof *acts; ++i) {
    begin_specialize(state);
    setenv("KDL_FAKE_LD_FOLDED", acts[i], 1);
    expect_general("kdl-ld ");
    assert_int_equal(runs(), 2); /* once, and never again */
  }
}

static void without_a_linker_the_general_kernel_stays(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  (void)run_mark(mark, 10);
  setenv("KDL_LD", "/nonexistent/kdl-ld", 1);
  start_listening("link");
  launch_often(mark, 10, repeats);
  assert_true(wait_until(mark, count_failed, 1));
  assert_int_equal(run_mark(mark, 10), general);
  free_mixed(&made);
  assert_said("kdl-ld not found");
  stop_listening();
}

static void damage_cache(void) {
  DIR *stream = opendir(cache_path);
  for (struct dirent *item; stream && (item = readdir(stream));) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", cache_path, item->d_name);
    int fd = item->d_name[0] == '.' ? -1 : open(path, O_WRONLY);
    if (fd >= 0) {
      assert_int_equal(pwrite(fd, "damaged", 7, 200), 7);
      close(fd);
    }
  }
  if (stream)
    closedir(stream);
}

static void a_damaged_cache_is_not_used(void **state) {
  (void)state;
  for (int round = 0; round < 2; ++round) {
    mixed_library made = open_mixed(for_n, 1);
    kdl_kernel *mark = kernel_named(made.lib, "mark");
    assert_int_equal(run_mark(mark, 10), general);
    launch_often(mark, 10, repeats);
    assert_true(wait_until(mark, count_ready, 1));
    assert_int_equal(run_mark(mark, 10), folded);
    free_mixed(&made);
    damage_cache();
  }
  assert_int_equal(runs(), 4);
}

/* In a child with a file system of its own, which is full. */
static int use_full_disk(void) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s/full", work);
  mkdir(folder, 0700);
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", folder, "tmpfs", 0, "size=4k,mode=0700") != 0)
    return 99;
  setenv("KDL_CACHE_DIR", folder, 1);
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  launch_often(mark, 10, repeats);
  bool is_right = wait_until(mark, count_ready, 1) && run_mark(mark, 10) == folded;
  free_mixed(&made);
  return is_right && files_in(folder) == 0 ? 0 : 1;
}

static void a_full_disk_only_costs_the_next_process(void **state) {
  (void)state;
  int status;
  pid_t child = fork();
  if (child == 0)
    _exit(use_full_disk());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 99) {
    print_message("skipped: this process may not mount a tmpfs\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* ------------------------------------------------------------------------------------------ */
/* The thread                                                                                   */

static void closing_does_not_wait_for_the_linker(void **state) {
  (void)state;
  setenv("KDL_FAKE_LD_FOLDED", "spin", 1);
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  double begin = seconds_now();
  launch_often(mark, 10, 1000); /* none waits */
  while (runs() < 2 && seconds_now() < begin + 10)
    usleep(1000);
  assert_int_equal(run_mark(mark, 10), general);
  begin = seconds_now();
  free_mixed(&made);
  assert_true(seconds_now() - begin < 5);
}

static void a_process_ends_while_it_links(void **state) {
  (void)state;
  setenv("KDL_FAKE_LD_FOLDED", "spin", 1);
  pid_t child = fork();
  if (child == 0) {
    mixed_library made = open_mixed(for_n, 1);
    launch_often(kernel_named(made.lib, "mark"), 10, repeats);
    for (int i = 0; i < 1000 && runs() < 2; ++i)
      usleep(1000);
    exit(0);
  }
  int status;
  double begin = seconds_now();
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_true(seconds_now() - begin < 10);
}

/* The child has what was ready, and makes nothing of what was not. */
static void a_child_uses_what_was_ready(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  launch_often(mark, 10, repeats);
  assert_true(wait_until(mark, count_ready, 1));
  setenv("KDL_FAKE_LD_FOLDED", "slow", 1);
  launch_often(mark, 11, repeats);
  pid_t child = fork();
  if (child == 0) {
    unsetenv("KDL_FAKE_LD_FOLDED");
    bool is_right = run_mark(mark, 10) == folded && run_mark(mark, 11) == general;
    launch_often(mark, 12, repeats); /* the child has a thread of its own */
    is_right &= wait_until(mark, count_ready, 2) && run_mark(mark, 12) == folded;
    kdl_close(made.lib);
    exit(is_right ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_true(wait_until(mark, count_ready, 2));
  assert_int_equal(run_mark(mark, 11), folded);
  free_mixed(&made);
}

static void *launch_in_thread(void *user) {
  kdl_kernel *mark = user;
  for (uint32_t i = 0; i < 400; ++i) {
    uint32_t variant = run_mark(mark, 10 + i % 3);
    if (variant != general && variant != folded)
      return mark;
  }
  return NULL;
}

static void threads_launch_meanwhile(void **state) {
  (void)state;
  enum { count = 8 };
  pthread_t threads[count];
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (int i = 0; i < count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, launch_in_thread, mark), 0);
  for (int i = 0; i < count; ++i) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_true(wait_until(mark, count_ready, 3));
  for (uint32_t n = 10; n < 13; ++n)
    assert_int_equal(run_mark(mark, n), folded);
  free_mixed(&made);
}

/* Sequences can get other arguments after they were recorded. */
static void recorded_launches_are_general(void **state) {
  (void)state;
  mixed_library made = open_mixed(for_n, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  launch_often(mark, 10, repeats);
  assert_true(wait_until(mark, count_ready, 1));
  uint32_t out[16] = {0}, n = 10;
  kdl_buffer buffer = kdl_buffer_adopt(the_host(), (uint64_t)(uintptr_t)out, sizeof out);
  kdl_queue *queue;
  kdl_sequence *sequence;
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_ok(kdl_capture_begin(queue));
  assert_ok(kdl_launch_items(mark, queue, kdl_extent1(n), KDL_ARGS(&buffer, &n)));
  assert_ok(kdl_capture_end(queue, &sequence));
  assert_ok(kdl_sequence_run(sequence, queue, NULL, 0));
  assert_ok(kdl_sync(queue));
  assert_int_equal(out[0] / 1000000, general);
  kdl_sequence_destroy(sequence);
  kdl_queue_destroy(queue);
  free_mixed(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

static void a_hundred_processes_link_once(void **state) {
  (void)state;
  enum { most = 100 };
  const unsigned processes = rounds_of(most, 4);
  pid_t children[most];
  setenv("KDL_FAKE_LD_FOLDED", "slow", 1);
  assert_int_equal(run_rows(for_n, 1), general);
  for (unsigned i = 0; i < processes; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      mixed_library made = open_mixed(for_n, 1);
      kdl_kernel *mark = kernel_named(made.lib, "mark");
      launch_often(mark, 10, repeats);
      bool is_right = wait_until(mark, count_ready, 1) && run_mark(mark, 10) == folded;
      free_mixed(&made);
      _exit(is_right ? 0 : 1);
    }
  }
  for (unsigned i = 0; i < processes; ++i) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  print_message("%u processes, %zu linked\n", processes, runs() - 1);
  assert_int_equal(runs(), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(values_that_repeat_get_an_image, begin_specialize),
      cmocka_unit_test_setup(the_next_process_has_it_at_once, begin_specialize),
      cmocka_unit_test_setup(it_can_be_turned_off, begin_specialize),
      cmocka_unit_test_setup(others_have_no_interceptor, begin_specialize),
      cmocka_unit_test_setup(there_are_at_most_four, begin_specialize),
      cmocka_unit_test_setup(values_that_vary_are_left_out, begin_specialize),
      cmocka_unit_test_setup(a_linker_that_fails_leaves_the_general_kernel, begin_specialize),
      cmocka_unit_test_setup(without_a_linker_the_general_kernel_stays, begin_specialize),
      cmocka_unit_test_setup(a_damaged_cache_is_not_used, begin_specialize),
      cmocka_unit_test_setup(a_full_disk_only_costs_the_next_process, begin_specialize),
      cmocka_unit_test_setup(closing_does_not_wait_for_the_linker, begin_specialize),
      cmocka_unit_test_setup(a_process_ends_while_it_links, begin_specialize),
      cmocka_unit_test_setup(a_child_uses_what_was_ready, begin_specialize),
      cmocka_unit_test_setup(threads_launch_meanwhile, begin_specialize),
      cmocka_unit_test_setup(recorded_launches_are_general, begin_specialize),
      cmocka_unit_test_setup(a_hundred_processes_link_once, begin_specialize),
  };
  return cmocka_run_group_tests(tests, make_work, end_work);
}
