/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "device/driver.h"

#include "base/layer.h"
#include "device/spec_fill.h"
#include "system/loader.h"

#include <stdarg.h>
#include <stdio.h>

/* RTLD_NODELETE keeps the library should somebody else close it; RTLD_LOCAL keeps its symbols from
 * the program's. */
static void *system_open(void *user, const char *library) {
  (void)user;
  return kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static const char *system_error(void *user) {
  (void)user;
  const char *why = dlerror();
  return why ? why : "no reason given";
}

static void *system_symbol(void *user, void *library, const char *name) {
  (void)user;
  return dlsym(library, name);
}

static void *system_loaded(void *user, const char *library) {
  (void)user;
  return kdl_dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
}

const kdl_driver_resolver kdl_driver_system = {
    .open = system_open,
    .error = system_error,
    .symbol = system_symbol,
    .loaded = system_loaded,
};

const char *kdl_driver_state_name(kdl_driver_state state) {
  static const char *const names[] = {
      [KDL_DRIVER_USABLE] = "usable", [KDL_DRIVER_MISSING] = "missing",
      [KDL_DRIVER_BROKEN] = "broken", [KDL_DRIVER_INCOMPLETE] = "incomplete",
      [KDL_DRIVER_FAILED] = "failed", [KDL_DRIVER_NO_DEVICE] = "no_device",
      [KDL_DRIVER_SILENT] = "silent",
  };
  return (unsigned)state < sizeof names / sizeof *names ? names[state] : "?";
}

void kdl_driver_say(kdl_driver_report *report, kdl_driver_state state, const char *format, ...) {
  char words[sizeof report->words];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  report->state = state;
  kdl_spec_set_text(report->words, sizeof report->words, words, strlen(words));
}

/* A library that is not installed, in contrast to one that lacks another library or is damaged: the
 * loader then names the library that was asked for and says that it is not there. */
static bool is_missing(const char *library, const char *why) {
  size_t length = strlen(library);
  return strncmp(why, library, length) == 0 && why[length] == ':' &&
         strstr(why, "No such file or directory") != NULL;
}

static void say_missing(const char *const *libraries, kdl_driver_report *report) {
  char tried[192];
  kdl_out out = {tried, sizeof tried, 0};
  for (size_t i = 0; libraries[i]; ++i)
    kdl_out_format(&out, "%s%s", i ? ", " : "", libraries[i]);
  snprintf(report->library, sizeof report->library, "%s", libraries[0]);
  kdl_driver_say(report, KDL_DRIVER_MISSING, "found no %s", tried);
}

static void *find_loaded(const kdl_driver_resolver *resolver, const char *const *libraries,
                         kdl_driver_report *report) {
  for (size_t i = 0; resolver->loaded && libraries[i]; ++i) {
    void *library = resolver->loaded(resolver->user, libraries[i]);
    if (library) {
      snprintf(report->library, sizeof report->library, "%s", libraries[i]);
      return library;
    }
  }
  return NULL;
}

static void *open_first(const kdl_driver_resolver *resolver, const char *const *libraries,
                        kdl_driver_report *report) {
  void *loaded = find_loaded(resolver, libraries, report);
  if (loaded)
    return loaded;
  say_missing(libraries, report);
  for (size_t i = 0; libraries[i]; ++i) {
    void *library = resolver->open(resolver->user, libraries[i]);
    const char *why = library ? "" : resolver->error(resolver->user);
    if (!library && (report->state == KDL_DRIVER_BROKEN || is_missing(libraries[i], why)))
      continue;
    snprintf(report->library, sizeof report->library, "%s", libraries[i]);
    if (library)
      return library;
    kdl_driver_say(report, KDL_DRIVER_BROKEN, "cannot be loaded: %s", why);
  }
  return NULL;
}

static bool load(const kdl_driver_resolver *resolver, const char *const *libraries,
                 const kdl_driver_symbol *symbols, size_t symbol_count, void *table,
                 kdl_driver_report *report) {
  void *library = open_first(resolver, libraries, report);
  if (!library)
    return false;
  for (size_t i = 0; i < symbol_count; ++i) {
    void *symbol = resolver->symbol(resolver->user, library, symbols[i].name);
    if (!symbol && symbols[i].required) {
      kdl_driver_say(report, KDL_DRIVER_INCOMPLETE, "too old or damaged: it has no %s",
                     symbols[i].name);
      return false;
    }
    /* POSIX lets an object pointer from dlsym be read as a function pointer; C does not convert. */
    memcpy((char *)table + symbols[i].offset, &symbol, sizeof symbol);
  }
  kdl_driver_say(report, KDL_DRIVER_USABLE, "%s", "");
  return true;
}

bool kdl_driver_load(const kdl_driver_resolver *resolver, const char *const *libraries,
                     const kdl_driver_symbol *symbols, size_t symbol_count, void *table,
                     kdl_driver_report *report) {
  kdl_layer_enter(KDL_LAYER_DLOPEN);
  bool loaded = load(resolver, libraries, symbols, symbol_count, table, report);
  kdl_layer_leave(KDL_LAYER_DLOPEN,
                  &(kdl_layer_about){.driver = report->library, .failed = !loaded});
  return loaded;
}
