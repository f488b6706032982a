/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend from KDL_BACKEND_PATH: its device, its faults one by one, captures, forks, and copies
 * between it and the host. */
#include "launch_support.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int *capturing, *loads, *unloads, *alive, *pairs_seen;

static const char *const archs[] = {"sm_90", "sm_80"};

static void *library_bytes;

static kdl_library *open_cubins(void) {
  kdl_writer *writer;
  size_t size;
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
  free(library_bytes);
  library_bytes = NULL; /* the next line may fail */
  assert_ok(kdl_writer_finish(writer, &library_bytes, &size));
  kdl_writer_destroy(writer);
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .name = "t"};
  assert_ok(kdl_open_memory(library_bytes, size, &opts, &lib));
  return lib;
}

static kdl_device *null_device(void) {
  return kdl_device_at(0); /* those that a backend brings come first */
}

static void faults(const char *list) {
  setenv("FAULTY", list, 1);
}

static void device_that_does_not_open_may_open_later(void **state) {
  (void)state;
  kdl_library *lib = open_cubins();
  kdl_kernel *kernel;
  assert_non_null(strstr(kdl_device_spec_text(null_device()), "name=null"));
  faults("device_open:1:lost");
  assert_fails(kdl_sym(lib, null_device(), "k", NULL, &kernel), KDL_DEVICE,
               "cuda:sm_90 (null): device_open: FAULTY_DEVICE_LOST (719)");
  assert_int_equal(kdl_error_code(), 719);
  faults("queue_create:1:memory");
  assert_fails(kdl_sym(lib, null_device(), "k", NULL, &kernel), KDL_NO_MEMORY,
               "cuda:sm_90 (null): queue_create: FAULTY_OUT_OF_MEMORY (2)");
  assert_int_equal(*alive, 0);
  faults("");
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
  kdl_close(lib);
}

static void failed_load_falls_back_and_is_undone(void **state) {
  (void)state;
  static const char *const cases[] = {"image_load:1:image", "kernel_find:1:image"};
  for (size_t i = 0; i < 2; ++i) {
    kdl_library *lib = open_cubins();
    kdl_kernel *kernel;
    int loaded = *loads, unloaded = *unloads;
    faults(cases[i]);
    assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
    uint32_t n = 1;
    assert_ok(kdl_launch_items(kernel, NULL, kdl_extent1(1000), KDL_ARGS(&n)));
    assert_int_equal(info_of(kernel).image, 1);
    kdl_close(lib);
    assert_int_equal(*loads - loaded, *unloads - unloaded);
    assert_int_equal(*loads - loaded, i == 0 ? 1 : 2);
  }
  faults("");
}

/* Unless the backend declares that it reads none, as CUDA's does. */
static void metadata_comes_with_an_image(void **state) {
  (void)state;
  kdl_library *lib = open_cubins();
  kdl_kernel *kernel;
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
  assert_ok(kdl_prefetch(kernel));
  assert_int_equal(*pairs_seen, 3);
  kdl_close(lib);
}

static void chain_keeps_the_first_code(void **state) {
  (void)state;
  kdl_library *lib = open_cubins();
  kdl_kernel *kernel;
  faults("image_load:1+:image");
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
  for (int i = 0; i < 2; ++i) {
    assert_fails(kdl_prefetch(kernel), KDL_BAD_FILE,
                 "t: k: none of 2 images could be loaded on cuda: image 0 (cubin sm_90): "
                 "image_load: FAULTY_INVALID_IMAGE (200); image 1 (ptx sm_80): image_load: "
                 "FAULTY_INVALID_IMAGE (200)");
    assert_int_equal(kdl_error_code(), 200);
  }
  faults("");
  kdl_close(lib);
}

