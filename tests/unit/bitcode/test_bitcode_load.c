/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A subprocess links bitcode, and the result runs; if the subprocess fails in any way, this process
 * continues with the next image. */
#include "bitcode_support.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static void linked_and_run(void **state) {
  (void)state;
  mixed_library made = open_mixed(with_fallback, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  start_listening("link");
  assert_int_equal(run_mark(mark, 1000), 3);
  assert_said("link: t: image 0 (bitcode " HOST_ARCH "): linked by " KDL_TEST_FAKES
              "/linker/kdl-ld for host:");
  assert_said("link: t: image 0 (bitcode " HOST_ARCH "): linked in ");
  assert_said("link: cache: t: image 0 (bitcode " HOST_ARCH "): kept in /tmp/");
  stop_listening();
  kdl_kernel_info info = info_of(mark);
  assert_int_equal(info.image, 0);
  assert_int_equal(info.position, 0);
  assert_int_equal(info.kind, KDL_IMAGE_OBJECT);
  assert_string_equal(info.fit, "bitcode");
  assert_int_equal(runs(), 1);
  free_mixed(&made);
}

/* Nothing that distinguishes machines with the same device. */
static void device_is_told_in_essence(void **state) {
  (void)state;
  assert_int_equal(run_rows(with_fallback, 2), 3);
  assert_int_equal(runs(), 1);
  assert_non_null(strstr(last_run,
                         "--protocol=1 --caller=/proc/self/fd/3 "
                         "--output=/proc/self/fd/4 --report=/proc/self/fd/5 --for=host:"));
  assert_null(strstr(last_run, "name="));
  assert_null(strstr(last_run, "memory="));
  assert_null(strstr(last_run, "--ukernels"));
  assert_null(strstr(last_run, "--kernel"));
}

/* Version 2 has values with a NUL in them: a microkernel's is no reason to link nothing. */
static void any_metadata_is_passed_on(void **state) {
  (void)state;
  static const kdl_pair pairs[] = {{{"triple", 6}, {HOST_TRIPLE, sizeof HOST_TRIPLE - 1}},
                                   {{"arch", 4}, {HOST_ARCH, sizeof HOST_ARCH - 1}},
                                   {{"kdl.ukernel.x", 13}, {"a\0b", 3}}};
  const mixed_row row = {NULL, NULL, MARK, NULL};
  kdl_writer *writer;
  kdl_library *lib;
  uint8_t *caller;
  void *data;
  size_t size;
  kdl_writer_image other = {.size = sizeof other,
                            .declared_kind = 2,
                            .flags = 2,
                            .pairs = pairs,
                            .pair_count = 3,
                            .data = "BC\xc0\xde and so on",
                            .data_size = 14};
  assert_ok(kdl_writer_create(KDL_FORMAT_V2, &writer));
  add_mixed(writer, &row, &caller);
  assert_ok(kdl_writer_add(writer, &other));
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  assert_ok(kdl_open_memory(data, size, NULL, &lib));
  assert_int_equal(run_mark(kernel_named(lib, "mark"), 10), 3);
  assert_int_equal(runs(), 1);
  assert_non_null(strstr(last_run, "--ukernels=/proc/self/fd/6"));
  kdl_close(lib);
  free(data);
  free(caller);
}

/* ------------------------------------------------------------------------------------------ */
/* Ends that are not good                                                                       */

typedef struct {
  const char *act;
  const char *timeout, *memory; /* NULL: as usual */
  kdl_status status;
  const char *message;
} bad_end;

#define ALONE                                                                                      \
  "t: mark: none of 1 images could be loaded on host: image 0 (bitcode " HOST_ARCH "): kdl-ld "

