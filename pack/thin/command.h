/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ways in which `kdl thin` handles a file, by its kind. */
#ifndef KDL_PACK_THIN_COMMAND_H
#define KDL_PACK_THIN_COMMAND_H

#include "pack/thin/source.h"
#include "pack/thin/thin.h"
#include "tools/common/images/kernel_list.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

/* Writes the same kind of file. `only` has the kernels of --only, or is NULL; `output` is NULL for
 * a dry run. */
kdl_status thin_in_place(const cli_args *args, const thin_source *source, cli_kernel_list *only,
                         const char *output);

/* The same for the members of a zip archive. */
kdl_status thin_zip_in_place(const cli_args *args, const thin_source *source, cli_kernel_list *only,
                             const char *output);

/* Packs the images into a new OffloadBinary; takes the bytes of a pipe from *source. */
kdl_status thin_repack(const cli_args *args, thin_source *source, cli_kernel_list *only,
                       const char *output);

/* Writes a thinned file to `output`, unless that is NULL: completely, and only if the new file can
 * be read and the source has not changed. In place, nothing is written if nothing changed. The
 * input of a zip archive has no library: its members were read again. */
kdl_status thin_save(const cli_args *args, const thin_source *source, const thin_input *input,
                     const thin_output *out, const thin_report *report, const char *output);

/* Prints what was selected and done, as text or JSON. `output` is NULL for a dry run. */
kdl_status thin_print(const cli_args *args, const thin_input *input,
                      const thin_selection *selection, const thin_report *report,
                      const char *output);

/* Prints a note on one image. */
void thin_note_image(const kdl_image_info *image, bool is_kept, const char *why);

/* Prints one line on the images that had to stay, and why; nothing if there are none. */
void thin_note_retained(const thin_input *input, const thin_report *report, bool is_sparse);

/* Begins the JSON object of a file, with the members that both kinds of file have. */
void thin_begin_file_json(cli_json *json, const thin_input *input, const thin_report *report,
                          const char *output);

#endif
