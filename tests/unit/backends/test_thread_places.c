/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NUMA nodes and cores of two kinds, of machines that lie in a folder of this test: which CPUs are
 * one place, and which place each thread of the pool has. */
#include "support.h"

#include "lib/backends/host/threads.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { max_files = 16, max_expected = 8 };

typedef struct {
  const char *path, *text; /* below sys/devices */
} file;

typedef struct {
  const char *cpus;
  unsigned node, capacity;
} expected_place;

typedef struct {
  const char *name;
  unsigned cpus;
  file files[max_files];
  expected_place places[max_expected];
  int caller;          /* the CPU of the first launch */
  const char *threads; /* the place of each thread of the pool, as a digit; "-": any */
} machine;

static const machine machines[] = {
    {.name = "a laptop of four cores",
     .cpus = 4,
     .files = {{"system/node/online", "0\n"}, {"system/node/node0/cpulist", "0-3\n"}},
     .places = {{"0-3", 0, 1024}},
     .caller = 2,
     .threads = "---"},
    {.name = "two sockets, whose CPUs are numbered in turn",
     .cpus = 8,
     .files = {{"system/node/online", "0-1\n"},
               {"system/node/node0/cpulist", "0,2,4,6\n"},
               {"system/node/node1/cpulist", "1,3,5,7\n"}},
     .places = {{"0,2,4,6", 0, 1024}, {"1,3,5,7", 1, 1024}},
     .caller = 3,
     .threads = "1110000"
                "1111000"},
    {.name = "four nodes, one without CPUs and one without a list",
     .cpus = 12,
     .files = {{"system/node/online", "0-2,5\n"},
               {"system/node/node0/cpulist", "0-3,8-9\n"},
               {"system/node/node1/cpulist", "\n"},
               {"system/node/node2/cpulist", "4-7,10-11,5000\n"}},
     .places = {{"0-3,8-9", 0, 1024}, {"4-7,10-11", 2, 1024}},
     .caller = 0,
     .threads = "00000111111"},
    {.name = "big and little cores with their capacities",
     .cpus = 6,
     .files = {{"system/node/online", "0\n"},
               {"system/node/node0/cpulist", "0-5\n"},
               {"system/cpu/cpu0/cpu_capacity", "400\n"},
               {"system/cpu/cpu1/cpu_capacity", "400\n"},
               {"system/cpu/cpu2/cpu_capacity", "400\n"},
               {"system/cpu/cpu3/cpu_capacity", "400\n"},
               {"system/cpu/cpu4/cpu_capacity", "1024\n"},
               {"system/cpu/cpu5/cpu_capacity", "1024\n"}},
     .places = {{"4-5", 0, 1024}, {"0-3", 0, 400}},
     .caller = 4,
     .threads = "01111"},
    {.name = "two kinds of cores without capacities, and files that are damaged",
     .cpus = 8,
     .files = {{"system/node/online", "none\n"},
               {"system/cpu/cpu0/cpu_capacity", "99999\n"},
               {"system/cpu/cpu1/cpu_capacity", "fast\n"},
               {"cpu_core/cpus", "0-3\n"},
               {"cpu_atom/cpus", "4-7,\n"}},
     .places = {{"0-3", 0, 1024}, {"4-7", 0, 1024}},
     .caller = 7,
     .threads = "1110000"},
};

static char root[64];

/* With the folders above it. */
static void write_text(const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/sys/devices/%s", root, path);
  for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = '\0';
    (void)mkdir(whole, 0700);
  }
  FILE *out = fopen(whole, "w");
  assert_non_null(out);
  assert_true(fputs(text, out) >= 0);
  assert_int_equal(fclose(out), 0);
}

static void make_machine(const machine *of) {
  snprintf(root, sizeof root, "/tmp/kdl-places-XXXXXX");
  assert_non_null(mkdtemp(root));
  for (const file *at = of->files; at->path; ++at)
    write_text(at->path, at->text);
}

static void remove_machine(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", root);
  assert_int_equal(system(command), 0);
}

