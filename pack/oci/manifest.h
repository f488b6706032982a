/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A bundle as an OCI artifact: an image manifest (OCI image-spec 1.1) with an artifactType, the
 * empty config, and a layer for each outermost image, in order. A layer is the image's bytes as
 * they are. Its annotations have what the library knows of the image without its bytes, so that
 * devices select by the manifest alone: docs/registries.md.
 */
#ifndef KDL_PACK_OCI_MANIFEST_H
#define KDL_PACK_OCI_MANIFEST_H

#include "pack/oci/digest.h"
#include "pack/oci/image_header.h"

#include <kdl/kdl.h>

#include <stddef.h>
#include <stdint.h>

#define OCI_MANIFEST_TYPE "application/vnd.oci.image.manifest.v1+json"
#define OCI_BUNDLE_TYPE "application/vnd.kdl.bundle.v1"
#define OCI_IMAGE_TYPE "application/vnd.kdl.image.v1"
#define OCI_EMPTY_TYPE "application/vnd.oci.empty.v1+json"
#define OCI_EMPTY_DATA "{}"
#define OCI_EMPTY_DIGEST "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

/* The annotations of a manifest and of its layers. */
#define OCI_KEY_TITLE "org.opencontainers.image.title"
#define OCI_KEY_FORMAT "vnd.kdl.format"
#define OCI_KEY_FILE_DIGEST "vnd.kdl.digest"
#define OCI_KEY_IMAGE "vnd.kdl.image"
#define OCI_KEY_CHOICE "vnd.kdl.choice"
#define OCI_CHOICE_ANY_TEXT "any"
#define OCI_CHOICE_UNKNOWN_TEXT "unknown"

enum {
  OCI_LIMIT_MANIFEST =
      4 << 20, /* bytes: what registries must accept by the distribution specification */
  OCI_LIMIT_LAYERS = 16384,
};

/* Which devices need a layer. */
typedef enum oci_choice {
  OCI_CHOICE_DEVICES, /* those that select one of its candidates */
  OCI_CHOICE_ANY,     /* every device: a recorded sequence */
  OCI_CHOICE_UNKNOWN, /* undecidable by the manifest: always fetched */
} oci_choice;

typedef struct oci_layer {
  char digest[OCI_DIGEST_SIZE];
  uint64_t size;
  oci_image_header image;
  oci_choice choice;
  /* The candidates: the image itself, with what its bytes add to its metadata, or its nested
   * images. */
  const oci_image_header *candidates;
  size_t candidate_count;
} oci_layer;

typedef struct oci_manifest {
  const char *title;                 /* the file's name; written, not read */
  int format;                        /* of the OffloadBinary: 1 or 2 */
  char file_digest[OCI_DIGEST_SIZE]; /* of the file that all images form; "" for another kind of
                                        file */
  oci_layer *layers;
  size_t layer_count;
  kdl_arena arena;
} oci_manifest;

/* malloc'ed text. KDL_UNSUPPORTED where it is larger than registries accept. */
kdl_status oci_manifest_write(const oci_manifest *manifest, const char *name, char **out_text,
                              size_t *out_size);

/* `name` is for messages. The caller frees *out_manifest, also after a failure. */
kdl_status oci_manifest_read(const char *name, const void *data, size_t size,
                             oci_manifest *out_manifest);
void oci_manifest_free(oci_manifest *manifest);

#endif
