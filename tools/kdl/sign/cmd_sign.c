/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl sign: signs images, in the file or in a detached signature. */
#include "lib/inspect/libraries.h"
#include "support/base/blake2b.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/rewrite.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/sign/sign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const cli_args *args;
  const cli_input *input;
  kdl_secret_key key;
  kdl_string comment;
  size_t index; /* of --image; SIZE_MAX: all */
  int format;
} signing;

/* ------------------------------------------------------------------------------------------ */
/* In the file                                                                                  */

static kdl_status digest_of(const cli_input *input, size_t index,
                            char out_value[KDL_DIGEST_VALUE]) {
  const void *data;
  size_t size;
  KDL_TRY(kdl_library_acquire_bytes(input->lib, index, &data, &size));
  kdl_digest digest = kdl_digest_of(data, size);
  memcpy(out_value, KDL_DIGEST_METHOD, sizeof KDL_DIGEST_METHOD - 1);
  kdl_digest_print(&digest, out_value + sizeof KDL_DIGEST_METHOD - 1);
  kdl_library_release_bytes(input->lib, index);
  return KDL_OK;
}

/* All pairs except the signature, and a digest where there was none. */
static size_t pairs_to_sign(const kdl_writer_image *image, const char *digest,
                            kdl_pair *out_pairs) {
  size_t count = 0;
  bool has_digest = false;
  for (size_t i = 0; i < image->pair_count; ++i) {
    has_digest |= kdl_text_is(image->pairs[i].key, KDL_DIGEST_KEY);
    if (!kdl_text_is(image->pairs[i].key, KDL_SIGNATURE_KEY))
      out_pairs[count++] = image->pairs[i];
  }
  if (!has_digest)
    out_pairs[count++] = (kdl_pair){kdl_text_of(KDL_DIGEST_KEY), kdl_text_of(digest)};
  return count;
}

static kdl_status make_signature_line(const signing *job, const kdl_writer_image *image,
                                      char out_line[KDL_SIGNATURE_LINE]) {
  const kdl_signed_image what = {image->declared_kind, image->offload_kind, image->flags,
                                 image->pairs, image->pair_count};
  kdl_signature signature;
  kdl_string message = {"", 0};
  KDL_TRY(kdl_signed_message(&what, 1, &message));
  kdl_signature_make(&job->key, message, job->comment, &signature);
  kdl_signature_write_line(&signature, out_line);
  free((char *)message.data);
  return KDL_OK;
}

static kdl_status read_signature_line(const char *path, char out_line[KDL_SIGNATURE_LINE]) {
  cli_bytes bytes;
  kdl_signature signature;
  KDL_TRY(cli_signature_open(path, &bytes, &signature));
  kdl_signature_write_line(&signature, out_line);
  cli_bytes_free(&bytes);
  return KDL_OK;
}

/* Signs with the key, or adds the signature that --attach names. */
static kdl_status add_signed(const signing *job, size_t index, kdl_writer *writer) {
  const char *attached = cli_args_value(job->args, "attach");
  char digest[KDL_DIGEST_VALUE], line[KDL_SIGNATURE_LINE];
  kdl_writer_image image = cli_image_describe(job->input, index, job->format);
  KDL_TRY(cli_image_check_digest(job->input, index, image.pairs, image.pair_count));
  KDL_TRY(digest_of(job->input, index, digest));
  kdl_pair *pairs = xcalloc(image.pair_count + 2, sizeof *pairs);
  image.pair_count = pairs_to_sign(&image, digest, pairs);
  image.pairs = pairs;
  kdl_status status =
      attached ? read_signature_line(attached, line) : make_signature_line(job, &image, line);
  if (status == KDL_OK) {
    pairs[image.pair_count++] = (kdl_pair){kdl_text_of(KDL_SIGNATURE_KEY), kdl_text_of(line)};
    status = cli_image_add(job->input, index, &image, false, writer);
  }
  free(pairs);
  return status;
}

