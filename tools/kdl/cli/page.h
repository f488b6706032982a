/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pages that need nothing else: a template that lies in the program, with JSON in it. */
#ifndef KDL_TOOL_PAGE_H
#define KDL_TOOL_PAGE_H

#include <kdl/kdl.h>

#include <stddef.h>

/* Saves the template with the JSON in the place of its @DATA@. */
kdl_status cli_page_save(const char *path, const char *page, size_t page_size, const char *json,
                         size_t json_size);

#endif
