/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The report of a trace as one page: page/trace.html with the JSON in it. */
#include "cli/page.h"
#include "trace/trace_report.h"

/* The page lies in the program as it lies in the source. */
__asm__(".pushsection .rodata\n"
        "cli_trace_page:\n"
        ".incbin \"" CLI_TRACE_PAGE "\"\n"
        "cli_trace_page_end:\n"
        ".p2align 3\n"
        "cli_trace_page_size:\n"
        ".quad cli_trace_page_end - cli_trace_page\n"
        ".popsection\n");
extern const char cli_trace_page[];
extern const uint64_t cli_trace_page_size;

kdl_status cli_trace_save_page(const char *path, const char *json, size_t size) {
  return cli_page_save(path, cli_trace_page, cli_trace_page_size, json, size);
}
