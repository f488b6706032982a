/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl annotate: changes the metadata of images in an OffloadBinary. */
#include "lib/inspect/libraries.h"
#include "lib/inspect/trust.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/images/select.h"
#include "tools/common/images/terms.h"
#include "tools/common/images/vocabulary.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const cli_args *args;
  kdl_pair *set; /* from the operands, in order */
  size_t set_count;
  const uint16_t *offload_kind; /* NULL: unchanged */
  const uint16_t *declared_kind;
  bool digest;
} edit;

/* ------------------------------------------------------------------------------------------ */
/* Edits                                                                                        */

static kdl_status parse_pair(const char *word, kdl_pair *out_pair) {
  size_t length = strcspn(word, "=");
  if (!word[length] || length == 0)
    return kdl_fail(KDL_BAD_CALL, "bad operand '%s': use key=value%s", word,
                    length ? "; to remove a key use --remove=KEY" : "");
  if (memchr(word, ',', length))
    return kdl_fail(KDL_BAD_CALL,
                    "bad key '%.*s': use one without a comma: no SELECT could name it", (int)length,
                    word);
  if (length == 4 && memcmp(word, "file", 4) == 0)
    return kdl_fail(KDL_BAD_CALL,
                    "bad key 'file': use another: in --image it names the file to pack");
  *out_pair = (kdl_pair){{word, length}, {word + length + 1, strlen(word + length + 1)}};
  return KDL_OK;
}

/* `kind` and `image_kind` are header fields, as in --image. */
static kdl_status parse_kind(const kdl_pair *pair, edit *out, uint16_t kinds[2],
                             bool *out_is_kind) {
  kdl_image_kind kind;
  *out_is_kind = true;
  if (kdl_text_is(pair->key, "kind")) {
    out->offload_kind = &kinds[0];
    if (!cli_offload_kind_parse(pair->value.data, &kinds[0]))
      return kdl_fail(KDL_BAD_CALL, "kind: bad value '%s': use %s", pair->value.data,
                      cli_offload_kind_names);
  } else if (kdl_text_is(pair->key, "image_kind")) {
    out->declared_kind = &kinds[1];
    if (cli_image_kind_parse(pair->value.data, &kind))
      kinds[1] = kdl_llvm_image_kind(kind);
    else if (!cli_number_parse(pair->value.data, &kinds[1]))
      return kdl_fail(KDL_BAD_CALL, "image_kind: bad value '%s': use %s, or LLVM's number",
                      pair->value.data, cli_image_kind_names);
  } else {
    *out_is_kind = false;
  }
  return KDL_OK;
}

static void warn_token(void *user, const char *problem) {
  (void)user;
  cli_warning("%s", problem);
}

/* `word` is the operand that contains the pair. */
static kdl_status check_pair(const char *word, const kdl_pair *pair) {
  kdl_parse_error error;
  if (!cli_value_check(pair->key, pair->value, &error)) {
    char context[64];
    char problem[512];
    snprintf(context, sizeof context, "%.*s", (int)pair->key.length, pair->key.data);
    cli_value_problem(pair->value, error, problem, sizeof problem);
    return cli_fail_at_column(context, word, pair->key.length + 1 + error.position, problem,
                              "(--force writes it as it is)");
  }
  if (kdl_text_is(pair->key, "requires_features"))
    cli_tokens_check(pair->value, KDL_CLASS_COUNT, warn_token, NULL);
  return KDL_OK;
}

static kdl_status parse_edit(const cli_args *args, edit *out, uint16_t kinds[2]) {
  *out = (edit){.args = args,
                .set = xcalloc(args->operand_count, sizeof *out->set),
                .digest = cli_args_has(args, "digest")};
  if (!cli_args_has(args, "image"))
    return kdl_fail(KDL_BAD_CALL, "missing images: use --image=SELECT");
  if (args->operand_count == 1 && !cli_args_has(args, "remove") && !out->digest)
    return kdl_fail(KDL_BAD_CALL, "nothing to change: use key=value, --remove=KEY or --digest");
  for (size_t i = 1; i < args->operand_count; ++i) {
    kdl_pair pair;
    bool is_kind = false;
    KDL_TRY(parse_pair(args->operands[i], &pair));
    KDL_TRY(parse_kind(&pair, out, kinds, &is_kind));
    if (!cli_args_has(args, "force"))
      KDL_TRY(check_pair(args->operands[i], &pair));
    if (!is_kind)
      out->set[out->set_count++] = pair;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Changing                                                                                     */

static bool remove_key(kdl_pair *pairs, size_t *count, kdl_string key) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; ++i) {
    if (!kdl_text_equal(pairs[i].key, key))
      pairs[kept++] = pairs[i];
  }
  bool removed = kept < *count;
  *count = kept;
  return removed;
}

