/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Measuring launches. On the host a launch has ended when it returns, so that the clock before and
 * after it suffices. On other devices an event is recorded before it and one after it; their times
 * are read in a later launch of the class, when the device has passed them. Nothing waits.
 */
#include "ext/adaptive/choices.h"

#include <inttypes.h>
#include <stdio.h>

/* A trial that has not ended after so long, or after so many times the leader's time, hangs. */
static const uint64_t hang_ns = 2000000000;
static const double hang_factor = 100;
static const double most_ns = 1e15; /* a driver's time may be anything */
static const double waste_ns = 6e4, waste_factor = 2, clear_waste_ns = 1e6, clear_waste_factor = 10;
enum { most_spins = 1 << 16 };

/* ------------------------------------------------------------------------------------------ */
/* References                                                                                   */

/* Of up to KDL_REFERENCES numbers, which it sorts; 0 of none. */
static double median_of(double *numbers, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    double number = numbers[i];
    size_t at = i;
    for (; at && numbers[at - 1] > number; --at)
      numbers[at] = numbers[at - 1];
    numbers[at] = number;
  }
  return count ? (numbers[(count - 1) / 2] + numbers[count / 2]) / 2 : 0;
}

double kdl_reference_ns(const kdl_class_entry *entry) {
  double times[KDL_REFERENCES];
  for (uint32_t i = 0; i < entry->reference_count; ++i)
    times[i] = entry->references[i].ns;
  return median_of(times, entry->reference_count);
}

/* What the trial is compared with: launches of the same numbers, if there are some. On a device
 * that was idle, the time between two events is also that in which the host enqueued the launch:
 * then all must have found it so. */
static double reference_of_trial(const kdl_class_entry *entry, bool is_idle) {
  double same[KDL_REFERENCES], others[KDL_REFERENCES];
  size_t same_count = 0, other_count = 0;
  for (uint32_t i = 0; i < entry->reference_count; ++i) {
    const kdl_reference *reference = &entry->references[i];
    if (reference->is_idle != is_idle)
      continue;
    if (reference->exact == entry->burst_exact)
      same[same_count++] = reference->ns;
    else
      others[other_count++] = reference->ns;
  }
  return same_count ? median_of(same, same_count) : median_of(others, other_count);
}

static void add_reference(kdl_class_entry *entry, const kdl_sample *sample, double ns) {
  if (entry->reference_count == KDL_REFERENCES) {
    memmove(entry->references, entry->references + 1,
            sizeof entry->references - sizeof *entry->references);
    --entry->reference_count;
  }
  entry->references[entry->reference_count++] =
      (kdl_reference){ns, sample->exact, sample->number, sample->is_idle};
}

/* ------------------------------------------------------------------------------------------ */
/* Times                                                                                        */

bool kdl_sample_is_waste(double ns, double reference_ns) {
  return ns > waste_ns && ns > waste_factor * reference_ns;
}

/* A single launch that found everything cold, and was not slow: the next trial decides. */
static bool was_look(const kdl_adaptive *adaptive, kdl_class_entry *entry, double ns,
                     double reference) {
  const uint64_t bit = (uint64_t)1 << entry->burst_variant;
  if (adaptive->subject.is_host || entry->looked & bit ||
      entry->race.variants[entry->burst_variant].count || kdl_sample_is_waste(ns, reference))
    return false;
  entry->looked |= bit;
  return true;
}

