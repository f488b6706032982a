/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file that is written to while it is open: only verified bytes run, or nothing. The file is too
 * large to be read at once when it is opened. */
#include "trust_support.h"

#include <fcntl.h>
#include <sys/wait.h>

static char path[256];
static uint8_t *good, *evil; /* mark1 and mark2 */
static size_t image_size;

static const kdl_pair target[] = {{{"triple", 6}, {HOST_TRIPLE, sizeof HOST_TRIPLE - 1}},
                                  {{"arch", 4}, {HOST_ARCH, sizeof HOST_ARCH - 1}},
                                  {{"kdl.kernel.mark", 15}, {"sig=ptr<u32> u32", 16}}};

/* Both of one size, as what is written over the other. */
static void read_images(void) {
  size_t sizes[2];
  uint8_t *images[2];
  const char *const names[] = {KDL_TEST_IMAGES "/mark1.so", KDL_TEST_IMAGES "/mark2.so"};
  for (size_t i = 0; i < 2; ++i)
    images[i] = read_file(names[i], &sizes[i]);
  image_size = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
  good = calloc(1, image_size);
  evil = calloc(1, image_size);
  memcpy(good, images[0], sizes[0]);
  memcpy(evil, images[1], sizes[1]);
  free(images[0]);
  free(images[1]);
}

static kdl_writer_image host_image(const void *data, size_t size) {
  return (kdl_writer_image){.size = sizeof(kdl_writer_image),
                            .declared_kind = 1,
                            .pairs = target,
                            .pair_count = 3,
                            .data = data,
                            .data_size = size};
}

/* Behind it, what makes the file large. */
static void add_rest(kdl_writer *writer) {
  enum { large = 200 * 1024 };
  static const kdl_pair other[] = {{{"triple", 6}, {"nvptx64-nvidia-cuda", 19}},
                                   {{"arch", 4}, {"sm_90", 5}},
                                   {{"kdl.kernel.other", 16}, {"rev=1", 5}}};
  static const uint8_t zeros[large];
  kdl_writer_image rest = host_image(zeros, large);
  rest.declared_kind = 3;
  rest.pairs = other;
  assert_ok(kdl_writer_add(writer, &rest));
}

static void save(kdl_writer *writer) {
  void *data;
  size_t size;
  assert_ok(kdl_writer_finish(writer, &data, &size));
  kdl_writer_destroy(writer);
  write_bytes(path, data, size);
  free(data);
}

static void make_file(trust_says says) {
  kdl_writer *writer;
  kdl_writer_image image = host_image(good, image_size);
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  trust_add(writer, &image, says);
  add_rest(writer);
  save(writer);
}

/* The host's image in another OffloadBinary, which is signed. */
static void make_nested(const char *arch) {
  kdl_writer *inner, *outer;
  void *data;
  size_t size;
  kdl_pair pairs[3];
  kdl_writer_image image = host_image(good, image_size);
  memcpy(pairs, target, sizeof target);
  pairs[1].value = text_of(arch);
  image.pairs = pairs;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &inner));
  assert_ok(kdl_writer_add(inner, &image));
  assert_ok(kdl_writer_finish(inner, &data, &size));
  kdl_writer_destroy(inner);
  kdl_writer_image whole = {.size = sizeof whole, .data = data, .data_size = size};
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &outer));
  trust_add(outer, &whole, TRUST_SIGNED);
  add_rest(outer);
  save(outer);
  free(data);
}

/* In place: the file stays the same file. */
static void overwrite(const void *from, const void *to, size_t size) {
  size_t file_size;
  uint8_t *file = read_file(path, &file_size);
  const uint8_t *at = memmem(file, file_size, from, size);
  assert_non_null(at);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  assert_int_equal(pwrite(fd, to, size, at - file), size);
  close(fd);
  free(file);
}

static kdl_library *open_it(void) {
  kdl_library *lib = NULL;
  assert_ok(kdl_open(path, NULL, &lib));
  return lib;
}

static kdl_status choose(kdl_library *lib, kdl_selection *choice) {
  *choice = (kdl_selection){.size = sizeof *choice};
  return kdl_select(lib, the_host(), "mark", NULL, choice);
}

/* ------------------------------------------------------------------------------------------ */

static void what_was_checked_is_what_runs(trust_says says) {
  kdl_selection choice;
  make_file(says);
  kdl_library *lib = open_it();
  assert_ok(choose(lib, &choice));
  overwrite(good, evil, image_size);
  assert_memory_equal(choice.data, good, image_size);
  assert_int_equal(run_mark(kernel_named(lib, "mark"), 10), 1);
  kdl_close(lib);
}

static void what_changes_before_is_refused(trust_says says) {
  kdl_selection choice;
  make_file(says);
  kdl_library *lib = open_it();
  overwrite(good, evil, image_size);
  assert_int_equal(choose(lib, &choice), KDL_BAD_FILE);
  assert_int_equal(kdl_prefetch(kernel_named(lib, "mark")), KDL_BAD_FILE);
  kdl_close(lib);
}

static void a_signed_image_runs_as_it_was_checked(void **state) {
  (void)state;
  what_was_checked_is_what_runs(TRUST_SIGNED);
}

