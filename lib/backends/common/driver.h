/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Vendors' drivers: shared libraries that are opened when first needed, never linked, and never
 * closed, since they leave threads and exit handlers behind.
 *
 * A driver's entry points are rows of an X-macro table, symbols.def in the folder of its backend:
 *
 *     KDL_DRIVER_SYMBOL(LIST, total_memory, hipDeviceTotalMem, int, (size_t *, int))
 *
 * from which its struct of function pointers and its list of names are made. Names carry the
 * version of the interface they were declared for: dlsym of a bare name finds the oldest one.
 *
 * A driver is opened once, with the entry points that listing its devices takes; those of launching
 * are looked up when a device is first used, so that a driver which is too old to launch still says
 * what is there.
 */
#ifndef KDL_BACKENDS_COMMON_DRIVER_H
#define KDL_BACKENDS_COMMON_DRIVER_H

#include "lib/device/spec.h"
#include "support/system/lock.h"

/* How libraries are found: dlopen and dlsym, or a test's own way. All may be called from several
 * threads at once. */
typedef struct kdl_driver_resolver {
  void *(*open)(void *user, const char *library); /* NULL where it cannot be opened */
  const char *(*error)(void *user);               /* why the last `open` of this thread failed */
  void *(*symbol)(void *user, void *library, const char *name); /* NULL where it is not there */
  void *user;
  /* One that the process has loaded already, or NULL; may itself be NULL. */
  void *(*loaded)(void *user, const char *library);
} kdl_driver_resolver;

/* Sets the state and the words behind it. */
void kdl_driver_report_set(kdl_driver_report *report, kdl_driver_state state, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* What needs an entry point. */
typedef enum kdl_driver_need {
  KDL_DRIVER_LAZY, /* what few programs do, which is done without; see kdl_driver_load_lazy_symbols
                    */
  KDL_DRIVER_OPTIONAL,      /* launching, which also does without */
  KDL_DRIVER_REQUIRED,      /* launching                          */
  KDL_DRIVER_LIST_OPTIONAL, /* both, which also do without        */
  KDL_DRIVER_LIST,          /* listing devices, and launching     */
} kdl_driver_need;

typedef struct kdl_driver_symbol {
  const char *name;
  size_t offset; /* of the function pointer in the table */
  kdl_driver_need need;
} kdl_driver_symbol;

typedef struct kdl_driver {
  const char *const *libraries; /* the names that it has, the best first; NULL behind the last */
  const kdl_driver_symbol *symbols;
  size_t symbol_count;
  void *table; /* entry points that are absent stay NULL */
  /* Initialises the driver. Returns its error, 0 for none, and sets the name of the call. */
  int (*start)(const char **out_call);
  /* Looks up an entry point of launching; NULL: its name is looked up. */
  void *(*find)(const struct kdl_driver *driver, const kdl_driver_symbol *symbol);

  /* What follows is changed by the functions below alone. */
  kdl_work opening;
  kdl_work starting;
  kdl_driver_resolver resolver;
  void *library;                /* NULL until it is open */
  const char *library_name;     /* its name */
  bool is_complete;             /* with the entry points of launching */
  bool is_ready;                /* for launching */
  atomic_bool has_lazy_symbols; /* with the entry points that are looked up later */
  atomic_bool is_started;
  struct kdl_driver *next_watched; /* see kdl_driver_watch_exit */
  bool is_watched;
  atomic_bool has_ended;
} kdl_driver;

/* Opens the first of the libraries that is there and looks up what listing devices takes, unless
 * that is done. One that the process uses already goes before all others: what a framework made
 * with its own copy of a driver is nothing to another copy. False where the driver cannot be used,
 * which the report then says, and which is not remembered.
 *
 * To be called by a thread that stays: ROCm's HIP runtime keeps things of the thread that loads it,
 * and crashes at exit where that thread has ended. `resolver` is NULL, or a test's: then the driver
 * is opened anew. */
bool kdl_driver_open(kdl_driver *driver, const kdl_driver_resolver *resolver,
                     kdl_driver_report *report);

/* To be called before a driver is opened: `has_ended` becomes true, and `ended` is called, when
 * what the driver registers (atexit) while it is loaded and used has run at the end of the process.
 * From then on it must not be called: ROCm's HIP runtime crashes. The first call counts. */
void kdl_driver_watch_exit(kdl_driver *driver, void (*ended)(const kdl_driver *driver));

/* Looks up what few programs need, of a driver that is complete, once. */
void kdl_driver_load_lazy_symbols(kdl_driver *driver);

/* Looks up what launching takes, of a driver that is open, unless that is done. */
bool kdl_driver_complete(kdl_driver *driver, kdl_driver_report *report);

/* Initialises a driver that is open, unless it is; `anew` also where it is, since a driver may then
 * show other devices. Returns its error, and with it the call that failed. */
int kdl_driver_start(kdl_driver *driver, bool anew, const char **out_call);

/* ------------------------------------------------------------------------------------------ */
/* What a driver shows                                                                          */

/* The list that its backend fills. */
typedef struct kdl_spec_list {
  kdl_device_spec *specs;
  size_t count;
  size_t capacity;
  kdl_driver_report report;
  bool out_of_memory; /* of memory: there may be more devices */
} kdl_spec_list;

/* A new spec of the list's backend at the end of the list, ordinal and discrete class filled in;
 * NULL when out of memory, which the list then knows. Valid until the next one is added. */
kdl_device_spec *kdl_spec_list_add(kdl_spec_list *list);

/* Takes back the last spec, with a word of why. */
void kdl_spec_list_drop_last(kdl_spec_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes out devices that the rules do not know, and sets the state to "no device" where a driver
 * that works has shown none. */
void kdl_spec_list_finish(kdl_spec_list *list);

#endif
