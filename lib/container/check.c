/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is checked of an image before anything that runs it sees its bytes, and which bytes that
 * sees: those that were checked, and no others that a file may hold by then. */
#include "lib/container/container.h"
#include "lib/inspect/trust.h"
#include "lib/inspect/write.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/lock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static kdl_status check_digest(kdl_image *image, const void *data, size_t size) {
  return image->says & KDL_SAYS_DIGEST
             ? kdl_digest_check(kdl_image_pairs(image), image->pair_count, data, size)
             : KDL_OK;
}

static bool is_signed(const kdl_image *image) {
  const kdl_pair *pairs = kdl_image_pairs(image);
  return pairs && kdl_find_value(pairs, image->pair_count, KDL_SIGNATURE_KEY);
}

static kdl_signed_image what_is_signed(const kdl_image *image) {
  const kdl_pair *pairs = kdl_image_pairs(image);
  return (kdl_signed_image){image->declared_kind, image->offload_kind, image->flags, pairs,
                            pairs ? image->pair_count : 0};
}

/* ------------------------------------------------------------------------------------------ */
/* By a signature beside the file                                                               */

/* What came of looking at it. It is of all images of the file, and costs as much: it is looked at
 * once while the file is open. */
typedef struct kdl_beside {
  kdl_status status;
  char message[];
} kdl_beside;

/* Containers may be of several files. */
static kdl_source *file_of(const kdl_image *image) {
  kdl_source *source = image->source;
  while (source->codec != KDL_CODEC_NONE)
    source = source->packed.source;
  return source;
}

static kdl_status look_beside(const kdl_container *container, const kdl_source *file) {
  kdl_signed_image *all = calloc(container->count, sizeof *all);
  size_t count = 0;
  if (!all)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for signatures", container->name);
  for (uint32_t i = 0; i < container->count; ++i) {
    if (container->images[i].parent == KDL_PARENT_NONE && file_of(&container->images[i]) == file)
      all[count++] = what_is_signed(&container->images[i]);
  }
  kdl_status status = kdl_trust_check_beside(file->name, all, count);
  free(all);
  return status;
}

/* Where another thread was faster, that one's stays; what failed for lack of memory may be tried
 * again. */
static void keep_beside(kdl_source *file, kdl_status status) {
  kdl_beside *known = NULL;
  const char *message = status == KDL_OK ? "" : kdl_error_message();
  kdl_beside *made = status == KDL_OK || status == KDL_BAD_FILE
                         ? malloc(sizeof *made + strlen(message) + 1)
                         : NULL;
  if (!made)
    return;
  made->status = status;
  memcpy(made->message, message, strlen(message) + 1);
  if (!atomic_compare_exchange_strong(&file->beside, &known, made))
    free(made);
}

static kdl_status check_beside(kdl_container *container, uint32_t index) {
  kdl_source *file = file_of(&container->images[index]);
  const kdl_beside *known = atomic_load_explicit(&file->beside, memory_order_acquire);
  kdl_status status = KDL_OK;
  if (!known) {
    status = look_beside(container, file);
    keep_beside(file, status);
  } else if (known->status != KDL_OK) {
    status = kdl_fail(known->status, "%s", known->message);
  }
  return kdl_trust_judge(status, file->name, index);
}

/* ------------------------------------------------------------------------------------------ */
/* What lies in a signed image                                                                  */

/* The images of a signed one, read from its bytes as they were checked. What was read of them when
 * the file was opened may have been something else. */
typedef struct kdl_inside {
  struct kdl_inside *next;
  uint32_t outer;
  kdl_container *container;
} kdl_inside;

static kdl_inside *find_inside(const kdl_container *container, uint32_t outer) {
  kdl_inside *inside = container->insides;
  while (inside && inside->outer != outer)
    inside = inside->next;
  return inside;
}

static void free_inside(kdl_inside *inside) {
  kdl_container_close(inside->container);
  free(inside);
}

