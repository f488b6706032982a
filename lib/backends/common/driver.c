/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/backends/common/driver.h"

#include "lib/device/spec.h"
#include "support/base/array.h"
#include "support/base/trace_phase.h"
#include "support/system/loader.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* RTLD_NODELETE keeps the library if other code closes it; RTLD_LOCAL hides its symbols from the
 * program. */
static void *system_open(void *user, const char *library) {
  (void)user;
  return kdl_program_is_static() ? NULL
                                 : kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static const char *system_error(void *user) {
  (void)user;
  if (kdl_program_is_static())
    return KDL_STATIC_PROGRAM;
  const char *why = dlerror();
  return why ? why : "no reason given";
}

static void *system_symbol(void *user, void *library, const char *name) {
  (void)user;
  return dlsym(library, name);
}

static void *system_loaded(void *user, const char *library) {
  (void)user;
  return kdl_program_is_static()
             ? NULL
             : kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
}

static const kdl_driver_resolver system_resolver = {
    .open = system_open,
    .error = system_error,
    .symbol = system_symbol,
    .loaded = system_loaded,
};

const char *const kdl_driver_state_names[] = {
    [KDL_DRIVER_USABLE] = "usable", [KDL_DRIVER_MISSING] = "missing",
    [KDL_DRIVER_BROKEN] = "broken", [KDL_DRIVER_INCOMPLETE] = "incomplete",
    [KDL_DRIVER_FAILED] = "failed", [KDL_DRIVER_NO_DEVICE] = "no_device",
    [KDL_DRIVER_SILENT] = "silent",
};

void kdl_driver_report_set(kdl_driver_report *report, kdl_driver_state state, const char *format,
                           ...) {
  char words[sizeof report->words];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  report->state = state;
  kdl_spec_set_text(report->words, sizeof report->words, words, strlen(words));
}

/* Whether the library itself is not installed, in contrast to a damaged one or a missing
 * dependency: the loader's message then names this library. */
static bool is_missing(const char *library, const char *why) {
  size_t length = strlen(library);
  return strncmp(why, library, length) == 0 && why[length] == ':' &&
         strstr(why, "No such file or directory") != NULL;
}

static void report_missing(const char *const *libraries, kdl_driver_report *report) {
  char tried[192];
  kdl_out out = {tried, sizeof tried, 0};
  for (size_t i = 0; libraries[i]; ++i)
    kdl_out_format(&out, "%s%s", i ? ", " : "", libraries[i]);
  snprintf(report->library, sizeof report->library, "%s", libraries[0]);
  kdl_driver_report_set(report, KDL_DRIVER_MISSING, "found no %s", tried);
}

static void *find_loaded_library(const kdl_driver_resolver *resolver, const char *const *libraries,
                                 const char **out_name) {
  for (size_t i = 0; resolver->loaded && libraries[i]; ++i) {
    void *library = resolver->loaded(resolver->user, libraries[i]);
    *out_name = libraries[i];
    if (library)
      return library;
  }
  return NULL;
}

static void *open_first_library(const kdl_driver_resolver *resolver, const char *const *libraries,
                                const char **out_name, kdl_driver_report *report) {
  void *library = find_loaded_library(resolver, libraries, out_name);
  if (!library)
    report_missing(libraries, report);
  for (size_t i = 0; !library && libraries[i]; ++i) {
    *out_name = libraries[i];
    library = resolver->open(resolver->user, libraries[i]);
    const char *why = library ? "" : resolver->error(resolver->user);
    if (library || report->state == KDL_DRIVER_BROKEN || is_missing(libraries[i], why))
      continue;
    snprintf(report->library, sizeof report->library, "%s", libraries[i]);
    kdl_driver_report_set(report, KDL_DRIVER_BROKEN, "cannot be loaded: %s", why);
  }
  if (library)
    snprintf(report->library, sizeof report->library, "%s", *out_name);
  return library;
}

typedef enum { LAZY, LAUNCHING, LISTING } symbol_stage;

static symbol_stage stage_of(kdl_driver_need need) {
  return need == KDL_DRIVER_LAZY ? LAZY : need >= KDL_DRIVER_LIST_OPTIONAL ? LISTING : LAUNCHING;
}

static bool fill_table(kdl_driver *driver, void *library, symbol_stage wanted,
                       kdl_driver_report *report) {
  bool is_listing = wanted == LISTING;
  const kdl_driver_resolver *resolver = &driver->resolver;
  for (size_t i = 0; i < driver->symbol_count; ++i) {
    const kdl_driver_symbol *row = &driver->symbols[i];
    if (stage_of(row->need) != wanted)
      continue;
    void *symbol = is_listing || !driver->find
                       ? resolver->symbol(resolver->user, library, row->name)
                       : driver->find(driver, row);
    if (!symbol && (row->need == KDL_DRIVER_REQUIRED || row->need == KDL_DRIVER_LIST)) {
      kdl_driver_report_set(report, KDL_DRIVER_INCOMPLETE, "too old or damaged: it has no %s",
                            row->name);
      return false;
    }
    /* POSIX permits reading dlsym's object pointer as a function pointer; C has no conversion. */
    memcpy((char *)driver->table + row->offset, &symbol, sizeof symbol);
  }
  return true;
}

static void open_driver_library(kdl_driver *driver, const kdl_driver_resolver *resolver,
                                kdl_driver_report *report) {
  kdl_trace_phase_begin(KDL_TRACE_PHASE_DLOPEN);
  driver->resolver = *resolver;
  driver->is_complete = driver->is_ready = false;
  atomic_store(&driver->is_started, false);
  atomic_store(&driver->has_lazy_symbols, false);
  void *library = open_first_library(resolver, driver->libraries, &driver->library_name, report);
  driver->library = library && fill_table(driver, library, LISTING, report) ? library : NULL;
  kdl_trace_phase_end(KDL_TRACE_PHASE_DLOPEN, &(kdl_trace_phase_info){.driver = report->library,
                                                                      .failed = !driver->library});
}

bool kdl_driver_open(kdl_driver *driver, const kdl_driver_resolver *resolver,
                     kdl_driver_report *report) {
  kdl_work_take(&driver->opening);
  if (resolver || !driver->library)
    open_driver_library(driver, resolver ? resolver : &system_resolver, report);
  bool opened = driver->library;
  if (opened) {
    snprintf(report->library, sizeof report->library, "%s", driver->library_name);
    kdl_driver_report_set(report, KDL_DRIVER_USABLE, "%s", "");
  }
  kdl_work_end(&driver->opening);
  return opened;
}

/* Exit handlers run in reverse order and get no argument: each is for the driver that was watched
 * last among the remaining ones. */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_driver *watched_drivers;
static void (*on_driver_exit)(const kdl_driver *driver);

static void driver_has_exited(void) {
  kdl_lock(&watch_lock);
  kdl_driver *driver = watched_drivers;
  watched_drivers = driver->next_watched;
  atomic_store(&driver->has_ended, true);
  kdl_unlock(&watch_lock);
  on_driver_exit(driver);
}

void kdl_driver_watch_exit(kdl_driver *driver, void (*ended)(const kdl_driver *driver)) {
  kdl_lock(&watch_lock);
  if (!driver->is_watched && atexit(driver_has_exited) == 0) {
    driver->is_watched = true;
    driver->next_watched = watched_drivers;
    watched_drivers = driver;
    on_driver_exit = ended;
  }
  kdl_unlock(&watch_lock);
}

bool kdl_driver_complete(kdl_driver *driver, kdl_driver_report *report) {
  kdl_work_take(&driver->opening);
  if (!driver->is_complete) {
    kdl_trace_phase_begin(KDL_TRACE_PHASE_DLOPEN);
    driver->is_complete = fill_table(driver, driver->library, LAUNCHING, report);
    kdl_trace_phase_end(
        KDL_TRACE_PHASE_DLOPEN,
        &(kdl_trace_phase_info){.driver = driver->library_name, .failed = !driver->is_complete});
  }
  bool complete = driver->is_complete;
  kdl_work_end(&driver->opening);
  return complete;
}

void kdl_driver_load_lazy_symbols(kdl_driver *driver) {
  if (atomic_load(&driver->has_lazy_symbols))
    return;
  kdl_work_take(&driver->opening);
  if (!atomic_load(&driver->has_lazy_symbols)) {
    (void)fill_table(driver, driver->library, LAZY, NULL);
    atomic_store(&driver->has_lazy_symbols, true);
  }
  kdl_work_end(&driver->opening);
}

int kdl_driver_start(kdl_driver *driver, bool anew, const char **out_call) {
  int error = 0;
  if (!anew && atomic_load(&driver->is_started)) /* another thread may be restarting it */
    return 0;
  kdl_work_take(&driver->starting);
  if (anew || !atomic_load(&driver->is_started)) {
    kdl_trace_phase_begin(KDL_TRACE_PHASE_INIT);
    error = driver->start(out_call);
    kdl_trace_phase_end(
        KDL_TRACE_PHASE_INIT,
        &(kdl_trace_phase_info){.driver = driver->library_name, .failed = error != 0});
    if (!error)
      atomic_store(&driver->is_started, true);
  }
  kdl_work_end(&driver->starting);
  return error;
}

/* ------------------------------------------------------------------------------------------ */
/* Devices of a driver                                                                          */

kdl_device_spec *kdl_spec_list_add(kdl_spec_list *list) {
  kdl_device_spec *specs =
      kdl_array_grow(list->specs, list->count, &list->capacity, 8, sizeof *specs);
  if (!specs) {
    list->out_of_memory = true;
    return NULL;
  }
  list->specs = specs;
  kdl_device_spec *spec = &list->specs[list->count++];
  *spec = (kdl_device_spec){
      .backend = list->report.backend,
      .device_class = KDL_DEVICE_DISCRETE,
      .ordinal = {.known = true},
  };
  return spec;
}

/* Appends to the report's message. */
static void report_append(kdl_driver_report *report, const char *words) {
  kdl_out out = {report->words, sizeof report->words, strlen(report->words)};
  kdl_out_format(&out, "%s%s", out.used ? "; " : "", words);
}

void kdl_spec_list_drop_last(kdl_spec_list *list, const char *format, ...) {
  --list->count;
  char words[sizeof list->report.words];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  report_append(&list->report, words);
}

void kdl_spec_list_finish(kdl_spec_list *list) {
  kdl_driver_report *report = &list->report;
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    kdl_device_spec *spec = &list->specs[i];
    kdl_device_rule rule;
    if (kdl_device_spec_compile(spec, &rule) == KDL_OK) {
      if (kept++ != i)
        list->specs[kept - 1] = *spec;
      continue;
    }
    char words[256];
    snprintf(words, sizeof words, "device %u is not known here: %.200s", spec->ordinal.value,
             kdl_error_message());
    report_append(report, words);
  }
  list->count = kept;
  if (kept || report->state != KDL_DRIVER_USABLE)
    return;
  report->state = KDL_DRIVER_NO_DEVICE;
  if (!report->words[0])
    kdl_driver_report_set(report, KDL_DRIVER_NO_DEVICE, "it shows no device");
}

