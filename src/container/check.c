/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is checked of an image before anything that runs it sees its bytes. */
#include "base/error.h"
#include "container/container.h"
#include "container/digest.h"
#include "trust/trust.h"

#include <stdlib.h>

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

/* By a signature beside the file, of all images that lie in it. */
static kdl_status check_beside(kdl_container *container, uint32_t index) {
  kdl_signed_image *all = calloc(container->count, sizeof *all);
  size_t count = 0;
  if (!all)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory for signatures", container->name);
  for (uint32_t i = 0; i < container->count; ++i) {
    if (container->images[i].parent == KDL_PARENT_NONE)
      all[count++] = what_is_signed(&container->images[i]);
  }
  kdl_status status = kdl_trust_check_beside(container->name, index, all, count);
  free(all);
  return status;
}

/* The bytes of what an image is nested in, where that is what is signed. */
static kdl_status check_outer(kdl_container *container, uint32_t index) {
  const void *data;
  size_t size;
  kdl_status status = kdl_container_hold(container, index, &data, &size);
  if (status != KDL_OK)
    return status;
  status = check_digest(&container->images[index], data, size);
  kdl_container_release(container, index);
  return status;
}

static kdl_status check_trust(kdl_container *container, uint32_t index) {
  kdl_trust_policy policy;
  kdl_status status = kdl_trust_read_policy(&policy);
  if (status != KDL_OK || policy == KDL_TRUST_OFF)
    return status;
  uint32_t signer = index;
  while (!is_signed(&container->images[signer]) &&
         container->images[signer].parent != KDL_PARENT_NONE)
    signer = container->images[signer].parent;
  const kdl_signed_image what = what_is_signed(&container->images[signer]);
  status = is_signed(&container->images[signer]) ? kdl_trust_check(container->name, signer, &what)
                                                 : check_beside(container, signer);
  return status == KDL_OK && signer != index ? check_outer(container, signer) : status;
}

kdl_status kdl_container_check(kdl_container *container, uint32_t index, const void *data,
                               size_t size) {
  kdl_status status = check_trust(container, index);
  return status == KDL_OK ? check_digest(&container->images[index], data, size) : status;
}
