/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/model.h"

#include "support/base/array.h"
#include "support/base/hash.h"

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

/* Numbers of classes and variants by the hashes of their keys. */
typedef struct {
  uint64_t hash, number; /* 0: free; else it is one more */
} index_slot;

typedef struct {
  index_slot *slots;
  size_t count, room; /* a power of two */
} number_index;

typedef struct {
  kdl_model *model;
  number_index classes, variants;
} parser;

/* A class and a unit, or a variant's identity in a class. */
typedef struct {
  uint64_t words[3];
} index_key;

static uint64_t hash_of(const index_key *key) {
  return kdl_hash_mix(kdl_hash_mix(kdl_hash_mix(kdl_hash_seed(), key->words[0]), key->words[1]),
                      key->words[2]);
}

static index_slot *free_slot(const number_index *in, uint64_t hash) {
  size_t at = hash & (in->room - 1);
  while (in->slots[at].number)
    at = (at + 1) & (in->room - 1);
  return &in->slots[at];
}

static bool reserve_slot(number_index *in) {
  enum { first_room = 64 };
  if (2 * in->count < in->room)
    return true;
  number_index grown = {NULL, in->count, in->room ? 2 * in->room : first_room};
  grown.slots = calloc(grown.room, sizeof *grown.slots);
  if (!grown.slots)
    return false;
  for (size_t i = 0; i < in->room; ++i) {
    if (in->slots[i].number)
      *free_slot(&grown, in->slots[i].hash) = in->slots[i];
  }
  free(in->slots);
  *in = grown;
  return true;
}

static void add_to_index(number_index *in, uint64_t hash, uint64_t number) {
  *free_slot(in, hash) = (index_slot){hash, number + 1};
  ++in->count;
}

static kdl_model_class *find_class(parser *p, const kdl_problem_class *key, uint64_t unit) {
  kdl_model *model = p->model;
  const uint64_t hash = hash_of(&(index_key){{key->words[0], key->words[1], unit}});
  if (!reserve_slot(&p->classes))
    return NULL;
  const size_t mask = p->classes.room - 1;
  for (size_t at = hash & mask; p->classes.slots[at].number; at = (at + 1) & mask) {
    kdl_model_class *known = &model->classes[p->classes.slots[at].number - 1];
    if (known->unit == unit && known->key.words[0] == key->words[0] &&
        known->key.words[1] == key->words[1])
      return known;
  }
  void *grown =
      kdl_array_grow(model->classes, model->count, &model->room, 32, sizeof *model->classes);
  if (!grown)
    return NULL;
  model->classes = grown;
  model->classes[model->count] = (kdl_model_class){.key = *key, .unit = unit};
  add_to_index(&p->classes, hash, model->count);
  return &model->classes[model->count++];
}

/* Of all classes: the number in the index is that of the variant in its class. */
static kdl_model_variant *find_variant(parser *p, kdl_model_class *in, uint64_t id) {
  const uint64_t class_number = (uint64_t)(in - p->model->classes);
  const uint64_t hash = hash_of(&(index_key){{class_number, id, 0}});
  if (!reserve_slot(&p->variants))
    return NULL;
  const size_t mask = p->variants.room - 1;
  for (size_t at = hash & mask; p->variants.slots[at].number; at = (at + 1) & mask) {
    const index_slot *slot = &p->variants.slots[at];
    if (slot->hash == hash && slot->number <= in->count && in->variants[slot->number - 1].id == id)
      return &in->variants[slot->number - 1];
  }
  void *grown = kdl_array_grow(in->variants, in->count, &in->room, 8, sizeof *in->variants);
  if (!grown)
    return NULL;
  in->variants = grown;
  in->variants[in->count] = (kdl_model_variant){.id = id};
  add_to_index(&p->variants, hash, in->count);
  return &in->variants[in->count++];
}

static bool add_samples(parser *p, kdl_model_class *to, kdl_string samples) {
  size_t at = 0;
  uint64_t id = 0;
  double sample;
  while (kdl_table_next_sample(samples, &at, &id, &sample)) {
    kdl_model_variant *variant = find_variant(p, to, id);
    if (!variant)
      return false;
    if (variant->count == KDL_RACE_SAMPLES) {
      memmove(variant->samples, variant->samples + 1, sizeof variant->samples - sizeof(float));
      --variant->count;
    }
    variant->samples[variant->count++] = (float)sample;
  }
  return true;
}

