/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A trace that KDL_TRACE wrote: trace events in JSON, of which this reads what libkdl writes. */
#include "trace/trace_report.h"

#include "base/json/reader.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA "kdl-trace-1"

enum { first_room = 64, text_limit = 8192 };

static kdl_status no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for a trace");
}

/* Room for one more in an array that doubles. */
static bool grow(void *array, size_t count, size_t *room, size_t size) {
  if (count < *room)
    return true;
  size_t more = *room ? *room * 2 : first_room;
  void *grown = reallocarray(*(void **)array, more, size);
  if (!grown)
    return false;
  *(void **)array = grown;
  *room = more;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Texts                                                                                        */

static size_t hash_of(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; ++text)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (size_t)(hash ^ hash >> 32);
}

static uint32_t *slot_of(const cli_trace *trace, const char *text) {
  size_t at = hash_of(text) & (trace->slot_count - 1);
  while (trace->text_slots[at] && strcmp(trace->texts[trace->text_slots[at]], text) != 0)
    at = (at + 1) & (trace->slot_count - 1);
  return &trace->text_slots[at];
}

static bool grow_slots(cli_trace *trace) {
  if (trace->text_count * 2 < trace->slot_count)
    return true;
  size_t more = trace->slot_count ? trace->slot_count * 2 : (size_t)first_room * 2;
  uint32_t *slots = calloc(more, sizeof *slots);
  if (!slots)
    return false;
  free(trace->text_slots);
  trace->text_slots = slots;
  trace->slot_count = more;
  for (size_t i = 1; i < trace->text_count; ++i)
    *slot_of(trace, trace->texts[i]) = (uint32_t)i;
  return true;
}

static kdl_status keep(cli_trace *trace, const char *text, cli_trace_text *out_text) {
  if (!*text) {
    *out_text = 0;
    return KDL_OK;
  }
  if (!grow_slots(trace))
    return no_memory();
  uint32_t *slot = slot_of(trace, text);
  if (!*slot) {
    char *copy = strdup(text);
    if (!copy || !grow(&trace->texts, trace->text_count, &trace->text_room, sizeof *trace->texts)) {
      free(copy);
      return no_memory();
    }
    *slot = (uint32_t)trace->text_count;
    trace->texts[trace->text_count++] = copy;
  }
  *out_text = *slot;
  return KDL_OK;
}

static kdl_status read_text(kdl_json *json, cli_trace *trace, cli_trace_text *out_text) {
  char text[text_limit];
  kdl_status status = kdl_json_string(json, text, sizeof text);
  return status == KDL_OK ? keep(trace, text, out_text) : status;
}

/* ------------------------------------------------------------------------------------------ */
/* Rows                                                                                         */

