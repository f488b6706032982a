/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fake.h"

#include <kdl/kdl.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The value of a variable, or of the file that "@FILE" names: a file can change while other threads
 * read the environment. Read into `text`; too long is a mistake in a test. */
static void read_variable(const char *name, char *text, size_t room) {
  const char *value = getenv(name);
  size_t length = value ? strlen(value) : 0;
  text[0] = '\0';
  if (value && value[0] == '@') {
    FILE *file = fopen(value + 1, "r");
    length = file ? fread(text, 1, room - 1, file) : 0;
    if (file)
      fclose(file);
  } else if (length < room) {
    memcpy(text, value ? value : "", length);
  }
  if (length >= room - 1) {
    fprintf(stderr, "%s: found more than %zu bytes\n", name, room);
    abort();
  }
  text[length] = '\0';
}

/* A driver in C++ has objects for each thread, which are destroyed when the thread ends, and on the
 * thread that ends the process before any handler of exit runs: calls on it then are noted. */
/* NOLINTBEGIN(bugprone-reserved-identifier): the C++ runtime's names */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *library);
extern void *__dso_handle;
/* NOLINTEND(bugprone-reserved-identifier) */
static _Thread_local enum { NOT_MADE, ALIVE, DESTROYED } thread_objects;

static void destroy_thread_objects(void *unused) {
  (void)unused;
  thread_objects = DESTROYED;
}

void fake_call(const char *function) {
  const char *path = getenv("KDL_FAKE_LOG");
  FILE *log = path ? fopen(path, "a") : NULL;
  if (thread_objects == NOT_MADE) {
    thread_objects = ALIVE;
    __cxa_thread_atexit_impl(destroy_thread_objects, NULL, &__dso_handle);
  }
  if (!log)
    return;
  fprintf(log, "%s\n", function);
  if (thread_objects == DESTROYED)
    fprintf(log, "without its thread's objects: %s\n", function);
  fclose(log);
}

int fake_loaded_by, fake_started_by;

/* As drivers in C++ end, by what they registered while they were loaded. */
static atomic_bool has_ended;

static void end(void) {
  has_ended = true;
}

