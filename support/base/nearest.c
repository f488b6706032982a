/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { longest = 31 };

static bool same_letter(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits (insert, delete, replace) that turn one word into the other. */
static size_t edit_distance(kdl_string a, kdl_string b) {
  size_t row[longest + 1];
  if (a.length > longest || b.length > longest)
    return SIZE_MAX;
  for (size_t j = 0; j <= b.length; ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.length; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.length; ++j) {
      size_t replaced = diagonal + !same_letter(a.data[i - 1], b.data[j - 1]);
      diagonal = row[j];
      size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      row[j] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[b.length];
}

void kdl_nearest_add(kdl_nearest *nearest, const char *candidate) {
  kdl_string text = {candidate, strlen(candidate)};
  size_t distance = edit_distance(nearest->word, text);
  size_t tolerance = text.length <= 3 ? 1 : 2;
  if (distance <= tolerance && (!nearest->best || distance < nearest->distance)) {
    nearest->best = candidate;
    nearest->distance = distance;
  }
}
