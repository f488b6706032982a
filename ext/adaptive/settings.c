/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* KDL_EXPLORE=TRIALS[,PERCENT%]: "0", "64", "200,5%". */
#include "ext/adaptive/choices.h"

#include "support/system/environment.h"

#include <stdlib.h>
#include <time.h>

enum { default_trials = 128, most_trials = 1000000 };
static const double default_share = 0.01;

static uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t (*kdl_adaptive_clock)(void) = monotonic_ns;

/* A value that cannot be read counts as unset, and is logged: a launch does not fail for it. */
kdl_explore_settings kdl_explore_settings_read(void) {
  kdl_explore_settings made = {default_trials, default_share};
  const char *text = kdl_environment(KDL_VARIABLE_EXPLORE);
  char *end;
  if (!text)
    return made;
  unsigned long trials = strtoul(text, &end, 10);
  unsigned long percent = 1;
  bool is_valid = end != text && *text >= '0' && *text <= '9' && trials <= most_trials;
  if (is_valid && *end == ',') {
    const char *second = end + 1;
    percent = strtoul(second, &end, 10);
    is_valid = end != second && *second >= '0' && *second <= '9' && percent <= 100 && *end == '%';
    end += is_valid;
  }
  if (!is_valid || *end) {
    kdl_debug(KDL_DEBUG_SELECT,
              "KDL_EXPLORE: found \"%s\", expected TRIALS or TRIALS,PERCENT%%, as 64,1%%", text);
    return made;
  }
  made.trials = percent ? (uint32_t)trials : 0;
  made.share = (double)percent / 100;
  return made;
}
