/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names of offload kinds and image kinds on the command line. */
#ifndef KDL_TOOLS_COMMON_IMAGES_KINDS_H
#define KDL_TOOLS_COMMON_IMAGES_KINDS_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The description of an image, whose index is below kdl_image_count. */
static inline kdl_image_info cli_image_at(const kdl_library *lib, size_t index) {
  kdl_image_info image = {.size = sizeof image};
  (void)kdl_image_get(lib, index, &image);
  return image;
}

/* kdl_stored_images, never NULL. */
struct kdl_stored_image;
const struct kdl_stored_image *cli_stored_images(kdl_library *lib);

/* Advances *index to the next image that is not nested in another, starting at *index; false where
 * none is left. */
static inline bool cli_outer_next(const kdl_library *lib, size_t *index) {
  while (*index < kdl_image_count(lib) && cli_image_at(lib, *index).parent != KDL_NO_PARENT)
    ++*index;
  return *index < kdl_image_count(lib);
}

/* Room for any name that cli_offload_kind_name returns. */
enum { CLI_KIND_ROOM = 8 };

/* "cuda", "hip", ...; "0x20" in `room` for a value without a name. */
const char *cli_offload_kind_name(uint16_t kind, char room[CLI_KIND_ROOM]);

/* A name as above, or a number. */
bool cli_offload_kind_parse(const char *text, uint16_t *out_kind);

/* As LLVM's tool parses it: 0 for a name that it does not know. */
uint16_t cli_offload_kind_as_llvm(const char *text);

/* A number below 65536, decimal or with 0x. */
bool cli_number_parse(const char *text, uint16_t *out_number);

/* A name as in `kdl ls`, or one of LLVM's: o, bc, fatbin, s, spv. */
bool cli_image_kind_parse(const char *text, kdl_image_kind *out_kind);

/* LLVM's ImageKind number as its packager derives it: bitcode by its magic, else from the file's
 * extension, else 0. LLVM 22 writes 0 for "spv"; later versions, and this, write 6. */
uint16_t cli_declared_kind(const char *path, const void *data, size_t size);

/* LLVM's name of an ImageKind number, which its extraction uses as an extension; "" for 0. */
const char *cli_declared_kind_name(uint16_t number);

/* The name that `kdl ls` prints; "kind 0x80" in `room` for a kind that is only a number or an
 * unknown name (the key kdl.kind, or the header). */
enum { CLI_IMAGE_KIND_ROOM = 32 };
const char *cli_image_kind_name(const kdl_image_info *image, char room[CLI_IMAGE_KIND_ROOM]);

/* The file extension for such an image, without the dot. */
const char *cli_image_kind_extension(kdl_image_kind kind);

/* Whether images of a kind contain images, which are listed too and have the kernels. */
bool cli_image_kind_is_container(kdl_image_kind kind);

/* The kind of the bytes: `known` for kinds that only a key identifies, else by the first bytes. */
kdl_image_kind cli_image_kind_seen(kdl_image_kind known, const void *data, size_t size);

/* The names above, for messages. */
extern const char cli_offload_kind_names[];
extern const char cli_image_kind_names[];

#endif
