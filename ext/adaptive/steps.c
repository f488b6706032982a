/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a launch of an undecided class does: it uses the leader, measures it, or tries another
 * variant. */
#include "ext/adaptive/choices.h"

/* The first launches after another variant are slower: code, caches and threads are cold. The
 * shorter a launch takes, the more of them are not compared. */
enum { cooling_launches = 2 };
static const double short_ns = 5e4, medium_ns = 5e5, long_ns = 3e6, long_on_device_ns = 2e5;

/* Threads of the host that nothing uses sleep after 50 us; where launches are so short, those for
 * longer are not compared. */
static const uint64_t settle_ns = 80000;

/* Launches of a class are not measured forever in search of two with the same numbers. */
enum { reference_tries = 16, first_references = 3 };

/* How long loading a variant takes that was not loaded before; the first trial waits until it fits
 * the budget. */
static const double load_ns = 2e5, compile_ns = 1e8;

typedef enum next_step {
  PLAIN,     /* launch the leader */
  REFERENCE, /* the same, measured */
  TRIAL,
  DECIDE,
} next_step;

/* ------------------------------------------------------------------------------------------ */
/* Trials                                                                                       */

/* The launches of a trial: those that are not compared, at least for a time, and those that are. */
typedef struct trial_plan {
  uint32_t warm, compared;
  uint64_t warm_ns;
} trial_plan;

/* A device gets all launches of a trial before the first one's time is known. So the first trial of
 * a variant there is a single launch, which counts if it takes much longer than the leader's; and
 * one that is known to be slow gets no more. */
static bool is_look(const kdl_adaptive *adaptive, const kdl_class_entry *entry, uint32_t variant) {
  const kdl_race_variant *of = &entry->race.variants[variant];
  if (adaptive->subject.is_host)
    return false;
  if (!of->count)
    return !(entry->looked >> variant & 1);
  return of->count == 1 &&
         kdl_sample_is_waste((double)of->samples[0] * entry->unit_ns, kdl_reference_ns(entry));
}

static trial_plan plan_trial(const kdl_adaptive *adaptive, const kdl_class_entry *entry,
                             uint32_t variant) {
  double ns = kdl_reference_ns(entry);
  bool is_host = adaptive->subject.is_host;
  if (is_look(adaptive, entry, variant))
    return (trial_plan){0, 1, 0};
  if (ns < short_ns)
    return (trial_plan){is_host ? 2 : 1, KDL_BURST_COMPARED,
                        adaptive->subject.wake_threads ? settle_ns : 0};
  if (is_host && ns < medium_ns)
    return (trial_plan){2, 1, 0}; /* a second one shows whether the first was interrupted */
  return (trial_plan){ns < (is_host ? long_ns : long_on_device_ns) ? 1 : 0, 1, 0};
}

static bool is_in_budget(const kdl_adaptive *adaptive, const kdl_class_entry *entry,
                         uint32_t challenger) {
  const kdl_race_variant *variant = &entry->race.variants[challenger];
  double expected = kdl_reference_ns(entry), expected_load = 0;
  double leader = kdl_race_score(&entry->race.variants[entry->race.leader], NULL);
  if (variant->count)
    expected *= kdl_race_score(variant, NULL) / (leader > 0 ? leader : 1);
  else if (variant->alike > 1)
    expected *= (double)variant->alike;
  if (!(__atomic_load_n(&adaptive->tried, __ATOMIC_RELAXED) >> challenger & 1))
    expected_load = adaptive->variants[challenger].is_compiled ? compile_ns : load_ns;
  trial_plan plan = plan_trial(adaptive, entry, challenger);
  expected = expected * (plan.warm + plan.compared) + (double)plan.warm_ns + expected_load;
  return (double)entry->explored_ns + expected <= adaptive->explore.share * (double)entry->time_ns;
}

static void begin_trial(const kdl_adaptive *adaptive, kdl_class_entry *entry, uint32_t challenger,
                        uint64_t exact) {
  trial_plan plan = plan_trial(adaptive, entry, challenger);
  entry->burst_variant = challenger;
  entry->burst_left = plan.warm + plan.compared;
  entry->burst_compared = plan.compared;
  entry->burst_times = entry->burst_idle_times = 0;
  entry->burst_exact = exact;
  entry->warm_ns = plan.warm_ns;
  entry->settled_ns = 0;
  entry->is_burst_begun = entry->has_wasted = false;
}

