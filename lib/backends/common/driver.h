/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Vendors' drivers: shared libraries that are opened when first needed, never linked, and never
 * closed, because they have threads and exit handlers.
 *
 * A driver's entry points are rows of an X-macro table, symbols.def in the folder of its backend:
 *
 *     KDL_DRIVER_SYMBOL(LIST, total_memory, hipDeviceTotalMem, int, (size_t *, int))
 *
 * The rows define its struct of function pointers and its list of names. Names have the version of
 * the interface they were declared for: dlsym of a bare name finds the oldest one.
 *
 * A driver is opened once, with the entry points for listing its devices. Those for launching are
 * looked up when a device is first used, so that a driver that is too old to launch still lists its
 * devices.
 */
#ifndef KDL_LIB_BACKENDS_COMMON_DRIVER_H
#define KDL_LIB_BACKENDS_COMMON_DRIVER_H

#include "lib/backends/common/services.h"
#include "lib/device/spec.h"
#include "support/base/error.h"
#include "support/system/lock.h"

#include <stdarg.h>
#include <stdbool.h>

/* How libraries are opened: dlopen and dlsym, or functions of a test. Called from several threads
 * at once. */
typedef struct kdl_driver_resolver {
  void *(*open)(void *user, const char *library); /* NULL where it cannot be opened */
  const char *(*error)(void *user);               /* why the last `open` of this thread failed */
  void *(*symbol)(void *user, void *library, const char *name); /* NULL where it does not exist */
  void *user;
  /* Returns the library if the process has already loaded it, or NULL; may be NULL. */
  void *(*loaded)(void *user, const char *library);
} kdl_driver_resolver;

