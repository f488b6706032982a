/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How `kdl thin` goes about a file, by its kind. */
#ifndef KDL_TOOL_THIN_COMMAND_H
#define KDL_TOOL_THIN_COMMAND_H

#include "pack/thin/source.h"
#include "pack/thin/thin.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

/* The same kind of file. `output` is NULL for a dry run. */
kdl_status thin_in_place(const cli_args *args, const thin_source *source, const char *output);

/* The same for the members of a zip archive. */
kdl_status thin_zip_in_place(const cli_args *args, const thin_source *source, const char *output);

/* The images in a new OffloadBinary; bytes of a pipe are taken from *source. */
kdl_status thin_repack(const cli_args *args, thin_source *source, const char *output);

/* Writes a thinned file to `output`, if it is not NULL: whole, and only where it can be read again
 * and the source is what it was. In place, nothing is written where nothing changed. A zip
 * archive's input has no library: its members were read again. */
kdl_status thin_save(const cli_args *args, const thin_source *source, const thin_input *input,
                     const thin_output *out, const thin_report *report, const char *output);

/* What was chosen and done, for people or as JSON. `output` is NULL for a dry run. */
kdl_status thin_print(const cli_args *args, const thin_input *input,
                      const thin_selection *selection, const thin_report *report,
                      const char *output);

/* A note on one image. */
void thin_note_image(const kdl_image_info *image, bool is_kept, const char *why);

/* One line on what could not go, and why; none where all of it went. */
void thin_note_retained(const thin_input *input, const thin_report *report, bool is_sparse);

/* Begins the object that JSON has for a file: what both kinds of file have. */
void thin_begin_file_json(cli_json *json, const thin_input *input, const thin_report *report,
                          const char *output);

#endif
