/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The choices of one kernel on one device: a race (race.h) per class of problems
 * (problem_class.h).
 *
 * choices.c has the classes, steps.c what a launch does, priors.c what is expected, sample.c
 * measures, stored.c reads and writes the table (table.h), settings.c reads KDL_EXPLORE.
 */
#ifndef KDL_EXT_ADAPTIVE_CHOICES_H
#define KDL_EXT_ADAPTIVE_CHOICES_H

#include "ext/adaptive/marks.h"
#include "ext/adaptive/problem_class.h"
#include "ext/adaptive/race.h"
#include "ext/adaptive/table.h"
#include "support/base/cancel.h"
#include "support/base/trie.h"

enum {
  KDL_CLASS_LIMIT = 4096, /* classes of a kernel; launches of others use the first variant */
  KDL_PENDING_LIMIT = 8,  /* measured launches of a class that have not ended */
  KDL_REFERENCES = 8,     /* times of the leader that are kept */
  KDL_BURST_COMPARED = 5, /* launches of a trial of which the median counts, at most */
};

/* KDL_EXPLORE=TRIALS[,PERCENT%] */
typedef struct kdl_explore_settings {
  uint32_t trials; /* of a class, at most; 0: no trials, what is known decides */
  double share;    /* of the time spent in a class, at most */
} kdl_explore_settings;

kdl_explore_settings kdl_explore_settings_read(void);

/* The clock of the host in ns; tests replace it. */
extern uint64_t (*kdl_adaptive_clock)(void);

typedef enum kdl_sample_state {
  KDL_SAMPLE_FREE,
  KDL_SAMPLE_USED,
  KDL_SAMPLE_PENDING,
  KDL_SAMPLE_LOST, /* it hangs: its events are not used again */
} kdl_sample_state;

/* One measured launch. */
typedef struct kdl_sample {
  uint8_t state;          /* kdl_sample_state */
  atomic_bool is_dropped; /* its launch has ended without a time, while another thread was in the
                             class: free it */
  bool is_trial;          /* of a challenger; else the leader is measured */
  bool is_first;          /* of its variant and class: it is marked */
  bool is_begin;          /* of a trial */
  bool is_warm;           /* one of the first after another variant ran: its time is not compared */
  bool is_idle;           /* the device had nothing to do before it */
  uint32_t variant;
  uint64_t exact;       /* hash of the launch's numbers */
  uint64_t number;      /* of the launch in its class */
  uint64_t prepared_ns; /* what was done before the first launch of a trial took */
  kdl_mark *mark;       /* NULL: none */
  uint64_t began_ns;    /* by the host's clock */
  void *start, *end;    /* events of the backend; NULL on the host */
} kdl_sample;

/* A time of the leader. */
typedef struct kdl_reference {
  double ns;
  uint64_t exact, number; /* as in kdl_sample */
  bool is_idle;
} kdl_reference;

typedef struct kdl_class_entry {
  kdl_trie_node node;
  kdl_problem_class key;
  struct kdl_class_entry *next; /* in kdl_adaptive.classes */
  _Atomic(uint32_t) choice;     /* the leader; KDL_CHOICE_DECIDED: launches need no more */
  atomic_bool is_busy;          /* a thread uses the members that follow; others do not wait */

  kdl_race race;
  bool needs_priors; /* before its next step: it is from a table */
  uint64_t unit;     /* identity of the variant whose time is the unit; 0: not set */
  double unit_ns;
  uint64_t launches, time_ns, explored_ns;
  uint32_t trials;

  kdl_reference references[KDL_REFERENCES]; /* the newest last */
  uint32_t reference_count;
  uint32_t reference_tries; /* since the last trial */
  kdl_sample samples[KDL_PENDING_LIMIT];
  uint32_t pending; /* samples that are not free */

  /* A trial is a burst of launches. */
  uint32_t burst_variant;
  uint32_t burst_left;     /* launches to begin */
  uint32_t burst_pending;  /* launches that have begun, and whose time is not known */
  uint32_t burst_compared; /* launches that are not warm */
  uint32_t burst_times;    /* of them whose time is known */
  double burst_ns[KDL_BURST_COMPARED];
  uint32_t burst_idle_times; /* the same of those that found the device idle */
  double burst_idle_ns[KDL_BURST_COMPARED];
  uint64_t warm_ns;    /* for which launches of the trial are warm */
  uint64_t settled_ns; /* until then launches are not compared; 0: not known */
  uint64_t burst_exact;
  bool is_burst_begun;
  bool has_wasted;  /* the launch before took much longer than the leader's */
  unsigned awake;   /* threads of the host that were awake before the trial */
  uint64_t looked;  /* bits of variants whose first launch was not much slower than the leader's */
  uint32_t cooling; /* launches of the leader after a burst that are not compared */

  uint64_t saved_launches, saved_time_ns, saved_explored_ns; /* what the table has */
  uint8_t *unsaved;                                          /* newest samples of each variant */
  char **reasons; /* of excluded variants; NULL where there is none */
} kdl_class_entry;

