/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The null backend with faults: every function of its table, and the launch, fails when told to.
 *
 * FAULTY is a list of rules with ';' between them, "NAME:COUNT:FAULT": the COUNT-th call of the
 * function (`*`: of any) since the variable last changed fails so; "COUNT+" from then on. The
 * faults are `memory`, `image`, `lost`, and `sleep=MS`, which makes the call slow instead.
 * Functions that give back do so whatever they are told.
 *
 * With FAULTY_NAME it serves the devices of that backend and brings none of its own. With
 * FAULTY_LONE its table has alloc_host without free_host.
 */
#define kdl_backend_open null_open
/* Its functions are what is wrapped, and they are static.
 * NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../../examples/backend/null_backend.c"
#undef kdl_backend_open
kdl_backend_open_function kdl_backend_open;

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* For tests that look inside. */
EXPORT atomic_int faulty_capturing; /* makes every queue look captured */
EXPORT atomic_int faulty_loads;     /* images that were loaded ... */
EXPORT atomic_int faulty_unloads;   /* ... and unloaded */
EXPORT atomic_int
    faulty_alive; /* loaded images, queues, events and buffers that were not given back */
EXPORT atomic_int faulty_faults; /* injected since FAULTY last changed */
EXPORT atomic_int faulty_pairs;  /* that came with the image that was loaded last */

/* ------------------------------------------------------------------------------------------ */
/* Rules                                                                                        */

static const struct {
  const char *name;
  kdl_status status;
  int code;
  const char *words;
} faults[] = {
    {"memory", KDL_NO_MEMORY, 2, "FAULTY_OUT_OF_MEMORY"},
    {"image", KDL_BAD_FILE, 200, "FAULTY_INVALID_IMAGE"},
    {"lost", KDL_DEVICE, 719, "FAULTY_DEVICE_LOST"},
};

enum { most_rules = 8 };
static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;
static char rules[512];            /* FAULTY as it was when the counts began */
static unsigned calls[most_rules]; /* that each rule has seen */

/* The fault that one rule wants for this call; -1 for none. A mistake in a test must not look like
 * a backend without faults. */
static int apply_rule(const char *rule, size_t index, const char *function, int *out_sleep) {
  char name[32], more[2] = "", fault[32];
  unsigned count;
  if (sscanf(rule, "%31[^:]:%u%1[+]:%31[^;]", name, &count, more, fault) != 4 &&
      sscanf(rule, "%31[^:]:%u:%31[^;]", name, &count, fault) != 3) {
    fprintf(stderr, "FAULTY: found \"%s\", expected NAME:COUNT:FAULT\n", rule);
    abort();
  }
  if (strcmp(name, "*") != 0 && strcmp(name, function) != 0)
    return -1;
  unsigned call = ++calls[index];
  if (call != count && !(more[0] && call > count))
    return -1;
  ++faulty_faults;
  if (sscanf(fault, "sleep=%d", out_sleep) == 1)
    return -1;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
    if (strcmp(faults[i].name, fault) == 0)
      return (int)i;
  }
  fprintf(stderr, "FAULTY: found \"%s\", expected memory, image, lost or sleep=MS\n", fault);
  abort();
}

static int find_fault(const char *function, int *out_sleep) {
  const char *text = getenv("FAULTY");
  text = text ? text : "";
  int found = -1;
  if (strcmp(text, rules) != 0) {
    snprintf(rules, sizeof rules, "%s", text);
    memset(calls, 0, sizeof calls);
    faulty_faults = 0;
  }
  const char *rule = text;
  for (size_t i = 0; i < most_rules && *rule; ++i) {
    int wanted = apply_rule(rule, i, function, out_sleep);
    found = found < 0 ? wanted : found;
    rule += strcspn(rule, ";");
    rule += *rule == ';';
  }
  return found;
}

static kdl_status fault(const char *function) {
  int delay = 0;
  pthread_mutex_lock(&rules_lock);
  int found = find_fault(function, &delay);
  pthread_mutex_unlock(&rules_lock);
  if (delay)
    nanosleep(&(struct timespec){delay / 1000, (long)(delay % 1000) * 1000000}, NULL);
  if (found < 0)
    return KDL_OK;
  return libkdl->fail(faults[found].status, faults[found].code, "%s: %s (%d)", function,
                      faults[found].words, faults[found].code);
}

/* ------------------------------------------------------------------------------------------ */
/* Functions that can fail: the fault, or the null backend's own, and what it made is alive */

static const kdl_backend_table *null_table;

#define FAULTY(name, made, parameters, arguments)                                                  \
  static kdl_status faulty_##name parameters {                                                     \
    kdl_status status = fault(#name);                                                              \
    if (status == KDL_OK)                                                                          \
      status = null_table->name arguments;                                                         \
    faulty_alive += status == KDL_OK ? (made) : 0;                                                 \
    return status;                                                                                 \
  }