/* The burst has ended. */
static void add_trial(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  uint32_t number = entry->burst_variant;
  bool is_idle = entry->burst_idle_times > entry->burst_times;
  double ns = is_idle ? median_of(entry->burst_idle_ns, entry->burst_idle_times)
                      : median_of(entry->burst_ns, entry->burst_times);
  double reference = reference_of_trial(entry, is_idle);
  const kdl_race_variant *variant = &entry->race.variants[number];
  if (!(reference > 0) || !(ns > 0) || number == entry->race.leader ||
      variant->state != KDL_RACE_OPEN || was_look(adaptive, entry, ns, reference))
    return; /* or the leader has changed since */
  ++entry->trials;
  const kdl_race_variant *leader = &entry->race.variants[entry->race.leader];
  if (!entry->unit) {
    entry->unit = adaptive->variants[entry->race.leader].id;
    entry->unit_ns = kdl_reference_ns(entry) / (leader->count ? kdl_race_score(leader, NULL) : 1);
  }
  const uint32_t before = variant->count;
  bool has_changed = kdl_race_add(&entry->race, number, ns / reference);
  const uint32_t added = variant->count > before ? variant->count - before : 1;
  const uint32_t unsaved = entry->unsaved[number] + added;
  entry->unsaved[number] = (uint8_t)(unsaved < KDL_RACE_SAMPLES ? unsaved : KDL_RACE_SAMPLES);
  bool is_over = kdl_race_next(&entry->race) == KDL_RACE_NONE;
  if (has_changed || is_over)
    kdl_choices_publish(adaptive, entry, is_over);
}

/* Called with the entry in use. */
static void add_time(kdl_adaptive *adaptive, kdl_class_entry *entry, kdl_sample *sample,
                     double ns) {
  if (!(ns > 0))
    return;
  ns = ns < most_ns ? ns : most_ns;
  entry->time_ns += (uint64_t)ns;
  if (!sample->is_trial) {
    if (sample->variant == entry->race.leader && !sample->is_warm)
      add_reference(entry, sample, ns);
    return;
  }
  entry->explored_ns += (uint64_t)ns;
  /* So much slower is not for being cold: the other launches of the burst would be a waste. One
   * alone may have been interrupted. */
  if (sample->is_warm && kdl_sample_is_waste(ns, kdl_reference_ns(entry))) {
    bool is_clear = ns > clear_waste_ns && ns > clear_waste_factor * kdl_reference_ns(entry);
    if (entry->has_wasted || is_clear) {
      entry->burst_left = 0;
      sample->is_warm = false;
    }
    entry->has_wasted = true;
  } else {
    entry->has_wasted = false;
  }
  uint32_t *times = sample->is_idle ? &entry->burst_idle_times : &entry->burst_times;
  if (!sample->is_warm && *times < KDL_BURST_COMPARED)
    (sample->is_idle ? entry->burst_idle_ns : entry->burst_ns)[(*times)++] = ns;
  __atomic_fetch_or(&adaptive->tried, (uint64_t)1 << sample->variant, __ATOMIC_RELAXED);
}

static void clear_mark(kdl_sample *sample) {
  if (sample->mark)
    kdl_mark_clear(sample->mark);
  sample->mark = NULL;
}

static void release_sample(kdl_adaptive *adaptive, kdl_class_entry *entry, kdl_sample *sample) {
  sample->state = KDL_SAMPLE_FREE;
  --entry->pending;
  clear_mark(sample);
  if (!sample->is_trial)
    return;
  --entry->burst_pending;
  if (!entry->burst_left && !entry->burst_pending)
    add_trial(adaptive, entry);
}

/* ------------------------------------------------------------------------------------------ */
/* Devices                                                                                      */

static kdl_sample *oldest_pending(kdl_class_entry *entry) {
  kdl_sample *oldest = NULL;
  for (unsigned i = 0; i < KDL_PENDING_LIMIT; ++i) {
    kdl_sample *sample = &entry->samples[i];
    if (sample->state == KDL_SAMPLE_PENDING && (!oldest || sample->number < oldest->number))
      oldest = sample;
  }
  return oldest;
}

/* False where the device has not passed the events, or cannot time them. */
static bool read_time(const kdl_adaptive *adaptive, const kdl_sample *sample, double *out_ns) {
  const kdl_backend_table *table = adaptive->subject.table;
  int is_done = 1;
  if (table->event_query &&
      (table->event_query(adaptive->subject.handle, sample->end, &is_done) != KDL_OK || !is_done))
    return false;
  return table->event_elapsed(adaptive->subject.handle, sample->start, sample->end, out_ns) ==
         KDL_OK;
}

