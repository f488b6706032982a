/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads a trace that KDL_TRACE wrote: trace events in JSON, in the form that libkdl writes. */
#include "tools/kdl/trace/trace_report.h"

#include "support/base/error.h"
#include "support/base/hash.h"
#include "support/json/reader.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA "kdl-trace-1"

enum { first_room = 64, text_limit = 8192 };

/* ------------------------------------------------------------------------------------------ */
/* Strings                                                                                      */

static size_t hash_text(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; ++text)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (size_t)(hash ^ hash >> 32);
}

static uint32_t *find_text_slot(const cli_trace *trace, const char *text) {
  size_t at = hash_text(text) & (trace->slot_count - 1);
  while (trace->text_slots[at] && strcmp(trace->texts[trace->text_slots[at]], text) != 0)
    at = (at + 1) & (trace->slot_count - 1);
  return &trace->text_slots[at];
}

static void grow_slots(cli_trace *trace) {
  if (trace->text_count * 2 < trace->slot_count)
    return;
  free(trace->text_slots);
  trace->slot_count = trace->slot_count ? trace->slot_count * 2 : (size_t)first_room * 2;
  trace->text_slots = xcalloc(trace->slot_count, sizeof *trace->text_slots);
  for (size_t i = 1; i < trace->text_count; ++i)
    *find_text_slot(trace, trace->texts[i]) = (uint32_t)i;
}

static uint32_t add_text(cli_trace *trace, const char *text) {
  trace->texts =
      xgrow(trace->texts, trace->text_count, &trace->text_room, first_room, sizeof *trace->texts);
  trace->texts[trace->text_count] = xarena_string(&trace->arena, text, strlen(text)).data;
  return (uint32_t)trace->text_count++;
}