/* Changes the last pair with the key, which is the one in effect; a new key goes to the end. */
static void set_key(kdl_pair *pairs, size_t *count, const kdl_pair *pair) {
  for (size_t i = *count; i-- > 0;) {
    if (kdl_text_equal(pairs[i].key, pair->key)) {
      pairs[i].value = pair->value;
      return;
    }
  }
  pairs[(*count)++] = *pair;
}

static bool sets_key(const edit *change, const char *key) {
  bool sets = false;
  for (size_t i = 0; i < change->set_count; ++i)
    sets |= kdl_text_is(change->set[i].key, key);
  return sets;
}

/* A given digest must match the image, unless --force is given. */
static bool sets_digest(const edit *change) {
  return sets_key(change, KDL_DIGEST_KEY) && !cli_args_has(change->args, "force");
}

/* A digest is always signed; the one that --digest adds is there. */
static bool keeps_signature(const edit *change) {
  const bool has_edits = change->set_count || cli_args_has(change->args, "remove") ||
                         change->offload_kind || change->declared_kind;
  return !has_edits || sets_key(change, KDL_SIGNATURE_KEY);
}

static kdl_status add_changed(const cli_input *input, const edit *change, size_t index, int format,
                              const char *output, kdl_writer *writer) {
  kdl_writer_image image = cli_image_describe(input, index, format);
  kdl_status status = KDL_OK;
  size_t count = image.pair_count;
  kdl_pair *pairs = xcalloc(count + change->set_count, sizeof *pairs);
  if (count)
    memcpy(pairs, image.pairs, count * sizeof *pairs);
  size_t cursor = 0;
  const char *key;
  while ((key = cli_args_next(change->args, "remove", &cursor))) {
    if (!remove_key(pairs, &count, kdl_text_of(key)))
      cli_warning("%s: image %zu has no key '%s' to remove", input->name, index, key);
  }
  for (size_t i = 0; i < change->set_count; ++i)
    set_key(pairs, &count, &change->set[i]);
  if (!keeps_signature(change))
    cli_signature_drop(output, index, pairs, &count);
  image.pairs = pairs;
  image.pair_count = count;
  if (change->offload_kind)
    image.offload_kind = *change->offload_kind;
  if (change->declared_kind)
    image.declared_kind = *change->declared_kind;
  if (sets_digest(change))
    status = cli_image_check_digest(input, index, pairs, count);
  if (status == KDL_OK)
    status = cli_image_add(input, index, &image, change->digest, writer);
  free(pairs);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static kdl_status check_chosen(const cli_input *input, const bool *chosen) {
  size_t nested = KDL_NO_PARENT;
  for (size_t i = 0; i < kdl_image_count(input->lib); ++i) {
    kdl_image_info image = cli_image_at(input->lib, i);
    if (chosen[i] && image.parent == KDL_NO_PARENT)
      return KDL_OK;
    if (chosen[i] && nested == KDL_NO_PARENT)
      nested = i;
  }
  return kdl_fail(KDL_NO_MATCH,
                  "%s: only images inside other images fit, such as %zu; extract the outer one, "
                  "annotate it, and pack it again",
                  input->name, nested);
}

static kdl_status write_changed(const cli_input *input, const edit *change, const bool *chosen,
                                const char *output) {
  int format = cli_library_format(input->lib);
  kdl_writer *writer;
  KDL_TRY(kdl_writer_create(format, &writer));
  kdl_status status = KDL_OK;
  for (size_t i = 0; status == KDL_OK && cli_outer_next(input->lib, &i); ++i)
    status = chosen[i] ? add_changed(input, change, i, format, output, writer)
                       : cli_image_copy(input, i, format, writer);
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  if (status == KDL_OK)
    cli_signature_check_beside(output);
  kdl_writer_destroy(writer);
  return status;
}

static kdl_status annotate(const cli_input *input, const edit *change, const char *output) {
  bool *chosen;
  KDL_TRY(cli_library_check_rewritable(input));
  KDL_TRY(cli_select_images(change->args, "image", input->lib, input->name, &chosen));
  kdl_status status = check_chosen(input, chosen);
  if (status == KDL_OK)
    status = write_changed(input, change, chosen, output);
  free(chosen);
  return status;
}

int cli_run_annotate(const cli_args *args) {
  const char *path = args->operands[0];
  const char *output = cli_args_value(args, "output");
  uint16_t kinds[2];
  edit change;
  cli_input input;
  kdl_status status = parse_edit(args, &change, kinds);
  if (status == KDL_OK)
    status = cli_input_open(path, &input);
  if (status == KDL_OK) {
    status = annotate(&input, &change, output ? output : path);
    cli_input_close(&input);
  }
  free(change.set);
  return cli_report_status(status);
}