static void capture_survives_and_names_prefetch(void **state) {
  (void)state;
  kdl_library *lib = open_cubins();
  kdl_kernel *kernel;
  kdl_queue *queue;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  uint32_t n = 1;
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
  assert_ok(kdl_queue_create(null_device(), NULL, &queue));
  int loaded = *loads;
  *capturing = 1;
  for (int i = 0; i < 2; ++i)
    assert_fails(i ? kdl_launch_items(kernel, queue, kdl_extent1(1), KDL_ARGS(&n))
                   : kdl_launch(kernel, queue, &desc, KDL_ARGS(&n)),
                 KDL_BAD_CALL,
                 "k: its first launch would load it, which breaks the capture on this queue; call "
                 "kdl_prefetch before the capture begins");
  assert_int_equal(*loads, loaded);
  *capturing = 0;
  assert_ok(kdl_prefetch(kernel));
  *capturing = 1;
  assert_ok(kdl_launch(kernel, queue, &desc, KDL_ARGS(&n)));
  *capturing = 0;
  kdl_queue_destroy(queue);
  kdl_close(lib);
}

/* Empty slots of its table: plain memory, and unknown properties. */
static void what_a_backend_lacks(void **state) {
  (void)state;
  void *data = NULL;
  uint64_t total = 7;
  assert_ok(kdl_alloc_host(null_device(), 100, &data));
  assert_int_equal((uintptr_t)data % 64, 0);
  assert_ok(kdl_free_host(null_device(), data));
  assert_fails(kdl_memory_info(null_device(), NULL, &total), KDL_UNSUPPORTED,
               "kdl_memory_info: cuda:sm_90 (null): its driver does not tell how much memory is "
               "free; kdl_device_get tells how much there is");
  assert_int_equal(total, 7);
}

static void copies_cross_devices(void **state) {
  (void)state;
  kdl_queue *here, *there;
  kdl_buffer a, b;
  uint32_t data[4] = {1, 2, 3, 4}, back[4] = {0};
  assert_ok(kdl_queue_create(the_host(), NULL, &here));
  assert_ok(kdl_queue_create(null_device(), NULL, &there));
  assert_ok(kdl_alloc(the_host(), sizeof data, &a));
  assert_ok(kdl_alloc(null_device(), sizeof data, &b));
  assert_ok(kdl_write(here, &a, 0, data, sizeof data));
  assert_ok(kdl_copy(there, &b, 4, &a, 0, 12));
  assert_ok(kdl_read(there, back, &b, 4, 12));
  assert_ok(kdl_sync(there));
  assert_memory_equal(back, data, 12);
  assert_int_equal(kdl_write(here, &b, 0, data, 4), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "kdl_write: found a buffer of cuda:sm_90"));
  faults("queue_sync:1:lost");
  assert_int_equal(kdl_sync(there), KDL_DEVICE);
  faults("alloc:1:memory");
  kdl_buffer c;
  assert_fails(kdl_alloc(null_device(), 10, &c), KDL_NO_MEMORY,
               "kdl_alloc: 10 bytes: alloc: FAULTY_OUT_OF_MEMORY (2)");
  faults("");
  kdl_queue_destroy(here);
  kdl_queue_destroy(there);
  assert_ok(kdl_free(&a));
  assert_ok(kdl_free(&b));
}

static void queue_of_another_device_is_told(void **state) {
  (void)state;
  kdl_library *lib = open_cubins();
  kdl_kernel *kernel;
  kdl_queue *queue;
  uint32_t n = 1;
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &kernel));
  assert_ok(kdl_queue_create(the_host(), NULL, &queue));
  assert_int_equal(kdl_launch_items(kernel, queue, kdl_extent1(1), KDL_ARGS(&n)), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "k: found a queue of host:"));
  kdl_queue_destroy(queue);
  kdl_close(lib);
}

static void adopting_comes_first(void **state) {
  (void)state;
  assert_int_equal(kdl_device_adopt(null_device(), capturing), KDL_BAD_CALL);
  void *handle;
  assert_ok(kdl_device_native(null_device(), KDL_NATIVE_CONTEXT, &handle));
  assert_non_null(handle);
  kdl_queue *queue;
  assert_ok(kdl_queue_adopt(null_device(), capturing, &queue));
  assert_ok(kdl_queue_native(queue, &handle));
  assert_ptr_equal(handle, capturing);
  kdl_queue_destroy(queue);
}