static bool has_hung(const kdl_class_entry *entry, const kdl_sample *sample) {
  double waited = (double)(kdl_adaptive_clock() - sample->began_ns);
  return waited > (double)hang_ns && waited > hang_factor * kdl_reference_ns(entry);
}

static bool release_dropped(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  bool has_trial = false;
  for (unsigned i = 0; i < KDL_PENDING_LIMIT; ++i) {
    kdl_sample *sample = &entry->samples[i];
    if (!atomic_load_explicit(&sample->is_dropped, memory_order_acquire))
      continue;
    atomic_store_explicit(&sample->is_dropped, false, memory_order_relaxed);
    has_trial |= sample->is_trial;
    entry->burst_left = sample->is_trial ? 0 : entry->burst_left;
    release_sample(adaptive, entry, sample);
  }
  return has_trial;
}

bool kdl_samples_collect(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  bool has_trial = release_dropped(adaptive, entry);
  kdl_sample *sample;
  double ns;
  while ((sample = oldest_pending(entry)) && read_time(adaptive, sample, &ns)) {
    add_time(adaptive, entry, sample, ns);
    has_trial |= sample->is_trial;
    release_sample(adaptive, entry, sample);
  }
  if (!sample || !has_hung(entry, sample))
    return has_trial;
  sample->state = KDL_SAMPLE_LOST; /* its events may be passed at any time */
  if (sample->is_trial) {
    entry->burst_left = 0;
    --entry->burst_pending;
    char reason[96];
    snprintf(reason, sizeof reason, "its trial did not end within %.1f s",
             (double)(kdl_adaptive_clock() - sample->began_ns) / 1e9);
    kdl_choices_exclude(adaptive, entry, sample->variant, reason, true);
  }
  return true;
}

static bool is_capturing(const kdl_adaptive *adaptive, void *queue) {
  const kdl_backend_table *table = adaptive->subject.table;
  int capturing = 0;
  return table->queue_capturing &&
         (table->queue_capturing(adaptive->subject.handle, queue, &capturing) != KDL_OK ||
          capturing);
}

