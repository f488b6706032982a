// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// embed VOCAB SENTENCE SENTENCE: how alike two sentences are, by the model MiniLM, which kdl-mlir
// compiled to minilm.so with the header minilm.h. VOCAB is the model's vocab.txt. Tokens are those
// of BERT for ASCII; a word with other letters is unknown.
#include "minilm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { sentences = 2, length = 32, width = 384 };

typedef struct word {
  const char *text;
  int64_t id;
} word;
typedef struct vocabulary {
  char *text;
  word *words;
  size_t count;
} vocabulary;

static int compare(const void *a, const void *b) {
  return strcmp(((const word *)a)->text, ((const word *)b)->text);
}

static int64_t find(const vocabulary *known, const char *text) {
  word wanted = {text, 0};
  const word *found = bsearch(&wanted, known->words, known->count, sizeof wanted, compare);
  return found ? found->id : -1;
}

// The words of a file, one in each line, whose number is that of the line.
static int read_vocabulary(const char *path, vocabulary *out) {
  FILE *file = fopen(path, "rb");
  long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size < 0) {
    perror(path);
    if (file)
      fclose(file);
    return 0;
  }
  rewind(file);
  out->text = malloc((size_t)size + 1);
  out->words = malloc(((size_t)size + 1) * sizeof(word));
  out->count = 0;
  int is_read = out->text && out->words && fread(out->text, 1, (size_t)size, file) == (size_t)size;
  fclose(file);
  if (!is_read) {
    fprintf(stderr, "%s: cannot be read\n", path);
    return 0;
  }
  out->text[size] = '\0';
  for (char *at = strtok(out->text, "\r\n"); at; at = strtok(NULL, "\r\n"), ++out->count)
    out->words[out->count] = (word){at, (int64_t)out->count};
  qsort(out->words, out->count, sizeof(word), compare);
  return 1;
}

// Adds the tokens of one word: the longest known beginning, then that of the rest, which the
// vocabulary has with "##" before it.
static size_t add_word(const vocabulary *known, const char *text, size_t size, int64_t *tokens,
                       size_t count) {
  size_t begin = count;
  char part[128] = "##";
  for (size_t at = 0; at < size;) {
    size_t end = size - at < sizeof part - 3 ? size : at + sizeof part - 3;
    int64_t id = -1;
    for (; end > at && id < 0; --end) {
      memcpy(part + 2, text + at, end - at);
      part[2 + end - at] = '\0';
      id = find(known, at ? part : part + 2);
    }
    if (id < 0) {
      tokens[begin] = find(known, "[UNK]");
      return begin + 1;
    }
    if (count < length - 1)
      tokens[count++] = id;
    at = end + 1;
  }
  return count;
}

// The tokens of a sentence, as many as fit.
static size_t tokenize(const vocabulary *known, const char *text, int64_t *tokens) {
  size_t count = 0;
  tokens[count++] = find(known, "[CLS]");
  while (*text && count < length - 1) {
    char lower[256];
    size_t size = 0;
    if (isspace((unsigned char)*text)) {
      ++text;
      continue;
    }
    if (ispunct((unsigned char)*text))
      lower[size++] = *text++;
    else
      while (*text && !isspace((unsigned char)*text) && !ispunct((unsigned char)*text) &&
             size < sizeof lower)
        lower[size++] = (char)tolower((unsigned char)*text++);
    count = add_word(known, lower, size, tokens, count);
  }
  tokens[count++] = find(known, "[SEP]");
  return count;
}

int main(int argc, char **argv) {
  vocabulary known = {0};
  if (argc != 2 + sentences) {
    fprintf(stderr, "usage: embed VOCAB SENTENCE SENTENCE\n");
    return 2;
  }
  int64_t tokens[sentences][length] = {{0}}, mask[sentences][length] = {{0}};
  const int64_t sizes[2] = {sentences, length};
  int is_read = read_vocabulary(argv[1], &known);
  for (int i = 0; is_read && i < sentences; ++i) {
    size_t count = tokenize(&known, argv[2 + i], tokens[i]);
    for (size_t j = 0; j < count; ++j)
      mask[i][j] = 1;
  }
  free(known.words);
  free(known.text);
  if (!is_read)
    return 1;
  kdl_tensor_i64_2 token_tensor = kdl_tensor_i64_2_of(&tokens[0][0], sizes),
                   mask_tensor = kdl_tensor_i64_2_of(&mask[0][0], sizes);
  kdl_tensor_f32_2 result;
  _mlir_ciface_main(&result, &token_tensor, &mask_tensor);
  const float *first = result.aligned + result.offset, *second = first + result.strides[0];
  float alike = 0;
  for (int i = 0; i < width; ++i)
    alike += first[i * result.strides[1]] * second[i * result.strides[1]];
  printf("%.3f\n", (double)alike);
  free(result.allocated);
  return 0;
}