/* Whether the launch that is next comes too soon after another variant's to be compared. */
static bool is_settling(const kdl_class_entry *entry) {
  return entry->settled_ns && kdl_adaptive_clock() < entry->settled_ns;
}

/* ------------------------------------------------------------------------------------------ */
/* Steps                                                                                        */

static next_step decide_step(const kdl_adaptive *adaptive, kdl_class_entry *entry, uint64_t exact,
                             bool is_cooling, uint32_t *out_challenger) {
  *out_challenger = kdl_race_next(&entry->race);
  if (*out_challenger == KDL_RACE_NONE || entry->trials >= adaptive->explore.trials)
    return DECIDE;
  if (entry->burst_left && entry->race.variants[entry->burst_variant].state == KDL_RACE_OPEN &&
      entry->burst_variant != entry->race.leader && entry->pending < KDL_PENDING_LIMIT) {
    *out_challenger = entry->burst_variant;
    return TRIAL;
  }
  entry->burst_left = 0;
  if (entry->pending == KDL_PENDING_LIMIT || entry->burst_pending)
    return PLAIN; /* one trial at a time */
  if (is_cooling)
    return adaptive->subject.is_host ? REFERENCE : PLAIN;
  if (entry->reference_count < first_references)
    return REFERENCE;
  if (!is_in_budget(adaptive, entry, *out_challenger))
    return adaptive->subject.is_host ? REFERENCE : PLAIN;
  const kdl_reference *newest = &entry->references[entry->reference_count - 1];
  bool is_fresh = newest->exact == exact && newest->number + 2 >= entry->launches;
  if (is_fresh || entry->reference_tries >= reference_tries) {
    begin_trial(adaptive, entry, *out_challenger, exact);
    return TRIAL;
  }
  ++entry->reference_tries;
  return REFERENCE;
}

static kdl_sample *acquire_sample(kdl_class_entry *entry) {
  for (unsigned i = 0; i < KDL_PENDING_LIMIT; ++i) {
    kdl_sample *sample = &entry->samples[i];
    if (sample->state != KDL_SAMPLE_FREE)
      continue;
    sample->state = KDL_SAMPLE_USED;
    ++entry->pending;
    return sample;
  }
  return NULL;
}

static void count_trial_launch(kdl_class_entry *entry, kdl_sample *sample) {
  bool is_last_warm = entry->burst_left == entry->burst_compared + 1;
  sample->is_begin = !entry->is_burst_begun;
  sample->is_first = sample->is_begin && entry->race.variants[sample->variant].count == 0;
  sample->is_warm = entry->burst_left > entry->burst_compared;
  if (!is_last_warm || !is_settling(entry))
    --entry->burst_left;
  entry->reference_tries = 0;
  entry->is_burst_begun = true;
  ++entry->burst_pending;
  entry->cooling = cooling_launches;
}

uint32_t kdl_choices_step(kdl_adaptive *adaptive, kdl_class_entry *entry, uint64_t exact,
                          kdl_adaptive_trial *out_trial) {
  uint32_t challenger;
  uint32_t leader = entry->race.leader;
  bool is_cooling = !entry->burst_left && (entry->cooling || is_settling(entry));
  next_step step = decide_step(adaptive, entry, exact, is_cooling, &challenger);
  if (step == DECIDE && !entry->burst_pending) {
    kdl_race_end(&entry->race);
    kdl_choices_publish(adaptive, entry, true);
    return entry->race.leader;
  }
  kdl_sample *sample = step == PLAIN || step == DECIDE ? NULL : acquire_sample(entry);
  is_cooling = is_cooling && step != TRIAL;
  entry->cooling -= is_cooling && entry->cooling;
  if (!sample) {
    entry->time_ns += (uint64_t)kdl_reference_ns(entry);
    return leader;
  }
  sample->is_trial = step == TRIAL;
  sample->is_begin = sample->is_first = false;
  sample->is_warm = is_cooling;
  sample->variant = step == TRIAL ? challenger : leader;
  sample->exact = exact;
  sample->number = entry->launches;
  if (step == TRIAL)
    count_trial_launch(entry, sample);
  *out_trial = (kdl_adaptive_trial){entry, sample, leader, step == TRIAL};
  return sample->variant;
}