/* Sets the state and its message. */
void kdl_driver_report_set(kdl_driver_report *report, kdl_driver_state state, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* When an entry point is needed. */
typedef enum kdl_driver_need {
  KDL_DRIVER_LAZY,          /* few programs need it; see kdl_driver_load_lazy_symbols */
  KDL_DRIVER_OPTIONAL,      /* used by launching, if present */
  KDL_DRIVER_REQUIRED,      /* launching                          */
  KDL_DRIVER_LIST_OPTIONAL, /* used by both, if present */
  KDL_DRIVER_LIST,          /* listing devices, and launching     */
} kdl_driver_need;

typedef struct kdl_driver_symbol {
  const char *name;
  size_t offset; /* of the function pointer in the table */
  kdl_driver_need need;
} kdl_driver_symbol;

typedef struct kdl_driver {
  const char *const *libraries; /* its file names, best first; ends with NULL */
  const kdl_driver_symbol *symbols;
  size_t symbol_count;
  void *table; /* absent entry points stay NULL */
  /* Initialises the driver. Returns its error, 0 for none, and sets the name of the call. */
  int (*start)(const char **out_call);
  /* Looks up an entry point for launching; NULL: by its name. */
  void *(*find)(const struct kdl_driver *driver, const kdl_driver_symbol *symbol);

  /* Only the functions below change the members that follow. */
  kdl_work opening;
  kdl_work starting;
  kdl_driver_resolver resolver;
  void *library;                /* NULL until it is open */
  const char *library_name;     /* its name */
  bool is_complete;             /* has the entry points for launching */
  bool is_ready;                /* for launching */
  atomic_bool has_lazy_symbols; /* has the lazy entry points */
  atomic_bool is_started;
  struct kdl_driver *next_watched; /* see kdl_driver_watch_exit */
  bool is_watched;
  atomic_bool has_ended;
} kdl_driver;

/* Opens the first library that exists and looks up the entry points for listing devices, unless
 * that is done. Prefers a library that the process has already loaded: objects that a framework
 * made with its copy of a driver are invalid in another copy. False where the driver cannot be
 * used; the report has the reason, and the failure is not cached.
 *
 * Call it on a thread that lives as long as the process: ROCm's HIP runtime keeps state of the
 * thread that loads it, and crashes at exit if that thread has ended. `resolver` is NULL, or a
 * test's: then the driver is opened again. */
bool kdl_driver_open(kdl_driver *driver, const kdl_driver_resolver *resolver,
                     kdl_driver_report *report);

/* Call it before a driver is opened. When the exit handlers that the driver registers have run,
 * `has_ended` becomes true and `ended` is called. The driver must not be called afterwards: ROCm's
 * HIP runtime crashes. Only the first call counts. */
void kdl_driver_watch_exit(kdl_driver *driver, void (*ended)(const kdl_driver *driver));

/* Looks up the lazy entry points of a complete driver, once. */
void kdl_driver_load_lazy_symbols(kdl_driver *driver);

/* Looks up the entry points for launching of an open driver, unless that is done. */
bool kdl_driver_complete(kdl_driver *driver, kdl_driver_report *report);

/* Initialises an open driver, unless it is; with `anew` again, because a driver may then list other
 * devices. Returns its error, and the call that failed. */
int kdl_driver_start(kdl_driver *driver, bool anew, const char **out_call);

/* ------------------------------------------------------------------------------------------ */
/* Devices of a driver                                                                          */

/* The list of devices that a backend fills. */
typedef struct kdl_spec_list {
  kdl_device_spec *specs;
  size_t count;
  size_t capacity;
  kdl_driver_report report;
  bool out_of_memory; /* there may be more devices */
} kdl_spec_list;

/* Appends a spec of the list's backend, with ordinal and discrete class set; NULL when out of
 * memory, which the list records. Valid until the next call. */
kdl_device_spec *kdl_spec_list_add(kdl_spec_list *list);

/* Removes the last spec, with the reason. */
void kdl_spec_list_drop_last(kdl_spec_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes devices that the rules do not know, and sets the state to "no device" if a working driver
 * has none. */
void kdl_spec_list_finish(kdl_spec_list *list);

/* ------------------------------------------------------------------------------------------ */
/* Error messages                                                                               */

/* In one form for all drivers:
 *
 *     cuda:0: cuMemAlloc_v2 of 64 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory */

typedef struct kdl_driver_errors {
  const char *backend;
  /* "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" */
  void (*describe)(int error, char *text, size_t size);
  /* Errors that mean KDL_NO_MEMORY and KDL_NO_MATCH, 0 after the last; others mean KDL_DEVICE. */
  const int *no_memory;
  const int *no_match;
  const int *no_device; /* the driver works and has no device; may be NULL */
} kdl_driver_errors;

/* Whether the error is in the list, which ends with 0. */
bool kdl_driver_error_is_in(const int *list, int error);

/* For a driver without error messages: the names from its header. */
typedef struct kdl_driver_error_name {
  int error;
  const char *name;
} kdl_driver_error_name;

/* "unknown error" for an unknown one. */
const char *kdl_driver_error_name_of(const kdl_driver_error_name *names, size_t count, int error);

/* Records the failure of a call and returns its status. */
kdl_status kdl_driver_errors_fail(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));
kdl_status kdl_driver_errors_fail_va(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                                     const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

/* The same for host memory: "cuda:0: no memory". */
kdl_status kdl_driver_errors_no_memory(const kdl_driver_errors *errors, uint32_t ordinal);

/* The same for calls whose failure cannot be returned: logs to KDL_DEBUG=load, unless `error` is
 * 0. */
void kdl_driver_errors_log(const kdl_driver_errors *errors, uint32_t ordinal, int error,
                           const char *call);

/* For a driver that does not start: "libcuda.so.1: cuInit: CUDA_ERROR_UNKNOWN (999)". */
kdl_status kdl_driver_errors_fail_start(const kdl_driver_errors *errors, const char *library,
                                        const char *call, int error);

/* Refuses launch flags that no driver supports; the second also clusters, which its callers do not
 * support. */
kdl_status kdl_driver_check_flags(const kdl_driver_errors *errors, uint32_t ordinal,
                                  uint32_t flags);
kdl_status kdl_driver_check_shape(const kdl_driver_errors *errors, uint32_t ordinal,
                                  const kdl_launch_desc *desc);

/* Macros, so that static analysers see in each file that the status is not KDL_OK. */
#define kdl_driver_errors_fail(...) kdl_not_ok(kdl_driver_errors_fail(__VA_ARGS__))
#define kdl_driver_errors_no_memory(...) kdl_not_ok(kdl_driver_errors_no_memory(__VA_ARGS__))

/* ------------------------------------------------------------------------------------------ */
/* Starting a driver                                                                            */

/* Prepares a driver for launching. */

/* Opens the driver and looks up every entry point, unless that is done. A failure is not cached. */
kdl_status kdl_backend_open_driver(kdl_driver *driver);

/* The same, then initialises it. Calls `ready` once after success; NULL: logs to KDL_DEBUG=load. */
kdl_status kdl_backend_start_driver(kdl_driver *driver, const kdl_driver_errors *errors,
                                    void (*ready)(const char *library));

/* Puts the error of a driver that does not start into the report: "cuInit: CUDA_ERROR_UNKNOWN
 * (999)". */
void kdl_backend_report_error(const kdl_driver_errors *errors, kdl_driver_report *report,
                              const char *call, int error);

#endif
