/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "oci/written.h"

#include "base/error.h"
#include "cli/input.h"
#include "container/container.h"
#include "oci/layout.h"

#include <stdio.h>
#include <string.h>

static kdl_status check_image(const cli_bytes *file, const kdl_image *image, const char *folder,
                              const oci_layer *layer) {
  char found[OCI_DIGEST_TEXT], path[PATH_MAX];
  oci_digest_of((const char *)file->data + image->offset, (size_t)image->size, found);
  if (strcmp(found, layer->digest) == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE, "%s: found bytes with the digest %s, expected %s",
                  oci_layout_path(folder, layer->digest, path) ? path : folder, found,
                  layer->digest);
}

/* Images that are in no other are in the order of the layers. */
static kdl_status check_images(const cli_bytes *file, const kdl_container *container,
                               const char *name, const char *folder, const oci_manifest *manifest,
                               const bool *fetched) {
  uint32_t next = 0;
  for (size_t i = 0; i < manifest->layer_count; ++i) {
    if (!fetched[i])
      continue;
    while (next < container->count && container->images[next].parent != KDL_PARENT_NONE)
      ++next;
    KDL_TRY(
        next < container->count
            ? check_image(file, &container->images[next++], folder, &manifest->layers[i])
            : kdl_fail(KDL_BAD_FILE, "%s: found fewer images in the file than were written", name));
  }
  return KDL_OK;
}

static kdl_status check_whole(const cli_bytes *file, const char *name,
                              const oci_manifest *manifest) {
  char found[OCI_DIGEST_TEXT];
  oci_digest_of(file->data, file->size, found);
  if (strcmp(found, manifest->whole) == 0)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "%s: found images that make a file with the digest %s, expected %s, which "
                  "the manifest says",
                  name, found, manifest->whole);
}

static bool are_all(const oci_manifest *manifest, const bool *fetched) {
  for (size_t i = 0; i < manifest->layer_count; ++i) {
    if (!fetched[i])
      return false;
  }
  return true;
}

kdl_status oci_written_check(int fd, const char *name, const char *folder,
                             const oci_manifest *manifest, const bool *fetched) {
  char path[32];
  cli_bytes file;
  kdl_container *container = NULL;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  KDL_TRY(cli_bytes_read_file(path, &file));
  kdl_status status = kdl_container_open_memory(file.data, file.size, name, &container);
  if (status == KDL_OK)
    status = check_images(&file, container, name, folder, manifest, fetched);
  if (status == KDL_OK && manifest->whole[0] && are_all(manifest, fetched))
    status = check_whole(&file, name, manifest);
  kdl_container_close(container);
  cli_bytes_free(&file);
  return status;
}
