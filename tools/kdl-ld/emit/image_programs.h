/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The last step to an image, which LLVM leaves to other programs: ld.lld and ptxas. */
#ifndef KDL_LD_IMAGE_PROGRAMS_H
#define KDL_LD_IMAGE_PROGRAMS_H

#include "emit/emit.h"
#include "emit/program.h"

/* Where they are; false where they are not. */
int ld_program_find_lld(ld_program *out_program);
int ld_program_find_ptxas(ld_program *out_program);

/* A shared object in the place of the object file: a host image or an AMD code object. */
kdl_status ld_image_from_object(ld_linker *linker, ld_output *output);

/* A cubin in the place of PTX, where ptxas is found and the device's driver would take what it
 * makes; PTX stays otherwise. */
kdl_status ld_image_from_ptx(ld_linker *linker, ld_output *output);

#endif