static cpu_set_t first_cpus(unsigned count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = 0; i < count; ++i)
    CPU_SET((size_t)i, &set);
  return set;
}

/* As "0-3,8". */
static void format_cpus(const cpu_set_t *set, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (int i = 0, last; i < CPU_SETSIZE; i = last + 1) {
    last = i;
    if (!CPU_ISSET((size_t)i, set))
      continue;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, set))
      ++last;
    used += (size_t)snprintf(out + used, size - used, last > i ? "%s%d-%d" : "%s%d",
                             used ? "," : "", i, last);
  }
}

static void expect_places(const machine *of, const kdl_host_places *found) {
  unsigned count = 0;
  for (; of->places[count].cpus; ++count) {
    char text[128];
    assert_in_range(count, 0, found->count - 1);
    format_cpus(&found->places[count].cpus, text, sizeof text);
    assert_string_equal(text, of->places[count].cpus);
    assert_int_equal(found->places[count].cpu_count, CPU_COUNT(&found->places[count].cpus));
    assert_int_equal(found->places[count].node, of->places[count].node);
    assert_int_equal(found->places[count].capacity, of->places[count].capacity);
  }
  assert_int_equal(found->count, count);
}

static void cpus_of_a_node_that_are_equally_fast_are_a_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
    kdl_host_places found;
    cpu_set_t all = first_cpus(machines[i].cpus);
    make_machine(&machines[i]);
    kdl_host_read_places(root, &all, &found);
    remove_machine();
    expect_places(&machines[i], &found);
  }
}

/* The caller's place first, then its node, then others; again from the start where there are more
 * threads than CPUs. */
static void threads_next_to_each_other_share_a_place(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i) {
    kdl_host_places found;
    cpu_set_t all = first_cpus(machines[i].cpus);
    make_machine(&machines[i]);
    kdl_host_read_places(root, &all, &found);
    remove_machine();
    for (unsigned k = 0; machines[i].threads[k]; ++k) {
      const kdl_host_place *place = kdl_host_place_of(&found, machines[i].caller, k);
      char digit = place ? (char)('0' + (place - found.places)) : '-';
      assert_int_equal(digit, machines[i].threads[k]);
    }
  }
}

static void cpus_that_are_not_allowed_are_left_out(void **state) {
  (void)state;
  kdl_host_places found;
  cpu_set_t some = first_cpus(4);
  make_machine(&machines[2]); /* whose first four CPUs are of one node */
  kdl_host_read_places(root, &some, &found);
  remove_machine();
  assert_int_equal(found.count, 1);
  assert_null(kdl_host_place_of(&found, 0, 0)); /* there is nothing to bind to */
  assert_ptr_equal(kdl_host_place_with(&found, 3), found.places);
  assert_null(kdl_host_place_with(&found, 4));
  assert_null(kdl_host_place_with(&found, -1));
}

static void without_a_description_all_cpus_are_one_place(void **state) {
  (void)state;
  kdl_host_places found;
  cpu_set_t all = first_cpus(5);
  kdl_host_read_places("/nowhere", &all, &found);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.places[0].cpu_count, 5);
  CPU_ZERO(&all);
  kdl_host_read_places("/nowhere", &all, &found);
  assert_int_equal(found.count, 0);
  assert_null(kdl_host_place_of(&found, 0, 0));
}

/* Of two fast CPUs and one that has half their speed. */
static void shares_have_weights(void **state) {
  (void)state;
  const unsigned weights[] = {1024, 1024, 512};
  unsigned before = 0;
  const uint64_t total = 1000, begins[] = {0, 400, 800, 1000};
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(kdl_host_share_begin(total, 2560, before), begins[i]);
    before += weights[i];
    assert_int_equal(kdl_host_share_begin(total, 2560, before), begins[i + 1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cpus_of_a_node_that_are_equally_fast_are_a_place),
      cmocka_unit_test(threads_next_to_each_other_share_a_place),
      cmocka_unit_test(cpus_that_are_not_allowed_are_left_out),
      cmocka_unit_test(without_a_description_all_cpus_are_one_place),
      cmocka_unit_test(shares_have_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
