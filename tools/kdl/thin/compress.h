/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Storing what stays compressed. */
#ifndef KDL_TOOL_THIN_COMPRESS_H
#define KDL_TOOL_THIN_COMPRESS_H

#include "thin/containers.h"

/* By what the devices' drivers read. */
thin_packing thin_packing_for(const cli_devices *devices);

/* Whether a container becomes smaller by it, as far as its headers tell. KDL_UNSUPPORTED where the
 * runtime is not known to read it. */
kdl_status thin_packs(const thin_input *input, const thin_choice *choice,
                      const thin_container *container, bool *out_packs);

/* Whether an entry of a fatbin does; adds it compressed, or as it is where that is smaller. */
bool thin_entry_packs(const thin_choice *choice, const thin_container *container,
                      const uint8_t *entry);
kdl_status thin_entry_pack(const thin_input *input, const thin_choice *choice, const uint8_t *entry,
                           thin_output *out);

/* The same for a bundle that was written again. */
kdl_status thin_bundle_pack(const thin_input *input, const thin_choice *choice,
                            const thin_container *container, const thin_output *plain,
                            thin_output *out);

#endif
