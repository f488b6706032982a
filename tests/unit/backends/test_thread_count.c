/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many threads there may be, by variables, the affinity mask and the quotas of cgroups that lie
 * in a folder of this test. */
#include "support.h"

#include "lib/backends/host/threads.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static int make_root(void **state) {
  (void)state;
  unsetenv("KDL_HOST_THREADS");
  unsetenv("OMP_NUM_THREADS");
  snprintf(root, sizeof root, "/tmp/kdl-cgroup-XXXXXX");
  return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", root);
  return system(command);
}

/* With the folders above it. */
static void write_text(const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = '\0';
    (void)mkdir(whole, 0700);
  }
  FILE *file = fopen(whole, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* What the quota is once a file has that text. */
static void expect_millicpus(const char *path, const char *text, uint64_t expected) {
  write_text(path, text);
  assert_int_equal(kdl_host_cgroup_millicpus(root), expected);
}

static void without_a_quota_there_is_no_limit(void **state) {
  (void)state;
  assert_int_equal(kdl_host_cgroup_millicpus(root), 0);
  expect_millicpus("proc/self/cgroup", "0::/a/b\n", 0);
  expect_millicpus("sys/fs/cgroup/a/b/cpu.max", "max 100000\n", 0);
  expect_millicpus("sys/fs/cgroup/a/b/cpu.max", "garbage\n", 0);
  expect_millicpus("sys/fs/cgroup/a/b/cpu.max", "100000 0\n", 0);
  expect_millicpus("proc/self/cgroup", "no line of a cgroup\n", 0);
}

static void the_least_quota_on_the_way_up_counts(void **state) {
  (void)state;
  write_text("proc/self/cgroup", "0::/a/b\n");
  expect_millicpus("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n", 4000);
  expect_millicpus("sys/fs/cgroup/a/cpu.max", "150000 100000\n", 1500);
  expect_millicpus("sys/fs/cgroup/cpu.max", "max 100000\n", 1500);
  /* A path of another namespace: what is seen at the top is the container's own. */
  write_text("proc/self/cgroup", "0::/kubepods/pod1/x\n");
  expect_millicpus("sys/fs/cgroup/cpu.max", "50000 100000\n", 500);
}

static void version_1_has_a_quota_too(void **state) {
  (void)state;
  write_text("proc/self/cgroup", "12:memory:/m\n4:cpu,cpuacct:/docker/x\n3:cpuset:/\n0::/\n");
  write_text("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  expect_millicpus("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n", 0);
  expect_millicpus("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "250000\n", 2500);
  write_text("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  expect_millicpus("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n", 1000);
  /* Controllers whose names begin alike are others. */
  expect_millicpus("proc/self/cgroup", "4:cpuset,cpuacct:/docker/x\n", 0);
}

static kdl_host_thread_limits limits_with(const char *name, const char *value) {
  kdl_host_thread_limits limits;
  if (name)
    setenv(name, value, 1);
  kdl_host_read_thread_limits(root, &limits);
  if (name)
    unsetenv(name);
  return limits;
}

static unsigned cpu_count(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static unsigned lesser(unsigned a, unsigned b) {
  return a < b ? a : b;
}

static void a_quota_is_rounded_up(void **state) {
  (void)state;
  write_text("proc/self/cgroup", "0::/\n");
  write_text("sys/fs/cgroup/cpu.max", "150000 100000\n");
  kdl_host_thread_limits limits = limits_with(NULL, NULL);
  assert_int_equal(limits.total, lesser(2, cpu_count()));
  assert_int_equal(limits.unlimited, limits.total);
  /* Two threads that wait awake would take the time that is paid for. */
  assert_int_equal(limits.may_spin, limits.total == 1);
  write_text("sys/fs/cgroup/cpu.max", "50000 100000\n");
  limits = limits_with(NULL, NULL);
  assert_int_equal(limits.total, 1);
  assert_false(limits.may_spin);
}

static void the_mask_counts(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(limits_with(NULL, NULL).total, lesser(cpu_count(), KDL_HOST_MAX_THREADS));
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  kdl_host_thread_limits limits = limits_with(NULL, NULL);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(limits.total, 1);
  assert_true(limits.may_spin);
}

static void what_the_user_sets_counts_most(void **state) {
  (void)state;
  write_text("proc/self/cgroup", "0::/\n");
  write_text("sys/fs/cgroup/cpu.max", "100000 100000\n");
  setenv("OMP_NUM_THREADS", "1", 1);
  kdl_host_thread_limits limits = limits_with("KDL_HOST_THREADS", "7");
  unsetenv("OMP_NUM_THREADS");
  assert_int_equal(limits.total, 7);
  assert_int_equal(limits.unlimited, 7);
  assert_false(limits.may_spin);
  static const char *const bad[] = {"0", "1025", "-1", "3x", "x", "4,2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    assert_int_equal(limits_with("KDL_HOST_THREADS", bad[i]).total, 1);
}

/* It is meant for another library: launches that have a limit do not look at it. */
static void omp_num_threads_is_for_launches_without_limits(void **state) {
  (void)state;
  unsigned cpus = lesser(cpu_count(), KDL_HOST_MAX_THREADS);
  kdl_host_thread_limits limits = limits_with("OMP_NUM_THREADS", "1");
  assert_int_equal(limits.total, cpus);
  assert_int_equal(limits.unlimited, 1);
  assert_int_equal(limits_with("OMP_NUM_THREADS", "1,4").unlimited, 1);
  assert_int_equal(limits_with("OMP_NUM_THREADS", "1000").unlimited, cpus); /* no more than CPUs */
  assert_int_equal(limits_with("OMP_NUM_THREADS", "many").unlimited, cpus);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(without_a_quota_there_is_no_limit),
      TEST(the_least_quota_on_the_way_up_counts),
      TEST(version_1_has_a_quota_too),
      TEST(a_quota_is_rounded_up),
      TEST(the_mask_counts),
      TEST(what_the_user_sets_counts_most),
      TEST(omp_num_threads_is_for_launches_without_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
