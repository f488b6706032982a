/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Vendors' drivers: shared libraries that are opened when first needed, never linked, and never
 * closed, since they leave threads and exit handlers behind.
 *
 * A driver's entry points are rows of an X-macro table, NAME_symbols.def:
 *
 *     KDL_DRIVER_SYMBOL(REQUIRED, total_memory, cuDeviceTotalMem_v2, int, (size_t *, int))
 *
 * from which its struct of function pointers and its list of names are made. Names carry the
 * version of the interface they were declared for: dlsym of a bare name finds the oldest one.
 */
#ifndef KDL_DEVICE_DRIVER_H
#define KDL_DEVICE_DRIVER_H

#include "device/spec.h"

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

extern const kdl_driver_resolver kdl_driver_system;

typedef enum kdl_driver_state {
  KDL_DRIVER_USABLE,
  KDL_DRIVER_MISSING,    /* not installed                                  */
  KDL_DRIVER_BROKEN,     /* there, but the system cannot load it           */
  KDL_DRIVER_INCOMPLETE, /* loaded, but too old: it lacks an entry point   */
  KDL_DRIVER_FAILED,     /* it did not initialise                          */
  KDL_DRIVER_NO_DEVICE,  /* it works and sees no device                    */
  KDL_DRIVER_SILENT,     /* it did not answer in time                      */
} kdl_driver_state;

/* "usable", "missing", "broken", "incomplete", "failed", "no_device", "silent" */
const char *kdl_driver_state_name(kdl_driver_state state);

/* What became of one driver. */
typedef struct kdl_driver_report {
  kdl_backend backend;
  kdl_driver_state state;
  char library[64]; /* the one that was opened, or the first that was tried; "" for the host */
  char words[320];  /* why it is not usable, or what is to be known of it; may be "" */
  char limits[160]; /* the vendor's variables in force, as "CUDA_VISIBLE_DEVICES=0" */
  size_t device_count;
} kdl_driver_report;

/* Sets the state and the words behind it. */
void kdl_driver_say(kdl_driver_report *report, kdl_driver_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct kdl_driver_symbol {
  const char *name;
  size_t offset; /* of the function pointer in the table */
  bool required;
} kdl_driver_symbol;

enum { KDL_DRIVER_OPTIONAL = false, KDL_DRIVER_REQUIRED = true };

/* Opens the first of `libraries` (NULL behind the last) that is there and fills the table; optional
 * entry points that are absent stay NULL. One that the process uses already goes before all others:
 * what a framework made with its own copy of a driver is nothing to another copy. False where the
 * driver cannot be used, which the report then says. */
bool kdl_driver_load(const kdl_driver_resolver *resolver, const char *const *libraries,
                     const kdl_driver_symbol *symbols, size_t symbol_count, void *table,
                     kdl_driver_report *report);

#endif
