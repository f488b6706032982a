/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Selects the images that stay when a file is thinned in place, so that a vendor's runtime finds in
 * each module the image that it would have selected before.
 *
 * A runtime registers each module (a fatbin, a bundle) separately and selects one image of it. So
 * the selection is made per module, for each device:
 *
 *   - of machine code that runs, the best of each form: for the exact architecture ('a'), for its
 *     family ('f'), plain; and further images with kernels that these lack;
 *   - the same for the other setting of AMD's xnack, unless the user names the setting;
 *   - where there is none, the best of the code that the driver compiles (PTX);
 *   - of relocatable code and link-time IR, the same, since a linker may need it.
 *
 * In a module that runs on no device, nothing is selected: the rewriter decides what must remain.
 */
#ifndef KDL_PACK_THIN_SELECTION_H
#define KDL_PACK_THIN_SELECTION_H

#include "lib/inspect/formats.h"
#include "tools/common/images/device_options.h"
#include "tools/common/images/kernel_list.h"
#include "tools/common/memory.h"
#include "tools/common/options.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct thin_rules {
  const cli_devices *devices; /* --for; none: --keep or --strip-to select */
  const cli_args *args;       /* --keep=SELECT adds images, --strip-to=SELECT removes all others */
  cli_kernel_list *only;      /* --only: of these kernels; NULL: of any */
  bool keep_ptx;              /* keep PTX behind machine code, and the newest for future devices */
  bool explain;               /* give a reason for each image */
  bool compress;              /* store the remaining images compressed */
} thin_rules;

/* The codecs that the drivers of all devices can read. */
typedef struct thin_compression {
  kdl_codec fatbins;
  kdl_codec bundles; /* KDL_CODEC_NONE: unknown */
} thin_compression;

typedef struct thin_selection {
  kdl_library *lib;
  size_t count;     /* of the library's images */
  bool *kept;       /* containers: if one of their images is */
  const char **why; /* NULL unless the rules ask for reasons */
  bool is_packed;   /* compress what stays, as follows */
  thin_compression compression;
  kdl_arena arena;
} thin_selection;

/* `name` is for messages. KDL_NO_MATCH where nothing of the file runs on a device, or a SELECT
 * matches nothing. The caller frees *out_choice, also after a failure. */
kdl_status thin_select_images(const thin_rules *rules, kdl_library *lib, const char *name,
                              thin_selection *out_selection);
/* KDL_NO_MATCH where --only names no kernel of what stays. */
kdl_status thin_check_only(const thin_rules *rules, const char *name);
void thin_selection_free(thin_selection *selection);

#endif
