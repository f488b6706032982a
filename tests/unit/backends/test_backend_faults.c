/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every backend call of libkdl fails once, with errors of each kind, then always, or takes long:
 * the next image is loaded, or the message names the call and the error; nothing crashes or
 * leaks. */
#include "launch_support.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int *alive, *loads, *injected;
static void *library_bytes;
static size_t library_size;

static void faults(const char *rules) {
  setenv("FAULTY", rules, 1);
}

/* Not for ever: what the fault is for may have failed before. */
static void wait_for_a_fault(void) {
  enum { most_ms = 2000 };
  for (int ms = 0; atomic_load(injected) == 0 && ms < most_ms; ++ms)
    usleep(1000);
}

/* Two images for the backend's device, of which the second is the fallback. */
static void make_cubins(void) {
  static const char *const archs[] = {"sm_90", "sm_80"};
  kdl_writer *writer;
  assert_ok(kdl_writer_create(KDL_FORMAT_V1, &writer));
  for (size_t i = 0; i < 2; ++i) {
    kdl_pair pairs[] = {{text_of("triple"), text_of("nvptx64-nvidia-cuda")},
                        {text_of("arch"), text_of(archs[i])},
                        {text_of("kdl.kernel.k"), text_of("sig=u32; block=128x1x1")}};
    kdl_writer_image image = {.size = sizeof image,
                              .declared_kind = i == 0 ? 3 : 5,
                              .pairs = pairs,
                              .pair_count = 3,
                              .data = "image",
                              .data_size = 5};
    assert_ok(kdl_writer_add(writer, &image));
  }
  assert_ok(kdl_writer_finish(writer, &library_bytes, &library_size));
  kdl_writer_destroy(writer);
}

static kdl_device *the_device(void) {
  return kdl_device_at(0); /* those that a backend brings come first */
}

/* ------------------------------------------------------------------------------------------ */
/* One session with the device                                                                  */

typedef struct {
  kdl_library *lib;
  kdl_queue *queue, *adopted;
  kdl_event *first, *last;
  kdl_buffer x, y, is_here;
  kdl_kernel *kernel;
  size_t position; /* of the image that was taken */
} session;

static kdl_status open_session(session *s) {
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  kdl_status status = kdl_open_memory(library_bytes, library_size, &opts, &s->lib);
  if (status == KDL_OK)
    status = kdl_queue_create(the_device(), NULL, &s->queue);
  if (status == KDL_OK)
    status = kdl_queue_adopt(the_device(), s, &s->adopted);
  if (status == KDL_OK)
    status = kdl_event_create(the_device(), &s->first);
  if (status == KDL_OK)
    status = kdl_event_create(the_device(), &s->last);
  if (status == KDL_OK)
    status = kdl_alloc(the_device(), 64, &s->x);
  if (status == KDL_OK)
    status = kdl_alloc(the_device(), 64, &s->y);
  if (status == KDL_OK)
    status = kdl_alloc(the_host(), 64, &s->is_here);
  return status;
}

static kdl_status move_data(session *s) {
  char bytes[64] = "abcdefgh", back[64];
  kdl_status status = kdl_fill(s->queue, &s->x, 0, 64, "", 1);
  if (status == KDL_OK)
    status = kdl_write(s->queue, &s->x, 0, bytes, sizeof bytes);
  if (status == KDL_OK)
    status = kdl_copy(s->queue, &s->y, 0, &s->x, 0, 64);
  if (status == KDL_OK)
    status = kdl_copy(s->queue, &s->x, 32, &s->is_here, 0, 32); /* through the host */
  if (status == KDL_OK)
    status = kdl_read(s->queue, back, &s->y, 0, sizeof back);
  if (status == KDL_OK)
    assert_memory_equal(bytes, back, sizeof bytes);
  return status;
}