static void a_signed_image_that_changed_is_refused(void **state) {
  (void)state;
  what_changes_before_is_refused(TRUST_SIGNED);
}

static void an_image_in_a_signed_one_runs_as_it_was_checked(void **state) {
  (void)state;
  kdl_selection choice;
  make_nested(HOST_ARCH);
  kdl_library *lib = open_it();
  assert_ok(choose(lib, &choice));
  overwrite(good, evil, image_size);
  assert_memory_equal(choice.data, good, image_size);
  assert_int_equal(run_mark(kernel_named(lib, "mark"), 10), 1);
  kdl_close(lib);
}

static void an_image_in_a_signed_one_that_changed_is_refused(void **state) {
  (void)state;
  kdl_selection choice;
  make_nested(HOST_ARCH);
  kdl_library *lib = open_it();
  overwrite(good, evil, image_size);
  assert_int_equal(choose(lib, &choice), KDL_BAD_FILE);
  kdl_close(lib);
}

/* What is said of an image in a signed one is signed too, and is read when the file is opened:
 * before its signature is checked. */
static void metadata_that_was_another_when_it_was_read_is_refused(void **state) {
  (void)state;
  kdl_selection choice;
  make_nested("x86-64-v4-"); /* for no device */
  overwrite("x86-64-v4-", HOST_ARCH "\0\0\0\0\0\0\0\0", 10);
  kdl_library *lib = open_it();
  overwrite(HOST_ARCH "\0\0\0\0", "x86-64-v4-", 10);
  assert_int_equal(choose(lib, &choice), KDL_BAD_FILE);
  assert_non_null(strstr(kdl_error_message(), "was changed"));
  kdl_close(lib);
}

typedef struct {
  pthread_t thread;
  pthread_barrier_t *begin;
  kdl_library *lib;
  kdl_selection choice;
  kdl_status status;
} chooser;

static void *choose_at_once(void *user) {
  chooser *one = user;
  pthread_barrier_wait(one->begin);
  one->status = choose(one->lib, &one->choice);
  return NULL;
}

static void threads_share_what_was_checked(void **state) {
  (void)state;
  enum { threads = 6, rounds = 20 };
  the_host();
  for (int round = 0; round < rounds; ++round) {
    chooser all[threads];
    pthread_barrier_t begin;
    if (round % 2)
      make_nested(HOST_ARCH);
    else
      make_file(TRUST_SIGNED);
    kdl_library *lib = open_it();
    pthread_barrier_init(&begin, NULL, threads);
    for (int i = 0; i < threads; ++i) {
      all[i].begin = &begin;
      all[i].lib = lib;
      assert_int_equal(pthread_create(&all[i].thread, NULL, choose_at_once, &all[i]), 0);
    }
    for (int i = 0; i < threads; ++i) {
      pthread_join(all[i].thread, NULL);
      assert_int_equal(all[i].status, KDL_OK);
      assert_ptr_equal(all[i].choice.data, all[0].choice.data);
      assert_memory_equal(all[i].choice.data, good, image_size);
    }
    pthread_barrier_destroy(&begin);
    kdl_close(lib);
  }
}

static void a_digest_alone_does_the_same(void **state) {
  (void)state;
  what_was_checked_is_what_runs(TRUST_DIGESTED);
  what_changes_before_is_refused(TRUST_DIGESTED);
}

/* A file without a digest is mapped, whatever its size. */
static void what_says_nothing_is_not_copied(void **state) {
  (void)state;
  kdl_selection choice;
  make_file(TRUST_NOTHING);
  kdl_library *lib = open_it();
  assert_ok(choose(lib, &choice));
  overwrite(good, evil, image_size);
  assert_memory_equal(choice.data, evil, image_size);
  kdl_close(lib);
}

static int make_all(void **state) {
  (void)state;
  trust_path("library.offload", path);
  read_images();
  return 0;
}

static int remove_all(void **state) {
  (void)state;
  unlink(path);
  trust_end();
  free(good);
  free(evil);
  return 0;
}

/* What is trusted is read once by a process. */
int main(void) {
  const struct CMUnitTest without_policy[] = {
      cmocka_unit_test(a_digest_alone_does_the_same),
      cmocka_unit_test(what_says_nothing_is_not_copied),
  };
  const struct CMUnitTest with_policy[] = {
      cmocka_unit_test(a_signed_image_runs_as_it_was_checked),
      cmocka_unit_test(a_signed_image_that_changed_is_refused),
      cmocka_unit_test(an_image_in_a_signed_one_runs_as_it_was_checked),
      cmocka_unit_test(an_image_in_a_signed_one_that_changed_is_refused),
      cmocka_unit_test(metadata_that_was_another_when_it_was_read_is_refused),
      cmocka_unit_test(threads_share_what_was_checked),
  };
  int status = 0;
  pid_t child = fork();
  trust_begin(child ? "require" : "off");
  int failed = child ? cmocka_run_group_tests(with_policy, make_all, remove_all)
                     : cmocka_run_group_tests(without_policy, make_all, remove_all);
  if (child)
    waitpid(child, &status, 0);
  return failed || status;
}
