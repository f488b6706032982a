/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/device/spec.h"
#include "lib/registry/discover.h"
#include "support/base/text.h"
#include "support/json/writer.h"

static void write_device(const kdl_discovery *found, const kdl_found_device *device, FILE *file) {
  const kdl_device_spec *routes = &found->routes[device->first];
  fputs("    {\n", file);
  kdl_device_spec_write_members(&routes[0], 6, file);
  for (size_t i = 1; i < device->count; ++i) {
    fputs(i == 1 ? ",\n      \"routes\": [\n        " : ",\n        ", file);
    kdl_device_spec_write_json(&routes[i], 8, file);
  }
  fputs(device->count > 1 ? "\n      ]\n    }" : "\n    }", file);
}

static void write_report(const kdl_driver_report *report, FILE *file) {
  fprintf(file, "    {\"backend\": \"%s\", \"state\": \"%s\", \"devices\": %zu",
          kdl_backend_name(report->backend), kdl_driver_state_names[report->state],
          report->device_count);
  const struct {
    const char *key;
    const char *text;
  } texts[] = {{"library", report->library}, {"words", report->words}, {"limits", report->limits}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    if (!texts[i].text[0])
      continue;
    fprintf(file, ", \"%s\": ", texts[i].key);
    kdl_json_write_string(file, kdl_text_of(texts[i].text));
  }
  fputs("}", file);
}

void kdl_discovery_write_json(const kdl_discovery *found, FILE *file) {
  fprintf(file, "{\n  \"kdl\": \"%s\",\n  \"devices\": [\n", kdl_version());
  for (size_t i = 0; i < found->device_count; ++i) {
    write_device(found, &found->devices[i], file);
    fputs(i + 1 < found->device_count ? ",\n" : "\n", file);
  }
  fputs("  ],\n  \"drivers\": [\n", file);
  for (size_t i = 0; i < found->report_count; ++i) {
    write_report(&found->reports[i], file);
    fputs(i + 1 < found->report_count ? ",\n" : "\n", file);
  }
  fputs("  ]\n}\n", file);
}
