/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What is expected of variants in a class before they are measured there: by times in classes that
 * are alike, else by the static rank and an estimate from their tiles.
 */
#include "ext/adaptive/choices.h"

/* Classes that are so far apart, in eighths of doublings, are not alike. */
enum { near_classes = 48 };

/* How many parts of that size cover `count`. Numbers beyond 2^53 are not exact anyway, and those
 * beyond 2^64 are not integers of any type. */
static double parts_of(double count, uint32_t size) {
  if (count >= 9007199254740992.0)
    return count / size;
  uint64_t parts = ((uint64_t)count + size - 1) / size;
  return (double)parts;
}

/* How much of the device a variant leaves idle, because groups cover more than the problem and the
 * last round of groups does not fill it: the time that tiles alone explain. 0: not known. */
static double estimate_waste(const kdl_adaptive *adaptive, const kdl_problem_class *key,
                             const uint32_t tile[3]) {
  double groups = 1, items = 1, covered = 1;
  if (!tile[0] || kdl_class_is_grid(key))
    return 0;
  for (unsigned i = 0; i < KDL_CLASS_EXTENTS; ++i) {
    uint64_t least, most;
    kdl_class_range(kdl_class_bucket_at(key, i), &least, &most);
    double middle = (double)least / 2 + (double)most / 2;
    middle = middle < 1 ? 1 : middle;
    const double tiles = parts_of(middle, tile[i]);
    items *= middle;
    groups *= tiles;
    covered *= tiles * (double)tile[i];
  }
  uint32_t units = adaptive->subject.units ? adaptive->subject.units : 1;
  return covered / items * (parts_of(groups, units) * units / groups);
}

/* The static rank, then the estimate. */
static void set_by_rank(const kdl_adaptive *adaptive, kdl_class_entry *entry) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    const kdl_adaptive_variant *variant = &adaptive->variants[i];
    if (i && memcmp(variant->order, variant[-1].order, sizeof variant->order) != 0)
      ++rank;
    double waste = estimate_waste(adaptive, &entry->key, variant->tile);
    entry->race.variants[i].prior = (float)(rank * 1000.0 + (waste < 999 ? waste : 999));
    entry->race.variants[i].alike = 0;
  }
  /* Without an estimate and until a trial shows another one, the first in rank order leads. */
  entry->race.variants[0].prior = -1;
}

/* The weight of a class halves with each half of a doubling. */
static double weight_of(uint32_t distance) {
  return (double)(8 - distance % 4) / (double)((uint64_t)8 << distance / 4);
}

/* Of a variant, over classes: the best time as a share of the variant's. */
typedef struct {
  double shares, weights;
} expectation;

static bool add_class(kdl_class_entry *other, double weight, expectation *to) {
  const kdl_race *race = &other->race;
  if (!kdl_entry_try(other))
    return false;
  double best = kdl_race_score(&race->variants[race->leader], NULL);
  bool is_known = other->trials && best > 0;
  for (uint32_t i = 0; is_known && i < race->count; ++i) {
    if (race->variants[i].count < 2 || race->variants[i].state == KDL_RACE_EXCLUDED)
      continue;
    double share = best / kdl_race_score(&race->variants[i], NULL);
    to[i].shares += weight * (share < 1 ? share : 1);
    to[i].weights += weight;
  }
  kdl_entry_leave(other);
  return is_known;
}

/* The variant that is expected to be the fastest leads, until it is measured. */
static void set_by_alike(kdl_class_entry *entry, const expectation *expected) {
  double best = 0;
  uint32_t leader = entry->race.leader;
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    double share = expected[i].weights > 0 ? expected[i].shares / expected[i].weights : 0;
    if (entry->race.variants[i].state == KDL_RACE_OPEN && share > best) {
      best = share;
      leader = i;
    }
  }
  for (uint32_t i = 0; i < entry->race.count; ++i) {
    if (!(expected[i].weights > 0))
      continue; /* one that is not known anywhere keeps its rank */
    float slower = (float)(best * expected[i].weights / expected[i].shares);
    entry->race.variants[i].alike = slower;
    entry->race.variants[i].prior = slower;
  }
  if (!entry->trials)
    entry->race.leader = leader;
}

void kdl_priors_set(kdl_adaptive *adaptive, kdl_class_entry *entry) {
  expectation expected[KDL_RACE_VARIANTS] = {{0, 0}};
  bool is_known = false;
  set_by_rank(adaptive, entry);
  for (kdl_class_entry *other = atomic_load(&adaptive->classes); other; other = other->next) {
    uint32_t distance = kdl_class_distance(&entry->key, &other->key);
    if (other != entry && distance <= near_classes)
      is_known |= add_class(other, weight_of(distance), expected);
  }
  if (is_known)
    set_by_alike(entry, expected);
}
