/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which images of a file stay when it is thinned in place, so that a vendor's runtime finds in
 * each module what it would have chosen there before.
 *
 * A runtime registers each module (a fatbin, a bundle) by itself and chooses one image of it. So
 * the choice is made module by module, for each device:
 *
 *   - of machine code that runs, the best of each form: for the very architecture ('a'), for its
 *     family ('f'), plain; and images behind them that hold kernels which these lack;
 *   - the same for the other setting of AMD's xnack, unless the user says which it is;
 *   - where there is none, the best of the code that the driver compiles (PTX);
 *   - of relocatable code and link-time IR, the same, since a linker may ask for it.
 *
 * In a module that no device runs, nothing is chosen: rewriting decides what must remain of it.
 */
#ifndef KDL_TOOL_THIN_CHOICE_H
#define KDL_TOOL_THIN_CHOICE_H

#include "lib/inspect/codec.h"
#include "tools/common/images/device_options.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct thin_rules {
  const cli_devices *devices; /* --for; none: what --keep or --strip-to names */
  const cli_args *args;       /* --keep=SELECT adds images, --strip-to=SELECT takes all others */
  bool keep_ptx;              /* also behind machine code, and the newest for devices to come */
  bool explain;               /* say why of each image */
  bool compress;              /* store what stays compressed */
} thin_rules;

/* How it is stored: by what the drivers of all devices read. */
typedef struct thin_compression {
  kdl_codec fatbins;
  kdl_codec bundles; /* KDL_CODEC_NONE: not known */
} thin_compression;

typedef struct thin_selection {
  kdl_library *lib;
  size_t count;     /* of the library's images */
  bool *kept;       /* containers: where one inside them is */
  const char **why; /* each NULL unless the rules ask for it */
  bool is_packed;   /* what stays is stored compressed: */
  thin_compression compression;
  kdl_arena arena;
} thin_selection;

/* `name` is for messages. KDL_NO_MATCH where a device runs nothing of the file, or a SELECT fits
 * nothing. The caller frees *out_choice, also after a failure. */
kdl_status thin_select_images(const thin_rules *rules, kdl_library *lib, const char *name,
                              thin_selection *out_selection);
void thin_selection_free(thin_selection *selection);

#endif