static const bad_end bad_ends[] = {
    {"crash", NULL, NULL, KDL_BAD_FILE,
     ALONE "died of signal 11 (Segmentation fault): LLVM ERROR: something unforeseen"},
    {"status", NULL, NULL, KDL_BAD_FILE, ALONE "died with status 3"},
    {"half", NULL, NULL, KDL_BAD_FILE, ALONE "died of signal 9 (Killed)"},
    {"garbage", NULL, NULL, KDL_BAD_FILE,
     ALONE "wrote 21 bytes of unknown, expected an image for "},
    {"bitcode", NULL, NULL, KDL_BAD_FILE, ALONE "wrote 8 bytes of bitcode, expected an image for "},
    {"nothing", NULL, NULL, KDL_BAD_FILE, ALONE "wrote nothing"},
    {"hang", "1", NULL, KDL_NO_MEMORY, ALONE "was stopped after 1 s (KDL_LD_TIMEOUT)"},
    {"spin", "1", NULL, KDL_NO_MEMORY, ALONE "was stopped after 1 s (KDL_LD_TIMEOUT)"},
    /* Long enough for it to begin, also on a busy machine. */
    {"talk", "5", NULL, KDL_NO_MEMORY,
     ALONE "was stopped after 5 s (KDL_LD_TIMEOUT): and another thing; and another thing; "},
    {"eat", NULL, "150M", KDL_BAD_FILE, ALONE "refused it: out of memory soon"},
    {"too-much", NULL, NULL, KDL_BAD_FILE, ALONE "died of signal 25 (File size limit exceeded)"},
};

static void set_or_unset(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static void bad_ends_are_errors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_ends / sizeof *bad_ends; ++i) {
    const bad_end *end = &bad_ends[i];
    begin_test(state);
    setenv("KDL_FAKE_LD", end->act, 1);
    set_or_unset("KDL_LD_TIMEOUT", end->timeout);
    set_or_unset("KDL_LD_MEMORY", end->memory);
    mixed_library made = open_mixed(alone, 1);
    kdl_kernel *mark = kernel_named(made.lib, "mark");
    for (int again = 0; again < 2; ++again) { /* remembered, not tried again */
      kdl_status found = kdl_prefetch(mark);
      if (found != end->status)
        fail_msg("%s: found %d: %s", end->act, (int)found, kdl_error_message());
      if (strncmp(kdl_error_message(), end->message, strlen(end->message)) != 0)
        fail_msg("%s: found \"%s\", expected \"%s\"", end->act, kdl_error_message(), end->message);
    }
    assert_int_equal(runs(), 1);
    free_mixed(&made);
    assert_int_equal(files_in(cache_path), 0); /* neither entries nor anything else */
  }
  unsetenv("KDL_LD_TIMEOUT");
  unsetenv("KDL_LD_MEMORY");
}

static void next_image_is_taken(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_ends / sizeof *bad_ends; ++i) {
    if (bad_ends[i].timeout)
      continue;
    begin_test(state);
    setenv("KDL_FAKE_LD", bad_ends[i].act, 1);
    set_or_unset("KDL_LD_MEMORY", bad_ends[i].memory);
    assert_int_equal(run_rows(with_fallback, 2), 1);
  }
  unsetenv("KDL_LD_MEMORY");
}

/* Its errors without its warnings, and files by what they are instead of by number. */
static void refusal_is_told(void **state) {
  (void)state;
  static const mixed_row rows[] = {{NULL, NULL, MARK, NULL}, {NULL, NULL, NULL, "x"}};
  setenv("KDL_FAKE_LD", "refuse", 1);
  mixed_library made = open_mixed(rows, 2);
  assert_fails(kdl_prefetch(kernel_named(made.lib, "mark")), KDL_BAD_FILE,
               ALONE
               "refused it: the image: found no microkernel 'dot'; did you mean 'dots' of the "
               "bitcode of t?");
  free_mixed(&made);
}

static bool is_alive(int pid) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file)
    fclose(file);
  const char *name_end = got ? strrchr(text, ')') : NULL;
  return name_end && name_end[2] != 'Z';
}