/* Returns how many of the child's expectations failed. */
static int in_child(kdl_kernel *bound, kdl_kernel *unbound, kdl_kernel *mark, kdl_queue *queue) {
  int wrong = 0;
  uint32_t n = 1;
  kdl_launch_desc desc = kdl_grid(1, 1, 1);
  kdl_args args = KDL_ARGS(&n);
  const kdl_status got[] = {
      kdl_launch(bound, NULL, &desc, args),
      kdl_launch_items(bound, NULL, kdl_extent1(1), args),
      kdl_launch(unbound, NULL, &desc, args),
      kdl_prefetch(unbound),
      kdl_sync(queue),
  };
  for (size_t i = 0; i < sizeof got / sizeof *got; ++i)
    wrong += got[i] != KDL_DEVICE;
  wrong +=
      !strstr(kdl_error_message(), "was opened before this process forked, and its driver does "
                                   "not survive a fork: use it first in the child, or start "
                                   "the child with exec");
  uint32_t out[100000], size = 100000, *to = out;
  wrong += kdl_launch_items(mark, NULL, kdl_extent1(size), KDL_ARGS(&to, &size)) != KDL_OK;
  wrong += out[99999] != 1099999;
  return wrong;
}

static void fork_is_an_error_on_the_device_and_none_on_the_host(void **state) {
  (void)state;
  static const host_row rows[] = {{"mark1", 0, NULL, NULL, NULL, NULL}};
  host_library made = open_rows(rows, 1);
  kdl_library *lib = open_cubins();
  kdl_kernel *bound, *unbound, *mark = kernel_named(made.lib, "mark");
  kdl_select_opts opts = {.size = sizeof opts, .policy = KDL_POLICY_FIRST};
  kdl_queue *queue;
  assert_int_equal(run_mark(mark, 100000), 1);
  assert_ok(kdl_sym(lib, null_device(), "k", NULL, &bound));
  assert_ok(kdl_sym(lib, null_device(), "k", &opts, &unbound));
  assert_ok(kdl_prefetch(bound));
  assert_ok(kdl_queue_create(null_device(), NULL, &queue));
  pid_t child = fork();
  if (child == 0) {
    int wrong = in_child(bound, unbound, mark, queue);
    kdl_queue_destroy(queue);
    kdl_close(lib);
    _exit(wrong);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  uint32_t n = 1;
  assert_ok(kdl_launch_items(bound, queue, kdl_extent1(1), KDL_ARGS(&n)));
  kdl_queue_destroy(queue);
  kdl_close(lib);
  free_rows(&made);
}

static int find_backend(void **state) {
  (void)state;
  const char *path = KDL_TEST_FAKES "/libfaulty_backend.so";
  setenv("KDL_BACKEND_PATH", "/no/such/backend.so:" KDL_TEST_FAKES "/libfaulty_backend.so", 1);
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    fail_msg("%s", dlerror());
  capturing = dlsym(library, "faulty_capturing");
  loads = dlsym(library, "faulty_loads");
  unloads = dlsym(library, "faulty_unloads");
  alive = dlsym(library, "faulty_alive");
  pairs_seen = dlsym(library, "faulty_pairs");
  return !(capturing && loads && unloads && alive && pairs_seen);
}

static int free_bytes(void **state) {
  (void)state;
  free(library_bytes);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(device_that_does_not_open_may_open_later),
      cmocka_unit_test(failed_load_falls_back_and_is_undone),
      cmocka_unit_test(metadata_comes_with_an_image),
      cmocka_unit_test(chain_keeps_the_first_code),
      cmocka_unit_test(capture_survives_and_names_prefetch),
      cmocka_unit_test(what_a_backend_lacks),
      cmocka_unit_test(copies_cross_devices),
      cmocka_unit_test(queue_of_another_device_is_told),
      cmocka_unit_test(adopting_comes_first),
      cmocka_unit_test(fork_is_an_error_on_the_device_and_none_on_the_host),
  };
  return cmocka_run_group_tests(tests, find_backend, free_bytes);
}
