/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A table in memory: the sum of its lines. */
#ifndef KDL_EXT_ADAPTIVE_MODEL_H
#define KDL_EXT_ADAPTIVE_MODEL_H

#include "ext/adaptive/race.h"
#include "ext/adaptive/table.h"

typedef struct kdl_model_variant {
  uint64_t id;
  uint32_t count;                  /* of samples */
  float samples[KDL_RACE_SAMPLES]; /* the newest, in units */
  kdl_string reason;               /* why it is excluded; `data` NULL: it is not */
} kdl_model_variant;

/* Exclusions are in the class with the unit 0. */
typedef struct kdl_model_class {
  kdl_problem_class key;
  uint64_t unit;
  double unit_ns;
  uint64_t launches, time_ns, explored_ns;
  kdl_model_variant *variants;
  size_t count, room;
} kdl_model_class;

typedef struct kdl_model {
  kdl_string identity; /* of the header, in the text; `data` NULL where it has none */
  kdl_model_class *classes;
  size_t count, room;
  size_t lines, damaged;
} kdl_model;

/* The text must outlive the model. False when out of memory; the model then has what fitted. */
bool kdl_model_parse(kdl_string text, kdl_model *out_model);
void kdl_model_free(kdl_model *model);

/* The same as lines, without a header; malloc'ed. NULL when out of memory. */
char *kdl_model_print(const kdl_model *model, size_t *out_size);

/* The line of the header: sealed, malloc'ed. */
char *kdl_table_header(kdl_string identity, size_t *out_size);

#endif
