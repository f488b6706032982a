/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* together LIBRARY [fake=SPEC]... DEVICE...: every vendor in one process, launching at the same
 * time, some that are not there among them; then each that is fake is lost for a while, and the
 * others do not notice. Returns 77 where fewer than three are there, or OpenCL is not. */
#include "vendor.h"

#include <pthread.h>
#include <stdlib.h>

enum { rounds = 20 };

enum { most_vendors = 8 };
static vendor vendors[most_vendors];
static int vendor_count;

/* What makes the launches of a fake fail from now on. */
static const struct {
  const char *backend;
  const char *rule;
} losses[] = {
    {"hip", "hipModuleLaunchKernel:1+:719"},
    {"level_zero", "zeCommandListAppendLaunchKernel:1+:0x70000001"},
};

static int failures;

static void expect(bool holds, const char *what, const vendor *v) {
  if (!holds) {
    printf("FAIL   %s: %s: %s\n", what, v->name, v->message);
    ++failures;
  }
}

static void *work(void *user) {
  vendor *v = user;
  v->status = KDL_OK;
  for (int i = 0; i < rounds && v->status == KDL_OK; ++i)
    v->status = scale(v, (float)i);
  return NULL;
}

static void work_together(void) {
  pthread_t threads[most_vendors];
  for (int i = 0; i < vendor_count; ++i) {
    if (vendors[i].queue)
      pthread_create(&threads[i], NULL, work, &vendors[i]);
  }
  for (int i = 0; i < vendor_count; ++i) {
    if (vendors[i].queue)
      pthread_join(threads[i], NULL);
  }
}

/* All work, but for the one that must fail. */
static void expect_all(const vendor *but, const char *what) {
  int working = 0;
  work_together();
  for (int i = 0; i < vendor_count; ++i) {
    const vendor *v = &vendors[i];
    if (!v->queue)
      continue;
    expect((v->status == KDL_OK) == (v != but), what, v);
    working += v->status == KDL_OK;
  }
  printf("%-6s %s: %d work%s%s\n", failures ? "" : "ok", what, working,
         but ? "; told of the other: " : "", but ? but->message : "");
}

static void lose(const char *backend, const char *rule) {
  for (int i = 0; i < vendor_count; ++i) {
    if (strcmp(vendors[i].name, backend) != 0 || !vendors[i].queue)
      continue;
    setenv("KDL_FAKE_FAIL", rule, 1);
    expect_all(&vendors[i], "one vendor's device is lost");
    setenv("KDL_FAKE_FAIL", "", 1);
    expect_all(NULL, "and is back");
  }
}

/* The specs of fake devices stand before the others, each with "fake=" before it. */
static int show_fakes(int argc, char **argv) {
  char specs[2048] = "";
  int at = 2;
  for (; at < argc && strncmp(argv[at], "fake=", 5) == 0; ++at) {
    size_t used = strlen(specs);
    snprintf(specs + used, sizeof specs - used, "%s%s", used ? ";" : "", argv[at] + 5);
  }
  setenv("KDL_FAKE_DEVICES", specs, 1);
  return at;
}

int main(int argc, char **argv) {
  int opened = 0;
  bool has_opencl = false;
  int first = show_fakes(argc, argv);
  if (argc <= first || argc - first > most_vendors) {
    fprintf(stderr, "usage: together LIBRARY [fake=SPEC]... DEVICE...\n");
    return 2;
  }
  for (; vendor_count < argc - first; ++vendor_count) {
    vendor *v = &vendors[vendor_count];
    v->name = argv[first + vendor_count];
    if (!open_vendor(v, argv[1]))
      continue;
    ++opened;
    has_opencl |= strncmp(v->name, "opencl", 6) == 0;
  }
  if (!has_opencl || opened < 3)
    return 77;
  expect_all(NULL, "every vendor in one process");
  for (size_t i = 0; first > 2 && i < sizeof losses / sizeof *losses; ++i)
    lose(losses[i].backend, losses[i].rule);
  for (int i = 0; i < vendor_count; ++i) {
    if (vendors[i].queue)
      close_vendor(&vendors[i]);
  }
  return failures ? 1 : 0;
}
