/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is known of a kernel's classes, from and to the table. */
#include "ext/adaptive/choices.h"
#include "ext/adaptive/model.h"

#include "support/system/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* KDL_RACE_NONE where this library has no such variant. */
static uint32_t find_variant(const kdl_adaptive *adaptive, uint64_t id) {
  for (uint32_t i = 0; i < adaptive->subject.variant_count; ++i) {
    if (adaptive->variants[i].id == id)
      return i;
  }
  return KDL_RACE_NONE;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

static size_t known_samples(const kdl_adaptive *adaptive, const kdl_model_class *of) {
  size_t count = 0;
  for (size_t i = 0; i < of->count; ++i)
    count +=
        find_variant(adaptive, of->variants[i].id) == KDL_RACE_NONE ? 0 : of->variants[i].count;
  return count;
}

/* Processes that began at the same time may have chosen different units; the one with the most
 * samples of variants that are there counts. */
static void add_stored_times(const kdl_adaptive *adaptive, kdl_class_entry *entry,
                             const kdl_model_class *from) {
  size_t samples = known_samples(adaptive, from);
  bool is_better =
      samples > entry->trials || (samples == entry->trials && samples && from->unit < entry->unit);
  if (is_better) {
    entry->unit = from->unit;
    entry->unit_ns = from->unit_ns;
    entry->trials = (uint32_t)samples;
  }
  entry->launches += from->launches;
  entry->time_ns += from->time_ns;
  entry->explored_ns += from->explored_ns;
}

static void restore_variant(kdl_adaptive *adaptive, kdl_class_entry *entry,
                            const kdl_model_class *from, const kdl_model_variant *stored) {
  char reason[256];
  uint32_t variant = find_variant(adaptive, stored->id);
  if (variant == KDL_RACE_NONE || entry->race.variants[variant].state == KDL_RACE_EXCLUDED)
    return;
  for (uint32_t i = 0; from->unit == entry->unit && i < stored->count; ++i)
    kdl_race_restore(&entry->race, variant, (double)stored->samples[i]);
  if (stored->reason.data) {
    snprintf(reason, sizeof reason, "%.*s", (int)stored->reason.length, stored->reason.data);
    kdl_choices_exclude(adaptive, entry, variant, reason, false);
  }
}

/* Goes on with the race of a class from what was stored of it. */
static void resume_race(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  uint32_t first = find_variant(adaptive, entry->unit);
  if (first != KDL_RACE_NONE) {
    for (unsigned i = entry->race.variants[first].count; i < KDL_RACE_TRIALS; ++i)
      kdl_race_restore(&entry->race, first, 1);
  } else {
    first = entry->race.leader;
    double best = 0;
    for (uint32_t i = 0; entry->unit && i < entry->race.count; ++i) {
      double score = kdl_race_score(&entry->race.variants[i], NULL);
      if (entry->race.variants[i].count >= 3 && (best == 0 || score < best)) {
        first = i;
        best = score;
      }
    }
  }
  kdl_race_settle(&entry->race, first);
  bool is_decided =
      kdl_race_next(&entry->race) == KDL_RACE_NONE || entry->trials >= adaptive->explore.trials;
  if (is_decided)
    kdl_race_end(&entry->race);
  kdl_choices_publish(adaptive, entry, is_decided);
  entry->saved_launches = entry->launches;
  entry->saved_time_ns = entry->time_ns;
  entry->saved_explored_ns = entry->explored_ns;
}

/* Twice over the classes: first the units, then the samples. What is expected of a class depends on
 * all others, so that it waits until a launch needs it. */
static void load_model(kdl_adaptive *adaptive, const kdl_model *model) {
  adaptive->is_loading = true;
  for (size_t i = 0; i < model->count; ++i) {
    kdl_class_entry *entry = kdl_choices_entry(adaptive, &model->classes[i].key);
    if (entry)
      add_stored_times(adaptive, entry, &model->classes[i]);
  }
  for (size_t i = 0; i < model->count; ++i) {
    const kdl_model_class *from = &model->classes[i];
    kdl_class_entry *entry = kdl_choices_entry(adaptive, &from->key);
    for (size_t k = 0; entry && k < from->count; ++k)
      restore_variant(adaptive, entry, from, &from->variants[k]);
  }
  for (kdl_class_entry *entry = atomic_load(&adaptive->classes); entry; entry = entry->next)
    resume_race(adaptive, entry);
  adaptive->is_loading = false;
  if (model->damaged)
    kdl_debug(KDL_DEBUG_SELECT, "%s: %zu damaged lines are passed over, %zu are used",
              adaptive->name, model->damaged, model->lines);
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static void out_class(kdl_out *out, char kind, const kdl_problem_class *key) {
  kdl_out_format(out, "%c %" PRIx64 " %" PRIx64, kind, key->words[0], key->words[1]);
}

static bool append_line(kdl_adaptive *adaptive, const char *content) {
  char line[KDL_TABLE_LINE + 16];
  size_t size = kdl_table_seal(content, line, sizeof line);
  kdl_table_file other = {.fd = -1};
  bool is_mine = !atomic_exchange_explicit(&adaptive->is_file_busy, true, memory_order_acquire);
  bool done = size && kdl_table_append(is_mine ? &adaptive->file : &other, adaptive->name,
                                       adaptive->subject.identity, line, size);
  if (is_mine)
    atomic_store_explicit(&adaptive->is_file_busy, false, memory_order_release);
  kdl_table_close(&other);
  return done;
}

bool kdl_stored_exclude(kdl_adaptive *adaptive, const kdl_problem_class *key, uint64_t variant,
                        const char *reason) {
  char content[512];
  kdl_out out = {content, sizeof content, 0};
  out_class(&out, KDL_TABLE_EXCLUDED, key);
  kdl_out_format(&out, " %" PRIx64 " %.300s", variant, reason);
  for (char *at = content; *at; ++at)
    *at = *at == '\n' ? ' ' : *at;
  return append_line(adaptive, content);
}

static void mark_all_saved(kdl_class_entry *entry) {
  entry->saved_launches = entry->launches;
  entry->saved_time_ns = entry->time_ns;
  entry->saved_explored_ns = entry->explored_ns;
  memset(entry->unsaved, 0, entry->race.count);
}

static void format_times(const kdl_adaptive *adaptive, kdl_class_entry *entry, kdl_out *out) {
  out_class(out, KDL_TABLE_TIMES, &entry->key);
  kdl_out_format(out, " %" PRIx64 " %.0f %" PRIu64 " %" PRIu64 " %" PRIu64, entry->unit,
                 entry->unit_ns, entry->launches - entry->saved_launches,
                 entry->time_ns - entry->saved_time_ns,
                 entry->explored_ns - entry->saved_explored_ns);
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    const kdl_race_variant *of = &entry->race.variants[i];
    size_t count = entry->unsaved[i] < of->count ? entry->unsaved[i] : of->count;
    kdl_table_out_samples(out, adaptive->variants[i].id, of->samples + of->count - count, count);
    entry->unsaved[i] = 0;
  }
  mark_all_saved(entry);
}

void kdl_stored_flush(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  KDL_NOT_CANCELLED;
  char content[KDL_TABLE_LINE];
  kdl_out out = {content, sizeof content, 0};
  if (!kdl_entry_try(entry))
    return;
  if ((int)getpid() != adaptive->process) /* after a fork, the parent stores what it measured */
    mark_all_saved(entry);
  if (entry->launches != entry->saved_launches)
    format_times(adaptive, entry, &out);
  kdl_entry_leave(entry);
  atomic_store(&adaptive->flushed_ns, kdl_adaptive_clock());
  if (out.used && out.used < sizeof content)
    append_line(adaptive, content);
}

/* ------------------------------------------------------------------------------------------ */
/* Rewriting                                                                                    */

/* One line per class and unit. Lines that other processes append between reading and replacing are
 * lost, and measured again. */
static void rewrite(kdl_adaptive *adaptive, const kdl_model *model, size_t size) {
  size_t header_size = 0, lines_size = 0;
  char *header = kdl_table_header(adaptive->subject.identity, &header_size);
  char *lines = kdl_model_print(model, &lines_size);
  char *all = header && lines ? realloc(header, header_size + lines_size) : NULL;
  kdl_cache_settings own;
  if (all && header_size + lines_size < size / 2 && kdl_cache_settings_read(&own) == KDL_OK &&
      own.mode == KDL_CACHE_ON) {
    memcpy(all + header_size, lines, lines_size);
    (void)kdl_table_save(&own, adaptive->name, all, header_size + lines_size);
  }
  free(all ? all : header);
  free(lines);
}

static void load_text(kdl_adaptive *adaptive, kdl_string text, bool is_own) {
  kdl_model model;
  bool is_whole = kdl_model_parse(text, &model);
  bool is_other =
      is_own && model.identity.data && !kdl_text_equal(model.identity, adaptive->subject.identity);
  if (is_other)
    kdl_debug(KDL_DEBUG_SELECT, "%s: the table is for another kernel or device: %.*s",
              adaptive->name, (int)model.identity.length, model.identity.data);
  else
    load_model(adaptive, &model);
  if (is_whole && is_own && !is_other && text.length > KDL_TABLE_REWRITE)
    rewrite(adaptive, &model, text.length);
  kdl_model_free(&model);
}

/* The lines after headers of this kernel and device: a library has those of several devices. Sealed
 * lines are copied as they are. */
static size_t copy_sections(const kdl_adaptive *adaptive, kdl_string text, char *out) {
  size_t used = 0, damaged = 0;
  bool is_own = false;
  kdl_table_line line;
  for (size_t at = 0, begin = 0; kdl_table_next(text, &at, &line, &damaged); begin = at) {
    if (line.kind == KDL_TABLE_HEADER)
      is_own = kdl_text_starts(line.text, "1 ") &&
               kdl_text_equal(kdl_text_substr(line.text, 2), adaptive->subject.identity);
    if (!is_own)
      continue;
    memcpy(out + used, text.data + begin, at - begin);
    used += at - begin;
  }
  return used;
}

/* The process of a mark ended in the first trial of a variant: by a crash, or because it was
 * killed.
 */
static void exclude_marked(kdl_adaptive *adaptive) {
  kdl_mark *mark;
  kdl_marks_open(&adaptive->marks, adaptive->name, false);
  for (size_t at = 0; (mark = kdl_marks_next(&adaptive->marks, &at));) {
    kdl_problem_class key = {{mark->class_words[0], mark->class_words[1]}};
    char reason[64];
    snprintf(reason, sizeof reason, "process %" PRIu32 " ended during its first trial",
             atomic_load(&mark->process));
    if (kdl_stored_exclude(adaptive, &key, mark->variant, reason))
      kdl_mark_clear(mark);
  }
}

/* The lines that the library carries come first: those of this machine are newer. */
void kdl_stored_load(kdl_adaptive *adaptive) {
  size_t size = 0;
  exclude_marked(adaptive);
  char *own = kdl_table_read(adaptive->name, &size);
  kdl_string tuned = adaptive->subject.tuned;
  if (!tuned.data) {
    if (own)
      load_text(adaptive, (kdl_string){own, size}, true);
  } else {
    char *all = malloc(tuned.length + size + 2);
    if (all) {
      size_t used = copy_sections(adaptive, tuned, all);
      all[used++] = '\n';
      if (size)
        memcpy(all + used, own, size);
      load_text(adaptive, (kdl_string){all, used + size}, false);
    }
    free(all);
  }
  free(own);
}
