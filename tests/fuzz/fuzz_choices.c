/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A table of measured times out of arbitrary bytes, as they are and with each line's checksum made
 * right, so that what comes behind the checksum is reached. What is taken prints, and reads the
 * same again, but for the order of a class's variants; a race with its samples ends. */
#include "ext/adaptive/model.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whoever led first, one variant leads, and a few trials decide. */
static void run_race(const kdl_model_class *times) {
  kdl_race_variant variants[KDL_RACE_VARIANTS] = {{.count = 0}};
  uint32_t count =
      times->count < KDL_RACE_VARIANTS ? (uint32_t)times->count : (uint32_t)KDL_RACE_VARIANTS;
  uint32_t trials = 0, next;
  kdl_race race;
  kdl_race_init(&race, variants, count);
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < times->variants[i].count; ++k)
      kdl_race_restore(&race, i, (double)times->variants[i].samples[k]);
    if (times->variants[i].reason.data)
      kdl_race_exclude(&race, i);
  }
  for (uint32_t first = count; first--;) {
    kdl_race_settle(&race, first);
    if (race.leader >= count || !(kdl_race_score(&variants[first], NULL) >= 0))
      abort();
  }
  while ((next = kdl_race_next(&race)) != KDL_RACE_NONE) {
    if (trials++ == count * KDL_RACE_TRIALS)
      abort();
    kdl_race_add(&race, next, 1);
  }
}

static char *print_again(kdl_string text, size_t *out_size) {
  kdl_model model;
  if (!kdl_model_parse(text, &model) || model.damaged)
    abort();
  char *printed = kdl_model_print(&model, out_size);
  if (!printed || *out_size != text.length)
    abort();
  kdl_model_free(&model);
  return printed;
}

static void read_table(kdl_string text) {
  kdl_model first;
  size_t size;
  char label[512];
  if (!kdl_model_parse(text, &first))
    abort();
  for (size_t i = 0; i < first.count; ++i) {
    kdl_class_print(&first.classes[i].key, NULL, 0, &(kdl_out){label, sizeof label, 0});
    run_race(&first.classes[i]);
  }
  char *printed = kdl_model_print(&first, &size);
  if (!printed)
    abort();
  char *second = print_again((kdl_string){printed, size}, &size);
  char *third = print_again((kdl_string){second, size}, &size);
  if (memcmp(third, second, size) != 0)
    abort();
  kdl_model_free(&first);
  free(printed);
  free(second);
  free(third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *sealed = malloc(size * 12 + 16), *line = malloc(size + 1);
  size_t used = 0;
  if (!sealed || !line)
    abort();
  read_table((kdl_string){(const char *)data, size});
  for (size_t at = 0; at < size;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    size_t length = end ? (size_t)(end - data) - at : size - at;
    memcpy(line, data + at, length);
    line[length] = '\0';
    if (*line)
      used += kdl_table_seal(line, sealed + used, size * 12 + 16 - used);
    at += length + 1;
  }
  read_table((kdl_string){sealed, used});
  free(sealed);
  free(line);
  return 0;
}