/* Where another thread was faster, its own is taken. */
static kdl_inside *keep_inside(kdl_container *container, kdl_inside *made) {
  kdl_lock(&container->lock);
  kdl_inside *known = find_inside(container, made->outer);
  if (!known) {
    made->next = container->insides;
    container->insides = made;
  }
  kdl_unlock(&container->lock);
  if (known)
    free_inside(made);
  return known ? known : made;
}

static kdl_status open_inside(kdl_container *container, uint32_t outer, kdl_inside **out_inside) {
  const void *data;
  size_t size;
  kdl_lock(&container->lock);
  *out_inside = find_inside(container, outer);
  kdl_unlock(&container->lock);
  if (*out_inside)
    return KDL_OK;
  kdl_status status = kdl_container_own_bytes(container, outer, &data, &size);
  if (status == KDL_OK)
    status = check_digest(&container->images[outer], data, size);
  if (status != KDL_OK)
    return status;
  kdl_inside *made = calloc(1, sizeof *made);
  if (!made)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", container->name);
  made->outer = outer;
  status = kdl_container_open_memory(data, size, container->name, &made->container);
  if (status == KDL_OK)
    *out_inside = keep_inside(container, made);
  else
    free(made);
  return status;
}

void kdl_container_forget_insides(kdl_container *container) {
  while (container->insides) {
    kdl_inside *inside = container->insides;
    container->insides = inside->next;
    free_inside(inside);
  }
}

static bool is_same(const kdl_image *a, const kdl_image *b) {
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

/* The images of one follow it, in the order in which they lie there. */
static kdl_status look_inside(kdl_container *container, uint32_t outer, uint32_t index,
                              const void **out_data, size_t *out_size) {
  kdl_inside *inside;
  uint32_t place = index - outer - 1;
  KDL_TRY(open_inside(container, outer, &inside));
  if (place >= inside->container->count ||
      !is_same(&container->images[index], &inside->container->images[place]))
    return kdl_fail(KDL_BAD_FILE,
                    "it lies in image %" PRIu32
                    ", which was changed while the file was open: what was read of it is not what "
                    "is signed",
                    outer);
  return kdl_container_bytes(inside->container, place, out_data, out_size);
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

/* *out_signer is the image itself, or what it lies in. */
static kdl_status check_signature(kdl_container *container, uint32_t index, uint32_t *out_signer) {
  uint32_t signer = index;
  while (!is_signed(&container->images[signer]) &&
         container->images[signer].parent != KDL_PARENT_NONE)
    signer = container->images[signer].parent;
  const kdl_signed_image what = what_is_signed(&container->images[signer]);
  *out_signer = signer;
  return is_signed(&container->images[signer]) ? kdl_trust_check(container->name, signer, &what)
                                               : check_beside(container, signer);
}

static kdl_status check(kdl_container *container, uint32_t index, kdl_trust_policy policy,
                        const void **out_data, size_t *out_size) {
  KDL_NOT_CANCELLED;
  kdl_image *image = &container->images[index];
  uint32_t signer = index;
  const void *data = NULL;
  size_t size = 0;
  KDL_TRY(policy == KDL_TRUST_OFF || container->is_installed
              ? KDL_OK
              : check_signature(container, index, &signer));
  KDL_TRY(signer == index ? kdl_container_own_bytes(container, index, &data, &size)
                          : look_inside(container, signer, index, &data, &size));
  KDL_TRY(check_digest(image, data, size));
  atomic_store_explicit(&image->checked, data, memory_order_release);
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

kdl_status kdl_container_bytes_to_run(kdl_container *container, uint32_t index,
                                      const void **out_data, size_t *out_size) {
  kdl_image *image = &container->images[index];
  const void *checked = atomic_load_explicit(&image->checked, memory_order_acquire);
  kdl_trust_policy policy;
  if (checked) {
    *out_data = checked;
    *out_size = (size_t)image->size;
    return KDL_OK;
  }
  KDL_TRY(kdl_trust_read_policy(&policy));
  return policy == KDL_TRUST_OFF && !(image->says & KDL_SAYS_DIGEST)
             ? kdl_container_bytes(container, index, out_data, out_size)
             : check(container, index, policy, out_data, out_size);
}
