/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/kdl/sign/sign.h"

#include "support/base/error.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <stdlib.h>

/* Opens the key whose pointer is not NULL. */
static kdl_status open_key(const char *path, kdl_public_key *out_public,
                           kdl_secret_key *out_secret) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_string text = {(const char *)bytes.data, bytes.size};
  kdl_status status = out_public ? kdl_public_key_read(path, text, out_public)
                                 : kdl_secret_key_read(path, text, out_secret);
  cli_bytes_free(&bytes);
  return status;
}

kdl_status cli_public_key_open(const char *path, kdl_public_key *out_key) {
  return open_key(path, out_key, NULL);
}

kdl_status cli_secret_key_open(const char *path, kdl_secret_key *out_key) {
  return open_key(path, NULL, out_key);
}

kdl_status cli_signature_open(const char *path, cli_bytes *out_bytes,
                              kdl_signature *out_signature) {
  KDL_TRY(cli_bytes_read(path, out_bytes));
  kdl_status status = kdl_signature_read_file(
      path, (kdl_string){(const char *)out_bytes->data, out_bytes->size}, out_signature);
  if (status != KDL_OK)
    cli_bytes_free(out_bytes);
  return status;
}

kdl_status cli_sign_message(const cli_input *input, size_t index, kdl_string *out_message) {
  size_t all = kdl_image_count(input->lib), count = 0;
  kdl_signed_image *images = xcalloc(all, sizeof *images);
  for (size_t i = 0; i < all; ++i) {
    kdl_image_info info = cli_image_at(input->lib, i);
    if (index == SIZE_MAX ? info.parent == KDL_NO_PARENT : i == index)
      images[count++] = (kdl_signed_image){info.declared_kind, info.offload_kind, info.flags,
                                           info.pairs, info.pair_count};
  }
  kdl_status status = kdl_signed_message(images, count, out_message);
  free(images);
  return status;
}

static kdl_status check_signature_of(const cli_input *input, size_t index,
                                     const kdl_signature *signature, const kdl_public_key *key) {
  kdl_string message = {"", 0};
  KDL_TRY(cli_sign_message(input, index, &message));
  kdl_status status = kdl_trust_check_with_keys(signature, message, key, 1, "that --key names");
  free((char *)message.data);
  return status;
}

kdl_status cli_sign_check(const cli_input *input, size_t index, const kdl_public_key *key) {
  kdl_signature signature;
  const kdl_string *line = NULL;
  kdl_image_info info = cli_image_at(input->lib, index);
  for (size_t i = 0; i < info.pair_count; ++i) {
    if (kdl_text_is(info.pairs[i].key, KDL_SIGNATURE_KEY))
      line = &info.pairs[i].value;
  }
  if (!line)
    return kdl_fail(KDL_BAD_FILE, "kdl.signature: found none, expected one of the key that --key "
                                  "names: `kdl sign` signs a file");
  KDL_TRY(kdl_signature_read_line(*line, &signature));
  return check_signature_of(input, index, &signature, key);
}

kdl_status cli_sign_check_detached(const cli_input *input, const char *path,
                                   const kdl_public_key *key) {
  cli_bytes bytes;
  kdl_signature signature;
  KDL_TRY(cli_signature_open(path, &bytes, &signature));
  kdl_status status = check_signature_of(input, SIZE_MAX, &signature, key);
  cli_bytes_free(&bytes);
  return status;
}