static bool record_start(const kdl_adaptive *adaptive, kdl_sample *sample, void *queue) {
  const kdl_backend_table *table = adaptive->subject.table;
  void *handle = adaptive->subject.handle;
  return !is_capturing(adaptive, queue) &&
         (sample->start || table->event_create(handle, &sample->start) == KDL_OK) &&
         (sample->end || table->event_create(handle, &sample->end) == KDL_OK) &&
         table->event_record(handle, sample->start, queue) == KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Launches                                                                                     */

/* Waits only for threads that look at the class, never for a launch. */
static bool enter_briefly(kdl_class_entry *entry) {
  for (unsigned i = 0; i < most_spins; ++i) {
    if (kdl_entry_try(entry))
      return true;
  }
  return false;
}

/* Another thread keeps the class: the next one in it frees the sample. */
static void drop(kdl_sample *sample) {
  clear_mark(sample);
  atomic_store_explicit(&sample->is_dropped, true, memory_order_release);
}

static void cancel(kdl_adaptive *adaptive, kdl_adaptive_trial *trial) {
  if (enter_briefly(trial->entry)) {
    trial->entry->burst_left = trial->is_trial ? 0 : trial->entry->burst_left;
    release_sample(adaptive, trial->entry, trial->sample);
    kdl_entry_leave(trial->entry);
  } else {
    drop(trial->sample);
  }
  trial->sample = NULL;
}

/* Threads of the host that sleep are not woken for short launches; those of a variant that uses
 * them would find them awake after its own launches. So a trial begins with threads that are awake,
 * and after it as many are as were before. */
static void wake_threads(const kdl_adaptive *adaptive, kdl_class_entry *entry) {
  unsigned awake = adaptive->subject.wake_threads ? adaptive->subject.wake_threads(UINT32_MAX) : 0;
  if (!enter_briefly(entry))
    return;
  entry->awake = awake;
  if (entry->warm_ns)
    entry->settled_ns = kdl_adaptive_clock() + entry->warm_ns;
  kdl_entry_leave(entry);
}

static void end_trial(const kdl_adaptive *adaptive, kdl_class_entry *entry) {
  if (entry->awake)
    adaptive->subject.wake_threads(entry->awake);
  if (entry->warm_ns)
    entry->settled_ns = kdl_adaptive_clock() + entry->warm_ns;
}

/* Whether the device had begun before the launch was enqueued. */
static bool has_found_idle(const kdl_adaptive *adaptive, const kdl_sample *sample) {
  const kdl_backend_table *table = adaptive->subject.table;
  int is_passed = 0;
  return table->event_query &&
         table->event_query(adaptive->subject.handle, sample->start, &is_passed) == KDL_OK &&
         is_passed;
}

/* A process that ends in the first trial of a variant leaves the mark, by which the next one knows
 * that the variant crashed or was interrupted. */
void kdl_sample_begin(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue) {
  KDL_NOT_CANCELLED;
  kdl_sample *sample = trial->sample;
  uint64_t now = kdl_adaptive_clock();
  if (sample->is_first) {
    kdl_marks_open(&adaptive->marks, adaptive->name, true);
    sample->mark =
        kdl_marks_set(&adaptive->marks, &trial->entry->key, adaptive->variants[sample->variant].id);
  }
  if (sample->is_begin)
    wake_threads(adaptive, trial->entry);
  sample->prepared_ns = sample->is_begin ? kdl_adaptive_clock() - now : 0;
  sample->is_idle = false;
  sample->began_ns = kdl_adaptive_clock();
  if (!adaptive->subject.is_host && !record_start(adaptive, sample, queue))
    cancel(adaptive, trial);
}

void kdl_sample_end(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue,
                    kdl_status status) {
  kdl_sample *sample = trial->sample;
  kdl_class_entry *entry = trial->entry;
  if (!sample)
    return;
  KDL_NOT_CANCELLED;
  const kdl_backend_table *table = adaptive->subject.table;
  bool is_host = adaptive->subject.is_host;
  uint64_t ended_ns = is_host ? kdl_adaptive_clock() : 0;
  if (!is_host && status == KDL_OK)
    sample->is_idle = has_found_idle(adaptive, sample);
  if (status != KDL_OK ||
      (!is_host && table->event_record(adaptive->subject.handle, sample->end, queue) != KDL_OK)) {
    cancel(adaptive, trial);
    return;
  }
  if (!enter_briefly(entry)) {
    drop(sample);
    return;
  }
  entry->explored_ns += sample->prepared_ns;
  sample->prepared_ns = 0;
  if (is_host) {
    add_time(adaptive, entry, sample, (double)(ended_ns - sample->began_ns));
    release_sample(adaptive, entry, sample);
    if (sample->is_trial && !entry->burst_left)
      end_trial(adaptive, entry);
  } else {
    sample->state = KDL_SAMPLE_PENDING;
  }
  bool is_decided = atomic_load_explicit(&entry->choice, memory_order_relaxed) & KDL_CHOICE_DECIDED;
  kdl_entry_leave(entry);
  if (is_decided)
    kdl_stored_flush(adaptive, entry);
}

void kdl_samples_free(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  const kdl_backend_table *table = adaptive->subject.table;
  for (unsigned i = 0; i < KDL_PENDING_LIMIT; ++i) {
    kdl_sample *sample = &entry->samples[i];
    if (sample->start && sample->state != KDL_SAMPLE_LOST)
      table->event_destroy(adaptive->subject.handle, sample->start);
    if (sample->end && sample->state != KDL_SAMPLE_LOST)
      table->event_destroy(adaptive->subject.handle, sample->end);
    sample->start = sample->end = NULL;
  }
}