static bool add_line(parser *p, const kdl_table_line *line) {
  kdl_model *model = p->model;
  if (line->kind == KDL_TABLE_HEADER) {
    if (!model->identity.data && kdl_text_starts(line->text, "1 "))
      model->identity = kdl_text_substr(line->text, 2);
    return true;
  }
  kdl_model_class *to = find_class(p, &line->class_key, line->unit);
  if (!to)
    return false;
  if (line->kind == KDL_TABLE_TIMES) {
    to->launches += line->launches;
    to->time_ns += line->time_ns;
    to->explored_ns += line->explored_ns;
    to->unit_ns = line->unit_ns > 0 ? line->unit_ns : to->unit_ns;
    return add_samples(p, to, line->samples);
  }
  kdl_model_variant *variant = find_variant(p, to, line->variant);
  if (!variant)
    return false;
  variant->reason = line->text;
  return true;
}

bool kdl_model_parse(kdl_string text, kdl_model *out_model) {
  kdl_table_line line;
  size_t at = 0;
  bool has_room = true;
  parser p = {.model = out_model};
  *out_model = (kdl_model){.lines = 0};
  while (has_room && kdl_table_next(text, &at, &line, &out_model->damaged)) {
    has_room = add_line(&p, &line);
    ++out_model->lines;
  }
  free(p.classes.slots);
  free(p.variants.slots);
  return has_room;
}

void kdl_model_free(kdl_model *model) {
  for (size_t i = 0; i < model->count; ++i)
    free(model->classes[i].variants);
  free(model->classes);
  *model = (kdl_model){.lines = 0};
}

/* ------------------------------------------------------------------------------------------ */
/* Printing                                                                                     */

typedef struct {
  char *data;
  size_t size, room;
  bool has_failed;
} text_buffer;

static void add_sealed(text_buffer *to, const char *content) {
  char line[KDL_TABLE_LINE + 16];
  size_t size = kdl_table_seal(content, line, sizeof line);
  while (!to->has_failed && to->size + size > to->room) {
    size_t room = to->room ? 2 * to->room : (size_t)2 * KDL_TABLE_LINE;
    char *data = realloc(to->data, room);
    to->has_failed = !data;
    if (data) {
      to->data = data;
      to->room = room;
    }
  }
  if (to->has_failed || !size)
    return;
  memcpy(to->data + to->size, line, size);
  to->size += size;
}

static void out_class(kdl_out *out, char kind, const kdl_model_class *of) {
  kdl_out_format(out, "%c %" PRIx64 " %" PRIx64, kind, of->key.words[0], of->key.words[1]);
}

static void print_exclusions(const kdl_model_class *of, text_buffer *to) {
  for (size_t i = 0; i < of->count; ++i) {
    const kdl_model_variant *variant = &of->variants[i];
    char content[KDL_TABLE_LINE];
    kdl_out out = {content, sizeof content, 0};
    if (!variant->reason.data)
      continue;
    out_class(&out, KDL_TABLE_EXCLUDED, of);
    kdl_out_format(&out, " %" PRIx64 " %.*s", variant->id, (int)variant->reason.length,
                   variant->reason.data);
    add_sealed(to, content);
  }
}

static void print_times(const kdl_model_class *of, text_buffer *to) {
  char content[KDL_TABLE_LINE];
  kdl_out out = {content, sizeof content, 0};
  out_class(&out, KDL_TABLE_TIMES, of);
  kdl_out_format(&out, " %" PRIx64 " %.0f %" PRIu64 " %" PRIu64 " %" PRIu64, of->unit, of->unit_ns,
                 of->launches, of->time_ns, of->explored_ns);
  for (size_t i = 0; i < of->count; ++i) {
    const kdl_model_variant *variant = &of->variants[i];
    kdl_table_out_samples(&out, variant->id, variant->samples, variant->count);
  }
  if (out.used < sizeof content)
    add_sealed(to, content);
}

char *kdl_model_print(const kdl_model *model, size_t *out_size) {
  text_buffer made = {NULL, 0, 0, false};
  for (size_t i = 0; i < model->count; ++i) {
    print_exclusions(&model->classes[i], &made);
    if (model->classes[i].launches || model->classes[i].unit)
      print_times(&model->classes[i], &made);
  }
  if (made.has_failed) {
    free(made.data);
    return NULL;
  }
  *out_size = made.size;
  return made.data ? made.data : calloc(1, 1);
}

char *kdl_table_header(kdl_string identity, size_t *out_size) {
  char content[KDL_TABLE_LINE];
  text_buffer made = {NULL, 0, 0, false};
  snprintf(content, sizeof content, "h 1 %.*s", (int)identity.length, identity.data);
  add_sealed(&made, content);
  *out_size = made.size;
  return made.data;
}
