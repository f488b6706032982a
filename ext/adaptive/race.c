/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/race.h"

#include <string.h>

/* What the clock cannot distinguish, and by how much a challenger must be faster in the end. */
static const double clock_error = 0.005, least_gain = 0.01;
/* Two trials suffice to drop a variant that takes so much longer. */
static const double clearly_slower = 1.25;
/* A time so much longer than classes that are alike let expect may be that of an interruption. */
static const double most_unlike = 3;

void kdl_race_init(kdl_race *race, kdl_race_variant *variants, uint32_t count) {
  *race = (kdl_race){.count = count, .variants = variants};
  for (uint32_t i = 1; i < count; ++i) {
    if (variants[i].prior < variants[race->leader].prior)
      race->leader = i;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Samples                                                                                      */

static size_t sort_samples(const kdl_race_variant *variant, double out[KDL_RACE_SAMPLES]) {
  for (size_t i = 0; i < variant->count; ++i) {
    size_t at = i;
    for (; at && out[at - 1] > (double)variant->samples[i]; --at)
      out[at] = out[at - 1];
    out[at] = (double)variant->samples[i];
  }
  return variant->count;
}

static double median_of(const double *sorted, size_t count) {
  return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

double kdl_race_score(const kdl_race_variant *variant, double *out_spread) {
  double sorted[KDL_RACE_SAMPLES];
  size_t count = sort_samples(variant, sorted);
  if (out_spread)
    *out_spread = count ? (sorted[count - 1 - count / 4] - sorted[count / 4]) / 2 : 0;
  return median_of(sorted, count);
}

/* By how much the median of the samples may be wrong: three are believed no more than their range,
 * four no more than half of it, more of them by the median of their deviations, which outliers do
 * not change. */
static double median_error(const double *sorted, size_t count, double median) {
  if (count < 5)
    return (sorted[count - 1] - sorted[0]) / (count < 4 ? 1 : 2);
  /* 1.5 standard errors, if the deviations are normal: 1.5 x 1.4826 / sqrt(count) */
  static const double errors[KDL_RACE_SAMPLES + 1] = {
      [5] = 0.9945, [6] = 0.9079, [7] = 0.8406, [8] = 0.7863, [9] = 0.7413};
  double deviations[KDL_RACE_SAMPLES];
  for (size_t i = 0; i < count; ++i) {
    double deviation = sorted[i] < median ? median - sorted[i] : sorted[i] - median;
    size_t at = i;
    for (; at && deviations[at - 1] > deviation; --at)
      deviations[at] = deviations[at - 1];
    deviations[at] = deviation;
  }
  return errors[count] * median_of(deviations, count);
}

/* ------------------------------------------------------------------------------------------ */
/* Deciding                                                                                     */

typedef enum verdict { UNDECIDED, SLOWER, FASTER } verdict;

static double leader_score(const kdl_race *race) {
  double score = kdl_race_score(&race->variants[race->leader], NULL);
  return score > 0 ? score : 1;
}

static verdict compare_with_leader(const kdl_race *race, const kdl_race_variant *challenger) {
  double sorted[KDL_RACE_SAMPLES], scale = leader_score(race);
  size_t count = sort_samples(challenger, sorted);
  if (count < 2)
    return UNDECIDED;
  if (count == 2)
    return sorted[0] > clearly_slower * scale ? SLOWER : UNDECIDED;
  double median = median_of(sorted, count) / scale;
  double error = median_error(sorted, count, median * scale) / scale + clock_error;
  if (median - error > 1 - least_gain)
    return SLOWER;
  if (median + error < 1)
    return FASTER;
  if (count < KDL_RACE_TRIALS)
    return UNDECIDED;
  return median < 1 - least_gain ? FASTER : SLOWER;
}

static void promote(kdl_race *race, uint32_t variant) {
  race->variants[variant].state = KDL_RACE_OPEN;
  race->leader = variant;
}

/* Until no open challenger is known to be faster or slower. One that is known to be faster has the
 * smaller median, so that each leads once at most. */
static void decide_open(kdl_race *race) {
  uint32_t promotions = 0;
  for (uint32_t i = 0; i < race->count; ++i) {
    kdl_race_variant *variant = &race->variants[i];
    if (i == race->leader || variant->state != KDL_RACE_OPEN)
      continue;
    verdict known = compare_with_leader(race, variant);
    if (known == SLOWER)
      variant->state = KDL_RACE_SLOWER;
    if (known == FASTER && promotions++ < race->count) {
      promote(race, i);
      i = UINT32_MAX; /* from the start */
    }
  }
}

/* Whether a challenger is to be tried before another one: the better of those that were faster than
 * the leader so far, which may lead soon; then the one with fewer trials. */
static bool is_before(const kdl_race *race, const kdl_race_variant *a, const kdl_race_variant *b) {
  double leading = leader_score(race) * (1 - least_gain);
  double score_a = kdl_race_score(a, NULL), score_b = kdl_race_score(b, NULL);
  bool is_fast_a = a->count && score_a < leading, is_fast_b = b->count && score_b < leading;
  if (is_fast_a != is_fast_b)
    return is_fast_a;
  if (is_fast_a)
    return score_a < score_b;
  return a->count < b->count || (a->count == b->count && a->prior < b->prior);
}

uint32_t kdl_race_next(const kdl_race *race) {
  uint32_t next = KDL_RACE_NONE;
  for (uint32_t i = 0; i < race->count; ++i) {
    const kdl_race_variant *variant = &race->variants[i];
    if (i == race->leader || variant->state != KDL_RACE_OPEN)
      continue;
    if (next == KDL_RACE_NONE || is_before(race, variant, &race->variants[next]))
      next = i;
  }
  return next;
}

/* Whatever a table has, samples are positive: the score of a variant without samples is 0. */
static void add_sample(kdl_race_variant *variant, double sample) {
  double most = sample < KDL_RACE_MOST_SAMPLE ? sample : KDL_RACE_MOST_SAMPLE;
  if (variant->count == KDL_RACE_SAMPLES) {
    memmove(variant->samples, variant->samples + 1, sizeof variant->samples - sizeof(float));
    --variant->count;
  }
  variant->samples[variant->count++] =
      (float)(most > KDL_RACE_LEAST_SAMPLE ? most : KDL_RACE_LEAST_SAMPLE);
}

static bool has_other_samples(const kdl_race *race) {
  for (uint32_t i = 0; i < race->count; ++i) {
    if (i != race->leader && race->variants[i].count)
      return true;
  }
  return false;
}

bool kdl_race_add(kdl_race *race, uint32_t variant, double ratio) {
  uint32_t before = race->leader;
  /* The unit: as many samples as decide. */
  if (!has_other_samples(race))
    race->first = before;
  while (race->variants[before].count < KDL_RACE_TRIALS && !has_other_samples(race))
    add_sample(&race->variants[before], 1);
  kdl_race_variant *tried = &race->variants[variant];
  add_sample(tried, ratio * leader_score(race));
  /* What classes that are alike have shown counts as the first trial. It is stored as one, so that
   * other processes decide the same. */
  if (tried->count == 1 && ratio > clearly_slower && (double)tried->alike > clearly_slower &&
      ratio < most_unlike * (double)tried->alike)
    add_sample(tried, ratio * leader_score(race));
  kdl_race_settle(race, race->first);
  return race->leader != before;
}

void kdl_race_restore(kdl_race *race, uint32_t variant, double sample) {
  add_sample(&race->variants[variant], sample);
}

void kdl_race_settle(kdl_race *race, uint32_t first) {
  race->first = first;
  for (uint32_t i = 0; i < race->count; ++i) {
    if (race->variants[i].state == KDL_RACE_SLOWER)
      race->variants[i].state = KDL_RACE_OPEN;
  }
  if (race->variants[first].state == KDL_RACE_OPEN)
    race->leader = first;
  decide_open(race);
}

static uint32_t best_left(const kdl_race *race, unsigned least_count) {
  uint32_t best = race->leader;
  double best_score = 0;
  for (uint32_t i = 0; i < race->count; ++i) {
    const kdl_race_variant *variant = &race->variants[i];
    double score = kdl_race_score(variant, NULL);
    if (variant->state == KDL_RACE_EXCLUDED || variant->count < least_count)
      continue;
    if (best_score == 0 || score < best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

void kdl_race_exclude(kdl_race *race, uint32_t variant) {
  race->variants[variant].state = KDL_RACE_EXCLUDED;
  if (variant != race->leader)
    return;
  uint32_t best = best_left(race, 2);
  for (uint32_t i = 0; best == variant && i < race->count; ++i) {
    if (race->variants[i].state != KDL_RACE_EXCLUDED)
      best = i;
  }
  race->leader = best;
  if (best != variant)
    race->variants[best].state = KDL_RACE_OPEN;
}

void kdl_race_end(kdl_race *race) {
  uint32_t best = best_left(race, 3);
  double leading = kdl_race_score(&race->variants[race->leader], NULL);
  if (best != race->leader &&
      (leading == 0 || kdl_race_score(&race->variants[best], NULL) < leading * (1 - least_gain)))
    promote(race, best);
  for (uint32_t i = 0; i < race->count; ++i) {
    if (i != race->leader && race->variants[i].state == KDL_RACE_OPEN)
      race->variants[i].state = KDL_RACE_SLOWER;
  }
}