static kdl_status parse_trace_text(kdl_json *json, cli_trace *trace, cli_trace_text *out_text) {
  char text[text_limit];
  KDL_TRY(kdl_json_string(json, text, sizeof text));
  *out_text = 0;
  if (!*text)
    return KDL_OK;
  grow_slots(trace);
  uint32_t *slot = find_text_slot(trace, text);
  if (!*slot)
    *slot = add_text(trace, text);
  *out_text = *slot;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Rows                                                                                         */

static uint32_t find_or_add_row(cli_trace *trace, int64_t id) {
  const uint64_t hash = kdl_hash_mix(kdl_hash_seed(), (uint64_t)id);
  for (size_t i = cli_index_newest(&trace->rows_by_id, hash); i != CLI_INDEX_NONE;
       i = cli_index_older(&trace->rows_by_id, i)) {
    if (trace->rows[i].id == id)
      return (uint32_t)i;
  }
  cli_index_add(&trace->rows_by_id, hash);
  trace->rows =
      xgrow(trace->rows, trace->row_count, &trace->row_room, first_room, sizeof *trace->rows);
  trace->rows[trace->row_count] = (cli_trace_row){.id = id};
  return (uint32_t)trace->row_count++;
}

/* ------------------------------------------------------------------------------------------ */
/* The header                                                                                   */

static kdl_status read_schema(kdl_json *json) {
  char schema[64];
  size_t at = json->at;
  KDL_TRY(kdl_json_string(json, schema, sizeof schema));
  if (strcmp(schema, SCHEMA) != 0)
    return kdl_json_fail(json, at, "found schema '%s', expected '" SCHEMA "'", schema);
  return KDL_OK;
}

/* The state of the reader. */
typedef struct {
  cli_trace *trace;
  uint64_t said; /* number of events that the file declares */
  bool has_schema, has_about, has_events;
} reading;

static kdl_status read_about(kdl_json *json, const char *key, void *user) {
  reading *r = user;
  cli_trace *trace = r->trace;
  const struct {
    const char *key;
    cli_trace_text *text;
    uint64_t *number;
  } members[] = {{"libkdl", &trace->libkdl, NULL},
                 {"command", &trace->command, NULL},
                 {"started", &trace->started, NULL},
                 {"process", NULL, &trace->process},
                 {"events", NULL, &r->said},
                 {"dropped", NULL, &trace->dropped},
                 {"names_lost", NULL, &trace->names_lost},
                 {"device_times_lost", NULL, &trace->device_times_lost},
                 {"limit_bytes", NULL, &trace->limit_bytes}};
  for (size_t i = 0; i < sizeof members / sizeof *members; ++i) {
    if (strcmp(members[i].key, key) == 0)
      return members[i].text ? parse_trace_text(json, trace, members[i].text)
                             : kdl_json_number(json, members[i].number);
  }
  if (strcmp(key, "schema") == 0) {
    r->has_schema = true;
    return read_schema(json);
  }
  return strcmp(key, "device_time") == 0 ? kdl_json_boolean(json, &trace->device_time)
                                         : kdl_json_skip(json);
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

/* The members of one event; its kind is known after the last. */
typedef struct {
  cli_trace *trace;
  char phase[4];
  char category[16];
  cli_trace_text name, label; /* `label` is args.name */
  double ts, dur;
  uint64_t row, image;
  bool has_ts, has_dur, has_row, has_image;
  cli_trace_event event;
} raw_event;

static kdl_status read_arg(kdl_json *json, const char *key, void *user) {
  raw_event *raw = user;
  const struct {
    const char *key;
    cli_trace_text *text;
  } members[] = {{"name", &raw->label},
                 {"kernel", &raw->event.kernel},
                 {"device", &raw->event.device},
                 {"target", &raw->event.target}};
  for (size_t i = 0; i < sizeof members / sizeof *members; ++i) {
    if (strcmp(members[i].key, key) == 0)
      return parse_trace_text(json, raw->trace, members[i].text);
  }
  if (strcmp(key, "bytes") == 0)
    return kdl_json_number(json, &raw->event.bytes);
  if (strcmp(key, "image") == 0) {
    raw->has_image = true;
    return kdl_json_number(json, &raw->image);
  }
  return strcmp(key, "failed") == 0 ? kdl_json_boolean(json, &raw->event.failed)
                                    : kdl_json_skip(json);
}

static kdl_status read_real(kdl_json *json, double *out_real, bool *out_has) {
  size_t at = json->at;
  *out_has = true;
  KDL_TRY(kdl_json_real(json, out_real));
  return *out_real < 0 ? kdl_json_fail(json, at, "found a negative time, expected none") : KDL_OK;
}

static kdl_status parse_event_member(kdl_json *json, const char *key, void *user) {
  raw_event *raw = user;
  if (strcmp(key, "name") == 0)
    return parse_trace_text(json, raw->trace, &raw->name);
  if (strcmp(key, "ph") == 0)
    return kdl_json_string(json, raw->phase, sizeof raw->phase);
  if (strcmp(key, "cat") == 0)
    return kdl_json_string(json, raw->category, sizeof raw->category);
  if (strcmp(key, "ts") == 0)
    return read_real(json, &raw->ts, &raw->has_ts);
  if (strcmp(key, "dur") == 0)
    return read_real(json, &raw->dur, &raw->has_dur);
  if (strcmp(key, "args") == 0)
    return kdl_json_members(json, read_arg, raw);
  if (strcmp(key, "tid") != 0)
    return kdl_json_skip(json);
  raw->has_row = true;
  return kdl_json_number(json, &raw->row);
}

/* Times are written in whole nanoseconds, as decimal microseconds, which have no exact binary
 * form. */
static double whole_ns(double us) {
  double ns = us * 1e3;
  return ns < 9e15 ? (double)(uint64_t)(ns + 0.5) : ns;
}

static void add_span(cli_trace *trace, const raw_event *raw) {
  uint32_t row = find_or_add_row(trace, (int64_t)raw->row);
  trace->events = xgrow(trace->events, trace->event_count, &trace->event_room, first_room,
                        sizeof *trace->events);
  cli_trace_event *event = &trace->events[trace->event_count++];
  *event = raw->event;
  event->name = raw->name;
  event->row = row;
  event->begin = whole_ns(raw->ts);
  event->length = whole_ns(raw->dur);
  event->image = raw->has_image && raw->image < INT32_MAX ? (int32_t)raw->image : -1;
  event->is_device_time = strcmp(raw->category, "device") == 0;
  trace->rows[row].is_device |= event->is_device_time;
}

static void add_name(cli_trace *trace, const raw_event *raw) {
  const char *what = cli_trace_string(trace, raw->name);
  if (strcmp(what, "process_name") == 0)
    trace->process_name = raw->label;
  if (strcmp(what, "thread_name") == 0) {
    uint32_t row = find_or_add_row(trace, (int64_t)raw->row); /* may move the rows */
    trace->rows[row].name = raw->label;
  }
}

static kdl_status read_event(kdl_json *json, void *user) {
  cli_trace *trace = user;
  raw_event raw = {.trace = trace};
  size_t start = json->at;
  KDL_TRY(kdl_json_members(json, parse_event_member, &raw));
  if (strcmp(raw.phase, "M") == 0)
    add_name(trace, &raw);
  if (strcmp(raw.phase, "X") != 0)
    return KDL_OK;
  if (!raw.name || !raw.has_ts || !raw.has_dur || !raw.has_row || raw.row > INT64_MAX)
    return kdl_json_fail(json, start,
                         "found a complete event without a name, ts, dur or tid, expected all");
  add_span(trace, &raw);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static const char foreign[] = "found no otherData before the events, expected one with schema "
                              "'" SCHEMA "': a file that KDL_TRACE wrote";

static kdl_status read_part(kdl_json *json, const char *key, void *user) {
  reading *r = user;
  size_t start = json->at;
  if (strcmp(key, "otherData") == 0) {
    r->has_about = true;
    KDL_TRY(kdl_json_members(json, read_about, r));
    return r->has_schema
               ? KDL_OK
               : kdl_json_fail(json, start, "found no schema in otherData, expected '" SCHEMA "'");
  }
  if (strcmp(key, "traceEvents") != 0)
    return kdl_json_skip(json);
  r->has_events = true;
  return r->has_about ? kdl_json_items(json, read_event, r->trace)
                      : kdl_json_fail(json, json->at, "%s", foreign);
}

kdl_status cli_trace_read(const char *name, const void *data, size_t size, cli_trace *out_trace) {
  kdl_json json;
  reading r = {.trace = out_trace};
  *out_trace = (cli_trace){.text_count = 0};
  add_text(out_trace, "");
  kdl_json_start(&json, name, data, size);
  KDL_TRY(kdl_json_members(&json, read_part, &r));
  KDL_TRY(kdl_json_finish(&json));
  if (!r.has_about)
    return kdl_json_fail(&json, 0, "%s", foreign);
  if (!r.has_events || r.said != out_trace->event_count)
    return kdl_json_fail(&json, json.size, "found %zu events, expected %llu as otherData says",
                         out_trace->event_count, (unsigned long long)r.said);
  return KDL_OK;
}

void cli_trace_free(cli_trace *trace) {
  free(trace->texts);
  free(trace->text_slots);
  free(trace->events);
  free(trace->rows);
  cli_index_free(&trace->rows_by_id);
  kdl_arena_free(&trace->arena);
}