static kdl_status row_of(cli_trace *trace, int64_t id, uint32_t *out_row) {
  for (size_t i = trace->row_count; i > 0; --i) {
    if (trace->rows[i - 1].id == id) {
      *out_row = (uint32_t)(i - 1);
      return KDL_OK;
    }
  }
  if (!grow(&trace->rows, trace->row_count, &trace->row_room, sizeof *trace->rows))
    return no_memory();
  trace->rows[trace->row_count] = (cli_trace_row){.id = id};
  *out_row = (uint32_t)trace->row_count++;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* What the file says of itself                                                                 */

static kdl_status read_schema(kdl_json *json) {
  char schema[64];
  size_t at = json->at;
  KDL_TRY(kdl_json_string(json, schema, sizeof schema));
  if (strcmp(schema, SCHEMA) != 0)
    KDL_TRY(kdl_json_fail(json, at, "found schema '%s', expected '" SCHEMA "'", schema));
  return KDL_OK;
}

static kdl_status read_about(kdl_json *json, cli_trace *trace, uint64_t *out_events) {
  bool more, has_schema = false;
  char key[32];
  size_t start = json->at;
  kdl_status status = kdl_json_begin(json, KDL_JSON_OBJECT);
  const struct {
    const char *key;
    cli_trace_text *text;
    uint64_t *number;
  } members[] = {{"libkdl", &trace->libkdl, NULL},
                 {"command", &trace->command, NULL},
                 {"started", &trace->started, NULL},
                 {"process", NULL, &trace->process},
                 {"events", NULL, out_events},
                 {"dropped", NULL, &trace->dropped},
                 {"names_lost", NULL, &trace->names_lost},
                 {"device_times_lost", NULL, &trace->device_times_lost},
                 {"limit_bytes", NULL, &trace->limit_bytes}};
  while (status == KDL_OK && (status = kdl_json_next_key(json, key, sizeof key, &more)) == KDL_OK &&
         more) {
    size_t i = 0, count = sizeof members / sizeof *members;
    while (i < count && strcmp(members[i].key, key) != 0)
      ++i;
    if (i < count)
      status = members[i].text ? read_text(json, trace, members[i].text)
                               : kdl_json_number(json, members[i].number);
    else if (strcmp(key, "schema") == 0)
      status = read_schema(json);
    else if (strcmp(key, "device_time") == 0)
      status = kdl_json_boolean(json, &trace->device_time);
    else
      status = kdl_json_skip(json);
    has_schema |= strcmp(key, "schema") == 0;
  }
  if (status == KDL_OK && !has_schema)
    status = kdl_json_fail(json, start, "found no schema in otherData, expected '" SCHEMA "'");
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Events                                                                                       */

/* One event as it stands there; what it is shows at its end. */
typedef struct {
  char phase[4];
  char category[16];
  cli_trace_text name, label; /* `label` is args.name */
  double ts, dur;
  uint64_t row, image;
  bool has_ts, has_dur, has_row, has_image;
  cli_trace_event event;
} raw_event;

static kdl_status read_args(kdl_json *json, cli_trace *trace, raw_event *raw) {
  bool more;
  char key[32];
  kdl_status status = kdl_json_begin(json, KDL_JSON_OBJECT);
  const struct {
    const char *key;
    cli_trace_text *text;
  } members[] = {{"name", &raw->label},
                 {"kernel", &raw->event.kernel},
                 {"device", &raw->event.device},
                 {"target", &raw->event.target}};
  while (status == KDL_OK && (status = kdl_json_next_key(json, key, sizeof key, &more)) == KDL_OK &&
         more) {
    size_t i = 0, count = sizeof members / sizeof *members;
    while (i < count && strcmp(members[i].key, key) != 0)
      ++i;
    if (i < count) {
      status = read_text(json, trace, members[i].text);
    } else if (strcmp(key, "bytes") == 0) {
      status = kdl_json_number(json, &raw->event.bytes);
    } else if (strcmp(key, "image") == 0) {
      raw->has_image = true;
      status = kdl_json_number(json, &raw->image);
    } else if (strcmp(key, "failed") == 0) {
      status = kdl_json_boolean(json, &raw->event.failed);
    } else {
      status = kdl_json_skip(json);
    }
  }
  return status;
}

static kdl_status read_real(kdl_json *json, double *out_real, bool *out_has) {
  size_t at = json->at;
  kdl_status status = kdl_json_real(json, out_real);
  if (status == KDL_OK && *out_real < 0)
    status = kdl_json_fail(json, at, "found a negative time, expected none");
  *out_has = true;
  return status;
}

static kdl_status read_member(kdl_json *json, cli_trace *trace, const char *key, raw_event *raw) {
  if (strcmp(key, "name") == 0)
    return read_text(json, trace, &raw->name);
  if (strcmp(key, "ph") == 0)
    return kdl_json_string(json, raw->phase, sizeof raw->phase);
  if (strcmp(key, "cat") == 0)
    return kdl_json_string(json, raw->category, sizeof raw->category);
  if (strcmp(key, "ts") == 0)
    return read_real(json, &raw->ts, &raw->has_ts);
  if (strcmp(key, "dur") == 0)
    return read_real(json, &raw->dur, &raw->has_dur);
  if (strcmp(key, "args") == 0)
    return read_args(json, trace, raw);
  if (strcmp(key, "tid") != 0)
    return kdl_json_skip(json);
  raw->has_row = true;
  return kdl_json_number(json, &raw->row);
}

/* Times are written in whole nanoseconds, as microseconds with a fraction that has no exact form.
 */
static double whole_ns(double us) {
  double ns = us * 1e3;
  return ns < 9e15 ? (double)(uint64_t)(ns + 0.5) : ns;
}

static kdl_status add_span(cli_trace *trace, const raw_event *raw) {
  uint32_t row;
  KDL_TRY(row_of(trace, (int64_t)raw->row, &row));
  if (!grow(&trace->events, trace->event_count, &trace->event_room, sizeof *trace->events))
    return no_memory();
  cli_trace_event *event = &trace->events[trace->event_count++];
  *event = raw->event;
  event->name = raw->name;
  event->row = row;
  event->begin = whole_ns(raw->ts);
  event->length = whole_ns(raw->dur);
  event->image = raw->has_image && raw->image < INT32_MAX ? (int32_t)raw->image : -1;
  event->is_device_time = strcmp(raw->category, "device") == 0;
  trace->rows[row].is_device |= event->is_device_time;
  return KDL_OK;
}

static kdl_status name_row(cli_trace *trace, const raw_event *raw) {
  const char *what = cli_trace_word(trace, raw->name);
  uint32_t row;
  if (strcmp(what, "process_name") == 0)
    trace->process_name = raw->label;
  if (strcmp(what, "thread_name") != 0)
    return KDL_OK;
  KDL_TRY(row_of(trace, (int64_t)raw->row, &row));
  trace->rows[row].name = raw->label;
  return KDL_OK;
}

static kdl_status read_event(kdl_json *json, cli_trace *trace) {
  raw_event raw = {.phase = ""};
  bool more;
  char key[16];
  size_t start = json->at;
  kdl_status status = kdl_json_begin(json, KDL_JSON_OBJECT);
  while (status == KDL_OK && (status = kdl_json_next_key(json, key, sizeof key, &more)) == KDL_OK &&
         more)
    status = read_member(json, trace, key, &raw);
  if (status != KDL_OK)
    return status;
  if (strcmp(raw.phase, "M") == 0)
    return name_row(trace, &raw);
  if (strcmp(raw.phase, "X") != 0)
    return KDL_OK;
  if (!raw.name || !raw.has_ts || !raw.has_dur || !raw.has_row || raw.row > INT64_MAX)
    return kdl_json_fail(json, start,
                         "found a complete event without a name, ts, dur or tid, expected all");
  return add_span(trace, &raw);
}

/* ------------------------------------------------------------------------------------------ */
/* The whole                                                                                    */

static kdl_status read_events(kdl_json *json, cli_trace *trace) {
  bool more;
  kdl_status status = kdl_json_begin(json, KDL_JSON_ARRAY);
  while (status == KDL_OK && (status = kdl_json_next_item(json, &more)) == KDL_OK && more)
    status = read_event(json, trace);
  return status;
}

static kdl_status read_whole(kdl_json *json, cli_trace *trace) {
  static const char foreign[] = "found no otherData before the events, expected one with schema "
                                "'" SCHEMA "': a file that KDL_TRACE wrote";
  bool more, has_about = false, has_events = false;
  char key[32];
  uint64_t said = 0;
  kdl_status status = kdl_json_begin(json, KDL_JSON_OBJECT);
  while (status == KDL_OK && (status = kdl_json_next_key(json, key, sizeof key, &more)) == KDL_OK &&
         more) {
    if (strcmp(key, "otherData") == 0) {
      has_about = true;
      status = read_about(json, trace, &said);
    } else if (strcmp(key, "traceEvents") == 0) {
      has_events = true;
      status = has_about ? read_events(json, trace) : kdl_json_fail(json, json->at, "%s", foreign);
    } else {
      status = kdl_json_skip(json);
    }
  }
  if (status == KDL_OK)
    status = kdl_json_finish(json);
  if (status == KDL_OK && !has_about)
    status = kdl_json_fail(json, 0, "%s", foreign);
  if (status == KDL_OK && (!has_events || said != trace->event_count))
    status = kdl_json_fail(json, json->size, "found %zu events, expected %llu as otherData says",
                           trace->event_count, (unsigned long long)said);
  return status;
}

kdl_status cli_trace_read(const char *name, const void *data, size_t size, cli_trace *out_trace) {
  kdl_json json;
  *out_trace = (cli_trace){.text_count = 1};
  out_trace->texts = calloc(first_room, sizeof *out_trace->texts);
  if (!out_trace->texts)
    return no_memory();
  out_trace->text_room = first_room;
  out_trace->texts[0] = strdup("");
  if (!out_trace->texts[0])
    return no_memory();
  kdl_json_start(&json, name, data, size);
  return read_whole(&json, out_trace);
}

void cli_trace_free(cli_trace *trace) {
  for (size_t i = 0; trace->texts && i < trace->text_count; ++i)
    free(trace->texts[i]);
  free(trace->texts);
  free(trace->text_slots);
  free(trace->events);
  free(trace->rows);
}
