/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Selection through the public API: policies, kernels, tags, limits, and the message if nothing
 * fits. */
#include "library_builder.h"
#include "support/system/environment.h"

#include <sys/mman.h>
#include <unistd.h>

static void priority_goes_before_rank_under_best_only(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90a", NULL},
      {3, NV_TRIPLE, "sm_90", "variant_priority=5"},
      {5, NV_TRIPLE, "sm_80", "variant_priority=7"},
  };
  built_library built = build_library(rows, 3);
  assert_int_equal(chosen(&built, "h200", NULL, KDL_POLICY_BEST), 2);
  assert_int_equal(chosen(&built, "h200", NULL, KDL_POLICY_CAPABILITY), 0);
  assert_int_equal(chosen(&built, "h200", NULL, KDL_POLICY_FIRST), 0);
  assert_int_equal(chosen(&built, "a100", NULL, KDL_POLICY_BEST), 2);
  assert_int_equal(chosen(&built, "t4", NULL, KDL_POLICY_BEST), nothing);
  free_library(&built);
}

static void file_order_settles_ties(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_80", NULL}, {3, NV_TRIPLE, "sm_90", NULL}, {3, NV_TRIPLE, "sm_90", NULL}};
  built_library built = build_library(rows, 3);
  for (kdl_policy policy = KDL_POLICY_BEST; policy <= KDL_POLICY_CAPABILITY; ++policy)
    assert_int_equal(chosen(&built, "h100", NULL, policy), 1);
  free_library(&built);
}

static void only_images_with_the_kernel_take_part(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.gemm=rev=1"},
      {5, NV_TRIPLE, "sm_70", "kdl.kernel.gemm=rev=1|kdl.kernel.saxpy=rev=1"},
  };
  built_library built = build_library(rows, 2);
  assert_int_equal(chosen(&built, "h200", "gemm", KDL_POLICY_BEST), 0);
  assert_int_equal(chosen(&built, "h200", "saxpy", KDL_POLICY_BEST), 1);
  assert_int_equal(chosen(&built, "h200", "sax", KDL_POLICY_BEST), nothing);
  assert_string_equal(kdl_error_message(),
                      "no image holds the kernel 'sax'; did you mean 'saxpy'?");
  /* The nearest is one that has the kernel, though another would run. */
  assert_int_equal(chosen(&built, "p100", "saxpy", KDL_POLICY_BEST), nothing);
  assert_string_equal(kdl_error_message(),
                      "saxpy: none of 2 images fits cuda:sm_60 (NVIDIA Tesla P100); the nearest is "
                      "image 1 (ptx sm_70): built for sm_70; runs on compute capability 7.0 and "
                      "later; the device is 6.0; fix: add a cubin for sm_60 or plain PTX for "
                      "compute_60 or earlier");
  free_library(&built);
}

static void a_tag_goes_before_everything(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90a", "variant_priority=9"},
      {3, NV_TRIPLE, "sm_90", "variant_tag=debug"},
  };
  built_library built = build_library(rows, 2);
  kdl_selection choice = {.size = sizeof choice};
  kdl_select_opts opts = {.size = sizeof opts, .variant_tag = "debug"};
  assert_ok(kdl_select(built.lib, device_named("h200"), NULL, &opts, &choice));
  assert_int_equal(choice.image, 1);
  opts.variant_tag = "no such tag";
  assert_ok(kdl_select(built.lib, device_named("h200"), NULL, &opts, &choice));
  assert_int_equal(choice.image, 0);
  free_library(&built);
}

static void launch_limits_are_checked_against_the_device(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.k=shared=300000; rev=1"},
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.k=block=2048x1x1; rev=1"},
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.k=block=1024x1x1; shared=200000; rev=1"},
  };
  built_library built = build_library(rows, 3);
  assert_int_equal(chosen(&built, "h200", "k", KDL_POLICY_BEST), 2);
  assert_int_equal(chosen(&built, "cuda:sm_90", "k", KDL_POLICY_BEST), 0); /* limits not known */
  free_library(&built);
}

