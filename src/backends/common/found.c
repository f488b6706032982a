/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "backends/common/found.h"

#include "base/array.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

kdl_device_spec *kdl_found_add(kdl_found_list *list) {
  kdl_device_spec *specs =
      kdl_array_grow(list->specs, list->count, &list->capacity, 8, sizeof *specs);
  if (!specs) {
    list->is_short = true;
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

/* Adds to the words that the report already has. */
static void say_more(kdl_driver_report *report, const char *words) {
  kdl_out out = {report->words, sizeof report->words, strlen(report->words)};
  kdl_out_format(&out, "%s%s", out.used ? "; " : "", words);
}

void kdl_found_drop(kdl_found_list *list, const char *format, ...) {
  --list->count;
  char words[128];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  say_more(&list->report, words);
}

void kdl_found_finish(kdl_found_list *list) {
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
    say_more(report, words);
  }
  list->count = kept;
  if (kept || report->state != KDL_DRIVER_USABLE)
    return;
  report->state = KDL_DRIVER_NO_DEVICE;
  if (!report->words[0])
    kdl_driver_say(report, KDL_DRIVER_NO_DEVICE, "it shows no device");
}
