/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* AMX: permission is requested once, when an image that needs it would be selected for this
 * machine; if it is refused, the next image is. */
#include "library_builder.h"

#include "lib/registry/device.h"

static int times_asked;
static bool answer;

static bool fake_answer(void) {
  ++times_asked;
  return answer;
}

static const image_row rows[] = {
    {1, X86_TRIPLE, "x86-64-v4", NULL},
    {1, X86_TRIPLE, "sapphirerapids", NULL},
};

/* A Sapphire Rapids that pretends to be this machine. */
static kdl_device make_host(kdl_select_device *route, char *line) {
  kdl_device host = {.is_here = true, .route_count = 1, .routes = {route}, .spec_lines = {line}};
  kdl_device_spec spec;
  assert_ok(kdl_device_spec_parse("host:sapphirerapids", &spec));
  assert_ok(kdl_select_device_init(&spec, route));
  return host;
}

static size_t choose(built_library *built, kdl_device *host) {
  kdl_selection choice = {.size = sizeof choice};
  kdl_select_opts opts = {.size = sizeof opts};
  assert_ok(kdl_select(built->lib, host, NULL, &opts, &choice));
  return choice.image;
}

static void granted_is_asked_once(void **state) {
  (void)state;
  kdl_select_device route;
  char *line = "host";
  kdl_device host = make_host(&route, line);
  built_library built = build_library(rows, 2);
  answer = true;
  times_asked = 0;
  assert_int_equal(choose(&built, &host), 1);
  assert_int_equal(choose(&built, &host), 1);
  assert_int_equal(times_asked, 1);
  free_library(&built);
}

static void refused_steps_down_and_says_so(void **state) {
  (void)state;
  kdl_select_device route;
  char *line = "host";
  kdl_device host = make_host(&route, line);
  built_library built = build_library(rows, 2);
  answer = false;
  times_asked = 0;
  assert_int_equal(choose(&built, &host), 0);
  assert_int_equal(choose(&built, &host), 0);
  assert_int_equal(times_asked, 1);
  built_library only = build_library(rows + 1, 1);
  kdl_selection choice = {.size = sizeof choice};
  assert_int_equal(kdl_select(only.lib, &host, NULL, NULL, &choice), KDL_NO_MATCH);
  assert_non_null(strstr(kdl_error_message(), "the kernel refused permission"));
  free_library(&only);
  free_library(&built);
}

static int note_chosen(void *user, const kdl_verdict *verdict) {
  if (verdict->chosen)
    *(size_t *)user = verdict->image;
  else
    assert_string_equal(verdict->reasons[0].code, "amx_permission");
  return 0;
}

static void explaining_asks_as_choosing_does(void **state) {
  (void)state;
  kdl_select_device route;
  char *line = "host";
  kdl_device host = make_host(&route, line);
  built_library built = build_library(rows, 2);
  size_t image = 99;
  answer = false;
  times_asked = 0;
  assert_ok(kdl_explain(built.lib, &host, NULL, NULL, note_chosen, &image));
  assert_int_equal(image, 0);
  assert_int_equal(times_asked, 1);
  free_library(&built);
}

static void images_without_amx_ask_for_nothing(void **state) {
  (void)state;
  kdl_select_device route;
  char *line = "host";
  kdl_device host = make_host(&route, line);
  built_library built = build_library(rows, 1);
  times_asked = 0;
  assert_int_equal(choose(&built, &host), 0);
  assert_int_equal(times_asked, 0);
  free_library(&built);
}

/* A machine that was described is not this one: nothing is asked on its behalf. */
static void described_devices_ask_for_nothing(void **state) {
  (void)state;
  built_library built = build_library(rows, 2);
  times_asked = 0;
  assert_int_equal(chosen(&built, "host:sapphirerapids", NULL, KDL_POLICY_BEST), 1);
  assert_int_equal(times_asked, 0);
  free_library(&built);
}

int main(void) {
  kdl_request_amx = fake_answer;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(granted_is_asked_once),
      cmocka_unit_test(refused_steps_down_and_says_so),
      cmocka_unit_test(explaining_asks_as_choosing_does),
      cmocka_unit_test(images_without_amx_ask_for_nothing),
      cmocka_unit_test(described_devices_ask_for_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
