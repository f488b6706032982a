/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Verification: checks an image's signature and digest before its bytes are used for running it,
 * and provides the bytes that were checked, even if the file changes afterwards. */
#include "lib/container/container.h"
#include "lib/hooks.h"
#include "lib/inspect/libraries.h"
#include "lib/trust/trust.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/lock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static kdl_status check_image_digest(kdl_image *image, const void *data, size_t size) {
  return image->metadata_flags & KDL_METADATA_HAS_DIGEST
             ? kdl_digest_check(kdl_image_pairs(image), image->pair_count, data, size)
             : KDL_OK;
}

static bool is_signed(const kdl_image *image) {
  const kdl_pair *pairs = kdl_image_pairs(image);
  return pairs && kdl_find_value(pairs, image->pair_count, KDL_SIGNATURE_KEY);
}

static kdl_signed_image signed_image_of(const kdl_image *image) {
  const kdl_pair *pairs = kdl_image_pairs(image);
  return (kdl_signed_image){image->declared_kind, image->offload_kind, image->flags, pairs,
                            pairs ? image->pair_count : 0};
}

/* ------------------------------------------------------------------------------------------ */
/* Detached signatures                                                                          */

/* The result of checking FILE.minisig. It signs all images of the file, so it is checked once while
 * the file is open. */
typedef struct kdl_detached_result {
  kdl_status status;
  char message[];
} kdl_detached_result;

/* Containers may be of several files. */
static kdl_source *source_file(const kdl_image *image) {
  kdl_source *source = image->source;
  while (source->codec != KDL_CODEC_NONE)
    source = source->packed.source;
  return source;
}

static kdl_status verify_detached(const kdl_container *container, const kdl_source *file) {
  kdl_signed_image *all = calloc(container->count, sizeof *all);
  size_t count = 0;
  if (!all)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for signatures", container->name);
  for (uint32_t i = 0; i < container->count; ++i) {
    if (container->images[i].parent == KDL_PARENT_NONE &&
        source_file(&container->images[i]) == file)
      all[count++] = signed_image_of(&container->images[i]);
  }
  kdl_status status = kdl_trust_check_detached(file->name, all, count);
  free(all);
  return status;
}

/* If another thread stores a result first, that one stays. Lack of memory is not stored. */
static void cache_detached_result(kdl_source *file, kdl_status status) {
  kdl_detached_result *known = NULL;
  const char *message = status == KDL_OK ? "" : kdl_error_message();
  kdl_detached_result *created = status == KDL_OK || status == KDL_BAD_FILE
                                     ? malloc(sizeof *created + strlen(message) + 1)
                                     : NULL;
  if (!created)
    return;
  created->status = status;
  memcpy(created->message, message, strlen(message) + 1);
  if (!atomic_compare_exchange_strong(&file->detached, &known, created))
    free(created);
}

static kdl_status check_detached(kdl_container *container, uint32_t index) {
  kdl_source *file = source_file(&container->images[index]);
  const kdl_detached_result *known = atomic_load_explicit(&file->detached, memory_order_acquire);
  kdl_status status = KDL_OK;
  if (!known) {
    status = verify_detached(container, file);
    cache_detached_result(file, status);
  } else if (known->status != KDL_OK) {
    status = kdl_fail(known->status, "%s", known->message);
  }
  return kdl_trust_apply_policy(status, file->name, index);
}

/* ------------------------------------------------------------------------------------------ */
/* Images nested in a signed image                                                              */

/* The images nested in a signed one, parsed from its verified bytes: what was parsed when the file
 * was opened may have differed. */
typedef struct kdl_nested_container {
  struct kdl_nested_container *next;
  uint32_t outer;
  kdl_container *container;
} kdl_nested_container;

static kdl_nested_container *find_nested(const kdl_container *container, uint32_t outer) {
  kdl_nested_container *nested = container->nested_containers;
  while (nested && nested->outer != outer)
    nested = nested->next;
  return nested;
}

static void close_nested(kdl_nested_container *nested) {
  kdl_container_close(nested->container);
  free(nested);
}

/* If another thread publishes first, returns that one's. */
static kdl_nested_container *publish_nested(kdl_container *container,
                                            kdl_nested_container *created) {
  kdl_lock(&container->lock);
  kdl_nested_container *known = find_nested(container, created->outer);
  if (!known) {
    created->next = container->nested_containers;
    container->nested_containers = created;
  }
  kdl_unlock(&container->lock);
  if (known)
    close_nested(created);
  return known ? known : created;
}