static kdl_status write_signed(signing *job, const char *output) {
  kdl_writer *writer;
  kdl_status status = KDL_OK;
  job->format = cli_library_format(job->input->lib);
  KDL_TRY(cli_library_check_rewritable(job->input));
  KDL_TRY(kdl_writer_create(job->format, &writer));
  for (size_t i = 0; status == KDL_OK && cli_outer_next(job->input->lib, &i); ++i)
    status = job->index == SIZE_MAX || job->index == i
                 ? add_signed(job, i, writer)
                 : cli_image_copy(job->input, i, job->format, writer);
  if (status == KDL_OK)
    status = cli_output_save_writer(output, writer);
  kdl_writer_destroy(writer);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Detached signatures                                                                          */

static kdl_status print_message(const signing *job) {
  kdl_string message = {"", 0};
  KDL_TRY(cli_sign_message(job->input, job->index, &message));
  fwrite(message.data, 1, message.length, stdout);
  free((char *)message.data);
  return KDL_OK;
}

/* Writes a signature of all images as a minisign file. */
static kdl_status write_detached(const signing *job, const char *path) {
  char line[KDL_SIGNATURE_LINE], text[KDL_SIGNATURE_LINE + 256];
  kdl_signature signature;
  kdl_string message = {"", 0};
  KDL_TRY(cli_sign_message(job->input, SIZE_MAX, &message));
  kdl_signature_make(&job->key, message, job->comment, &signature);
  kdl_signature_write_line(&signature, line);
  free((char *)message.data);
  char *second = strchr(line, ' ');
  *second++ = '\0';
  char *comment = strchr(second, ' ');
  *comment++ = '\0';
  int size = snprintf(text, sizeof text,
                      "untrusted comment: signature of kernels by kdl sign\n%s\ntrusted comment: "
                      "%s\n%s\n",
                      line, comment, second);
  return cli_output_save(path, text, (size_t)size);
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status parse_sign_options(const cli_args *args, signing *out) {
  const char *key = cli_args_value(args, "key"), *image = cli_args_value(args, "image");
  const char *comment = cli_args_value(args, "comment");
  bool prints = cli_args_has(args, "message"), attaches = cli_args_has(args, "attach");
  uint32_t number = 0;
  size_t end = 0;
  *out = (signing){.args = args, .index = SIZE_MAX};
  out->comment = kdl_text_of(comment ? comment : "kdl");
  if (prints + attaches + (key != NULL) != 1)
    return kdl_fail(KDL_BAD_CALL,
                    prints || attaches
                        ? "--key, --message and --attach exclude each other: use one of them"
                        : "missing key: use --key=SECRET, --message or --attach=FILE");
  if (image && (!kdl_text_parse_number(kdl_text_of(image), &end, &number) || image[end]))
    return kdl_fail(KDL_BAD_CALL, "--image: bad value '%s': use the number of an image", image);
  if (attaches && !image)
    return kdl_fail(KDL_BAD_CALL, "--attach needs --image=N: which image was signed");
  if (cli_args_has(args, "detached") && (image || !key))
    return kdl_fail(KDL_BAD_CALL,
                    "--detached needs --key and excludes --image: it signs all images of a file");
  if (strlen(out->comment.data) > KDL_SIGNATURE_COMMENT || strpbrk(out->comment.data, "\r\n"))
    return kdl_fail(KDL_BAD_CALL, "--comment: bad value: use one line of at most %d bytes",
                    KDL_SIGNATURE_COMMENT);
  if (image)
    out->index = number;
  if (!key)
    return KDL_OK;
  cli_output_protect(&key, 1);
  KDL_TRY(kdl_sodium_open());
  return cli_secret_key_open(key, &out->key);
}

static kdl_status check_image_index(const signing *job, const char *path) {
  if (job->index == SIZE_MAX)
    return KDL_OK;
  if (job->index >= kdl_image_count(job->input->lib))
    return kdl_fail(KDL_NO_MATCH, "%s: --image: bad value '%zu': use a number below %zu", path,
                    job->index, kdl_image_count(job->input->lib));
  size_t outer = job->index;
  for (size_t parent; (parent = cli_image_at(job->input->lib, outer).parent) != KDL_NO_PARENT;)
    outer = parent;
  if (outer == job->index)
    return KDL_OK;
  return kdl_fail(KDL_BAD_CALL,
                  "%s: --image: bad value '%zu': use %zu, in which it lies: what an image holds is "
                  "signed with it",
                  path, job->index, outer);
}

static kdl_status sign(signing *job, const char *path, const char *output) {
  char detached_path[PATH_MAX];
  KDL_TRY(check_image_index(job, path));
  if (cli_args_has(job->args, "message"))
    return print_message(job);
  if (!cli_args_has(job->args, "detached"))
    return write_signed(job, output ? output : path);
  cli_output_protect(&path, 1);
  snprintf(detached_path, sizeof detached_path, "%.*s.minisig", PATH_MAX - 16, path);
  return write_detached(job, output ? output : detached_path);
}

int cli_run_sign(const cli_args *args) {
  signing job;
  cli_input input;
  const char *path = args->operands[0];
  kdl_status status = parse_sign_options(args, &job);
  if (status == KDL_OK)
    status = cli_input_open(path, &input);
  if (status != KDL_OK)
    return cli_report_status(status);
  job.input = &input;
  int code = cli_report_status(sign(&job, path, cli_args_value(args, "output")));
  memset(&job.key, 0, sizeof job.key);
  cli_input_close(&input);
  return code;
}