/* ------------------------------------------------------------------------------------------ */
/* Error messages                                                                               */

enum { call_size = 1024, words_size = 256 };

const char *kdl_driver_error_name_of(const kdl_driver_error_name *names, size_t count, int error) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i].error == error)
      return names[i].name;
  }
  return "unknown error";
}

bool kdl_driver_error_is_in(const int *list, int error) {
  while (list && *list && *list != error)
    ++list;
  return list && *list;
}

static kdl_status driver_error_status(const kdl_driver_errors *errors, int error) {
  if (kdl_driver_error_is_in(errors->no_memory, error))
    return KDL_NO_MEMORY;
  return kdl_driver_error_is_in(errors->no_match, error) ? KDL_NO_MATCH : KDL_DEVICE;
}

kdl_status kdl_driver_errors_fail_va(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                     const char *format, va_list args) {
  char call[call_size];
  char words[words_size];
  vsnprintf(call, sizeof call, format, args);
  errors->describe(error, words, sizeof words);
  return kdl_core_services.fail(driver_error_status(errors, error), error, "%s:%u: %s: %s",
                                errors->backend, ordinal, call, words);
}

kdl_status(kdl_driver_errors_fail)(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                   const char *format, ...) {
  va_list args;
  va_start(args, format);
  kdl_status status = kdl_driver_errors_fail_va(errors, ordinal, error, format, args);
  va_end(args);
  return status;
}