#define KDL_CHOICE_DECIDED 0x80000000u
#define KDL_CHOICE_MEASURED 0x40000000u /* by trials, of this process or another */
#define KDL_CHOICE_VARIANT 0x3fffffffu

struct kdl_adaptive {
  kdl_adaptive_subject subject; /* pointers into `text` and the arrays below */
  kdl_explore_settings explore;
  char name[KDL_TABLE_NAME]; /* of the table's file */
  kdl_table_file file;
  kdl_marks marks;
  atomic_bool is_file_busy; /* a thread uses it; others open the file for themselves */
  int process;
  kdl_trie classes_by_key;
  _Atomic(kdl_class_entry *) classes; /* newest first */
  atomic_uint class_count;
  uint64_t unloadable; /* bits of variants that do not load in this process */
  bool is_loading;     /* entries come from the table, and get their priors later */
  uint64_t tried;      /* bits of variants that have been tried, and so are loaded */
  struct kdl_adaptive *next_open;
  _Atomic(uint64_t) flushed_ns;
  uint32_t may_try_count; /* variants without a refusal */
  kdl_shape_argument arguments[KDL_CLASS_ARGUMENTS];
  kdl_adaptive_variant *variants;
  char *text; /* all strings */
};

/* The entry of a class, created with what the table knows where there is none. NULL when out of
 * memory or beyond the limit. */
kdl_class_entry *kdl_choices_entry(kdl_adaptive *adaptive, const kdl_problem_class *key);

/* Stores the leader for launches, and whether the race is decided. Called with the entry in use. */
void kdl_choices_publish(kdl_adaptive *adaptive, kdl_class_entry *entry, bool is_decided);

/* A line for KDL_DEBUG=select, which begins with the kernel and the class. */
void kdl_choices_log(const kdl_adaptive *adaptive, const kdl_class_entry *entry, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* "image 2 (wide)" */
void kdl_choices_variant(const kdl_adaptive *adaptive, uint32_t variant, kdl_out *out);

/* Takes a variant out of a class, for good with `is_stored`. Called with the entry in use. */
void kdl_choices_exclude(kdl_adaptive *adaptive, kdl_class_entry *entry, uint32_t variant,
                         const char *reason, bool is_stored);

bool kdl_entry_try(kdl_class_entry *entry);
void kdl_entry_leave(kdl_class_entry *entry);

/* steps.c: what the launch does. Called with the entry in use; returns the variant. */
uint32_t kdl_choices_step(kdl_adaptive *adaptive, kdl_class_entry *entry, uint64_t exact,
                          kdl_adaptive_trial *out_trial);

/* priors.c: what is expected of the variants of a class. Without trials of its own, the one that is
 * expected to be the fastest leads. Called with the entry in use, or before it is added. */
void kdl_priors_set(kdl_adaptive *adaptive, kdl_class_entry *entry);

/* ------------------------------------------------------------------------------------------ */
/* sample.c                                                                                     */

/* Reads the times of measured launches that have ended. Called with the entry in use. True where a
 * trial was added. */
bool kdl_samples_collect(kdl_adaptive *adaptive, kdl_class_entry *entry);

void kdl_sample_begin(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue);
void kdl_sample_end(kdl_adaptive *adaptive, kdl_adaptive_trial *trial, void *queue,
                    kdl_status status);
void kdl_samples_free(kdl_adaptive *adaptive, kdl_class_entry *entry);

/* Whether a time is so much longer than the leader's that no cold cache explains it. */
bool kdl_sample_is_waste(double ns, double reference_ns);

/* The median of the leader's newest times; 0 where there is none. */
double kdl_reference_ns(const kdl_class_entry *entry);

/* ------------------------------------------------------------------------------------------ */
/* stored.c                                                                                     */

/* Creates the entries that the table has. */
void kdl_stored_load(kdl_adaptive *adaptive);

/* Appends what is not stored yet. Not called with the entry in use. */
void kdl_stored_flush(kdl_adaptive *adaptive, kdl_class_entry *entry);

/* Appends that a variant, by its identity, is excluded. False where that was not stored. */
bool kdl_stored_exclude(kdl_adaptive *adaptive, const kdl_problem_class *key, uint64_t variant,
                        const char *reason);

#endif
