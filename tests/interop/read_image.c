/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* read_image FILE: what libkdl's readers say of one device image, a line for each thing, for
 * scripts that compare it with what a vendor's tool says:
 *
 *     target TRIPLE ARCH
 *     kernel NAME BLOCK_X BLOCK_Y BLOCK_Z
 *     param INDEX KIND SIZE OFFSET          (of the kernel before; "-" for no offset)
 */
#include "lib/image/readers.h"
#include "lib/inspect/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_image_kind kind;
  const uint8_t *data;
  size_t size;
} image;

static int print_param(void *user, const kdl_image_param *param) {
  static const char *const kinds[] = {"bytes",   "value",  "integer", "float",
                                      "pointer", "opaque", "group"};
  (void)user;
  printf("param %u %s %u ", param->index, kinds[param->kind], param->size);
  if (param->offset == KDL_NO_OFFSET)
    puts("-");
  else
    printf("%u\n", param->offset);
  return 0;
}

static int print_kernel(void *user, const char *name, size_t length) {
  const image *of = user;
  kdl_string kernel = {name, length};
  kdl_image_geometry geometry = {{0}, {0}};
  if (kdl_image_has_geometry(of->kind))
    geometry = kdl_image_read_geometry(of->kind, of->data, of->size, kernel);
  printf("kernel %.*s %u %u %u\n", (int)length, name, geometry.block[0], geometry.block[1],
         geometry.block[2]);
  if (kdl_image_read_params(of->kind, of->data, of->size, kernel, print_param, NULL) != KDL_OK)
    printf("FAIL: %s\n", kdl_error_message());
  return 0;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file) {
    fprintf(stderr, "usage: read_image FILE\n");
    return 2;
  }
  size_t room = 1u << 26;
  uint8_t *data = malloc(room);
  size_t size = data ? fread(data, 1, room, file) : 0;
  fclose(file);
  image of = {kdl_image_sniff(data, size), data, size};
  kdl_image_target target;
  kdl_status status = kdl_image_read_target(of.kind, data, size, &target);
  if (status == KDL_OK) {
    printf("target %s %s\n", *target.triple ? target.triple : "-",
           *target.arch ? target.arch : "-");
    status = kdl_image_read_kernels(of.kind, data, size, print_kernel, &of);
  }
  if (status != KDL_OK)
    printf("FAIL: %s\n", kdl_error_message());
  free(data);
  return status == KDL_OK ? 0 : 1;
}
