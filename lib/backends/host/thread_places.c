/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where threads run: the CPUs of a NUMA node that are equally fast are a place. Linux describes
 * both in /sys. Threads of a pool are bound to places in order, the place of the launching thread
 * first, so that neighbours in a grid are on one node, and a launch of few threads stays on it.
 */
#include "lib/backends/host/threads.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_text = 4096, max_nodes = 1024 };

static bool read_file(const char *root, char *text, const char *format, unsigned number) {
  char name[128], path[PATH_MAX];
  snprintf(name, sizeof name, format, number); /* NOLINT(clang-diagnostic-format-nonliteral) */
  int length = snprintf(path, sizeof path, "%s/sys/devices/%s", root, name);
  FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
  size_t size = file ? fread(text, 1, max_text - 1, file) : 0;
  text[size] = '\0';
  if (file)
    fclose(file);
  return size > 0;
}

/* A list as "0-3,8,10-11". What follows something else is not read. */
static bool parse_cpus(const char *list, cpu_set_t *out_set) {
  CPU_ZERO(out_set);
  for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
    unsigned long first = strtoul(list, &end, 10), last = first;
    if (*end == '-')
      last = strtoul(end + 1, &end, 10);
    for (; first <= last && first < CPU_SETSIZE; ++first)
      CPU_SET(first, out_set);
  }
  return CPU_COUNT(out_set) > 0;
}

static bool read_cpus(const char *root, const char *format, unsigned number, cpu_set_t *out_set) {
  char text[max_text];
  return read_file(root, text, format, number) && parse_cpus(text, out_set);
}

/* How fast a CPU is, to the others; 0: not known. */
static unsigned capacity_of(const char *root, unsigned cpu) {
  char text[max_text];
  unsigned long capacity =
      read_file(root, text, "system/cpu/cpu%u/cpu_capacity", cpu) ? strtoul(text, NULL, 10) : 0;
  return capacity <= KDL_HOST_FULL_CAPACITY ? (unsigned)capacity : 0;
}

static void add_cpu(kdl_host_places *places, unsigned cpu, unsigned node, unsigned kind,
                    unsigned capacity) {
  unsigned i = 0;
  while (i < places->count && (places->places[i].node != node || places->places[i].kind != kind ||
                               places->places[i].capacity != capacity))
    ++i;
  if (i == KDL_HOST_MAX_PLACES)
    return; /* its threads run anywhere */
  if (i == places->count) {
    places->places[places->count++] =
        (kdl_host_place){.node = node, .kind = kind, .capacity = capacity};
    CPU_ZERO(&places->places[i].cpus);
  }
  CPU_SET((size_t)cpu, &places->places[i].cpus);
  ++places->places[i].cpu_count;
}

/* The fast ones of a node first. */
static int compare_places(const void *left, const void *right) {
  const kdl_host_place *a = left, *b = right;
  if (a->node != b->node)
    return a->node < b->node ? -1 : 1;
  if (a->capacity != b->capacity)
    return a->capacity > b->capacity ? -1 : 1;
  return (a->kind > b->kind) - (a->kind < b->kind);
}

void kdl_host_read_places(const char *root, const cpu_set_t *allowed, kdl_host_places *out_places) {
  static const cpu_set_t none;
  cpu_set_t nodes = none, node = none, slow = none;
  unsigned node_of[CPU_SETSIZE] = {0};
  *out_places = (kdl_host_places){.count = 0};
  (void)read_cpus(root, "system/node/online", 0, &nodes);
  for (unsigned i = 0; i < max_nodes; ++i) {
    if (!CPU_ISSET((size_t)i, &nodes) || !read_cpus(root, "system/node/node%u/cpulist", i, &node))
      continue;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      node_of[cpu] = CPU_ISSET((size_t)cpu, &node) ? i : node_of[cpu];
  }
  (void)read_cpus(root, "cpu_atom/cpus", 0, &slow);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET((size_t)cpu, allowed))
      continue;
    unsigned capacity = capacity_of(root, cpu);
    add_cpu(out_places, cpu, node_of[cpu], CPU_ISSET((size_t)cpu, &slow) != 0,
            capacity ? capacity : KDL_HOST_FULL_CAPACITY);
  }
  qsort(out_places->places, out_places->count, sizeof *out_places->places, compare_places);
}

const kdl_host_place *kdl_host_place_with(const kdl_host_places *places, int cpu) {
  for (unsigned i = 0; cpu >= 0 && i < places->count; ++i) {
    if (CPU_ISSET((size_t)cpu, &places->places[i].cpus))
      return &places->places[i];
  }
  return NULL;
}

/* The other places of the caller's node come before those of other nodes. */
const kdl_host_place *kdl_host_place_of(const kdl_host_places *places, int caller,
                                        unsigned number) {
  const kdl_host_place *first = kdl_host_place_with(places, caller);
  unsigned cpus = 0;
  for (unsigned i = 0; i < places->count; ++i)
    cpus += places->places[i].cpu_count;
  if (places->count < 2 || !first)
    return NULL;
  number = (number + 1) % cpus; /* the first CPU is the caller's */
  for (int round = 0; round < 3; ++round) {
    for (const kdl_host_place *at = places->places; at < places->places + places->count; ++at) {
      if ((at == first ? 0 : at->node == first->node ? 1 : 2) != round)
        continue;
      if (number < at->cpu_count)
        return at;
      number -= at->cpu_count;
    }
  }
  return NULL;
}

static kdl_host_places process_places;

static void read_process_places(void) {
  const kdl_host_thread_limits *limits = kdl_host_thread_limits_get();
  if (limits->has_cpu_set)
    kdl_host_read_places("", &limits->cpu_set, &process_places);
}

const kdl_host_places *kdl_host_places_get(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_process_places);
  return &process_places;
}