/* With what it has started, too. */
static void overrun_is_killed_as_a_group(void **state) {
  (void)state;
  setenv("KDL_FAKE_LD", "hang", 1);
  setenv("KDL_LD_TIMEOUT", "5", 1); /* its child is to be there by then, also on a busy machine */
  assert_int_equal(run_rows(with_fallback, 2), 1);
  unsetenv("KDL_LD_TIMEOUT");
  FILE *file = fopen(log_path, "r");
  char line[16384];
  int child = 0;
  while (fgets(line, sizeof line, file))
    sscanf(line, "child %d", &child);
  fclose(file);
  assert_true(child > 0);
  for (int i = 0; i < 500 && is_alive(child); ++i)
    usleep(10000);
  assert_false(is_alive(child));
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static void limits_are_checked(void **state) {
  (void)state;
  mixed_library made = open_mixed(alone, 1);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  setenv("KDL_LD_TIMEOUT", "soon", 1);
  assert_fails(kdl_prefetch(mark), KDL_BAD_CALL,
               "t: mark: none of 1 images could be loaded on host: image 0 (bitcode " HOST_ARCH
               "): KDL_LD_TIMEOUT: found \"soon\", expected seconds, 1 to 86400");
  unsetenv("KDL_LD_TIMEOUT");
  free_mixed(&made);
  made = open_mixed(alone, 1);
  setenv("KDL_LD_MEMORY", "much", 1);
  assert_fails(kdl_prefetch(kernel_named(made.lib, "mark")), KDL_BAD_CALL,
               "t: mark: none of 1 images could be loaded on host: image 0 (bitcode " HOST_ARCH
               "): KDL_LD_MEMORY: found \"much\", expected a number of bytes, as 536870912, 512M "
               "or 2G");
  unsetenv("KDL_LD_MEMORY");
  free_mixed(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* How it is started                                                                            */

static void assert_logged(const char *expected) {
  FILE *file = fopen(log_path, "r");
  char line[16384];
  bool found = false;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    found |= strcmp(line, expected) == 0;
  }
  fclose(file);
  if (!found)
    fail_msg("expected \"%s\" in %s", expected, log_path);
}

static void inherits_nothing(void **state) {
  (void)state;
  int open_low = dup(STDERR_FILENO), open_high = dup2(STDERR_FILENO, 77);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  signal(SIGUSR2, SIG_IGN);
  setenv("KDL_FAKE_LD", "state", 1);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  signal(SIGUSR2, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  close(open_low);
  close(open_high);
  assert_logged("open 0 1 2 3 4 5");
  assert_logged("group own");
  assert_logged("SigBlk:\t0000000000000000");
  assert_logged("ignored SIGUSR2: no");
}

/* Programs that have no standard streams open give their numbers to others. */
static void needs_no_standard_streams(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    mixed_library made = open_mixed(with_fallback, 2);
    close(0);
    close(1);
    close(2);
    kdl_kernel *mark;
    kdl_kernel_info info = {.size = sizeof info};
    bool holds = kdl_sym(made.lib, the_host(), "mark", NULL, &mark) == KDL_OK &&
                 kdl_kernel_get(mark, &info) == KDL_OK && info.image == 0;
    _exit(holds ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Its exit status is unknown then, but its report shows that it is done. */
static void children_that_are_not_waited_for(void **state) {
  (void)state;
  signal(SIGCHLD, SIG_IGN);
  assert_int_equal(run_rows(with_fallback, 2), 3);
  begin_test(state);
  setenv("KDL_FAKE_LD", "half", 1);
  mixed_library made = open_mixed(alone, 1);
  assert_fails(kdl_prefetch(kernel_named(made.lib, "mark")), KDL_BAD_FILE,
               ALONE "ended in an unknown way, and without a whole report");
  free_mixed(&made);
  signal(SIGCHLD, SIG_DFL);
}

static void *bind_it(void *kernel) {
  return (void *)(uintptr_t)kdl_prefetch(kernel);
}

static void many_threads_link_once(void **state) {
  (void)state;
  enum { threads = 8 };
  pthread_t ids[threads];
  setenv("KDL_FAKE_LD", "slow", 1);
  mixed_library made = open_mixed(with_fallback, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&ids[i], NULL, bind_it, mark), 0);
  for (size_t i = 0; i < threads; ++i) {
    void *status;
    pthread_join(ids[i], &status);
    assert_int_equal((uintptr_t)status, KDL_OK);
  }
  assert_int_equal(run_mark(mark, 10), 3);
  assert_int_equal(runs(), 1);
  free_mixed(&made);
}

/* ------------------------------------------------------------------------------------------ */
/* Without it                                                                                   */

static int take_reason(void *user, const kdl_verdict *verdict) {
  char *text = user;
  snprintf(text, 512, "%s: %s; %s", verdict->reason_count ? verdict->reasons[0].code : "none",
           verdict->reason_count ? verdict->reasons[0].words : "",
           verdict->reason_count ? verdict->reasons[0].fix : "");
  return 1;
}

static void *bind_cancelled(void *kernel) {
  pthread_cancel(pthread_self());
  (void)kdl_prefetch(kernel);
  pthread_testcancel();
  return NULL;
}

/* What waits for it too. */
static void cancelled_threads_link_to_the_end(void **state) {
  (void)state;
  enum { threads = 3 };
  pthread_t ids[threads];
  setenv("KDL_FAKE_LD", "slow", 1);
  mixed_library made = open_mixed(with_fallback, 2);
  kdl_kernel *mark = kernel_named(made.lib, "mark");
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&ids[i], NULL, bind_cancelled, mark), 0);
  for (size_t i = 0; i < threads; ++i) {
    void *result;
    pthread_join(ids[i], &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
  }
  assert_int_equal(runs(), 1);
  assert_int_equal(run_mark(mark, 10), 3);
  assert_int_equal(runs(), 1);
  free_mixed(&made);
}

static void missing_is_a_reason(void **state) {
  (void)state;
  static const struct {
    const char *device, *reason;
  } rows[] = {
      {"host:" HOST_ARCH " name=\"a\" tools=none",
       "linker_missing: kdl-ld not found: it links bitcode into an image for the device; install "
       "kdl-ld, or name it in KDL_LD"},
      {"host:" HOST_ARCH " name=\"b\"", "none: ; "},
  };
  mixed_library made = open_mixed(alone, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char reason[512];
    kdl_device *device;
    assert_ok(kdl_device_find(rows[i].device, &device));
    assert_ok(kdl_explain(made.lib, device, "mark", NULL, take_reason, reason));
    assert_string_equal(reason, rows[i].reason);
  }
  free_mixed(&made);
}

/* It was there when the device was found, and has gone since. */
static void gone_is_an_error(void **state) {
  (void)state;
  setenv("KDL_LD", "/nonexistent/kdl-ld", 1);
  mixed_library made = open_mixed(alone, 1);
  assert_fails(kdl_prefetch(kernel_named(made.lib, "mark")), KDL_UNSUPPORTED,
               "t: mark: none of 1 images could be loaded on host: image 0 (bitcode " HOST_ARCH
               "): kdl-ld not found: it links bitcode into an image");
  free_mixed(&made);
  setenv("KDL_LD", KDL_TEST_FAKES "/linker/kdl-ld", 1);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(linked_and_run),
      TEST(device_is_told_in_essence),
      TEST(any_metadata_is_passed_on),
      TEST(bad_ends_are_errors),
      TEST(next_image_is_taken),
      TEST(refusal_is_told),
      TEST(overrun_is_killed_as_a_group),
      TEST(limits_are_checked),
      TEST(inherits_nothing),
      TEST(needs_no_standard_streams),
      TEST(children_that_are_not_waited_for),
      TEST(many_threads_link_once),
      TEST(cancelled_threads_link_to_the_end),
      TEST(missing_is_a_reason),
      TEST(gone_is_an_error),
  };
  return cmocka_run_group_tests(tests, make_work, end_work);
}