__attribute__((constructor)) static void open_slowly(void) {
  fake_loaded_by = gettid();
  atexit(end);
  const char *text = getenv("KDL_FAKE_OPEN_MS");
  int delay = text ? (int)strtol(text, NULL, 10) : 0;
  if (delay)
    nanosleep(&(struct timespec){delay / 1000, (long)(delay % 1000) * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------ */
/* Faults on request                                                                            */

enum { most_rules = 8 };

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;
static char fault_text[512];             /* KDL_FAKE_FAIL as it was when the counts began */
static unsigned fault_calls[most_rules]; /* that each rule has seen */
static unsigned fault_count;

/* Counts the call for one rule, "NAME:COUNT:CODE" or "NAME:COUNT+:CODE"; "sleep=MS" as the code
 * makes the call slow instead. A mistake in a test must not look like a driver without faults. */
static int apply_rule(const char *rule, size_t index, const char *function, int *out_sleep) {
  char name[64], more[2], code[32];
  unsigned count;
  if (sscanf(rule, "%63[^:]:%u%1[+]:%31[^;]", name, &count, more, code) != 4) {
    more[0] = '\0';
    if (sscanf(rule, "%63[^:]:%u:%31[^;]", name, &count, code) != 3) {
      fprintf(stderr, "KDL_FAKE_FAIL: found \"%s\", expected NAME:COUNT:CODE\n", rule);
      abort();
    }
  }
  if (strcmp(name, "*") != 0 && strcmp(name, function) != 0)
    return 0;
  unsigned call = ++fault_calls[index];
  if (call != count && !(more[0] && call > count))
    return 0;
  ++fault_count;
  if (sscanf(code, "sleep=%d", out_sleep) == 1)
    return 0;
  return (int)strtol(code, NULL, 0);
}

static int apply_rules(const char *text, const char *function, int *out_sleep) {
  int error = 0;
  if (strcmp(text, fault_text) != 0) {
    snprintf(fault_text, sizeof fault_text, "%s", text);
    memset(fault_calls, 0, sizeof fault_calls);
    fault_count = 0;
  }
  const char *rule = text;
  for (size_t i = 0; i < most_rules && *rule; ++i) {
    int wanted = apply_rule(rule, i, function, out_sleep);
    error = error ? error : wanted;
    rule += strcspn(rule, ";");
    rule += *rule == ';';
  }
  return error;
}

int fake_fault(const char *function) {
  char text[sizeof fault_text];
  int delay = 0;
  read_variable("KDL_FAKE_FAIL", text, sizeof text);
  pthread_mutex_lock(&fault_lock);
  int error = apply_rules(text, function, &delay);
  pthread_mutex_unlock(&fault_lock);
  if (delay)
    nanosleep(&(struct timespec){delay / 1000, (long)(delay % 1000) * 1000000}, NULL);
  return error;
}

int fake_enter(const char *function) {
  fake_call(function);
  if (has_ended) { /* where ROCm's dies of SIGSEGV */
    fprintf(stderr, "%s: called when the driver had ended\n", function);
    abort();
  }
  return fake_fault(function);
}

unsigned fake_faults(void) {
  pthread_mutex_lock(&fault_lock);
  unsigned count = fault_count;
  pthread_mutex_unlock(&fault_lock);
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

enum { most_devices = 64, most_text = 8192 };

/* What a driver shows, which stays as it is once it is shown: threads may be looking at it. */
typedef struct machine machine;
struct machine {
  machine *previous;
  char *text; /* KDL_FAKE_DEVICES */
  size_t device_count;
  kdl_device_spec devices[most_devices];
};

static _Atomic(kdl_backend) shown;
static _Atomic(machine *) present;

/* The end of a spec: a ';' outside quotes, or the end of the text. */
static size_t spec_length(const char *text) {
  bool quoted = false;
  size_t at = 0;
  for (; text[at] && (quoted || text[at] != ';'); ++at) {
    if (quoted && text[at] == '\\' && text[at + 1])
      ++at;
    else if (text[at] == '"')
      quoted = !quoted;
  }
  return at;
}

/* A mistake in a test must not look like a machine without devices. */
static void add_device(machine *made, const char *text, size_t length) {
  char line[KDL_SPEC_LINE];
  snprintf(line, sizeof line, "%.*s", (int)length, text);
  kdl_device_spec spec;
  if (line[strspn(line, " \t\n")] == '\0')
    return;
  if (kdl_device_spec_parse(line, &spec) != KDL_OK || made->device_count == most_devices) {
    fprintf(stderr, "KDL_FAKE_DEVICES: %s\n", kdl_error_message());
    abort();
  }
  if (spec.backend == shown)
    made->devices[made->device_count++] = spec;
}

/* CUDA and HIP show those that a variable lists, in that order, up to the first that is none. */
static void keep_visible(machine *made) {
  const char *list = shown == KDL_BACKEND_HIP    ? getenv("HIP_VISIBLE_DEVICES")
                     : shown == KDL_BACKEND_CUDA ? getenv("CUDA_VISIBLE_DEVICES")
                                                 : NULL;
  if (!list || !*list)
    return;
  kdl_device_spec kept[most_devices];
  size_t count = 0;
  while (count < made->device_count) {
    char *end;
    unsigned long index = strtoul(list, &end, 10);
    if (end == list || index >= made->device_count)
      break;
    kept[count++] = made->devices[index];
    list = end + (*end == ',');
  }
  memcpy(made->devices, kept, count * sizeof *kept);
  made->device_count = count;
}

static void show(const char *text) {
  machine *made = calloc(1, sizeof *made);
  if (!made || !(made->text = strdup(text)))
    abort();
  while (*text) {
    size_t length = spec_length(text);
    add_device(made, text, length);
    text += length + (text[length] == ';');
  }
  keep_visible(made);
  made->previous = present;
  present = made;
}

__attribute__((destructor)) static void forget_machines(void) {
  for (machine *next; present; present = next) {
    next = ((machine *)present)->previous;
    free(((machine *)present)->text);
    free(present);
  }
}

const char *fake_setting(const char *name) {
  static _Thread_local char value[64];
  char prefix[64];
  int length = snprintf(prefix, sizeof prefix, "%s.%s=", kdl_backend_name(shown), name);
  const char *at = getenv("KDL_FAKE_SETTINGS");
  while (at && strncmp(at, prefix, (size_t)length) != 0) {
    at = strchr(at, ';');
    at = at ? at + 1 : NULL;
  }
  if (!at)
    return NULL;
  at += length;
  snprintf(value, sizeof value, "%.*s", (int)strcspn(at, ";"), at);
  return value;
}

int fake_setting_number(const char *name) {
  const char *value = fake_setting(name);
  return value ? (int)strtol(value, NULL, 0) : 0;
}

int fake_init(kdl_backend backend, const char *function) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  char text[most_text];
  fake_call(function);
  read_variable("KDL_FAKE_DEVICES", text, sizeof text);
  pthread_mutex_lock(&lock);
  if (!fake_started_by)
    fake_started_by = gettid();
  shown = backend;
  const machine *now = present;
  if (!now || strcmp(now->text, text) != 0)
    show(text);
  pthread_mutex_unlock(&lock);
  int delay = fake_setting_number("delay");
  nanosleep(&(struct timespec){delay / 1000, (long)(delay % 1000) * 1000000}, NULL);
  return fake_setting_number("init");
}

size_t fake_device_count(void) {
  const machine *now = present;
  return now ? now->device_count : 0;
}

const kdl_device_spec *fake_device(size_t index) {
  const machine *now = present;
  const char *mute = fake_setting("mute");
  bool is_mute = mute && strtoul(mute, NULL, 10) == index;
  return now && index < now->device_count && !is_mute ? &now->devices[index] : NULL;
}

double fake_event_time(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static double counted = 1, first;
  const char *clock = fake_setting("clock");
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double host = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  pthread_mutex_lock(&lock);
  first = first > 0 ? first : host;
  double time = clock && strcmp(clock, "host") == 0 ? 1 + host - first : counted;
  counted += 0.25;
  pthread_mutex_unlock(&lock);
  return time;
}