static kdl_status launch_all(session *s) {
  uint32_t n = 1;
  double ns = -1;
  int done = 0;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  kdl_kernel_info info = {.size = sizeof info};
  kdl_status status = kdl_sym(s->lib, the_device(), "k", NULL, &s->kernel);
  if (status == KDL_OK)
    status = kdl_event_record(s->first, s->queue);
  if (status == KDL_OK)
    status = kdl_launch_call(s->kernel, s->queue, &desc, &KDL_ARGS(&n));
  if (status == KDL_OK)
    status = kdl_launch_items(s->kernel, s->adopted, kdl_extent1(1000), KDL_ARGS(&n));
  if (status == KDL_OK)
    status = kdl_event_record(s->last, s->queue);
  if (status == KDL_OK)
    status = kdl_event_wait(s->last, s->adopted);
  if (status == KDL_OK)
    status = kdl_event_sync(s->last);
  if (status == KDL_OK)
    status = kdl_event_query(s->last, &done);
  if (status == KDL_OK)
    status = kdl_event_elapsed(s->first, s->last, &ns);
  if (status == KDL_OK)
    status = kdl_sync(s->queue);
  if (status == KDL_OK)
    status = kdl_kernel_get(s->kernel, &info);
  s->position = info.position;
  return status;
}

/* Stops at the first failure. */
static kdl_status work(session *s) {
  kdl_status status = open_session(s);
  if (status == KDL_OK)
    status = move_data(s);
  return status == KDL_OK ? launch_all(s) : status;
}

static void put_away(session *s) {
  (void)kdl_free(&s->x);
  (void)kdl_free(&s->y);
  (void)kdl_free(&s->is_here);
  kdl_event_destroy(s->first);
  kdl_event_destroy(s->last);
  kdl_queue_destroy(s->queue);
  kdl_queue_destroy(s->adopted);
  kdl_close(s->lib);
}

/* ------------------------------------------------------------------------------------------ */
/* Before the device is open                                                                    */

static void *open_slowly(void *user) {
  kdl_buffer buffer;
  return kdl_alloc(the_device(), 64, &buffer) == KDL_OK && kdl_free(&buffer) == KDL_OK ? user
                                                                                       : NULL;
}

/* The child sees a device that was never opened, and must not open it. */
static void a_fork_while_a_device_is_opened(void **state) {
  (void)state;
  pthread_t thread;
  void *good;
  assert_non_null(the_device());
  faults("device_open:1:sleep=300");
  assert_int_equal(pthread_create(&thread, NULL, open_slowly, alive), 0);
  wait_for_a_fault();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    kdl_buffer buffer;
    int wrong = kdl_alloc(the_device(), 64, &buffer) != KDL_DEVICE;
    wrong += strcmp(kdl_error_message(),
                    "kdl_alloc: 64 bytes: cuda:sm_90 (null) was found before this process forked, "
                    "and its driver does not survive a fork: use it first in the child, or start "
                    "the child with exec") != 0;
    wrong += kdl_alloc(the_host(), 64, &buffer) != KDL_OK || kdl_free(&buffer) != KDL_OK;
    _exit(wrong);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pthread_join(thread, &good);
  assert_non_null(good);
  faults("");
}

/* ------------------------------------------------------------------------------------------ */
/* Faults                                                                                       */

enum { most_calls = 200, kept = 1 /* the queue of launches that name none */ };

static const struct {
  const char *name;
  kdl_status status;
  int code;
  const char *words;
} kinds[] = {{"memory", KDL_NO_MEMORY, 2, "FAULTY_OUT_OF_MEMORY (2)"},
             {"image", KDL_BAD_FILE, 200, "FAULTY_INVALID_IMAGE (200)"},
             {"lost", KDL_DEVICE, 719, "FAULTY_DEVICE_LOST (719)"}};

