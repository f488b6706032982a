/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What was measured of a kernel's variants, for explain and tune. */
#include "ext/adaptive/commands/commands.h"
#include "ext/adaptive/model.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "lib/inspect/launches.h"
#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "tools/common/memory.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The images of a library that hold a kernel. */
typedef struct {
  kdl_library *lib;
  const char *kernel;
  uint64_t ids[KDL_RACE_VARIANTS];
  size_t images[KDL_RACE_VARIANTS];
  size_t count;
  kdl_shape_argument arguments[KDL_CLASS_ARGUMENTS]; /* names alone */
  size_t argument_count;
  cli_json *json; /* NULL: text */
  size_t classes; /* that were printed */
  char *collected;
  size_t collected_size;
} report;

static size_t find_id(const report *in, uint64_t id) {
  size_t i = 0;
  while (i < in->count && in->ids[i] != id)
    ++i;
  return i;
}

static int add_image(void *user, size_t image) {
  report *to = user;
  char name[512];
  snprintf(name, sizeof name, "kdl.kernel.%s", to->kernel);
  const kdl_string *key = kdl_image_value(to->lib, image, name);
  kdl_kernel_key parsed;
  if (to->count == KDL_RACE_VARIANTS)
    return 1;
  kdl_string text = key ? *key : (kdl_string){NULL, 0};
  uint64_t id = kdl_adaptive_variant_id(to->lib, (uint32_t)image, text);
  if (find_id(to, id) < to->count)
    return 0; /* the same as another one */
  to->ids[to->count] = id;
  to->images[to->count++] = image;
  if (to->argument_count || !key || !kdl_kernel_parse(*key, &parsed, NULL))
    return 0;
  kdl_string names = kdl_kernel_field_text(&parsed, KDL_KERNEL_SHAPE);
  for (size_t at = 0; names.data && at < names.length;) {
    size_t end = kdl_text_find(names, at, " ");
    if (end > at && to->argument_count < KDL_CLASS_ARGUMENTS)
      to->arguments[to->argument_count++].name = (kdl_string){names.data + at, end - at};
    at = end + 1;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------ */
/* One class                                                                                    */

typedef struct {
  kdl_race race;
  kdl_race_variant variants[KDL_RACE_VARIANTS];
  kdl_string reasons[KDL_RACE_VARIANTS];
  size_t trials;
} outcome;

/* The same decision as in a process that loads the table. */
static void decide(const report *in, const kdl_model *model, const kdl_model_class *times,
                   outcome *out) {
  *out = (outcome){.trials = 0};
  kdl_race_init(&out->race, out->variants, (uint32_t)in->count);
  for (size_t i = 0; i < times->count; ++i) {
    size_t at = find_id(in, times->variants[i].id);
    for (uint32_t k = 0; at < in->count && k < times->variants[i].count; ++k, ++out->trials)
      kdl_race_restore(&out->race, (uint32_t)at, (double)times->variants[i].samples[k]);
  }
  for (size_t i = 0; i < model->count; ++i) {
    const kdl_model_class *excluded = &model->classes[i];
    if (excluded->unit || memcmp(&excluded->key, &times->key, sizeof excluded->key) != 0)
      continue;
    for (size_t k = 0; k < excluded->count; ++k) {
      const kdl_model_variant *variant = &excluded->variants[k];
      size_t at = find_id(in, variant->id);
      if (at == in->count || !variant->reason.data)
        continue;
      out->reasons[at] = variant->reason;
      kdl_race_exclude(&out->race, (uint32_t)at);
    }
  }
  size_t unit = find_id(in, times->unit);
  for (unsigned i = 0; unit < in->count && i < KDL_RACE_TRIALS; ++i)
    if (out->variants[unit].count < KDL_RACE_TRIALS)
      kdl_race_restore(&out->race, (uint32_t)unit, 1);
  if (in->count)
    kdl_race_settle(&out->race, unit < in->count ? (uint32_t)unit : out->race.leader);
}

static const char *tag_of(const report *in, size_t at) {
  const kdl_string *tag = kdl_image_value(in->lib, in->images[at], "variant_tag");
  return tag ? tag->data : "";
}

static void print_variant(const report *in, const kdl_model_class *times, const outcome *result,
                          size_t at) {
  const kdl_race_variant *variant = &result->variants[at];
  double spread, score = kdl_race_score(variant, &spread);
  double best = kdl_race_score(&result->variants[result->race.leader], NULL);
  char name[96];
  const char *tag = tag_of(in, at);
  snprintf(name, sizeof name, "image %zu%s%s%s", in->images[at], *tag ? " (" : "", tag,
           *tag ? ")" : "");
  bool leads = at == result->race.leader;
  cli_text_printf(stdout, "    %c %-24s ", leads ? '*' : ' ', name);
  if (result->reasons[at].data) {
    cli_text_printf(stdout, "excluded: %.*s\n", (int)result->reasons[at].length,
                    result->reasons[at].data);
    return;
  }
  if (!variant->count) {
    printf("not tried\n");
    return;
  }
  bool is_unit = in->ids[at] == times->unit;
  printf("%12.1f us  +-%4.1f%%  %s%u  ", score * times->unit_ns / 1000, 100 * spread / score,
         is_unit ? "reference " : "trials ", is_unit ? 1 : (unsigned)variant->count);
  if (leads)
    printf("%s\n", kdl_race_next(&result->race) == KDL_RACE_NONE ? "fastest" : "leads");
  else
    printf("%.2f times as long%s\n", score / best,
           variant->state == KDL_RACE_OPEN ? ", not decided" : "");
}

static void print_class(const report *in, const kdl_model_class *times, const outcome *result) {
  char text[512];
  kdl_class_print(&times->key, in->arguments, in->argument_count, &(kdl_out){text, sizeof text, 0});
  cli_text_printf(stdout, "  %s: %" PRIu64 " launches measured over %.3f s, %.2f%% in %zu trials\n",
                  text, times->launches, (double)times->time_ns / 1e9,
                  times->time_ns ? 100 * (double)times->explored_ns / (double)times->time_ns : 0.0,
                  result->trials);
  for (size_t i = 0; i < in->count; ++i)
    print_variant(in, times, result, i);
}

static void json_class(const report *in, const char *device, const kdl_model_class *times,
                       const outcome *result) {
  char text[512];
  cli_json *json = in->json;
  kdl_class_print(&times->key, in->arguments, in->argument_count, &(kdl_out){text, sizeof text, 0});
  cli_json_begin_object(json);
  cli_json_put_text(json, "device", device);
  cli_json_put_text(json, "class", text);
  cli_json_put_number(json, "launches", times->launches);
  cli_json_put_number(json, "time_ns", times->time_ns);
  cli_json_put_number(json, "explored_ns", times->explored_ns);
  cli_json_put_number(json, "trials", result->trials);
  cli_json_put_bool(json, "decided", kdl_race_next(&result->race) == KDL_RACE_NONE);
  cli_json_put_number(json, "chosen", in->images[result->race.leader]);
  cli_json_put_array(json, "variants");
  for (size_t i = 0; i < in->count; ++i) {
    const kdl_race_variant *variant = &result->variants[i];
    double spread, score = kdl_race_score(variant, &spread);
    cli_json_begin_object(json);
    cli_json_put_number(json, "image", in->images[i]);
    cli_json_put_text(json, "tag", tag_of(in, i));
    cli_json_put_number(json, "trials", in->ids[i] == times->unit ? 0 : variant->count);
    if (variant->count) {
      cli_json_put_real(json, "ns", score * times->unit_ns, 1);
      cli_json_put_real(json, "spread", spread / score, 4);
    }
    if (result->reasons[i].data)
      cli_json_put_bytes(json, "excluded", result->reasons[i]);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
}

/* ------------------------------------------------------------------------------------------ */
/* All tables                                                                                   */

static bool has_known_variant(const report *in, const kdl_model_class *of) {
  for (size_t i = 0; i < of->count; ++i) {
    if (find_id(in, of->variants[i].id) < in->count)
      return true;
  }
  return find_id(in, of->unit) < in->count;
}

/* "kernel=NAME device=..." */
static const char *device_of(const report *in, kdl_string identity, char *out, size_t room) {
  char prefix[600];
  int length = snprintf(prefix, sizeof prefix, "kernel=%s ", in->kernel);
  if (!identity.data || length < 0 || !kdl_text_starts(identity, prefix))
    return NULL;
  kdl_string rest = kdl_text_substr(identity, (size_t)length);
  snprintf(out, room, "%.*s", (int)rest.length, rest.data);
  return out;
}

static int print_table(void *user, const char *name, kdl_string text) {
  report *to = user;
  kdl_model model;
  char device[2048];
  (void)name;
  if (!kdl_model_parse(text, &model) || !device_of(to, model.identity, device, sizeof device)) {
    kdl_model_free(&model);
    return 0;
  }
  bool has_title = false;
  for (size_t i = 0; i < model.count; ++i) {
    const kdl_model_class *times = &model.classes[i];
    outcome result;
    if (!times->unit || !has_known_variant(to, times))
      continue;
    decide(to, &model, times, &result);
    ++to->classes;
    if (to->json) {
      json_class(to, device, times, &result);
      continue;
    }
    if (!has_title) {
      char room[sizeof device];
      cli_text_printf(stdout, "measured times of %s, %s\n", to->kernel,
                      cli_text_short_words(kdl_text_of(device), room, sizeof room).data);
    }
    has_title = true;
    print_class(to, times, &result);
  }
  kdl_model_free(&model);
  return 0;
}

/* The tables that the library carries: one after another, each with its header. */
static void visit_carried(report *of, kdl_table_visit *visit) {
  char name[512];
  kdl_out_format(&(kdl_out){name, sizeof name, 0}, KDL_TUNED_PREFIX "%s", of->kernel);
  const kdl_string *carried = NULL;
  for (size_t i = 0; i < of->count && !carried; ++i)
    carried = kdl_image_value(of->lib, of->images[i], name);
  size_t begin = 0, at = 0, before = 0, damaged = 0;
  kdl_table_line line;
  while (carried && kdl_table_next(*carried, &at, &line, &damaged)) {
    if (line.kind == KDL_TABLE_HEADER && before > begin) {
      visit(of, "", (kdl_string){carried->data + begin, before - begin});
      begin = before;
    }
    before = at;
  }
  if (carried && before > begin)
    visit(of, "", (kdl_string){carried->data + begin, carried->length - begin});
}

static kdl_status visit_stored(report *of, kdl_table_visit *visit) {
  kdl_cache_settings own;
  if (kdl_table_settings(&own) != KDL_OK)
    return KDL_OK; /* no cache */
  return kdl_table_each(&own, visit, of);
}

/* Where the cache has times, those of the library are the start that they grew from. */
static kdl_status visit_tables(report *of, kdl_table_visit *visit) {
  KDL_TRY(kdl_variants(of->lib, of->kernel, add_image, of));
  KDL_TRY(visit_stored(of, visit));
  if (!of->classes && !of->collected)
    visit_carried(of, visit);
  return KDL_OK;
}

kdl_status cli_choices_print(kdl_library *lib, const char *kernel, size_t *out_count) {
  report *made = xcalloc(1, sizeof *made);
  *made = (report){.lib = lib, .kernel = kernel};
  kdl_status status = visit_tables(made, print_table);
  *out_count = made->classes;
  free(made);
  return status;
}

kdl_status cli_choices_json(kdl_library *lib, const char *kernel, cli_json *json) {
  report *made = xcalloc(1, sizeof *made);
  *made = (report){.lib = lib, .kernel = kernel, .json = json};
  cli_json_begin_array(json);
  kdl_status status = visit_tables(made, print_table);
  cli_json_end_array(json);
  free(made);
  return status;
}

static int collect_table(void *user, const char *name, kdl_string text) {
  report *to = user;
  kdl_model model;
  char device[2048];
  size_t header_size = 0, size = 0;
  bool is_known = false;
  (void)name;
  if (kdl_model_parse(text, &model) && device_of(to, model.identity, device, sizeof device)) {
    for (size_t i = 0; i < model.count && !is_known; ++i)
      is_known = has_known_variant(to, &model.classes[i]);
  }
  if (is_known) {
    char *header = kdl_table_header(model.identity, &header_size);
    char *lines = kdl_model_print(&model, &size);
    if (header && lines) {
      to->collected = xrealloc(to->collected, to->collected_size + header_size + size + 1);
      memcpy(to->collected + to->collected_size, header, header_size);
      memcpy(to->collected + to->collected_size + header_size, lines, size);
      to->collected_size += header_size + size;
    }
    free(header);
    free(lines);
  }
  kdl_model_free(&model);
  return 0;
}

char *cli_choices_collect(kdl_library *lib, const char *kernel, size_t *out_size) {
  report *made = xcalloc(1, sizeof *made);
  *made = (report){.lib = lib, .kernel = kernel};
  if (visit_tables(made, collect_table) != KDL_OK) {
    free(made->collected);
    made->collected = NULL;
  }
  char *collected = made->collected;
  *out_size = made->collected_size;
  free(made);
  return collected;
}
