/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table by which the library calls ext/specialize, and KDL_SPECIALIZE=auto[,REPEATS]|off. */
#include "ext/specialize/background.h"
#include "ext/specialize/observer.h"
#include "support/system/environment.h"

#include <stdlib.h>
#include <string.h>

enum { default_repeats = 32, most_repeats = 1000000 };

/* 0: off. A value that cannot be read counts as unset, and is logged. */
static uint32_t read_repeats(void) {
  const char *text = kdl_environment(KDL_VARIABLE_SPECIALIZE);
  static const char word[] = "auto,";
  if (!text || strcmp(text, "auto") == 0)
    return default_repeats;
  if (strcmp(text, "off") == 0)
    return 0;
  if (strncmp(text, word, sizeof word - 1) == 0) {
    char *end;
    const char *number = text + sizeof word - 1;
    unsigned long repeats = strtoul(number, &end, 10);
    if (*number >= '1' && *number <= '9' && !*end && repeats <= most_repeats)
      return (uint32_t)repeats;
  }
  kdl_debug(KDL_DEBUG_LINK,
            "KDL_SPECIALIZE: found \"%s\", expected auto, auto,LAUNCHES or off: auto is used",
            text);
  return default_repeats;
}

static kdl_observer *open_observer(size_t word_count) {
  uint32_t repeats = read_repeats();
  kdl_observer *made = repeats ? malloc(sizeof *made) : NULL;
  if (made)
    kdl_observer_init(made, word_count, repeats);
  return made;
}

static void close_observer(kdl_observer *observer) {
  free(observer);
}

static const kdl_specialize_hooks hooks = {.open = open_observer,
                                           .close = close_observer,
                                           .observe = kdl_observer_add,
                                           .start = kdl_background_start,
                                           .stop = kdl_background_stop};
const kdl_specialize_hooks *const kdl_specializing = &hooks;