static void environment_gives_what_options_do_not(void **state) {
  (void)state;
  static const image_row rows[] = {{5, NV_TRIPLE, "sm_90", NULL}, {3, NV_TRIPLE, "sm_90", NULL}};
  built_library built = build_library(rows, 2);
  kdl_selection choice = {.size = sizeof choice};
  setenv("KDL_POLICY", "first", 1);
  kdl_environment_reset_cached();
  assert_ok(kdl_select(built.lib, device_named("h200"), NULL, NULL, &choice));
  assert_int_equal(choice.image, 0);
  setenv("KDL_POLICY", "fastest", 1);
  kdl_environment_reset_cached();
  assert_fails(kdl_select(built.lib, device_named("h200"), NULL, NULL, &choice), KDL_BAD_CALL,
               "KDL_POLICY: position 0: found \"fastest\", expected one of: best, first, "
               "capability, adaptive");
  unsetenv("KDL_POLICY");
  kdl_environment_reset_cached();
  assert_ok(kdl_select(built.lib, device_named("h200"), NULL, NULL, &choice));
  assert_int_equal(choice.image, 1);
  free_library(&built);
}

static int collect_image(void *user, size_t image) {
  size_t *mask = user;
  *mask |= (size_t)1 << image;
  return 0;
}

static void variants_are_listed_for_every_target(void **state) {
  (void)state;
  static const image_row rows[] = {
      {3, NV_TRIPLE, "sm_90", "kdl.kernel.k=rev=1"},
      {1, AMD_TRIPLE, "gfx942", "kdl.kernel.other=rev=1"},
      {1, AMD_TRIPLE, "gfx90a", "kdl.kernel.k=rev=1"},
  };
  built_library built = build_library(rows, 3);
  size_t mask = 0;
  assert_ok(kdl_variants(built.lib, "k", collect_image, &mask));
  assert_int_equal(mask, 5);
  free_library(&built);
}

typedef struct {
  size_t calls;
  size_t chosen;
  char first_code[64];
} verdict_log;

static int log_verdict(void *user, const kdl_verdict *verdict) {
  verdict_log *log = user;
  assert_int_equal(verdict->position, log->calls);
  assert_int_equal(verdict->eligible, verdict->reason_count == 0);
  if (verdict->chosen)
    log->chosen = verdict->image;
  if (log->calls++ == 1 && verdict->reason_count)
    snprintf(log->first_code, sizeof log->first_code, "%s", verdict->reasons[0].code);
  return 0;
}

static void explaining_and_choosing_agree(void **state) {
  (void)state;
  static const image_row rows[] = {
      {1, AMD_TRIPLE, "gfx90a:xnack+", NULL},
      {1, AMD_TRIPLE, "gfx90a", NULL},
      {3, NV_TRIPLE, "sm_90", NULL},
  };
  built_library built = build_library(rows, 3);
  verdict_log log = {0};
  assert_ok(kdl_explain(built.lib, device_named("hip:gfx90a:sramecc+:xnack-"), NULL, NULL,
                        log_verdict, &log));
  assert_int_equal(log.calls, 3);
  assert_int_equal(log.chosen, 1);
  assert_string_equal(log.first_code, "xnack_mismatch"); /* the nearest of the refused */
  free_library(&built);
}

