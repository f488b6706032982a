/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/registry/backend.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* The registry                                                                                 */

const kdl_built_in *const kdl_built_ins[KDL_BACKEND_COUNT] = {
#define KDL_BACKEND_ROW(id, name, ...) &kdl_built_in_##name,
#include "lib/device/backends.def"
#undef KDL_BACKEND_ROW
};

enum { limit_backends = 32 };

static pthread_once_t backend_tables_once = PTHREAD_ONCE_INIT;
static kdl_backend_table backend_tables[limit_backends];
static size_t table_count;
static size_t plugin_count;    /* how many of the tables are plug-ins: they are first */
static char plugin_error[512]; /* what was wrong with KDL_BACKEND_PATH */

/* Offsets of the functions that every table must have. */
static const struct {
  size_t offset;
  const char *name;
} required[] = {
#define REQUIRED(member) {offsetof(kdl_backend_table, member), #member}
    REQUIRED(device_open),   REQUIRED(image_load),    REQUIRED(image_unload),
    REQUIRED(kernel_find),   REQUIRED(global_find),   REQUIRED(queue_create),
    REQUIRED(queue_adopt),   REQUIRED(queue_destroy), REQUIRED(queue_sync),
    REQUIRED(event_create),  REQUIRED(event_destroy), REQUIRED(event_record),
    REQUIRED(event_sync),    REQUIRED(event_wait),    REQUIRED(event_elapsed),
    REQUIRED(alloc),         REQUIRED(free),          REQUIRED(write),
    REQUIRED(read),          REQUIRED(copy),          REQUIRED(fill),
    REQUIRED(device_native), REQUIRED(queue_native),  REQUIRED(event_native),
    REQUIRED(kernel_native),
#undef REQUIRED
};

/* NULL where the table can be used. */
static const char *missing_function(const kdl_backend_table *table) {
  for (size_t i = 0; i < sizeof required / sizeof *required; ++i) {
    void *function;
    memcpy(&function, (const char *)table + required[i].offset, sizeof function);
    if (!function)
      return required[i].name;
  }
  return NULL;
}

/* The table is copied, so that an older and shorter one ends in zeros. */
static kdl_status add_backend_table(const kdl_backend_table *table) {
  kdl_backend known;
  if (table->abi != KDL_BACKEND_ABI)
    return kdl_fail(KDL_UNSUPPORTED, "its table has ABI %u, expected %u", (unsigned)table->abi,
                    (unsigned)KDL_BACKEND_ABI);
  if (table_count == limit_backends)
    return kdl_fail(KDL_NO_MEMORY, "found more than %d backends", limit_backends);
  kdl_backend_table *slot = &backend_tables[table_count];
  *slot = (kdl_backend_table){0};
  memcpy(slot, table, table->size < sizeof *slot ? table->size : sizeof *slot);
  if (!slot->name || !kdl_backend_parse(kdl_text_of(slot->name), &known))
    return kdl_fail(KDL_BAD_CALL, "its table has the name \"%s\", expected that of a backend",
                    slot->name ? slot->name : "");
  const char *missing = missing_function(slot);
  if (!missing && !slot->alloc_host != !slot->free_host)
    missing = slot->alloc_host ? "free_host" : "alloc_host";
  if (missing)
    return kdl_fail(KDL_BAD_CALL, "its table has no %s", missing);
  ++table_count;
  return KDL_OK;
}

static kdl_status load_plugin(const char *path) {
  if (kdl_program_is_static())
    return kdl_fail(KDL_UNSUPPORTED, "%s: " KDL_STATIC_PROGRAM, path);
  void *library = kdl_dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return kdl_fail(KDL_IO, "%s", dlerror());
  kdl_backend_open_function *open_backend;
  void *symbol = dlsym(library, KDL_BACKEND_SYMBOL);
  memcpy(&open_backend, &symbol, sizeof open_backend);
  if (!open_backend)
    return kdl_fail(KDL_BAD_FILE, "%s: found no %s", path, KDL_BACKEND_SYMBOL);
  const kdl_backend_table *table = open_backend(&kdl_core_services);
  kdl_status status = table ? add_backend_table(table) : kdl_error_status();
  if (status != KDL_OK)
    kdl_error_prefix("%s", path);
  else
    kdl_debug(KDL_DEBUG_LOAD, "backend %s from %s", table->name, path);
  return status;
}

static void load_plugins(const char *list) {
  char path[PATH_MAX];
  for (kdl_string rest = kdl_text_of(list); rest.length;) {
    kdl_status status = kdl_path_next(&rest, path);
    if (status == KDL_OK && *path)
      status = load_plugin(path);
    if (status != KDL_OK) {
      kdl_debug(KDL_DEBUG_LOAD, "KDL_BACKEND_PATH: %s", kdl_error_message());
      if (!plugin_error[0])
        snprintf(plugin_error, sizeof plugin_error, "KDL_BACKEND_PATH: %s", kdl_error_message());
    }
  }
}

/* After a fork in between, the child starts again. */
static void load_backend_tables(void) {
  table_count = 0;
  const char *list = kdl_environment(KDL_VARIABLE_BACKEND_PATH);
  if (list)
    load_plugins(list);
  plugin_count = table_count;
  for (size_t i = 0; i < KDL_BACKEND_COUNT; ++i) {
    const kdl_backend_table *table = kdl_built_ins[i]->table;
    if (table && add_backend_table(table) != KDL_OK)
      kdl_debug(KDL_DEBUG_LOAD, "built-in backend: %s", kdl_error_message());
  }
}

const kdl_backend_table *kdl_backend_table_for(kdl_backend backend) {
  pthread_once(&backend_tables_once, load_backend_tables);
  for (size_t i = 0; i < table_count; ++i) {
    if (strcmp(backend_tables[i].name, kdl_backend_name(backend)) == 0)
      return &backend_tables[i];
  }
  (void)kdl_fail(KDL_UNSUPPORTED, "this build of libkdl cannot launch on %s devices%s%s",
                 kdl_backend_name(backend), plugin_error[0] ? "; " : "", plugin_error);
  return NULL;
}

/* Compares names, because tables are copies. */
const kdl_driver *kdl_backend_driver(const kdl_backend_table *table) {
  for (size_t i = 0; i < KDL_BACKEND_COUNT; ++i) {
    if (kdl_built_ins[i]->table->device_open == table->device_open)
      return kdl_built_ins[i]->driver;
  }
  return NULL;
}

bool kdl_backend_list_devices(void (*visit)(void *user, const char *spec), void *user) {
  bool all = true;
  pthread_once(&backend_tables_once, load_backend_tables);
  for (size_t i = 0; i < plugin_count; ++i) {
    if (backend_tables[i].devices && backend_tables[i].devices(visit, user) != KDL_OK) {
      kdl_debug(KDL_DEBUG_DEVICES, "backend %s: %s", backend_tables[i].name, kdl_error_message());
      all = false;
    }
  }
  return all;
}

void kdl_backend_after_fork(void) {
  for (size_t i = 0; i < table_count; ++i) {
    if (backend_tables[i].after_fork)
      backend_tables[i].after_fork();
  }
}