static void each_call_fails_once(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    unsigned told = 0, fallbacks = 0, n = 1, hit = 1;
    for (; hit && n < most_calls; ++n) {
      char rule[64];
      session s = {0};
      snprintf(rule, sizeof rule, "*:%u:%s", n, kinds[k].name);
      faults(rule);
      kdl_status status = work(&s);
      if (status != KDL_OK) {
        ++told;
        assert_int_equal(status, kinds[k].status);
        assert_int_equal(kdl_error_code(), kinds[k].code);
        if (!strstr(kdl_error_message(), kinds[k].words))
          fail_msg("call %u: %s", n, kdl_error_message());
      }
      fallbacks += s.position == 1;
      put_away(&s);
      hit = (unsigned)atomic_load(injected);
      faults("");
      if (atomic_load(alive) != kept)
        fail_msg("call %u, %s: %d are left behind", n, kinds[k].name, atomic_load(alive));
    }
    assert_int_equal(hit, 0);
    assert_int_equal(fallbacks, 2); /* image_load and kernel_find of the best image */
    assert_true(told >= 18);
  }
}

/* From some call on for good, also while things are put away, when no error can be returned. */
static void the_device_is_lost(void **state) {
  (void)state;
  unsigned n = 1, hit = 1;
  for (; hit && n < most_calls; ++n) {
    char rule[64];
    session s = {0};
    snprintf(rule, sizeof rule, "*:%u+:lost", n);
    faults(rule);
    kdl_status status = work(&s);
    if (status != KDL_OK) {
      assert_int_equal(status, KDL_DEVICE);
      assert_int_equal(kdl_error_code(), 719);
    }
    put_away(&s);
    hit = (unsigned)atomic_load(injected);
    faults("");
    if (atomic_load(alive) != kept)
      fail_msg("from call %u on: %d are left behind", n, atomic_load(alive));
  }
  assert_int_equal(hit, 0);
}

static void *launch_it(void *user) {
  uint32_t n = 1;
  session *s = user;
  return kdl_launch_items(s->kernel, NULL, kdl_extent1(1), KDL_ARGS(&n)) == KDL_OK ? user : NULL;
}

static session open_kernel(void) {
  session s = {0};
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(library_bytes, library_size, &opts, &s.lib));
  assert_ok(kdl_sym(s.lib, the_device(), "k", NULL, &s.kernel));
  return s;
}

