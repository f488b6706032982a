/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Extents on the command line: "1024", "32x8", "4x4x4". */
#ifndef KDL_TOOLS_COMMON_EXTENT_H
#define KDL_TOOLS_COMMON_EXTENT_H

#include <kdl/kdl.h>

#include <stdint.h>

/* Messages name `option`. */
kdl_status cli_extent_parse(const char *option, const char *words, uint64_t out[3]);
kdl_status cli_extent_small(const char *option, const char *words, uint32_t out[3]);

#endif