FAULTY(device_open, 0, (const kdl_backend_device *desc, void **out), (desc, out))
FAULTY(global_find, 0, (void *d, void *m, const char *n, uint64_t *a, uint64_t *s), (d, m, n, a, s))
FAULTY(queue_sync, 0, (void *d, void *q), (d, q))
FAULTY(event_create, 1, (void *d, void **out), (d, out))
FAULTY(event_record, 0, (void *d, void *e, void *q), (d, e, q))
FAULTY(event_sync, 0, (void *d, void *e), (d, e))
FAULTY(event_query, 0, (void *d, void *e, int *done), (d, e, done))
FAULTY(event_wait, 0, (void *d, void *e, void *q), (d, e, q))
FAULTY(event_elapsed, 0, (void *d, void *a, void *b, double *ns), (d, a, b, ns))
FAULTY(alloc, 1, (void *d, uint64_t size, uint64_t *out), (d, size, out))
FAULTY(write, 0, (void *d, void *q, uint64_t a, uint64_t o, const void *p, uint64_t s),
       (d, q, a, o, p, s))
FAULTY(read, 0, (void *d, void *q, void *p, uint64_t a, uint64_t o, uint64_t s), (d, q, p, a, o, s))
FAULTY(copy, 0,
       (void *d, void *q, uint64_t to, uint64_t o, uint64_t from, uint64_t from_o, uint64_t s),
       (d, q, to, o, from, from_o, s))
FAULTY(fill, 0,
       (void *d, void *q, uint64_t a, uint64_t o, uint64_t s, const void *p, size_t pattern_size),
       (d, q, a, o, s, p, pattern_size))

static kdl_status faulty_launch(const kdl_kernel_head *kernel, const kdl_launch_desc *desc,
                                const kdl_args *args, void *queue) {
  kdl_status status = fault("launch");
  return status == KDL_OK ? launch(kernel, desc, args, queue) : status;
}

static kdl_status faulty_kernel_find(void *device, void *loaded, const kdl_kernel_request *request,
                                     kdl_backend_kernel *out_kernel) {
  kdl_status status = fault("kernel_find");
  if (status == KDL_OK)
    status = null_table->kernel_find(device, loaded, request, out_kernel);
  out_kernel->launch = faulty_launch;
  return status;
}

static kdl_status faulty_image_load(void *device, const kdl_backend_image *image, void **out) {
  kdl_status status = fault("image_load");
  if (status == KDL_OK)
    status = null_table->image_load(device, image, out);
  faulty_loads += status == KDL_OK;
  faulty_pairs = image->pairs ? (int)image->pair_count : 0;
  faulty_alive += status == KDL_OK;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Queues that can be told apart                                                                */

static kdl_status make_queue(const char *function, void *native, void **out_queue) {
  void **queue;
  kdl_status status = fault(function);
  if (status != KDL_OK)
    return status;
  queue = malloc(sizeof *queue);
  if (!queue)
    return kdl_in_process_no_memory();
  *queue = native;
  *out_queue = queue;
  ++faulty_alive;
  return KDL_OK;
}

static kdl_status faulty_queue_create(void *device, int32_t priority, void **out_queue) {
  (void)device, (void)priority;
  return make_queue("queue_create", NULL, out_queue);
}

static kdl_status faulty_queue_adopt(void *device, void *native, void **out_queue) {
  (void)device;
  return make_queue("queue_adopt", native, out_queue);
}

static kdl_status faulty_queue_capturing(void *device, void *queue, int *out_capturing) {
  (void)device, (void)queue;
  *out_capturing = faulty_capturing;
  return fault("queue_capturing");
}

static void *faulty_queue_native(void *device, void *queue) {
  (void)device;
  return *(void **)queue;
}

static void *faulty_device_native(void *device, kdl_native which) {
  (void)which;
  return device;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions that give back                                                                     */

static void faulty_image_unload(void *device, void *loaded) {
  (void)fault("image_unload");
  ++faulty_unloads;
  --faulty_alive;
  null_table->image_unload(device, loaded);
}

static void faulty_queue_destroy(void *device, void *queue) {
  (void)device;
  (void)fault("queue_destroy");
  --faulty_alive;
  free(queue);
}

static void faulty_event_destroy(void *device, void *event) {
  (void)fault("event_destroy");
  --faulty_alive;
  null_table->event_destroy(device, event);
}

static kdl_status faulty_free(void *device, uint64_t address) {
  kdl_status status = fault("free");
  --faulty_alive;
  (void)null_table->free(device, address);
  return status;
}

static kdl_status lone_alloc_host(void *device, uint64_t size, void **out_data) {
  (void)device, (void)size, (void)out_data;
  return kdl_in_process_no_memory();
}

/* ------------------------------------------------------------------------------------------ */

EXPORT const kdl_backend_table *kdl_backend_open(const kdl_backend_services *services) {
  static kdl_backend_table faulty;
  null_table = null_open(services);
  faulty = *null_table;
#define WRAP(name) faulty.name = faulty_##name
  WRAP(device_open), WRAP(image_load), WRAP(image_unload), WRAP(kernel_find), WRAP(global_find);
  WRAP(queue_create), WRAP(queue_adopt), WRAP(queue_destroy), WRAP(queue_sync);
  WRAP(queue_capturing), WRAP(queue_native), WRAP(device_native);
  WRAP(event_create), WRAP(event_destroy), WRAP(event_record), WRAP(event_sync);
  WRAP(event_query), WRAP(event_wait), WRAP(event_elapsed);
  WRAP(alloc), WRAP(free), WRAP(write), WRAP(read), WRAP(copy), WRAP(fill);
#undef WRAP
  if (getenv("FAULTY_NAME")) {
    faulty.name = getenv("FAULTY_NAME");
    faulty.devices = NULL;
  }
  if (getenv("FAULTY_LONE"))
    faulty.alloc_host = lone_alloc_host;
  return &faulty;
}
