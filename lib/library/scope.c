/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/library/library.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/lock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* KDL_PRELOAD                                                                                  */

enum { limit_preloads = 64 };

static pthread_once_t preload_once = PTHREAD_ONCE_INIT;
static kdl_library *preloads[limit_preloads];
static size_t preload_count;
static kdl_status preload_status;
static char preload_message[1024];

static kdl_status preload(const char *path) {
  if (preload_count == limit_preloads)
    return kdl_fail(KDL_NO_MEMORY, "found more than %d libraries", limit_preloads);
  KDL_TRY(kdl_open(path, NULL, &preloads[preload_count]));
  kdl_debug(KDL_DEBUG_FILES, "preloaded %s", preloads[preload_count++]->container->name);
  return KDL_OK;
}

/* After a fork in between, the child starts again. */
static void preload_all(void) {
  preload_count = 0;
  char path[PATH_MAX];
  const char *list = kdl_environment(KDL_VARIABLE_PRELOAD);
  kdl_string rest = kdl_text_of(list ? list : "");
  while (preload_status == KDL_OK && rest.length) {
    preload_status = kdl_path_next(&rest, path);
    if (preload_status == KDL_OK && *path)
      preload_status = preload(path);
  }
  if (preload_status != KDL_OK)
    snprintf(preload_message, sizeof preload_message, "KDL_PRELOAD: %s", kdl_error_message());
}

/* ------------------------------------------------------------------------------------------ */
/* KDL_OPEN_GLOBAL                                                                              */

static pthread_mutex_t globals_lock = PTHREAD_MUTEX_INITIALIZER;
static kdl_library *globals;

void kdl_scope_add(kdl_library *lib) {
  kdl_lock(&globals_lock);
  kdl_library **end = &globals;
  while (*end)
    end = &(*end)->next_global;
  *end = lib;
  kdl_unlock(&globals_lock);
}

void kdl_scope_remove(kdl_library *lib) {
  kdl_lock(&globals_lock);
  kdl_library **at = &globals;
  while (*at != lib)
    at = &(*at)->next_global;
  *at = lib->next_global;
  kdl_unlock(&globals_lock);
}

/* The first library from `at` on that is not being closed, retained. */
static kdl_library *retain_open(kdl_library *at) {
  for (; at; at = at->next_global) {
    size_t references = atomic_load_explicit(&at->references, memory_order_relaxed);
    while (references &&
           !atomic_compare_exchange_weak(&at->references, &references, references + 1))
      ;
    if (references)
      break;
  }
  return at;
}

/* Each library is retained while it is visited, and so stays in the list. */
static void visit_globals(bool (*visit)(void *user, kdl_library *lib), void *user) {
  kdl_lock(&globals_lock);
  kdl_library *at = retain_open(globals);
  kdl_unlock(&globals_lock);
  while (at) {
    kdl_library *next = NULL;
    if (!visit(user, at)) {
      kdl_lock(&globals_lock);
      next = retain_open(at->next_global);
      kdl_unlock(&globals_lock);
    }
    kdl_close(at);
    at = next;
  }
}

kdl_status kdl_scope_visit(kdl_library *lib, bool (*visit)(void *user, kdl_library *lib),
                           void *user) {
  pthread_once(&preload_once, preload_all);
  if (preload_status != KDL_OK)
    return kdl_fail(preload_status, "%s", preload_message);
  for (size_t i = 0; i < preload_count; ++i) {
    if (visit(user, preloads[i]))
      return KDL_OK;
  }
  if (lib)
    visit(user, lib);
  else
    visit_globals(visit, user);
  return KDL_OK;
}
