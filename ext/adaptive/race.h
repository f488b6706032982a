/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A race: which of a kernel's variants is the fastest for one class of problems, by few and noisy
 * measurements. Nothing in it reads a clock or launches anything.
 *
 * One variant leads: launches use it. The others are challengers. A trial of a challenger is
 * compared with a launch of the leader just before it, so that a slower clock or a busy machine
 * slows both. A challenger is dropped as soon as it is known to be slower, and leads as soon as it
 * is known to be faster; both take at least two trials, or one of a challenger that was slow in
 * classes that are alike. The race is decided when no challenger is left.
 *
 * Times are multiples of a unit, the time of the class's first leader, so that times of other
 * processes can be added, whatever the clock was there.
 */
#ifndef KDL_EXT_ADAPTIVE_RACE_H
#define KDL_EXT_ADAPTIVE_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  KDL_RACE_SAMPLES = 9,   /* that are kept of a variant */
  KDL_RACE_TRIALS = 7,    /* after which the medians decide */
  KDL_RACE_VARIANTS = 64, /* further ones are not tried */
};

#define KDL_RACE_NONE UINT32_MAX

typedef enum kdl_race_state {
  KDL_RACE_OPEN,     /* a challenger, or the leader */
  KDL_RACE_SLOWER,   /* known to be slower than the leader, or not faster */
  KDL_RACE_EXCLUDED, /* never launched for the class: it failed, or may not be tried */
} kdl_race_state;

typedef struct kdl_race_variant {
  uint8_t state; /* kdl_race_state */
  uint8_t count;
  float samples[KDL_RACE_SAMPLES];
  float prior; /* of challengers with as many trials, the one with the least is tried first */
  float alike; /* times as long as the best one in classes that are alike; 0: not known */
} kdl_race_variant;

typedef struct kdl_race {
  uint32_t count;
  uint32_t leader;
  uint32_t first; /* led first: its time is the unit */
  kdl_race_variant *variants;
} kdl_race;

/* All are open, and the variant with the least prior leads. */
void kdl_race_init(kdl_race *race, kdl_race_variant *variants, uint32_t count);

/* The median of a variant's samples, in units; 0 where it has none. *out_spread is half of the
 * range in which the middle half of the samples is. */
double kdl_race_score(const kdl_race_variant *variant, double *out_spread);

/* The challenger to try next: one that was faster than the leader so far, else one of the least
 * trials. KDL_RACE_NONE where the race is decided. */
uint32_t kdl_race_next(const kdl_race *race);

/* Adds a trial that took `ratio` times as long as the leader. True where the leader changed. */
bool kdl_race_add(kdl_race *race, uint32_t variant, double ratio);

/* What the table stores of a sample at least and at most. */
#define KDL_RACE_LEAST_SAMPLE 1e-8
#define KDL_RACE_MOST_SAMPLE 1e8

/* Adds a sample in units, as stored by another process. Call kdl_race_settle after the last. */
void kdl_race_restore(kdl_race *race, uint32_t variant, double sample);

/* Decides by the samples alone, so that each process that has the same samples decides the same:
 * `first` leads unless another one is known to be faster. */
void kdl_race_settle(kdl_race *race, uint32_t first);

/* Takes a variant out. Another one leads if it led. */
void kdl_race_exclude(kdl_race *race, uint32_t variant);

/* Ends a race that was not decided: the variant with the best median of at least three trials
 * leads. */
void kdl_race_end(kdl_race *race);

#endif