/* An indexed library is opened, ranked, explained and chosen from with its images unreadable. */
static void an_indexed_library_is_chosen_from_without_reading_it(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  static const image_row row = {5, NV_TRIPLE, "sm_80", "kdl.kernel.k=rev=1"};
  built_library built = build_library(&row, 1);
  size_t header = built.size - 8;
  uint8_t *memory =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  memcpy(memory + page - header, built.data, built.size);
  assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
  kdl_library *lib;
  assert_ok(kdl_open_memory(memory + page - header, built.size, NULL, &lib));
  kdl_selection choice = {.size = sizeof choice};
  assert_ok(kdl_select(lib, device_named("h200"), "k", NULL, &choice));
  assert_ptr_equal(choice.data, memory + page);
  verdict_log log = {0};
  assert_ok(kdl_explain(lib, device_named("h200"), "k", NULL, log_verdict, &log));
  assert_int_equal(log.calls, 1);
  kdl_close(lib);
  munmap(memory, 2 * page);
  free_library(&built);
}

/* Many kernels of many images are looked up otherwise than the first few, and chosen alike: as by a
 * library of which nothing was asked before. Some images name a kernel twice. */
static void many_kernels_are_chosen_as_the_first(void **state) {
  (void)state;
  static const char *const devices_of_nvidia[] = {"h200", "a100", "t4", "sm_70"};
  enum { images = 60, kernels = 40 };
  static char keys[images][512];
  static image_row rows[images];
  static const char *const archs[] = {"sm_50", "sm_75", "sm_80", "sm_90", "sm_100"};
  unsigned random = 7;
  for (int i = 0; i < images; ++i) {
    size_t used = (size_t)snprintf(keys[i], sizeof keys[i], "variant_priority=%d", i % 3);
    for (int j = 0, count = 0; j < kernels && count < 6; ++j) {
      int k = (j + i * 7) % kernels;
      random = random * 1103515245 + 12345;
      for (unsigned times = random >> 20 & 3; times > 1 && count < 6; --times, ++count)
        used += (size_t)snprintf(keys[i] + used, sizeof keys[i] - used, "|kdl.kernel.k%d=block=%d",
                                 k, i + 1);
    }
    rows[i] = (image_row){5, NV_TRIPLE, archs[i % 5], keys[i]};
  }
  built_library asked = build_library(rows, images);
  for (int k = 0; k < kernels + 2; ++k) { /* and of two that there are not */
    char name[16];
    snprintf(name, sizeof name, "k%d", k);
    built_library fresh = build_library(rows, images);
    for (size_t i = 0; i < sizeof devices_of_nvidia / sizeof *devices_of_nvidia; ++i)
      assert_int_equal(chosen(&asked, devices_of_nvidia[i], name, KDL_POLICY_BEST),
                       chosen(&fresh, devices_of_nvidia[i], name, KDL_POLICY_BEST));
    free_library(&fresh);
  }
  free_library(&asked);
}

static void bad_devices_are_explained(void **state) {
  (void)state;
  kdl_device *device;
  assert_int_equal(kdl_device_find("cuda:sm_9x", &device), KDL_BAD_CALL);
  assert_non_null(strstr(kdl_error_message(), "offset 8"));
  assert_int_equal(kdl_device_find("host:99", &device), KDL_NO_MATCH);
  assert_int_equal(kdl_device_find("", &device), KDL_BAD_CALL);
  assert_ptr_equal(device_named("h200"), device_named("H200"));
}

int main(void) {
  unsetenv("KDL_POLICY");
  unsetenv("KDL_VARIANT_TAG");
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1); /* drivers of this machine are no part of this */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(priority_goes_before_rank_under_best_only),
      cmocka_unit_test(file_order_settles_ties),
      cmocka_unit_test(only_images_with_the_kernel_take_part),
      cmocka_unit_test(a_tag_goes_before_everything),
      cmocka_unit_test(launch_limits_are_checked_against_the_device),
      cmocka_unit_test(environment_gives_what_options_do_not),
      cmocka_unit_test(variants_are_listed_for_every_target),
      cmocka_unit_test(explaining_and_choosing_agree),
      cmocka_unit_test(an_indexed_library_is_chosen_from_without_reading_it),
      cmocka_unit_test(many_kernels_are_chosen_as_the_first),
      cmocka_unit_test(bad_devices_are_explained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