kdl_status(kdl_driver_errors_no_memory)(const kdl_driver_errors *errors, uint32_t ordinal) {
  return kdl_core_services.fail(KDL_NO_MEMORY, 0, "%s:%u: no memory", errors->backend, ordinal);
}

void kdl_driver_errors_log(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                           const char *call) {
  char words[words_size];
  if (!error)
    return;
  errors->describe(error, words, sizeof words);
  kdl_core_services.log("%s:%u: %s: %s", errors->backend, ordinal, call, words);
}

kdl_status kdl_driver_errors_fail_start(const kdl_driver_errors *errors, const char *library,
                                        const char *call, int error) {
  char words[words_size];
  errors->describe(error, words, sizeof words);
  return kdl_core_services.fail(KDL_DEVICE, error, "%s: %s: %s", library, call, words);
}

kdl_status kdl_driver_check_flags(const kdl_driver_errors *errors, uint32_t ordinal,
                                  uint32_t flags) {
  if (flags & ~(uint32_t)KDL_LAUNCH_COOPERATIVE)
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0,
        "%s:%u: found launch flags 0x%x, expected KDL_LAUNCH_COOPERATIVE or none", errors->backend,
        ordinal, flags);
  return KDL_OK;
}

kdl_status kdl_driver_check_shape(const kdl_driver_errors *errors, uint32_t ordinal,
                                  const kdl_launch_desc *desc) {
  KDL_TRY(kdl_driver_check_flags(errors, ordinal, desc->flags));
  if (desc->cluster[0])
    return kdl_core_services.fail(
        KDL_UNSUPPORTED, 0, "%s:%u: found a cluster of groups, expected none: the backend has none",
        errors->backend, ordinal);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Starting                                                                                     */

kdl_status kdl_backend_open_driver(kdl_driver *driver) {
  kdl_driver_report report = {0};
  if (kdl_driver_open(driver, NULL, &report) && kdl_driver_complete(driver, &report))
    return KDL_OK;
  return kdl_core_services.fail(KDL_DEVICE, 0, "%s: %s", report.library, report.words);
}

kdl_status kdl_backend_start_driver(kdl_driver *driver, const kdl_driver_errors *errors,
                                    void (*ready)(const char *library)) {
  KDL_TRY(kdl_backend_open_driver(driver));
  const char *call;
  int error = kdl_driver_start(driver, false, &call);
  if (error)
    return kdl_driver_errors_fail_start(errors, driver->library_name, call, error);
  kdl_work_take(&driver->opening);
  if (!driver->is_ready && ready)
    ready(driver->library_name);
  else if (!driver->is_ready)
    kdl_core_services.log("%s: opened", driver->library_name);
  driver->is_ready = true;
  kdl_work_end(&driver->opening);
  return KDL_OK;
}

void kdl_backend_report_error(const kdl_driver_errors *errors, kdl_driver_report *report,
                              const char *call, int error) {
  char words[256];
  bool is_none = kdl_driver_error_is_in(errors->no_device, error);
  errors->describe(error, words, sizeof words);
  kdl_driver_report_set(report, is_none ? KDL_DRIVER_NO_DEVICE : KDL_DRIVER_FAILED, "%s: %s", call,
                        words);
}