static kdl_status open_nested(kdl_container *container, uint32_t outer,
                              kdl_nested_container **out_nested) {
  const void *data;
  size_t size;
  kdl_lock(&container->lock);
  *out_nested = find_nested(container, outer);
  kdl_unlock(&container->lock);
  if (*out_nested)
    return KDL_OK;
  kdl_status status = kdl_container_private_bytes(container, outer, &data, &size);
  if (status == KDL_OK)
    status = check_image_digest(&container->images[outer], data, size);
  if (status != KDL_OK)
    return status;
  kdl_nested_container *created = calloc(1, sizeof *created);
  if (!created)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", container->name);
  created->outer = outer;
  status = kdl_container_open_memory(data, size, container->name, &created->container);
  if (status == KDL_OK)
    *out_nested = publish_nested(container, created);
  else
    free(created);
  return status;
}

void kdl_container_close_nested(kdl_container *container) {
  while (container->nested_containers) {
    kdl_nested_container *nested = container->nested_containers;
    container->nested_containers = nested->next;
    close_nested(nested);
  }
}

static bool is_same_image(const kdl_image *a, const kdl_image *b) {
  const kdl_pair *left = kdl_image_pairs(a), *right = kdl_image_pairs(b);
  bool same = a->kind == b->kind && a->size == b->size && a->declared_kind == b->declared_kind &&
              a->offload_kind == b->offload_kind && a->flags == b->flags &&
              a->is_link_input == b->is_link_input && a->pair_count == b->pair_count &&
              (a->pair_count == 0 || (left && right));
  for (uint32_t i = 0; same && i < a->pair_count; ++i)
    same =
        kdl_text_equal(left[i].key, right[i].key) && kdl_text_equal(left[i].value, right[i].value);
  return same;
}

/* Nested images follow the outer image in file order. */
static kdl_status nested_bytes(kdl_container *container, uint32_t outer, uint32_t index,
                               const void **out_data, size_t *out_size) {
  kdl_nested_container *nested;
  uint32_t position = index - outer - 1;
  KDL_TRY(open_nested(container, outer, &nested));
  if (position >= nested->container->count ||
      !is_same_image(&container->images[index], &nested->container->images[position]))
    return kdl_fail(KDL_BAD_FILE,
                    "it lies in image %" PRIu32
                    ", which was changed while the file was open: what was read of it is not what "
                    "is signed",
                    outer);
  return kdl_container_bytes(nested->container, position, out_data, out_size);
}

/* ------------------------------------------------------------------------------------------ */
/* Verification of one image                                                                    */

/* *out_signer is the image, or the outer image that it is nested in. */
static kdl_status check_image_signature(kdl_container *container, uint32_t index,
                                        uint32_t *out_signer) {
  uint32_t signer = index;
  while (!is_signed(&container->images[signer]) &&
         container->images[signer].parent != KDL_PARENT_NONE)
    signer = container->images[signer].parent;
  const kdl_signed_image what = signed_image_of(&container->images[signer]);
  *out_signer = signer;
  return is_signed(&container->images[signer]) ? kdl_trust_check(container->name, signer, &what)
                                               : check_detached(container, signer);
}

static kdl_status verify_image(kdl_container *container, uint32_t index, kdl_trust_policy policy,
                               const void **out_data, size_t *out_size) {
  KDL_NOT_CANCELLED;
  kdl_image *image = &container->images[index];
  uint32_t signer = index;
  const void *data = NULL;
  size_t size = 0;
  KDL_TRY(policy == KDL_TRUST_OFF || container->is_installed
              ? KDL_OK
              : check_image_signature(container, index, &signer));
  KDL_TRY(signer == index ? kdl_container_private_bytes(container, index, &data, &size)
                          : nested_bytes(container, signer, index, &data, &size));
  KDL_TRY(check_image_digest(image, data, size));
  atomic_store_explicit(&image->verified, data, memory_order_release);
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

kdl_status kdl_container_verified_bytes(kdl_container *container, uint32_t index,
                                        const void **out_data, size_t *out_size) {
  kdl_image *image = &container->images[index];
  const void *verified = atomic_load_explicit(&image->verified, memory_order_acquire);
  kdl_trust_policy policy;
  if (verified) {
    *out_data = verified;
    *out_size = (size_t)image->size;
    return KDL_OK;
  }
  KDL_TRY(kdl_trust_read_policy(&policy));
  return policy == KDL_TRUST_OFF && !(image->metadata_flags & KDL_METADATA_HAS_DIGEST)
             ? kdl_container_bytes(container, index, out_data, out_size)
             : verify_image(container, index, policy, out_data, out_size);
}