/* Memory that was short may be enough the next time: such a failure is not kept, others are. */
static void a_load_is_tried_again_where_memory_was_short(void **state) {
  (void)state;
  static const struct {
    const char *rules;
    kdl_status first, then;
    size_t position;
  } rows[] = {
      {"image_load:1+:memory", KDL_NO_MEMORY, KDL_OK, 0},
      {"kernel_find:1+:memory", KDL_NO_MEMORY, KDL_OK, 0},
      {"image_load:1:image;image_load:2:memory", KDL_BAD_FILE, KDL_OK, 1},
      {"image_load:1:memory;image_load:2:image", KDL_NO_MEMORY, KDL_OK, 0},
      {"image_load:1+:lost", KDL_DEVICE, KDL_DEVICE, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    session s = open_kernel();
    kdl_kernel_info info = {.size = sizeof info};
    faults(rows[i].rules);
    assert_int_equal(kdl_prefetch(s.kernel), rows[i].first);
    faults("");
    assert_int_equal(kdl_kernel_get(s.kernel, &info), rows[i].then);
    if (rows[i].then == KDL_OK) {
      assert_non_null(launch_it(&s));
      assert_int_equal(info.position, rows[i].position);
      assert_int_equal(info.failure_count, rows[i].position);
    }
    put_away(&s);
    assert_int_equal(atomic_load(alive), kept);
  }
}

/* A global is not found, or the question fails; the kernel stays usable either way. */
static void a_global_is_asked_for(void **state) {
  (void)state;
  session s = {0};
  kdl_buffer global;
  assert_ok(work(&s));
  assert_fails(kdl_global(s.kernel, "table", &global), KDL_NO_MATCH,
               "t: image 0: found no variable table");
  faults("global_find:1:lost");
  assert_fails(kdl_global(s.kernel, "table", &global), KDL_DEVICE,
               "t: image 0: global_find: FAULTY_DEVICE_LOST (719)");
  faults("queue_capturing:1:lost");
  kdl_kernel *other;
  kdl_select_opts opts = {.size = sizeof opts, .policy = KDL_POLICY_FIRST};
  uint32_t n = 1;
  assert_ok(kdl_sym(s.lib, the_device(), "k", &opts, &other));
  assert_fails(kdl_launch_items(other, s.queue, kdl_extent1(1), KDL_ARGS(&n)), KDL_DEVICE,
               "queue_capturing: FAULTY_DEVICE_LOST (719)");
  faults("");
  assert_ok(kdl_launch_items(other, s.queue, kdl_extent1(1), KDL_ARGS(&n)));
  put_away(&s);
  assert_int_equal(atomic_load(alive), kept);
}

/* ------------------------------------------------------------------------------------------ */
/* Slow calls                                                                                   */

/* Other threads wait while it is loaded. */
static void a_slow_load_is_waited_for(void **state) {
  (void)state;
  enum { threads = 8 };
  session s = open_kernel();
  pthread_t thread[threads];
  int before = atomic_load(loads);
  faults("image_load:1:sleep=100;kernel_find:1:sleep=50");
  for (size_t i = 0; i < threads; ++i)
    assert_int_equal(pthread_create(&thread[i], NULL, launch_it, &s), 0);
  for (size_t i = 0; i < threads; ++i) {
    void *good;
    pthread_join(thread[i], &good);
    assert_non_null(good);
  }
  assert_int_equal(atomic_load(loads) - before, 1);
  faults("");
  put_away(&s);
  assert_int_equal(atomic_load(alive), kept);
}

/* Every call being slow changes nothing but the time. */
static void slow_calls_change_nothing(void **state) {
  (void)state;
  session s = {0};
  faults("*:1+:sleep=1");
  assert_ok(work(&s));
  assert_int_equal(s.position, 0);
  put_away(&s);
  faults("");
  assert_int_equal(atomic_load(alive), kept);
}

/* The child neither waits for the load nor hangs behind it. */
static void a_fork_while_an_image_is_loaded(void **state) {
  (void)state;
  session s = open_kernel();
  pthread_t thread;
  void *good;
  faults("image_load:1:sleep=300");
  assert_int_equal(pthread_create(&thread, NULL, launch_it, &s), 0);
  wait_for_a_fault();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    uint32_t n = 1;
    kdl_buffer buffer;
    int wrong = kdl_launch_items(s.kernel, NULL, kdl_extent1(1), KDL_ARGS(&n)) != KDL_DEVICE;
    wrong += kdl_prefetch(s.kernel) != KDL_DEVICE;
    wrong += kdl_alloc(the_host(), 64, &buffer) != KDL_OK || kdl_free(&buffer) != KDL_OK;
    kdl_close(s.lib);
    _exit(wrong);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pthread_join(thread, &good);
  assert_non_null(good);
  faults("");
  put_away(&s);
  assert_int_equal(atomic_load(alive), kept);
}

static int find_backend(void **state) {
  (void)state;
  const char *path = KDL_TEST_FAKES "/libfaulty_backend.so";
  setenv("KDL_BACKEND_PATH", path, 1);
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    fail_msg("%s", dlerror());
  alive = dlsym(library, "faulty_alive");
  loads = dlsym(library, "faulty_loads");
  injected = dlsym(library, "faulty_faults");
  make_cubins();
  return !(alive && loads && injected);
}

static int free_bytes(void **state) {
  (void)state;
  free(library_bytes);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fork_while_a_device_is_opened), /* the first, while it is not */
      cmocka_unit_test(each_call_fails_once),
      cmocka_unit_test(the_device_is_lost),
      cmocka_unit_test(a_load_is_tried_again_where_memory_was_short),
      cmocka_unit_test(a_global_is_asked_for),
      cmocka_unit_test(a_slow_load_is_waited_for),
      cmocka_unit_test(slow_calls_change_nothing),
      cmocka_unit_test(a_fork_while_an_image_is_loaded),
  };
  return cmocka_run_group_tests(tests, find_backend, free_bytes);
}
